//! The comparisons: a random kernel on the machine against the reference; any text against the reader and the machine,
//! which must answer without panic. Knows both executors.

use ksearch_simt::{ArgValue, Buffer, Isa, Launch, Limits, Memory, Mode, Program, RunError, reader};

use crate::generate::{TABLE, THREADS, WORDS, kernel};
use crate::reference::Reference;

/// Groups of a launch.
const GROUPS: u32 = 2;

/// What a comparison found wrong: a report for people.
#[derive(Debug)]
pub struct Mismatch(pub String);

fn noise(n: usize, mut seed: u32, float_from: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(n * 4);
    for k in 0..n {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let x = seed >> 7;
        let word = if k % WORDS >= float_from { (x as f32 / 65536.0 - 200.0).to_bits() } else { x % 200 };
        out.extend(word.to_le_bytes());
    }
    out
}

/// Equal bits, or both NaN where the word is a float.
fn agree(k: usize, a: u32, b: u32) -> bool {
    let nan = |x: u32| f32::from_bits(x).is_nan();
    a == b || (k % WORDS >= WORDS - 3 && nan(a) && nan(b))
}

/// Runs the kernel that `bytes` stand for on the machine, in every mode and on every instruction set of this host, and
/// compares each result with the reference.
pub fn differential(bytes: &[u8]) -> Result<(), Mismatch> {
    let ir = kernel(bytes);
    let fail = |what: String| Mismatch(format!("{what}\n{ir}"));
    let module = reader::read(&ir).map_err(|e| fail(e.to_string()))?;
    let n = (THREADS * GROUPS) as usize * WORDS;
    let seed = bytes.iter().fold(7u32, |s, &b| s.wrapping_mul(31).wrapping_add(u32::from(b)));
    let (input, table) = (noise(n, seed, 4), noise(TABLE as usize, seed ^ 0x63, WORDS));
    let mut reference = Reference::new(&module, vec![input.clone(), table.clone(), vec![0; n * 4]], THREADS);
    reference.run("k", GROUPS).map_err(|e| fail(format!("reference: {}", e.0)))?;
    let want = reference.buffers.pop().unwrap_or_default();
    for (isa, mode) in [
        (Isa::Generic, Mode::Fast),
        (Isa::Avx2, Mode::Profile),
        (Isa::Avx512, Mode::Fast),
        (Isa::Avx512, Mode::Sanitize),
    ] {
        let program = Program::from_ir(&ir, [("k", "k")]).map_err(|e| fail(e.to_string()))?.with_isa(isa);
        let mut memory = Memory::default();
        let mut add = |name: &str, bytes: Vec<u8>, read_only| {
            ArgValue::Buffer(memory.add(Buffer { name: name.into(), bytes, written: None, read_only }), 0)
        };
        let args =
            vec![add("in", input.clone(), true), add("table", table.clone(), true), add("out", vec![0; n * 4], false)];
        let launch = Launch::new([GROUPS, 1, 1], [THREADS, 1, 1], args);
        let limits = Limits { max_instructions: 10_000_000, host_threads: 1, ..Limits::default() };
        let out = program
            .run("k", &launch, &mut memory, &limits, mode)
            .map_err(|e| fail(format!("{isa:?} {mode:?}: {e}")))?;
        if let Some(f) = out.faults.first() {
            return Err(fail(format!("{isa:?} {mode:?}: {f:?}")));
        }
        let got = &memory.buffers[2].bytes;
        for (k, (a, b)) in got.chunks_exact(4).zip(want.chunks_exact(4)).enumerate() {
            let word = |c: &[u8]| u32::from_le_bytes([c[0], c[1], c[2], c[3]]);
            if !agree(k, word(a), word(b)) {
                let (thread, var) = (k / WORDS, k % WORDS);
                let what = format!(
                    "{isa:?} {mode:?}: thread {thread}, variable {var}: machine {:#x}, reference {:#x}",
                    word(a),
                    word(b)
                );
                return Err(fail(what));
            }
        }
    }
    Ok(())
}

/// Feeds any text to the reader and, where it is a module, runs its functions on small buffers under a small budget. The
/// machine may refuse or report faults; it must not panic, hang or use much memory.
pub fn survives(text: &str) {
    let Ok(module) = reader::read(text) else { return };
    let names: Vec<String> = module.functions.iter().take(4).map(|f| f.name.to_string()).collect();
    let Ok(program) = Program::from_ir(text, names.iter().map(|n| (n.as_str(), n.as_str()))) else { return };
    for name in &names {
        let Some(f) = module.function(name) else { continue };
        let mut memory = Memory::default();
        let args = f
            .params
            .iter()
            .enumerate()
            .map(|(k, p)| match p.ty {
                reader::ir::Type::Ptr(3) => ArgValue::Threadgroup(64),
                _ => {
                    let b = Buffer { name: format!("b{k}"), bytes: vec![1; 64], written: None, read_only: false };
                    ArgValue::Buffer(memory.add(b), 0)
                }
            })
            .collect();
        let launch = Launch::new([2, 1, 1], [40, 1, 1], args);
        let limits = Limits { max_instructions: 20_000, host_threads: 1, ..Limits::default() };
        for mode in [Mode::Fast, Mode::Sanitize] {
            match program.run(name, &launch, &mut memory, &limits, mode) {
                Ok(_) | Err(RunError::Launch(_) | RunError::Unsupported { .. } | RunError::Memory) => {}
                // Text that no compiler would print may contradict itself.
                Err(RunError::Internal(_) | RunError::NoEntry(_)) => {}
            }
        }
    }
}
