//! Comparison of logits and tokens, with the limits that a model must keep. Must not know where either side comes from.

use crate::engine::{Batch, Engine, Logits, Want};
use crate::error::{Error, Result};
use crate::generate::{Sampling, generate};

/// Greatest difference of f32 logits from the reference implementation's.
pub const LOGIT_LIMIT: f64 = 1e-3;
/// Greatest difference, relative to the greatest logit, between a text run in parts and run whole.
pub const PARTS_LIMIT: f64 = 1e-5;

/// One comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// What was compared.
    pub name: String,
    /// What came out.
    pub value: f64,
    /// The most that passes.
    pub limit: f64,
}

impl Check {
    /// Whether it holds. NaN never does.
    pub fn passed(&self) -> bool {
        self.value <= self.limit
    }
}

/// Greatest absolute difference; infinite where the shapes differ or a value is not a number.
pub fn max_difference(a: &[f32], b: &[f32]) -> f64 {
    if a.len() != b.len() {
        return f64::INFINITY;
    }
    let differ = |(x, y): (&f32, &f32)| {
        let d = (f64::from(*x) - f64::from(*y)).abs();
        if d.is_nan() { f64::INFINITY } else { d }
    };
    a.iter().zip(b).map(differ).fold(0.0, f64::max)
}

/// Logits of every position of a text.
pub fn logits_of<E: Engine>(engine: &mut E, ids: &[u32]) -> Result<Logits> {
    let mut state = engine.start(1)?;
    engine.forward(Batch::one(ids)?, &mut state, Want::All)
}

/// The text's logits when it is run in parts of the given lengths (the last takes the rest) against when it is run whole.
pub fn parts_against_whole<E: Engine>(engine: &mut E, ids: &[u32], parts: &[usize]) -> Result<Check> {
    let whole = logits_of(engine, ids)?;
    let mut state = engine.start(1)?;
    let mut rest = ids;
    let mut data = Vec::new();
    for &part in parts.iter().chain(std::iter::once(&usize::MAX)) {
        let (now, later) = rest.split_at(part.min(rest.len()));
        if !now.is_empty() {
            data.extend_from_slice(engine.forward(Batch::one(now)?, &mut state, Want::All)?.as_slice());
        }
        rest = later;
    }
    let scale = whole.as_slice().iter().fold(1e-30f64, |m, v| m.max(f64::from(v.abs())));
    Ok(Check {
        name: format!("{} tokens in parts of {parts:?} against whole, relative", ids.len()),
        value: max_difference(whole.as_slice(), &data) / scale,
        limit: PARTS_LIMIT,
    })
}

/// Several texts at once against each alone.
pub fn batch_against_single<E: Engine>(engine: &mut E, sequences: &[Vec<u32>]) -> Result<Check> {
    let ids = sequences.concat();
    let mut state = engine.start(sequences.len())?;
    let together = engine.forward(Batch::new(&ids, sequences.len())?, &mut state, Want::All)?;
    let mut alone = Vec::new();
    for sequence in sequences {
        alone.extend_from_slice(logits_of(engine, sequence)?.as_slice());
    }
    let scale = alone.iter().fold(1e-30f64, |m, v| m.max(f64::from(v.abs())));
    Ok(Check {
        name: format!("batch of {} against each alone, relative", sequences.len()),
        value: max_difference(together.as_slice(), &alone) / scale,
        limit: PARTS_LIMIT,
    })
}

/// The next `count` likeliest tokens. No token ends the text.
pub fn greedy<E: Engine>(engine: &mut E, prompt: &[u32], count: usize) -> Result<Vec<u32>> {
    let (ids, _) = generate(engine, prompt, Sampling::default(), count, &[], |_| Ok(true))?;
    if ids.len() == count { Ok(ids) } else { Err(Error::Input(format!("{} tokens came of {count}", ids.len()))) }
}

/// How many tokens differ.
pub fn tokens(name: &str, ours: &[u32], theirs: &[u32]) -> Check {
    let differ = ours.iter().zip(theirs).filter(|(a, b)| a != b).count() + ours.len().abs_diff(theirs.len());
    Check { name: name.into(), value: differ as f64, limit: 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_seen_and_nan_never_passes() {
        assert_eq!(max_difference(&[1.0, 2.0], &[1.0, 2.5]), 0.5);
        assert_eq!(max_difference(&[1.0], &[f32::NAN]), f64::INFINITY);
        assert_eq!(max_difference(&[1.0], &[]), f64::INFINITY);
        assert!(!Check { name: String::new(), value: f64::NAN, limit: 1.0 }.passed());
        assert!(!tokens("t", &[1, 2], &[1]).passed() && tokens("t", &[1], &[1]).passed());
    }
}
