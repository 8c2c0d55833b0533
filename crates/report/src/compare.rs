//! Two candidates side by side, of one run or of two: times per workload, where the time goes, the sources. Must not
//! know which is better.

use std::fmt::Write as _;

use indexmap::IndexMap;
use ksearch_search::view::best;
use ksearch_task::{CandidateId, Figure};
use ksearch_world::NodeId;

use crate::build::{Loaded, candidate_text};
use crate::model::{CandidateDetail, VerdictDetail};
use crate::text::html;
use crate::words;

/// One side: a run and one of its candidates.
pub struct Side<'a> {
    run: &'a Loaded,
    id: CandidateId,
    detail: CandidateDetail,
}

impl<'a> Side<'a> {
    /// The candidate of node `wanted` (`n12`, `naive`, `best`, or empty for the best), or the one whose address begins with
    /// it; or what is wrong.
    pub fn find(run: &'a Loaded, wanted: &str) -> Result<Self, String> {
        let state = &run.view.state;
        let id = match wanted {
            "" | "best" => best(state).map(|b| b.candidate),
            "naive" => state.world.root().outcome().map(|o| o.candidate.clone()),
            other if NodeId::parse(other).is_some() => {
                let node = NodeId::parse(other).and_then(|n| state.world.get(n));
                node.and_then(|n| n.outcome()).map(|o| o.candidate.clone())
            }
            other => {
                let mut found = state.candidates.keys().filter(|id| id.0.starts_with(other));
                let first = found.next().cloned();
                if found.next().is_some() {
                    return Err(format!("several candidates begin with `{other}`; give more of it"));
                }
                first
            }
        };
        let id = id.ok_or_else(|| format!("run {} has no candidate `{wanted}`", run.view.name))?;
        let detail = run.candidate(&id).ok_or_else(|| format!("run {} does not hold {id}", run.view.name))?;
        Ok(Self { run, id, detail })
    }

    fn name(&self) -> String {
        format!("{} {}", self.run.view.name, self.id.short())
    }

    fn verdict(&self) -> Option<&VerdictDetail> {
        self.detail.verdict.known()
    }

    fn time(&self) -> Option<&Figure> {
        self.verdict()?.time.as_ref()
    }
}

/// The comparison as HTML.
pub fn compare(a: &Side<'_>, b: &Side<'_>) -> String {
    let mut out = String::new();
    let _ = write!(out, "<h1>{} and {}</h1>", html(&a.name()), html(&b.name()));
    let tasks = (&a.run.view.state.config.task, &b.run.view.state.config.task);
    if tasks.0 != tasks.1 {
        let _ = write!(
            out,
            "<p class=\"missing\">They solve different tasks: {} and {}. Times cannot be compared.</p>",
            html(tasks.0),
            html(tasks.1)
        );
    }
    let labels = (a.time().map(words::label), b.time().map(words::label));
    if labels.0 != labels.1 {
        out.push_str("<p class=\"missing\">Their times have different origins, so no ratio is shown.</p>");
    }
    let comparable = tasks.0 == tasks.1 && labels.0 == labels.1;
    let rows = rows(a, b);
    out.push_str("<section><h2>Times</h2><div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Times\"><table><thead><tr><th>Workload</th>");
    let _ = write!(
        out,
        "<th class=\"n\">{}</th><th class=\"n\">{}</th><th class=\"n\">first over second</th></tr></thead><tbody>",
        html(&a.name()),
        html(&b.name())
    );
    for (name, x, y) in rows {
        let ratio = match (&x, &y) {
            (Some(x), Some(y)) if comparable && y.value > 0.0 => words::factor(x.value / y.value),
            _ => String::new(),
        };
        let shown = |f: Option<Figure>| f.map_or_else(|| "–".to_owned(), |f| html(&words::figure(&f)));
        let _ = write!(
            out,
            "<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{ratio}</td></tr>",
            html(&name),
            shown(x),
            shown(y)
        );
    }
    out.push_str("</tbody></table></div></section>");
    out.push_str(&profiles(a, b));
    let before = candidate(a);
    let after = candidate(b);
    let diff = crate::build::unified(&before, &after, &a.name(), &b.name());
    out.push_str("<section><h2>Sources</h2>");
    if diff.is_empty() {
        out.push_str("<p>The sources are the same.</p>");
    } else {
        out.push_str("<pre class=\"box diff\" tabindex=\"0\" role=\"group\" aria-label=\"Difference of the sources\">");
        for line in diff.lines() {
            let class = match line.as_bytes() {
                [b'+', b'+', ..] | [b'-', b'-', ..] | [b'@', ..] => "at",
                [b'+', ..] => "add",
                [b'-', ..] => "del",
                _ => "",
            };
            let _ = write!(out, "<span class=\"{class}\">{}</span>", html(line));
        }
        out.push_str("</pre>");
    }
    out.push_str("</section>");
    out
}

fn candidate(side: &Side<'_>) -> String {
    side.run.view.state.candidates.get(&side.id).map(|r| candidate_text(&r.candidate)).unwrap_or_default()
}

/// Name, first, second: all workloads together, then each.
fn rows(a: &Side<'_>, b: &Side<'_>) -> Vec<(String, Option<Figure>, Option<Figure>)> {
    let mut rows = vec![("all (geometric mean)".to_owned(), a.time().cloned(), b.time().cloned())];
    let mut by_label: IndexMap<String, (Option<Figure>, Option<Figure>)> = IndexMap::new();
    for w in a.verdict().iter().flat_map(|v| &v.workloads) {
        by_label.entry(w.label.clone()).or_default().0.clone_from(&w.time);
    }
    for w in b.verdict().iter().flat_map(|v| &v.workloads) {
        by_label.entry(w.label.clone()).or_default().1.clone_from(&w.time);
    }
    rows.extend(by_label.into_iter().map(|(label, (x, y))| (label, x, y)));
    rows
}

fn profiles(a: &Side<'_>, b: &Side<'_>) -> String {
    let of = |s: &Side<'_>| s.verdict().and_then(|v| v.profile.clone());
    let (Some(x), Some(y)) = (of(a), of(b)) else {
        return "<section><h2>Profiles</h2><p class=\"missing\">Not shown: one of them has no profile.</p></section>"
            .to_owned();
    };
    let mut out = String::from(
        "<section><h2>Profiles</h2><p>Of the workload that weighs most.</p><div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Profiles\"><table><thead><tr><th>Figure</th><th class=\"n\">first</th><th class=\"n\">second</th></tr></thead><tbody>",
    );
    let mut row = |name: &str, p: &str, q: &str| {
        let _ = write!(
            out,
            "<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>",
            html(name),
            html(p),
            html(q)
        );
    };
    row("bound by", &x.bottleneck.to_string(), &y.bottleneck.to_string());
    for (kind, unit, p, q) in [
        ("time: ", " µs", &x.terms, &y.terms),
        ("bytes: ", "", &x.bytes, &y.bytes),
        ("instructions: ", "", &x.instructions, &y.instructions),
    ] {
        let names: indexmap::IndexSet<&String> = p.keys().chain(q.keys()).collect();
        for name in names {
            let shown = |m: &IndexMap<String, f64>| {
                m.get(name).map_or_else(|| "–".to_owned(), |v| format!("{}{unit}", words::number(*v)))
            };
            row(&format!("{kind}{}", name.replace('_', " ")), &shown(p), &shown(q));
        }
    }
    for (name, value) in &x.facts {
        let other = y.facts.iter().find(|(n, _)| n == name).map_or("–", |(_, v)| v);
        row(name, value, other);
    }
    out.push_str("</tbody></table></div></section>");
    out
}
