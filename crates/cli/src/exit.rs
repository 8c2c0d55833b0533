//! How a command ends. Knows no command.

use std::process::ExitCode;

/// Outcome of a command that ran; what could not run is an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Exit code 0.
    Success,
    /// Exit code 1: the answer is "no" (a kernel failed, a target was not met).
    No,
    /// Exit code 2: this machine or the task is at fault, and the answer printed says how.
    Unable,
    /// Exit code 130: stopped by the user, nothing lost.
    Interrupted,
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Success => Self::SUCCESS,
            Outcome::No => Self::from(1),
            Outcome::Unable => Self::from(USAGE),
            Outcome::Interrupted => Self::from(INTERRUPTED),
        }
    }
}

/// Exit code of wrong usage or a wrong environment.
pub const USAGE: u8 = 2;
/// Exit code of a run that the user stopped.
pub const INTERRUPTED: u8 = 130;
