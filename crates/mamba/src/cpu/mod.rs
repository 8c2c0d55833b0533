//! The CPU backend: packed weights, prompts in chunks, decode bound by memory. Must not know files or text.

// Kernels are written once and compiled for each vector unit: every part must be inlined into the function that carries
// the unit's features, or it would be compiled without them.
#![allow(clippy::inline_always)]

mod buffer;
mod conv;
mod gemm;
mod lanes;
mod layer;
mod limits;
mod norm;
mod scan;
mod ssd;

use std::sync::Arc;

use rayon::{ThreadPool, ThreadPoolBuilder};

use buffer::Buffer;
pub use buffer::available as available_memory;
use gemm::{Matrix, MatrixMut, PANEL, Panels, Part};
pub use lanes::Isa;
use layer::{Layer, Workspace};
use norm::Norm;

use crate::config::Config;
use crate::engine::{Batch, Engine, Logits, Want};
use crate::error::{Error, Result};
use crate::weights::{WeightSource, WeightType, checked};

/// How to run on the CPU.
#[derive(Clone, Debug)]
pub struct Options {
    /// How weights are kept in memory.
    pub weights: WeightType,
    /// Threads; 0 for one per core.
    pub threads: usize,
    /// Rows (tokens of all sequences together) that go through the layers at once. Bounds the memory of activations.
    pub chunk: usize,
    /// Vector unit; `None` for the best.
    pub isa: Option<Isa>,
    /// Bytes that weights and state may take; `None` for what the system says is free.
    pub memory_limit: Option<u64>,
}

impl Default for Options {
    fn default() -> Self {
        Self { weights: WeightType::F32, threads: 0, chunk: 768, isa: None, memory_limit: None }
    }
}

/// Rates of the machine, measured under its present load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Floating-point operations a second, from registers.
    pub flops: f64,
    /// Bytes read a second, from memory.
    pub bytes: f64,
}

/// A model on the CPU.
pub struct CpuModel {
    config: Config,
    options: Options,
    isa: Isa,
    pool: Arc<ThreadPool>,
    embedding: Panels,
    layers: Vec<Layer>,
    norm: Norm,
    /// Where the head has weights of its own.
    head: Option<Panels>,
    workspace: Workspace,
}

/// Convolution tails and scan states of every layer and sequence.
pub struct CpuState {
    sequences: usize,
    /// `[layer][sequence][..]`.
    conv: Buffer<f32>,
    ssm: Buffer<f32>,
}

impl CpuModel {
    /// Packs a model's weights for this machine.
    pub fn load(config: &Config, source: &dyn WeightSource, options: Options) -> Result<Self> {
        let needed = config.parameters().saturating_mul(options.weights.bytes() as u64);
        let limit = options.memory_limit.unwrap_or_else(buffer::available);
        if needed > limit {
            return Err(Error::OutOfMemory { what: "the model's weights".into(), needed, available: limit });
        }
        let available = Isa::available();
        let isa = options.isa.unwrap_or_else(Isa::best);
        if !available.contains(&isa) {
            let reason = format!("this processor has no {isa:?} unit; it has {available:?}");
            return Err(Error::Unsupported { backend: "cpu", reason });
        }
        let pool = ThreadPoolBuilder::new()
            .num_threads(options.threads)
            .build()
            .map_err(|e| Error::Input(format!("no threads: {e}")))?;
        pool.install(|| {
            let width = config.d_model;
            let matrix = |name: &str| {
                let tensor = checked(source, name, &[config.vocab, width])?;
                let part = Part { start: 0, rows: config.vocab, padded: config.vocab };
                Panels::pack(&tensor, &[part], width, width, options.weights)
            };
            let embedding = matrix("backbone.embeddings.weight")?;
            let head = if config.tied { None } else { Some(matrix("lm_head.weight")?) };
            let layers = (0..config.layers)
                .map(|i| Layer::load(config, source, i, options.weights))
                .collect::<Result<Vec<_>>>()?;
            let norm = checked(source, "backbone.norm_f.weight", &[width])?.to_f32();
            Ok((embedding, head, layers, Norm::new(norm, config.eps)))
        })
        .map(|(embedding, head, layers, norm)| Self {
            config: config.clone(),
            isa,
            pool: Arc::new(pool),
            embedding,
            layers,
            norm,
            head,
            workspace: Workspace::default(),
            options,
        })
    }

    /// What the machine can do right now on this model's threads.
    pub fn limits(&self) -> Result<Limits> {
        self.pool.install(|| Ok(Limits { flops: limits::fma_rate(self.isa), bytes: limits::read_rate(self.isa)? }))
    }

    /// Bytes of the packed weights.
    pub fn weight_bytes(&self) -> usize {
        let layers: usize = self.layers.iter().map(Layer::bytes).sum();
        layers + self.embedding.bytes() + self.head.as_ref().map_or(0, Panels::bytes)
    }

    /// One chunk of the same stretch of every sequence. The final hidden rows are left in the workspace.
    fn chunk(&mut self, batch: &Batch<'_>, from: usize, length: usize, state: &mut CpuState) -> Result<()> {
        let sequences = batch.sequences();
        let rows = sequences * length;
        self.workspace.fit(&self.config, &self.layers, rows)?;
        let pitch = self.workspace.hidden_pitch;
        for (r, row) in self.workspace.hidden.chunks_mut(pitch).enumerate().take(rows) {
            let id = batch.sequence(r / length).get(from + r % length).copied().unwrap_or(0);
            let (used, rest) = row.split_at_mut(self.config.d_model);
            self.embedding.row(id as usize, used);
            rest.fill(0.0);
        }
        let (conv, ssm) = (state.conv.len() / self.layers.len(), state.ssm.len() / self.layers.len());
        let states = state.conv.chunks_mut(conv.max(1)).zip(state.ssm.chunks_mut(ssm.max(1)));
        for (layer, (conv, ssm)) in self.layers.iter().zip(states) {
            layer.apply(self.isa, &mut self.workspace, sequences, length, conv, ssm)?;
        }
        Ok(())
    }

    /// Logits of some hidden rows, appended to `out`.
    fn logits(&mut self, rows: &[usize], out: &mut Vec<f32>) -> Result<()> {
        let head = self.head.as_ref().unwrap_or(&self.embedding);
        let vocab = self.config.vocab;
        out.try_reserve(rows.len() * vocab).map_err(|_| Error::OutOfMemory {
            what: "the logits".into(),
            needed: 4 * (rows.len() * vocab) as u64,
            available: buffer::available(),
        })?;
        let (pitch, out_pitch) = (self.workspace.hidden_pitch, vocab.next_multiple_of(PANEL));
        // A bounded number of rows at a time: all positions of a long text would need a second copy of every logit.
        for part in rows.chunks(256) {
            let mut gathered = Buffer::<f32>::new(part.len() * pitch, "the last hidden rows")?;
            let mut normed = Buffer::<f32>::new(part.len() * pitch, "the last hidden rows")?;
            for (o, &r) in gathered.chunks_mut(pitch).zip(part) {
                o.copy_from_slice(self.workspace.hidden.get(r * pitch..(r + 1) * pitch).unwrap_or(&[]));
            }
            let matrix = Matrix { data: &gathered, pitch };
            self.norm.apply(self.isa, matrix, part.len(), &mut MatrixMut { data: &mut normed, pitch });
            let mut padded = Buffer::<f32>::new(part.len() * out_pitch, "the logits")?;
            let target = MatrixMut { data: &mut padded, pitch: out_pitch };
            head.multiply(self.isa, Matrix { data: &normed, pitch }, part.len(), target, false);
            for row in padded.chunks(out_pitch) {
                out.extend_from_slice(row.get(..vocab).unwrap_or(row));
            }
        }
        Ok(())
    }

    fn run(&mut self, batch: Batch<'_>, state: &mut CpuState, want: Want) -> Result<Logits> {
        let (sequences, length, vocab) = (batch.sequences(), batch.length(), self.config.vocab);
        let step = (self.options.chunk / sequences).max(1);
        let mut chunks: Vec<Vec<f32>> = Vec::new();
        for from in (0..length).step_by(step) {
            let count = step.min(length - from);
            self.chunk(&batch, from, count, state)?;
            let rows: Vec<usize> = match want {
                Want::All => (0..sequences * count).collect(),
                Want::Last if from + count == length => (0..sequences).map(|s| (s + 1) * count - 1).collect(),
                Want::Last => continue,
            };
            let mut out = Vec::new();
            self.logits(&rows, &mut out)?;
            chunks.push(out);
        }
        Ok(Logits::from_parts(vocab, sequences, &chunks))
    }
}

impl Engine for CpuModel {
    type State = CpuState;

    fn name(&self) -> String {
        let (isa, threads) = (self.isa, self.pool.current_num_threads());
        format!("cpu ({isa:?}, {threads} threads, {} weights)", self.options.weights.name())
    }

    fn config(&self) -> &Config {
        &self.config
    }

    fn start(&self, sequences: usize) -> Result<CpuState> {
        let per = |f: fn(&Layer) -> usize| self.layers.iter().map(f).sum::<usize>().saturating_mul(sequences);
        Ok(CpuState {
            sequences,
            conv: Buffer::new(per(Layer::conv_state_len), "the convolutions' state")?,
            ssm: Buffer::new(per(Layer::ssm_state_len), "the scans' state")?,
        })
    }

    fn forward(&mut self, batch: Batch<'_>, state: &mut CpuState, want: Want) -> Result<Logits> {
        batch.check(&self.config)?;
        if batch.sequences() != state.sequences {
            let (b, s) = (batch.sequences(), state.sequences);
            return Err(Error::Input(format!("{b} sequences given to a state of {s}")));
        }
        let pool = Arc::clone(&self.pool);
        pool.install(|| self.run(batch, state, want))
    }
}
