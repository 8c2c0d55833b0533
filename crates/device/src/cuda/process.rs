//! The worker process as this one sees it: started when needed, given a time for each answer, killed and replaced when
//! it does not keep it. Must not know CUDA or candidates.

use std::io::{BufReader, BufWriter};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use super::wire::{Answer, Request, receive, send};

/// How the worker is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launcher {
    /// Program.
    pub program: std::path::PathBuf,
    /// Arguments.
    pub args: Vec<String>,
    /// The environment it gets; nothing else is inherited.
    pub environment: Vec<(String, String)>,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoAnswer {
    /// It did not come in time; the worker was killed.
    Late,
    /// The worker ended.
    Ended(String),
}

type Reply = std::io::Result<Option<(Answer, Vec<u8>)>>;

struct Live {
    child: Child,
    input: BufWriter<ChildStdin>,
    replies: Receiver<Reply>,
}

/// A worker that may or may not be running.
pub struct Process {
    launcher: Launcher,
    live: Option<Live>,
    /// How often it was started.
    pub starts: u32,
}

impl Process {
    /// Not started yet.
    pub fn new(launcher: Launcher) -> Self {
        Self { launcher, live: None, starts: 0 }
    }

    /// Is it the same process as when it had been started `starts` times?
    pub fn is_live(&self, starts: u32) -> bool {
        self.live.is_some() && self.starts == starts
    }

    /// Asks, and waits for the answer at most so long.
    pub fn ask(
        &mut self,
        request: &Request,
        body: &[&[u8]],
        patience: Duration,
    ) -> Result<(Answer, Vec<u8>), NoAnswer> {
        if self.live.is_none() {
            self.live = Some(self.start().map_err(|e| NoAnswer::Ended(format!("it cannot be started: {e}")))?);
            self.starts += 1;
        }
        let Some(live) = &mut self.live else { return Err(NoAnswer::Ended("it cannot be started".into())) };
        let sent = send(&mut live.input, request, body);
        let reply = match sent {
            Ok(()) => live.replies.recv_timeout(patience),
            // It may have said why before it ended.
            Err(_) => live.replies.recv_timeout(Duration::from_millis(500)),
        };
        match reply {
            Ok(Ok(Some((answer, body)))) => {
                if matches!(answer, Answer::Failed { lost: true, .. }) {
                    self.stop();
                }
                Ok((answer, body))
            }
            Ok(Ok(None)) | Err(RecvTimeoutError::Disconnected) => {
                let how = self.stop();
                Err(NoAnswer::Ended(how))
            }
            Ok(Err(e)) => {
                self.stop();
                Err(NoAnswer::Ended(format!("what it says is not understood: {e}")))
            }
            Err(RecvTimeoutError::Timeout) => {
                self.stop();
                Err(NoAnswer::Late)
            }
        }
    }

    fn start(&self) -> std::io::Result<Live> {
        let mut command = Command::new(&self.launcher.program);
        command.args(&self.launcher.args).env_clear().envs(self.launcher.environment.iter().cloned());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        #[cfg(unix)]
        {
            use std::os::unix::process::CommandExt;
            command.process_group(0);
        }
        let mut child = command.spawn()?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            child.kill()?;
            child.wait()?;
            return Err(std::io::Error::other("it has no pipes"));
        };
        let (sender, replies) = channel();
        std::thread::spawn(move || pump(output, &sender));
        Ok(Live { child, input: BufWriter::new(input), replies })
    }

    /// Kills it; says how it ended.
    pub fn stop(&mut self) -> String {
        let Some(mut live) = self.live.take() else { return "it was not running".into() };
        // An end that came by itself is worth telling; it may take a moment to show.
        for _ in 0..20 {
            if let Ok(Some(status)) = live.child.try_wait() {
                return format!("it ended with {status}");
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        match live.child.kill().and_then(|()| live.child.wait()) {
            Ok(status) => format!("it was killed ({status})"),
            Err(e) => format!("it cannot be killed: {e}"),
        }
    }
}

/// Reads answers until there are no more, or nobody wants them.
fn pump(output: ChildStdout, sender: &std::sync::mpsc::Sender<Reply>) {
    let mut output = BufReader::with_capacity(1 << 20, output);
    loop {
        let reply = receive(&mut output);
        let last = !matches!(reply, Ok(Some(_)));
        if sender.send(reply).is_err() || last {
            return;
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.stop();
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn shell(script: &str) -> Process {
        Process::new(Launcher {
            program: "/bin/sh".into(),
            args: vec!["-c".into(), script.into()],
            environment: vec![("PATH".into(), "/usr/bin:/bin".into())],
        })
    }

    #[test]
    fn silence_and_death_are_told_apart_and_the_next_request_starts_afresh() {
        let mut silent = shell("sleep 30");
        assert_eq!(silent.ask(&Request::Hello, &[], Duration::from_millis(100)).unwrap_err(), NoAnswer::Late);
        assert_eq!(silent.starts, 1);
        assert!(!silent.is_live(1));
        assert_eq!(silent.ask(&Request::Hello, &[], Duration::from_millis(100)).unwrap_err(), NoAnswer::Late);
        assert_eq!(silent.starts, 2);
        let mut dead = shell("exit 3");
        let end = dead.ask(&Request::Hello, &[], Duration::from_secs(10)).unwrap_err();
        assert!(matches!(&end, NoAnswer::Ended(how) if how.contains('3')), "{end:?}");
        let mut nonsense = shell("printf '%064d' 0 | tr 0 '\\377'; sleep 5");
        let end = nonsense.ask(&Request::Hello, &[], Duration::from_secs(10)).unwrap_err();
        assert!(matches!(&end, NoAnswer::Ended(how) if how.contains("not understood")), "{end:?}");
    }
}
