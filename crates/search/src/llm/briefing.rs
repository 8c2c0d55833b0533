//! The briefing: what a model is told of the task and the target, in full, in every prompt. Held-out workloads are not
//! in it. Must not know the state of a run.

use ksearch_task::spec::{Kind, Role, Set};
use ksearch_task::{Language, Task, Value};
use serde::Serialize;

use crate::facts::ChipFacts;

/// Everything about task and target that prompts show.
#[derive(Clone, Debug, Serialize)]
pub struct Briefing {
    pub(super) task: TaskView,
    pub(super) target: String,
    pub(super) chip: Vec<String>,
    pub(super) context: Option<String>,
    #[serde(skip)]
    pub(super) language: Language,
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct TaskView {
    title: String,
    description: String,
    symbols: Vec<SymbolView>,
    derived: Vec<DerivedView>,
    constraints: Vec<ConstraintView>,
    tensors: Vec<TensorView>,
    tolerances: Vec<ToleranceView>,
    workloads: Vec<WorkloadView>,
}

#[derive(Clone, Debug, Serialize)]
struct SymbolView {
    name: String,
    range: String,
    doc: String,
    parameter: bool,
}

#[derive(Clone, Debug, Serialize)]
struct DerivedView {
    name: String,
    value: String,
}

#[derive(Clone, Debug, Serialize)]
struct ConstraintView {
    expr: String,
    why: String,
}

#[derive(Clone, Debug, Serialize)]
struct TensorView {
    name: String,
    role: &'static str,
    dtype: String,
    shape: String,
    when: Option<String>,
    doc: String,
}

#[derive(Clone, Debug, Serialize)]
struct ToleranceView {
    dtype: String,
    max: f64,
    rms: f64,
}

#[derive(Clone, Debug, Serialize)]
struct WorkloadView {
    label: String,
    kind: String,
    purpose: String,
    values: String,
    work: Option<String>,
}

impl Briefing {
    /// What there is to say about `task` on `target`; `context` is the context pack, where one is used.
    pub fn new(task: &Task, target: &str, chip: &ChipFacts, language: Language, context: Option<String>) -> Self {
        Self { task: view(task), target: target.to_owned(), chip: chip_lines(chip), context, language }
    }
}

fn view(task: &Task) -> TaskView {
    let text = |e: &ksearch_task::Expr| e.to_string();
    TaskView {
        title: task.title.clone(),
        description: task.description.trim().to_owned(),
        symbols: task
            .symbols
            .iter()
            .map(|s| SymbolView {
                name: s.name.clone(),
                range: range(&s.kind),
                doc: s.doc.clone(),
                parameter: s.parameter,
            })
            .collect(),
        derived: task.derived.iter().map(|(n, e)| DerivedView { name: n.clone(), value: text(e) }).collect(),
        constraints: task
            .constraints
            .iter()
            .map(|c| ConstraintView { expr: text(&c.expr), why: c.why.clone() })
            .collect(),
        tensors: task
            .tensors
            .iter()
            .map(|t| TensorView {
                name: t.name.clone(),
                role: match t.role {
                    Role::Input => "input",
                    Role::Output => "output, written in full",
                    Role::InOut => "read, then written in full",
                },
                dtype: text(&t.dtype),
                shape: t.shape.iter().map(text).collect::<Vec<_>>().join(", "),
                when: t.when.as_ref().map(text),
                doc: t.doc.clone(),
            })
            .collect(),
        tolerances: task
            .tolerances
            .iter()
            .map(|(d, t)| ToleranceView { dtype: d.to_string(), max: t.max, rms: t.rms })
            .collect(),
        workloads: task.workloads_of(Set::Search).map(|w| workload(task, w)).collect(),
    }
}

fn workload(task: &Task, workload: &ksearch_task::Workload) -> WorkloadView {
    let given = task.symbols.iter().filter_map(|s| Some((&s.name, workload.env.get(&s.name)?)));
    let values = given.map(|(name, value)| format!("{name} = {}", number(*value))).collect::<Vec<_>>().join(", ");
    let work = task
        .work(&workload.env)
        .ok()
        .map(|w| format!("{} of arithmetic, {} to move", magnitude(w.flops, "FLOP"), magnitude(w.bytes, "B")));
    WorkloadView {
        label: workload.label.clone(),
        kind: workload.kind.clone(),
        purpose: match (workload.purpose.times(), workload.purpose.checks()) {
            (true, true) => format!("timed with weight {} and checked", workload.weight),
            (true, false) => format!("timed with weight {}", workload.weight),
            _ => "checked".to_owned(),
        },
        values,
        work,
    }
}

fn number(value: Value) -> String {
    match value {
        Value::Int(i) => i.to_string(),
        Value::Real(r) => format!("{r:.6}"),
        Value::Type(d) => d.to_string(),
    }
}

fn range(kind: &Kind) -> String {
    match kind {
        Kind::Int { values, .. } if !values.is_empty() => {
            format!("one of {}", values.iter().map(i64::to_string).collect::<Vec<_>>().join(", "))
        }
        Kind::Int { min, max, .. } if *max >= 1 << 31 => format!("an integer from {min}"),
        Kind::Int { min, max, .. } => format!("an integer from {min} to {max}"),
        Kind::DType(dtypes) => {
            format!("a dtype: {}", dtypes.iter().map(|d| d.name()).collect::<Vec<_>>().join(" or "))
        }
        Kind::Real => "a real number (f32)".to_owned(),
        Kind::Flag => "0 or 1".to_owned(),
    }
}

/// `1.5 MFLOP`.
pub(super) fn magnitude(value: f64, unit: &str) -> String {
    let (scaled, prefix) = match value {
        v if v >= 1e9 => (v / 1e9, "G"),
        v if v >= 1e6 => (v / 1e6, "M"),
        v if v >= 1e3 => (v / 1e3, "k"),
        v => (v, ""),
    };
    format!("{} {prefix}{unit}", significant(scaled))
}

/// Three significant digits.
pub(super) fn significant(value: f64) -> String {
    if !value.is_finite() || value == 0.0 {
        return format!("{value}");
    }
    let digits = (2 - value.abs().log10().floor() as i32).clamp(0, 6);
    format!("{value:.*}", digits as usize)
}

fn chip_lines(chip: &ChipFacts) -> Vec<String> {
    let yes = |b: bool| if b { "yes" } else { "no" };
    vec![
        format!("{}: {} cores, {} lanes per simdgroup", chip.name, chip.cores, chip.simd_width),
        format!(
            "{} GB/s of main memory; {} GFLOP/s in f32, {} GFLOP/s in f16",
            significant(chip.dram_gbps),
            significant(chip.f32_gflops),
            significant(chip.f16_gflops)
        ),
        format!(
            "at most {} threads and {} B of threadgroup memory per threadgroup",
            chip.max_threads, chip.threadgroup_memory
        ),
        format!("{} 32-bit registers per thread at full occupancy; more lower it", chip.registers_at_full_occupancy),
        format!("8x8 simdgroup matrices: {}; bfloat: {}", yes(chip.simdgroup_matrix), yes(chip.bfloat)),
    ]
}
