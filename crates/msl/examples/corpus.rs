//! Compiles every `.metal` file of a folder: `corpus [--compile] [--json] DIR`.

#![allow(clippy::print_stdout)] // Printing is what it is for.

use ksearch_msl::{CompileOptions, Compiler, corpus};

fn main() {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    let full = args.iter().any(|a| a == "--compile");
    let json = args.iter().any(|a| a == "--json");
    args.retain(|a| a != "--compile" && a != "--json");
    let depth = if full { corpus::Depth::Compile } else { corpus::Depth::Check };
    let dir = args.pop().unwrap_or_else(|| ".".to_owned());
    let options = CompileOptions { fast_math: true, ..CompileOptions::default() };
    let result = Compiler::shared().map_err(|e| e.to_string()).and_then(|compiler| {
        corpus::check(std::path::Path::new(&dir), &compiler, &options, depth).map_err(|e| format!("{dir}: {e}"))
    });
    let rows = match result {
        Ok(rows) => rows,
        Err(e) => {
            eprintln!("{e}");
            std::process::exit(2);
        }
    };
    if json {
        match serde_json::to_string(&rows) {
            Ok(text) => println!("{text}"),
            Err(e) => eprintln!("{e}"),
        }
        return;
    }
    let mut good = 0;
    for row in &rows {
        good += usize::from(row.ok);
        println!(
            "{} {} ({} kernels, {} ms)",
            if row.ok { "ok  " } else { "FAIL" },
            row.file,
            row.entries.len(),
            row.ms
        );
        for d in row.diagnostics.iter().filter(|_| !row.ok) {
            let pos = d.pos.as_ref().map_or(String::new(), |p| format!("{p}: "));
            println!("       {pos}[{}] {}", d.code, d.message);
            if let Some(help) = &d.help {
                println!("            {help}");
            }
        }
    }
    println!("{good} of {} compile", rows.len());
}
