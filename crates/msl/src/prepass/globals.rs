//! Program-scope variables in `constant` memory, and function constants, which get their values here.

use std::collections::BTreeMap;

use super::scan::{Outline, attributes};
use super::unit::Unit;
use crate::module::FunctionConstant;
use crate::pp::{Problem, integer_constant};

/// Rewrites constants and gives function constants their values.
pub fn settle(
    unit: &mut Unit,
    outline: &Outline,
    values: &BTreeMap<String, String>,
) -> Result<Vec<FunctionConstant>, Problem> {
    let mut out = Vec::new();
    for global in &outline.globals {
        let (lo, hi) = (global.range.start, global.range.end);
        if redeclares_member(unit, lo, hi) {
            unit.remove(lo, hi);
            continue;
        }
        let Some(at) = specifier(unit, lo, hi) else { continue };
        let attr = (lo..hi).find(|i| unit.attr_list(*i).iter().any(|a| a.name == "function_constant"));
        let constexpr = (lo..hi).any(|i| unit.is_ident(i, "constexpr"));
        if let Some(attr_at) = attr {
            let constant = function_constant(unit, at, attr_at, hi, values)?;
            if !constexpr {
                unit.insert_before(lo, "constexpr");
            }
            out.push(constant);
            continue;
        }
        let first = (lo..hi).find(|i| unit.is(*i, "=") || unit.is(*i, "{") || unit.is(*i, "("));
        let declarator = lo..first.unwrap_or(hi);
        let plain = !declarator.clone().any(|i| unit.is(i, "[") || unit.is(i, "*") || unit.is(i, "&"));
        if first.is_some() && plain && !constexpr {
            unit.insert_before(lo, "constexpr");
        }
    }
    let calls: Vec<usize> = (0..unit.len()).filter(|i| unit.is_ident(*i, "is_function_constant_defined")).collect();
    for at in calls {
        let open = unit.next(at);
        let Some(close) = unit.pair(open).filter(|_| unit.is(open, "(")) else { continue };
        let name = unit.prev(close).and_then(|p| unit.ident(p)).unwrap_or("").to_owned();
        let defined = out.iter().any(|c| c.name == name && c.defined);
        unit.replace(at, if defined { "true" } else { "false" });
        unit.remove(open, close + 1);
        // A qualifier before the name (`metal::`) goes with it.
        if let Some(colons) = unit.prev(at).filter(|p| unit.is(*p, "::"))
            && let Some(space) = unit.prev(colons).filter(|p| unit.is_ident(*p, "metal"))
        {
            unit.remove(space, colons + 1);
        }
    }
    Ok(out)
}

/// `constant float Record<T>::table[8];`: says again, outside of the record, what the record said with its value.
fn redeclares_member(unit: &Unit, lo: usize, hi: usize) -> bool {
    let initialised = (lo..hi).any(|i| unit.is(i, "=") || unit.is(i, "{"));
    let end = (lo..hi).find(|i| unit.is(*i, "[")).unwrap_or(hi - 1);
    let qualified = unit.prev(end).and_then(|name| unit.prev(name)).is_some_and(|p| p > lo && unit.is(p, "::"));
    !initialised && qualified && (lo..hi).any(|i| unit.is_ident(i, "constant"))
}

/// The `constant` among the specifiers of a declaration: not one inside the body of a record or a template list.
fn specifier(unit: &Unit, lo: usize, hi: usize) -> Option<usize> {
    let mut i = lo;
    while i < hi && !unit.is(i, "=") {
        if unit.is_ident(i, "constant") {
            return Some(i);
        }
        i = match unit.is(i, "<").then(|| unit.angle(i, hi)).flatten() {
            Some(close) => close,
            None => unit.pair(i).filter(|p| *p > i).unwrap_or(i),
        } + 1;
    }
    None
}

fn function_constant(
    unit: &mut Unit,
    constant_at: usize,
    attr_at: usize,
    hi: usize,
    values: &BTreeMap<String, String>,
) -> Result<FunctionConstant, Problem> {
    let name_at = unit.prev(attr_at).filter(|i| unit.ident(*i).is_some());
    let Some(name_at) = name_at else {
        return Err(Problem::at("function-constant", unit.loc(attr_at), "`function_constant` must follow a name"));
    };
    let name = unit.ident(name_at).unwrap_or("").to_owned();
    let loc = unit.loc(attr_at);
    let index = attributes(unit, attr_at, attr_at + 1)
        .iter()
        .find(|a| a.name == "function_constant")
        .and_then(|a| a.args.as_deref())
        .and_then(|args| integer_constant(args, loc))
        .and_then(|v| u32::try_from(v).ok());
    let Some(index) = index else {
        return Err(Problem::at("function-constant", loc, "`function_constant` needs an index from 0 to 65535"));
    };
    let ty = unit.spell(constant_at + 1, name_at);
    let given = values.get(&name).or_else(|| values.get(&index.to_string()));
    let end = hi - 1;
    if unit.next(attr_at) != end {
        return Err(Problem::at(
            "function-constant",
            loc,
            format!("function constant `{name}` cannot have an initialiser"),
        )
        .help("the host gives it a value when it builds the pipeline"));
    }
    let value = match given {
        Some(text) => format!(" = ({text})"),
        None => " = {}".to_owned(),
    };
    unit.insert_before(end, value);
    Ok(FunctionConstant { name, index, ty, defined: given.is_some() })
}
