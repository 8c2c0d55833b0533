//! Times the part that runs before clang: `front FILE`.

use std::time::Instant;

use ksearch_msl::{CompileOptions, SourceFile, corpus, entry_points};

fn main() {
    let path = std::env::args().nth(1).unwrap_or_default();
    let path = std::path::Path::new(&path);
    let files: Vec<SourceFile> = match corpus::load(path, &[path.parent().unwrap_or(path).to_path_buf()]) {
        Ok(files) => files,
        Err(e) => {
            eprintln!("{e}");
            std::process::exit(2);
        }
    };
    let start = Instant::now();
    let found = entry_points(&files, &CompileOptions::default());
    eprintln!("{:?} {:?}", found.map(|e| e.len()), start.elapsed());
}
