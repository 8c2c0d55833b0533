//! One child process with input, bounded output and a deadline. Knows nothing about clang.

use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// What a child left behind.
#[derive(Debug)]
pub struct Finished {
    /// Did it exit with code 0?
    pub success: bool,
    /// Its standard output.
    pub stdout: Vec<u8>,
    /// Its standard error.
    pub stderr: Vec<u8>,
}

/// Why a child gave no result.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// It could not be started.
    #[error("cannot start {program}: {source}")]
    Start {
        /// The program.
        program: String,
        /// The system's reason.
        source: std::io::Error,
    },
    /// It ran past its deadline and was killed.
    #[error("stopped after {} s", .0.as_secs_f32())]
    Timeout(Duration),
    /// It wrote more than any real result has.
    #[error("wrote more than {} MB", OUTPUT_LIMIT >> 20)]
    TooMuchOutput,
    /// Its result could not be read.
    #[error("cannot read its output: {0}")]
    Read(std::io::Error),
}

/// Most bytes read from either stream.
const OUTPUT_LIMIT: u64 = 512 << 20;

fn drain(stream: impl Read, done: &mpsc::Sender<()>) -> std::io::Result<Vec<u8>> {
    let mut out = Vec::new();
    let result = stream.take(OUTPUT_LIMIT + 1).read_to_end(&mut out);
    let _ = done.send(());
    result.map(|_| out)
}

/// Runs a command with the given input. Environment variables that change a compiler's behaviour are not passed on.
pub fn run(mut command: Command, input: &[u8], limit: Duration) -> Result<Finished, RunError> {
    let start = Instant::now();
    let program = command.get_program().to_string_lossy().into_owned();
    let kept: Vec<(String, std::ffi::OsString)> =
        ["PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH", "SYSTEMROOT", "XDG_CACHE_HOME"]
            .iter()
            .filter_map(|n| std::env::var_os(n).map(|v| ((*n).to_owned(), v)))
            .collect();
    let mut child = command
        .env_clear()
        .envs(kept)
        .env("LC_ALL", "C")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|source| RunError::Start { program, source })?;
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (done, finished) = mpsc::channel();
    let outcome = std::thread::scope(|scope| {
        // A child that stops reading closes the pipe; its own exit status says why.
        scope.spawn(move || stdin.map(|mut pipe| pipe.write_all(input)));
        let out = {
            let done = done.clone();
            scope.spawn(move || stdout.map_or(Ok(Vec::new()), |s| drain(s, &done)))
        };
        let err = scope.spawn(move || stderr.map_or(Ok(Vec::new()), |s| drain(s, &done)));
        let mut timed_out = false;
        for _ in 0..2 {
            let left = limit.saturating_sub(start.elapsed());
            if finished.recv_timeout(left).is_err() {
                timed_out = true;
                break;
            }
        }
        if timed_out {
            // It may have ended by itself in between; then there is nothing to kill.
            let _ = child.kill();
        }
        let join = |r: std::thread::Result<std::io::Result<Vec<u8>>>| {
            r.unwrap_or_else(|_| Err(std::io::Error::other("the reader ended early"))).map_err(RunError::Read)
        };
        let (out, err) = (join(out.join()), join(err.join()));
        if timed_out {
            return Err(RunError::Timeout(limit));
        }
        let (out, err) = (out?, err?);
        if out.len() as u64 > OUTPUT_LIMIT || err.len() as u64 > OUTPUT_LIMIT {
            return Err(RunError::TooMuchOutput);
        }
        Ok((out, err))
    });
    if outcome.is_err() {
        // Whatever went wrong, nothing is left running.
        let _ = child.kill();
    }
    let status = child.wait().map_err(RunError::Read)?;
    let (stdout, stderr) = outcome?;
    Ok(Finished { success: status.success(), stdout, stderr })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn input_and_output_flow() {
        let input = vec![b'x'; 1 << 20];
        let done = run(Command::new("cat"), &input, Duration::from_secs(20)).unwrap();
        assert!(done.success && done.stdout == input);
    }

    #[test]
    fn a_child_that_hangs_is_stopped() {
        let mut command = Command::new("sleep");
        command.arg("1000");
        let err = run(command, b"", Duration::from_millis(50)).unwrap_err();
        assert!(matches!(err, RunError::Timeout(_)));
    }

    #[test]
    fn a_missing_program_is_an_error() {
        let err = run(Command::new("/no/such/program"), b"", Duration::from_secs(1)).unwrap_err();
        assert!(err.to_string().starts_with("cannot start /no/such/program"));
    }
}
