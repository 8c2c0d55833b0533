//! The CUDA backend (Mamba-1): cuBLASLt for a prompt's projections, own kernels for the rest, a generated token as one
//! graph. Must not know files or text.
#![allow(unsafe_code)]

mod device;

use std::rc::Rc;

use device::{Argument, Device, Graph, Kernel, Memory, Product, failed};
use half::{bf16, f16};

use crate::config::{Arch, Config};
use crate::engine::{Batch, Engine, Logits, Want, in_passes};
use crate::error::{Error, Result};
use crate::weights::{WeightSource, WeightType, checked};

/// The kernels' source, compiled at load for the model's sizes.
pub const KERNELS: &str = include_str!("kernels.cu");
/// Tokens that a thread of the scan (or of the convolution) loads at once: what segments are made of.
const STRETCH: usize = 8;
/// Most tokens of a segment of the scan.
const MAX_SPAN: usize = 64;
/// Blocks of the scan that keep the GPU busy.
const SCAN_BLOCKS: usize = 1056;
/// Rows of one pass: bounds the memory of activations.
const MAX_ROWS: usize = 8192;
/// Most tokens that one call of [`CudaModel::greedy`] makes.
const MAX_GREEDY: usize = 1 << 16;

/// A model on the GPU.
pub struct CudaModel {
    config: Config,
    kind: WeightType,
    kernels: Kernels,
    embedding: Memory,
    head: Option<Memory>,
    layers: Vec<Layer>,
    norm: Memory,
    work: Option<Work>,
    step: Step,
    /// Whether kernels of a step may start early.
    early: bool,
    device: Rc<Device>,
}

struct Kernels {
    embed: Kernel,
    rms_norm: Kernel,
    gather: Kernel,
    conv: Kernel,
    conv_tail: Kernel,
    scan_segments: Kernel,
    scan_carry: Kernel,
    scan_output: Kernel,
    step_in: Kernel,
    step_select: Kernel,
    step_scan: Kernel,
    step_out: Kernel,
    step_head: Kernel,
    step_choose: Kernel,
}

struct Layer {
    norm: Memory,
    in_proj: Memory,
    conv_weight: Memory,
    conv_bias: Memory,
    x_proj: Memory,
    dt_proj: Memory,
    dt_bias: Memory,
    decay: Memory,
    skip: Memory,
    out_proj: Memory,
}

/// Activations of a prompt.
struct Work {
    rows: usize,
    sequences: usize,
    ids: Memory,
    hidden: Memory,
    normed: Memory,
    projected: Memory,
    u: Memory,
    selected: Memory,
    dt: Memory,
    states: Memory,
    sums: Memory,
}

/// Activations of one token, all f32.
struct Step {
    token: Memory,
    /// Number of the hidden row whose logits are wanted.
    row: Memory,
    hidden: Memory,
    projected: Memory,
    selected: Memory,
    y: Memory,
    logits: Memory,
    chosen: Memory,
    count: Memory,
}

/// States of all layers, and the graphs that advance them.
pub struct CudaState {
    sequences: usize,
    /// Per layer: `[sequence][tap - 1][channel]`.
    conv: Vec<Memory>,
    /// Per layer: `[sequence][channel][state]`.
    ssm: Vec<Memory>,
    /// One token to logits; and one token to the next, chosen on the GPU.
    graph: Option<Graph>,
    greedy: Option<Graph>,
    device: Rc<Device>,
}

impl CudaModel {
    /// Loads a model onto the first GPU.
    pub fn load(config: &Config, source: &dyn WeightSource, kind: WeightType) -> Result<Self> {
        let defines = defines(config, kind)?;
        let device = Device::open()?;
        let module = device.compile(KERNELS, &defines)?;
        let kernels = Kernels {
            embed: module.kernel(c"embed")?,
            rms_norm: module.kernel(c"rms_norm")?,
            gather: module.kernel(c"gather")?,
            conv: module.kernel(c"conv")?,
            conv_tail: module.kernel(c"conv_tail")?,
            scan_segments: module.kernel(c"scan_segments")?,
            scan_carry: module.kernel(c"scan_carry")?,
            scan_output: module.kernel(c"scan_output")?,
            step_in: module.kernel(c"step_in")?,
            step_select: module.kernel(c"step_select")?,
            step_scan: module.kernel(c"step_scan")?,
            step_out: module.kernel(c"step_out")?,
            step_head: module.kernel(c"step_head")?,
            step_choose: module.kernel(c"step_choose")?,
        };
        let (d, di, vocab) = (config.d_model, config.d_inner, config.vocab);
        let matrix = |name: &str, shape: &[usize]| matrix(&device, kind, &checked(source, name, shape)?.to_f32());
        let layers =
            (0..config.layers).map(|i| Layer::load(&device, config, source, i, kind)).collect::<Result<_>>()?;
        let norm = checked(source, "backbone.norm_f.weight", &[d])?.to_f32();
        let embedding = matrix("backbone.embeddings.weight", &[vocab, d])?;
        let head = if config.tied { None } else { Some(matrix("lm_head.weight", &[vocab, d])?) };
        let floats = |n: usize| device.memory(4 * n, "one token's activations");
        let step = Step {
            token: floats(1)?,
            row: floats(1)?,
            hidden: floats(d)?,
            projected: floats(2 * di)?,
            selected: floats(selected(config))?,
            y: floats(di)?,
            logits: floats(vocab)?,
            chosen: floats(MAX_GREEDY)?,
            count: floats(1)?,
        };
        Ok(Self {
            kernels,
            embedding,
            head,
            layers,
            norm: device.upload(&norm, "a norm")?,
            work: None,
            step,
            early: true,
            config: config.clone(),
            kind,
            device,
        })
    }

    /// Bytes of the projections and the embedding on the GPU.
    pub fn weight_bytes(&self) -> usize {
        let layer = |l: &Layer| l.in_proj.bytes() + l.x_proj.bytes() + l.dt_proj.bytes() + l.out_proj.bytes();
        self.layers.iter().map(layer).sum::<usize>()
            + self.embedding.bytes()
            + self.head.as_ref().map_or(0, Memory::bytes)
    }

    /// Whether a step's kernels may start before the ones ahead have ended (programmatic dependent launch). For
    /// measuring what it is worth; states made before keep their graphs.
    pub fn set_early(&mut self, early: bool) {
        self.early = early;
    }

    /// Queues one token of one sequence.
    fn queue_step(&self, state: &CudaState, choose: bool) -> Result<()> {
        let (k, s, c) = (&self.kernels, &self.step, &self.config);
        let (d, di) = (c.d_model, c.d_inner);
        let launch = |kernel, blocks: usize, threads, arguments: &[Argument]| {
            // SAFETY: arguments and grids are those that `kernels.cu` documents; buffers were sized from the same config.
            unsafe { self.device.launch(kernel, (blocks, 1, 1), threads, self.early, arguments) }
        };
        launch(k.embed, 1, 256, &[(&self.embedding).into(), (&s.token).into(), (&s.hidden).into()])?;
        for ((l, conv), ssm) in self.layers.iter().zip(&state.conv).zip(&state.ssm) {
            let input = [(&s.hidden).into(), (&l.norm).into(), (&l.in_proj).into(), (&s.projected).into()];
            launch(k.step_in, (2 * di).div_ceil(16), 256, &input)?;
            let select = [
                (&s.projected).into(),
                (&l.conv_weight).into(),
                (&l.conv_bias).into(),
                conv.into(),
                (&l.x_proj).into(),
                (&s.selected).into(),
            ];
            launch(k.step_select, selected(c), 256, &select)?;
            let scan = [
                (&s.projected).into(),
                (&l.conv_weight).into(),
                (&l.conv_bias).into(),
                conv.into(),
                (&s.selected).into(),
                (&l.dt_proj).into(),
                (&l.dt_bias).into(),
                (&l.decay).into(),
                (&l.skip).into(),
                ssm.into(),
                (&s.y).into(),
            ];
            launch(k.step_scan, di.div_ceil(16), 256, &scan)?;
            launch(k.step_out, d.div_ceil(8), 256, &[(&s.y).into(), (&l.out_proj).into(), (&s.hidden).into()])?;
        }
        let head = self.head.as_ref().unwrap_or(&self.embedding);
        let logits = [(&s.hidden).into(), (&self.norm).into(), head.into(), (&s.logits).into()];
        launch(k.step_head, c.vocab.div_ceil(16), 256, &logits)?;
        if choose {
            let arguments = [(&s.logits).into(), (&s.token).into(), (&s.chosen).into(), (&s.count).into()];
            launch(k.step_choose, 1, 1024, &arguments)?;
        }
        Ok(())
    }

    /// One token of one sequence, to logits.
    fn step(&mut self, token: u32, state: &mut CudaState) -> Result<Logits> {
        self.device.write(&self.step.token, &[token])?;
        if state.graph.is_none() {
            state.graph = Some(self.device.capture(|| self.queue_step(state, false))?);
        }
        if let Some(graph) = &state.graph {
            self.device.replay(graph)?;
        }
        let mut logits = vec![0.0f32; self.config.vocab];
        self.device.read(&self.step.logits, &mut logits)?;
        Ok(Logits::new(self.config.vocab, logits))
    }

    /// Makes room for a pass.
    fn fit(&mut self, sequences: usize, length: usize) -> Result<()> {
        let rows = sequences * length;
        if self.work.as_ref().is_some_and(|w| w.rows >= rows && w.sequences >= sequences) {
            return Ok(());
        }
        // The old room goes first: both at once may not fit.
        self.work = None;
        let (c, e) = (&self.config, self.kind.bytes());
        // Any division of the rows into sequences: each may end in a part of a segment.
        let slots = rows.div_ceil(STRETCH) + sequences;
        let memory = |bytes: usize| self.device.memory(bytes, "the activations");
        self.work = Some(Work {
            rows,
            sequences,
            ids: memory(4 * rows)?,
            hidden: memory(4 * rows * c.d_model)?,
            normed: memory(e * rows * c.d_model)?,
            projected: memory(e * rows * 2 * c.d_inner)?,
            u: memory(e * rows * c.d_inner)?,
            selected: memory(e * rows * selected(c))?,
            dt: memory(e * rows * c.d_inner)?,
            states: memory(4 * slots * c.d_inner * c.d_state)?,
            sums: memory(4 * slots * c.d_inner)?,
        });
        Ok(())
    }

    /// One pass of `length` tokens of every sequence from `from` on. Hidden rows are left in the work room.
    fn pass(&mut self, batch: &Batch<'_>, from: usize, length: usize, state: &CudaState) -> Result<()> {
        let sequences = batch.sequences();
        self.fit(sequences, length)?;
        let Some(w) = &self.work else { return Err(failed("no room for activations")) };
        let ids: Vec<u32> = (0..sequences)
            .flat_map(|s| batch.sequence(s).get(from..from + length).unwrap_or(&[]).iter().copied())
            .collect();
        self.device.write(&w.ids, &ids)?;
        let (k, c, rows) = (&self.kernels, &self.config, sequences * length);
        let (d, di, sel, e) = (c.d_model, c.d_inner, selected(c), self.kind.bytes());
        // Short segments where the text is short, so that all of the GPU works; long ones where it is long, since carrying
        // states from segment to segment costs too.
        let wanted = rows * di.div_ceil(128) / SCAN_BLOCKS;
        let span = wanted.next_multiple_of(STRETCH).clamp(STRETCH, MAX_SPAN);
        let segments = length.div_ceil(span);
        let span = span as i32;
        let count = i32::try_from(length).map_err(|_| failed("the text is too long"))?;
        let rank = match c.arch {
            Arch::Mamba1 { dt_rank } => dt_rank,
            Arch::Mamba2 { .. } => return Err(failed("Mamba-2 has no CUDA kernels yet; use the `cpu` backend")),
        };
        let launch = |kernel, grid, threads, arguments: &[Argument]| {
            // SAFETY: as in `queue_step`.
            unsafe { self.device.launch(kernel, grid, threads, false, arguments) }
        };
        let multiply = |w: &Memory, x: &Memory, out: &Memory, product: Product, accumulate| {
            // SAFETY: all three were sized from the same config and at least `rows`.
            unsafe { self.device.multiply(self.kind, product, w, x.at(), out.at(), accumulate) }
        };
        let product = |outputs: usize, depth: usize, pitch: usize, wide: bool| Product {
            rows,
            outputs,
            depth,
            pitch,
            out_pitch: outputs,
            wide,
        };
        launch(k.embed, (rows, 1, 1), 256, &[(&self.embedding).into(), (&w.ids).into(), (&w.hidden).into()])?;
        for ((l, conv), ssm) in self.layers.iter().zip(&state.conv).zip(&state.ssm) {
            launch(k.rms_norm, (rows, 1, 1), 256, &[(&w.hidden).into(), (&l.norm).into(), (&w.normed).into()])?;
            multiply(&l.in_proj, &w.normed, &w.projected, product(2 * di, d, d, false), false)?;
            let blocks = di.div_ceil(128);
            let arguments = [
                (&w.projected).into(),
                (&l.conv_weight).into(),
                (&l.conv_bias).into(),
                conv.into(),
                (&w.u).into(),
                Argument::Int(count),
            ];
            launch(k.conv, (blocks, length.div_ceil(STRETCH), sequences), 128, &arguments)?;
            let arguments = [(&w.projected).into(), conv.into(), Argument::Int(count)];
            launch(k.conv_tail, (blocks, sequences, 1), 128, &arguments)?;
            multiply(&l.x_proj, &w.u, &w.selected, product(sel, di, di, false), false)?;
            multiply(&l.dt_proj, &w.selected, &w.dt, product(di, rank, sel, false), false)?;
            let scan = || {
                [
                    (&w.dt).into(),
                    (&w.u).into(),
                    (&w.projected).into(),
                    (&w.selected).into(),
                    (&l.decay).into(),
                    (&l.dt_bias).into(),
                    (&l.skip).into(),
                    (&w.states).into(),
                    (&w.sums).into(),
                    Argument::Int(count),
                    Argument::Int(span),
                ]
            };
            launch(k.scan_segments, (blocks, segments, sequences), 128, &scan())?;
            let arguments = [
                (&l.decay).into(),
                (&w.states).into(),
                (&w.sums).into(),
                ssm.into(),
                Argument::Int(i32::try_from(segments).unwrap_or(i32::MAX)),
            ];
            launch(k.scan_carry, ((di * c.d_state).div_ceil(256), sequences, 1), 256, &arguments)?;
            launch(k.scan_output, (blocks, segments, sequences), 128, &scan())?;
            multiply(&l.out_proj, &w.dt, &w.hidden, product(d, di, di, true), true)?;
        }
        debug_assert!(w.dt.bytes() >= rows * di * e);
        Ok(())
    }

    /// Logits of one hidden row, without new memory.
    fn logits_of_one(&self, row: u32) -> Result<Vec<f32>> {
        let Some(w) = &self.work else { return Err(failed("no hidden rows")) };
        let (c, s) = (&self.config, &self.step);
        self.device.write(&s.row, &[row])?;
        let head = self.head.as_ref().unwrap_or(&self.embedding);
        // SAFETY: as in `queue_step`; the row is below the pass' rows.
        unsafe {
            let gather = [(&w.hidden).into(), (&s.row).into(), (&s.hidden).into()];
            self.device.launch(self.kernels.gather, (1, 1, 1), 256, false, &gather)?;
            let logits = [(&s.hidden).into(), (&self.norm).into(), head.into(), (&s.logits).into()];
            self.device.launch(self.kernels.step_head, (c.vocab.div_ceil(16), 1, 1), 256, false, &logits)?;
        }
        let mut out = vec![0.0; c.vocab];
        self.device.read(&s.logits, &mut out)?;
        Ok(out)
    }

    /// Logits of some hidden rows.
    fn logits(&self, rows: &[u32], out: &mut Vec<f32>) -> Result<()> {
        let Some(w) = &self.work else { return Err(failed("no hidden rows")) };
        let (c, e) = (&self.config, self.kind.bytes());
        let head = self.head.as_ref().unwrap_or(&self.embedding);
        for part in rows.chunks(256) {
            let n = part.len();
            let memory = |bytes: usize| self.device.memory(bytes, "the logits");
            let (index, gathered) = (self.device.upload(part, "the rows")?, memory(4 * n * c.d_model)?);
            let (normed, logits) = (memory(e * n * c.d_model)?, memory(4 * n * c.vocab)?);
            let product = Product {
                rows: n,
                outputs: c.vocab,
                depth: c.d_model,
                pitch: c.d_model,
                out_pitch: c.vocab,
                wide: true,
            };
            // SAFETY: the buffers hold `n` rows of their widths; the row numbers are below the pass' rows.
            unsafe {
                let gather = [(&w.hidden).into(), (&index).into(), (&gathered).into()];
                self.device.launch(self.kernels.gather, (n, 1, 1), 256, false, &gather)?;
                let norm = [(&gathered).into(), (&self.norm).into(), (&normed).into()];
                self.device.launch(self.kernels.rms_norm, (n, 1, 1), 256, false, &norm)?;
                self.device.multiply(self.kind, product, head, normed.at(), logits.after(0), false)?;
            }
            let start = out.len();
            out.resize(start + n * c.vocab, 0.0);
            self.device.read(&logits, out.get_mut(start..).unwrap_or(&mut []))?;
        }
        Ok(())
    }
}

impl Engine for CudaModel {
    type State = CudaState;

    fn name(&self) -> String {
        let (major, minor) = self.device.capability;
        format!("cuda ({}, {major}.{minor}, {} weights)", self.device.name, self.kind.name())
    }

    fn config(&self) -> &Config {
        &self.config
    }

    fn start(&self, sequences: usize) -> Result<CudaState> {
        self.device.enter()?;
        let c = &self.config;
        let all = |floats: usize| {
            let one = || self.device.memory(4 * floats * sequences, "the states");
            (0..c.layers).map(|_| one()).collect::<Result<Vec<_>>>()
        };
        Ok(CudaState {
            sequences,
            conv: all((c.d_conv - 1) * c.d_inner)?,
            ssm: all(c.d_inner * c.d_state)?,
            graph: None,
            greedy: None,
            device: Rc::clone(&self.device),
        })
    }

    fn forward(&mut self, batch: Batch<'_>, state: &mut CudaState, want: Want) -> Result<Logits> {
        batch.check(&self.config)?;
        let (sequences, length, vocab) = (batch.sequences(), batch.length(), self.config.vocab);
        if sequences != state.sequences || !Rc::ptr_eq(&state.device, &self.device) {
            let reason = format!("{sequences} sequences given to a state of {}, or of another model", state.sequences);
            return Err(Error::Input(reason));
        }
        self.device.enter()?;
        if sequences == 1 && length == 1 {
            return self.step(batch.sequence(0).first().copied().unwrap_or(0), state);
        }
        in_passes(&batch, MAX_ROWS, want, vocab, |from, count, rows| {
            self.pass(&batch, from, count, state)?;
            let mut out = Vec::new();
            match *rows {
                [] => {}
                [row] => out = self.logits_of_one(row)?,
                _ => self.logits(rows, &mut out)?,
            }
            Ok(out)
        })
    }

    /// Chosen on the GPU: one graph a token, no word to the host between.
    fn greedy(&mut self, token: u32, count: usize, state: &mut CudaState) -> Result<Vec<u32>> {
        Batch::one(&[token])?.check(&self.config)?;
        if count > MAX_GREEDY || state.sequences != 1 {
            return Err(Error::Input(format!("greedy makes up to {MAX_GREEDY} tokens of one sequence")));
        }
        self.device.enter()?;
        self.device.write(&self.step.token, &[token])?;
        self.device.write(&self.step.count, &[0u32])?;
        if state.greedy.is_none() {
            state.greedy = Some(self.device.capture(|| self.queue_step(state, true))?);
        }
        if let Some(graph) = &state.greedy {
            for _ in 0..count {
                self.device.replay(graph)?;
            }
        }
        let mut ids = vec![0; count];
        self.device.read(&self.step.chosen, &mut ids)?;
        Ok(ids)
    }
}

impl Layer {
    fn load(
        device: &Device,
        config: &Config,
        source: &dyn WeightSource,
        index: usize,
        kind: WeightType,
    ) -> Result<Self> {
        let (d, di, n) = (config.d_model, config.d_inner, config.d_state);
        let get = |name: &str, shape: &[usize]| -> Result<Vec<f32>> {
            Ok(checked(source, &format!("backbone.layers.{index}.{name}"), shape)?.to_f32())
        };
        let vector = |values: &[f32]| device.upload(values, "a layer's vectors");
        let Arch::Mamba1 { dt_rank } = config.arch else {
            return Err(failed("Mamba-2 has no CUDA kernels yet; use the `cpu` backend"));
        };
        // [channel][tap] to [tap][channel].
        let conv = get("mixer.conv1d.weight", &[di, 1, config.d_conv])?;
        let by_tap: Vec<f32> =
            (0..config.d_conv).flat_map(|t| conv.iter().skip(t).step_by(config.d_conv).copied()).collect();
        let bias = if config.conv_bias { get("mixer.conv1d.bias", &[di])? } else { vec![0.0; di] };
        let decay: Vec<f32> = get("mixer.A_log", &[di, n])?
            .iter()
            .map(|&a| (-f64::from(a).exp() * std::f64::consts::LOG2_E) as f32)
            .collect();
        Ok(Self {
            norm: vector(&get("norm.weight", &[d])?)?,
            in_proj: matrix(device, kind, &get("mixer.in_proj.weight", &[2 * di, d])?)?,
            conv_weight: vector(&by_tap)?,
            conv_bias: vector(&bias)?,
            x_proj: matrix(device, kind, &get("mixer.x_proj.weight", &[dt_rank + 2 * n, di])?)?,
            dt_proj: matrix(device, kind, &get("mixer.dt_proj.weight", &[di, dt_rank])?)?,
            dt_bias: vector(&get("mixer.dt_proj.bias", &[di])?)?,
            decay: vector(&decay)?,
            skip: vector(&get("mixer.D", &[di])?)?,
            out_proj: matrix(device, kind, &get("mixer.out_proj.weight", &[d, di])?)?,
        })
    }
}

/// Rows of the x projection: dt, B and C.
fn selected(config: &Config) -> usize {
    match config.arch {
        Arch::Mamba1 { dt_rank } => dt_rank + 2 * config.d_state,
        Arch::Mamba2 { .. } => 0,
    }
}

/// Sizes for the kernels, or why they do not cover this model.
pub fn defines(config: &Config, kind: WeightType) -> Result<Vec<(&'static str, String)>> {
    let Arch::Mamba1 { dt_rank } = config.arch else {
        return Err(failed("Mamba-2 has no CUDA kernels yet; use the `cpu` backend"));
    };
    if config.proj_bias {
        return Err(failed("biases of the outer projections are not supported; use the `cpu` backend"));
    }
    let width = 32 * 16 / kind.bytes();
    if !config.d_model.is_multiple_of(width)
        || !config.d_inner.is_multiple_of(width)
        || !config.d_state.is_multiple_of(2)
    {
        let (d, di, n) = (config.d_model, config.d_inner, config.d_state);
        return Err(failed(format!("widths {d} and {di} must be multiples of {width} and state_size {n} of 2")));
    }
    if config.d_conv < 2 || config.d_state > 64 || !(dt_rank * kind.bytes()).is_multiple_of(16) {
        let (n, k) = (config.d_state, config.d_conv);
        return Err(failed(format!(
            "state_size {n} (at most 64), conv_kernel {k} (at least 2) or rank {dt_rank} not supported"
        )));
    }
    let element = match kind {
        WeightType::F32 => 0,
        WeightType::F16 => 1,
        WeightType::Bf16 => 2,
    };
    Ok(vec![
        ("D_MODEL", config.d_model.to_string()),
        ("D_INNER", config.d_inner.to_string()),
        ("D_STATE", config.d_state.to_string()),
        ("DT_RANK", dt_rank.to_string()),
        ("TAPS", config.d_conv.to_string()),
        ("VOCAB", config.vocab.to_string()),
        ("EPS", format!("{:e}f", config.eps)),
        ("ELEM", element.to_string()),
    ])
}

fn matrix(device: &Device, kind: WeightType, values: &[f32]) -> Result<Memory> {
    let what = "the weights";
    match kind {
        WeightType::F32 => device.upload(values, what),
        WeightType::F16 => device.upload(&values.iter().map(|&v| f16::from_f32(v)).collect::<Vec<_>>(), what),
        WeightType::Bf16 => device.upload(&values.iter().map(|&v| bf16::from_f32(v)).collect::<Vec<_>>(), what),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_that_the_kernels_cannot_take_are_refused_with_a_way_out() {
        let defines = defines(&Config::preset("mamba-370m").unwrap(), WeightType::F16).unwrap();
        let value = |name: &str| defines.iter().find(|(n, _)| *n == name).map(|(_, v)| v.as_str());
        assert_eq!((value("D_INNER"), value("DT_RANK"), value("EPS")), (Some("2048"), Some("64"), Some("1e-5f")));
        // Every size that the source uses is given, and nothing else.
        for (name, _) in &defines {
            assert!(KERNELS.contains(name), "{name}");
        }
        let mut odd = Config::preset("mamba-130m").unwrap();
        odd.d_model = 100;
        let refused = super::defines(&odd, WeightType::F16).unwrap_err().to_string();
        assert!(refused.contains("multiples of 256"), "{refused}");
        let second = Config::preset("mamba2-130m").unwrap();
        assert!(super::defines(&second, WeightType::F16).unwrap_err().to_string().contains("use the `cpu` backend"));
    }
}
