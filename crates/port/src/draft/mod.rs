//! A mechanical draft: the Metal form of a CUDA kernel by rule. What a rule does not cover is refused with its place,
//! never guessed. Knows both languages' surface; must not know whether the draft is right, which only running tells.

mod body;
mod edits;
mod items;
mod kernel;
pub mod spaces;
mod words;

use std::collections::BTreeSet;

use ksearch_msl::SourcePos;
use serde::Serialize;

use crate::cuda::unit::{Function, Unit};
use body::Wants;
use spaces::{Memory, Spaces};

/// A remark with its place in the CUDA file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Note {
    /// Where.
    pub pos: SourcePos,
    /// What, one sentence.
    pub text: String,
}

/// What a parameter of the drafted kernel is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ParamKind {
    /// A buffer.
    Buffer,
    /// One value.
    Scalar,
    /// Threadgroup memory that the launch sizes.
    Threadgroup,
}

/// A parameter of the drafted kernel that the recipe binds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Param {
    /// Name.
    pub name: String,
    /// Kind.
    pub kind: ParamKind,
}

/// A drafted kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Draft {
    /// Name of the kernel.
    pub kernel: String,
    /// MSL, without a recipe.
    pub source: String,
    /// Parameters in order.
    pub params: Vec<Param>,
    /// Macros that the recipe defines: template arguments of the instance.
    pub defines: Vec<(String, String)>,
    /// Does the draft have a choice between fast and precise mathematics (macro `FAST_MATH`)?
    pub math: bool,
    /// Does it have a choice between CUDA's and Metal's edges of shuffles (macro `EXACT_EDGES`)?
    pub edges: bool,
    /// What a person should look at.
    pub notes: Vec<Note>,
}

/// Why there is no draft: everything that no rule covers.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the kernel cannot be drafted by rule: {}", .0.first().map_or("", |n| n.text.as_str()))]
pub struct Refused(pub Vec<Note>);

/// Drafts kernel `k` of `unit` with these template arguments; names in `tunables` are left to the recipe's macros.
pub fn draft(
    unit: &Unit<'_>,
    k: &Function<'_>,
    instance: &[(String, String)],
    tunables: &[String],
) -> Result<Draft, Refused> {
    let reachable = unit.reachable(k);
    let spaces = Spaces::of(unit, &reachable);
    let mut context = Context {
        unit,
        kernel: k,
        reachable: &reachable,
        spaces: &spaces,
        macros: instance.iter().map(|(n, _)| n.clone()).chain(tunables.iter().cloned()).collect(),
        has_half: unit.includes.iter().any(|(name, _)| name.contains("cuda_fp16") || name.contains("cuda_bf16")),
        refused: Vec::new(),
        notes: Vec::new(),
        helpers: BTreeSet::new(),
        math: false,
    };
    let wants = Wants::of(&context);
    let functions: Vec<(usize, String)> =
        reachable.iter().skip(1).map(|f| (f.node.start_byte(), body::function(&mut context, f, &wants))).collect();
    let (kernel_text, params) = kernel::kernel(&mut context, &wants);
    let names: String = functions.iter().map(|(_, t)| t.as_str()).chain([kernel_text.as_str()]).collect();
    let items = items::used(&mut context, &names);
    if !context.refused.is_empty() {
        let mut refused = context.refused;
        refused.sort_by_key(|n| (n.pos.line, n.pos.column));
        refused.dedup();
        return Err(Refused(refused));
    }
    let edges = context.helpers.contains("cuda_shfl_up") || context.helpers.contains("cuda_shfl_down");
    let helpers: Vec<&str> =
        words::HELPERS.iter().filter(|h| context.helpers.contains(h.name)).map(|h| h.text).collect();
    let math = context.math || helpers.iter().any(|t| t.contains("CUDA_MATH"));
    let mut source = String::from("#include <metal_stdlib>\nusing namespace metal;\n\n");
    if math {
        source.push_str("// CUDA's default functions are accurate to a unit or two in the last place.\n");
        source.push_str("#if FAST_MATH\n#define CUDA_MATH fast\n#else\n#define CUDA_MATH precise\n#endif\n\n");
    }
    if edges {
        source.push_str("// Metal's own shuffles where no lane uses what lies past the edge.\n");
        source.push_str("#ifndef EXACT_EDGES\n#define EXACT_EDGES 1\n#endif\n\n");
    }
    for helper in &helpers {
        source.push_str(helper);
        source.push('\n');
    }
    let mut pieces: Vec<(usize, String)> = items.into_iter().chain(functions).collect();
    pieces.sort_by_key(|(at, _)| *at);
    for (_, text) in &pieces {
        source.push_str(text.trim_end());
        source.push_str("\n\n");
    }
    source.push_str(kernel_text.trim_end());
    source.push('\n');
    Ok(Draft {
        kernel: k.name.clone(),
        source,
        params,
        defines: instance.iter().filter(|(n, _)| !tunables.contains(n)).cloned().collect(),
        math,
        edges,
        notes: context.notes,
    })
}

/// A template argument as Metal writes it.
pub fn type_text(text: &str) -> String {
    body::type_name(text)
}

pub use body::pieces;

/// What all parts of a draft share.
struct Context<'c, 't> {
    unit: &'c Unit<'t>,
    kernel: &'c Function<'t>,
    reachable: &'c [&'c Function<'t>],
    spaces: &'c Spaces,
    /// Names that macros stand for: no template parameter may have them.
    macros: Vec<String>,
    has_half: bool,
    refused: Vec<Note>,
    notes: Vec<Note>,
    helpers: BTreeSet<&'static str>,
    math: bool,
}

impl Context<'_, '_> {
    fn refuse(&mut self, at: usize, text: impl Into<String>) {
        self.refused.push(Note { pos: self.unit.source.pos(at), text: text.into() });
    }

    fn note(&mut self, at: usize, text: impl Into<String>) {
        self.notes.push(Note { pos: self.unit.source.pos(at), text: text.into() });
    }

    /// Space of a pointer variable, or a refusal.
    fn space(&mut self, function: &str, variable: &str, at: usize) -> Memory {
        if let Some(space) = self.spaces.get(function, variable) {
            return space;
        }
        let what = match self.spaces.functions.get(function).and_then(|f| f.get(variable)) {
            Some(_) => "points to different memory spaces at different calls or assignments",
            None => "points to memory that the text does not tell",
        };
        self.refuse(at, format!("`{variable}` of `{function}` {what}; Metal needs one space for each pointer"));
        Memory::Device
    }
}

#[cfg(test)]
mod tests;
