//! Library kernels on real hardware, each in a Python process of the user's: `PyTorch`'s attention backends, `mamba_ssm`'s
//! selective scan. Must not know how figures are compared or shown.

use std::path::Path;
use std::process::Command;

use ksearch_task::Value;
use ksearch_task::spec::Env;
use serde_json::{Map, Value as Json, json};

use crate::lines::{self, Lines};

/// The process' program.
const SCRIPT: &str = include_str!("../python/library.py");

/// Library kernels known for a task.
pub fn known(task: &str) -> &'static [&'static str] {
    match task {
        "attention" => &["torch-flash", "torch-cudnn", "torch-efficient"],
        "selective_scan" => &["mamba_ssm"],
        _ => &[],
    }
}

/// The process failed after it had begun.
#[derive(Debug, thiserror::Error)]
#[error("library kernel `{name}`: {why}")]
pub struct LibraryError {
    /// Which.
    pub name: String,
    /// Why.
    pub why: std::io::Error,
}

/// A library kernel that is ready to be called on one workload. Dropping it ends the process.
#[derive(Debug)]
pub struct Library {
    name: String,
    versions: Vec<(String, String)>,
    process: Lines,
}

impl Library {
    /// Starts `name` on the workload whose values are `env`, with the interpreter `python`. The inner error is the
    /// library's own reason why it cannot run here, which nobody should hide.
    pub fn start(name: &str, env: &Env, python: &Path) -> Result<Result<Self, String>, LibraryError> {
        let started = Lines::start(Command::new(python).args(["-c", SCRIPT, name, &workload(env).to_string()]));
        let mut process = match started {
            Ok(process) => process,
            Err(e) => return Ok(Err(format!("{} cannot be started: {e}", python.display()))),
        };
        let ready = process.hear().map_err(|why| LibraryError { name: name.to_owned(), why })?;
        if ready.get("ready").and_then(Json::as_bool) != Some(true) {
            let reason = ready.get("reason").and_then(Json::as_str).unwrap_or("it gave no reason");
            return Ok(Err(reason.to_owned()));
        }
        Ok(Ok(Self { name: name.to_owned(), versions: lines::texts(ready.get("versions")), process }))
    }

    /// What it runs on and with.
    pub fn versions(&self) -> &[(String, String)] {
        &self.versions
    }

    /// Microseconds of further calls, each after the cache was overwritten.
    pub fn time(&mut self, calls: u32) -> Result<Vec<f64>, LibraryError> {
        let answer = self.process.ask(&json!({ "calls": calls }).to_string());
        let times = answer.and_then(|answer| {
            let times = answer.get("us").and_then(Json::as_array);
            let times: Vec<f64> = times.into_iter().flatten().filter_map(Json::as_f64).collect();
            let whole = times.len() == calls as usize;
            whole.then_some(times).ok_or_else(|| std::io::Error::other(format!("not the times asked for: {answer}")))
        });
        times.map_err(|why| LibraryError { name: self.name.clone(), why })
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
