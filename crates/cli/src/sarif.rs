//! SARIF 2.1.0 (OASIS, 2020): findings in the form that code hosts read. Only the parts that carry something. Knows
//! findings, not where they come from.

use std::fmt::Write as _;

use ksearch_msl::{Severity, SourcePos};
use serde::Serialize;

use crate::commands::Finding;

/// A log file.
#[derive(Debug, Serialize)]
pub struct Log {
    #[serde(rename = "$schema")]
    schema: &'static str,
    version: &'static str,
    runs: [Run; 1],
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Run {
    tool: Tool,
    column_kind: &'static str,
    results: Vec<Item>,
}

#[derive(Debug, Serialize)]
struct Tool {
    driver: Driver,
}

#[derive(Debug, Serialize)]
struct Driver {
    name: &'static str,
    version: &'static str,
    rules: Vec<Rule>,
}

#[derive(Debug, Serialize)]
struct Rule {
    id: String,
}

/// A result.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Item {
    rule_id: String,
    rule_index: usize,
    level: &'static str,
    message: Message,
    locations: Vec<Location>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    related_locations: Vec<Location>,
}

#[derive(Debug, Serialize)]
struct Message {
    text: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Location {
    physical_location: Physical,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<Message>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Physical {
    artifact_location: Artifact,
    region: Region,
}

#[derive(Debug, Serialize)]
struct Artifact {
    uri: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Region {
    start_line: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    start_column: Option<u32>,
}

/// Findings as a log of one run.
pub fn log(findings: &[Finding]) -> Log {
    let mut rules: Vec<String> = Vec::new();
    let results = findings
        .iter()
        .map(|f| {
            let rule_index = rules.iter().position(|r| *r == f.rule).unwrap_or_else(|| {
                rules.push(f.rule.clone());
                rules.len() - 1
            });
            let text = match &f.help {
                Some(help) => format!("{}. {help}", f.message.trim_end_matches('.')),
                None => f.message.clone(),
            };
            Item {
                rule_id: f.rule.clone(),
                rule_index,
                level: match f.severity {
                    Severity::Error => "error",
                    Severity::Warning => "warning",
                    Severity::Note => "note",
                },
                message: Message { text },
                locations: f.pos.iter().map(|p| location(p, None)).collect(),
                related_locations: f.other.iter().map(|p| location(p, Some("the other place"))).collect(),
            }
        })
        .collect();
    Log {
        schema: "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
        version: "2.1.0",
        runs: [Run {
            tool: Tool {
                driver: Driver {
                    name: "ksearch",
                    version: env!("CARGO_PKG_VERSION"),
                    rules: rules.into_iter().map(|id| Rule { id }).collect(),
                },
            },
            column_kind: "unicodeCodePoints",
            results,
        }],
    }
}

fn location(pos: &SourcePos, message: Option<&str>) -> Location {
    Location {
        physical_location: Physical {
            artifact_location: Artifact { uri: uri(&pos.file) },
            region: Region { start_line: pos.line.max(1), start_column: (pos.column > 0).then_some(pos.column) },
        },
        message: message.map(|m| Message { text: m.to_owned() }),
    }
}

/// A path as a URI reference (RFC 3986): what may not stand in one is percent-encoded.
fn uri(path: &str) -> String {
    let mut out = String::new();
    for b in path.replace('\\', "/").bytes() {
        if b.is_ascii_alphanumeric() || b"-._~/".contains(&b) {
            out.push(char::from(b));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(out, "%{b:02X}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_uris() {
        assert_eq!(uri("src/a b#1.metal"), "src/a%20b%231.metal");
        assert_eq!(uri("C:\\k.metal"), "C%3A/k.metal");
    }
}
