//! An analysis as text for a person. Knows layout; decides nothing.

use std::fmt::Write as _;

use super::{Analysis, Guess, KernelAnalysis, LaunchFact, Use};
use crate::knowledge::Support;

/// The whole analysis.
pub fn render(a: &Analysis) -> String {
    let mut out = String::new();
    write_all(&mut out, a);
    out
}

/// Writing to a string cannot fail; this keeps every line short.
macro_rules! line {
    ($out:expr) => { $out.push('\n') };
    ($out:expr, $($arg:tt)*) => {{
        let _ = writeln!($out, $($arg)*);
    }};
}

fn write_all(out: &mut String, a: &Analysis) {
    let n = a.kernels.len();
    line!(out, "{}: {n} kernel{}, from {} to {}", a.file, if n == 1 { "" } else { "s" }, a.source, a.target);
    for (from, to) in &a.unread {
        line!(out, "  lines {from} to {to} could not be read; nothing is said about them");
    }
    if a.kernels.is_empty() {
        line!(out, "  no `__global__` function was found");
    }
    for k in &a.kernels {
        kernel(out, k);
    }
    if !a.host.is_empty() {
        line!(out, "\noutside of kernels");
        uses(out, &a.host);
    }
}

fn kernel(out: &mut String, k: &KernelAnalysis) {
    line!(out, "\n{} ({}:{})", k.name, k.pos.file, k.pos.line);
    let template: Vec<String> = k
        .template
        .iter()
        .map(|(n, v)| if v.is_empty() { format!("{n} (not known)") } else { format!("{n} = {v}") })
        .collect();
    if !template.is_empty() {
        line!(out, "  template      {}", template.join(", "));
    }
    let params: Vec<String> = k
        .params
        .iter()
        .map(|p| {
            let star = if p.pointer { "*" } else { "" };
            let access = if p.access.is_empty() { String::new() } else { format!(" ({})", p.access) };
            format!("{}{star} {}{access}", p.ty, p.name)
        })
        .collect();
    line!(out, "  parameters    {}", params.join(", "));
    let c = &k.classification;
    let class = c.class.map_or("not settled", |c| c.title());
    let note = if c.note.is_empty() { String::new() } else { format!("; {}", c.note) };
    line!(out, "  family        {class} (confidence {}{note})", c.confidence.name());
    for r in &c.because {
        line!(out, "                line {}: {}", r.line, r.text);
    }
    guess(out, "bound by", &k.on_source);
    guess(out, "", &k.on_target);
    match (k.shared.is_empty(), k.shared_static_bytes) {
        (true, _) => line!(out, "  shared        none"),
        (false, bytes) => {
            let statics = bytes.map_or("not all known".to_owned(), |b| format!("{b} bytes"));
            let dynamic = if k.shared.iter().any(|s| s.dynamic) { ", plus dynamic" } else { "" };
            line!(out, "  shared        static {statics}{dynamic}");
            for s in &k.shared {
                let extents = s.extents.iter().fold(String::new(), |all, e| all + "[" + e + "]");
                let size = match (s.dynamic, s.bytes) {
                    (true, _) => "sized by the launch".to_owned(),
                    (false, Some(b)) => format!("{b} bytes"),
                    (false, None) => "size not known".to_owned(),
                };
                line!(out, "                {} {}{extents}: {size} (line {})", s.ty, s.name, s.pos.line);
            }
        }
    }
    if let Some(n) = k.bound_threads {
        line!(out, "  launch bounds {n} threads");
    } else if !k.launch_bounds.is_empty() {
        line!(out, "  launch bounds {} (not known here)", k.launch_bounds.join(", "));
    }
    for l in &k.launches {
        launch(out, l);
    }
    if !k.calls.is_empty() {
        line!(out, "  calls         {}", k.calls.join(", "));
    }
    line!(out, "  uses{}", if k.uses.is_empty() { "          nothing that the tables know" } else { "" });
    uses(out, &k.uses);
    if k.findings.is_empty() {
        line!(out, "  nothing found that stands in the way");
    } else {
        line!(out, "  findings");
    }
    for f in &k.findings {
        let place = f.pos.as_ref().map_or(String::new(), |p| format!(" line {}:", p.line));
        line!(out, "    {} [{}]{place} {}", f.severity.name(), f.code, f.message);
        line!(out, "      {}", f.help);
    }
}

fn guess(out: &mut String, label: &str, g: &Guess) {
    let class = g.class.map_or("cannot tell", |c| c.name());
    line!(out, "  {label:<13} {class} on {} (confidence {}, counted, not run)", g.chip, g.confidence.name());
    line!(out, "                {}", g.why);
}

fn launch(out: &mut String, l: &LaunchFact) {
    let three = |t: &Option<[String; 3]>| match t {
        Some(t) => format!("({})", t.iter().map(String::as_str).collect::<Vec<_>>().join(", ")),
        None => "(not followed)".to_owned(),
    };
    let threads = l.threads.map_or(String::new(), |n| format!(" = {n} threads"));
    let shared = match (&l.shared, l.shared_bytes) {
        (Some(text), Some(n)) => format!(", {text} = {n} bytes of shared memory"),
        (Some(text), None) => format!(", {text} bytes of shared memory"),
        _ => String::new(),
    };
    let args = if l.template_args.is_empty() { String::new() } else { format!("<{}> ", l.template_args.join(", ")) };
    line!(
        out,
        "  launch        {args}grid {}, block {}{threads}{shared} (line {})",
        three(&l.grid),
        three(&l.block),
        l.pos.line
    );
}

fn uses(out: &mut String, uses: &[Use]) {
    for u in uses {
        let times = if u.count == 1 { String::new() } else { format!(" x{}", u.count) };
        line!(out, "    {} [{}]{times}, line {}: {}", u.title, u.support.name(), u.pos.line, u.words.join(", "));
        if !u.metal.is_empty() {
            line!(out, "      Metal: {}", u.metal);
        }
        if u.support != Support::Direct {
            line!(out, "      {}", u.how);
        }
        for l in &u.limits {
            line!(out, "      limit: {l}");
        }
    }
}
