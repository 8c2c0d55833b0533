//! Weights by name: the one way in which backends get tensors, whatever they come from (files or a generator).
//! Must not know how a backend lays them out.

use std::borrow::Cow;

use half::{bf16, f16};

use crate::config::{Arch, Config};
use crate::error::{Error, Result};

/// How weights are stored: in a file, and in a backend's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WeightType {
    /// IEEE single.
    F32,
    /// IEEE half.
    F16,
    /// The upper half of a single.
    Bf16,
}

impl WeightType {
    /// Bytes of one element.
    pub const fn bytes(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::F16 | Self::Bf16 => 2,
        }
    }

    /// Name as written on the command line and in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
        }
    }
}

impl std::str::FromStr for WeightType {
    type Err = Error;

    fn from_str(s: &str) -> Result<Self> {
        match s {
            "f32" => Ok(Self::F32),
            "f16" => Ok(Self::F16),
            "bf16" => Ok(Self::Bf16),
            _ => Err(Error::Input(format!("no weight type `{s}`; there are f32, f16 and bf16"))),
        }
    }
}

/// One tensor: little-endian elements in row-major order.
#[derive(Debug)]
pub struct Tensor<'a> {
    /// Element type of `data`.
    pub kind: WeightType,
    /// Sizes, outermost first.
    pub shape: Vec<usize>,
    /// The bytes.
    pub data: Cow<'a, [u8]>,
}

impl Tensor<'_> {
    /// Elements.
    pub fn len(&self) -> usize {
        self.data.len() / self.kind.bytes()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    /// Elements `start .. start + out.len()` as f32; elements past the end read as zero.
    pub fn read(&self, start: usize, out: &mut [f32]) {
        let bytes = self.data.get(start * self.kind.bytes()..).unwrap_or(&[]);
        let filled = match self.kind {
            WeightType::F32 => fill(bytes, out, |b: [u8; 4]| f32::from_le_bytes(b)),
            WeightType::F16 => fill(bytes, out, |b: [u8; 2]| f16::from_le_bytes(b).to_f32()),
            WeightType::Bf16 => fill(bytes, out, |b: [u8; 2]| bf16::from_le_bytes(b).to_f32()),
        };
        out.iter_mut().skip(filled).for_each(|v| *v = 0.0);
    }

    /// All elements as f32.
    pub fn to_f32(&self) -> Vec<f32> {
        let mut out = vec![0.0; self.len()];
        self.read(0, &mut out);
        out
    }
}

fn fill<const B: usize>(bytes: &[u8], out: &mut [f32], decode: impl Fn([u8; B]) -> f32) -> usize {
    let (chunks, _) = bytes.as_chunks::<B>();
    for (o, c) in out.iter_mut().zip(chunks) {
        *o = decode(*c);
    }
    chunks.len().min(out.len())
}

/// A place that weights come from.
pub trait WeightSource: Sync {
    /// The tensor of that name, in Hugging Face's naming (`backbone.layers.0.mixer.in_proj.weight`).
    fn tensor(&self, name: &str) -> Result<Tensor<'_>>;

    /// What the place is called in errors.
    fn place(&self) -> String;
}

/// Gets a tensor and checks its shape. Sizes of 1 are ignored, so that `[C, 1, K]` and `[C, K]` are alike.
pub fn checked<'a>(source: &'a dyn WeightSource, name: &str, shape: &[usize]) -> Result<Tensor<'a>> {
    let tensor = source.tensor(name)?;
    let significant = |s: &[usize]| s.iter().copied().filter(|&n| n != 1).collect::<Vec<_>>();
    if significant(&tensor.shape) == significant(shape) && tensor.len() == shape.iter().product::<usize>() {
        return Ok(tensor);
    }
    Err(Error::TensorShape {
        place: source.place(),
        name: name.into(),
        expected: shape.to_vec(),
        found: tensor.shape.clone(),
    })
}

/// Name and shape of every tensor that a checkpoint of this configuration holds, in file order.
pub fn inventory(config: &Config) -> Vec<(String, Vec<usize>)> {
    let (d, di, n) = (config.d_model, config.d_inner, config.d_state);
    let channels = config.conv_channels();
    let mut out = vec![("backbone.embeddings.weight".to_owned(), vec![config.vocab, d])];
    for layer in 0..config.layers {
        let mut add = |name: &str, shape: &[usize]| {
            out.push((format!("backbone.layers.{layer}.{name}"), shape.to_vec()));
        };
        add("norm.weight", &[d]);
        let projected = match config.arch {
            Arch::Mamba1 { .. } => 2 * di,
            Arch::Mamba2 { heads, .. } => di + channels + heads,
        };
        add("mixer.in_proj.weight", &[projected, d]);
        if config.proj_bias {
            add("mixer.in_proj.bias", &[projected]);
        }
        add("mixer.conv1d.weight", &[channels, 1, config.d_conv]);
        if config.conv_bias {
            add("mixer.conv1d.bias", &[channels]);
        }
        match config.arch {
            Arch::Mamba1 { dt_rank } => {
                add("mixer.x_proj.weight", &[dt_rank + 2 * n, di]);
                add("mixer.dt_proj.weight", &[di, dt_rank]);
                add("mixer.dt_proj.bias", &[di]);
                add("mixer.A_log", &[di, n]);
                add("mixer.D", &[di]);
            }
            Arch::Mamba2 { heads, .. } => {
                add("mixer.dt_bias", &[heads]);
                add("mixer.A_log", &[heads]);
                add("mixer.D", &[heads]);
                add("mixer.norm.weight", &[di]);
            }
        }
        add("mixer.out_proj.weight", &[d, di]);
        if config.proj_bias {
            add("mixer.out_proj.bias", &[d]);
        }
    }
    out.push(("backbone.norm_f.weight".to_owned(), vec![d]));
    if !config.tied {
        out.push(("lm_head.weight".to_owned(), vec![config.vocab, d]));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inventory_adds_up_to_the_parameter_count() {
        for name in crate::config::PRESETS {
            let mut config = Config::preset(name).unwrap();
            for tied in [true, false] {
                config.tied = tied;
                let total: usize = inventory(&config).iter().map(|(_, s)| s.iter().product::<usize>()).sum();
                assert_eq!(total as u64, config.parameters(), "{name}");
            }
        }
    }

    #[test]
    fn reading_converts_and_pads() {
        let t = Tensor {
            kind: WeightType::Bf16,
            shape: vec![2],
            data: bf16::from_f32(1.5).to_le_bytes().into_iter().chain(bf16::from_f32(-2.0).to_le_bytes()).collect(),
        };
        let mut out = [9.0; 3];
        t.read(1, &mut out);
        assert_eq!(out, [-2.0, 0.0, 0.0]);
        assert_eq!(t.to_f32(), [1.5, -2.0]);
    }
}
