//! The Metal backend, Mamba-1 and Mamba-2: own kernels throughout, activations one row a token. The host's side is the
//! same on a Mac's GPU and on the simulated machine, which is how it is tested. Must not know files or text.

#[cfg(target_os = "macos")]
mod gpu;
#[cfg(not(target_os = "macos"))]
#[path = "no_gpu.rs"]
mod gpu;
pub mod runtime;
mod simulator;

use half::{bf16, f16};

pub use gpu::Gpu;
use runtime::{Argument, Launch, Runtime};
pub use simulator::Simulator;

use crate::config::{Arch, Config};
use crate::engine::{Batch, Engine, Logits, Want, in_passes};
use crate::error::{Error, Result};
use crate::weights::{WeightSource, WeightType, checked};

/// The kernels' source.
pub const KERNELS: &str = include_str!("kernels.metal");
/// Most tokens of a segment of the scan.
const SPAN: usize = 32;
/// Rows of one pass: bounds the memory of activations.
const MAX_ROWS: usize = 4096;
/// Rows whose logits are made at once.
const HEAD_ROWS: usize = 256;
/// Side of a product's tile.
const TILE: usize = 64;

/// A model where Metal kernels run.
pub struct MetalModel<R: Runtime> {
    runtime: R,
    config: Config,
    kind: WeightType,
    embedding: R::Memory,
    head: Option<R::Memory>,
    norm: R::Memory,
    layers: Vec<Layer<R::Memory>>,
    work: Option<Work<R::Memory>>,
    rows_per_pass: usize,
}

struct Layer<M> {
    norm: M,
    in_proj: M,
    conv_weight: M,
    conv_bias: M,
    dt_bias: M,
    decay: M,
    skip: M,
    out_proj: M,
    core: Core<M>,
}

/// The part that differs between the two families.
enum Core<M> {
    One { x_proj: M, dt_proj: M },
    Two { norm: M },
}

/// Activations.
struct Work<M> {
    rows: usize,
    sequences: usize,
    ids: M,
    /// 0, 1, 2, …: the rows of a whole pass.
    order: M,
    hidden: M,
    normed: M,
    projected: M,
    convolved: M,
    selected: M,
    inner: M,
    states: M,
    sums: M,
    chosen: M,
    logits: M,
}

/// States of all layers.
pub struct MetalState<M> {
    sequences: usize,
    /// Per layer: `[sequence][tap - 1][channel]`.
    conv: Vec<M>,
    /// Per layer: `[sequence][channel][state]`.
    ssm: Vec<M>,
}

/// Sizes of a model that its kernels are compiled for.
struct Sizes {
    rank: usize,
    heads: usize,
    head_dim: usize,
    groups: usize,
    limit: [f32; 2],
    /// Outputs of the first projection.
    projected: usize,
    /// Where the convolution's channels begin in it.
    conv_at: usize,
    /// Outputs of the x projection.
    selected: usize,
}

impl Sizes {
    fn of(c: &Config) -> Self {
        match c.arch {
            Arch::Mamba1 { dt_rank } => Self {
                rank: dt_rank,
                heads: 1,
                head_dim: 1,
                groups: 1,
                limit: [0.0, f32::INFINITY],
                projected: 2 * c.d_inner,
                conv_at: 0,
                selected: dt_rank + 2 * c.d_state,
            },
            Arch::Mamba2 { heads, head_dim, groups, dt_limit } => Self {
                rank: 0,
                heads,
                head_dim,
                groups,
                limit: dt_limit,
                projected: c.d_inner + c.conv_channels() + heads,
                conv_at: c.d_inner,
                selected: 0,
            },
        }
    }

    fn defines(&self, c: &Config, kind: WeightType) -> Vec<(&'static str, String)> {
        let real = |v: f32| if v.is_finite() { format!("{v:e}f") } else { "INFINITY".to_owned() };
        let element = match kind {
            WeightType::F32 => 0,
            WeightType::F16 => 1,
            WeightType::Bf16 => 2,
        };
        let [least, most] = self.limit;
        let counts = [
            ("D_MODEL", c.d_model),
            ("D_INNER", c.d_inner),
            ("D_STATE", c.d_state),
            ("DT_RANK", self.rank),
            ("TAPS", c.d_conv),
            ("CHANNELS", c.conv_channels()),
            ("HEAD_DIM", self.head_dim),
            ("HEADS", self.heads),
            ("GROUPS", self.groups),
            ("PITCH", self.projected),
            ("ELEM", element),
        ];
        let reals = [("EPS", c.eps), ("DT_LEAST", least), ("DT_MOST", most)];
        let counts = counts.into_iter().map(|(n, v)| (n, v.to_string()));
        counts.chain(reals.into_iter().map(|(n, v)| (n, real(v)))).collect()
    }
}

/// Why these kernels do not cover a model.
fn check(c: &Config) -> Result<()> {
    let refuse = |reason: String| Err(Error::Unsupported { backend: "metal", reason });
    let rank = Sizes::of(c).rank;
    if c.proj_bias {
        return refuse("biases of the outer projections are not supported; use the `cpu` backend".into());
    }
    if c.d_conv < 2 || (rank > 0 && c.d_state > 64) {
        let (n, k) = (c.d_state, c.d_conv);
        return refuse(format!("state_size {n} (at most 64) or conv_kernel {k} (at least 2) is not supported"));
    }
    if [c.d_model, c.d_inner, rank].iter().any(|n| !n.is_multiple_of(4)) {
        let (d, di) = (c.d_model, c.d_inner);
        return refuse(format!("widths {d} and {di} and rank {rank} must be multiples of 4"));
    }
    Ok(())
}

/// A product's sizes.
#[derive(Clone, Copy)]
struct Product {
    rows: usize,
    outputs: usize,
    depth: usize,
    /// Elements between rows of the input.
    pitch: usize,
}

impl<R: Runtime> MetalModel<R> {
    /// Loads a model.
    pub fn load(config: &Config, source: &dyn WeightSource, kind: WeightType) -> Result<Self> {
        check(config)?;
        let runtime = R::open(KERNELS, &Sizes::of(config).defines(config, kind))?;
        let (d, vocab) = (config.d_model, config.vocab);
        let table = |name: &str| matrix(&runtime, kind, &checked(source, name, &[vocab, d])?.to_f32());
        let embedding = table("backbone.embeddings.weight")?;
        let head = if config.tied { None } else { Some(table("lm_head.weight")?) };
        let norm = vector(&runtime, &checked(source, "backbone.norm_f.weight", &[d])?.to_f32())?;
        let layers =
            (0..config.layers).map(|i| Layer::load(&runtime, config, source, i, kind)).collect::<Result<Vec<_>>>()?;
        let rows_per_pass = MAX_ROWS;
        Ok(Self { runtime, config: config.clone(), kind, embedding, head, norm, layers, work: None, rows_per_pass })
    }

    /// Where it runs.
    pub fn runtime_mut(&mut self) -> &mut R {
        &mut self.runtime
    }

    /// Rows (tokens of all sequences together) that go through the layers at once.
    pub fn set_rows_per_pass(&mut self, rows: usize) {
        self.rows_per_pass = rows.max(1);
    }

    /// Makes room for a pass.
    fn fit(&mut self, sequences: usize, length: usize) -> Result<()> {
        let rows = sequences * length;
        if self.work.as_ref().is_some_and(|w| w.rows >= rows && w.sequences >= sequences) {
            return Ok(());
        }
        // The old room goes first: both at once may not fit.
        self.work = None;
        let (c, e, s) = (&self.config, self.kind.bytes(), Sizes::of(&self.config));
        // Any division of the rows into sequences: each may end in a part of a segment.
        let segments = rows.div_ceil(SPAN) + sequences;
        let memory = |bytes: usize| self.runtime.memory(bytes, "the activations");
        let order = memory(4 * rows)?;
        self.runtime.write(&order, bytemuck::cast_slice(&(0..rows as u32).collect::<Vec<_>>()))?;
        self.work = Some(Work {
            rows,
            sequences,
            ids: memory(4 * rows)?,
            order,
            hidden: memory(4 * rows * c.d_model)?,
            normed: memory(e * rows.max(HEAD_ROWS) * c.d_model)?,
            projected: memory(e * rows * s.projected)?,
            convolved: memory(e * rows * c.conv_channels())?,
            selected: memory(e * rows * s.selected)?,
            inner: memory(e * rows * c.d_inner)?,
            states: memory(4 * segments * c.d_inner * c.d_state)?,
            sums: memory(4 * segments * c.d_inner)?,
            chosen: memory(4 * HEAD_ROWS)?,
            logits: memory(4 * HEAD_ROWS.min(rows) * c.vocab)?,
        });
        Ok(())
    }

    fn launch(
        &self,
        kernel: &'static str,
        groups: [usize; 3],
        threads: usize,
        arguments: &[Argument<'_, R::Memory>],
    ) -> Result<()> {
        self.runtime.launch(&Launch { kernel, groups, threads, arguments })
    }

    /// Queues `out = x Wᵀ`; the kernel's name says what becomes of `out`.
    fn multiply(&self, tiled: &'static str, row: &'static str, p: Product, [x, w, out]: [&R::Memory; 3]) -> Result<()> {
        let words = [p.rows, p.outputs, p.depth, p.pitch, p.outputs].map(|n| n as u32);
        let arguments = [x.into(), w.into(), out.into(), Argument::Words(&words)];
        if p.rows == 1 {
            return self.launch(row, [p.outputs.div_ceil(4), 1, 1], 128, &arguments);
        }
        self.launch(tiled, [p.outputs.div_ceil(TILE), p.rows.div_ceil(TILE), 1], 256, &arguments)
    }

    /// One pass of `length` tokens of every sequence from `from` on. Hidden rows are left in the work room.
    fn pass(&mut self, batch: &Batch<'_>, from: usize, length: usize, state: &MetalState<R::Memory>) -> Result<()> {
        let sequences = batch.sequences();
        self.fit(sequences, length)?;
        let Some(w) = &self.work else { return Ok(()) };
        let ids: Vec<u32> = (0..sequences)
            .flat_map(|s| batch.sequence(s).get(from..from + length).unwrap_or(&[]).iter().copied())
            .collect();
        self.runtime.write(&w.ids, bytemuck::cast_slice(&ids))?;
        let rows = ids.len();
        let embed = [(&self.embedding).into(), (&w.ids).into(), (&w.hidden).into()];
        self.launch("embed", [rows, 1, 1], 128, &embed)?;
        for ((layer, conv), ssm) in self.layers.iter().zip(&state.conv).zip(&state.ssm) {
            self.layer(w, layer, sequences, length, conv, ssm)?;
        }
        Ok(())
    }

    /// `hidden += mixer(norm(hidden))`; the states advance.
    fn layer(
        &self,
        w: &Work<R::Memory>,
        l: &Layer<R::Memory>,
        sequences: usize,
        length: usize,
        conv: &R::Memory,
        ssm: &R::Memory,
    ) -> Result<()> {
        let (c, s, rows) = (&self.config, Sizes::of(&self.config), sequences * length);
        let (d, di, channels) = (c.d_model, c.d_inner, c.conv_channels());
        let product = |outputs, depth, pitch| Product { rows, outputs, depth, pitch };
        let norm = [(&w.hidden).into(), (&l.norm).into(), (&w.normed).into(), (&w.order).into()];
        self.launch("rms_norm", [rows, 1, 1], 256, &norm)?;
        let narrow = |p, operands| self.multiply("product_narrow", "product_row_narrow", p, operands);
        narrow(product(s.projected, d, d), [&w.normed, &l.in_proj, &w.projected])?;

        let (tokens, first) = ([length as u32], [s.conv_at as u32]);
        let words = || [Argument::Words(&tokens), Argument::Words(&first)];
        let [a, b] = words();
        let convolution = [
            (&w.projected).into(),
            (&l.conv_weight).into(),
            (&l.conv_bias).into(),
            conv.into(),
            (&w.convolved).into(),
            a,
            b,
        ];
        self.launch("conv", [channels.div_ceil(64), length.div_ceil(8), sequences], 64, &convolution)?;
        let [a, b] = words();
        self.launch(
            "conv_tail",
            [channels.div_ceil(64), sequences, 1],
            64,
            &[(&w.projected).into(), conv.into(), a, b],
        )?;

        // One segment begins with the state itself; several begin where the ones before them end.
        let segments = length.div_ceil(SPAN);
        let stretch = [length as u32, SPAN as u32, segments as u32];
        let before = if segments > 1 { &w.states } else { ssm };
        let carry = || {
            let arguments =
                [(&w.states).into(), (&w.sums).into(), (&l.decay).into(), ssm.into(), Argument::Words(&stretch)];
            self.launch("scan_carry", [(di * c.d_state).div_ceil(128), sequences, 1], 128, &arguments)
        };
        let result = match &l.core {
            Core::One { x_proj, dt_proj } => {
                narrow(product(s.selected, di, di), [&w.convolved, x_proj, &w.selected])?;
                narrow(product(di, s.rank, s.selected), [&w.selected, dt_proj, &w.inner])?;
                let grid = [di.div_ceil(64), segments, sequences];
                let inputs = || {
                    [
                        (&w.inner).into(),
                        (&w.convolved).into(),
                        (&w.selected).into(),
                        (&l.dt_bias).into(),
                        (&l.decay).into(),
                    ]
                };
                if segments > 1 {
                    let more = [(&w.states).into(), (&w.sums).into(), Argument::Words(&stretch)];
                    let all: Vec<_> = inputs().into_iter().chain(more).collect();
                    self.launch("scan_segments", grid, 64, &all)?;
                    carry()?;
                }
                let more =
                    [before.into(), ssm.into(), Argument::Words(&stretch), (&l.skip).into(), (&w.projected).into()];
                let all: Vec<_> = inputs().into_iter().chain(more).collect();
                self.launch("scan_output", grid, 64, &all)?;
                &w.convolved
            }
            Core::Two { norm } => {
                let grid = [di.div_ceil(4), segments, sequences];
                let inputs = || [(&w.projected).into(), (&w.convolved).into(), (&l.dt_bias).into(), (&l.decay).into()];
                if segments > 1 {
                    let more = [(&w.states).into(), (&w.sums).into(), Argument::Words(&stretch)];
                    let all: Vec<_> = inputs().into_iter().chain(more).collect();
                    self.launch("ssd_segments", grid, 128, &all)?;
                    carry()?;
                }
                let more = [before.into(), ssm.into(), Argument::Words(&stretch), (&l.skip).into(), (&w.inner).into()];
                let all: Vec<_> = inputs().into_iter().chain(more).collect();
                self.launch("ssd_output", grid, 128, &all)?;
                let gated = [(&w.inner).into(), (&w.projected).into(), norm.into()];
                self.launch("gated_norm", [s.groups, rows, 1], 256, &gated)?;
                &w.inner
            }
        };
        self.multiply("product_residual", "product_row_residual", product(d, di, di), [result, &l.out_proj, &w.hidden])
    }

    /// Logits of these hidden rows of the last pass.
    fn logits(&self, rows: &[u32], out: &mut Vec<f32>) -> Result<()> {
        let Some(w) = &self.work else { return Ok(()) };
        let (d, vocab) = (self.config.d_model, self.config.vocab);
        let head = self.head.as_ref().unwrap_or(&self.embedding);
        for some in rows.chunks(HEAD_ROWS.min(w.rows)) {
            self.runtime.write(&w.chosen, bytemuck::cast_slice(some))?;
            let norm = [(&w.hidden).into(), (&self.norm).into(), (&w.normed).into(), (&w.chosen).into()];
            self.launch("rms_norm", [some.len(), 1, 1], 256, &norm)?;
            let product = Product { rows: some.len(), outputs: vocab, depth: d, pitch: d };
            self.multiply("product_logits", "product_row_logits", product, [&w.normed, head, &w.logits])?;
            let start = out.len();
            out.resize(start + some.len() * vocab, 0.0);
            self.runtime.read(&w.logits, bytemuck::cast_slice_mut(out.get_mut(start..).unwrap_or(&mut [])))?;
        }
        Ok(())
    }
}

impl<R: Runtime> Engine for MetalModel<R> {
    type State = MetalState<R::Memory>;

    fn name(&self) -> String {
        format!("metal ({}, {} weights)", self.runtime.name(), self.kind.name())
    }

    fn config(&self) -> &Config {
        &self.config
    }

    fn start(&self, sequences: usize) -> Result<Self::State> {
        let c = &self.config;
        let all = |floats: usize| {
            let one = || self.runtime.memory(4 * floats * sequences, "the states");
            (0..c.layers).map(|_| one()).collect::<Result<Vec<_>>>()
        };
        Ok(MetalState { sequences, conv: all((c.d_conv - 1) * c.conv_channels())?, ssm: all(c.d_inner * c.d_state)? })
    }

    fn forward(&mut self, batch: Batch<'_>, state: &mut Self::State, want: Want) -> Result<Logits> {
        batch.check(&self.config)?;
        let sequences = batch.sequences();
        if sequences != state.sequences {
            let reason = format!("{sequences} sequences given to a state of {}", state.sequences);
            return Err(Error::Input(reason));
        }
        in_passes(&batch, self.rows_per_pass, want, self.config.vocab, |from, count, rows| {
            self.pass(&batch, from, count, state)?;
            let mut out = Vec::new();
            self.logits(rows, &mut out)?;
            Ok(out)
        })
    }
}

impl<M> Layer<M> {
    fn load<R: Runtime<Memory = M>>(
        runtime: &R,
        config: &Config,
        source: &dyn WeightSource,
        index: usize,
        kind: WeightType,
    ) -> Result<Self> {
        let (d, di, n, s) = (config.d_model, config.d_inner, config.d_state, Sizes::of(config));
        let channels = config.conv_channels();
        let get = |name: &str, shape: &[usize]| -> Result<Vec<f32>> {
            Ok(checked(source, &format!("backbone.layers.{index}.{name}"), shape)?.to_f32())
        };
        // [channel][tap] to [tap][channel].
        let conv = get("mixer.conv1d.weight", &[channels, 1, config.d_conv])?;
        let by_tap: Vec<f32> =
            (0..config.d_conv).flat_map(|t| conv.iter().skip(t).step_by(config.d_conv).copied()).collect();
        let bias = if config.conv_bias { get("mixer.conv1d.bias", &[channels])? } else { vec![0.0; channels] };
        let base2 = |a: f32| (-f64::from(a).exp() * std::f64::consts::LOG2_E) as f32;
        let (core, dt_bias, decay, skip) = match config.arch {
            Arch::Mamba1 { dt_rank } => {
                let x_proj = matrix(runtime, kind, &get("mixer.x_proj.weight", &[s.selected, di])?)?;
                let dt_proj = matrix(runtime, kind, &get("mixer.dt_proj.weight", &[di, dt_rank])?)?;
                let decay = get("mixer.A_log", &[di, n])?.into_iter().map(base2).collect();
                let (bias, skip) = (get("mixer.dt_proj.bias", &[di])?, get("mixer.D", &[di])?);
                (Core::One { x_proj, dt_proj }, bias, decay, skip)
            }
            Arch::Mamba2 { heads, head_dim, .. } => {
                // A head's decay, for each of its channels and states: what carries states need not know the family.
                let by_head = get("mixer.A_log", &[heads])?;
                let decay: Vec<f32> =
                    by_head.into_iter().flat_map(|a| std::iter::repeat_n(base2(a), head_dim * n)).collect();
                let norm = vector(runtime, &get("mixer.norm.weight", &[di])?)?;
                (Core::Two { norm }, get("mixer.dt_bias", &[heads])?, decay, get("mixer.D", &[heads])?)
            }
        };
        Ok(Self {
            norm: vector(runtime, &get("norm.weight", &[d])?)?,
            in_proj: matrix(runtime, kind, &get("mixer.in_proj.weight", &[s.projected, d])?)?,
            conv_weight: vector(runtime, &by_tap)?,
            conv_bias: vector(runtime, &bias)?,
            dt_bias: vector(runtime, &dt_bias)?,
            decay: vector(runtime, &decay)?,
            skip: vector(runtime, &skip)?,
            out_proj: matrix(runtime, kind, &get("mixer.out_proj.weight", &[d, di])?)?,
            core,
        })
    }
}

fn upload<R: Runtime>(runtime: &R, bytes: &[u8], what: &str) -> Result<R::Memory> {
    let memory = runtime.memory(bytes.len(), what)?;
    runtime.write(&memory, bytes)?;
    Ok(memory)
}

fn vector<R: Runtime>(runtime: &R, values: &[f32]) -> Result<R::Memory> {
    upload(runtime, bytemuck::cast_slice(values), "a layer's vectors")
}

fn matrix<R: Runtime>(runtime: &R, kind: WeightType, values: &[f32]) -> Result<R::Memory> {
    let what = "the weights";
    match kind {
        WeightType::F32 => upload(runtime, bytemuck::cast_slice(values), what),
        WeightType::F16 => {
            let narrow: Vec<f16> = values.iter().map(|&v| f16::from_f32(v)).collect();
            upload(runtime, bytemuck::cast_slice(&narrow), what)
        }
        WeightType::Bf16 => {
            let narrow: Vec<bf16> = values.iter().map(|&v| bf16::from_f32(v)).collect();
            upload(runtime, bytemuck::cast_slice(&narrow), what)
        }
    }
}
