//! The same expression as Python source, for wrappers that evaluate a recipe where the shapes are known. Knows no task.
//!
//! Division, remainder, conditions and sizes of dtypes go through helpers that the host module must define, so that
//! integers floor and conditions are 0 or 1 as here: `_div _rem _flag _ceil_div _round_up _bytes`, and Python's `math`.

use super::Expr;
use super::parse::{Function, Kind, Node, Op};
use crate::dtype::DType;

impl Expr {
    /// Python source over a mapping `s` from names to values; dtypes are strings such as `"f32"`. `known` says which
    /// names are in the mapping; any other that is a dtype's name is that dtype.
    pub fn python(&self, known: &dyn Fn(&str) -> bool) -> String {
        let mut out = String::new();
        write(&self.root, known, &mut out);
        out
    }
}

fn write(node: &Node, known: &dyn Fn(&str) -> bool, out: &mut String) {
    match &node.kind {
        Kind::Literal(value) => out.push_str(&value.to_string()),
        Kind::Name(name) if !known(name) && DType::parse(name).is_some() => out.extend(["\"", name, "\""]),
        Kind::Name(name) => out.extend(["s[\"", name, "\"]"]),
        Kind::Negate(a) => call("-", [&**a], known, out),
        Kind::Not(a) => {
            out.push_str("_flag(not ");
            write(a, known, out);
            out.push(')');
        }
        Kind::Binary(Op::Div, a, b) => call("_div", [&**a, &**b], known, out),
        Kind::Binary(Op::Rem, a, b) => call("_rem", [&**a, &**b], known, out),
        Kind::Binary(op, a, b) => {
            let (word, flag) = match op {
                Op::And => ("and", true),
                Op::Or => ("or", true),
                Op::Add | Op::Sub | Op::Mul => (op.symbol(), false),
                _ => (op.symbol(), true),
            };
            out.push_str(if flag { "_flag(" } else { "(" });
            write(a, known, out);
            out.extend([" ", word, " "]);
            write(b, known, out);
            out.push(')');
        }
        Kind::Choose(a, b, c) => {
            out.push('(');
            write(b, known, out);
            out.push_str(" if ");
            write(a, known, out);
            out.push_str(" else ");
            write(c, known, out);
            out.push(')');
        }
        Kind::Call(function, args) => {
            let name = match function {
                Function::Min => "min",
                Function::Max => "max",
                Function::CeilDiv => "_ceil_div",
                Function::RoundUp => "_round_up",
                Function::Pow => "pow",
                Function::Sqrt => "math.sqrt",
                Function::Log2 => "math.log2",
                Function::Exp => "math.exp",
                Function::Abs => "abs",
                Function::Floor => "math.floor",
                Function::Ceil => "math.ceil",
                Function::Bytes => "_bytes",
            };
            // Python's min and max refuse a single number.
            match (function, args.as_slice()) {
                (Function::Min | Function::Max, [only]) => write(only, known, out),
                _ => call(name, args, known, out),
            }
        }
    }
}

fn call<'a>(name: &str, args: impl IntoIterator<Item = &'a Node>, known: &dyn Fn(&str) -> bool, out: &mut String) {
    out.push_str(name);
    out.push('(');
    for (i, arg) in args.into_iter().enumerate() {
        if i > 0 {
            out.push_str(", ");
        }
        write(arg, known, out);
    }
    out.push(')');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn python_says_the_same() {
        let python = |text: &str| Expr::parse(text).unwrap().python(&|n| n != "f32");
        assert_eq!(python("ceil_div(L, 4 * B) - 1"), "(_ceil_div(s[\"L\"], (4 * s[\"B\"])) - 1)");
        assert_eq!(
            python("T == f32 && !causal ? L / 2 : L % 3"),
            "(_div(s[\"L\"], 2) if _flag(_flag(s[\"T\"] == \"f32\") and _flag(not s[\"causal\"])) else _rem(s[\"L\"], 3))"
        );
        assert_eq!(python("max(L) + sqrt(2.5) * -B"), "(s[\"L\"] + (math.sqrt(2.5) * -(s[\"B\"])))");
    }
}
