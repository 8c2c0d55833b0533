//! Prints the kernel that a file of bytes stands for, and what the comparison finds: `replay FILE`.
#![allow(clippy::print_stdout)]

fn main() {
    let file = std::env::args().nth(1).expect("usage: replay FILE");
    let bytes = std::fs::read(file).expect("readable file");
    match ksearch_simt_fuzz::oracle::differential(&bytes) {
        Ok(()) => println!("{}\n; machine and reference agree", ksearch_simt_fuzz::generate::kernel(&bytes)),
        Err(e) => println!("{}", e.0),
    }
}
