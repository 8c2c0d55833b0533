//! A process that is asked in lines and answers in JSON, one object a line. Must not know what is asked.

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::Value as Json;

/// A running process. Dropping it ends it.
#[derive(Debug)]
pub struct Lines {
    process: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Lines {
    /// Starts it; what it says besides answers is not heard.
    pub fn start(command: &mut Command) -> io::Result<Self> {
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let (Some(requests), Some(answers)) = (process.stdin.take(), process.stdout.take()) else {
            return Err(io::Error::other("it has no pipes"));
        };
        Ok(Self { process, requests, answers: BufReader::new(answers) })
    }

    /// Its next line.
    pub fn hear(&mut self) -> io::Result<Json> {
        let mut line = String::new();
        match self.answers.read_line(&mut line)? {
            0 => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the process ended without an answer")),
            _ => serde_json::from_str(&line)
                .map_err(|e| io::Error::other(format!("what it says is not understood ({e}): {}", line.trim_end()))),
        }
    }

    /// Sends a line and waits for the answer.
    pub fn ask(&mut self, line: &str) -> io::Result<Json> {
        writeln!(self.requests, "{line}").and_then(|()| self.requests.flush())?;
        self.hear()
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        // It may have ended by itself; nothing more can be done about one that cannot be ended.
        let _ended = self.process.kill();
        let _status = self.process.wait();
    }
}

/// The members of a JSON object as names and texts, e.g. of versions.
pub fn texts(object: Option<&Json>) -> Vec<(String, String)> {
    let members = object.and_then(Json::as_object).into_iter().flatten();
    members.map(|(k, v)| (k.clone(), v.as_str().unwrap_or("unknown").to_owned())).collect()
}
