//! What Metal lacks as a language: double precision, launches from the device, recursion, assembly, variables at file
//! scope.

use super::{Context, Finding, Kind, Severity};

pub(super) fn doubles(c: &Context<'_, '_>, out: &mut Vec<Finding>) {
    if let Some(u) = c.uses.iter().find(|u| u.concept == "double") {
        let message = "computes in double; Metal has no double".to_owned();
        let f = c.finding(
            Severity::Blocks,
            "double",
            message,
            None,
            "Decide where double matters: float for constants, a compensated sum for accumulators; then test against the original.",
        );
        out.push(Finding { pos: Some(u.pos.clone()), ..f });
    }
    let mut literals: Vec<usize> = Vec::new();
    let mut words = c.words().peekable();
    let mut before = "";
    while let Some((at, word, kind)) = words.next() {
        let is_double = kind == Kind::Number
            && !word.starts_with("0x")
            && (word.contains('.') || word.contains(['e', 'E']))
            && !word.ends_with(['f', 'F', 'h', 'H']);
        let next = words.peek().map_or("", |w| w.1);
        let arithmetic = ["+", "-", "*", "/", "+=", "-=", "*=", "/="];
        if is_double && (arithmetic.contains(&before) || arithmetic.contains(&next)) {
            literals.push(at);
        }
        before = word;
    }
    if let Some(first) = literals.first() {
        let message = format!(
            "{} constant(s) without `f` take part in arithmetic, which CUDA then does in double unless it can prove otherwise",
            literals.len()
        );
        out.push(c.finding(
            Severity::Check,
            "double-literal",
            message,
            Some(*first),
            "Metal reads them as float: write the `f` and compare against the original.",
        ));
    }
}

pub(super) fn launched_from_device(c: &Context<'_, '_>, out: &mut Vec<Finding>) {
    let inside = c.host.launches.iter().find(|l| {
        l.function
            .and_then(|i| c.unit.functions.get(i))
            .is_some_and(|f| c.reachable.iter().any(|g| std::ptr::eq(*g, f)))
    });
    if let Some(l) = inside {
        out.push(c.finding(
            Severity::Blocks,
            "dynamic-parallelism",
            format!("launches `{}` from the device; Metal cannot", l.kernel),
            Some(l.at),
            "Launch it from the host, or write its grid into a buffer and dispatch indirectly.",
        ));
    }
}

pub(super) fn language(c: &Context<'_, '_>, out: &mut Vec<Finding>) {
    for f in c.reachable.iter().skip(1) {
        let Some(body) = f.body else { continue };
        let calls_itself = c.unit.source.tokens_in(body.byte_range()).windows(2).any(|w| {
            let [a, b] = w else { return false };
            a.text(&c.unit.source.text) == f.name && b.text(&c.unit.source.text) == "("
        });
        if calls_itself && c.unit.functions.iter().filter(|g| g.name == f.name).count() == 1 {
            out.push(c.finding(
                Severity::Blocks,
                "recursion",
                format!("`{}` calls itself; Metal has no recursion", f.name),
                Some(f.node.start_byte()),
                "Use a loop with an explicit stack.",
            ));
        }
    }
    if let Some(u) = c.uses.iter().find(|u| u.concept == "inline-ptx") {
        let others: Vec<&str> = c
            .uses
            .iter()
            .filter(|v| {
                ["async-copy", "bulk-copy", "mma-ptx", "wgmma", "fence", "named-barrier"].contains(&v.concept.as_str())
            })
            .map(|v| v.concept.as_str())
            .collect();
        let known =
            if others.is_empty() { String::new() } else { format!(" (recognised in it: {})", others.join(", ")) };
        let f = c.finding(
            Severity::Blocks,
            "inline-ptx",
            format!("uses inline PTX{known}; Metal has no assembly"),
            None,
            "Write what the instructions do in plain code.",
        );
        out.push(Finding { pos: Some(u.pos.clone()), ..f });
    }
}

pub(super) fn globals(c: &Context<'_, '_>, out: &mut Vec<Finding>) {
    for g in &c.unit.globals {
        let used = c.words().any(|(_, w, k)| k == Kind::Ident && w == g.name);
        if !used {
            continue;
        }
        let constant = g.qualifiers.iter().any(|q| q == "__constant__");
        let at = Some(g.node.start_byte());
        let has_value = c.unit.source.text(g.node).contains('=');
        if constant && !has_value {
            out.push(c.finding(
                Severity::Restructure,
                "constant-from-host",
                format!("`{}` is filled by the host before the launch", g.name),
                at,
                "Make it a `constant T*` parameter and bind a buffer.",
            ));
        } else if !constant {
            out.push(c.finding(
                Severity::Restructure,
                "device-global",
                format!("`{}` is a variable in device memory; Metal has none at file scope", g.name),
                at,
                "Make it a buffer parameter, bound at every launch.",
            ));
        }
    }
}
