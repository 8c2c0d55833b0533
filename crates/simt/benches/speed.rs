//! Speed of the machine: lane-instructions and floating operations per second, by kernel, mode and host threads.
//!
//! `cargo bench -p ksearch-simt --bench speed [-- --json] [--threads N] [FILTER]`. Kernels are those of
//! `tests/kernels/bench.cl`. Every figure is measured on the host that runs this; a row is the best of several runs,
//! because other work on the host only ever slows a run down.
#![allow(clippy::print_stdout)]

use std::time::{Duration, Instant};

use ksearch_simt::{ArgValue, Buffer, Isa, Launch, Limits, Memory, Mode, Program};

const IR: &str = include_str!("../tests/kernels/bench.ll");

struct Case {
    name: &'static str,
    /// Floating operations of one launch.
    flops: f64,
    launch: Launch,
    memory: Memory,
}

fn floats(n: usize, seed: u32) -> Vec<u8> {
    let mut s = seed;
    (0..n)
        .flat_map(|_| {
            s = s.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            ((s >> 8) as f32 / (1 << 24) as f32 - 0.5).to_le_bytes()
        })
        .collect()
}

fn buffer(m: &mut Memory, name: &str, bytes: Vec<u8>) -> ArgValue {
    ArgValue::Buffer(m.add(Buffer { name: name.into(), bytes, written: None, read_only: false }), 0)
}

fn fma_loop() -> Case {
    let (threads, n) = (4096usize, 256u32);
    let mut memory = Memory::default();
    let args = vec![
        buffer(&mut memory, "in", floats(threads, 1)),
        buffer(&mut memory, "out", vec![0; threads * 4]),
        ArgValue::Bytes(n.to_le_bytes().to_vec()),
    ];
    Case {
        name: "fma_loop",
        flops: threads as f64 * f64::from(n) * 64.0,
        launch: Launch::new([threads as u32 / 256, 1, 1], [256, 1, 1], args),
        memory,
    }
}

fn attention(name: &'static str, len: u32, per_pair: f64) -> Case {
    let n = len as usize * 64;
    let mut memory = Memory::default();
    let mut args: Vec<ArgValue> =
        (0..3).map(|k| buffer(&mut memory, ["q", "k", "v"][k], floats(n, k as u32))).collect();
    args.push(buffer(&mut memory, "o", vec![0; n * 4]));
    args.push(ArgValue::Bytes(len.to_le_bytes().to_vec()));
    Case {
        name,
        flops: f64::from(len) * f64::from(len) * per_pair,
        launch: Launch::new([len / 64, 1, 1], [64, 1, 1], args),
        memory,
    }
}

/// Processor time of this process: what a run took even where other work shares the host.
fn cpu_time() -> Duration {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `t` is a valid place for the result.
    #[allow(unsafe_code)]
    unsafe {
        libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut t);
    }
    Duration::new(t.tv_sec as u64, t.tv_nsec as u32)
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let json = args.iter().any(|a| a == "--json");
    let value = |k: &str| args.iter().position(|a| a == k).and_then(|i| args.get(i + 1));
    let threads: usize = value("--threads").and_then(|s| s.parse().ok()).unwrap_or(1);
    let filter = args
        .iter()
        .enumerate()
        .find(|(i, a)| !a.starts_with("--") && (*i == 0 || !matches!(args[i - 1].as_str(), "--threads" | "--isa")));
    let isa = match value("--isa").map(String::as_str) {
        Some("generic") => Isa::Generic,
        Some("avx2") => Isa::Avx2,
        _ => Isa::Avx512,
    };
    let cases = [
        fma_loop(),
        // Two products of 64 a pair, the first one twice.
        attention("attention_naive", 256, 6.0 * 64.0),
        attention("attention_tiled", 512, 4.0 * 64.0 + 64.0),
    ];
    let names: Vec<(&str, &str)> = cases.iter().map(|c| (c.name, c.name)).collect();
    let program = Program::from_ir(IR, names).expect("the bench kernels are valid IR").with_isa(isa);
    let limits = Limits { host_threads: threads, ..Limits::default() };
    for mut c in cases {
        if filter.is_some_and(|(_, f)| !c.name.contains(f.as_str())) {
            continue;
        }
        for mode in [Mode::Fast, Mode::Profile, Mode::Sanitize] {
            let (mut best, mut processors) = (f64::INFINITY, f64::INFINITY);
            let mut lanes = 0;
            let start = Instant::now();
            for _ in 0..7 {
                let (t, c0) = (Instant::now(), cpu_time());
                let o = program.run(c.name, &c.launch, &mut c.memory, &limits, mode).expect("the launch runs");
                // One thread: processor time. Several: the clock on the wall, beside the processors' time together.
                let cpu = cpu_time().saturating_sub(c0);
                let took = if threads == 1 { cpu } else { t.elapsed() };
                best = best.min(took.as_secs_f64());
                processors = processors.min(cpu.as_secs_f64());
                assert!(o.faults.is_empty(), "{:?}", o.faults);
                lanes = o.counters.lanes.iter().sum();
                if start.elapsed().as_secs_f64() > 4.0 {
                    break;
                }
            }
            let (li, gf) = (lanes as f64 / best / 1e9, c.flops / best / 1e9);
            if json {
                println!(
                    "{{\"kernel\":\"{}\",\"mode\":\"{mode:?}\",\"threads\":{threads},\"seconds\":{best:.6},\"processor_seconds\":{processors:.6},\"glane_instructions_per_s\":{li:.4},\"gflops\":{gf:.4}}}",
                    c.name
                );
            } else {
                println!(
                    "{:18} {mode:9?} {best:9.4} s  {processors:9.4} s of processors  {li:8.3} G lane-instr/s  {gf:8.3} GFLOP/s",
                    c.name
                );
            }
        }
    }
}
