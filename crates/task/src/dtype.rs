//! Element types of tensors, and conversion of their bytes to and from f64. Knows nothing about tasks.

use half::{bf16, f16};
use serde::{Deserialize, Serialize};

/// Element type of a tensor or scalar argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DType {
    /// IEEE binary32.
    F32,
    /// IEEE binary16.
    F16,
    /// bfloat16.
    BF16,
    /// Signed 32-bit integer.
    I32,
    /// Unsigned 32-bit integer.
    U32,
    /// Unsigned 8-bit integer; also the storage of booleans.
    U8,
}

impl DType {
    /// All dtypes, in the order they are listed to users.
    pub const ALL: [Self; 6] = [Self::F32, Self::F16, Self::BF16, Self::I32, Self::U32, Self::U8];

    /// Size of one element in bytes.
    pub const fn bytes(self) -> usize {
        match self {
            Self::F32 | Self::I32 | Self::U32 => 4,
            Self::F16 | Self::BF16 => 2,
            Self::U8 => 1,
        }
    }

    /// Name as written in task files and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::BF16 => "bf16",
            Self::I32 => "i32",
            Self::U32 => "u32",
            Self::U8 => "u8",
        }
    }

    /// Name of the type in the Metal Shading Language.
    pub const fn msl_name(self) -> &'static str {
        match self {
            Self::F32 => "float",
            Self::F16 => "half",
            Self::BF16 => "bfloat",
            Self::I32 => "int",
            Self::U32 => "uint",
            Self::U8 => "uchar",
        }
    }

    /// The dtype with this name, if there is one.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|d| d.name() == name)
    }

    /// Is this a floating-point type?
    pub const fn is_float(self) -> bool {
        matches!(self, Self::F32 | Self::F16 | Self::BF16)
    }

    /// Unit roundoff (half the distance between 1 and the next value), 0 for integers.
    pub const fn unit_roundoff(self) -> f64 {
        match self {
            Self::F32 => 5.960_464_477_539_063e-8,
            Self::F16 => 4.882_812_5e-4,
            Self::BF16 => 3.906_25e-3,
            _ => 0.0,
        }
    }

    /// Appends `value`, rounded to this type, to `out` (little endian).
    pub fn push(self, value: f64, out: &mut Vec<u8>) {
        match self {
            Self::F32 => out.extend_from_slice(&(value as f32).to_le_bytes()),
            Self::F16 => out.extend_from_slice(&f16::from_f64(value).to_le_bytes()),
            Self::BF16 => out.extend_from_slice(&bf16::from_f64(value).to_le_bytes()),
            Self::I32 => out.extend_from_slice(&(value as i32).to_le_bytes()),
            Self::U32 => out.extend_from_slice(&(value as u32).to_le_bytes()),
            Self::U8 => out.push(value as u8),
        }
    }

    /// Encodes values into little-endian bytes of this type.
    pub fn encode(self, values: &[f64]) -> Vec<u8> {
        let mut out = Vec::with_capacity(values.len() * self.bytes());
        for &v in values {
            self.push(v, &mut out);
        }
        out
    }

    /// Decodes little-endian bytes of this type; a trailing partial element is ignored.
    pub fn decode(self, bytes: &[u8]) -> Vec<f64> {
        match self {
            Self::F32 => bytes.as_chunks::<4>().0.iter().map(|b| f64::from(f32::from_le_bytes(*b))).collect(),
            Self::F16 => bytes.as_chunks::<2>().0.iter().map(|b| f16::from_le_bytes(*b).to_f64()).collect(),
            Self::BF16 => bytes.as_chunks::<2>().0.iter().map(|b| bf16::from_le_bytes(*b).to_f64()).collect(),
            Self::I32 => bytes.as_chunks::<4>().0.iter().map(|b| f64::from(i32::from_le_bytes(*b))).collect(),
            Self::U32 => bytes.as_chunks::<4>().0.iter().map(|b| f64::from(u32::from_le_bytes(*b))).collect(),
            Self::U8 => bytes.iter().map(|&b| f64::from(b)).collect(),
        }
    }
}

impl std::fmt::Display for DType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_dtype_round_trips_small_integers() {
        for d in DType::ALL {
            let values = [0.0, 1.0, 2.0, 100.0];
            assert_eq!(d.decode(&d.encode(&values)), values, "{d}");
            assert_eq!(DType::parse(d.name()), Some(d));
        }
    }

    #[test]
    fn halves_round_to_nearest_even() {
        assert_eq!(DType::F16.decode(&DType::F16.encode(&[1.0 + 4.882_812_5e-4])), [1.0]);
    }
}
