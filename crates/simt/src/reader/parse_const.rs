//! Constants and constant expressions.

use std::sync::Arc;

use super::ReadError;
use super::cursor::{Cursor, MAX_DEPTH};
use super::ir::{BinOp, CastOp, Const, Type};
use super::lexer::{Tok, unescape};

/// The cast with this name.
pub fn cast_op(w: &str) -> Option<CastOp> {
    Some(match w {
        "trunc" => CastOp::Trunc,
        "zext" => CastOp::ZExt,
        "sext" => CastOp::SExt,
        "fptrunc" => CastOp::FpTrunc,
        "fpext" => CastOp::FpExt,
        "fptoui" => CastOp::FpToUi,
        "fptosi" => CastOp::FpToSi,
        "uitofp" => CastOp::UiToFp,
        "sitofp" => CastOp::SiToFp,
        "ptrtoint" | "ptrtoaddr" => CastOp::PtrToInt,
        "inttoptr" => CastOp::IntToPtr,
        "bitcast" => CastOp::BitCast,
        "addrspacecast" => CastOp::AddrSpaceCast,
        _ => return None,
    })
}

/// The binary operation with this name.
pub fn bin_op(w: &str) -> Option<BinOp> {
    Some(match w {
        "add" => BinOp::Add,
        "sub" => BinOp::Sub,
        "mul" => BinOp::Mul,
        "udiv" => BinOp::UDiv,
        "sdiv" => BinOp::SDiv,
        "urem" => BinOp::URem,
        "srem" => BinOp::SRem,
        "shl" => BinOp::Shl,
        "lshr" => BinOp::LShr,
        "ashr" => BinOp::AShr,
        "and" => BinOp::And,
        "or" => BinOp::Or,
        "xor" => BinOp::Xor,
        "fadd" => BinOp::FAdd,
        "fsub" => BinOp::FSub,
        "fmul" => BinOp::FMul,
        "fdiv" => BinOp::FDiv,
        "frem" => BinOp::FRem,
        _ => return None,
    })
}

/// Steps over flags (`nsw`, `fast`, `inbounds`, `samesign`, …) and says whether contraction is allowed.
pub fn flags(c: &mut Cursor<'_>) -> Result<bool, ReadError> {
    let mut contract = false;
    loop {
        match c.peek() {
            Some(Tok::Word("inrange")) => {
                c.skip();
                if c.peek() == Some(Tok::Punct(b'(')) {
                    c.skip_group()?;
                }
            }
            Some(Tok::Word(w)) => {
                let known = matches!(
                    w,
                    "nuw"
                        | "nsw"
                        | "exact"
                        | "disjoint"
                        | "nneg"
                        | "samesign"
                        | "inbounds"
                        | "nusw"
                        | "fast"
                        | "nnan"
                        | "ninf"
                        | "nsz"
                        | "arcp"
                        | "contract"
                        | "afn"
                        | "reassoc"
                );
                if !known {
                    return Ok(contract);
                }
                contract |= matches!(w, "fast" | "contract");
                c.skip();
            }
            _ => return Ok(contract),
        }
    }
}

fn parse_int(s: &str) -> Option<u128> {
    if let Some(h) = s.strip_prefix("u0x").or_else(|| s.strip_prefix("s0x")) {
        return u128::from_str_radix(h, 16).ok();
    }
    match s.strip_prefix('-') {
        Some(n) => n.parse::<u128>().ok().map(u128::wrapping_neg),
        None => s.strip_prefix('+').unwrap_or(s).parse().ok(),
    }
}

fn parse_float(s: &str) -> Option<Const> {
    let Some(h) = s.strip_prefix("0x") else { return s.parse().ok().map(Const::Float) };
    if let Some(h) = h.strip_prefix('H').or_else(|| h.strip_prefix('R')) {
        return u16::from_str_radix(h, 16).ok().map(Const::Float16);
    }
    u64::from_str_radix(h, 16).ok().map(|b| Const::Float(f64::from_bits(b)))
}

/// A constant of type `ty`.
pub fn constant(c: &mut Cursor<'_>, ty: &Type) -> Result<Const, ReadError> {
    constant_at(c, ty, 0)
}

/// A type and a constant of it.
pub fn typed_constant(c: &mut Cursor<'_>, depth: u32) -> Result<(Type, Const), ReadError> {
    let ty = c.ty()?;
    flags(c)?;
    let v = constant_at(c, &ty, depth)?;
    Ok((ty, v))
}

fn constant_at(c: &mut Cursor<'_>, ty: &Type, depth: u32) -> Result<Const, ReadError> {
    if depth > MAX_DEPTH {
        return c.err("constants nest too deep");
    }
    Ok(match c.next()? {
        Tok::Int(s) => match parse_int(s) {
            Some(v) => match ty {
                // Some printers write whole floating values without a fraction.
                Type::Float | Type::Double | Type::Half | Type::BFloat => Const::Float(s.parse().unwrap_or(0.0)),
                _ => Const::Int(v),
            },
            None => return c.err(format!("integer `{s}` is too large")),
        },
        Tok::Float(s) => match parse_float(s) {
            Some(v) => v,
            None => return c.err(format!("`{s}` is not a number this reader knows")),
        },
        Tok::Global(n) => Const::Global(Arc::from(n)),
        Tok::Bytes(s) => Const::Bytes(unescape(s)),
        Tok::Punct(b'[') => Const::Aggregate(elements(c, b']', depth)?),
        Tok::Punct(b'{') => Const::Aggregate(elements(c, b'}', depth)?),
        Tok::Punct(b'<') => {
            if c.eat_punct(b'{') {
                let v = elements(c, b'}', depth)?;
                c.expect(b'>')?;
                Const::Aggregate(v)
            } else {
                Const::Aggregate(elements(c, b'>', depth)?)
            }
        }
        Tok::Word(w) => match w {
            "true" => Const::Int(1),
            "false" | "null" => Const::Int(0),
            "undef" | "poison" => Const::Undef,
            "zeroinitializer" | "none" => Const::Zero,
            "inf" | "+inf" => Const::Float(f64::INFINITY),
            "-inf" => Const::Float(f64::NEG_INFINITY),
            "nan" | "+nan" | "-nan" => Const::Float(f64::NAN),
            "splat" => {
                c.expect(b'(')?;
                let (t, v) = typed_constant(c, depth + 1)?;
                c.expect(b')')?;
                Const::Splat(t, Box::new(v))
            }
            "getelementptr" => {
                flags(c)?;
                c.expect(b'(')?;
                let ty = c.ty()?;
                c.expect(b',')?;
                let (_, base) = typed_constant(c, depth + 1)?;
                let mut indices = Vec::new();
                while c.eat_punct(b',') {
                    flags(c)?;
                    indices.push(typed_constant(c, depth + 1)?);
                }
                c.expect(b')')?;
                Const::Gep { ty, base: Box::new(base), indices }
            }
            _ => {
                if let Some(op) = cast_op(w) {
                    flags(c)?;
                    c.expect(b'(')?;
                    let (from, v) = typed_constant(c, depth + 1)?;
                    if !c.eat_word("to") {
                        return c.err("expected `to`");
                    }
                    let to = c.ty()?;
                    c.expect(b')')?;
                    Const::Cast { op, from, value: Box::new(v), to }
                } else if let Some(op) = bin_op(w) {
                    flags(c)?;
                    c.expect(b'(')?;
                    let (ty, a) = typed_constant(c, depth + 1)?;
                    c.expect(b',')?;
                    let (_, b) = typed_constant(c, depth + 1)?;
                    c.expect(b')')?;
                    Const::Bin { op, ty, a: Box::new(a), b: Box::new(b) }
                } else {
                    return c.err(format!("`{w}` is not a constant this reader knows"));
                }
            }
        },
        t => return c.err(format!("expected a constant, found {t:?}")),
    })
}

fn elements(c: &mut Cursor<'_>, close: u8, depth: u32) -> Result<Vec<(Type, Const)>, ReadError> {
    let mut v = Vec::new();
    if c.eat_punct(close) {
        return Ok(v);
    }
    loop {
        v.push(typed_constant(c, depth + 1)?);
        if !c.eat_punct(b',') {
            break;
        }
    }
    c.expect(close)?;
    Ok(v)
}
