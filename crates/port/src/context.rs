//! The context pack: what both roles are told about bringing kernels of one family to one chip, most relevant first,
//! within a budget of tokens. A document that a person can read. Must not know any particular kernel.

use std::fmt::Write;

use ksearch_apple::Chip;
use ksearch_task::Task;

use crate::analysis::KernelClass;
use crate::knowledge::{Entry, Kind, Knowledge, Topic};

/// Tokens of a pack unless the user says otherwise: a few per cent of a model's window.
pub const BUDGET: usize = 6000;

/// A token is about four characters of English or code; counted so, the budget errs on the safe side of most tokenisers.
const CHARACTERS_PER_TOKEN: usize = 4;

/// A pack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pack {
    /// Markdown.
    pub text: String,
    /// Estimate of its tokens.
    pub tokens: usize,
    /// Entries that it holds, in order.
    pub entries: Vec<String>,
    /// Entries that would have been next.
    pub left_out: Vec<String>,
}

/// The family of a shipped task, where its name tells.
pub fn class_of(task: &str) -> Option<KernelClass> {
    Some(match task {
        "attention" | "softmax" => KernelClass::AttentionSoftmax,
        "selective_scan" | "scan_step" | "ssd" => KernelClass::Scan,
        "gated_rms_norm" => KernelClass::Reduction,
        "conv1d_silu" => KernelClass::Stencil,
        _ => return None,
    })
}

/// The pack for a task on a chip. `strategies` are those that the search can put to use, `class` is the family.
pub fn pack(
    knowledge: &Knowledge,
    task: &Task,
    chip: &Chip,
    class: Option<KernelClass>,
    strategies: &[String],
    budget: usize,
) -> Pack {
    let mut ranked: Vec<(i32, usize, &Entry)> = knowledge
        .iter()
        .enumerate()
        .filter(|(_, e)| e.chips.holds(chip))
        .map(|(n, e)| (-relevance(e, class, strategies), n, e))
        .collect();
    ranked.sort_by_key(|(score, n, _)| (*score, *n));
    let mut text = head(task, chip, class);
    let mut pack = Pack { text: String::new(), tokens: 0, entries: Vec::new(), left_out: Vec::new() };
    let mut section = None;
    for (_, _, e) in ranked {
        let title = match e.kind {
            Kind::Pattern => "Patterns that suit this chip",
            Kind::Concept => "From CUDA to Metal",
            Kind::Mlx => "Writing it for MLX",
        };
        let mut piece = String::new();
        if section != Some(title) {
            // Writing to a String cannot fail.
            let _ = writeln!(piece, "\n## {title}\n");
        }
        entry(&mut piece, e);
        if text.len() + piece.len() > budget * CHARACTERS_PER_TOKEN {
            pack.left_out.push(e.id.clone());
            continue;
        }
        section = Some(title);
        text.push_str(&piece);
        pack.entries.push(e.id.clone());
    }
    pack.tokens = text.len().div_ceil(CHARACTERS_PER_TOKEN);
    pack.text = text;
    pack
}

/// How much an entry matters: patterns that the search can use for this family first, then concepts of the family, then
/// what holds for every kernel.
fn relevance(e: &Entry, class: Option<KernelClass>, strategies: &[String]) -> i32 {
    let family = class.is_some_and(|c| e.classes.contains(&c));
    let other_family = !e.classes.is_empty() && !family;
    let used = e.strategies.iter().any(|s| strategies.contains(s));
    let kind = match e.kind {
        Kind::Pattern => 30,
        Kind::Concept => 10,
        Kind::Mlx => 5,
    };
    // Every kernel meets these; libraries and launches are the host's business.
    let topic = match e.topic {
        Topic::Memory | Topic::Synchronization | Topic::Warp if e.kind == Kind::Concept => 5,
        Topic::Matrix if e.kind == Kind::Concept && class == Some(KernelClass::AttentionSoftmax) => 5,
        Topic::Library | Topic::Launch | Topic::Language if e.kind == Kind::Concept => -5,
        _ => 0,
    };
    kind + topic + if family { 20 } else { 0 } + if used { 10 } else { 0 } - if other_family { 25 } else { 0 }
}

fn head(task: &Task, chip: &Chip, class: Option<KernelClass>) -> String {
    let mut out = String::new();
    let mut line = |text: String| {
        let _ = writeln!(out, "{text}");
    };
    line(format!("# Context: {} on {}\n", task.name, chip.name));
    if let Some(class) = class {
        line(format!("Family: {}.", class.title()));
    }
    line(format!("What is computed, by its definition: {}\n", task.title));
    line("## Limits of this chip\n".into());
    line(format!("- {} threads per threadgroup at most, 32 lanes per simdgroup", chip.max_threads));
    line(format!("- {} bytes of threadgroup memory per threadgroup", chip.max_threadgroup_bytes));
    line(format!("- {} cores, family {}", chip.cores, chip.family));
    line("- no double; no forward progress between threadgroups; no grid-wide barrier".into());
    line("\n## Properties that every version must keep\n".into());
    line("- the same answer on every shape, ragged ones and batches included, not only on those that are timed".into());
    line("- sums in float whatever the element type is".into());
    line("- every element of every output written, nothing outside written or read".into());
    line("- a barrier that all threads of the threadgroup reach, or none".into());
    out
}

fn entry(out: &mut String, e: &Entry) {
    let mut line = |text: String| {
        let _ = writeln!(out, "{text}");
    };
    line(format!("### {}\n", e.title));
    if !e.cuda.is_empty() {
        line(format!("{}: {}", if e.kind == Kind::Concept { "CUDA" } else { "When" }, e.cuda));
    }
    if !e.metal.is_empty() {
        line(format!("Metal: {}", e.metal));
    }
    if !e.how.is_empty() {
        line(e.how.clone());
    }
    for l in &e.limits {
        line(format!("- limit: {l}"));
    }
    for p in &e.preserve {
        line(format!("- keep: {p}"));
    }
    if !e.strategies.is_empty() {
        line(format!("- strategies: {}", e.strategies.join(", ")));
    }
    line(String::new());
}
