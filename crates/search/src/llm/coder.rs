//! The coder played by a model. Must not know how an answer travels.

use ksearch_llm::{Client, json, schema};
use ksearch_task::{Candidate, Language, SourceFile};
use ksearch_world::{Node, NodeId};
use serde::Deserialize;
use serde_json::{Value, json as object};

use super::briefing::Briefing;
use super::{prompts, role_error, views};
use crate::noise::is_faster;
use crate::roles::{CodeAnswer, CodeRequest, CodeStep, Coder, RoleError};
use crate::state::Improvement;

/// A model that writes kernels.
pub struct LlmCoder {
    client: Client,
    briefing: Briefing,
}

/// What a model answers.
#[derive(Debug, Deserialize)]
struct Answer {
    #[serde(default)]
    analysis: String,
    files: Vec<SourceFile>,
}

impl LlmCoder {
    /// A coder.
    pub fn new(client: Client, briefing: Briefing) -> Self {
        Self { client, briefing }
    }

    /// The values that the prompt for this request is rendered from.
    pub(super) fn values(&self, request: &CodeRequest<'_>) -> Value {
        let state = request.state;
        let node = state.world.get(request.node);
        let base = request.base.and_then(|id| Some((id, state.candidates.get(id)?)));
        let base_verdict = base.and_then(|(id, r)| Some(views::verdict(state.full_verdict(id)?, &r.candidate)));
        // Shown for ideas only where it is really faster than what is started from.
        let base_time = request.base.and_then(|id| state.full_verdict(id)?.time.as_ref());
        let faster = |b: &&Improvement| base_time.is_none_or(|t| is_faster(&b.time, t, state.config.min_gain));
        let best = state.best().filter(|b| Some(&b.candidate) != request.base).filter(faster);
        let best = best.and_then(|b| {
            let record = state.candidates.get(&b.candidate)?;
            let swept = views::swept(state, &b.candidate);
            Some(object!({"time": views::figure(&b.time), "candidate": views::candidate(&record.candidate, swept)}))
        });
        // What this work swept is told among what was tried; what earlier work swept is told with the kernel.
        let own_sweep = || Some("what the sweep did is told below".to_owned());
        let common = object!({
            "action": node.map(views::node),
            "failed_before": node.map(|n| views::node(n).failures()).unwrap_or_default(),
            "path": path(request),
            "related": node.map(|n| related(request, n)).unwrap_or_default(),
            "floor": state.premises.floor.as_ref().map(views::figure),
            "budget": views::budget(state),
            "left": request.left,
            "base": base.map(|(id, r)| views::candidate(&r.candidate, views::swept(state, id))),
            "base_verdict": base_verdict,
            "best": best,
            "tried": request.tried.iter().map(|(id, said)| format!("{}: {said}", id.short())).collect::<Vec<_>>(),
        });
        let own = match &request.step {
            CodeStep::Apply => object!({}),
            CodeStep::Repair { candidate, verdict } | CodeStep::Debug { candidate, verdict } => object!({
                "candidate": views::candidate(candidate, None),
                "verdict": views::verdict(verdict, candidate),
            }),
            CodeStep::Improve { candidate, verdict, last } => object!({
                "candidate": views::candidate(candidate, own_sweep()),
                "verdict": views::verdict(verdict, candidate),
                "last": last.map(|(c, _)| views::diff(candidate, c)),
                "last_verdict": last.map(|(c, v)| views::verdict(v, c)),
            }),
        };
        prompts::merged(prompts::merged(object!(self.briefing), common), own)
    }
}

/// The actions that led to the kernel that is started from, the first first, with what was learnt on the way.
fn path(request: &CodeRequest<'_>) -> Vec<views::NodeView> {
    let path = request.state.world.path(request.node);
    path.into_iter().filter(|n| n.id != NodeId::ROOT && n.id != request.node).map(views::node).collect()
}

/// Notes of other nodes with the same strategy or title: what was learnt there.
fn related(request: &CodeRequest<'_>, node: &Node) -> Vec<String> {
    let same = |n: &&Node| {
        n.id != node.id
            && (n.strategy().is_some() && n.strategy() == node.strategy() || n.title() == node.title())
            && (!n.notes.is_empty() || !n.failures.is_empty())
    };
    let says = |n: &Node| {
        let failures: Vec<String> = n.failures.iter().map(|f| format!("{}: {}", f.status, f.summary)).collect();
        format!("{} ({}): {}", n.id, n.title(), [vec![n.notes.clone()], failures].concat().join(" "))
    };
    request.state.world.nodes().filter(|n| !n.is_deleted()).filter(same).take(6).map(says).collect()
}

/// Reads an answer: the JSON object, or Markdown with the kernel in a fence.
fn read(
    text: &str,
    schema: Option<&serde_json::Value>,
    language: Language,
) -> Result<Option<(Candidate, String)>, Vec<String>> {
    let answer = match json::find_object(text) {
        Ok(found) if found.value.get("files").is_some() || !text.contains("/* ksearch") => {
            if let Some(schema) = schema {
                let faults = schema::check(&found.value, schema);
                if !faults.is_empty() {
                    return Err(faults);
                }
            }
            serde_json::from_value(found.value).map_err(|e| vec![e.to_string()])?
        }
        // A kernel is often easier to write as it is than as a JSON string.
        _ if text.contains("/* ksearch") => {
            let file = json::fenced(text).into_iter().find(|f| f.contains("/* ksearch")).unwrap_or(text);
            let analysis = text.split("```").next().unwrap_or_default().trim().to_owned();
            let file = SourceFile { path: default_path(language).to_owned(), text: file.to_owned() + "\n" };
            Answer { analysis, files: vec![file] }
        }
        Ok(_) => return Err(vec!["there is neither `files` nor a kernel with a `/* ksearch` recipe".to_owned()]),
        Err(e) => return Err(vec![e]),
    };
    let Some(main) = answer.files.first() else { return Ok(None) };
    if let Some(bad) = answer.files.iter().find(|f| !is_plain(&f.path)) {
        return Err(vec![format!("`{}` is not a plain relative path", bad.path)]);
    }
    let candidate = Candidate::from_texts(&main.path, &answer.files).map_err(|e| vec![e.to_string()])?;
    if candidate.language != language {
        return Err(vec![format!(
            "`{}` is not a source file of this target's language; name it `{}`",
            main.path,
            default_path(language)
        )]);
    }
    Ok(Some((candidate, answer.analysis)))
}

const fn default_path(language: Language) -> &'static str {
    match language {
        Language::Msl => "kernel.metal",
        Language::Cuda => "kernel.cu",
        Language::Cpp => "kernel.cpp",
    }
}

/// Relative, without steps up: a candidate's files stay in the candidate.
fn is_plain(path: &str) -> bool {
    !path.is_empty()
        && !path.contains('\\')
        && path.split('/').all(|part| !part.is_empty() && part != "." && part != ".." && !part.contains(':'))
}

impl Coder for LlmCoder {
    fn name(&self) -> String {
        self.client.name()
    }

    fn write(&self, request: &CodeRequest<'_>) -> Result<CodeAnswer, RoleError> {
        let prompt = prompts::prompt("coder", request.step.name(), prompts::CODER_SCHEMA, &self.values(request))?;
        let check = |text: &str| read(text, prompt.schema.as_ref(), self.briefing.language);
        let ask = self.client.ask(&prompt, &|| request.cancel.is_cancelled(), check);
        match ask.result {
            Ok(Some((candidate, notes))) => Ok(CodeAnswer::Candidate {
                candidate: Box::new(candidate),
                plan: None,
                notes,
                exchanges: ask.exchanges,
            }),
            Ok(None) => Ok(CodeAnswer::Nothing {
                why: "the model sees nothing more to try for this action".to_owned(),
                exchanges: ask.exchanges,
            }),
            Err(error) => Err(role_error(&error, ask.exchanges)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KERNEL: &str = "/* ksearch\n[[dispatch]]\nkernel = \"k\"\ngrid = [1, 1, 1]\nthreadgroup = [32, 1, 1]\n*/\nkernel void k() {}\n";

    fn schema() -> serde_json::Value {
        serde_json::from_str(prompts::CODER_SCHEMA).unwrap()
    }

    #[test]
    fn answers_are_read_as_json_or_as_a_fenced_kernel() {
        let json = serde_json::json!({"analysis": "a", "files": [{"path": "k.metal", "text": KERNEL}]}).to_string();
        let fenced = format!("It is bound by x.\n\n```metal\n{KERNEL}```\n");
        for text in [json, fenced, KERNEL.to_owned()] {
            let (candidate, _) = read(&text, Some(&schema()), Language::Msl).unwrap().unwrap();
            assert_eq!(candidate.recipe.dispatches[0].kernel, "k", "{text}");
        }
        assert!(read(r#"{"analysis": "done", "files": []}"#, Some(&schema()), Language::Msl).unwrap().is_none());
    }

    /// Fault B22 of the original: hexadecimal floats and log2(e) were rewritten on the way. Fault B23: fences were kept.
    #[test]
    fn code_arrives_byte_for_byte() {
        let body = format!("{KERNEL}constant float a = 0x1.8p1f; // log2(e) = 1.4426950408889634, 2.718\n");
        let json = serde_json::json!({"files": [{"path": "k.metal", "text": body}]}).to_string();
        let (candidate, _) = read(&format!("```json\n{json}\n```"), Some(&schema()), Language::Msl).unwrap().unwrap();
        assert_eq!(candidate.files[0].text, body);
        let (candidate, _) = read(&format!("```metal\n{body}```"), None, Language::Msl).unwrap().unwrap();
        assert_eq!(candidate.files[0].text, body);
    }

    /// Fault B24 of the original: the language was compared as printed text, so that CUDA was never taken for CUDA and
    /// every evaluation failed.
    #[test]
    fn the_language_of_a_target_reaches_the_candidate() {
        for (target, path) in [
            ("sim:m1-max", "kernel.metal"),
            ("metal", "kernel.metal"),
            ("cuda-msl", "kernel.metal"),
            ("cuda", "kernel.cu"),
            ("cpu", "kernel.cpp"),
        ] {
            let language = target.parse::<ksearch_device::TargetId>().unwrap().language();
            let fenced = format!("```\n{KERNEL}```\n");
            let named = serde_json::json!({"files": [{"path": path, "text": KERNEL}]}).to_string();
            for text in [fenced, named] {
                let (candidate, _) = read(&text, Some(&schema()), language).unwrap().unwrap();
                assert_eq!((candidate.language, candidate.files[0].path.as_str()), (language, path), "{target}");
            }
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        let faults =
            |value: serde_json::Value| read(&value.to_string(), Some(&schema()), Language::Msl).unwrap_err().join("; ");
        let file = |path: &str, text: &str| serde_json::json!({"files": [{"path": path, "text": text}]});
        insta::assert_snapshot!([
            faults(serde_json::json!({"code": "x"})),
            faults(file("k.metal", "kernel void k() {}")),
            faults(file("../k.metal", KERNEL)),
            faults(file("k.cu", KERNEL)),
            faults(file("k.metal", &KERNEL.replace("[32, 1, 1]", "[32, "))),
            read("I would tile it.", Some(&schema()), Language::Msl).unwrap_err().join("; "),
        ].join("\n---\n"), @r#"
        the object: `files` is missing; the object: there is no field `code`
        ---
        k.metal: has no launch recipe; add a comment `/* ksearch … */` that holds at least
          [[dispatch]]
          kernel = "name"
          grid = ["…", 1, 1]
          threadgroup = [32, 1, 1]
        or the same in a file k.metal.toml
        ---
        `../k.metal` is not a plain relative path
        ---
        `k.cu` is not a source file of this target's language; name it `kernel.metal`
        ---
        k.metal:5:19: unclosed array, expected `]`
        ---
        there is no JSON object in the answer
        "#);
    }
}
