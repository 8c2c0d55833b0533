//! Runs measured programs in the simulator and keeps the counters on disk, keyed by content, so that a changed model
//! needs no new simulation. Knows compiler and machine; must not know chips or time.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ksearch_apple::{Dispatched, Features};
use ksearch_device::sim::sample::{self, Sampling};
use ksearch_msl::{CompileOptions, Compiler, EntryPoint, NoToolchain, Optimise, ParamKind, SourceFile};
use ksearch_simt::{ArgValue, Buffer, BufferId, Launch, Limits, Memory, Program};
use ksearch_task::DType;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use rand_distr::{Distribution as _, StandardNormal, Uniform};
use serde::{Deserialize, Serialize};

use crate::fit::Sample;
use crate::geometry::{Arg, BufferSpec, Fill, Geometry};
use crate::load::{Row, TruthSet};
use crate::score::Point;

/// Grows when counters get a new meaning, so that old files are not taken for new ones.
const FORMAT: &str = "2";
/// Elements after which the contents of a buffer repeat.
const PATTERN: usize = 1 << 18;

/// A simulated row: its dispatches, or why there are none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Simulated {
    /// Dispatches, in order; a repeated one stands once, with its count.
    pub dispatches: Vec<Dispatched>,
    /// Why the program could not be simulated.
    pub error: Option<String>,
}

/// Simulates rows, with a cache.
#[derive(Debug)]
pub struct Simulator {
    compiler: Arc<Compiler>,
    cache: Option<PathBuf>,
    sampling: Sampling,
}

impl Simulator {
    /// A simulator that keeps what it did under `cache`.
    pub fn new(cache: Option<PathBuf>, sampling: Sampling) -> Result<Self, NoToolchain> {
        Ok(Self { compiler: Compiler::shared()?, cache, sampling })
    }

    /// Counters of a row: from the cache, or simulated now. The second value tells whether they were there.
    pub fn row(&self, row: &Row, geometry: &Geometry) -> (Simulated, bool) {
        let path = self.cache.as_ref().map(|dir| dir.join(format!("{}.json", self.key(row, geometry))));
        if let Some(found) = path.as_deref().and_then(stored) {
            return (found, true);
        }
        let simulated = match self.simulate(row, geometry) {
            Ok(dispatches) => Simulated { dispatches, error: None },
            Err(message) => Simulated { dispatches: Vec::new(), error: Some(message) },
        };
        if let Some(path) = path {
            store(&path, &simulated);
        }
        (simulated, false)
    }

    fn key(&self, row: &Row, geometry: &Geometry) -> String {
        let mut hash = blake3::Hasher::new();
        let s = self.sampling;
        for part in
            [FORMAT, &row.source, &row.size, &geometry.fingerprint(), &format!("{} {}", s.instructions, s.groups)]
        {
            hash.update(&(part.len() as u64).to_le_bytes());
            hash.update(part.as_bytes());
        }
        hash.finalize().to_hex().to_string()
    }

    fn simulate(&self, row: &Row, geometry: &Geometry) -> Result<Vec<Dispatched>, String> {
        let files = [SourceFile::new(format!("{}.metal", row.task), row.source.to_string())];
        let mut memory = Memory::default();
        let mut names = Vec::new();
        for (name, spec, count, width) in geometry.buffers(&row.size).map_err(|e| e.to_string())? {
            let bytes = contents(spec, count, width, names.len() as u64);
            let id = memory.add(Buffer { name: name.to_owned(), bytes, written: None, read_only: false });
            names.push((name.to_owned(), id));
        }
        let mut out = Vec::new();
        for (at, spec) in geometry.dispatch.iter().enumerate() {
            let options = CompileOptions {
                constants: spec.constants.clone(),
                optimise: Optimise::Speed,
                fast_math: true,
                only: vec![spec.kernel.clone()],
                ..CompileOptions::default()
            };
            let module = self.compiler.compile(&files, &options).map_err(|d| {
                d.first()
                    .map_or_else(|| "it does not compile".to_owned(), |d| format!("it does not compile: {}", d.message))
            })?;
            let program = Program::load(&module).map_err(|e| e.to_string())?;
            let entry = module
                .entries
                .iter()
                .find(|e| e.name == spec.kernel)
                .ok_or_else(|| format!("it has no kernel `{}`", spec.kernel))?;
            let launched = geometry
                .launch(at, &row.size, entry.max_threads.unwrap_or(1024).min(1024))
                .map_err(|e| e.to_string())?;
            let args = arguments(entry, &launched.args, &names)?;
            let launch = Launch::new(launched.groups, launched.threads, args);
            let outcome =
                sample::profile(&program, &spec.kernel, &launch, &mut memory, &Limits::default(), self.sampling)
                    .map_err(|e| e.to_string())?;
            if let Some(fault) = outcome.faults.first() {
                return Err(fault.message.clone());
            }
            let threads = launch.threads.iter().product();
            let sizes = memory.buffers.iter().map(|b| b.bytes.len() as u64).collect();
            let mut d = Dispatched::new(&spec.kernel, outcome, launch.group_count(), threads, sizes)
                .ok_or("the machine gave no profile")?;
            d.repeat = launched.repeat;
            d.max_threads = entry.max_threads;
            out.push(d);
        }
        Ok(out)
    }
}

/// Samples of all rows of a set. Rows that cannot be simulated are named, with the reason. `progress` hears how many rows
/// are done, of how many.
pub fn samples(
    set: &TruthSet,
    simulator: &Simulator,
    progress: &mut dyn FnMut(usize, usize),
) -> (Vec<Sample>, Vec<String>) {
    let (mut out, mut failed) = (Vec::new(), Vec::new());
    for (i, row) in set.rows.iter().enumerate() {
        progress(i, set.rows.len());
        let name = || format!("{} {} {}", row.task, row.size, row.name);
        let Some(geometry) = set.geometries.get(&row.task) else {
            failed.push(format!("{}: no geometry file", name()));
            continue;
        };
        let (simulated, _) = simulator.row(row, geometry);
        if let Some(error) = simulated.error {
            failed.push(format!("{}: {error}", name()));
            continue;
        }
        let features: Vec<Features> = simulated.dispatches.iter().map(Features::new).collect();
        let point = Point {
            task: row.task.clone(),
            size: row.size.clone(),
            name: row.name.clone(),
            measured: row.seconds,
            simulated: f64::NAN,
            low_clock: f64::NAN,
            work: work(&features),
        };
        out.push(Sample { point, features });
    }
    progress(set.rows.len(), set.rows.len());
    (out, failed)
}

/// Equal for programs that do the same: instructions by class, sizes, threadgroup memory.
fn work(features: &[Features]) -> u64 {
    let mut hash = blake3::Hasher::new();
    for f in features {
        for n in &f.instructions {
            hash.update(&((n * 100.0).round() as i64).to_le_bytes());
        }
        hash.update(&f.threads.to_le_bytes());
        hash.update(&f.threadgroup_memory.to_le_bytes());
    }
    let mut first = [0; 8];
    first.copy_from_slice(&hash.finalize().as_bytes()[..8]);
    u64::from_le_bytes(first)
}

fn stored(path: &Path) -> Option<Simulated> {
    // What is not there or cannot be read is simulated again.
    serde_json::from_slice(&std::fs::read(path).ok()?).ok()
}

/// A cache that cannot be written only costs time.
fn store(path: &Path, simulated: &Simulated) {
    let Ok(bytes) = serde_json::to_vec(simulated) else { return };
    let part = path.with_extension("part");
    let written = path.parent().map_or(Ok(()), std::fs::create_dir_all).and_then(|()| std::fs::write(&part, bytes));
    if written.is_ok() {
        let _cache_is_optional = std::fs::rename(&part, path);
    }
}

fn arguments(entry: &EntryPoint, args: &[Arg], names: &[(String, BufferId)]) -> Result<Vec<ArgValue>, String> {
    let mut out = Vec::new();
    let (mut group_memory, mut plain) = (Vec::new(), Vec::new());
    for a in args {
        match a {
            Arg::Threadgroup(bytes) => group_memory.push(*bytes),
            other => plain.push(other),
        }
    }
    for p in &entry.params {
        out.push(match p.kind {
            ParamKind::Builtin(_) => continue,
            ParamKind::Threadgroup { index, .. } => ArgValue::Threadgroup(
                *group_memory
                    .get(index as usize)
                    .ok_or_else(|| format!("no size for threadgroup memory {index} (`{}`)", p.name))?,
            ),
            ParamKind::Buffer { index, .. } => match plain.get(index as usize) {
                Some(Arg::Bytes(bytes)) => ArgValue::Bytes(bytes.clone()),
                Some(Arg::Buffer(name, offset)) => {
                    let id = names.iter().find(|(n, _)| n == name).map(|(_, id)| *id);
                    ArgValue::Buffer(id.ok_or_else(|| format!("no buffer `{name}`"))?, *offset)
                }
                _ => return Err(format!("no argument for buffer {index} (`{}`)", p.name)),
            },
        });
    }
    Ok(out)
}

/// The bytes of a buffer.
fn contents(spec: &BufferSpec, count: usize, row: usize, seed: u64) -> Vec<u8> {
    let bytes = spec.dtype.bytes() * count;
    if spec.fill == Fill::Zero {
        return vec![0; bytes];
    }
    let short = if matches!(spec.fill, Fill::Ramp | Fill::Identity) { count } else { count.min(PATTERN) };
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let integer = matches!(spec.dtype, DType::I32 | DType::U32 | DType::U8);
    let unit = Uniform::new(0.0, 1.0).ok();
    let values: Vec<f64> = (0..short)
        .map(|i| match spec.fill {
            Fill::Zero => 0.0,
            Fill::Uniform => {
                let u: f64 = unit.map_or(0.5, |d| d.sample(&mut rng));
                if integer { (u * 16.0).floor() } else { u }
            }
            Fill::Normal => StandardNormal.sample(&mut rng),
            Fill::Ramp => i as f64,
            Fill::Identity => f64::from(u8::from(row > 0 && i / row == i % row)),
        })
        .collect();
    let mut out = spec.dtype.encode(&values);
    while !out.is_empty() && out.len() < bytes {
        let more = out.len().min(bytes - out.len());
        out.extend_from_within(..more);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    const SAXPY: &str = "#include <metal_stdlib>\nusing namespace metal;\nkernel void saxpy(device const float* x [[buffer(0)]], device float* y [[buffer(1)]], constant float& a [[buffer(2)]], constant uint& n [[buffer(3)]], uint i [[thread_position_in_grid]]) { if (i < n) y[i] = a * x[i] + y[i]; }\n";

    fn set(source: &str) -> (tempfile::TempDir, TruthSet) {
        let dir = tempfile::tempdir().expect("a folder");
        std::fs::write(dir.path().join("k.metal"), source).expect("a file");
        std::fs::create_dir(dir.path().join("geometry")).expect("a folder");
        let text = include_str!("../data/metal-sci/saxpy.toml").replace("1M = { n = 1048576 }", "1M = { n = 1000 }");
        std::fs::write(dir.path().join("geometry/saxpy.toml"), text).expect("a file");
        let truth = "chip = \"m1\"\nsource = \"here\"\n[[row]]\ntask = \"saxpy\"\nsize = \"1M\"\nfile = \"k.metal\"\nseconds = 1e-3\n";
        std::fs::write(dir.path().join("truth.toml"), truth).expect("a file");
        let set = TruthSet::load(dir.path(), None, None).expect("ground truth");
        (dir, set)
    }

    #[test]
    fn a_row_is_simulated_once_and_then_remembered() {
        let (dir, set) = set(SAXPY);
        let simulator = Simulator::new(Some(dir.path().join("cache")), Sampling::QUICK).expect("a compiler");
        let (row, g) = (&set.rows[0], &set.geometries["saxpy"]);
        let (first, known) = simulator.row(row, g);
        assert!(!known && first.error.is_none(), "{:?}", first.error);
        assert_eq!((first.dispatches[0].groups, first.dispatches[0].threads), (4, 256));
        assert_eq!(first.dispatches[0].counters.device_bytes, [8000, 4000]);
        assert_eq!(simulator.row(row, g), (first, true));
    }

    #[test]
    fn a_program_that_does_not_compile_says_so() {
        let (_dir, set) = set("kernel void other() {}");
        let simulator = Simulator::new(None, Sampling::QUICK).expect("a compiler");
        let (row, _) = simulator.row(&set.rows[0], &set.geometries["saxpy"]);
        assert!(row.dispatches.is_empty() && row.error.is_some());
    }
}
