//! Expressions over named integers, reals and dtypes: shapes, launch sizes, work counts. Knows nothing about tasks.
//!
//! Integers are exact `i64`: overflow is an error, never a wrap. `/` and `%` on integers floor (towards minus
//! infinity); as soon as one operand is real, arithmetic is IEEE f64 and a result that is not finite is an error.
//! An integer meets a real only where it converts exactly. Conditions are non-zero values; comparisons give 0 or 1.
//!
//! ```text
//! condition ? a : b      ||   &&   == !=   < <= > >=   + -   * / %   - !      (loosest to tightest)
//! min(a, b, …) max(a, b, …) ceil_div(a, b) round_up(a, b) pow(a, b) sqrt(a) log2(a) exp(a) abs(a) floor(a) ceil(a)
//! bytes(T)               size of one element of dtype T: a symbol, or one of f32 f16 bf16 i32 u32 u8
//! ```

mod eval;
mod parse;
mod python;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::dtype::DType;

/// Result of an expression.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// An exact integer.
    Int(i64),
    /// A real number, always finite.
    Real(f64),
    /// A dtype: can be compared for equality and measured with `bytes`.
    Type(DType),
}

impl Value {
    /// The value as f64, if it is a number.
    pub fn as_f64(self) -> Option<f64> {
        match self {
            Self::Int(i) => Some(i as f64),
            Self::Real(r) => Some(r),
            Self::Type(_) => None,
        }
    }

    /// The value as an integer, if it is one exactly.
    pub fn as_int(self) -> Option<i64> {
        match self {
            Self::Int(i) => Some(i),
            Self::Real(r) => eval::exact_int(r),
            Self::Type(_) => None,
        }
    }
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Int(i) => write!(f, "{i}"),
            Self::Real(r) => write!(f, "{r:?}"),
            Self::Type(d) => write!(f, "{d}"),
        }
    }
}

/// Why an expression was refused or could not be evaluated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message} (column {column} of `{text}`)")]
pub struct ExprError {
    /// What is wrong and what to do.
    pub message: String,
    /// The expression.
    pub text: String,
    /// 1-based column in `text`, in characters.
    pub column: usize,
}

/// Names an expression may use, with their values.
pub trait Scope {
    /// Value of `name`, if it is known.
    fn get(&self, name: &str) -> Option<Value>;
    /// Known names, for messages.
    fn names(&self) -> Vec<String>;
}

/// A scope without names.
pub struct Empty;

impl Scope for Empty {
    fn get(&self, _name: &str) -> Option<Value> {
        None
    }

    fn names(&self) -> Vec<String> {
        Vec::new()
    }
}

impl<S: std::hash::BuildHasher> Scope for indexmap::IndexMap<String, Value, S> {
    fn get(&self, name: &str) -> Option<Value> {
        self.get(name).copied()
    }

    fn names(&self) -> Vec<String> {
        self.keys().cloned().collect()
    }
}

/// A scope that looks in `inner` first, then in `outer`.
pub struct Layered<'a> {
    /// Looked in first.
    pub inner: &'a dyn Scope,
    /// Looked in next.
    pub outer: &'a dyn Scope,
}

impl Scope for Layered<'_> {
    fn get(&self, name: &str) -> Option<Value> {
        self.inner.get(name).or_else(|| self.outer.get(name))
    }

    fn names(&self) -> Vec<String> {
        let mut names = self.inner.names();
        names.extend(self.outer.names().into_iter().filter(|n| self.inner.get(n).is_none()));
        names
    }
}

/// A parsed expression. Serialised as its text; a bare number or boolean is accepted when reading.
#[derive(Clone, Debug)]
pub struct Expr {
    text: String,
    root: parse::Node,
}

impl Expr {
    /// Parses `text`.
    pub fn parse(text: &str) -> Result<Self, ExprError> {
        Ok(Self { text: text.to_owned(), root: parse::parse(text)? })
    }

    /// The expression of one integer.
    pub fn int(value: i64) -> Self {
        Self { text: value.to_string(), root: parse::Node::literal(Value::Int(value)) }
    }

    /// The text it was parsed from.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Every name used, in order of first use; dtype literals are not names.
    pub fn names(&self) -> Vec<&str> {
        let mut names = Vec::new();
        self.root.visit_names(&mut |name, _| {
            if !names.contains(&name) {
                names.push(name);
            }
        });
        names
    }

    /// Refuses names that are not among `known`, with the column and the list of known names.
    pub fn check_names(&self, known: &[&str]) -> Result<(), ExprError> {
        let mut bad = None;
        self.root.visit_names(&mut |name, column| {
            if bad.is_none() && !known.contains(&name) && DType::parse(name).is_none() {
                bad = Some((eval::unknown_name(name, known), column));
            }
        });
        match bad {
            None => Ok(()),
            Some((message, column)) => Err(ExprError { message, text: self.text.clone(), column }),
        }
    }

    /// Evaluates in `scope`.
    pub fn eval(&self, scope: &dyn Scope) -> Result<Value, ExprError> {
        eval::eval(&self.root, scope).map_err(|e| ExprError {
            message: e.message,
            text: self.text.clone(),
            column: e.column,
        })
    }

    /// Evaluates to an integer; a real is accepted only if it is integral.
    pub fn eval_int(&self, scope: &dyn Scope) -> Result<i64, ExprError> {
        let value = self.eval(scope)?;
        value
            .as_int()
            .ok_or_else(|| self.whole(format!("expected an integer, got {value}; round it with floor() or ceil()")))
    }

    /// Evaluates to a real number.
    pub fn eval_real(&self, scope: &dyn Scope) -> Result<f64, ExprError> {
        let value = self.eval(scope)?;
        value.as_f64().ok_or_else(|| self.whole(format!("expected a number, got the dtype {value}")))
    }

    /// Evaluates to a condition: true where the value is not zero.
    pub fn eval_bool(&self, scope: &dyn Scope) -> Result<bool, ExprError> {
        Ok(self.eval_real(scope)? != 0.0)
    }

    /// Text that is equal for expressions that differ only in spacing and redundant parentheses.
    pub fn canonical(&self) -> String {
        let mut out = String::new();
        self.root.write(&mut out);
        out
    }

    fn whole(&self, message: String) -> ExprError {
        ExprError { message, text: self.text.clone(), column: 1 }
    }
}

impl PartialEq for Expr {
    fn eq(&self, other: &Self) -> bool {
        self.canonical() == other.canonical()
    }
}

impl std::fmt::Display for Expr {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::str::FromStr for Expr {
    type Err = ExprError;

    fn from_str(s: &str) -> Result<Self, ExprError> {
        Self::parse(s)
    }
}

impl Serialize for Expr {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for Expr {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Expr;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an expression such as \"ceil_div(L, 4)\", or a number")
            }

            fn visit_str<E: de::Error>(self, s: &str) -> Result<Expr, E> {
                Expr::parse(s).map_err(E::custom)
            }

            fn visit_i64<E: de::Error>(self, v: i64) -> Result<Expr, E> {
                Ok(Expr::int(v))
            }

            fn visit_u64<E: de::Error>(self, v: u64) -> Result<Expr, E> {
                i64::try_from(v).map(Expr::int).map_err(|_| E::custom(format!("{v} does not fit in 64 signed bits")))
            }

            fn visit_f64<E: de::Error>(self, v: f64) -> Result<Expr, E> {
                self.visit_str(&format!("{v:?}"))
            }

            fn visit_bool<E: de::Error>(self, v: bool) -> Result<Expr, E> {
                Ok(Expr::int(i64::from(v)))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

#[cfg(test)]
mod tests;
