//! The original K-Search's solution JSON and solution store (`solution_db.jsonl`): candidates written for tools that
//! read those, and read back. Its ids hang on a solution's name; ours on the content alone, so they are taken as names.
//! Must not know files or commands.

use ksearch_judge::{Status, Verdict};
use ksearch_task::{Candidate, CandidateId, FileError, Language, SourceFile};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::state::{CandidateRecord, RunState};

/// Why a solution cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum SolutionError {
    /// Not the schema.
    #[error(
        "this is not a solution file: {0}; it needs `name`, `spec` with `language` and `entry_point`, and `sources`"
    )]
    Schema(#[from] serde_json::Error),
    /// Nothing in it.
    #[error("solution `{0}` has no sources")]
    Empty(String),
    /// A language that no target here runs.
    #[error(
        "solution `{name}` is written in `{language}`; what can be read is Metal, CUDA and C++, each with a launch recipe"
    )]
    Language {
        /// Its name.
        name: String,
        /// Its language.
        language: String,
    },
    /// Its files are no candidate.
    #[error("solution `{name}`: {error}")]
    Candidate {
        /// Its name.
        name: String,
        /// What is wrong, mostly that the launch recipe is missing.
        error: FileError,
    },
}

#[derive(Deserialize)]
struct Solution {
    name: String,
    spec: Spec,
    sources: Vec<Source>,
}

#[derive(Deserialize)]
struct Spec {
    language: String,
    entry_point: String,
}

#[derive(Deserialize)]
struct Source {
    path: String,
    content: String,
}

/// Reads a solution. The original says nothing of grids and buffers, so its sources must carry the launch recipe in a
/// `/* ksearch` comment; those written by [`export`] do.
pub fn import(text: &str) -> Result<Candidate, SolutionError> {
    let solution: Solution = serde_json::from_str(text)?;
    let Solution { name, spec, sources } = solution;
    let files: Vec<SourceFile> = sources.into_iter().map(|s| SourceFile { path: s.path, text: s.content }).collect();
    let (path, _) = spec.entry_point.split_once("::").unwrap_or((&spec.entry_point, ""));
    let named = files.iter().find(|f| f.path == path).or(files.first());
    let main = named.ok_or_else(|| SolutionError::Empty(name.clone()))?.path.clone();
    if !matches!(spec.language.to_lowercase().as_str(), "metal" | "msl" | "cuda" | "cpp" | "c++") {
        return Err(SolutionError::Language { name, language: spec.language });
    }
    Candidate::from_texts(&main, &files).map_err(|error| SolutionError::Candidate { name, error })
}

const fn language(language: Language) -> &'static str {
    match language {
        Language::Msl => "metal",
        Language::Cuda => "cuda",
        Language::Cpp => "cpp",
    }
}

/// A candidate of a run in the original's schema.
pub fn export(state: &RunState, id: &CandidateId, record: &CandidateRecord) -> Value {
    let candidate = record.candidate.clone().with_recipe_comment();
    let node = state.world.nodes().find(|n| n.outcome().is_some_and(|o| o.candidate == *id));
    let main = candidate.files.first().map(|f| f.path.clone()).unwrap_or_default();
    let kernel = candidate.recipe.dispatches.first().map(|d| d.kernel.clone()).unwrap_or_default();
    let sources: Vec<Value> = candidate.files.iter().map(|f| json!({"path": f.path, "content": f.text})).collect();
    json!({
        "name": id.0,
        "definition": state.premises.facts.task,
        "author": record.by,
        "description": node.map(|n| n.title().to_owned()).unwrap_or_default(),
        "spec": {
            "language": language(candidate.language),
            "target_hardware": [state.config.target],
            "entry_point": format!("{main}::{kernel}"),
            "dependencies": [],
        },
        "sources": sources,
    })
}

/// A line of the original's solution store. A candidate that failed has no score (there a failed evaluation kept a
/// positive one).
pub fn store_line(state: &RunState, id: &CandidateId, record: &CandidateRecord, verdict: &Verdict) -> Value {
    let code: Vec<String> = record.candidate.clone().with_recipe_comment().files.into_iter().map(|f| f.text).collect();
    json!({
        "solution_id": id.0,
        "solution_name": id.0,
        "definition": state.premises.facts.task,
        "parent_solution_id": record.parent.as_ref().map(|p| p.0.clone()),
        "eval_result": eval_result(state, verdict),
        "code": code.join("\n"),
        "code_excerpt": code.join("\n").chars().take(400).collect::<String>(),
    })
}

fn eval_result(state: &RunState, verdict: &Verdict) -> Value {
    let time = verdict.time.as_ref().filter(|_| verdict.status == Status::Passed);
    let milliseconds = |value: f64, unit: &str| if unit == "us" { value / 1000.0 } else { value };
    let factor = |other: Option<f64>| Some(other? / time?.value);
    let speedup = factor(state.naive_time());
    let baseline = state.premises.baseline.as_ref().map(|b| b.time.value);
    let vs_baseline = factor(baseline);
    let score = vs_baseline.map(|v| (v, "vs_baseline")).or(speedup.map(|v| (v, "speedup")));
    let metrics = score.map_or_else(|| json!({}), |(v, name)| json!({"score": v, "score_name": name}));
    json!({
        "status": if time.is_some() { "passed" } else { verdict.status.name() },
        "latency_ms": time.map(|t| milliseconds(t.value, &t.unit)),
        "reference_latency_ms": state.naive_time().zip(time).map(|(v, t)| milliseconds(v, &t.unit)),
        "mean_vs_baseline_factor": vs_baseline,
        "speedup_factor": speedup,
        "log_excerpt": verdict.summary,
        "metrics": metrics,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::Journal;
    use crate::tests::runs::{Tape, run};
    use crate::tests::toy::{self, Landscape};

    #[test]
    fn what_is_written_reads_back_and_failures_have_no_score() {
        let state =
            run(toy::config(9), &Landscape::default(), Journal::in_memory().unwrap(), &Tape::default()).unwrap();
        let mut failures = 0;
        for (id, record) in &state.candidates {
            let Some(verdict) = state.full_verdict(id) else { continue };
            let line = store_line(&state, id, record, verdict);
            let passed = verdict.status == Status::Passed;
            failures += u32::from(!passed);
            assert_eq!(line["eval_result"]["metrics"]["score"].is_number(), passed, "{line:#}");
            assert_eq!(line["eval_result"]["latency_ms"].is_number(), passed);
        }
        assert!(failures > 0, "the landscape has candidates that fail");
        let text = "/* ksearch\n[[dispatch]]\nkernel = \"k\"\ngrid = [1, 1, 1]\nthreadgroup = [32, 1, 1]\n*/\nkernel void k() {}\n";
        let file = SourceFile { path: "k.metal".into(), text: text.into() };
        let candidate = Candidate::from_texts("k.metal", &[file]).unwrap();
        let record =
            CandidateRecord { candidate: candidate.clone(), plan: None, parent: None, by: "m".into(), cycle: 1 };
        let solution = export(&state, &candidate.id(), &record);
        assert_eq!(solution["spec"]["entry_point"], "k.metal::k");
        assert_eq!(import(&solution.to_string()).unwrap().id(), candidate.id());
    }

    #[test]
    fn what_cannot_be_read_is_said() {
        let solution = |language: &str, content: &str| {
            json!({"name": "s", "spec": {"language": language, "entry_point": "a.metal::f"},
                   "sources": [{"path": "a.metal", "content": content}]})
            .to_string()
        };
        let says = |text: &str| import(text).unwrap_err().to_string().lines().next().unwrap_or_default().to_owned();
        insta::assert_snapshot!([
            says("{}"),
            says(&solution("triton", "x")),
            says(&solution("metal", "kernel void f() {}")),
            says(r#"{"name": "s", "spec": {"language": "metal", "entry_point": "f"}, "sources": []}"#),
        ].join("\n"), @"
        this is not a solution file: missing field `name` at line 1 column 2; it needs `name`, `spec` with `language` and `entry_point`, and `sources`
        solution `s` is written in `triton`; what can be read is Metal, CUDA and C++, each with a launch recipe
        solution `s`: a.metal: has no launch recipe; add a comment `/* ksearch … */` that holds at least
        solution `s` has no sources
        ");
    }
}
