//! Generation: sampling the next token and when to stop. Must not know how logits are computed.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::engine::{Batch, Engine, Want};
use crate::error::{Error, Result};

/// How the next token is chosen.
#[derive(Clone, Debug, PartialEq)]
pub struct Sampling {
    /// 0 takes the likeliest token; 1 samples the model's own distribution.
    pub temperature: f32,
    /// Only the `k` likeliest tokens; 0 for all.
    pub top_k: usize,
    /// Only the likeliest tokens that together reach this probability; 1 for all.
    pub top_p: f32,
    /// Divides positive and multiplies negative logits of tokens already seen (arXiv:1909.05858); 1 for none.
    pub repetition_penalty: f32,
    /// Seed of the random stream.
    pub seed: u64,
}

impl Default for Sampling {
    fn default() -> Self {
        Self { temperature: 0.0, top_k: 0, top_p: 1.0, repetition_penalty: 1.0, seed: 0 }
    }
}

impl Sampling {
    fn check(&self) -> Result<()> {
        let bad = |what: &str| Err(Error::Input(format!("sampling: {what}")));
        if !(self.temperature >= 0.0 && self.temperature.is_finite()) {
            return bad("temperature must be 0 or more");
        }
        if !(self.top_p > 0.0 && self.top_p <= 1.0) {
            return bad("top_p must be above 0 and at most 1");
        }
        if !(self.repetition_penalty > 0.0 && self.repetition_penalty.is_finite()) {
            return bad("repetition_penalty must be above 0");
        }
        Ok(())
    }
}

/// Chooses tokens; holds the random stream.
pub struct Sampler {
    sampling: Sampling,
    rng: ChaCha8Rng,
}

impl Sampler {
    /// A sampler; refuses options that mean nothing.
    pub fn new(sampling: Sampling) -> Result<Self> {
        sampling.check()?;
        let rng = ChaCha8Rng::seed_from_u64(sampling.seed);
        Ok(Self { sampling, rng })
    }

    /// The next token, given the logits and the tokens so far.
    pub fn next(&mut self, logits: &[f32], seen: &[u32]) -> Result<u32> {
        if logits.iter().any(|v| v.is_nan()) {
            return Err(Error::Input("the logits hold NaN: the weights are damaged or overflow their type".into()));
        }
        let s = &self.sampling;
        let mut logits = logits.to_vec();
        if s.repetition_penalty != 1.0 {
            let mut done = std::collections::BTreeSet::new();
            for &id in seen.iter().filter(|&&id| done.insert(id)) {
                if let Some(v) = logits.get_mut(id as usize) {
                    *v = if *v > 0.0 { *v / s.repetition_penalty } else { *v * s.repetition_penalty };
                }
            }
        }
        if s.temperature == 0.0 {
            return argmax(&logits).ok_or_else(|| Error::Input("there are no logits to choose from".into()));
        }
        let mut order: Vec<u32> = (0..logits.len() as u32).collect();
        let value = |id: u32| logits.get(id as usize).copied().unwrap_or(f32::NEG_INFINITY);
        // Ties go to the smaller id, so that a seed means the same text everywhere.
        order.sort_unstable_by(|&a, &b| value(b).total_cmp(&value(a)).then(a.cmp(&b)));
        if s.top_k > 0 {
            order.truncate(s.top_k);
        }
        let top = order.first().map_or(0.0, |&id| value(id));
        let mut weights: Vec<f64> =
            order.iter().map(|&id| f64::from((value(id) - top) / s.temperature).exp()).collect();
        if s.top_p < 1.0 {
            let total: f64 = weights.iter().sum();
            let mut sum = 0.0;
            let keep = weights.iter().position(|w| {
                sum += w;
                sum >= f64::from(s.top_p) * total
            });
            weights.truncate(keep.map_or(weights.len(), |k| k + 1));
        }
        let total: f64 = weights.iter().sum();
        let unit = (self.rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        let mut left = unit * total;
        for (w, &id) in weights.iter().zip(&order) {
            left -= w;
            if left < 0.0 {
                return Ok(id);
            }
        }
        let last = weights.len().checked_sub(1).and_then(|i| order.get(i)).copied();
        last.ok_or_else(|| Error::Input("there are no logits to choose from".into()))
    }
}

/// The likeliest token, the smallest id among equals, as `torch.argmax` answers.
pub fn argmax(logits: &[f32]) -> Option<u32> {
    let mut best: Option<(u32, f32)> = None;
    for (i, &v) in logits.iter().enumerate() {
        if best.is_none_or(|(_, b)| v > b) {
            best = Some((i as u32, v));
        }
    }
    best.map(|(i, _)| i)
}

/// Why a generation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// A token that ends a text.
    EndOfText,
    /// The wanted number of tokens.
    Length,
    /// The caller said so (a stop string, say).
    Caller,
}

/// Runs the prompt, then one token after another until a stop token, `most` tokens, or `each` answers `false`.
/// `each` gets every new token as soon as it is known.
pub fn generate<E: Engine>(
    engine: &mut E,
    prompt: &[u32],
    sampling: Sampling,
    most: usize,
    stop_tokens: &[u32],
    mut each: impl FnMut(u32) -> Result<bool>,
) -> Result<(Vec<u32>, Stop)> {
    let mut sampler = Sampler::new(sampling)?;
    let mut state = engine.start(1)?;
    let mut seen = prompt.to_vec();
    let mut logits = engine.forward(Batch::one(prompt)?, &mut state, Want::Last)?;
    let mut out = Vec::new();
    while out.len() < most {
        let id = sampler.next(logits.row(0), &seen)?;
        if stop_tokens.contains(&id) {
            return Ok((out, Stop::EndOfText));
        }
        out.push(id);
        seen.push(id);
        if !each(id)? {
            return Ok((out, Stop::Caller));
        }
        if out.len() < most {
            logits = engine.forward(Batch::one(&[id])?, &mut state, Want::Last)?;
        }
    }
    Ok((out, Stop::Length))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram(sampling: &Sampling, logits: &[f32]) -> Vec<usize> {
        let mut sampler = Sampler::new(sampling.clone()).unwrap();
        let mut count = vec![0; logits.len()];
        for _ in 0..4000 {
            count[sampler.next(logits, &[]).unwrap() as usize] += 1;
        }
        count
    }

    #[test]
    fn samples_follow_the_distribution() {
        let logits = [0.1f32.ln(), 0.6f32.ln(), 0.3f32.ln()];
        let s = Sampling { temperature: 1.0, ..Sampling::default() };
        let c = histogram(&s, &logits);
        assert!((300..500).contains(&c[0]) && (2250..2550).contains(&c[1]), "{c:?}");
        assert_eq!(c, histogram(&s, &logits), "a seed means one text");
        assert_eq!(histogram(&Sampling { top_k: 1, ..s.clone() }, &logits), [0, 4000, 0]);
        assert_eq!(histogram(&Sampling { top_p: 0.7, ..s.clone() }, &logits)[0], 0);
        assert_eq!(histogram(&Sampling { temperature: 0.0, ..s }, &logits), [0, 4000, 0]);
    }

    #[test]
    fn penalty_and_bad_options() {
        let s = Sampling { repetition_penalty: 2.0, ..Sampling::default() };
        assert_eq!(Sampler::new(s).unwrap().next(&[1.0, 1.5], &[1, 1]).unwrap(), 0);
        for bad in [
            Sampling { temperature: f32::NAN, ..Sampling::default() },
            Sampling { top_p: 0.0, ..Sampling::default() },
            Sampling { repetition_penalty: 0.0, ..Sampling::default() },
        ] {
            assert!(Sampler::new(bad).is_err());
        }
        let mut greedy = Sampler::new(Sampling::default()).unwrap();
        assert!(greedy.next(&[0.0, f32::NAN], &[]).unwrap_err().to_string().contains("NaN"));
        assert!(greedy.next(&[], &[]).is_err());
        assert_eq!(argmax(&[1.0, 3.0, 3.0]), Some(1));
    }
}
