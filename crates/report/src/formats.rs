//! A run as Markdown, JSON and CSV. Must not know where the text goes.

use std::fmt::Write as _;

use ksearch_world::NodeId;

use crate::build::Loaded;
use crate::model::{Report, Shown};
use crate::words;

/// Everything as JSON, single nodes included.
pub fn json(run: &Loaded) -> Result<String, serde_json::Error> {
    let report = run.report();
    let details: Vec<_> =
        report.tree.iter().filter_map(|n| NodeId::parse(&n.id)).filter_map(|id| run.node(id)).collect();
    let mut value = serde_json::to_value(&report)?;
    if let Some(object) = value.as_object_mut() {
        object.insert("details".to_owned(), serde_json::to_value(details)?);
    }
    serde_json::to_string_pretty(&value).map(|text| text + "\n")
}

/// The candidates that were judged in full, one a row.
pub fn csv(report: &Report) -> String {
    let mut out =
        String::from("number,candidate,node,action,status,time,unit,kind,on,ci_low,ci_high,bottleneck,at_s,values\n");
    for t in &report.trials {
        let time = t.time.as_ref();
        let number = |v: Option<f64>| v.map(|v| v.to_string()).unwrap_or_default();
        let ci = time.and_then(|f| f.ci);
        let values: Vec<String> = t.values.iter().map(|(k, v)| format!("{k}={v}")).collect();
        let row = [
            t.number.to_string(),
            t.candidate.clone(),
            t.node.clone(),
            t.title.clone(),
            t.status.clone(),
            number(time.map(|f| f.value)),
            time.map(|f| f.unit.clone()).unwrap_or_default(),
            time.map(|f| f.kind.to_string()).unwrap_or_default(),
            time.map(|f| f.on.clone()).unwrap_or_default(),
            number(ci.map(|c| c[0])),
            number(ci.map(|c| c[1])),
            t.bottleneck.map(|b| b.to_string()).unwrap_or_default(),
            format!("{:.3}", t.at_s),
            values.join(" "),
        ];
        let row: Vec<String> = row.iter().map(|field| csv_field(field)).collect();
        out.push_str(&row.join(","));
        out.push('\n');
    }
    out
}

/// Quoted where it must be; what a spreadsheet would take for a formula is led by an apostrophe.
fn csv_field(text: &str) -> String {
    let formula = text.starts_with(['=', '+', '-', '@']) && text.parse::<f64>().is_err();
    let text = if formula { format!("'{text}") } else { text.to_owned() };
    if text.contains([',', '"', '\n', '\'']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}

/// The report for people who read in a terminal or send by mail.
pub fn markdown(report: &Report) -> String {
    let (run, head) = (&report.run, &report.headline);
    let mut out = format!("# {}: {} on {}\n\n", md(&run.name), md(&run.task), md(&run.target));
    let _ = writeln!(
        out,
        "{} of {} candidates judged in full and {} settings screened in {}, from {}; planner {}, coder {}, seed {}.\n",
        run.evaluations,
        run.budget,
        run.screens,
        words::duration(run.wall_s),
        words::moment(run.began_ms),
        md(&run.planner),
        md(&run.coder),
        run.seed
    );
    out.push_str("| | |\n|---|---|\n");
    let mut row = |name: &str, value: String| {
        let _ = writeln!(out, "| {name} | {} |", md(&value));
    };
    let none = |why: Option<&str>| format!("none: {}", why.unwrap_or_default());
    match head.best.known() {
        Some(best) => {
            row("best", words::figure(&best.time));
            row("against naive", best.speedup.as_ref().map_or_else(|| none(head.naive.why()), words::figure));
            row(
                "against the best library kernel",
                best.ratio.as_ref().map_or_else(|| none(head.baseline.why()), words::figure),
            );
            row("bound by", best.bottleneck.map(|b| b.to_string()).unwrap_or_default());
            row("strategies", best.strategies.join(", "));
        }
        None => row("best", none(head.best.why())),
    }
    row("naive", head.naive.known().map_or_else(|| none(head.naive.why()), words::figure));
    row(
        "baseline",
        head.baseline
            .known()
            .map_or_else(|| none(head.baseline.why()), |b| format!("{}: {}", b.name, words::figure(&b.time))),
    );
    row("floor", head.floor.known().map_or_else(|| none(head.floor.why()), words::figure));
    row(
        "held-out",
        head.heldout.known().map_or_else(|| none(head.heldout.why()), |(p, t)| format!("{p} of {t} passed")),
    );

    out.push_str(
        "\n## How the time fell\n\n| action | time | gain | predicted | bound by |\n|---|---:|---:|---:|---|\n",
    );
    for s in &report.steps {
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} |",
            md(&s.title),
            md(&words::figure(&s.time)),
            s.gain.map(words::factor).unwrap_or_default(),
            s.predicted.map(words::factor).unwrap_or_default(),
            s.bottleneck.map(|b| b.to_string()).unwrap_or_default()
        );
    }
    out.push_str("\n## Where the time goes\n\n");
    match &report.split {
        Shown::Known(split) => {
            let _ =
                writeln!(out, "{} In {}.\n\n| limiter | naive | best |\n|---|---:|---:|", split.note, md(&split.label));
            for (name, before, after) in &split.terms {
                let _ = writeln!(out, "| {} | {} | {} |", md(name), words::number(*before), words::number(*after));
            }
            let _ = writeln!(out, "| all | {} | {} |", words::number(split.total.0), words::number(split.total.1));
        }
        Shown::Missing { missing } => {
            let _ = writeln!(out, "Not shown: {missing}.");
        }
    }
    out.push_str("\n## Proof\n\n");
    match &report.proof {
        Shown::Known(proof) => {
            for open in &proof.open {
                let _ = writeln!(out, "- Not proven: {}", md(open));
            }
            for set in &proof.sets {
                let _ = writeln!(out, "\n### {} (seed {})\n\n{}\n", md(&set.name), set.seed, md(&set.outcome));
                out.push_str("| workload | outcome | time | error, of what is allowed |\n|---|---|---:|---:|\n");
                for w in &set.workloads {
                    let time = w.time.as_ref().map_or_else(|| "not timed".to_owned(), words::figure);
                    let error = w.error.map(|e| format!("{:.1}%", e * 100.0)).unwrap_or_default();
                    let _ = writeln!(out, "| {} | {} | {} | {error} |", md(&w.label), w.status, md(&time));
                }
                out.push('\n');
                for c in &set.checks {
                    let _ = writeln!(out, "- {}: {} of {} held. {}", md(&c.name), c.held, c.made, md(&c.example));
                }
            }
        }
        Shown::Missing { missing } => {
            let _ = writeln!(out, "Not shown: {missing}.");
        }
    }
    out.push_str("\n## How to reproduce\n\n");
    for (why, command) in &report.reproduce.commands {
        let _ = writeln!(out, "{}:\n\n    {command}\n", md(why));
    }
    for (name, version) in &report.reproduce.versions {
        let _ = writeln!(out, "- {}: {}", md(name), md(version));
    }
    if let Shown::Known(source) = &report.source {
        // A fence longer than any in the source cannot be closed by it.
        let longest = source.lines.iter().map(|l| l.text.chars().take_while(|c| *c == '`').count()).max().unwrap_or(0);
        let fence = "`".repeat(longest.max(2) + 1);
        let _ = writeln!(out, "\n## The best kernel: {}\n\n{fence}cpp", md(&source.path));
        for line in &source.lines {
            let _ = writeln!(out, "{}", line.text);
        }
        let _ = writeln!(out, "{fence}");
    }
    out
}

/// Foreign text in Markdown: what would be markup is escaped.
fn md(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '#' | '!') {
            out.push('\\');
        }
        out.push(if c == '\n' { ' ' } else { c });
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_and_formulas_disarmed() {
        assert_eq!(csv_field("a, \"b\""), "\"a, \"\"b\"\"\"");
        assert_eq!(csv_field("=cmd()"), "\"'=cmd()\"");
        assert_eq!(csv_field("-1.5"), "-1.5");
        assert_eq!(md("<b>|[x](y)"), "\\<b\\>\\|\\[x\\](y)");
    }
}
