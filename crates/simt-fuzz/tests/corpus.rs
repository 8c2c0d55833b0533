//! The seeds of the fuzz targets, replayed: what once was found, or stands for a construct, stays right.
#![allow(clippy::unwrap_used)] // A test that cannot read its seeds has failed.

use ksearch_msl::{CompileOptions, SourceFile, entry_points};
use ksearch_simt_fuzz::oracle::{differential, survives};

fn seeds(target: &str) -> Vec<(String, Vec<u8>)> {
    let dir = format!("{}/../../fuzz/corpus/{target}", env!("CARGO_MANIFEST_DIR"));
    let mut out: Vec<_> = std::fs::read_dir(&dir)
        .unwrap_or_else(|e| panic!("{dir}: {e}"))
        .map(|f| f.unwrap().path())
        .map(|p| (p.display().to_string(), std::fs::read(&p).unwrap()))
        .collect();
    assert!(!out.is_empty(), "{dir} has no seeds");
    out.sort();
    out
}

#[test]
fn machine() {
    for (name, bytes) in seeds("machine") {
        if let Err(e) = differential(&bytes) {
            panic!("{name}: {}", e.0);
        }
    }
}

#[test]
fn reader() {
    for (name, bytes) in seeds("reader") {
        let text = String::from_utf8(bytes).unwrap();
        // A seed that is refused would test nothing but the refusal.
        let program = ksearch_simt::Program::from_ir(&text, [("k", "k")]).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert!(program.lowered("k").is_ok(), "{name}: {:?}", program.lowered("k").err());
        survives(&text);
    }
}

#[test]
fn prepass() {
    for (name, bytes) in seeds("prepass") {
        let text = String::from_utf8(bytes).unwrap();
        let entries = entry_points(&[SourceFile::new(&*name, &*text)], &CompileOptions::default());
        assert!(entries.is_ok_and(|e| !e.is_empty()), "{name} has a kernel");
    }
}
