//! Other Mamba implementations as processes that run the same checkpoint. Must not know how results are judged or shown.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::engine::Logits;
use crate::error::{Error, Result};

/// The worker that each peer runs in.
const SCRIPT: &str = include_str!("../python/peer.py");

/// Peers that the worker knows.
pub const PEERS: [&str; 3] = ["transformers", "mamba.py", "mlx-lm"];

/// How to start a peer.
#[derive(Clone, Debug)]
pub struct Launch {
    /// One of [`PEERS`].
    pub peer: String,
    /// Name in tables; the peer's own unless it is started in a special way.
    pub label: String,
    /// The interpreter of the environment that has the packages.
    pub python: PathBuf,
    /// Variables set for the process, e.g. a preloaded BLAS.
    pub environment: Vec<(String, String)>,
}

impl Launch {
    /// The peer as its packages come.
    pub fn new(peer: &str, python: &Path) -> Self {
        Self { peer: peer.into(), label: peer.into(), python: python.into(), environment: Vec::new() }
    }
}

/// A running peer. Dropping it ends the process.
pub struct Peer {
    label: String,
    versions: Vec<(String, String)>,
    process: Child,
    requests: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Peer {
    /// Starts a peer on a checkpoint folder and waits until it has loaded. The inner error is the peer's own reason why
    /// it cannot run here (not installed, say), which a table shows and nobody should hide.
    pub fn start(launch: &Launch, checkpoint: &Path) -> Result<std::result::Result<Self, String>> {
        let mut process = Command::new(&launch.python)
            .arg("-c")
            .arg(SCRIPT)
            .arg(&launch.peer)
            .arg(checkpoint)
            // These, where a machine sets them, make current OpenBLAS builds slower than they are.
            .env_remove("OPENBLAS_CORETYPE")
            .env_remove("OPENBLAS_L2_SIZE")
            .envs(launch.environment.iter().map(|(k, v)| (k, v)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|e| Error::io(&launch.python, e))?;
        let (Some(requests), Some(answers)) = (process.stdin.take(), process.stdout.take()) else {
            return Err(Error::Input(format!("{}: the process has no pipes", launch.label)));
        };
        let mut peer = Self {
            label: launch.label.clone(),
            versions: Vec::new(),
            process,
            requests: Some(requests),
            answers: BufReader::new(answers),
        };
        let ready = peer.answer()?;
        if ready.get("ready").and_then(Value::as_bool) != Some(true) {
            let reason = ready.get("reason").and_then(Value::as_str).unwrap_or("it gave no reason");
            return Ok(Err(reason.to_owned()));
        }
        let versions = ready.get("versions").and_then(Value::as_object).into_iter().flatten();
        peer.versions = versions.map(|(k, v)| (k.clone(), v.as_str().unwrap_or("not installed").to_owned())).collect();
        Ok(Ok(peer))
    }

    /// Name in tables.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// Packages and their versions.
    pub fn versions(&self) -> &[(String, String)] {
        &self.versions
    }

    /// Seconds for a prompt, logits of the last position included.
    pub fn prefill(&mut self, ids: &[u32]) -> Result<f64> {
        let answer = self.ask(&json!({"op": "prefill", "ids": ids}))?;
        self.seconds(&answer)
    }

    /// Seconds for `count` greedy tokens after a prompt, and the tokens.
    pub fn decode(&mut self, prompt: &[u32], count: usize) -> Result<(f64, Vec<u32>)> {
        let answer = self.ask(&json!({"op": "decode", "prompt": prompt, "count": count}))?;
        let ids = answer.get("ids").and_then(Value::as_array).into_iter().flatten();
        let ids = ids.filter_map(|v| u32::try_from(v.as_u64()?).ok()).collect();
        Ok((self.seconds(&answer)?, ids))
    }

    /// Logits of every position; they pass through a file in `folder`.
    pub fn logits(&mut self, sequences: &[Vec<u32>], folder: &Path) -> Result<Logits> {
        let file = folder.join("logits.f32");
        let answer = self.ask(&json!({"op": "logits", "sequences": sequences, "file": file}))?;
        let shape = answer.get("shape").and_then(Value::as_array).into_iter().flatten();
        let shape: Vec<usize> = shape.filter_map(|v| v.as_u64().map(|n| n as usize)).collect();
        let bytes = std::fs::read(&file).map_err(|e| Error::io(&file, e))?;
        let (values, _) = bytes.as_chunks::<4>();
        let values: Vec<f32> = values.iter().map(|b| f32::from_le_bytes(*b)).collect();
        match shape.as_slice() {
            [b, l, v] if b * l * v == values.len() => Ok(Logits::new(*v, values)),
            _ => Err(self.broken(&format!("logits of shape {shape:?} with {} values", values.len()))),
        }
    }

    fn seconds(&self, answer: &Value) -> Result<f64> {
        answer.get("seconds").and_then(Value::as_f64).ok_or_else(|| self.broken(&format!("no seconds in {answer}")))
    }

    fn ask(&mut self, request: &Value) -> Result<Value> {
        let Some(pipe) = self.requests.as_mut() else { return Err(self.broken("its input is closed")) };
        writeln!(pipe, "{request}").and_then(|()| pipe.flush()).map_err(|e| self.broken(&e.to_string()))?;
        let answer = self.answer()?;
        match answer.get("error").and_then(Value::as_str) {
            Some(error) => Err(self.broken(error)),
            None => Ok(answer),
        }
    }

    fn answer(&mut self) -> Result<Value> {
        let mut line = String::new();
        self.answers.read_line(&mut line).map_err(|e| self.broken(&e.to_string()))?;
        if line.is_empty() {
            return Err(self.broken("the process ended without an answer; was it killed for memory?"));
        }
        serde_json::from_str(&line).map_err(|e| self.broken(&format!("answer is not JSON: {e}")))
    }

    fn broken(&self, reason: &str) -> Error {
        Error::Input(format!("peer {}: {reason}", self.label))
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // Closing its input ends the worker's loop; the kill is for one that hangs. Both may find it already gone.
        drop(self.requests.take());
        let _gone = self.process.kill();
        let _reaped = self.process.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_interpreter_is_named() {
        let launch = Launch::new("transformers", Path::new("no/such/python"));
        let error = Peer::start(&launch, Path::new(".")).err().expect("refused").to_string();
        assert!(error.contains("no/such/python"), "{error}");
    }
}
