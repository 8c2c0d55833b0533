//! Writes the journal of a made-up run and times what is made of it: `synthetic CANDIDATES FOLDER`.

#![allow(clippy::print_stdout, clippy::unwrap_used, missing_docs)] // A tool for those who work on this crate.

use std::path::PathBuf;
use std::time::Instant;

use ksearch_report::{Loaded, formats, page};
use ksearch_search::Journal;

#[path = "../tests/support/synthetic.rs"]
mod synthetic;

fn main() {
    let mut args = std::env::args().skip(1);
    let candidates: u32 = args.next().unwrap().parse().unwrap();
    let folder = PathBuf::from(args.next().unwrap());
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("journal.db");
    if !path.exists() {
        let mut journal = Journal::create(&path).unwrap();
        synthetic::Synthetic::new(synthetic::Texts::default()).write(&mut journal, candidates, true);
    }
    let began = Instant::now();
    let loaded = Loaded::load(&folder).unwrap();
    println!(
        "journal of {:.1} MB read in {:.2} s",
        path.metadata().unwrap().len() as f64 / 1e6,
        began.elapsed().as_secs_f64()
    );
    let began = Instant::now();
    let html = page::stand_alone(&loaded);
    println!("report of {:.2} MB in {:.2} s", html.len() as f64 / 1e6, began.elapsed().as_secs_f64());
    std::fs::write(folder.join("report.html"), html).unwrap();
    std::fs::write(folder.join("report.md"), formats::markdown(&loaded.report())).unwrap();
}
