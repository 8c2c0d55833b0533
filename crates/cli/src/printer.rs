//! The only place that writes to the terminal: data to stdout, everything else to stderr. Foreign texts (sources, names,
//! answers of models) cannot steer the terminal through it. Knows no command.

use std::fmt::Display;
use std::io::{IsTerminal, Write};

use anstream::AutoStream;
use anstream::ColorChoice;
use ksearch_report::text;
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
        Self::put(writeln!(AutoStream::new(std::io::stdout(), self.color), "{}", calm(&text.to_string())))
    }

    /// A file's text, to stdout: byte for byte into a pipe or a file, made safe on a terminal. Suppressed under `--json`.
    pub fn verbatim(self, text: &str) -> std::io::Result<()> {
        if std::io::stdout().is_terminal() || self.json {
            return self.line(text);
        }
        Self::put(writeln!(std::io::stdout(), "{text}"))
    }

    fn put(written: std::io::Result<()>) -> std::io::Result<()> {
        match written {
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
        Self::put(writeln!(std::io::stdout(), "{}", text::json(&text)))
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
        let _closed = writeln!(AutoStream::new(std::io::stderr(), self.color), "{}", calm(&text.to_string()));
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

/// The text with everything that would steer a terminal made visible, but for the colours of [`Tone`]; what a text turns
/// on ends with it.
fn calm(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut colored = false;
    let mut rest = text;
    while let Some(at) = rest.find('\u{1b}') {
        out.push_str(&text::clean(&rest[..at]));
        let code = color(&rest[at..]);
        if code.is_empty() {
            out.push_str(&text::clean(&rest[at..=at]));
            rest = &rest[at + 1..];
        } else {
            colored = true;
            out.push_str(code);
            rest = &rest[at + code.len()..];
        }
    }
    out.push_str(&text::clean(rest));
    if colored && !out.ends_with("\u{1b}[0m") {
        out.push_str("\u{1b}[0m");
    }
    out
}

/// The code of a tone at the start of `text`, or nothing.
fn color(text: &str) -> &str {
    let Some(parameters) = text.strip_prefix("\u{1b}[") else { return "" };
    let Some(end) = parameters.find(|c: char| !c.is_ascii_digit() && c != ';') else { return "" };
    let known = |p: &str| matches!(p, "0" | "1" | "2" | "22" | "31" | "32" | "33" | "39");
    if parameters[end..].starts_with('m') && parameters[..end].split(';').all(known) { &text[..end + 3] } else { "" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_colours_pass_and_foreign_escapes_do_not() {
        for tone in [Tone::Good, Tone::Bad, Tone::Warn, Tone::Dim, Tone::Strong] {
            let painted = tone.paint("x");
            assert!(calm(&painted).starts_with(painted.trim_end_matches("\u{1b}[0m")), "{painted:?}");
            assert!(!calm(&painted).contains('␛'), "{painted:?}");
        }
        assert_eq!(calm("a\u{1b}[2Jb\u{1b}]0;t\u{7}"), "a␛[2Jb␛]0;t␇");
        assert_eq!(calm("a\u{1b}[8mhidden"), "a␛[8mhidden");
        assert_eq!(calm("\u{1b}[31mred for ever"), "\u{1b}[31mred for ever\u{1b}[0m");
        assert_eq!(calm("\u{1b}"), "␛");
        assert_eq!(calm("\u{1b}[31"), "␛[31");
        assert_eq!(calm("x\u{202e}y"), "x⟨U+202E⟩y");
    }
}
