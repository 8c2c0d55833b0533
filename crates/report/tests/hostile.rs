//! Texts that no honest run holds, in every place where a text may stand: nothing breaks out of the page, the other
//! formats or the terminal.

#![allow(clippy::unwrap_used, missing_docs)]

use std::path::Path;

use ksearch_report::terminal::Live;
use ksearch_report::{Loaded, Plot, formats, page};
use ksearch_search::Journal;

#[path = "support/synthetic.rs"]
mod synthetic;

const NASTY: &str = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\u{1b}[2J\u{1b}]0;owned\u{7}\u{202e}txt.exe\u{2066}\u{0}'\"`|=cmd()";

fn hostile(long: usize, candidates: u32) -> Loaded {
    let folder = tempfile::tempdir().unwrap();
    let mut journal = Journal::create(&folder.path().join("journal.db")).unwrap();
    let texts = synthetic::Texts {
        task: NASTY.into(),
        title: NASTY.into(),
        source: format!("// {NASTY}\n// {}\nkernel void k() {{}}\n", "x".repeat(long)),
        answer: format!("{NASTY}\n{}", "y".repeat(long)),
    };
    synthetic::Synthetic::new(texts).write(&mut journal, candidates, true);
    Loaded::fold("hostile-1", Path::new("hostile-1"), &journal.events().unwrap()).unwrap()
}

/// No control character but line feeds and tabs, and no mark that reorders what is around it.
fn is_calm(text: &str) -> bool {
    !text.chars().any(|c| {
        (c.is_control() && c != '\n' && c != '\t')
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}')
    })
}

#[test]
fn a_page_cannot_be_broken_out_of() {
    let html = page::stand_alone(&hostile(100, 60));
    assert!(is_calm(&html));
    // The page's own script and its data, and nothing else.
    assert_eq!(html.matches("<script").count(), 2);
    assert_eq!(html.matches("</script").count(), 2);
    assert!(!html.contains("<img"));
    // The text is there, as text.
    assert!(html.contains("&lt;/script&gt;&lt;script&gt;alert(1)"));
    assert!(html.contains("\\u003c/script>\\u003cscript>alert(1)"));
}

#[test]
fn a_line_of_five_megabytes_is_cut() {
    let run = hostile(5_000_000, 4);
    let html = page::stand_alone(&run);
    assert!(html.len() < 2_000_000, "{}", html.len());
    assert!(html.contains("characters more)"));
    assert!(formats::markdown(&run.report()).len() < 1_000_000);
}

#[test]
fn other_formats_and_the_terminal_stay_calm() {
    let run = hostile(100, 60);
    let report = run.report();
    for text in [
        formats::markdown(&report),
        formats::csv(&report),
        formats::json(&run).unwrap(),
        Live::of(&[], &run.view.state).lines(80).join("\n"),
    ] {
        assert!(is_calm(&text));
    }
    // Outside of code, where it is plain text, every sign of markup is escaped.
    let prose = formats::markdown(&report);
    let prose = prose.split("```").next().unwrap().lines().filter(|l| !l.starts_with("    "));
    assert!(prose.clone().count() > 20);
    for line in prose {
        assert!(!line.replace("\\<", "").contains('<'), "{line}");
    }
    for plot in Plot::ALL.into_iter().filter(|p| *p != Plot::Ablation) {
        let svg = plot.stand_alone(&report).unwrap();
        assert!(is_calm(&svg) && !svg.contains("<script") && !svg.contains("<img"), "{}", plot.name());
    }
}

#[test]
fn csv_rows_have_as_many_fields_as_the_head() {
    let csv = formats::csv(&hostile(10, 60).report());
    let fields = |line: &str| {
        let mut quoted = false;
        line.chars()
            .filter(|c| {
                if *c == '"' {
                    quoted = !quoted;
                }
                *c == ',' && !quoted
            })
            .count()
    };
    let expected = fields(csv.lines().next().unwrap());
    assert!(csv.lines().count() > 50);
    for line in csv.lines() {
        assert_eq!(fields(line), expected, "{line}");
    }
}
