//! The page of a run: its sections as HTML, and the whole as one file that needs nothing else. What is interactive is
//! drawn by `assets/page.js` from data in the page. Must not know how a page is delivered.

use std::fmt::Write as _;

use ksearch_task::Figure;
use serde_json::{Value, json};

use crate::build::Loaded;
use crate::model::{Report, RoleUse, Shown, Standing};
use crate::plots::{self, Plot};
use crate::text::{html, json_for_script};
use crate::words;

/// Style of pages.
pub const STYLE: &str = include_str!("assets/page.css");
/// What makes pages interactive.
pub const SCRIPT: &str = include_str!("assets/page.js");

/// A file stays below this, so that it can be sent by mail; single nodes are left out before it grows further.
const MOST_BYTES: usize = 1_900_000;

/// A section: its address within the page, its title, its content.
pub struct Section {
    /// Identifier.
    pub id: &'static str,
    /// Title; none for the head of the page.
    pub title: &'static str,
    /// HTML.
    pub body: String,
}

/// The report as one file: no network, no other file.
pub fn stand_alone(run: &Loaded) -> String {
    let report = run.report();
    let mut data = data(&report);
    let head = head(&report);
    let sections = sections(&report);
    let spent = head.len()
        + sections.iter().map(|s| s.body.len()).sum::<usize>()
        + json_for_script(&data.to_string()).len()
        + STYLE.len()
        + SCRIPT.len();
    let (details, left_out) = details(run, &report, MOST_BYTES.saturating_sub(spent));
    if let Some(data) = data.as_object_mut() {
        data.insert("details".to_owned(), details);
        data.insert("left_out".to_owned(), json!(left_out));
    }
    let data = json_for_script(&data.to_string());
    // Whoever wrote a text that stands in this page did not know this value, so no script of theirs can run.
    let nonce = blake3::hash(data.as_bytes()).to_hex();
    let nonce = nonce.get(..24).unwrap_or_default();
    let title = html(&title(&report));
    let navigation = navigation(&sections);
    let body = body(&sections);
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'nonce-{nonce}'; script-src 'nonce-{nonce}'; img-src data:; base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"referrer\" content=\"no-referrer\">\n\
         <link rel=\"icon\" href=\"data:,\">\n<title>{title}</title>\n\
         <style nonce=\"{nonce}\">{}{STYLE}</style>\n</head>\n<body>\n<a class=\"skip\" href=\"#content\">To the content</a>\n\
         {head}{navigation}<main id=\"content\">\n{body}</main>\n{}\
         <script type=\"application/json\" id=\"data\">{data}</script>\n<script nonce=\"{nonce}\">{SCRIPT}</script>\n</body>\n</html>\n",
        plots::STYLE,
        footer(),
    )
}

/// Title of the page.
pub fn title(report: &Report) -> String {
    format!("{}: {} on {}", report.run.name, report.run.task, report.run.target)
}

/// The last line of a page.
pub fn footer() -> String {
    format!("<footer>Made by K-Search {} from the journal of the run.</footer>\n", env!("CARGO_PKG_VERSION"))
}

/// Links to the sections.
pub fn navigation(sections: &[Section]) -> String {
    let mut out = String::from("<nav class=\"bar\" aria-label=\"Sections\"><div>");
    for s in sections {
        let _ = write!(out, "<a href=\"#{}\">{}</a>", s.id, s.title);
    }
    out.push_str("</div></nav>\n");
    out
}

/// The sections as HTML.
pub fn body(sections: &[Section]) -> String {
    sections
        .iter()
        .map(|s| format!("<section id=\"{}\" aria-labelledby=\"h-{0}\"><h2 id=\"h-{0}\">{}</h2>\n<div class=\"content\">{}</div></section>\n", s.id, s.title, s.body))
        .collect::<Vec<_>>()
        .concat()
}

/// The head: what was found, with labels and intervals.
pub fn head(report: &Report) -> String {
    let (run, h) = (&report.run, &report.headline);
    let headline = match h.best.known() {
        Some(best) => match (&best.ratio, &best.speedup) {
            (Some(ratio), Some(speedup)) => format!(
                "{}: {} as fast as the best library kernel, {} as the naive one",
                run.task,
                words::value(ratio),
                words::value(speedup)
            ),
            (Some(ratio), None) => format!("{}: {} as fast as the best library kernel", run.task, words::value(ratio)),
            (None, Some(speedup)) => format!("{}: {} as fast as the naive kernel", run.task, words::value(speedup)),
            (None, None) => format!("{}: {}", run.task, words::value(&best.time)),
        },
        None => format!("{}: no kernel has passed", run.task),
    };
    let status = match run.status.as_str() {
        "running" => "<span class=\"tag live\">running or cut off</span>".to_owned(),
        other => format!("<span class=\"tag\">{}</span>", html(other)),
    };
    let mut figures = String::new();
    match h.best.known() {
        Some(best) => {
            let bound = best.bottleneck.map(|b| format!("bound by {b}")).unwrap_or_default();
            let again = if best.confirmed { "judged again with fresh inputs" } else { "not judged again yet" };
            card(&mut figures, "Best", &figure(&best.time), &[&words::label(&best.time), &bound, again]);
            match &best.speedup {
                Some(s) => card(&mut figures, "Against naive", &figure(s), &[&of(h.naive.known(), "naive")]),
                None => missing_card(&mut figures, "Against naive", h.naive.why()),
            }
            match (&best.ratio, h.baseline.known()) {
                (Some(r), Some(b)) => {
                    card(&mut figures, "Against the best library kernel", &figure(r), &[&of(Some(&b.time), &b.name)]);
                }
                _ => missing_card(&mut figures, "Against the best library kernel", h.baseline.why()),
            }
            match (best.of_floor, h.floor.known()) {
                (Some(share), Some(floor)) => card(
                    &mut figures,
                    "Of what is possible",
                    &format!("{:.0}%", share * 100.0),
                    &[&of(Some(floor), "physical floor")],
                ),
                _ => missing_card(&mut figures, "Of what is possible", h.floor.why()),
            }
        }
        None => missing_card(&mut figures, "Best", h.best.why()),
    }
    match h.heldout.known() {
        Some((passed, total)) => {
            let tone = if passed == total { "good" } else { "bad" };
            card(
                &mut figures,
                "Held-out workloads",
                &format!("<span class=\"{tone}\">{passed} of {total}</span>"),
                &["passed; the search never saw them"],
            );
        }
        None => missing_card(&mut figures, "Held-out workloads", h.heldout.why()),
    }
    let stopped = run.stopped.as_ref().map(|s| format!(" It ended because {s}.")).unwrap_or_default();
    let cost = match run.cost {
        (_, 0, 0) => String::new(),
        (usd, tokens_in, tokens_out) => {
            format!(" Models took {tokens_in} tokens in and {tokens_out} out, {usd:.2} US dollars by list price.")
        }
    };
    format!(
        "<header class=\"top\" id=\"top\"><div class=\"eyebrow\">K-Search · run {} · {} · {} {status}</div>\n<h1>{}</h1>\n\
         <p class=\"lead\">{}</p>\n<dl class=\"figures\">{figures}</dl></header>\n",
        html(&run.name),
        html(&run.target),
        words::moment(run.began_ms),
        html(&headline),
        html(&format!(
            "{} of {} judged in full and {} screened in {}; planner {}, coder {}, seed {}.{stopped}{cost}",
            run.evaluations,
            words::count(run.budget as usize, "candidate"),
            words::count(run.screens as usize, "setting"),
            words::duration(run.wall_s),
            run.planner,
            run.coder,
            run.seed,
        )),
    )
}

fn figure(f: &Figure) -> String {
    let interval = words::interval(f).map(|i| format!(" <small>{}</small>", html(&i))).unwrap_or_default();
    format!("{}{interval}", html(&words::value(f)))
}

fn of(figure: Option<&Figure>, name: &str) -> String {
    figure.map(|f| format!("{name}: {}", words::figure(f))).unwrap_or_default()
}

fn card(out: &mut String, name: &str, value: &str, notes: &[&str]) {
    let notes: Vec<String> =
        notes.iter().filter(|n| !n.is_empty()).map(|n| format!("<small>{}</small>", html(n))).collect();
    let notes = notes.concat();
    let _ = write!(out, "<div><dt>{}</dt><dd>{value}{notes}</dd></div>", html(name));
}

fn missing_card(out: &mut String, name: &str, why: Option<&str>) {
    let _ = write!(
        out,
        "<div><dt>{}</dt><dd class=\"none\">none<small>{}</small></dd></div>",
        html(name),
        html(why.unwrap_or_default())
    );
}

/// All sections in order.
pub fn sections(report: &Report) -> Vec<Section> {
    let plot = |p: Plot, caption: &str| match p.draw(report) {
        Ok(svg) => format!(
            "<figure><div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Plot: {}\">{svg}</div><figcaption>{}</figcaption></figure>",
            p.name(),
            html(caption)
        ),
        Err(why) => missing(&why),
    };
    let roofline_note = report.roofline.known().map_or("", |r| r.note.as_str()).to_owned();
    let split_note = report.split.known().map_or("", |s| s.note.as_str()).to_owned();
    vec![
        Section {
            id: "fall",
            title: "How the time fell",
            body: plot(
                Plot::Waterfall,
                "From the naive kernel to the best one, one action per row; the factor is against the row before. Times are geometric means over the search workloads.",
            ),
        },
        Section {
            id: "progress",
            title: "Progress",
            body: plot(
                Plot::Progress,
                "Each dot is a candidate that passed, each cross one that did not; the line is the best so far. Dashed lines: where it started, what a library reaches, what cannot be beaten.",
            ),
        },
        Section { id: "tree", title: "Search tree", body: tree_body() },
        Section { id: "candidates", title: "Candidates", body: candidates_body(report) },
        Section { id: "roofline", title: "Roofline", body: plot(Plot::Roofline, &roofline_note) },
        Section { id: "limiters", title: "Where the time goes", body: plot(Plot::Split, &split_note) },
        Section { id: "source", title: "The best kernel", body: source(report) },
        Section { id: "proof", title: "Proof", body: proof(report) },
        Section {
            id: "ablation",
            title: "Ablation",
            body: plot(
                Plot::Ablation,
                "What parts of the tool bring: the naive kernel and searches with a part switched off, with the interval over seeds; then the strategies of the best kernel, added one after another and left out one at a time.",
            ),
        },
        Section { id: "reproduce", title: "How to reproduce", body: reproduce(report) },
    ]
}

fn missing(why: &str) -> String {
    format!("<p class=\"missing\">Not shown: {}.</p>", html(why.trim_end_matches('.')))
}

fn tree_body() -> String {
    "<p>Every action that was proposed. Choose one to see its hypothesis, what was predicted, what came of it, and the difference to its parent.</p>\n\
     <div class=\"tools\"><button type=\"button\" data-do=\"in\" aria-label=\"Zoom in\">+</button><button type=\"button\" data-do=\"out\" aria-label=\"Zoom out\">−</button>\
     <button type=\"button\" data-do=\"fit\">Whole tree</button><button type=\"button\" data-do=\"best\">Way to the best</button>\
     <label><input type=\"checkbox\" id=\"show-open\"> actions that were not tried</label><label><input type=\"checkbox\" id=\"show-outline\"> as a list</label></div>\n\
     <div class=\"split\"><div><div class=\"map\" id=\"map\"></div><div class=\"list outline\" id=\"outline\" hidden></div>\
     <ul class=\"legend\"><li class=\"k-better\"><i></i>faster than its parent</li><li class=\"k-passed\"><i></i>right, not faster</li><li class=\"k-failed\"><i>×</i>failed</li><li><i></i>not tried</li><li>heavy line: way to the best</li></ul>\
     <p class=\"quiet small no-print\">Drag to move, pinch or Ctrl and wheel to zoom. With the keyboard: arrows go from node to node, + and − zoom, 0 shows all.</p></div>\
     <div class=\"box detail\" id=\"detail\" tabindex=\"0\" role=\"region\" aria-label=\"Chosen action\"></div></div>\
     <noscript><p class=\"missing\">The tree needs JavaScript; the table of steps and the proof do not.</p></noscript>"
        .to_owned()
}

fn candidates_body(report: &Report) -> String {
    format!(
        "<p>{}, in the order in which they were judged in full. Choose a heading to sort.</p>\n\
         <div class=\"tools\"><label>Find <input type=\"search\" id=\"find\" autocomplete=\"off\"></label>\
         <label>Status <select id=\"status\"><option value=\"\">all</option></select></label><span class=\"quiet small\" id=\"found\" role=\"status\"></span></div>\n\
         <div class=\"list trials\" id=\"trials\"></div>",
        words::count(report.trials.len(), "candidate")
    )
}

fn source(report: &Report) -> String {
    let source = match &report.source {
        Shown::Known(source) => source,
        Shown::Missing { missing: why } => return missing(why),
    };
    let mut rows = String::new();
    for (line, number) in source.lines.iter().zip(1..) {
        let class = if line.new { " class=\"new\"" } else { "" };
        let share = line.share.map(|s| format!("{:.1}%", s * 100.0)).unwrap_or_default();
        let notes = line.notes.join("; ");
        let _ = write!(
            rows,
            "<tr{class}><td>{number}</td><td>{share}</td><td>{}</td><td class=\"note\">{}</td></tr>",
            html(&line.text),
            html(&notes)
        );
    }
    format!(
        "<p>{}</p>\n<div class=\"source\" tabindex=\"0\" role=\"group\" aria-label=\"Source of the best kernel, {}\"><table><thead class=\"unseen\"><tr><th>Line</th><th>Share</th><th>Source</th><th>Remarks</th></tr></thead><tbody>{rows}</tbody></table></div>",
        html(&source.note),
        html(&source.path)
    )
}

fn proof(report: &Report) -> String {
    let proof = match &report.proof {
        Shown::Known(proof) => proof,
        Shown::Missing { missing: why } => return missing(why),
    };
    let mut out = String::from("<h3>What was not proven</h3><ul class=\"open\">");
    for open in &proof.open {
        let _ = write!(out, "<li>{}</li>", html(open));
    }
    out.push_str("</ul>");
    for set in &proof.sets {
        let (class, word) = if set.passed { ("good", "passed") } else { ("bad", "failed") };
        let _ = write!(
            out,
            "<h3>{} <span class=\"tag {class}\">{word}</span></h3><p class=\"quiet\">{}; seed of the inputs {}.</p>\
             <div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"{0}: workloads\"><table><thead><tr><th>Workload</th><th>Outcome</th><th class=\"n\">Time</th><th class=\"n\">Error, of what is allowed</th></tr></thead><tbody>",
            html(&capital(&set.name)),
            html(&set.outcome),
            set.seed
        );
        for w in &set.workloads {
            let _ = write!(
                out,
                "<tr><td class=\"mono\">{}</td><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>",
                html(&w.label),
                html(&w.status.replace('_', " ")),
                w.time
                    .as_ref()
                    .map_or_else(|| "<span class=\"quiet\">not timed</span>".to_owned(), |t| html(&words::figure(t))),
                w.error.map_or_else(String::new, |e| format!("{:.1}%", e * 100.0)),
            );
        }
        out.push_str("</tbody></table></div><ul class=\"checks\">");
        for c in &set.checks {
            let class = if c.held == c.made { "good" } else { "bad" };
            let _ = write!(
                out,
                "<li><span class=\"{class}\">{} of {}</span> <b>{}</b> <span class=\"quiet small\">{}</span></li>",
                c.held,
                c.made,
                html(&c.name.replace('_', " ")),
                html(&c.example)
            );
        }
        out.push_str("</ul>");
    }
    out
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|c| c.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

fn reproduce(report: &Report) -> String {
    let mut out = String::new();
    for (why, command) in &report.reproduce.commands {
        let _ = write!(
            out,
            "<h3>{}</h3><pre class=\"box\" tabindex=\"0\" role=\"group\" aria-label=\"Command\">{}</pre>",
            html(why),
            html(command)
        );
    }
    if !report.run.ledger.is_empty() {
        out.push_str(&ledger(&report.run.ledger));
    }
    out.push_str("<h3>Versions on record</h3><table><tbody>");
    for (name, version) in &report.reproduce.versions {
        let _ = write!(out, "<tr><th scope=\"row\">{}</th><td>{}</td></tr>", html(name), html(version));
    }
    out.push_str("</tbody></table>");
    out
}

/// What each role was asked and used.
fn ledger(roles: &[RoleUse]) -> String {
    let mut out = String::from(
        "<h3>What the roles used</h3><div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Use by role\"><table><thead><tr><th>Role</th><th class=\"n\">Requests</th><th class=\"n\">Failed</th><th class=\"n\">Exchanges</th><th class=\"n\">Tokens in</th><th class=\"n\">Tokens out</th><th class=\"n\">US dollars</th><th class=\"n\">Waited</th></tr></thead><tbody>",
    );
    for r in roles {
        let usd = r.usd.map_or_else(|| "price not known".to_owned(), |usd| format!("{usd:.2}"));
        let (requests, failed) = r.requests;
        let (tokens_in, tokens_out) = r.tokens;
        let cells = [
            requests.to_string(),
            failed.to_string(),
            r.exchanges.to_string(),
            tokens_in.to_string(),
            tokens_out.to_string(),
            usd,
            words::duration(r.seconds),
        ];
        let _ = write!(out, "<tr><th scope=\"row\">{}</th>", html(&r.role));
        for cell in cells {
            let _ = write!(out, "<td class=\"n\">{}</td>", html(&cell));
        }
        out.push_str("</tr>");
    }
    out + "</tbody></table></div>"
}

/// What `page.js` draws the tree and the list of candidates from: one short row each, so that ten thousand fit.
pub fn data(report: &Report) -> Value {
    let mut titles: indexmap::IndexSet<String> = indexmap::IndexSet::new();
    let index: std::collections::HashMap<&str, usize> =
        report.tree.iter().enumerate().map(|(i, n)| (n.id.as_str(), i)).collect();
    let place = |id: &str| index.get(id).copied();
    let nodes: Vec<Value> = report
        .tree
        .iter()
        .map(|n| {
            let title = titles.insert_full(n.title.clone()).0;
            let parent = n.parent.as_deref().and_then(place);
            json!([n.id, parent, title, standing(n.state), n.time.map(short), n.gain.map(short), u8::from(n.best)])
        })
        .collect();
    let trials: Vec<Value> = report
        .trials
        .iter()
        .map(|t| {
            let values: Vec<String> = t.values.iter().map(|(k, v)| format!("{k}={v}")).collect();
            let status = titles.insert_full(t.status.clone()).0;
            let limiter = t.bottleneck.map(|b| titles.insert_full(b.to_string()).0);
            json!([
                t.number,
                t.candidate.get(..8),
                place(&t.node),
                status,
                t.time.as_ref().map(|f| short(f.value)),
                limiter,
                values.join(" ")
            ])
        })
        .collect();
    let sample = report.trials.iter().find_map(|t| t.time.as_ref());
    json!({
        "run": report.run.name,
        "seq": report.run.seq,
        "status": report.run.status,
        "unit": sample.map(|f| words::unit(&f.unit).to_owned()),
        "label": sample.map(words::label),
        "best": report.headline.best.known().map(|b| b.node.clone()),
        "naive": report.headline.naive.known().map(|f| short(f.value)),
        "strings": titles,
        "nodes": nodes,
        "trials": trials,
    })
}

/// Five significant digits: more are not shown.
fn short(value: f64) -> f64 {
    format!("{value:.4e}").parse().unwrap_or(value)
}

const fn standing(state: Standing) -> &'static str {
    match state {
        Standing::Better => "b",
        Standing::Passed => "p",
        Standing::Failed => "f",
        Standing::Open => "o",
        Standing::Active => "a",
    }
}

/// Details of nodes within `room` bytes, the telling ones first, and how many were left out.
fn details(run: &Loaded, report: &Report, room: usize) -> (Value, usize) {
    let rank = |n: &crate::model::TreeNode| match (n.best, n.state) {
        (true, _) => 0,
        (_, Standing::Better) => 1,
        (_, Standing::Failed | Standing::Active) => 2,
        (_, Standing::Passed) => 3,
        (_, Standing::Open) => 4,
    };
    let mut order: Vec<&crate::model::TreeNode> = report.tree.iter().collect();
    order.sort_by_key(|n| rank(n));
    let mut out = serde_json::Map::new();
    let mut left = room;
    let mut left_out = 0;
    let mut misses = 0;
    for (at, node) in order.iter().enumerate() {
        // What is left holds hardly anything, and to find out what it does hold would take long.
        if left < 600 || misses > 20 {
            left_out += order.len() - at;
            break;
        }
        let Some(mut detail) = ksearch_world::NodeId::parse(&node.id).and_then(|id| run.node(id)) else { continue };
        let mut value = json!(detail);
        let mut size = json_for_script(&value.to_string()).len() + node.id.len() + 8;
        if size > left / 3 && !detail.exchanges.is_empty() {
            for e in &mut detail.exchanges {
                let note = "left out to keep this file small; the run's journal holds it".to_owned();
                (e.system, e.user, e.answer) = (note.clone(), note, crate::text::clip(&e.answer, 4_000));
            }
            value = json!(detail);
            size = json_for_script(&value.to_string()).len() + node.id.len() + 8;
        }
        if size > left / 3 {
            detail.diff = Shown::missing("left out to keep this file small; the run's journal holds it");
            value = json!(detail);
            size = json_for_script(&value.to_string()).len() + node.id.len() + 8;
        }
        if size > left {
            left_out += 1;
            misses += 1;
            continue;
        }
        left -= size;
        out.insert(node.id.clone(), value);
    }
    (Value::Object(out), left_out)
}
