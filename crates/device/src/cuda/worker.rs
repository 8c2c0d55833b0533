//! The process that owns the GPU: takes requests on one stream and answers on another, until the other side ends or a
//! kernel takes the context with it. Candidates' code runs here and nowhere else. Must not know tasks.

use std::collections::HashMap;
use std::io::{Read, Write};

use cudarc::driver::sys::CUfunction_attribute as Attribute;
use ksearch_task::DType;

use super::driver::{self, Buffer, DriverFailure, Gpu, Kernel, Module, machine};
use super::ptx;
use super::wire::{Answer, Arg, BufferSpec, Code, KernelReport, Request, Step, Trouble, Use, receive, send};

/// Bytes written between two timed calls, so that no input is left in the L2 (60 MB on the largest known).
const FLUSH: usize = 256 << 20;
/// Calls before the clock counts, microseconds of work at least.
const WARM_UP: f64 = 30_000.0;
/// Warm-up calls at most.
const WARM_CALLS: u32 = 200;
/// Fewest timed calls.
const FEWEST: u32 = 5;
/// Timed calls queued before the results are looked at.
const BATCH: u32 = 16;
/// Calls that are looked at whole where a timed one gave other bytes than the first.
const LOOKED_AT: u32 = 4;
/// A kernel that keeps its own order of additions may differ by this much of the largest output between two calls.
const REPEATABLE: f64 = 2e-3;

/// A module, its kernels (name and symbol), and its PTX.
type Unit = (Module, Vec<(String, String)>, String);

type Result<T> = std::result::Result<T, DriverFailure>;

/// Kernels of the worker itself.
const HELPERS: &str = r#"
extern "C" __global__ void ks_hash(const unsigned int* words, unsigned long long count, unsigned long long* out) {
    unsigned long long sum = 0;
    const unsigned long long step = (unsigned long long)gridDim.x * blockDim.x;
    for (unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
        unsigned long long x = (unsigned long long)words[i] + i * 0x9E3779B97F4A7C15ull;
        x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
        x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
        sum += x ^ (x >> 31);
    }
    atomicAdd(out, sum);
}
extern "C" __global__ void ks_clock(unsigned long long* out) {
    unsigned long long t0, t1;
    const long long c0 = clock64();
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t0));
    do { asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t1)); } while (t1 - t0 < 200000ull);
    out[0] = (unsigned long long)(clock64() - c0);
    out[1] = t1 - t0;
}
"#;

struct Loaded {
    kernels: HashMap<String, Kernel>,
    last: Option<Placed>,
    // Last: unloaded after everything that uses it.
    _modules: Vec<Module>,
}

/// Buffers and dispatches of a run, kept for more samples.
struct Placed {
    specs: Vec<BufferSpec>,
    buffers: Vec<Buffer>,
    /// Contents that in-out buffers begin with.
    pristine: Vec<Option<Buffer>>,
    steps: Vec<Step>,
    /// Hash of every output after the call whose answer was given back.
    expected: Vec<u64>,
    /// Those outputs; kept for timed runs only.
    answers: Vec<Buffer>,
    calls: u32,
}

struct Worker {
    gpu: Gpu,
    hash: Kernel,
    clock: Kernel,
    flush: Buffer,
    sums: Buffer,
    includes: Vec<String>,
    loaded: HashMap<u64, Loaded>,
    _helpers: Module,
}

/// Serves until the input ends. Returns only what could not be told to the other side.
pub fn serve(input: &mut impl Read, output: &mut impl Write) -> std::io::Result<()> {
    let mut worker = match Worker::open() {
        Ok(worker) => worker,
        Err(failure) => {
            // Say so in answer to the first request, and end.
            let _ = receive::<Request>(input)?;
            return send(output, &Answer::Failed { trouble: failure.trouble, lost: true }, &[]);
        }
    };
    while let Some((request, body)) = receive::<Request>(input)? {
        let (answer, parts) = worker
            .answer(request, &body)
            .unwrap_or_else(|failure| (Answer::Failed { trouble: failure.trouble, lost: failure.lost }, Vec::new()));
        let parts: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
        send(output, &answer, &parts)?;
        if matches!(answer, Answer::Failed { lost: true, .. }) {
            break;
        }
    }
    Ok(())
}

impl Worker {
    fn open() -> Result<Self> {
        let gpu = Gpu::open()?;
        let options = vec![format!("--gpu-architecture={}", architecture(&gpu))];
        let names = ["ks_hash".to_owned(), "ks_clock".to_owned()];
        let compiled = driver::compile(("helpers.cu", HELPERS), &[], &options, &names)?;
        let helpers = Gpu::load(&compiled.cubin)?;
        let find = |name: &str| helpers.kernel(name).ok_or_else(|| machine("the worker's own kernels are missing"));
        let (hash, clock) = (find("ks_hash")?, find("ks_clock")?);
        let (flush, sums) = (gpu.buffer(FLUSH)?, gpu.buffer(4096 * 8)?);
        let includes = include_folders();
        Ok(Self { gpu, hash, clock, flush, sums, includes, loaded: HashMap::new(), _helpers: helpers })
    }

    fn answer(&mut self, request: Request, body: &[u8]) -> Result<(Answer, Vec<Vec<u8>>)> {
        match request {
            Request::Hello => Ok((Answer::Facts(self.gpu.facts.clone()), Vec::new())),
            Request::Load { key, code, launches } => self.load(key, &code, &launches),
            Request::Run { key, buffers, steps, probe, timing } => self.run(key, buffers, steps, body, probe, timing),
            Request::Again { key, samples } => {
                let mut loaded = self.loaded.remove(&key).ok_or_else(|| machine("this code is not loaded"))?;
                let result = self.again(&mut loaded, samples);
                self.loaded.insert(key, loaded);
                Ok((Answer::Samples(result?), Vec::new()))
            }
            Request::Unload { key } => {
                self.loaded.remove(&key);
                Ok((Answer::Done, Vec::new()))
            }
        }
    }

    fn load(&mut self, key: u64, code: &Code, launches: &[(String, u32, u32)]) -> Result<(Answer, Vec<Vec<u8>>)> {
        let mut log = String::new();
        let mut modules: Vec<Unit> = Vec::new();
        match code {
            Code::Source { files, defines, kernels } => {
                let Some(((name, main), headers)) = files.split_first() else {
                    return Err(machine("there is no source"));
                };
                let mut options = vec![
                    format!("--gpu-architecture={}", architecture(&self.gpu)),
                    "--std=c++17".to_owned(),
                    "--generate-line-info".to_owned(),
                    "--device-as-default-execution-space".to_owned(),
                ];
                options.extend(self.includes.iter().map(|i| format!("--include-path={i}")));
                let text = with_defines(name, main, headers, defines);
                let compiled = driver::compile((name, &text), headers, &options, kernels)?;
                if let Some(variable) = ptx::lasting_variable(&compiled.ptx) {
                    return Err(DriverFailure {
                        trouble: Trouble::Launch(
                            format!("`{variable}` is a variable on the device that outlives the launch"),
                            "Keep what passes between dispatches in scratch buffers, and tables in __constant__ memory."
                                .into(),
                        ),
                        lost: false,
                    });
                }
                let symbols = kernels.iter().cloned().zip(compiled.symbols).collect();
                modules.push((Gpu::load(&compiled.cubin)?, symbols, compiled.ptx));
                log = compiled.log;
            }
            Code::Ptx { modules: texts } => {
                for (text, kernels) in texts {
                    let mut image = text.clone().into_bytes();
                    image.push(0);
                    modules.push((Gpu::load(&image)?, kernels.clone(), text.clone()));
                }
            }
        }
        let mut found = HashMap::new();
        let mut reports = Vec::new();
        let named = modules.iter().flat_map(|(module, names, text)| names.iter().map(move |n| (module, n, text)));
        for (module, (name, symbol), text) in named {
            // Only what is launched needs room.
            if !launches.iter().any(|l| l.0 == *name) {
                continue;
            }
            let kernel = module.kernel(symbol).ok_or_else(|| machine(format!("kernel `{name}` was not built")))?;
            let (_, threads, shared) = launches.iter().find(|l| l.0 == *name).cloned().unwrap_or_default();
            self.gpu.allow_shared(kernel, shared)?;
            let blocks = Gpu::resident(kernel, threads.max(1), shared);
            let warps = blocks * threads.div_ceil(32);
            reports.push(KernelReport {
                kernel: name.clone(),
                registers: Gpu::attribute(kernel, Attribute::CU_FUNC_ATTRIBUTE_NUM_REGS),
                shared: Gpu::attribute(kernel, Attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES),
                local: Gpu::attribute(kernel, Attribute::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES),
                max_threads: Gpu::attribute(kernel, Attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK),
                blocks,
                occupancy: (f64::from(warps) / f64::from(self.gpu.most_warps())).min(1.0),
                unread: ptx::unread_parameters(text, symbol),
            });
            found.insert(name.clone(), kernel);
        }
        let modules = modules.into_iter().map(|(module, _, _)| module).collect();
        self.loaded.insert(key, Loaded { kernels: found, last: None, _modules: modules });
        Ok((Answer::Loaded { kernels: reports, log }, Vec::new()))
    }

    fn run(
        &mut self,
        key: u64,
        specs: Vec<BufferSpec>,
        steps: Vec<Step>,
        body: &[u8],
        probe: bool,
        timing: Option<(f64, u32)>,
    ) -> Result<(Answer, Vec<Vec<u8>>)> {
        let mut loaded = self.loaded.remove(&key).ok_or_else(|| machine("this code is not loaded"))?;
        loaded.last = None;
        let mut placed = self.place(specs, steps, body)?;
        let before = self.hashes(&placed, Use::Input)?;
        let launched = self.call(&loaded, &placed)?;
        self.gpu.wait()?;
        for (spec, buffer) in placed.specs.iter().zip(&placed.buffers) {
            if let Some(offset) = self.gpu.trespass(buffer)? {
                let what = format!(
                    "the kernel wrote outside `{}`: at byte {offset} of a buffer of {} bytes",
                    spec.name, spec.bytes
                );
                return Err(DriverFailure { trouble: Trouble::Fault("out_of_bounds".into(), what), lost: false });
            }
        }
        let changed = self.hashes(&placed, Use::Input)? != before;
        let mut parts = Vec::new();
        for (spec, buffer) in placed.specs.iter().zip(&placed.buffers) {
            if matches!(spec.usage, Use::InOut | Use::Output) || (changed && spec.usage == Use::Input) {
                parts.push(self.gpu.read(buffer)?);
            }
        }
        placed.expected = self.hashes(&placed, Use::Output)?;
        if timing.is_some() {
            let keep = |(spec, buffer): (&BufferSpec, &Buffer)| {
                let answer = self.gpu.buffer(spec.bytes)?;
                self.gpu.copy(&answer, buffer)?;
                Ok(answer)
            };
            placed.answers = outputs(&placed).map(keep).collect::<Result<_>>()?;
        }
        let mut written = Vec::new();
        if probe {
            let given = contents(&placed.specs, body);
            self.restore(&placed, |n| given.get(n).map(|bytes| bytes.iter().map(|b| !b).collect()))?;
            self.call(&loaded, &placed)?;
            let mut outputs = parts.iter();
            for (n, (spec, buffer)) in placed.specs.iter().zip(&placed.buffers).enumerate() {
                let first = match spec.usage {
                    Use::InOut | Use::Output => outputs.next(),
                    Use::Input if changed => outputs.next(),
                    _ => None,
                };
                if let (Use::Output, Some(first), Some(poison)) = (spec.usage, first, given.get(n)) {
                    let second = self.gpu.read(buffer)?;
                    written.push(written_elements(poison, first, &second, spec.element()));
                }
            }
        }
        parts.extend(written);
        let mut samples = Vec::new();
        let mut clock_mhz = 0.0;
        if let Some((wanted, most)) = timing {
            samples = self.time(&loaded, &mut placed, wanted, most)?;
            clock_mhz = self.clock()?;
        }
        loaded.last = Some(placed);
        self.loaded.insert(key, loaded);
        Ok((Answer::Ran { launched, samples, clock_mhz, changed }, parts))
    }

    fn place(&self, specs: Vec<BufferSpec>, steps: Vec<Step>, body: &[u8]) -> Result<Placed> {
        let given = contents(&specs, body);
        let (mut buffers, mut pristine) = (Vec::new(), Vec::new());
        for (n, spec) in specs.iter().enumerate() {
            let buffer = self.gpu.buffer(spec.bytes)?;
            if let Some(bytes) = given.get(n)
                && spec.usage != Use::Scratch
            {
                self.gpu.write(&buffer, bytes)?;
            }
            let copy = if spec.usage == Use::InOut {
                let copy = self.gpu.buffer(spec.bytes)?;
                self.gpu.copy(&copy, &buffer)?;
                Some(copy)
            } else {
                None
            };
            buffers.push(buffer);
            pristine.push(copy);
        }
        Ok(Placed { specs, buffers, pristine, steps, expected: Vec::new(), answers: Vec::new(), calls: 0 })
    }

    /// Sets everything that a call writes back to what it may begin with; `poison` gives the bytes of an output.
    fn restore(&self, placed: &Placed, poison: impl Fn(usize) -> Option<Vec<u8>>) -> Result<()> {
        for (n, (spec, buffer)) in placed.specs.iter().zip(&placed.buffers).enumerate() {
            match spec.usage {
                Use::Input => {}
                Use::InOut => {
                    if let Some(Some(copy)) = placed.pristine.get(n) {
                        self.gpu.copy(buffer, copy)?;
                    }
                }
                Use::Output => match poison(n) {
                    Some(bytes) => self.gpu.write(buffer, &bytes)?,
                    None => self.gpu.fill(buffer, 0xff)?,
                },
                Use::Scratch => self.gpu.fill(buffer, 0xff)?,
            }
        }
        Ok(())
    }

    /// Queues all dispatches once.
    fn call(&self, loaded: &Loaded, placed: &Placed) -> Result<Vec<String>> {
        let mut launched = Vec::new();
        for step in &placed.steps {
            let kernel = *loaded.kernels.get(&step.kernel).ok_or_else(|| machine("a kernel is missing"))?;
            let mut arguments = Vec::new();
            for arg in &step.args {
                arguments.push(match arg {
                    Arg::Buffer(n) => {
                        let buffer = placed.buffers.get(*n).ok_or_else(|| machine("a buffer is missing"))?;
                        buffer.at().to_le_bytes().to_vec()
                    }
                    Arg::Null => vec![0; 8],
                    Arg::Bytes(bytes) => bytes.clone(),
                });
            }
            for _ in 0..step.repeat {
                self.gpu.launch(kernel, (step.grid, step.block, step.cluster), step.shared, &mut arguments)?;
                launched.push(step.kernel.clone());
            }
        }
        Ok(launched)
    }

    fn time(&self, loaded: &Loaded, placed: &mut Placed, wanted: f64, most: u32) -> Result<Vec<f64>> {
        let (start, end) = (Gpu::event()?, Gpu::event()?);
        let (mut spent, mut calls, mut each) = (0.0, 0, 1.0);
        while (spent < WARM_UP && calls < WARM_CALLS) || calls == 0 {
            self.restore(placed, |_| None)?;
            self.gpu.record(&start)?;
            self.call(loaded, placed)?;
            self.gpu.record(&end)?;
            each = Gpu::between(&start, &end)?;
            // The clock rises with time, not with calls.
            spent += each + 20.0;
            calls += 1;
        }
        let count = ((wanted / each.max(1.0)) as u32).clamp(FEWEST.min(most), most.max(1));
        self.samples(loaded, placed, count)
    }

    fn again(&self, loaded: &mut Loaded, samples: u32) -> Result<Vec<f64>> {
        let mut placed = loaded.last.take().ok_or_else(|| machine("nothing was timed under this name"))?;
        let result = self.samples(loaded, &mut placed, samples);
        loaded.last = Some(placed);
        result
    }

    /// Timed calls, each after its outputs were poisoned and the L2 was flushed; every answer is compared with the one
    /// that was given back.
    fn samples(&self, loaded: &Loaded, placed: &mut Placed, count: u32) -> Result<Vec<f64>> {
        let mut times = Vec::new();
        let outputs = outputs(placed).count();
        let mut left = count;
        while left > 0 {
            let batch = left.min(BATCH);
            left -= batch;
            self.gpu.fill(&self.sums, 0)?;
            let mut events = Vec::new();
            for n in 0..batch {
                self.restore(placed, |_| None)?;
                self.gpu.fill(&self.flush, (n & 1) as u8)?;
                let (start, end) = (Gpu::event()?, Gpu::event()?);
                self.gpu.record(&start)?;
                self.call(loaded, placed)?;
                self.gpu.record(&end)?;
                self.hash_into(placed, Use::Output, n as usize * outputs)?;
                events.push((start, end));
                placed.calls += 1;
            }
            for (start, end) in &events {
                times.push(Gpu::between(start, end)?);
            }
            let sums = self.sums(batch as usize * outputs)?;
            if sums.chunks(outputs.max(1)).any(|s| s != placed.expected.as_slice()) {
                self.explain(loaded, placed)?;
            }
        }
        Ok(times)
    }

    /// Some timed call gave other bytes than the first one. Sums in another order may do that, within reason of the answer
    /// that was given back: calls that agree among themselves and not with it are no better.
    fn explain(&self, loaded: &Loaded, placed: &Placed) -> Result<()> {
        for _ in 0..LOOKED_AT {
            self.restore(placed, |_| None)?;
            self.call(loaded, placed)?;
            for ((spec, buffer), answer) in outputs(placed).zip(&placed.answers) {
                if !alike(&self.gpu.read(answer)?, &self.gpu.read(buffer)?, spec.dtype) {
                    let what = format!("`{}` differs from call to call on the same inputs", spec.name);
                    return Err(DriverFailure { trouble: Trouble::Fault("data_race".into(), what), lost: false });
                }
            }
        }
        Ok(())
    }

    fn hashes(&self, placed: &Placed, usage: Use) -> Result<Vec<u64>> {
        self.gpu.fill(&self.sums, 0)?;
        let count = self.hash_into(placed, usage, 0)?;
        self.sums(count)
    }

    /// Queues hashes of all buffers of a use (outputs: in-out too) into the sums from `at` on; how many.
    fn hash_into(&self, placed: &Placed, usage: Use, at: usize) -> Result<usize> {
        let wanted = |s: &BufferSpec| s.usage == usage || (usage == Use::Output && s.usage == Use::InOut);
        let mut count = 0;
        for (_, buffer) in placed.specs.iter().zip(&placed.buffers).filter(|(s, _)| wanted(s)) {
            // What is left of a word belongs to the guard zone, which holds a known value.
            let words = buffer.bytes().div_ceil(4) as u64;
            let mut arguments = vec![
                buffer.at().to_le_bytes().to_vec(),
                words.to_le_bytes().to_vec(),
                (self.sums.at() + 8 * (at + count) as u64).to_le_bytes().to_vec(),
            ];
            let blocks = words.div_ceil(1024).clamp(1, 528) as u32;
            self.gpu.launch(self.hash, ([blocks, 1, 1], [256, 1, 1], [1; 3]), 0, &mut arguments)?;
            count += 1;
        }
        Ok(count)
    }

    fn sums(&self, count: usize) -> Result<Vec<u64>> {
        let bytes = self.gpu.read(&self.sums)?;
        Ok(bytes
            .chunks_exact(8)
            .take(count)
            .map(|c| c.iter().rev().fold(0u64, |n, b| n << 8 | u64::from(*b)))
            .collect())
    }

    /// Clock of the multiprocessors now, MHz.
    fn clock(&self) -> Result<f64> {
        let mut arguments = vec![self.sums.at().to_le_bytes().to_vec()];
        self.gpu.launch(self.clock, ([1; 3], [1; 3], [1; 3]), 0, &mut arguments)?;
        let read = self.sums(2)?;
        match read.as_slice() {
            [cycles, nanoseconds] if *nanoseconds > 0 => Ok(*cycles as f64 * 1e3 / *nanoseconds as f64),
            _ => Ok(0.0),
        }
    }
}

/// Buffers whose contents are the answer.
fn outputs(placed: &Placed) -> impl Iterator<Item = (&BufferSpec, &Buffer)> {
    let answers = |(spec, _): &(&BufferSpec, &Buffer)| matches!(spec.usage, Use::Output | Use::InOut);
    placed.specs.iter().zip(&placed.buffers).filter(answers)
}

/// The parts of `body` for each buffer; scratch has none, and an empty part stands in its place.
fn contents<'a>(specs: &[BufferSpec], mut body: &'a [u8]) -> Vec<&'a [u8]> {
    specs
        .iter()
        .map(|spec| {
            let bytes = if spec.usage == Use::Scratch { 0 } else { spec.bytes.min(body.len()) };
            let (part, rest) = body.split_at(bytes);
            body = rest;
            part
        })
        .collect()
}

/// One byte an element: 1 where a call wrote it. `first` came from a buffer that held `poison`, `second` from one that
/// held its complement; an element that was not written still holds both.
fn written_elements(poison: &[u8], first: &[u8], second: &[u8], element: usize) -> Vec<u8> {
    let width = element.max(1);
    poison
        .chunks(width)
        .zip(first.chunks(width))
        .zip(second.chunks(width))
        .map(|((p, a), b)| u8::from(!(p == a && p.iter().zip(b).all(|(p, b)| !p == *b))))
        .collect()
}

/// Are two outputs the same but for the order of additions? NaN is like nothing.
fn alike(a: &[u8], b: &[u8], dtype: Option<DType>) -> bool {
    let Some(dtype) = dtype else { return a == b };
    let (a, b) = (dtype.decode(a), dtype.decode(b));
    let largest = a.iter().fold(0.0f64, |m, x| m.max(x.abs()));
    a.iter().zip(&b).all(|(x, y)| (x - y).abs() <= REPEATABLE * largest)
}

/// The main file with the recipe's macros before it. The macros have short names (`T`, `D`) that CUDA's own headers use
/// for themselves, so whatever of those the files include is included first, and does nothing where it stands.
fn with_defines(name: &str, main: &str, headers: &[(String, String)], defines: &[(String, String)]) -> String {
    let texts = std::iter::once(main).chain(headers.iter().map(|h| h.1.as_str()));
    let mut includes: Vec<&str> = Vec::new();
    for line in texts.flat_map(str::lines) {
        let directive = line.trim_start().strip_prefix('#').map(str::trim_start);
        let system = directive.and_then(|d| d.strip_prefix("include")).is_some_and(|d| d.trim_start().starts_with('<'));
        if system && !includes.contains(&line.trim()) {
            includes.push(line.trim());
        }
    }
    let mut out = String::new();
    for include in includes {
        out.push_str(include);
        out.push('\n');
    }
    for (macro_name, value) in defines {
        out.extend(["#define ", macro_name, " ", value, "\n"]);
    }
    out.extend(["#line 1 \"", name, "\"\n", main]);
    out
}

/// The architecture with all features of this GPU.
fn architecture(gpu: &Gpu) -> String {
    let (major, minor) = gpu.facts.capability;
    let suffix = if major >= 9 { "a" } else { "" };
    format!("sm_{major}{minor}{suffix}")
}

/// Folders with CUDA's own headers: beside the NVRTC that was loaded, and where the toolkit is usually installed.
fn include_folders() -> Vec<String> {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let library = maps.lines().find_map(|l| l.split_whitespace().last().filter(|p| p.contains("libnvrtc.")));
    let mut folders: Vec<std::path::PathBuf> = Vec::new();
    if let Some(folder) = library.and_then(|l| std::fs::canonicalize(l).ok()).and_then(|l| l.parent().map(Into::into)) {
        let folder: std::path::PathBuf = folder;
        for up in ["../include", "../../include", "../../../include", "../../cuda_runtime/include"] {
            folders.push(folder.join(up));
        }
    }
    folders.push("/usr/local/cuda/include".into());
    let found = folders.into_iter().find(|f| f.join("cuda_fp16.h").is_file());
    found.map(|f| f.to_string_lossy().into_owned()).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_that_keep_both_poisons_were_not_written() {
        let poison = [1u8, 2, 3, 4, 5, 6];
        let first = [1u8, 2, 9, 9, 5, 6];
        // The second element was written; the third by chance with the bytes of the first poison.
        let second = [!1u8, !2, 9, 9, 5, 6];
        assert_eq!(written_elements(&poison, &first, &second, 2), [0, 1, 1]);
    }

    #[test]
    fn macros_come_after_cudas_own_headers() {
        let main = "#include <cuda_fp16.h>\n#include \"tile.cuh\"\n";
        let headers = [("tile.cuh".to_owned(), "# include <mma.h>\n#include <cuda_fp16.h>".to_owned())];
        let text = with_defines("a.cu", main, &headers, &[("T".into(), "float".into())]);
        assert_eq!(
            text,
            "#include <cuda_fp16.h>\n# include <mma.h>\n#define T float\n#line 1 \"a.cu\"\n#include <cuda_fp16.h>\n#include \"tile.cuh\"\n"
        );
    }

    #[test]
    fn outputs_are_alike_within_the_order_of_additions() {
        let bytes = |v: &[f32]| v.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<_>>();
        let floats = Some(DType::F32);
        assert!(alike(&bytes(&[1.0, -2.0]), &bytes(&[1.0005, -2.0]), floats));
        assert!(!alike(&bytes(&[1.0, -2.0]), &bytes(&[1.1, -2.0]), floats));
        assert!(!alike(&bytes(&[1.0, f32::NAN]), &bytes(&[1.0, f32::NAN]), floats));
        assert!(!alike(&[1], &[2], None) && alike(&[1], &[1], None));
        // Two bytes are not always a half: 1 and 1.5 as bfloats.
        assert!(!alike(&[0x80, 0x3f], &[0xc0, 0x3f], Some(DType::BF16)));
    }

    #[test]
    fn bodies_are_cut_in_the_order_of_the_buffers() {
        let spec = |usage, bytes| BufferSpec { name: String::new(), bytes, dtype: None, usage };
        let specs = [spec(Use::Input, 2), spec(Use::Scratch, 5), spec(Use::Output, 1)];
        assert_eq!(contents(&specs, b"abc"), [b"ab".as_slice(), b"", b"c"]);
        assert_eq!(contents(&specs, b"a"), [b"a".as_slice(), b"", b""]);
    }
}
