//! `ksearch completions`: a completion script, made from the grammar.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::args::Cli;
use crate::exit::Outcome;

/// Prints the script for `shell`.
pub fn run(shell: Shell) -> Outcome {
    clap_complete::generate(shell, &mut Cli::command(), "ksearch", &mut std::io::stdout());
    Outcome::Success
}
