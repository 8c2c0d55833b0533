//! What every backend offers: run tokens through the model with a state that carries over. Must not know any backend.

use crate::config::Config;
use crate::error::{Error, Result};
use crate::generate::argmax;

/// Token ids of several sequences of the same length, one after the other.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    ids: &'a [u32],
    sequences: usize,
}

impl<'a> Batch<'a> {
    /// `sequences` rows of `ids.len() / sequences` tokens.
    pub fn new(ids: &'a [u32], sequences: usize) -> Result<Self> {
        if sequences == 0 || ids.is_empty() || !ids.len().is_multiple_of(sequences) {
            return Err(Error::Input(format!(
                "{} token ids do not make {sequences} sequences of one length",
                ids.len()
            )));
        }
        Ok(Self { ids, sequences })
    }

    /// One sequence.
    pub fn one(ids: &'a [u32]) -> Result<Self> {
        Self::new(ids, 1)
    }

    /// Number of sequences.
    pub fn sequences(&self) -> usize {
        self.sequences
    }

    /// Tokens of each sequence.
    pub fn length(&self) -> usize {
        self.ids.len() / self.sequences
    }

    /// Tokens of one sequence.
    pub fn sequence(&self, i: usize) -> &'a [u32] {
        self.ids.get(i * self.length()..(i + 1) * self.length()).unwrap_or(&[])
    }

    /// Refuses ids past the vocabulary.
    pub fn check(&self, config: &Config) -> Result<()> {
        match self.ids.iter().find(|&&id| id as usize >= config.vocab) {
            None => Ok(()),
            Some(id) => Err(Error::Input(format!("token id {id} is past the vocabulary of {}", config.vocab))),
        }
    }
}

/// Which positions' logits are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    /// The last position of each sequence.
    Last,
    /// Every position.
    All,
}

/// Logits, row after row: sequence-major, then position.
#[derive(Clone, Debug, PartialEq)]
pub struct Logits {
    vocab: usize,
    data: Vec<f32>,
}

impl Logits {
    /// Rows of `vocab` values.
    pub fn new(vocab: usize, data: Vec<f32>) -> Self {
        Self { vocab, data }
    }

    /// From stretches of time, each sequence-major, to one sequence-major whole.
    pub fn from_parts(vocab: usize, sequences: usize, parts: &[Vec<f32>]) -> Self {
        let mut data = Vec::with_capacity(parts.iter().map(Vec::len).sum());
        for s in 0..sequences {
            for part in parts {
                let per = part.len() / sequences.max(1);
                data.extend_from_slice(part.get(s * per..(s + 1) * per).unwrap_or(&[]));
            }
        }
        Self { vocab, data }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.data.len() / self.vocab.max(1)
    }

    /// One row; empty past the end.
    pub fn row(&self, i: usize) -> &[f32] {
        self.data.get(i * self.vocab..(i + 1) * self.vocab).unwrap_or(&[])
    }

    /// All values.
    pub fn as_slice(&self) -> &[f32] {
        &self.data
    }
}

/// Runs a batch in passes of at most `most` rows (tokens of all sequences together). `pass` is given where a pass begins,
/// how many tokens of each sequence it takes, and the rows of it whose logits are wanted, none for most; it returns those.
pub(crate) fn in_passes(
    batch: &Batch<'_>,
    most: usize,
    want: Want,
    vocab: usize,
    mut pass: impl FnMut(usize, usize, &[u32]) -> Result<Vec<f32>>,
) -> Result<Logits> {
    let (sequences, length) = (batch.sequences(), batch.length());
    let step = (most / sequences).max(1);
    let mut parts = Vec::new();
    for from in (0..length).step_by(step) {
        let count = step.min(length - from);
        let rows: Vec<u32> = match want {
            Want::All => (0..(sequences * count) as u32).collect(),
            Want::Last if from + count == length => (1..=sequences).map(|s| (s * count - 1) as u32).collect(),
            Want::Last => Vec::new(),
        };
        let part = pass(from, count, &rows)?;
        if !rows.is_empty() {
            parts.push(part);
        }
    }
    Ok(Logits::from_parts(vocab, sequences, &parts))
}

/// A model ready to run on one backend.
pub trait Engine {
    /// What carries over from one call to the next: convolution tails and scan states of each layer and sequence.
    type State;

    /// Backend, and what it runs on.
    fn name(&self) -> String;

    /// The model's sizes.
    fn config(&self) -> &Config;

    /// The state before the first token, for `sequences` sequences.
    fn start(&self, sequences: usize) -> Result<Self::State>;

    /// Runs the tokens through the model. `state` is advanced; calling this on parts of a text in turn gives the logits
    /// that one call on the whole gives.
    fn forward(&mut self, batch: Batch<'_>, state: &mut Self::State, want: Want) -> Result<Logits>;

    /// The next `count` likeliest tokens of one sequence after `token`, which `state` has not seen yet.
    fn greedy(&mut self, token: u32, count: usize, state: &mut Self::State) -> Result<Vec<u32>> {
        let mut ids = Vec::with_capacity(count);
        let mut last = token;
        for _ in 0..count {
            let logits = self.forward(Batch::one(&[last])?, state, Want::Last)?;
            last = argmax(logits.row(0)).unwrap_or(0);
            ids.push(last);
        }
        Ok(ids)
    }
}
