//! Scalars as the bytes a kernel argument holds. Knows the scalar types of MSL and CUDA; knows no candidate.

use half::{bf16, f16};

use crate::expr::Value;

/// A scalar type of a kernel language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scalar {
    Signed(usize),
    Unsigned(usize),
    Bool,
    F16,
    BF16,
    F32,
    F64,
}

impl Scalar {
    fn parse(name: &str) -> Option<Self> {
        let name = name.trim().trim_start_matches("const ").trim_end_matches(" const").trim();
        Some(match name.strip_prefix("metal::").unwrap_or(name) {
            "char" | "int8_t" | "signed char" => Self::Signed(1),
            "short" | "int16_t" => Self::Signed(2),
            "int" | "int32_t" => Self::Signed(4),
            "long" | "int64_t" | "ptrdiff_t" | "long long" => Self::Signed(8),
            "uchar" | "uint8_t" | "unsigned char" => Self::Unsigned(1),
            "ushort" | "uint16_t" | "unsigned short" => Self::Unsigned(2),
            "uint" | "uint32_t" | "unsigned int" | "unsigned" => Self::Unsigned(4),
            "ulong" | "uint64_t" | "size_t" | "unsigned long" | "unsigned long long" => Self::Unsigned(8),
            "bool" => Self::Bool,
            "half" | "__half" => Self::F16,
            "bfloat" | "__nv_bfloat16" => Self::BF16,
            "float" => Self::F32,
            "double" => Self::F64,
            _ => return None,
        })
    }

    const fn size(self) -> usize {
        match self {
            Self::Signed(n) | Self::Unsigned(n) => n,
            Self::Bool => 1,
            Self::F16 | Self::BF16 => 2,
            Self::F32 => 4,
            Self::F64 => 8,
        }
    }
}

/// `value` as the little-endian bytes of the type called `type_name`. Integers must fit; reals are rounded; a bool is
/// one where the value is not zero. `Err` says what does not fit.
pub fn bytes(type_name: &str, value: Value) -> Result<Vec<u8>, String> {
    let scalar = Scalar::parse(type_name).ok_or_else(|| {
        format!("`{type_name}` is not a scalar type; bind a struct with {{ struct = [[\"uint\", \"L\"], …] }}")
    })?;
    let number = value.as_f64().ok_or_else(|| format!("the dtype {value} cannot be passed as `{type_name}`"))?;
    let integer = |size: usize, signed: bool| {
        let i = value.as_int().ok_or_else(|| format!("{value} is not an integer, as `{type_name}` needs"))?;
        let bits = size as u32 * 8;
        let wide = i128::from(i);
        let (lo, hi) = if signed { (-(1i128 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1i128 << bits) - 1) };
        if wide < lo || wide > hi {
            return Err(format!("{i} does not fit in `{type_name}`"));
        }
        Ok(i.to_le_bytes().into_iter().take(size).collect())
    };
    match scalar {
        Scalar::Signed(size) => integer(size, true),
        Scalar::Unsigned(size) => integer(size, false),
        Scalar::Bool => Ok(vec![u8::from(number != 0.0)]),
        Scalar::F16 => Ok(f16::from_f64(number).to_le_bytes().to_vec()),
        Scalar::BF16 => Ok(bf16::from_f64(number).to_le_bytes().to_vec()),
        Scalar::F32 => Ok((number as f32).to_le_bytes().to_vec()),
        Scalar::F64 => Ok(number.to_le_bytes().to_vec()),
    }
}

/// A struct of scalars in declaration order, each aligned to its own size, the whole to the largest.
pub fn struct_bytes(fields: &[(String, Value)]) -> Result<Vec<u8>, String> {
    let mut out: Vec<u8> = Vec::new();
    let mut align = 1;
    for (type_name, value) in fields {
        let field = bytes(type_name, *value)?;
        let size = Scalar::parse(type_name).map_or(1, Scalar::size);
        align = align.max(size);
        out.resize(out.len().next_multiple_of(size), 0);
        out.extend(field);
    }
    out.resize(out.len().next_multiple_of(align), 0);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_fit_or_are_refused() {
        assert_eq!(bytes("uint", Value::Int(258)).unwrap(), [2, 1, 0, 0]);
        assert_eq!(bytes("const int", Value::Int(-1)).unwrap(), [255; 4]);
        assert_eq!(bytes("uint", Value::Real(3.0)).unwrap(), [3, 0, 0, 0]);
        assert!(bytes("uint", Value::Int(-1)).unwrap_err().contains("fit"));
        assert!(bytes("ushort", Value::Int(65536)).unwrap_err().contains("fit"));
        assert!(bytes("int", Value::Real(0.5)).unwrap_err().contains("integer"));
        assert_eq!(bytes("ulong", Value::Int(i64::MAX)).unwrap(), i64::MAX.to_le_bytes());
        assert!(bytes("float4", Value::Int(1)).unwrap_err().contains("struct"));
    }

    #[test]
    fn reals_and_flags() {
        assert_eq!(bytes("float", Value::Int(1)).unwrap(), 1f32.to_le_bytes());
        assert_eq!(bytes("half", Value::Real(0.5)).unwrap(), f16::from_f32(0.5).to_le_bytes());
        assert_eq!(bytes("bool", Value::Int(7)).unwrap(), [1]);
    }

    #[test]
    fn structs_are_padded_like_c() {
        let fields = [
            ("uchar".to_owned(), Value::Int(1)),
            ("uint".to_owned(), Value::Int(2)),
            ("ushort".to_owned(), Value::Int(3)),
        ];
        assert_eq!(struct_bytes(&fields).unwrap(), [1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0]);
    }
}
