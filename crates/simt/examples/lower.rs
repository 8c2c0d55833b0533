//! Prints the lowered form of a kernel: `lower FILE.ll SYMBOL`.
#![allow(clippy::print_stdout)]

fn main() {
    let a: Vec<String> = std::env::args().collect();
    let [_, file, symbol] = a.as_slice() else { panic!("usage: lower FILE.ll SYMBOL") };
    let text = std::fs::read_to_string(file).expect("readable file");
    let m = ksearch_simt::reader::read(&text).expect("LLVM IR");
    let l = ksearch_simt::lower::lower(&m, symbol, ksearch_simt::lower::Loads::AsWritten)
        .expect("a kernel that can be lowered");
    println!("{l}");
}
