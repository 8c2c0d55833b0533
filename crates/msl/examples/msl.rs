//! Compiles MSL files, or a CUDA file, and prints what the front end makes of them: `msl [--ir] [--ptx] [--root DIR] [--list] [--faithful] [--double] [--variables] [--only kernel] [-D name=value]
//! [-C constant=value] FILE...`; the first file is compiled, the others resolve its includes.

#![allow(clippy::print_stdout)] // Printing is what it is for.

use std::path::Path;
use std::time::Instant;

use ksearch_msl::{CompileOptions, Compiler, Language, Optimise, SourceFile, corpus, entry_points};

fn main() {
    let mut options = CompileOptions { fast_math: true, ..CompileOptions::default() };
    let mut files = Vec::new();
    let mut print_ir = false;
    let mut print_text = false;
    let mut root: Option<String> = None;
    let mut list = false;
    let mut print_ptx = false;
    let mut args = std::env::args().skip(1);
    let pair = |text: Option<String>| {
        let text = text.unwrap_or_default();
        let (name, value) = text.split_once('=').unwrap_or((&text, "1"));
        (name.to_owned(), value.to_owned())
    };
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--text" => print_text = true,
            "--ir" => print_ir = true,
            "--ptx" => print_ptx = true,
            "--root" => root = args.next(),
            "--list" => list = true,
            "--only" => options.only.extend(args.next()),
            "--faithful" => options.optimise = Optimise::Faithful,
            "--precise" => options.fast_math = false,
            "--double" => options.double = true,
            "--variables" => options.variables = true,
            "-D" => options.defines.push(pair(args.next())),
            "-C" => {
                let (name, value) = pair(args.next());
                options.constants.insert(name, value);
            }
            _ => match std::fs::read_to_string(&arg) {
                Ok(text) => files.push(SourceFile::new(arg, text)),
                Err(e) => {
                    eprintln!("{arg}: {e}");
                    std::process::exit(2);
                }
            },
        }
    }
    // With a root, includes are read from disk.
    if let (Some(root), Some(main)) = (root, files.first()) {
        match corpus::load(Path::new(&main.name), &[root.into()]) {
            Ok(loaded) => files = loaded,
            Err(e) => {
                eprintln!("{e}");
                std::process::exit(2);
            }
        }
    }
    if files.first().is_some_and(|f| f.name.ends_with(".cu")) {
        options.language = Language::Cuda;
    }
    if list {
        for entry in entry_points(&files, &options).unwrap_or_else(|d| {
            eprintln!("{d:?}");
            Vec::new()
        }) {
            println!("{}", entry.name);
        }
        return;
    }
    let start = Instant::now();
    let compiler = match Compiler::shared() {
        Ok(c) => c,
        Err(e) => {
            eprintln!("{e}");
            std::process::exit(2);
        }
    };
    let found = start.elapsed();
    if print_text {
        match compiler.generated_text(&files, &options) {
            Ok(text) => println!("{text}"),
            Err(d) => eprintln!("{d:?}"),
        }
        return;
    }
    if print_ptx {
        match compiler.compile_ptx(&files, &options) {
            Ok(module) => println!("{}", module.ptx),
            Err(d) => {
                eprintln!("{d:#?}");
                std::process::exit(1);
            }
        }
        return;
    }
    let start = Instant::now();
    match compiler.compile(&files, &options) {
        Ok(module) => {
            if print_ir {
                println!("{}", module.ir);
            }
            for e in &module.entries {
                eprintln!(
                    "{} ({}) at {}, {} bytes of threadgroup memory",
                    e.name, e.symbol, e.pos, e.threadgroup_bytes
                );
                for p in &e.params {
                    eprintln!("    {} {:?}", p.name, p.kind);
                }
            }
            for w in &module.warnings {
                eprintln!("{w:?}");
            }
            eprintln!("compiled in {:?} (clang found in {found:?})", start.elapsed());
        }
        Err(diagnostics) => {
            for d in diagnostics {
                let pos = d.pos.map_or(String::new(), |p| format!("{p}: "));
                eprintln!("{pos}{:?}[{}]: {}", d.severity, d.code, d.message);
                if let Some(help) = d.help {
                    eprintln!("    help: {help}");
                }
            }
            std::process::exit(1);
        }
    }
}
