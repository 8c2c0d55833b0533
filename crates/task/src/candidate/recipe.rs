//! The launch recipe as TOML, read and written. `docs` of the format are the field comments of the `Raw…` types.

use std::collections::BTreeMap;
use std::fmt::Write;

use indexmap::IndexMap;
use serde::de::value::MapAccessDeserializer;
use serde::{Deserialize, Deserializer, de};

use super::{Argument, Binding, Candidate, Define, DefineValue, Dispatch, Recipe, Requirement, Scratch, Tunable};
use crate::expr::Expr;
use crate::file::{FileError, Step, TomlFile, steps};

/// The document.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRecipe {
    /// `[tunables]  BLOCK = { values = [16, 32], default = 32 }`
    #[serde(default)]
    tunables: IndexMap<String, RawTunable>,
    /// `[defines]  T = { type = "q" }`, `N = "ceil_div(L, BLOCK)"`, `FLAG = { text = "(1 << 3)" }`
    #[serde(default)]
    defines: IndexMap<String, RawDefine>,
    /// `[scratch]  partial = "4 * B * L"` (bytes)
    #[serde(default)]
    scratch: IndexMap<String, Expr>,
    /// `[[dispatch]]`, in order.
    #[serde(default)]
    dispatch: Vec<RawDispatch>,
    /// `[[require]]  expr = "D <= 128"`, `why = "…"`
    #[serde(default)]
    require: Vec<Requirement>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTunable {
    values: Vec<i64>,
    default: i64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawDispatch {
    /// Entry point.
    kernel: String,
    /// Threadgroups per axis, one to three.
    grid: Vec<Expr>,
    /// Threads per threadgroup per axis, one to three.
    threadgroup: Vec<Expr>,
    /// `args = { n = "B * L", x = { tensor = "u" }, tmp = { scratch = "partial" }, shared = { threadgroup = 4096 },
    /// params = { struct = [["uint", "L"], ["float", "scale"]] } }`
    #[serde(default)]
    args: IndexMap<String, RawBinding>,
    /// Function constants.
    #[serde(default)]
    constants: BTreeMap<String, Expr>,
    when: Option<Expr>,
    repeat: Option<Expr>,
    /// Threadgroups per cluster per axis, one to three (CUDA only).
    cluster: Option<Vec<Expr>>,
}

/// An expression, or a table that says what else it is.
struct RawBinding(Binding);

/// An expression, or a table that says what else it is.
struct RawDefine(DefineValue);

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum DefineTable {
    Type(String),
    Text(String),
}

/// Reads an expression from a bare value, and a `$table` from a table, which is then turned into the target.
macro_rules! expr_or_table {
    ($name:ident, $expr:expr, $table:ty, $convert:expr, $expecting:literal) => {
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Visitor;
                impl<'de> de::Visitor<'de> for Visitor {
                    type Value = $name;

                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str($expecting)
                    }

                    fn visit_str<E: de::Error>(self, s: &str) -> Result<$name, E> {
                        Expr::parse(s).map($expr).map($name).map_err(E::custom)
                    }

                    fn visit_i64<E: de::Error>(self, v: i64) -> Result<$name, E> {
                        Ok($name($expr(Expr::int(v))))
                    }

                    fn visit_f64<E: de::Error>(self, v: f64) -> Result<$name, E> {
                        self.visit_str(&format!("{v:?}"))
                    }

                    fn visit_bool<E: de::Error>(self, v: bool) -> Result<$name, E> {
                        Ok($name($expr(Expr::int(i64::from(v)))))
                    }

                    fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<$name, A::Error> {
                        <$table>::deserialize(MapAccessDeserializer::new(map)).map($convert).map($name)
                    }
                }
                deserializer.deserialize_any(Visitor)
            }
        }
    };
}

expr_or_table!(
    RawBinding,
    Binding::Scalar,
    Binding,
    |b: Binding| b,
    "an expression, or a table with one of tensor, scratch, threadgroup, struct"
);
expr_or_table!(
    RawDefine,
    DefineValue::Expr,
    DefineTable,
    |t: DefineTable| match t {
        DefineTable::Type(tensor) => DefineValue::TypeOf(tensor),
        DefineTable::Text(text) => DefineValue::Text(text),
    },
    "an expression, or a table with one of type, text"
);

/// Reads a recipe that starts at the beginning of line `first_line` of `file`.
pub(super) fn parse(file: &str, text: &str, first_line: usize) -> Result<(Recipe, Vec<Tunable>), FileError> {
    let toml = TomlFile::embedded(file, text, first_line);
    let raw: RawRecipe = toml.parse()?;
    for (table, names) in [
        ("tunables", raw.tunables.keys().collect::<Vec<_>>()),
        ("defines", raw.defines.keys().collect()),
        ("scratch", raw.scratch.keys().collect()),
    ] {
        if let Some(name) = names.into_iter().find(|n| !is_identifier(n)) {
            return Err(toml.error(steps![table, name], format!("`{name}` is not a C identifier")));
        }
    }
    let mut tunables = Vec::new();
    for (name, RawTunable { mut values, default }) in raw.tunables {
        if !values.contains(&default) {
            let message = format!("the default {default} is not one of the values of `{name}`");
            return Err(toml.error(steps!["tunables", &name, "default"], message));
        }
        values.sort_unstable();
        values.dedup();
        tunables.push(Tunable { name, values, default });
    }
    if raw.dispatch.is_empty() {
        return Err(toml.error(&[], "a recipe needs at least one [[dispatch]] with kernel, grid and threadgroup"));
    }
    let mut dispatches = Vec::new();
    for (i, dispatch) in raw.dispatch.into_iter().enumerate() {
        let at = |key| [Step::from("dispatch"), Step::from(i), Step::from(key)];
        let grid = three(dispatch.grid).map_err(|m| toml.error(&at("grid"), m))?;
        let threadgroup = three(dispatch.threadgroup).map_err(|m| toml.error(&at("threadgroup"), m))?;
        let cluster = dispatch.cluster.map(three).transpose().map_err(|m| toml.error(&at("cluster"), m))?;
        dispatches.push(Dispatch {
            kernel: dispatch.kernel,
            grid,
            threadgroup,
            args: dispatch.args.into_iter().map(|(param, b)| Argument { param, binding: b.0 }).collect(),
            constants: dispatch.constants,
            when: dispatch.when,
            repeat: dispatch.repeat,
            cluster,
        });
    }
    let recipe = Recipe {
        defines: raw.defines.into_iter().map(|(name, v)| Define { name, value: v.0 }).collect(),
        scratch: raw.scratch.into_iter().map(|(name, bytes)| Scratch { name, bytes }).collect(),
        dispatches,
        requires: raw.require,
    };
    for (i, dispatch) in recipe.dispatches.iter().enumerate() {
        for arg in &dispatch.args {
            if let Binding::Scratch(name) = &arg.binding
                && !recipe.scratch.iter().any(|s| s.name == *name)
            {
                let known: Vec<_> = recipe.scratch.iter().map(|s| s.name.as_str()).collect();
                let list = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                let message = format!("there is no scratch buffer `{name}` (declared: {list})");
                return Err(toml.error(steps!["dispatch", i, "args", &arg.param], message));
            }
        }
    }
    Ok((recipe, tunables))
}

fn three(axes: Vec<Expr>) -> Result<[Expr; 3], String> {
    let given = axes.len();
    let mut axes = axes.into_iter();
    match (axes.next(), axes.next(), axes.next(), axes.next()) {
        (Some(x), y, z, None) => Ok([x, y.unwrap_or_else(|| Expr::int(1)), z.unwrap_or_else(|| Expr::int(1))]),
        _ => Err(format!("expected one to three extents, found {given}")),
    }
}

pub(crate) fn is_identifier(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Writes a recipe; what it writes, [`parse`] reads.
pub(super) fn write(candidate: &Candidate) -> String {
    let recipe = &candidate.recipe;
    let mut out = String::new();
    // Writing to a String cannot fail.
    let mut line = |text: String| {
        let _ = writeln!(out, "{text}");
    };
    if !candidate.tunables.is_empty() {
        line("[tunables]".into());
        for t in &candidate.tunables {
            line(format!("{} = {{ values = {:?}, default = {} }}", t.name, t.values, candidate.value_of(t)));
        }
        line(String::new());
    }
    if !recipe.defines.is_empty() {
        line("[defines]".into());
        for d in &recipe.defines {
            line(match &d.value {
                DefineValue::Expr(e) => format!("{} = {}", d.name, expr(e)),
                DefineValue::TypeOf(tensor) => format!("{} = {{ type = {} }}", d.name, quote(tensor)),
                DefineValue::Text(text) => format!("{} = {{ text = {} }}", d.name, quote(text)),
            });
        }
        line(String::new());
    }
    if !recipe.scratch.is_empty() {
        line("[scratch]".into());
        for s in &recipe.scratch {
            line(format!("{} = {}", s.name, expr(&s.bytes)));
        }
        line(String::new());
    }
    for (i, d) in recipe.dispatches.iter().enumerate() {
        if i > 0 {
            line(String::new());
        }
        line("[[dispatch]]".into());
        line(format!("kernel = {}", quote(&d.kernel)));
        line(format!("grid = {}", extents(&d.grid)));
        line(format!("threadgroup = {}", extents(&d.threadgroup)));
        if let Some(cluster) = &d.cluster {
            line(format!("cluster = {}", extents(cluster)));
        }
        if let Some(when) = &d.when {
            line(format!("when = {}", expr(when)));
        }
        if let Some(repeat) = &d.repeat {
            line(format!("repeat = {}", expr(repeat)));
        }
        if !d.args.is_empty() {
            line("[dispatch.args]".into());
            for a in &d.args {
                line(format!("{} = {}", key(&a.param), binding(&a.binding)));
            }
        }
        if !d.constants.is_empty() {
            line("[dispatch.constants]".into());
            for (name, value) in &d.constants {
                line(format!("{} = {}", key(name), expr(value)));
            }
        }
    }
    for r in &recipe.requires {
        line(String::new());
        line("[[require]]".into());
        line(format!("expr = {}", expr(&r.expr)));
        line(format!("why = {}", quote(&r.why)));
    }
    out
}

fn extents(axes: &[Expr; 3]) -> String {
    format!("[{}]", axes.iter().map(expr).collect::<Vec<_>>().join(", "))
}

fn binding(binding: &Binding) -> String {
    match binding {
        Binding::Scalar(e) => expr(e),
        Binding::Tensor(name) => format!("{{ tensor = {} }}", quote(name)),
        Binding::Scratch(name) => format!("{{ scratch = {} }}", quote(name)),
        Binding::Threadgroup(bytes) => format!("{{ threadgroup = {} }}", expr(bytes)),
        Binding::Struct(fields) => {
            let fields: Vec<_> = fields.iter().map(|(ty, e)| format!("[{}, {}]", quote(ty), expr(e))).collect();
            format!("{{ struct = [{}] }}", fields.join(", "))
        }
    }
}

/// A plain integer stands bare; anything else is quoted.
fn expr(e: &Expr) -> String {
    if e.text().parse::<i64>().is_ok_and(|v| v.to_string() == e.text()) { e.text().to_owned() } else { quote(e.text()) }
}

fn key(name: &str) -> String {
    let bare = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
    if bare { name.to_owned() } else { quote(name) }
}

/// A TOML basic string that cannot end the comment it may stand in.
fn quote(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string().replace("*/", "*\\u002F")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::candidate::{Language, SourceFile};

    const FULL: &str = r#"
[tunables]
BLOCK = { values = [32, 16], default = 16 }

[defines]
T = { type = "q" }
N = "ceil_div(L, BLOCK)"
RAW = { text = "(1 << 3)" }

[scratch]
partial = "4 * B"

[[dispatch]]
kernel = "first"
grid = ["N", 2]
threadgroup = [32]
args = { n = "L", eps = 1e-5, q = { tensor = "u" }, tmp = { scratch = "partial" }, s = { threadgroup = 4096 }, p = { struct = [["uint", "L"], ["float", 0.5]] } }
constants = { CAUSAL = true }
when = "B > 1"

[[dispatch]]
kernel = "second"
grid = [1]
threadgroup = [32, 2, 1]
repeat = 3
cluster = [2]

[[require]]
expr = "L % BLOCK == 0"
why = "tiles */ are whole"
"#;

    fn candidate(text: &str) -> Candidate {
        let (recipe, tunables) = parse("r.toml", text, 1).unwrap();
        let files = vec![SourceFile { path: "k.metal".into(), text: String::new() }];
        Candidate { language: Language::Msl, files, recipe, tunables, values: BTreeMap::new() }
    }

    #[test]
    fn everything_is_read_and_written_back() {
        let c = candidate(FULL);
        assert_eq!(c.tunables[0].values, [16, 32]);
        assert_eq!(c.recipe.dispatches[0].args.len(), 6);
        assert_eq!(c.recipe.dispatches[0].args[0].binding, Binding::Scalar(Expr::parse("L").unwrap()));
        let written = c.recipe_toml();
        assert!(!written.contains("*/"));
        let again = candidate(&written);
        assert_eq!((again.recipe, again.tunables), (c.recipe, c.tunables));
        insta::assert_snapshot!(written);
    }

    #[test]
    fn chosen_values_become_defaults() {
        let mut c = candidate(FULL);
        c.values.insert("BLOCK".into(), 32);
        assert_eq!(candidate(&c.recipe_toml()).tunables[0].default, 32);
    }

    #[test]
    fn diagnostics() {
        let head = "[[dispatch]]\nkernel = \"k\"\ngrid = [1]\nthreadgroup = [32]\n";
        let cases = [
            String::new(),
            "[[dispatch]]\nkernel = \"k\"\ngrid = [1]\n".into(),
            "[[dispatch]]\nkernel = \"k\"\ngrid = []\nthreadgroup = [32]\n".into(),
            "[[dispatch]]\nkernel = \"k\"\ngrid = [1, 1, 1, 1]\nthreadgroup = [32]\n".into(),
            "[[dispatch]]\nkernel = \"k\"\ngrid = [\"L +\"]\nthreadgroup = [32]\n".into(),
            "[[dispatch]]\nkernel = \"k\"\nthreads = [1]\n".into(),
            format!("{head}args = {{ x = {{ tensr = \"q\" }} }}\n"),
            format!("{head}args = {{ x = {{ scratch = \"q\" }} }}\n"),
            format!("{head}args = {{ x = [1] }}\n"),
            format!("{head}[tunables]\nX = {{ values = [1, 2], default = 3 }}\n"),
            format!("{head}[tunables]\n\"a-b\" = {{ values = [1], default = 1 }}\n"),
            format!("{head}[defines]\nX = {{ typ = \"q\" }}\n"),
            "[[dispatch]\n".into(),
        ];
        let errors: Vec<_> = cases.iter().map(|c| parse("r.toml", c, 1).unwrap_err().to_string()).collect();
        insta::assert_snapshot!(errors.join("\n"));
    }
}
