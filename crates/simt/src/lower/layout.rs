//! Sizes, alignments and scalar leaves of IR types under the data layout of spir64. Knows types alone.

use crate::reader::ir::{Module, Type};

use super::LowerError;

/// A scalar that a value of some type consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scalar {
    /// Integer of 1 to 64 bits.
    Int(u8),
    /// Binary16.
    F16,
    /// Bfloat16.
    Bf16,
    /// Binary32.
    F32,
    /// Binary64.
    F64,
    /// Pointer in an address space.
    Ptr(u32),
}

/// Values may have this many scalars at most.
const MAX_LEAVES: usize = 4096;

/// Size in memory, with tail padding.
pub fn size(m: &Module, ty: &Type) -> u64 {
    let raw = match m.resolve(ty) {
        Type::Void | Type::Opaque | Type::Named(_) => 0,
        Type::Int(b) => u64::from(b.div_ceil(8)),
        Type::Half | Type::BFloat => 2,
        Type::Float => 4,
        Type::Double | Type::Ptr(_) => 8,
        Type::Vector(n, e) => match m.resolve(e) {
            Type::Int(b) => (u64::from(*n) * u64::from(*b)).div_ceil(8),
            e => u64::from(*n) * size(m, e),
        },
        Type::Array(n, e) => n.saturating_mul(size(m, e)),
        Type::Struct { packed, fields } => {
            let mut at = 0u64;
            for f in fields.iter() {
                if !packed {
                    at = round_up(at, align(m, f));
                }
                at = at.saturating_add(size(m, f));
            }
            at
        }
    };
    round_up(raw, align(m, ty))
}

/// Alignment in memory.
pub fn align(m: &Module, ty: &Type) -> u64 {
    match m.resolve(ty) {
        Type::Void | Type::Opaque | Type::Named(_) => 1,
        Type::Int(b) => u64::from(b.div_ceil(8)).next_power_of_two().min(16),
        Type::Half | Type::BFloat => 2,
        Type::Float => 4,
        Type::Double | Type::Ptr(_) => 8,
        Type::Vector(n, e) => {
            let bits = match m.resolve(e) {
                Type::Int(b) => u64::from(*n) * u64::from(*b),
                e => u64::from(*n) * size(m, e) * 8,
            };
            bits.div_ceil(8).next_power_of_two()
        }
        Type::Array(_, e) => align(m, e),
        Type::Struct { packed: true, .. } => 1,
        Type::Struct { fields, .. } => fields.iter().map(|f| align(m, f)).max().unwrap_or(1),
    }
}

fn round_up(n: u64, to: u64) -> u64 {
    n.checked_next_multiple_of(to.max(1)).unwrap_or(u64::MAX)
}

/// Offset and type of field `i` of a structure.
pub fn field(m: &Module, fields: &[Type], packed: bool, i: usize) -> Option<(u64, Type)> {
    let mut at = 0u64;
    for (k, f) in fields.iter().enumerate() {
        if !packed {
            at = round_up(at, align(m, f));
        }
        if k == i {
            return Some((at, f.clone()));
        }
        at = at.saturating_add(size(m, f));
    }
    None
}

/// Appends the scalar leaves of `ty` with their byte offsets.
pub fn leaves(m: &Module, ty: &Type, at: u64, out: &mut Vec<(u64, Scalar)>) -> Result<(), LowerError> {
    if out.len() > MAX_LEAVES {
        return Err(LowerError::unsupported("a value with more than 4096 scalars"));
    }
    match m.resolve(ty) {
        Type::Void => {}
        Type::Int(b @ 1..=64) => out.push((at, Scalar::Int(*b as u8))),
        Type::Int(b @ 65..=128) => {
            out.push((at, Scalar::Int(64)));
            out.push((at + 8, Scalar::Int((*b - 64) as u8)));
        }
        Type::Int(b) => return Err(LowerError::unsupported(format!("integers of {b} bits"))),
        Type::Half => out.push((at, Scalar::F16)),
        Type::BFloat => out.push((at, Scalar::Bf16)),
        Type::Float => out.push((at, Scalar::F32)),
        Type::Double => out.push((at, Scalar::F64)),
        Type::Ptr(s) => out.push((at, Scalar::Ptr(*s))),
        Type::Vector(n, e) => {
            let step = size(m, e);
            for i in 0..u64::from(*n) {
                leaves(m, e, at + i * step, out)?;
            }
        }
        Type::Array(n, e) => {
            if *n > MAX_LEAVES as u64 {
                return Err(LowerError::unsupported("an array value with more than 4096 elements"));
            }
            let step = size(m, e);
            for i in 0..*n {
                leaves(m, e, at + i * step, out)?;
            }
        }
        Type::Struct { packed, fields } => {
            let mut off = 0u64;
            for f in fields.iter() {
                if !packed {
                    off = round_up(off, align(m, f));
                }
                leaves(m, f, at + off, out)?;
                off += size(m, f);
            }
        }
        Type::Named(_) | Type::Opaque => return Err(LowerError::unsupported("a value of an opaque type")),
    }
    Ok(())
}
