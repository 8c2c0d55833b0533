//! Library kernels on real hardware, each in a Python process of the user's: `PyTorch`'s attention backends, `mamba_ssm`'s
//! selective scan. Must not know how figures are compared or shown.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use ksearch_task::Value;
use ksearch_task::spec::Env;
use serde_json::{Map, Value as Json, json};

/// The process' program.
const SCRIPT: &str = include_str!("../python/library.py");

/// Library kernels known for a task, the one to be held against first.
pub fn known(task: &str) -> &'static [&'static str] {
    match task {
        "attention" => &["torch-flash", "torch-cudnn", "torch-efficient"],
        "selective_scan" => &["mamba_ssm"],
        _ => &[],
    }
}

/// The process failed after it had begun.
#[derive(Clone, Debug, thiserror::Error)]
#[error("library kernel `{name}`: {why}")]
pub struct LibraryError {
    /// Which.
    pub name: String,
    /// Why.
    pub why: String,
}

/// A library kernel that is ready to be called on one workload. Dropping it ends the process.
pub struct Library {
    name: String,
    versions: Vec<(String, String)>,
    process: Child,
    requests: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Library {
    /// Starts `name` on the workload whose values are `env`, with the interpreter `python`. The inner error is the
    /// library's own reason why it cannot run here, which nobody should hide.
    pub fn start(name: &str, env: &Env, python: &Path) -> Result<Result<Self, String>, LibraryError> {
        let failed = |why: String| LibraryError { name: name.to_owned(), why };
        let spawned = Command::new(python)
            .args(["-c", SCRIPT, name, &workload(env).to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let mut process = match spawned {
            Ok(process) => process,
            Err(e) => return Ok(Err(format!("{} cannot be started: {e}", python.display()))),
        };
        let (Some(requests), Some(answers)) = (process.stdin.take(), process.stdout.take()) else {
            return Err(failed("the process has no pipes".into()));
        };
        let mut library = Self {
            name: name.to_owned(),
            versions: Vec::new(),
            process,
            requests: Some(requests),
            answers: BufReader::new(answers),
        };
        let ready = library.answer()?;
        if ready.get("ready").and_then(Json::as_bool) != Some(true) {
            let reason = ready.get("reason").and_then(Json::as_str).unwrap_or("it gave no reason");
            return Ok(Err(reason.to_owned()));
        }
        let versions = ready.get("versions").and_then(Json::as_object).into_iter().flatten();
        library.versions = versions.map(|(k, v)| (k.clone(), v.as_str().unwrap_or("unknown").to_owned())).collect();
        Ok(Ok(library))
    }

    /// What it runs on and with.
    pub fn versions(&self) -> &[(String, String)] {
        &self.versions
    }

    /// Microseconds of further calls, each after the cache was overwritten.
    pub fn time(&mut self, calls: u32) -> Result<Vec<f64>, LibraryError> {
        let failed = |why: String| LibraryError { name: self.name.clone(), why };
        let request = format!("{}\n", json!({ "calls": calls }));
        let sent = self.requests.as_mut().map(|r| r.write_all(request.as_bytes()).and_then(|()| r.flush()));
        sent.unwrap_or(Ok(())).map_err(|e| failed(format!("it does not listen: {e}")))?;
        let answer = self.answer()?;
        let times: Option<Vec<f64>> =
            answer.get("us").and_then(Json::as_array).map(|t| t.iter().filter_map(Json::as_f64).collect());
        times.filter(|t| t.len() == calls as usize).ok_or_else(|| LibraryError {
            name: self.name.clone(),
            why: format!("what it says is not understood: {answer}"),
        })
    }

    fn answer(&mut self) -> Result<Json, LibraryError> {
        let failed = |why: String| LibraryError { name: self.name.clone(), why };
        let mut line = String::new();
        match self.answers.read_line(&mut line) {
            Ok(0) => Err(failed("the process ended without an answer".into())),
            Ok(_) => serde_json::from_str(&line).map_err(|e| failed(format!("what it says is not understood: {e}"))),
            Err(e) => Err(failed(e.to_string())),
        }
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        // It ends by itself when nobody asks any more; one that hangs is ended.
        self.requests.take();
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A workload's values as the process reads them.
fn workload(env: &Env) -> Json {
    let mut out = Map::new();
    for (name, value) in env {
        let json = match value {
            Value::Int(i) => json!(i),
            Value::Real(r) => json!(r),
            Value::Type(d) => json!(d.name()),
        };
        out.insert(name.clone(), json);
    }
    Json::Object(out)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use ksearch_task::DType;

    #[test]
    fn what_cannot_run_says_why() {
        let env = Env::from_iter([("T".to_owned(), Value::Type(DType::F16)), ("L".to_owned(), Value::Int(3))]);
        assert_eq!(workload(&env).to_string(), r#"{"T":"f16","L":3}"#);
        let absent = Library::start("torch-flash", &env, Path::new("/no/such/python")).unwrap();
        assert!(absent.err().unwrap().contains("/no/such/python"));
        let silent = Library::start("torch-flash", &env, Path::new("/bin/true"));
        assert!(silent.err().unwrap().to_string().contains("without an answer"));
    }
}
