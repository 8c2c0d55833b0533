//! The proof of a port: what was tried, what came of it, and what was not proven. Data and its Markdown; runs nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::PathBuf;

use ksearch_judge::{Stage, Status, Verdict};
use ksearch_port::Port;
use ksearch_port::draft::Note;
use ksearch_task::{Figure, Task};
use serde::Serialize;

use super::open::OpenSearch;
use crate::context::show_figure;

/// The original on one workload.
#[derive(Clone, Debug, Serialize)]
pub struct OriginalRun {
    /// Workload.
    pub workload: String,
    /// What the sanitizers found.
    pub faults: Vec<String>,
}

/// A setting of the tunables.
#[derive(Clone, Debug, Serialize)]
pub struct Setting {
    /// Values.
    pub values: BTreeMap<String, i64>,
    /// Time on the cheapest workload.
    pub screen: Option<Figure>,
    /// Outcome there.
    pub status: Status,
    /// Outcome in full, where it was judged so.
    pub full: Option<Status>,
}

/// One judgement of the winner.
#[derive(Clone, Debug, Serialize)]
pub struct Trial {
    /// `confirm` or `held_out`.
    pub stage: &'static str,
    /// Seed of the inputs.
    pub seed: u64,
    /// Workloads with their values, outcomes and errors.
    pub workloads: Vec<Tried>,
    /// The verdict.
    pub verdict: Verdict,
}

/// A workload as tried.
#[derive(Clone, Debug, Serialize)]
pub struct Tried {
    /// Label.
    pub label: String,
    /// Values.
    pub values: BTreeMap<String, String>,
    /// Outcome.
    pub status: Status,
    /// Largest error over the allowed one.
    pub error: Option<f64>,
    /// Time.
    pub time: Option<Figure>,
}

impl Trial {
    /// A trial of a task's workloads.
    pub fn new(task: &Task, stage: Stage, verdict: Verdict) -> Self {
        let workloads = verdict
            .workloads
            .iter()
            .map(|w| Tried {
                label: w.label.clone(),
                values: task.workload(&w.label).map_or_else(BTreeMap::new, |known| {
                    task.symbols
                        .iter()
                        .filter_map(|s| Some((s.name.clone(), known.env.get(&s.name)?.to_string())))
                        .collect()
                }),
                status: w.status,
                error: w.error,
                time: w.time.clone(),
            })
            .collect();
        Self { stage: stage.name(), seed: verdict.seed, workloads, verdict }
    }
}

/// Lines of the kernel that ran.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Coverage {
    /// Lines with code that ran.
    pub ran: BTreeSet<u32>,
    /// Lines with code that never ran.
    pub never: BTreeSet<u32>,
}

impl Coverage {
    /// Adds what one run says of a line.
    pub fn add(&mut self, line: u32, ran: bool) {
        if ran {
            self.never.remove(&line);
            self.ran.insert(line);
        } else if !self.ran.contains(&line) {
            self.never.insert(line);
        }
    }
}

/// The whole proof.
#[derive(Clone, Debug, Serialize)]
pub struct Proof {
    /// CUDA file.
    pub file: String,
    /// Kernel.
    pub kernel: String,
    /// Chip that was simulated.
    pub chip: String,
    /// Is it proven?
    pub proven: bool,
    /// Remarks of the draft.
    pub notes: Vec<Note>,
    /// The original under the sanitizers.
    pub original: Vec<OriginalRun>,
    /// Verdict on the draft as it stands.
    pub draft: Option<Verdict>,
    /// Settings that were timed.
    pub settings: Vec<Setting>,
    /// The search that went on from there.
    pub search: Option<OpenSearch>,
    /// Judgements of the winner.
    pub trials: Vec<Trial>,
    /// Lines that ran.
    pub coverage: Option<Coverage>,
    /// The module for MLX, or why there is none.
    #[serde(serialize_with = "either")]
    pub mlx: Result<PathBuf, String>,
}

fn either<S: serde::Serializer>(mlx: &Result<PathBuf, String>, s: S) -> Result<S::Ok, S::Error> {
    match mlx {
        Ok(path) => serde_json::json!({ "file": path }).serialize(s),
        Err(why) => serde_json::json!({ "none": why }).serialize(s),
    }
}

impl Proof {
    /// A proof of which only the original's runs are known.
    pub fn new(file: &str, port: &Port, chip: &str, original: Vec<OriginalRun>) -> Self {
        Self {
            file: file.to_owned(),
            kernel: port.kernel.clone(),
            chip: chip.to_owned(),
            proven: false,
            notes: port.draft.notes.clone(),
            original,
            draft: None,
            settings: Vec::new(),
            search: None,
            trials: Vec::new(),
            coverage: None,
            mlx: Err("the kernel is not proven".into()),
        }
    }

    /// The verdict that decided.
    fn decisive(&self) -> Option<&Verdict> {
        self.trials.last().map(|t| &t.verdict).or(self.draft.as_ref())
    }

    /// One sentence.
    pub fn conclusion(&self) -> String {
        if let Some(r) = self.original.iter().find(|r| !r.faults.is_empty()) {
            let first = r.faults.first().map_or("", String::as_str);
            return format!("the original itself is at fault on `{}`: {first}", r.workload);
        }
        if self.proven {
            let runs: usize = self.trials.iter().map(|t| t.workloads.len()).sum();
            let worst = self.worst();
            let time = self.trials.iter().find_map(|t| t.verdict.time.as_ref()).map(show_figure).unwrap_or_default();
            return format!(
                "equal to the original on {runs} runs, largest error {:.1} % of what is allowed, {time}",
                100.0 * worst
            );
        }
        match self.decisive() {
            Some(v) => format!("{}: {} {}", v.status, v.summary, v.advice),
            None => "nothing was judged".into(),
        }
    }

    /// Largest error over the allowed one.
    fn worst(&self) -> f64 {
        self.trials.iter().flat_map(|t| &t.workloads).filter_map(|w| w.error).fold(0.0, f64::max)
    }

    /// The proof for people.
    pub fn markdown(&self) -> String {
        let mut out = String::new();
        // Writing to a String cannot fail.
        let mut line = |text: String| {
            let _ = writeln!(out, "{text}");
        };
        line(format!("# Port of `{}` from {}\n", self.kernel, self.file));
        line(format!("{}: {}.\n", if self.proven { "**Proven**" } else { "**Not proven**" }, self.conclusion()));
        line(format!("Everything here was simulated, for {}. Nothing was measured on a GPU.\n", self.chip));
        line("## The original under the sanitizers\n".into());
        for r in &self.original {
            if r.faults.is_empty() {
                line(format!("- `{}`: no fault", r.workload));
            }
            for f in &r.faults {
                line(format!("- `{}`: {f}", r.workload));
            }
        }
        if let Some(v) = &self.draft {
            line(format!("\n## The draft as it stands\n\n{}: {}", v.status, v.summary));
            if !v.advice.is_empty() {
                line(v.advice.clone());
            }
            for d in &v.diagnostics {
                let place = d.pos.as_ref().map_or_else(String::new, |p| format!("{p}: "));
                line(format!("- {place}{}", d.message));
            }
        }
        if !self.settings.is_empty() {
            line(
                "\n## Settings that were timed\n\n| setting | time on the cheapest shape | in full |\n|---|---|---|"
                    .into(),
            );
            for s in &self.settings {
                let values: Vec<String> = s.values.iter().map(|(n, v)| format!("{n}={v}")).collect();
                let time = s.screen.as_ref().map_or_else(|| s.status.to_string(), show_figure);
                let full = s.full.map_or_else(String::new, |f| f.to_string());
                line(format!("| {} | {time} | {full} |", values.join(" ")));
            }
        }
        if let Some(s) = &self.search {
            let time = |f: &Option<Figure>| f.as_ref().map_or_else(|| "no time".to_owned(), show_figure);
            line(format!(
                "\n## The search from there\n\nRun `{}`: {} candidates judged in full, from {} to {}{}.",
                s.run,
                s.evaluations,
                time(&s.began),
                time(&s.best),
                s.stopped.as_ref().map_or_else(String::new, |why| format!("; ended: {why}"))
            ));
        }
        if !self.trials.is_empty() {
            line("\n## Inputs tried with the winner\n".into());
            line(
                "Original and kernel got the same random inputs, fresh for every row. Outputs were poisoned before \
                  each run and every element had to be written; all sanitizers watched each checked run.\n"
                    .into(),
            );
            line("| stage | seed | shape | values | outcome | error, of the allowed | time |\n|---|---|---|---|---|---|---|".into());
            for t in &self.trials {
                for w in &t.workloads {
                    let values: Vec<String> = w.values.iter().map(|(n, v)| format!("{n}={v}")).collect();
                    let error = w.error.map_or_else(String::new, |e| format!("{:.1} %", 100.0 * e));
                    let time = w.time.as_ref().map_or_else(String::new, show_figure);
                    line(format!(
                        "| {} | {} | {} | {} | {} | {error} | {time} |",
                        t.stage,
                        t.seed,
                        w.label,
                        values.join(" "),
                        w.status
                    ));
                }
            }
            line("\n## What else was checked\n".into());
            let mut seen = BTreeSet::new();
            for e in self.trials.iter().flat_map(|t| &t.verdict.evidence) {
                if seen.insert((e.check.clone(), e.ok)) {
                    line(format!("- {} {}: {}", if e.ok { "held" } else { "failed" }, e.check, e.detail));
                }
            }
        }
        if let Some(c) = &self.coverage {
            line(format!(
                "\n## Coverage\n\n{} of {} lines with code ran on some shape.",
                c.ran.len(),
                c.ran.len() + c.never.len()
            ));
            if !c.never.is_empty() {
                let list: Vec<String> = c.never.iter().map(u32::to_string).collect();
                line(format!("Never ran, so nothing is known of them: lines {} of kernel.metal.", list.join(", ")));
            }
        }
        line("\n## What was not proven\n".into());
        for item in self.unproven() {
            line(format!("- {item}"));
        }
        if let Err(why) = &self.mlx {
            line(format!("\nThere is no module for MLX: {why}."));
        }
        out
    }

    fn unproven(&self) -> Vec<String> {
        let mut list = vec![
            "Other shapes and values than those in the table. The tolerance, not equality, is what holds.".to_owned(),
            "Rounding of the library functions of a real GPU: the simulator's are within one unit in the last place, \
             Apple's are specified more loosely."
                .to_owned(),
            "Speed: times are those of a model, with its error.".to_owned(),
            "Races between threads whose accesses no tried shape brought about.".to_owned(),
        ];
        list.extend(self.notes.iter().map(|n| format!("{}: {}", n.pos, n.text)));
        for e in self.decisive().into_iter().flat_map(|v| &v.evidence).filter(|e| e.check == "unread_argument") {
            list.push(e.detail.clone());
        }
        list
    }
}
