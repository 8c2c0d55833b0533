//! Random weights by configuration: the same bits for the same seed on every machine, so that a benchmark or a golden
//! file needs no checkpoint. Must not know how weights are used.

use std::borrow::Cow;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::config::{Arch, Config};
use crate::error::{Error, Result};
use crate::weights::{Tensor, WeightSource, WeightType, inventory};

/// A generator of weights. Each tensor has a stream of its own, keyed by seed and name, so that order does not matter.
pub struct RandomWeights {
    config: Config,
    seed: u64,
    shapes: std::collections::BTreeMap<String, Vec<usize>>,
}

impl RandomWeights {
    /// Weights for `config`. Projections are uniform with variance 1/fan-in and the embedding is small, so that the
    /// layers, not the embedding, decide the logits (with a large tied embedding every model repeats its last token and
    /// a comparison of greedy ids would prove nothing). Decays and time steps follow the published initialisation.
    pub fn new(config: &Config, seed: u64) -> Self {
        Self { config: config.clone(), seed, shapes: inventory(config).into_iter().collect() }
    }

    fn stream(&self, name: &str) -> ChaCha8Rng {
        let mut hash = blake3::Hasher::new_derive_key("ksearch-mamba random weights 1");
        hash.update(&self.seed.to_le_bytes());
        hash.update(name.as_bytes());
        ChaCha8Rng::from_seed(*hash.finalize().as_bytes())
    }

    fn values(&self, name: &str, shape: &[usize]) -> Vec<f32> {
        let mut rng = self.stream(name);
        let count = shape.iter().product();
        // 24 random bits make every value exact in f32 before scaling: no rounding mode or libm can change the bits.
        let mut unit = || (rng.next_u32() >> 8) as f32 * (1.0 / 16_777_216.0);
        let mut uniform = |bound: f32| (0..count).map(|_| (2.0 * unit() - 1.0) * bound).collect::<Vec<_>>();
        let kind = name.rsplit_once("mixer.").map_or(name, |(_, k)| k);
        let fan_in = shape.last().copied().unwrap_or(1);
        match kind {
            "A_log" => match self.config.arch {
                // -A = 1..N for each channel, as published, with some spread: no two channels alike.
                Arch::Mamba1 { .. } => (0..count)
                    .map(|i| (((i % self.config.d_state + 1) as f64).ln() + 0.2 * (f64::from(unit()) - 0.5)) as f32)
                    .collect(),
                Arch::Mamba2 { .. } => (0..count).map(|_| (1.0 + 15.0 * f64::from(unit())).ln() as f32).collect(),
            },
            "D" => uniform(0.25).into_iter().map(|v| 1.0 + v).collect(),
            // Time steps log-uniform in 1e-3 .. 1e-1; the bias is their inverse softplus.
            "dt_proj.bias" | "dt_bias" => (0..count)
                .map(|_| {
                    let dt = (f64::from(unit()) * 100f64.ln() + 1e-3f64.ln()).exp();
                    (dt + (-(-dt).exp_m1()).ln()) as f32
                })
                .collect(),
            "norm.weight" => uniform(0.2).into_iter().map(|v| 1.0 + v).collect(),
            _ if kind.ends_with("norm.weight") || kind.ends_with("norm_f.weight") => {
                uniform(0.2).into_iter().map(|v| 1.0 + v).collect()
            }
            _ if kind.ends_with("bias") => uniform(0.1),
            _ if kind.ends_with("embeddings.weight") => uniform(0.05),
            _ => uniform((3.0 / fan_in as f32).sqrt()),
        }
    }
}

impl WeightSource for RandomWeights {
    fn tensor(&self, name: &str) -> Result<Tensor<'_>> {
        let Some(shape) = self.shapes.get(name) else {
            return Err(Error::MissingTensor { place: self.place(), name: name.into() });
        };
        let values = self.values(name, shape);
        let data: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        Ok(Tensor { kind: WeightType::F32, shape: shape.clone(), data: Cow::Owned(data) })
    }

    fn place(&self) -> String {
        format!("random weights (seed {})", self.seed)
    }
}

/// Token ids that do not repeat in a short cycle: the same sequence on every machine.
pub fn tokens(vocab: usize, count: usize, seed: u64) -> Vec<u32> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let vocab = vocab.clamp(1, u32::MAX as usize) as u64;
    (0..count).map(|_| ((u64::from(rng.next_u32()) * vocab) >> 32) as u32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_fixed() {
        // A change here breaks every golden file: regenerate them with their script if it is meant.
        let mut hash = blake3::Hasher::new();
        for preset in ["mamba-130m", "mamba2-130m"] {
            let config = Config::preset(preset).unwrap().with_layers(1);
            let random = RandomWeights::new(&config, 1);
            for (name, _) in inventory(&config).iter().filter(|(n, _)| !n.contains("embeddings")) {
                hash.update(&random.tensor(name).unwrap().data);
            }
        }
        for t in tokens(50280, 100, 3) {
            hash.update(&t.to_le_bytes());
        }
        assert_eq!(
            hash.finalize().to_hex().as_str(),
            "a23a8fd9c6ba9d39589d3c3d69657a0ae77b25524f80d02977e89a216b88a5a8"
        );
    }

    #[test]
    fn tokens_are_in_range_and_varied() {
        let t = tokens(1000, 500, 1);
        assert!(t.iter().all(|&v| v < 1000));
        assert!(t.iter().collect::<std::collections::BTreeSet<_>>().len() > 300);
    }
}
