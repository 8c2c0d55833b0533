//! A declaration as a task file, a recipe for the original and a recipe for the draft. Knows the three formats.

use std::collections::BTreeMap;
use std::fmt::Write;

use toml::{Table, Value};

use super::{DRAFT, Declaration, ORIGINAL};
use crate::cuda::unit::{Function, Unit};
use crate::draft::{Draft, ParamKind};

/// The three texts.
pub struct Rendered {
    /// The task file.
    pub task: String,
    /// The original's recipe.
    pub original_recipe: String,
    /// The draft with its recipe.
    pub metal: String,
}

/// Values for edge shapes: small primes, so that no tile divides them.
const RAGGED: [i64; 5] = [37, 67, 13, 101, 5];

impl Rendered {
    /// Renders everything.
    pub fn new(
        d: &Declaration,
        k: &Function<'_>,
        full: &str,
        name: &str,
        draft: &Draft,
        tunables: &BTreeMap<String, i64>,
        unit: &Unit<'_>,
    ) -> Self {
        Self {
            task: task(d, k, name),
            original_recipe: original_recipe(d, k, full, tunables, unit),
            metal: metal(d, draft, tunables),
        }
    }
}

fn string(text: impl Into<String>) -> Value {
    Value::String(text.into())
}

fn tables<'a>(list: impl IntoIterator<Item = (&'a String, Table)>) -> Value {
    Value::Table(list.into_iter().map(|(n, t)| (n.clone(), Value::Table(t))).collect())
}

fn task(d: &Declaration, k: &Function<'_>, name: &str) -> String {
    let mut out = Table::new();
    out.insert("name".into(), string(name));
    out.insert("title".into(), string(d.title.clone().unwrap_or_else(|| format!("Port of {}", k.name))));
    let about = if d.description.is_empty() {
        format!("Whatever the CUDA kernel {} computes: it runs on the simulator and is the reference.", k.name)
    } else {
        d.description.clone()
    };
    out.insert("description".into(), string(about));
    out.insert("naive".into(), string(DRAFT));
    out.insert("symbols".into(), tables(d.symbols.iter().map(|(n, t)| (n, t.clone()))));
    if !d.params.is_empty() {
        out.insert("params".into(), tables(d.params.iter().map(|(n, t)| (n, t.clone()))));
    }
    if !d.derived.is_empty() {
        out.insert("derived".into(), Value::Table(d.derived.clone()));
    }
    if !d.constraint.is_empty() {
        out.insert("constraint".into(), Value::Array(d.constraint.iter().cloned().map(Value::Table).collect()));
    }
    out.insert("tensors".into(), tables(d.tensors.iter().map(|(n, t)| (n, tensor(t, n, k)))));
    let mut tolerance = d.tolerance.clone();
    for (dtype, max, rms, row) in [("f32", 2e-4, 2e-5, 5e-5), ("f16", 1e-2, 2e-3, 4e-3), ("bf16", 5e-2, 1e-2, 2e-2)] {
        tolerance.entry(dtype).or_insert_with(|| {
            let mut t = Table::new();
            t.insert("max".into(), Value::Float(max));
            t.insert("rms".into(), Value::Float(rms));
            t.insert("row".into(), Value::Float(row));
            Value::Table(t)
        });
    }
    out.insert("tolerance".into(), Value::Table(tolerance));
    let mut floor = d.floor.clone().unwrap_or_default();
    floor.entry("flops").or_insert_with(|| Value::Integer(1));
    out.insert("floor".into(), Value::Table(floor));
    let mut reference = Table::new();
    reference.insert("source".into(), string(ORIGINAL));
    out.insert("reference".into(), Value::Table(reference));
    if !d.metamorphic.is_empty() {
        out.insert("metamorphic".into(), Value::Array(d.metamorphic.iter().cloned().map(Value::Table).collect()));
    }
    if !d.defaults.is_empty() {
        out.insert("defaults".into(), Value::Table(d.defaults.clone()));
    }
    out.insert("workload".into(), Value::Array(workloads(d).into_iter().map(Value::Table).collect()));
    // A table always prints.
    toml::to_string(&out).unwrap_or_default()
}

/// A tensor with what the kernel's signature says about it.
fn tensor(given: &Table, name: &str, k: &Function<'_>) -> Table {
    let mut t = given.clone();
    let constant = k.params.iter().find(|p| p.name == name).is_some_and(|p| p.is_const);
    let role = t.entry("role").or_insert_with(|| string(if constant { "input" } else { "output" }));
    let read = role.as_str().is_some_and(|r| r != "output");
    if read && !t.contains_key("generate") {
        let dtype = t.get("dtype").and_then(Value::as_str).unwrap_or("");
        let mut list = Vec::new();
        for kind in if matches!(dtype, "i32" | "u32" | "u8") {
            &["integers"][..]
        } else {
            &["normal", "uniform", "heavy-tailed"][..]
        } {
            let mut g = Table::new();
            g.insert("kind".into(), string(*kind));
            list.push(Value::Table(g));
        }
        t.insert("generate".into(), Value::Array(list));
    }
    t
}

fn workloads(d: &Declaration) -> Vec<Table> {
    let mut out = Vec::new();
    for (n, w) in d.workload.iter().enumerate() {
        let mut t = Table::new();
        let label = w.label.clone().unwrap_or_else(|| label(&w.values, n));
        t.insert("label".into(), string(label));
        t.insert("set".into(), string(if w.heldout { "heldout" } else { "search" }));
        let kind = if w.heldout { "held out" } else { "declared" };
        t.insert("kind".into(), string(w.kind.clone().unwrap_or_else(|| kind.to_owned())));
        if let Some(purpose) = &w.purpose {
            t.insert("purpose".into(), string(purpose.clone()));
        }
        if let Some(weight) = w.weight {
            t.insert("weight".into(), Value::Float(weight));
        }
        t.insert("values".into(), Value::Table(w.values.clone()));
        out.push(t);
    }
    out.extend(edges(d));
    out
}

fn label(values: &Table, n: usize) -> String {
    let parts: Vec<String> = values.iter().map(|(k, v)| format!("{k}{}", v.to_string().trim_matches('"'))).collect();
    if parts.is_empty() { format!("workload-{n}") } else { parts.join("-") }
}

/// Edge shapes: every size at its least, one after the other and all together, and all of them ragged.
fn edges(d: &Declaration) -> Vec<Table> {
    let Some(first) = d.workload.first() else { return Vec::new() };
    let sizes: Vec<(&String, i64)> = d
        .symbols
        .iter()
        .filter(|(name, t)| {
            let free = t.get("kind").is_none() && t.get("values").is_none();
            d.edges.as_ref().map_or(free, |list| list.contains(name))
        })
        .map(|(name, t)| (name, t.get("min").and_then(Value::as_integer).unwrap_or(1)))
        .collect();
    let most = |name: &str| {
        let symbol = d.symbols.get(name).and_then(|t| t.get("max"));
        symbol.and_then(Value::as_integer).unwrap_or(i64::MAX)
    };
    let mut out = Vec::new();
    let mut add = |label: String, set: &str, values: Table| {
        let mut t = Table::new();
        t.insert("label".into(), string(label));
        t.insert("set".into(), string(set));
        t.insert("kind".into(), string("edge"));
        t.insert("purpose".into(), string("check"));
        t.insert("values".into(), Value::Table(values));
        out.push(t);
    };
    let with = |changes: &[(&String, i64)]| {
        let mut values = first.values.clone();
        for (name, value) in changes {
            values.insert((*name).clone(), Value::Integer(*value));
        }
        values
    };
    if sizes.is_empty() {
        return out;
    }
    // Before the search: what is only right for whole tiles is out at once. The rest is held out.
    let ragged: Vec<_> =
        sizes.iter().zip(RAGGED.iter().cycle()).map(|((n, least), p)| (*n, (*p).max(*least).min(most(n)))).collect();
    add("edge-ragged".into(), "search", with(&ragged));
    for (name, least) in &sizes {
        add(format!("edge-{name}{least}"), "heldout", with(&[(name, *least)]));
    }
    if sizes.len() > 1 {
        add("edge-least".into(), "heldout", with(&sizes));
    }
    let mut kinds = out;
    for t in kinds.iter_mut().filter(|t| t.get("set").and_then(Value::as_str) == Some("heldout")) {
        t.insert("kind".into(), string("least size"));
    }
    kinds
}

/// Is there a block of shared memory that the launch sizes?
fn takes_dynamic(unit: &Unit<'_>) -> bool {
    let tokens = &unit.source.tokens;
    let text = &unit.source.text;
    tokens.windows(2).any(|w| w[0].text(text) == "extern" && w[1].text(text) == "__shared__")
}

fn original_recipe(
    d: &Declaration,
    k: &Function<'_>,
    full: &str,
    tunables: &BTreeMap<String, i64>,
    unit: &Unit<'_>,
) -> String {
    let _ = k;
    let own = |v: &Value| substitute(v, tunables);
    let mut out = Table::new();
    if !d.scratch.is_empty() {
        let scratch = d.scratch.iter().map(|(n, s)| (n.clone(), own(&s.bytes))).collect();
        out.insert("scratch".into(), Value::Table(scratch));
    }
    let mut args = d.launch.args.clone();
    if takes_dynamic(unit) {
        let mut t = Table::new();
        let bytes = d.launch.shared.as_ref().map_or(Value::Integer(0), own);
        t.insert("threadgroup".into(), bytes);
        args.insert("dynamic_shared".into(), Value::Table(t));
    }
    out.insert(
        "dispatch".into(),
        Value::Array(vec![Value::Table(dispatch(
            full,
            d.launch.grid.iter().map(own).collect(),
            d.launch.block.iter().map(own).collect(),
            args,
        ))]),
    );
    toml::to_string(&out).unwrap_or_default()
}

fn dispatch(kernel: &str, grid: Vec<Value>, threads: Vec<Value>, args: Table) -> Table {
    let mut t = Table::new();
    t.insert("kernel".into(), string(kernel));
    t.insert("grid".into(), Value::Array(grid));
    t.insert("threadgroup".into(), Value::Array(threads));
    if !args.is_empty() {
        t.insert("args".into(), Value::Table(args));
    }
    t
}

/// An expression with the file's own values in place of the tunables.
fn substitute(value: &Value, tunables: &BTreeMap<String, i64>) -> Value {
    let Some(text) = value.as_str() else { return value.clone() };
    let own = |piece: &str| tunables.get(piece).map_or_else(|| piece.to_owned(), i64::to_string);
    string(crate::draft::pieces(text).into_iter().map(own).collect::<String>())
}

/// Threads that clear a buffer, per threadgroup.
const CLEARING: i64 = 256;

fn metal(d: &Declaration, draft: &Draft, tunables: &BTreeMap<String, i64>) -> String {
    let mut recipe = Table::new();
    let mut all = Table::new();
    let mut tunable = |name: &str, values: &[i64], default: i64| {
        let mut t = Table::new();
        t.insert("values".into(), Value::Array(values.iter().map(|v| Value::Integer(*v)).collect()));
        t.insert("default".into(), Value::Integer(default));
        all.insert(name.to_owned(), Value::Table(t));
    };
    for (name, values) in &d.tunables {
        tunable(name, values, tunables.get(name).copied().unwrap_or_default());
    }
    if draft.math {
        tunable("FAST_MATH", &[0, 1], 0);
    }
    if draft.edges {
        tunable("EXACT_EDGES", &[0, 1], 1);
    }
    if !all.is_empty() {
        recipe.insert("tunables".into(), Value::Table(all));
    }
    if !draft.defines.is_empty() {
        let mut defines = Table::new();
        for (name, text) in &draft.defines {
            let mut t = Table::new();
            t.insert("text".into(), string(crate::draft::type_text(text)));
            defines.insert(name.clone(), Value::Table(t));
        }
        recipe.insert("defines".into(), Value::Table(defines));
    }
    if !d.scratch.is_empty() {
        let scratch = d.scratch.iter().map(|(n, s)| (n.clone(), s.bytes.clone())).collect();
        recipe.insert("scratch".into(), Value::Table(scratch));
    }
    let mut dispatches = Vec::new();
    let mut clears = false;
    for (name, s) in d.scratch.iter().filter(|(_, s)| s.zero) {
        clears = true;
        let bytes = s.bytes.as_str().map_or_else(|| s.bytes.to_string(), str::to_owned);
        let words = format!("ceil_div({bytes}, 4)");
        let mut args = Table::new();
        let mut target = Table::new();
        target.insert("scratch".into(), string(name.clone()));
        args.insert("words".into(), Value::Table(target));
        args.insert("count".into(), string(words.clone()));
        let grid = vec![string(format!("ceil_div({words}, {CLEARING})"))];
        dispatches.push(Value::Table(dispatch("clear_words", grid, vec![Value::Integer(CLEARING)], args)));
    }
    let mut args = d.launch.args.clone();
    for p in draft.params.iter().filter(|p| p.kind == ParamKind::Threadgroup) {
        let mut t = Table::new();
        t.insert("threadgroup".into(), d.launch.shared.clone().unwrap_or(Value::Integer(0)));
        args.insert(p.name.clone(), Value::Table(t));
    }
    dispatches.push(Value::Table(dispatch(&draft.kernel, d.launch.grid.clone(), d.launch.block.clone(), args)));
    recipe.insert("dispatch".into(), Value::Array(dispatches));
    let mut out = String::from("/* ksearch\n");
    out.push_str(&toml::to_string(&recipe).unwrap_or_default());
    out.push_str("*/\n");
    for note in &draft.notes {
        // Writing to a String cannot fail.
        let _ = writeln!(out, "// TODO(port) {}: {}", note.pos, note.text);
    }
    out.push_str(&draft.source);
    if clears {
        out.push_str(
            "\n// What cudaMemset did before the launch.\nkernel void clear_words(device uint* words [[buffer(0)]], constant \
             uint& count [[buffer(1)]], uint i [[thread_position_in_grid]])\n{\n    if (i < count) words[i] = 0;\n}\n",
        );
    }
    out
}
