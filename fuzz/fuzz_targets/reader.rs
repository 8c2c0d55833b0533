//! Any text through the IR reader, and on through the machine where it is a module.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| ksearch_simt_fuzz::oracle::survives(text));
