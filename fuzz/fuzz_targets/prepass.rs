//! Any text through the pre-pass of the front end: it may refuse, it must not panic or run on.
#![no_main]

use ksearch_msl::{CompileOptions, SourceFile, entry_points};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let _refused = entry_points(&[SourceFile::new("fuzz.metal", text)], &CompileOptions::default());
});
