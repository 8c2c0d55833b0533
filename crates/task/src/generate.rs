//! Input generators: seeded, reproducible, of several distributions, fresh for every seed.
//!
//! Each tensor draws from its own stream, keyed by task, workload, tensor and seed, so that adding a tensor changes no
//! other one. Knows shapes and dtypes; must not know what an operation computes.

use rand::RngExt;
use rand::seq::IndexedRandom;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use rand_distr::{Distribution as _, StandardNormal, StudentT};

use crate::dtype::DType;
use crate::expr::{Expr, ExprError, Scope};
use crate::tensor::{Tensor, elements};

/// A distribution of a tensor's elements. A row is the last axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Distribution {
    /// Gaussian.
    Normal {
        /// Mean.
        mean: f64,
        /// Standard deviation.
        std: f64,
    },
    /// Uniform on `lo..hi`.
    Uniform {
        /// Lower end.
        lo: f64,
        /// Upper end.
        hi: f64,
    },
    /// Uniform in the logarithm, on `lo..hi`, both positive.
    LogUniform {
        /// Lower end.
        lo: f64,
        /// Upper end.
        hi: f64,
    },
    /// Student's t with `df` degrees of freedom times `std`, clipped at 30 `std`: rare large elements.
    HeavyTailed {
        /// Scale.
        std: f64,
        /// Degrees of freedom; small is heavy.
        df: f64,
    },
    /// Gaussian, with a share of the elements, and the last one of every second row, multiplied by `factor`.
    Spikes {
        /// Standard deviation of the rest.
        std: f64,
        /// What a spike is multiplied by.
        factor: f64,
        /// Share of elements that are spikes.
        share: f64,
    },
    /// Gaussian rows, each multiplied by its own log-uniform factor in `lo..hi`.
    RowScales {
        /// Standard deviation before scaling.
        std: f64,
        /// Smallest factor.
        lo: f64,
        /// Largest factor.
        hi: f64,
    },
    /// Each row a sinusoid of its own frequency and phase plus a tenth of noise: neighbours correlate.
    Smooth {
        /// Root mean square.
        std: f64,
    },
    /// Zeros, but for one Gaussian element in each row.
    Sparse {
        /// Standard deviation of that element.
        std: f64,
    },
    /// The x with softplus(x) log-uniform in `lo..hi`: how step sizes of state-space models are initialised.
    InverseSoftplus {
        /// Smallest step.
        lo: f64,
        /// Largest step.
        hi: f64,
    },
    /// `-exp(N(mean, std))`: stable decay rates.
    NegativeExp {
        /// Mean of the logarithm.
        mean: f64,
        /// Standard deviation of the logarithm.
        std: f64,
    },
    /// `-(n + 1)` at position n of the last axis, times `exp(N(0, std))`: the real S4D initialisation.
    S4d {
        /// Standard deviation of the logarithm of the jitter.
        std: f64,
    },
    /// Integers, uniform on `lo..=hi`.
    Integers {
        /// Smallest.
        lo: f64,
        /// Largest.
        hi: f64,
    },
    /// One value everywhere.
    Constant {
        /// The value.
        value: f64,
    },
}

/// A distribution with where it applies and how often it is chosen among its peers.
#[derive(Clone, Debug, PartialEq)]
pub struct Generator {
    /// What to draw.
    pub distribution: Distribution,
    /// Only where this is non-zero; `None` everywhere.
    pub when: Option<Expr>,
    /// Relative weight, positive.
    pub weight: f64,
}

/// Which stream of random numbers: one per task, workload, tensor and seed.
#[derive(Clone, Copy, Debug)]
pub struct Stream<'a> {
    /// Task name.
    pub task: &'a str,
    /// Workload label.
    pub workload: &'a str,
    /// Tensor name.
    pub tensor: &'a str,
    /// Seed of the whole input.
    pub seed: u64,
}

impl Stream<'_> {
    fn rng(self) -> ChaCha8Rng {
        let mut hasher = blake3::Hasher::new();
        for part in [self.task, self.workload, self.tensor] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
        hasher.update(&self.seed.to_le_bytes());
        ChaCha8Rng::from_seed(*hasher.finalize().as_bytes())
    }
}

/// Draws a tensor: the seed first picks one of the generators that apply, then its elements. `None` if none applies.
pub fn generate(
    generators: &[Generator],
    scope: &dyn Scope,
    dtype: DType,
    shape: Vec<usize>,
    stream: Stream<'_>,
) -> Result<Option<Tensor>, ExprError> {
    let mut applicable = Vec::new();
    for generator in generators {
        if generator.when.as_ref().map_or(Ok(true), |when| when.eval_bool(scope))? {
            applicable.push(generator);
        }
    }
    let mut rng = stream.rng();
    let Ok(chosen) = applicable.choose_weighted(&mut rng, |g| g.weight) else { return Ok(None) };
    let width = shape.last().copied().unwrap_or(1).max(1);
    let values = draw(chosen.distribution, elements(&shape), width, &mut rng);
    Ok(Some(Tensor::from_values(dtype, shape, &values)))
}

fn draw(distribution: Distribution, count: usize, width: usize, rng: &mut ChaCha8Rng) -> Vec<f64> {
    use Distribution as D;
    let mut values = Vec::with_capacity(count);
    match distribution {
        D::Normal { mean, std } => values.extend((0..count).map(|_| mean + std * normal(rng))),
        D::Uniform { lo, hi } => values.extend((0..count).map(|_| lo + (hi - lo) * rng.random::<f64>())),
        D::LogUniform { lo, hi } => values.extend((0..count).map(|_| log_uniform(lo, hi, rng))),
        D::HeavyTailed { std, df } => match StudentT::new(df) {
            Ok(t) => values.extend((0..count).map(|_| std * t.sample(rng).clamp(-30.0, 30.0))),
            Err(_) => values.extend((0..count).map(|_| std * normal(rng))),
        },
        D::Spikes { std, factor, share } => {
            for i in 0..count {
                let last_of_even_row = i % width == width - 1 && (i / width).is_multiple_of(2);
                let spike = rng.random::<f64>() < share || last_of_even_row;
                values.push(std * normal(rng) * if spike { factor } else { 1.0 });
            }
        }
        D::RowScales { std, lo, hi } => {
            while values.len() < count {
                let factor = std * log_uniform(lo, hi, rng);
                values.extend((0..width.min(count - values.len())).map(|_| factor * normal(rng)));
            }
        }
        D::Smooth { std } => {
            while values.len() < count {
                let frequency = log_uniform(0.5, 0.25 * width as f64 + 1.0, rng) * std::f64::consts::TAU / width as f64;
                let phase = rng.random::<f64>() * std::f64::consts::TAU;
                for i in 0..width.min(count - values.len()) {
                    let wave = std::f64::consts::SQRT_2 * (frequency * i as f64 + phase).sin();
                    values.push(std * (wave + 0.1 * normal(rng)));
                }
            }
        }
        D::Sparse { std } => {
            values.resize(count, 0.0);
            for row in values.chunks_mut(width) {
                let at = rng.random_range(0..row.len());
                if let Some(value) = row.get_mut(at) {
                    *value = std * normal(rng);
                }
            }
        }
        D::InverseSoftplus { lo, hi } => values.extend((0..count).map(|_| {
            let y = log_uniform(lo, hi, rng);
            // ln(e^y - 1), without cancellation for small y.
            y + (-(-y).exp_m1()).ln()
        })),
        D::NegativeExp { mean, std } => values.extend((0..count).map(|_| -(mean + std * normal(rng)).exp())),
        D::S4d { std } => {
            values.extend((0..count).map(|i| -((i % width + 1) as f64) * (std * normal(rng)).exp()));
        }
        D::Integers { lo, hi } => {
            values.extend((0..count).map(|_| (lo + (hi - lo + 1.0) * rng.random::<f64>()).floor().min(hi)));
        }
        D::Constant { value } => values.resize(count, value),
    }
    values
}

fn normal(rng: &mut ChaCha8Rng) -> f64 {
    StandardNormal.sample(rng)
}

fn log_uniform(lo: f64, hi: f64, rng: &mut ChaCha8Rng) -> f64 {
    lo * (hi / lo).powf(rng.random::<f64>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::AnswerStats;
    use crate::expr::Empty;

    fn one(distribution: Distribution, shape: &[usize], seed: u64) -> Vec<f64> {
        let generators = [Generator { distribution, when: None, weight: 1.0 }];
        let stream = Stream { task: "t", workload: "w", tensor: "x", seed };
        generate(&generators, &Empty, DType::F32, shape.to_vec(), stream).unwrap().unwrap().values()
    }

    #[test]
    fn streams_are_reproducible_and_independent() {
        let d = Distribution::Normal { mean: 0.0, std: 1.0 };
        assert_eq!(one(d, &[100], 1), one(d, &[100], 1));
        assert_ne!(one(d, &[100], 1), one(d, &[100], 2));
        assert_eq!(one(d, &[50], 1), one(d, &[100], 1)[..50]);
    }

    #[test]
    fn moments_and_ranges_are_those_asked_for() {
        let n = AnswerStats::of(&one(Distribution::Normal { mean: 1.0, std: 2.0 }, &[100_000], 3));
        assert!((n.mean - 1.0).abs() < 0.05 && (n.rms * n.rms - 5.0).abs() < 0.2, "{n:?}");
        let u = AnswerStats::of(&one(Distribution::Uniform { lo: -1.0, hi: 3.0 }, &[10_000], 3));
        assert!(u.min >= -1.0 && u.max <= 3.0 && (u.mean - 1.0).abs() < 0.1);
        let i = AnswerStats::of(&one(Distribution::Integers { lo: 0.0, hi: 5.0 }, &[10_000], 3));
        assert!(i.min == 0.0 && i.max == 5.0);
        let softplus: Vec<f64> = one(Distribution::InverseSoftplus { lo: 1e-3, hi: 0.1 }, &[1000], 3)
            .iter()
            .map(|x| x.exp().ln_1p())
            .collect();
        let s = AnswerStats::of(&softplus);
        assert!(s.min > 0.99e-3 && s.max < 0.101, "{s:?}");
        assert!(one(Distribution::NegativeExp { mean: 0.0, std: 1.0 }, &[100], 3).iter().all(|v| *v < 0.0));
        assert_eq!(one(Distribution::S4d { std: 0.0 }, &[2, 3], 3), [-1.0, -2.0, -3.0, -1.0, -2.0, -3.0]);
        let sparse = one(Distribution::Sparse { std: 1.0 }, &[10, 7], 3);
        assert!(sparse.chunks(7).all(|r| r.iter().filter(|v| **v != 0.0).count() == 1));
        let spikes = one(Distribution::Spikes { std: 1.0, factor: 1e4, share: 0.0 }, &[400, 16], 3);
        let large = |parity: usize| {
            (0..400).filter(|r| r % 2 == parity).all(|r| spikes[r * 16 + 15].abs() > 50.0 || parity == 1)
        };
        assert!(large(0) && AnswerStats::of(&spikes[16..31]).max < 10.0);
        let heavy = AnswerStats::of(&one(Distribution::HeavyTailed { std: 1.0, df: 2.5 }, &[100_000], 3));
        assert!(heavy.max > 8.0 && heavy.max <= 30.0, "{heavy:?}");
        let smooth = AnswerStats::of(&one(Distribution::Smooth { std: 2.0 }, &[200, 64], 3));
        assert!((smooth.rms - 2.0).abs() < 0.2, "{smooth:?}");
    }

    #[test]
    fn conditions_and_weights_choose_among_generators() {
        let constant = |value, when: Option<&str>, weight| Generator {
            distribution: Distribution::Constant { value },
            when: when.map(|w| Expr::parse(w).unwrap()),
            weight,
        };
        let generators = [constant(1.0, None, 3.0), constant(2.0, None, 1.0), constant(3.0, Some("0"), 100.0)];
        let draw = |seed| {
            let stream = Stream { task: "t", workload: "w", tensor: "x", seed };
            generate(&generators, &Empty, DType::F32, vec![1], stream).unwrap().unwrap().values()[0]
        };
        let ones = (0..400).filter(|&s| draw(s) == 1.0).count();
        let twos = (0..400).filter(|&s| draw(s) == 2.0).count();
        assert_eq!(ones + twos, 400);
        assert!((250..350).contains(&ones), "{ones}");
        let none = [constant(3.0, Some("0"), 1.0)];
        let stream = Stream { task: "t", workload: "w", tensor: "x", seed: 0 };
        assert_eq!(generate(&none, &Empty, DType::F32, vec![1], stream).unwrap(), None);
    }
}
