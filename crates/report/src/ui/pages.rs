//! The dashboard's own pages: list of runs, frame of a run, comparison. Must not know how they are asked for.

use std::fmt::Write as _;

use super::shelf::Entry;
use crate::page::footer;
use crate::text::html;
use crate::words;

/// A page of the dashboard; `up` leads from it to the dashboard's root.
pub fn frame(title: &str, up: &str, here: &str, script: Option<&str>, body: &str) -> String {
    let script = script.map(|s| format!("<script src=\"{up}assets/{s}\" defer></script>")).unwrap_or_default();
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <link rel=\"icon\" href=\"data:,\">\n<title>{} · K-Search</title>\n<link rel=\"stylesheet\" href=\"{up}assets/plots.css\">\n<link rel=\"stylesheet\" href=\"{up}assets/page.css\">\n{script}\n</head>\n\
         <body>\n<a class=\"skip\" href=\"#content\">To the content</a>\n<nav class=\"bar\" aria-label=\"Dashboard\"><div><a href=\"{up}\">Runs</a>{here}</div></nav>\n{body}{}</body>\n</html>\n",
        html(title),
        footer(),
    )
}

/// The list of runs.
pub fn runs(entries: &[Entry], folder: &str) -> String {
    let options: Vec<String> = entries
        .iter()
        .filter(|e| e.summary.is_ok())
        .map(|e| format!("<option value=\"{0}\">{0}</option>", html(&e.name)))
        .collect();
    let options = options.concat();
    let compare = if options.is_empty() {
        String::new()
    } else {
        format!(
            "<section><h2>Compare</h2><form action=\"compare\" method=\"get\" class=\"tools\"><label>Best of <select name=\"a\">{options}</select></label>\
             <label>with best of <select name=\"b\">{options}</select></label><button>Compare</button></form></section>"
        )
    };
    let body = format!(
        "<header class=\"top\"><h1>Runs</h1><p class=\"lead\">{}</p></header>\n<main id=\"content\">\n\
         <div class=\"tools\"><label>Find <input type=\"search\" id=\"find\" autocomplete=\"off\"></label>\
         <label>Status <select id=\"status\"><option value=\"\">all</option><option>running</option><option>cut off</option><option>stopped</option><option>finished</option></select></label>\
         <span id=\"found\" class=\"quiet small\" role=\"status\"></span></div>\n\
         <div class=\"scroll box\" tabindex=\"0\" role=\"group\" aria-label=\"Runs\"><table id=\"runs\"><thead><tr><th>Run</th><th>Target</th><th>Status</th><th class=\"n\">Judged</th><th class=\"n\">Best</th><th class=\"n\">× naive</th><th class=\"n\">× library</th><th>Held-out</th><th>Roles</th></tr></thead><tbody id=\"list\">{}</tbody></table></div>\n{compare}</main>",
        html(&format!("In {folder}, the last touched first.")),
        rows(entries)
    );
    frame("Runs", "", "", Some("runs.js"), &body)
}

/// Rows of the list.
pub fn rows(entries: &[Entry]) -> String {
    if entries.is_empty() {
        return "<tr><td colspan=\"9\" class=\"quiet\">There are no runs yet. Start one: <code>ksearch search attention</code></td></tr>".to_owned();
    }
    let mut out = String::new();
    for e in entries {
        let name = html(&e.name);
        let Ok(s) = &e.summary else {
            let why = e.summary.as_ref().err().map(|w| html(w)).unwrap_or_default();
            let _ = write!(
                out,
                "<tr data-status=\"unreadable\"><td>{name}</td><td colspan=\"8\" class=\"bad\">{why}</td></tr>"
            );
            continue;
        };
        let status = match (s.status, e.busy) {
            (_, true) => "running",
            ("running", false) => "cut off",
            (other, false) => other,
        };
        let class = if e.busy { "tag live" } else { "tag" };
        let best = s.best.as_ref();
        let factor = |v: Option<f64>| v.map(words::factor).unwrap_or_default();
        let _ = write!(
            out,
            "<tr data-status=\"{status}\"><td><a href=\"run/{name}/\">{name}</a></td><td>{}</td><td><span class=\"{class}\">{status}</span></td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td>{}</td><td class=\"quiet\">{}</td></tr>",
            html(&s.target),
            s.evaluations,
            best.map(|b| html(&words::figure(&b.time))).unwrap_or_default(),
            factor(best.and_then(|b| b.speedup_vs_naive)),
            factor(best.and_then(|b| b.ratio_vs_baseline)),
            s.heldout.map(|h| format!("{} of {}", h.passed, h.total)).unwrap_or_default(),
            html(&format!("{}, {}", s.planner, s.coder)),
        );
    }
    out
}

/// The frame of a run: it is filled by `live.js`, so that something is seen before a long journal is read.
pub fn run(name: &str) -> String {
    let here = "<span class=\"small quiet\" id=\"state\" role=\"status\">reading the journal…</span>\
                <button type=\"button\" id=\"stop\" hidden>Stop</button><button type=\"button\" id=\"resume\" hidden>Resume</button><a href=\"report.html\" download>Report</a><span id=\"links\"></span>";
    let body = format!(
        "<div id=\"head\"><header class=\"top\"><div class=\"eyebrow\">K-Search · run {0}</div><h1>{0}</h1><p class=\"lead\">Reading the journal…</p></header></div>\n\
         <main id=\"content\"></main>\n<script type=\"application/json\" id=\"data\">{{}}</script>",
        html(name)
    );
    frame(name, "../../", here, Some("live.js"), &body)
}

/// Two candidates side by side.
pub fn comparison(content: &str) -> String {
    let body = format!("<main id=\"content\"><header class=\"top\"></header>{content}</main>");
    frame("Comparison", "", "", None, &body)
}

/// Something that cannot be shown.
pub fn trouble(up: &str, why: &str) -> String {
    let body =
        format!("<main id=\"content\"><header class=\"top\"><h1>Not shown</h1></header><p>{}</p></main>", html(why));
    frame("Not shown", up, "", None, &body)
}
