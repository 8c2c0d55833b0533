//! The only place that writes to the terminal: data to stdout, everything else to stderr. Knows no command.

use std::fmt::Display;
use std::io::{IsTerminal, Write};

use anstream::AutoStream;
use anstream::ColorChoice;
use owo_colors::{OwoColorize, Style};
use serde::Serialize;

/// How a command talks to its user.
#[derive(Clone, Copy, Debug)]
pub struct Printer {
    json: bool,
    quiet: bool,
    color: ColorChoice,
}

/// Colours by meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// Good news.
    Good,
    /// Bad news.
    Bad,
    /// Worth a look.
    Warn,
    /// Of lesser weight.
    Dim,
    /// Headings and names.
    Strong,
}

impl Tone {
    /// `text` in the colour of its meaning; codes are stripped on the way out where they are not wanted.
    pub fn paint(self, text: impl Display) -> String {
        let style = match self {
            Self::Good => Style::new().green(),
            Self::Bad => Style::new().red().bold(),
            Self::Warn => Style::new().yellow(),
            Self::Dim => Style::new().dimmed(),
            Self::Strong => Style::new().bold(),
        };
        text.style(style).to_string()
    }
}

impl Printer {
    /// A printer; `NO_COLOR`, `CLICOLOR_FORCE` and terminals are honoured by `anstream`.
    pub fn new(json: bool, quiet: bool, no_color: bool) -> Self {
        let color = if no_color { ColorChoice::Never } else { ColorChoice::Auto };
        Self { json, quiet, color }
    }

    /// Is the answer to be one JSON object?
    pub const fn json(self) -> bool {
        self.json
    }

    /// May progress be drawn? Only on a terminal, and never in CI.
    pub fn progress(self) -> bool {
        !self.quiet && std::io::stderr().is_terminal() && std::env::var_os("CI").is_none()
    }

    /// One line of the answer, to stdout. Suppressed under `--json`.
    pub fn line(self, text: impl Display) -> std::io::Result<()> {
        if self.json {
            return Ok(());
        }
        match writeln!(AutoStream::new(std::io::stdout(), self.color), "{text}") {
            // The reader of a pipe may leave early (`| head`); that is not our failure.
            Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
            other => other,
        }
    }

    /// The whole answer as one JSON object, to stdout. Nothing unless `--json`.
    pub fn object(self, value: &impl Serialize) -> std::io::Result<()> {
        if !self.json {
            return Ok(());
        }
        let text = serde_json::to_string_pretty(value)?;
        match writeln!(std::io::stdout(), "{text}") {
            Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
            other => other,
        }
    }

    /// A remark for the person, to stderr; not under `--quiet`.
    pub fn note(self, text: impl Display) {
        if !self.quiet {
            self.err(text);
        }
    }

    /// A failure, to stderr.
    pub fn err(self, text: impl Display) {
        // Nowhere is left to report that stderr is closed.
        let _closed = writeln!(AutoStream::new(std::io::stderr(), self.color), "{text}");
    }

    /// An error with its causes, to stderr.
    pub fn error(self, error: &anyhow::Error) {
        self.err(format!("{} {error}", Tone::Bad.paint("error:")));
        let mut shown = error.to_string();
        for cause in error.chain().skip(1) {
            let cause = cause.to_string();
            // Layers often repeat what they wrap.
            if !shown.contains(&cause) {
                self.err(format!("  because: {cause}"));
            }
            shown = cause;
        }
    }
}
