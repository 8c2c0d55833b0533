//! What the sanitizers cost on kernels that ship: the optimised form as it is timed, and the faithful form, which keeps every
//! access, without checks and with all of them. Times are processor seconds of one thread, the best of several runs.
//!
//! `cargo bench -p ksearch-simt --bench cost`. Needs a clang.
#![allow(clippy::print_stdout)]

use std::time::Duration;

use ksearch_msl::{CompileOptions, Compiler, Optimise, SourceFile};
use ksearch_simt::{ArgValue, Buffer, Launch, Limits, Memory, Mode, Program};

const ATTENTION: &str = include_str!("../../../kernels/attention/naive.metal");
const SOFTMAX: &str = include_str!("../../../kernels/softmax/naive.metal");

/// Processor time of this process.
fn cpu_time() -> Duration {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `t` is a valid place for the result.
    #[allow(unsafe_code)]
    unsafe {
        libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut t);
    }
    Duration::new(t.tv_sec as u64, t.tv_nsec as u32)
}

/// Buffers of floats, the last of them an output that nothing has written; then scalars of four bytes.
fn arguments(memory: &mut Memory, floats: &[usize], scalars: &[u32]) -> Vec<ArgValue> {
    let last = floats.len() - 1;
    let mut out = Vec::new();
    for (k, &n) in floats.iter().enumerate() {
        let bytes = (0..n).flat_map(|i| ((i * 7 % 100) as f32 * 0.01).to_le_bytes()).collect();
        let written = (k == last).then(|| vec![false; n * 4]);
        out.push(ArgValue::Buffer(
            memory.add(Buffer { name: format!("b{k}"), bytes, written, read_only: k < last }),
            0,
        ));
    }
    out.extend(scalars.iter().map(|s| ArgValue::Bytes(s.to_le_bytes().to_vec())));
    out
}

fn measure(source: &str, entry: &str, form: Optimise, mode: Mode, args: (&[usize], &[u32]), groups: u32) -> f64 {
    let define = |n: &str, v: &str| (n.to_owned(), v.to_owned());
    let options = CompileOptions {
        defines: vec![define("T", "float"), define("D", "64")],
        optimise: form,
        fast_math: true,
        ..CompileOptions::default()
    };
    let compiler = Compiler::shared().expect("a clang");
    let module = compiler.compile(&[SourceFile::new("k.metal", source)], &options).expect("shipped kernels compile");
    let program = Program::load(&module).expect("it is readable");
    let mut best = f64::INFINITY;
    for _ in 0..7 {
        let mut memory = Memory::default();
        let launch = Launch::new([groups, 1, 1], [64, 1, 1], arguments(&mut memory, args.0, args.1));
        let limits = Limits { host_threads: 1, ..Limits::default() };
        let start = cpu_time();
        let o = program.run(entry, &launch, &mut memory, &limits, mode).expect("it runs");
        best = best.min(cpu_time().saturating_sub(start).as_secs_f64());
        assert!(o.faults.is_empty(), "{:?}", o.faults);
    }
    best
}

/// Source, kernel, sizes of its buffers, scalars, threadgroups.
type Case = (&'static str, &'static str, &'static [usize], &'static [u32], u32);

/// 1.0 as bits.
const ONE: u32 = 0x3f80_0000;
const CASES: [Case; 2] = [
    (ATTENTION, "attention_naive", &[256 * 64; 4], &[1, 1, 256, 256, ONE, 0], 4),
    (SOFTMAX, "softmax_naive", &[512 * 1000; 2], &[512, 1000, ONE], 8),
];

fn main() {
    for (source, entry, floats, scalars, groups) in CASES {
        println!("{entry}");
        for (name, form, mode) in [
            ("optimised, no checks", Optimise::Speed, Mode::Fast),
            ("optimised, all counters", Optimise::Speed, Mode::Profile),
            ("faithful, no checks", Optimise::Faithful, Mode::Fast),
            ("faithful, all sanitizers", Optimise::Faithful, Mode::Sanitize),
        ] {
            let seconds = measure(source, entry, form, mode, (floats, scalars), groups);
            println!("  {name:25} {:8.2} ms", seconds * 1e3);
        }
    }
}
