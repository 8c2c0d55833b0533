//! What is known about bringing CUDA to Apple GPUs, as data: concepts, patterns, MLX specifics. Entries are files in
//! `knowledge/`; a user's folder adds to them and replaces by id. Must not know any particular kernel.

mod demo;
mod load;

pub use demo::{Demo, DemoBuffer, Fill, Gain, Program, Step};

use std::path::Path;

use indexmap::IndexMap;
use ksearch_apple::Chip;
use ksearch_task::{Bottleneck, FileError};
use serde::{Deserialize, Serialize};

use crate::analysis::{ChipSide, KernelClass};

/// What an entry is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A CUDA construct and what stands for it on Apple GPUs.
    Concept,
    /// A way of writing kernels that suits Apple GPUs.
    Pattern,
    /// A rule of MLX's interface for custom kernels.
    Mlx,
}

/// Group of concepts, for reading order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Topic {
    /// Grids, blocks, streams.
    Launch,
    /// Memory spaces and accesses.
    Memory,
    /// Barriers and fences.
    Synchronization,
    /// What lanes do together.
    Warp,
    /// Atomics.
    Atomics,
    /// Matrix instructions.
    Matrix,
    /// Number types.
    Types,
    /// Functions of numbers.
    Math,
    /// Templates, lambdas, recursion and the like.
    Language,
    /// Libraries.
    Library,
}

/// How well a CUDA construct carries over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Support {
    /// One construct for one.
    Direct,
    /// Written with a few others, same meaning.
    Emulated,
    /// The kernel (or its launch) has to be laid out anew.
    Restructure,
    /// No equivalent.
    None,
}

impl Support {
    /// Name as written in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Emulated => "emulated",
            Self::Restructure => "restructure",
            Self::None => "none",
        }
    }
}

/// Words in CUDA text that show that a concept is used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Detect {
    /// Identifiers; `*` at the end stands for any ending, `::` at the end for a namespace, `.` at the start for a
    /// member.
    pub names: Vec<String>,
    /// Instructions in inline PTX, by prefix.
    pub ptx: Vec<String>,
    /// Included files, by prefix.
    pub headers: Vec<String>,
}

impl Detect {
    /// Nothing to look for.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty() && self.ptx.is_empty() && self.headers.is_empty()
    }
}

/// Chips an entry holds for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct ChipSet(Vec<String>);

impl ChipSet {
    /// A list of `all`, chip names (`m1-max`), families (`apple7`) and family ranges (`apple8+`).
    pub fn parse(words: Vec<String>) -> Result<Self, String> {
        if words.is_empty() {
            return Err("lists no chip; write [\"all\"]".into());
        }
        for w in &words {
            let family = w.strip_prefix("apple").map(|n| n.trim_end_matches(['+', '-']));
            if family.is_some_and(|n| n.parse::<u32>().is_err()) {
                return Err(format!("`{w}` is not a family; write apple7, apple8+ or apple8-"));
            }
        }
        Ok(Self(words))
    }

    /// Does it hold for `chip`?
    pub fn holds(&self, chip: &Chip) -> bool {
        let family = chip.family.to_lowercase();
        let number: Option<u32> = family.strip_prefix("apple").and_then(|n| n.parse().ok());
        self.0.iter().any(|w| {
            let bound = |suffix: char| w.strip_prefix("apple")?.strip_suffix(suffix)?.parse::<u32>().ok();
            w == "all"
                || *w == chip.name
                || *w == family
                || bound('+').zip(number).is_some_and(|(from, n)| n >= from)
                || bound('-').zip(number).is_some_and(|(to, n)| n <= to)
        })
    }

    /// As written.
    pub fn words(&self) -> &[String] {
        &self.0
    }
}

/// One thing that is known.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Stable identifier in kebab case.
    pub id: String,
    /// What it is about.
    pub kind: Kind,
    /// Group, for concepts.
    pub topic: Topic,
    /// A few words.
    pub title: String,
    /// The CUDA side (concepts) or the situation in which it applies (patterns, MLX), one or two sentences or code.
    pub cuda: String,
    /// What to write in Metal; empty where there is nothing.
    pub metal: String,
    /// What to write with MLX, where that differs.
    pub mlx: String,
    /// How well it carries over.
    pub support: Support,
    /// Hard limits, one sentence each.
    pub limits: Vec<String>,
    /// The usual way round, or why it helps.
    pub how: String,
    /// Properties that a port must keep, one sentence each.
    pub preserve: Vec<String>,
    /// Chips it holds for.
    pub chips: ChipSet,
    /// Where it is from.
    pub sources: Vec<String>,
    /// How uses are recognised.
    pub detect: Detect,
    /// Kernel classes it matters for; empty for all.
    pub classes: Vec<KernelClass>,
    /// Bottlenecks it works against; empty for none in particular.
    pub bottlenecks: Vec<Bottleneck>,
    /// Strategies of the search that put it to use.
    pub strategies: Vec<String>,
    /// A small program that shows it.
    pub demo: Option<Demo>,
    /// Why there is none, where nothing can be run.
    pub no_demo: String,
    /// Where the entry stands: file and line.
    pub place: (String, usize),
}

/// All that is known.
#[derive(Clone, Debug, Default)]
pub struct Knowledge {
    entries: IndexMap<String, Entry>,
    sources: IndexMap<String, ChipSide>,
}

impl Knowledge {
    /// What ships with the program.
    pub fn embedded() -> Result<Self, FileError> {
        load::embedded()
    }

    /// What ships with the program, and every `*.toml` file under `dir` on top of it.
    pub fn with_folder(dir: &Path) -> Result<Self, FileError> {
        let mut knowledge = Self::embedded()?;
        load::folder(&mut knowledge, dir)?;
        Ok(knowledge)
    }

    /// All entries: those that ship in file order, then those of the user's folder.
    pub fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.entries.values()
    }

    /// Entries of one kind.
    pub fn of(&self, kind: Kind) -> impl Iterator<Item = &Entry> {
        self.iter().filter(move |e| e.kind == kind)
    }

    /// The entry with this id.
    pub fn get(&self, id: &str) -> Option<&Entry> {
        self.entries.get(id)
    }

    /// Chips that CUDA kernels are written for, by name.
    pub fn source_chips(&self) -> &IndexMap<String, ChipSide> {
        &self.sources
    }

    fn insert(&mut self, entry: Entry) {
        self.entries.insert(entry.id.clone(), entry);
    }
}
