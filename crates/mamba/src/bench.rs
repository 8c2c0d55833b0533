//! Benchmarks: prompt and decode speed of several contestants, interleaved, so that a busy machine slows all alike.
//! Must not know how a table is printed.

use std::time::Instant;

use crate::engine::{Batch, Engine, Want};
use crate::error::Result;
use crate::generate::argmax;
use crate::peer::Peer;

/// Something whose speed is measured.
pub trait Contestant {
    /// Name in tables.
    fn label(&self) -> String;

    /// Seconds for a prompt, logits of the last position included.
    fn prefill(&mut self, ids: &[u32]) -> Result<f64>;

    /// Seconds for `count` greedy tokens after a prompt, and the tokens. The prompt is not timed.
    fn decode(&mut self, prompt: &[u32], count: usize) -> Result<(f64, Vec<u32>)>;
}

impl Contestant for Peer {
    fn label(&self) -> String {
        Self::label(self).to_owned()
    }

    fn prefill(&mut self, ids: &[u32]) -> Result<f64> {
        Self::prefill(self, ids)
    }

    fn decode(&mut self, prompt: &[u32], count: usize) -> Result<(f64, Vec<u32>)> {
        Self::decode(self, prompt, count)
    }
}

/// One of our own engines.
pub struct Own<E> {
    /// Name in tables.
    pub label: String,
    /// The engine.
    pub engine: E,
}

impl<E: Engine> Contestant for Own<E> {
    fn label(&self) -> String {
        self.label.clone()
    }

    fn prefill(&mut self, ids: &[u32]) -> Result<f64> {
        let start = Instant::now();
        let mut state = self.engine.start(1)?;
        self.engine.forward(Batch::one(ids)?, &mut state, Want::Last)?;
        Ok(start.elapsed().as_secs_f64())
    }

    fn decode(&mut self, prompt: &[u32], count: usize) -> Result<(f64, Vec<u32>)> {
        let mut state = self.engine.start(1)?;
        let logits = self.engine.forward(Batch::one(prompt)?, &mut state, Want::Last)?;
        let first = argmax(logits.row(0)).unwrap_or(0);
        let mut ids = vec![first];
        let start = Instant::now();
        ids.extend(self.engine.greedy(first, count, &mut state)?);
        let seconds = start.elapsed().as_secs_f64();
        ids.truncate(count);
        Ok((seconds, ids))
    }
}

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Case {
    /// A prompt of so many tokens.
    Prefill(usize),
    /// So many greedy tokens after a prompt of 16.
    Decode(usize),
}

impl Case {
    /// Tokens that the measured time is for.
    pub fn tokens(self) -> usize {
        match self {
            Self::Prefill(n) | Self::Decode(n) => n,
        }
    }

    /// Name in tables.
    pub fn label(self) -> String {
        match self {
            Self::Prefill(n) => format!("prefill {n}"),
            Self::Decode(_) => "decode".into(),
        }
    }
}

/// One contestant's samples of one case.
#[derive(Clone, Debug)]
pub struct Samples {
    /// What was measured.
    pub case: Case,
    /// Who.
    pub label: String,
    /// Seconds, one per round, in the order of the rounds.
    pub seconds: Vec<f64>,
    /// The greedy tokens of the last round (decode only).
    pub ids: Vec<u32>,
}

impl Samples {
    /// Tokens a second: median, least and greatest.
    pub fn rate(&self) -> [f64; 3] {
        let rates: Vec<f64> = self.seconds.iter().map(|s| self.case.tokens() as f64 / s).collect();
        [median(&rates), rates.iter().copied().fold(f64::INFINITY, f64::min), rates.iter().copied().fold(0.0, f64::max)]
    }

    /// How many times faster than `other`: each round's ratio, then median, least and greatest. Both ran in the same
    /// round, so that what else the machine did touches both.
    pub fn speedup_over(&self, other: &Self) -> [f64; 3] {
        let ratios: Vec<f64> = self.seconds.iter().zip(&other.seconds).map(|(own, theirs)| theirs / own).collect();
        [
            median(&ratios),
            ratios.iter().copied().fold(f64::INFINITY, f64::min),
            ratios.iter().copied().fold(0.0, f64::max),
        ]
    }
}

/// Middle value, the mean of the two middle ones for an even count; NaN of none.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = |i: usize| sorted.get(i).copied().unwrap_or(f64::NAN);
    let n = sorted.len();
    if n % 2 == 1 { at(n / 2) } else { f64::midpoint(at((n / 2).wrapping_sub(1)), at(n / 2)) }
}

/// Runs every case: one untimed round to warm up, then `rounds` rounds in which each contestant runs once, in an order
/// that turns round every time. `progress` hears of each sample.
pub fn run(
    contestants: &mut [Box<dyn Contestant + '_>],
    cases: &[Case],
    rounds: usize,
    prompt: &[u32],
    mut progress: impl FnMut(&str),
) -> Result<Vec<Samples>> {
    let mut out = Vec::new();
    for &case in cases {
        let mut samples: Vec<Samples> = contestants
            .iter()
            .map(|c| Samples { case, label: c.label(), seconds: Vec::new(), ids: Vec::new() })
            .collect();
        for round in 0..=rounds {
            let mut order: Vec<usize> = (0..contestants.len()).collect();
            if round % 2 == 1 {
                order.reverse();
            }
            for i in order {
                let (Some(contestant), Some(sample)) = (contestants.get_mut(i), samples.get_mut(i)) else { continue };
                let seconds = match case {
                    Case::Prefill(n) => contestant.prefill(prompt.get(..n).unwrap_or(prompt))?,
                    Case::Decode(n) => {
                        let count = if round == 0 { n.min(4) } else { n };
                        let (seconds, ids) = contestant.decode(prompt.get(..16).unwrap_or(prompt), count)?;
                        sample.ids = ids;
                        seconds
                    }
                };
                progress(&format!("{} {} round {round}: {seconds:.3} s", case.label(), sample.label));
                if round > 0 {
                    sample.seconds.push(seconds);
                }
            }
        }
        out.extend(samples);
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fixed(&'static str, f64, std::rc::Rc<std::cell::RefCell<Vec<&'static str>>>);

    impl Contestant for Fixed {
        fn label(&self) -> String {
            self.0.into()
        }

        fn prefill(&mut self, ids: &[u32]) -> Result<f64> {
            self.2.borrow_mut().push(self.0);
            Ok(self.1 * ids.len() as f64)
        }

        fn decode(&mut self, prompt: &[u32], count: usize) -> Result<(f64, Vec<u32>)> {
            Ok((self.1 * count as f64, prompt.to_vec()))
        }
    }

    #[test]
    fn rounds_are_interleaved_and_ratios_are_taken_within_them() {
        let log = std::rc::Rc::default();
        let mut both: Vec<Box<dyn Contestant>> = vec![
            Box::new(Fixed("a", 0.1, std::rc::Rc::clone(&log))),
            Box::new(Fixed("b", 0.3, std::rc::Rc::clone(&log))),
        ];
        let prompt: Vec<u32> = (0..32).collect();
        let samples = run(&mut both, &[Case::Prefill(20), Case::Decode(8)], 3, &prompt, |_| ()).unwrap();
        assert_eq!(*log.borrow(), ["a", "b", "b", "a", "a", "b", "b", "a"]);
        assert_eq!(samples.len(), 4);
        assert!((samples[0].rate()[0] - 10.0).abs() < 1e-9 && samples[0].seconds.len() == 3);
        assert!((samples[0].speedup_over(&samples[1])[0] - 3.0).abs() < 1e-9);
        assert_eq!(samples[2].ids.len(), 16);
        assert!((median(&[4.0, 1.0, 3.0, 2.0]) - 2.5).abs() < 1e-12 && median(&[]).is_nan());
    }
}
