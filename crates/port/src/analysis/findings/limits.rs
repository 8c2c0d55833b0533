//! Limits of the target: threadgroup memory, threads, registers.

use super::{Context, Finding, Item, LaunchFact, Severity, SharedFact};
use crate::cuda::constant;

/// 32-bit registers a thread has before it spills (Apple GPUs: 256 halves).
const REGISTERS: i64 = 128;

pub(super) fn shared_memory(
    c: &Context<'_, '_>,
    shared: &[SharedFact],
    launches: &[LaunchFact],
    out: &mut Vec<Finding>,
) {
    let limit = c.ends.target.shared_bytes;
    let statics: Vec<_> = shared.iter().filter(|s| !s.dynamic).collect();
    let fixed: u64 = statics.iter().filter_map(|s| s.bytes).sum();
    let at = |s: &SharedFact| Some(s.pos.clone());
    let help = "Shrink the tile, keep part of it in registers, store it in half, or process it in several passes.";
    if fixed > limit {
        let message = format!("{fixed} bytes of static shared memory; {} allows {limit}", c.ends.target.name);
        let f = c.finding(Severity::Blocks, "shared-over-limit", message, None, help);
        out.push(Finding { pos: statics.first().and_then(|s| at(s)), ..f });
    }
    if let Some(s) = statics.iter().find(|s| s.bytes.is_none()) {
        let message = format!("the size of shared `{}` ({}) is not known here", s.name, s.extents.join(" x "));
        let f = c.finding(
            Severity::Check,
            "shared-size-unknown",
            message,
            None,
            format!("Static and dynamic shared memory together must stay within {limit} bytes."),
        );
        out.push(Finding { pos: at(s), ..f });
    }
    let Some(dynamic) = shared.iter().find(|s| s.dynamic) else { return };
    let mut known = false;
    let mut told: Vec<&str> = Vec::new();
    for launch in launches {
        match (launch.shared_bytes, &launch.shared) {
            (Some(bytes), _) => {
                known = true;
                if fixed + bytes > limit && fixed <= limit {
                    let message = format!(
                        "this launch asks for {bytes} bytes of dynamic shared memory ({} in all); {} allows {limit}",
                        fixed + bytes,
                        c.ends.target.name
                    );
                    let f = c.finding(Severity::Blocks, "shared-over-limit", message, None, help);
                    out.push(Finding { pos: Some(launch.pos.clone()), ..f });
                }
            }
            (None, Some(text)) => {
                known = true;
                if told.contains(&text.as_str()) {
                    continue;
                }
                told.push(text);
                let same = launches.iter().filter(|l| l.shared_bytes.is_none() && l.shared.as_ref() == Some(text));
                let others = same.count() - 1;
                let more = match others {
                    0 => String::new(),
                    1 => ", as in one more launch".to_owned(),
                    n => format!(", as in {n} more launches"),
                };
                let message = format!("dynamic shared memory depends on the launch: `{text}` bytes{more}");
                let f = c.finding(
                    Severity::Check,
                    "shared-at-launch",
                    message,
                    None,
                    format!("Refuse sizes for which it exceeds {} bytes.", limit.saturating_sub(fixed)),
                );
                out.push(Finding { pos: Some(launch.pos.clone()), ..f });
            }
            (None, None) => {}
        }
    }
    if !known {
        let message =
            format!("the size of dynamic shared `{}` is set by a launch that is not in this file", dynamic.name);
        let f = c.finding(
            Severity::Check,
            "shared-size-unknown",
            message,
            None,
            format!("Static and dynamic shared memory together must stay within {limit} bytes."),
        );
        out.push(Finding { pos: at(dynamic), ..f });
    }
    for (_, bytes) in c.host.shared_opt_in.iter().filter(|(k, _)| *k == c.kernel.name) {
        let value = constant::eval(bytes, c.unit);
        if value.is_none_or(|v| v > 48 * 1024) {
            let message = format!("the host raises the limit of dynamic shared memory to `{bytes}`");
            out.push(c.finding(
                Severity::Check,
                "shared-opt-in",
                message,
                None,
                format!("{} has {limit} bytes and nothing to raise.", c.ends.target.name),
            ));
        }
    }
}

pub(super) fn threads(c: &Context<'_, '_>, launches: &[LaunchFact], bound: Option<u64>, out: &mut Vec<Finding>) {
    let limit = u64::from(c.ends.target.max_threads);
    let help = "Let each thread do several elements, or split the block.";
    if let Some(n) = bound.filter(|n| *n > limit) {
        let message = format!(
            "launch bounds of {n} threads; {} allows {limit} (and so does every CUDA chip)",
            c.ends.target.name
        );
        out.push(c.finding(Severity::Blocks, "threads-over-limit", message, Some(c.kernel.node.start_byte()), help));
    }
    for launch in launches {
        let Some(n) = launch.threads else { continue };
        if n > limit {
            let message = format!("this launch has {n} threads a block; {} allows {limit}", c.ends.target.name);
            let f = c.finding(Severity::Blocks, "threads-over-limit", message, None, help);
            out.push(Finding { pos: Some(launch.pos.clone()), ..f });
        } else if n > 384 {
            let message = format!(
                "{n} threads a block: a kernel that needs many registers may be allowed fewer on Apple7 and Apple8 \
                 (384 at 128 registers a thread)"
            );
            let f = c.finding(
                Severity::Note,
                "threads-many",
                message,
                None,
                "Ask the pipeline for maxTotalThreadsPerThreadgroup before the dispatch; one that is too large never runs.",
            );
            out.push(Finding { pos: Some(launch.pos.clone()), ..f });
        }
    }
}

pub(super) fn registers(c: &Context<'_, '_>, out: &mut Vec<Finding>) {
    let mut arrays: Vec<(&str, i64)> = Vec::new();
    local_arrays(c.items, &mut arrays);
    let total: i64 = arrays.iter().map(|a| a.1).sum();
    if total > REGISTERS * 4 {
        let list: Vec<String> = arrays.iter().map(|(n, b)| format!("{n} {b}")).collect();
        out.push(c.finding(
            Severity::Check,
            "registers",
            format!(
                "local arrays of {total} bytes a thread ({}); Apple GPUs have {} before they spill",
                list.join(", "),
                REGISTERS * 4
            ),
            Some(c.kernel.node.start_byte()),
            "Spread a row over several lanes, or keep part of it in half or in threadgroup memory.",
        ));
    }
}

fn local_arrays<'a>(items: &'a [Item], out: &mut Vec<(&'a str, i64)>) {
    for item in items {
        match item {
            Item::Array { name, bytes: Some(b) } if !out.iter().any(|(n, _)| n == name) => out.push((name, *b)),
            Item::Loop { body, .. } => local_arrays(body, out),
            Item::If { then, otherwise, .. } => {
                local_arrays(then, out);
                local_arrays(otherwise, out);
            }
            _ => {}
        }
    }
}
