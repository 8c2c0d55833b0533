//! Tree to value: checked integer arithmetic, finite reals, equality of dtypes. Knows no syntax.

use super::parse::{Function, Kind, Node, Op};
use super::{Scope, Value};
use crate::dtype::DType;

/// Largest magnitude below which every integer is exact in f64.
const EXACT: i64 = 1 << 53;

pub(super) struct EvalError {
    pub(super) message: String,
    pub(super) column: usize,
}

type Result<T> = std::result::Result<T, EvalError>;

/// `r` as an integer if that loses nothing.
pub(super) fn exact_int(r: f64) -> Option<i64> {
    (r.fract() == 0.0 && r.abs() <= EXACT as f64).then_some(r as i64)
}

pub(super) fn unknown_name(name: &str, known: &[&str]) -> String {
    let near = known.iter().map(|k| (edit_distance(name, k), k)).min().filter(|(distance, _)| *distance <= 2);
    let hint = near.map(|(_, k)| format!(", did you mean `{k}`?")).unwrap_or_default();
    let list = if known.is_empty() { "none here".to_owned() } else { known.join(", ") };
    format!("unknown name `{name}`{hint} (known names: {list})")
}

/// Levenshtein distance, ignoring case.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.to_lowercase().chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.to_lowercase().chars().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        for (y, cell) in b.iter().zip(row.iter_mut().skip(1)) {
            let substituted = diagonal + usize::from(x != *y);
            diagonal = *cell;
            *cell = substituted.min(left + 1).min(diagonal + 1);
            left = *cell;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or(0)
}

pub(super) fn eval(node: &Node, scope: &dyn Scope) -> Result<Value> {
    let fail = |message: String| EvalError { message, column: node.column };
    match &node.kind {
        Kind::Literal(value) => Ok(*value),
        Kind::Name(name) => scope.get(name).or_else(|| DType::parse(name).map(Value::Type)).ok_or_else(|| {
            let names = scope.names();
            fail(unknown_name(name, &names.iter().map(String::as_str).collect::<Vec<_>>()))
        }),
        Kind::Negate(a) => match eval(a, scope)? {
            Value::Int(i) => i.checked_neg().map(Value::Int).ok_or_else(|| fail(overflow(&format!("-({i})")))),
            Value::Real(r) => Ok(Value::Real(-r)),
            Value::Type(d) => Err(fail(format!("the dtype {d} cannot be negated"))),
        },
        Kind::Not(a) => Ok(Value::Int(i64::from(!truth(a, scope)?))),
        Kind::Binary(Op::And, a, b) => Ok(Value::Int(i64::from(truth(a, scope)? && truth(b, scope)?))),
        Kind::Binary(Op::Or, a, b) => Ok(Value::Int(i64::from(truth(a, scope)? || truth(b, scope)?))),
        Kind::Binary(op, a, b) => binary(*op, eval(a, scope)?, eval(b, scope)?).map_err(fail),
        Kind::Choose(condition, yes, no) => eval(if truth(condition, scope)? { yes } else { no }, scope),
        Kind::Call(function, args) => {
            let values = args.iter().map(|a| eval(a, scope)).collect::<Result<Vec<_>>>()?;
            call(*function, &values).map_err(fail)
        }
    }
}

fn truth(node: &Node, scope: &dyn Scope) -> Result<bool> {
    match eval(node, scope)? {
        Value::Int(i) => Ok(i != 0),
        Value::Real(r) => Ok(r != 0.0),
        Value::Type(d) => Err(EvalError { message: format!("the dtype {d} is not a condition"), column: node.column }),
    }
}

fn overflow(what: &str) -> String {
    format!("{what} overflows 64-bit integers")
}

fn finite(r: f64, what: impl FnOnce() -> String) -> std::result::Result<Value, String> {
    if r.is_finite() { Ok(Value::Real(r)) } else { Err(format!("{} is not a finite number", what())) }
}

/// A number as f64, refusing integers that f64 cannot hold exactly.
fn real(value: Value) -> std::result::Result<f64, String> {
    match value {
        Value::Int(i) if !(-EXACT..=EXACT).contains(&i) => Err(format!("{i} is too large to mix with reals exactly")),
        Value::Int(i) => Ok(i as f64),
        Value::Real(r) => Ok(r),
        Value::Type(d) => Err(format!("expected a number, got the dtype {d}")),
    }
}

fn binary(op: Op, a: Value, b: Value) -> std::result::Result<Value, String> {
    if let (Value::Type(x), Value::Type(y)) = (a, b) {
        return match op {
            Op::Eq => Ok(Value::Int(i64::from(x == y))),
            Op::Ne => Ok(Value::Int(i64::from(x != y))),
            _ => Err(format!("dtypes can be compared with == and != only, not `{}`", op.symbol())),
        };
    }
    if let (Value::Int(x), Value::Int(y)) = (a, b) {
        return integer(op, x, y);
    }
    let (x, y) = (real(a)?, real(b)?);
    let what = || format!("{x:?} {} {y:?}", op.symbol());
    let truth = |c: bool| Ok(Value::Int(i64::from(c)));
    match op {
        Op::Add => finite(x + y, what),
        Op::Sub => finite(x - y, what),
        Op::Mul => finite(x * y, what),
        Op::Div if y == 0.0 => Err(format!("division by zero in {}", what())),
        Op::Div => finite(x / y, what),
        Op::Rem if y == 0.0 => Err(format!("division by zero in {}", what())),
        Op::Rem => finite(x - y * (x / y).floor(), what),
        Op::Eq => truth(x == y),
        Op::Ne => truth(x != y),
        Op::Lt => truth(x < y),
        Op::Le => truth(x <= y),
        Op::Gt => truth(x > y),
        Op::Ge => truth(x >= y),
        Op::And => truth(x != 0.0 && y != 0.0),
        Op::Or => truth(x != 0.0 || y != 0.0),
    }
}

fn integer(op: Op, x: i64, y: i64) -> std::result::Result<Value, String> {
    let what = || format!("{x} {} {y}", op.symbol());
    let checked = |r: Option<i64>| r.map(Value::Int).ok_or_else(|| overflow(&what()));
    let truth = |c: bool| Ok(Value::Int(i64::from(c)));
    match op {
        Op::Add => checked(x.checked_add(y)),
        Op::Sub => checked(x.checked_sub(y)),
        Op::Mul => checked(x.checked_mul(y)),
        Op::Div | Op::Rem if y == 0 => Err(format!("division by zero in {}", what())),
        Op::Div => checked(floor_div(x, y)),
        Op::Rem => checked(floor_rem(x, y)),
        Op::Eq => truth(x == y),
        Op::Ne => truth(x != y),
        Op::Lt => truth(x < y),
        Op::Le => truth(x <= y),
        Op::Gt => truth(x > y),
        Op::Ge => truth(x >= y),
        Op::And => truth(x != 0 && y != 0),
        Op::Or => truth(x != 0 || y != 0),
    }
}

fn floor_div(x: i64, y: i64) -> Option<i64> {
    let quotient = x.checked_div(y)?;
    let inexact = quotient.checked_mul(y)? != x;
    if inexact && ((x < 0) != (y < 0)) { quotient.checked_sub(1) } else { Some(quotient) }
}

fn floor_rem(x: i64, y: i64) -> Option<i64> {
    // `i64::MIN % -1` overflows in hardware though the remainder is zero.
    let remainder = if y == -1 { 0 } else { x.checked_rem(y)? };
    if remainder != 0 && ((remainder < 0) != (y < 0)) { remainder.checked_add(y) } else { Some(remainder) }
}

fn ceil_div(x: i64, y: i64) -> Option<i64> {
    let floor = floor_div(x, y)?;
    if floor.checked_mul(y)? == x { Some(floor) } else { floor.checked_add(1) }
}

fn call(function: Function, args: &[Value]) -> std::result::Result<Value, String> {
    let name = function.name();
    match (function, args) {
        (Function::Min | Function::Max, [first, rest @ ..]) => {
            let mut best = *first;
            real(best)?;
            for &value in rest {
                let op = if function == Function::Min { Op::Lt } else { Op::Gt };
                if binary(op, value, best)? == Value::Int(1) {
                    best = value;
                }
            }
            Ok(best)
        }
        (Function::CeilDiv | Function::RoundUp, &[a, b]) => {
            let (Some(x), Some(y)) = (a.as_int(), b.as_int()) else {
                return Err(format!("`{name}` takes integers, got {a} and {b}"));
            };
            if y <= 0 {
                return Err(format!("`{name}` needs a positive divisor, got {y}"));
            }
            let quotient = ceil_div(x, y);
            let result = if function == Function::CeilDiv { quotient } else { quotient.and_then(|q| q.checked_mul(y)) };
            result.map(Value::Int).ok_or_else(|| overflow(&format!("{name}({x}, {y})")))
        }
        (Function::Pow, &[Value::Int(x), Value::Int(y)]) if y >= 0 => u32::try_from(y)
            .ok()
            .and_then(|y| x.checked_pow(y))
            .map(Value::Int)
            .ok_or_else(|| overflow(&format!("pow({x}, {y})"))),
        (Function::Pow, &[a, b]) => finite(real(a)?.powf(real(b)?), || format!("pow({a}, {b})")),
        (Function::Sqrt, &[a]) => finite(real(a)?.sqrt(), || format!("sqrt({a})")),
        (Function::Log2, &[a]) => finite(real(a)?.log2(), || format!("log2({a})")),
        (Function::Exp, &[a]) => finite(real(a)?.exp(), || format!("exp({a})")),
        (Function::Abs, &[Value::Int(x)]) => {
            x.checked_abs().map(Value::Int).ok_or_else(|| overflow(&format!("abs({x})")))
        }
        (Function::Abs, &[a]) => Ok(Value::Real(real(a)?.abs())),
        (Function::Floor | Function::Ceil, &[Value::Int(x)]) => Ok(Value::Int(x)),
        (Function::Floor | Function::Ceil, &[a]) => {
            let r = real(a)?;
            let rounded = if function == Function::Floor { r.floor() } else { r.ceil() };
            exact_int(rounded).map(Value::Int).ok_or_else(|| overflow(&format!("{name}({a})")))
        }
        (Function::Bytes, &[Value::Type(d)]) => Ok(Value::Int(d.bytes() as i64)),
        (Function::Bytes, &[a]) => Err(format!("`bytes` takes a dtype, got {a}")),
        _ => Err(format!("`{name}` was given {} arguments", args.len())),
    }
}
