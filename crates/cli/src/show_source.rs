//! Excerpts of a candidate's source with a mark under the place. Knows text and positions only.

use ksearch_msl::SourcePos;
use ksearch_task::Candidate;

use crate::printer::Tone;

/// The line at `pos`, numbered, with a caret under its column.
pub fn excerpt(candidate: &Candidate, pos: &SourcePos) -> String {
    let head = format!(" {} {pos}", Tone::Dim.paint("-->"));
    let file = candidate.files.iter().find(|f| f.path == pos.file).or_else(|| candidate.files.first());
    let Some(line) = file.and_then(|f| f.text.lines().nth((pos.line as usize).saturating_sub(1))) else { return head };
    let shown: String = line.chars().map(|c| if c == '\t' { ' ' } else { c }).filter(|c| !c.is_control()).collect();
    let number = pos.line.to_string();
    let pad = " ".repeat(number.len());
    let mut out = format!("{head}\n {pad} |\n {number} | {shown}");
    if pos.column > 0 {
        let indent = " ".repeat((pos.column as usize).saturating_sub(1));
        out = format!("{out}\n {pad} | {indent}{}", Tone::Bad.paint("^"));
    }
    out
}
