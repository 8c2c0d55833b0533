//! What a kernel assumes of order: atomics, waits between blocks, threads that leave before a barrier.

use super::super::trace::Space;
use super::{Context, Finding, Item, Severity, each_access, each_call};

pub(super) fn atomics(c: &Context<'_, '_>, out: &mut Vec<Finding>) {
    let mut seen = Vec::new();
    each_access(c.items, &mut |a| {
        if !a.atomic || seen.contains(&(a.array.as_str(), a.integer, a.bytes)) {
            return;
        }
        seen.push((a.array.as_str(), a.integer, a.bytes));
        if a.bytes == Some(8) {
            let what = if a.integer { "64-bit" } else { "double" };
            let message =
                format!("a {what} atomic on `{}`; Metal has none of addition, exchange or comparison", a.array);
            out.push(c.finding(
                Severity::Blocks,
                "atomic-64",
                message,
                Some(a.at),
                "Split the value into two 32-bit atomics that need not change together, or restructure into several dispatches.",
            ));
        } else if !a.integer && a.bytes == Some(4) {
            let (severity, message) = if a.space == Space::Shared {
                (
                    Severity::Restructure,
                    format!("a float atomic on shared `{}`; Metal has them in device memory only", a.array),
                )
            } else {
                (
                    Severity::Check,
                    format!(
                        "a float atomic on `{}`: the order of additions, and so the last bits, change from run to run",
                        a.array
                    ),
                )
            };
            out.push(c.finding(
                severity,
                "atomic-float",
                message,
                Some(a.at),
                "Reduce within the simdgroup first; in threadgroup memory use a compare-and-swap loop or one slot a simdgroup.",
            ));
        } else if a.bytes == Some(2) {
            let message = format!("a 16-bit atomic on `{}`; Metal has none", a.array);
            out.push(c.finding(
                Severity::Blocks,
                "atomic-16",
                message,
                Some(a.at),
                "Accumulate in float, or compare-and-swap the 32-bit word that holds it.",
            ));
        }
    });
    if let Some(at) = c.signs.ticketed_store {
        let message = "the place of a store comes from an atomic: the order of the output follows the order in which threads arrive";
        out.push(c.finding(
            Severity::Blocks,
            "atomic-order",
            message,
            Some(at),
            "The order differs from run to run on every machine. Compute places with a prefix sum, or compare the output as a set.",
        ));
    }
}

/// Loops that wait for other blocks, and grid-wide barriers.
pub(super) fn waits(c: &Context<'_, '_>, out: &mut Vec<Finding>) {
    if let Some(u) = c.uses.iter().find(|u| u.concept == "grid-barrier") {
        let f = c.finding(
            Severity::Blocks,
            "grid-barrier",
            "a barrier over the whole grid; Metal has none",
            None,
            "Split the kernel into dispatches at each of them; keep what lives across it in a device buffer.",
        );
        out.push(Finding { pos: Some(u.pos.clone()), ..f });
    }
    if c.host.launches_of(&c.kernel.name).any(|l| l.cooperative) {
        out.push(c.finding(
            Severity::Blocks,
            "cooperative-launch",
            "is launched cooperatively: it counts on all blocks being resident",
            Some(c.kernel.node.start_byte()),
            "Split the kernel into dispatches at each grid-wide barrier.",
        ));
    }
    let mut found = Vec::new();
    spins(c.items, &mut found);
    if let Some(at) = found.first() {
        out.push(c.finding(
            Severity::Blocks,
            "inter-block-wait",
            "waits in a loop for memory that other blocks write; Metal does not promise that they make progress meanwhile",
            Some(*at),
            "Split into dispatches: for a prefix sum, sums of tiles, then a scan of those, then the tiles.",
        ));
    }
}

/// Loops without a counter that read global memory again and again through `volatile` or an atomic.
fn spins(items: &[Item], out: &mut Vec<usize>) {
    for item in items {
        match item {
            Item::Loop { header, body, at, .. } => {
                let open =
                    header.starts_with("while") || header.starts_with("do") || header.replace(' ', "") == "for(;;)";
                if open {
                    let mut watches = false;
                    let mut counts = false;
                    each_access(body, &mut |a| {
                        watches |= a.space == Space::Global && (a.volatile || a.atomic);
                        counts |= a.write && !a.atomic && a.space == Space::Global;
                    });
                    // A compare-and-swap loop writes what it read: it retries, it does not wait.
                    let mut swaps = false;
                    each_call(body, &mut |name, _, _| swaps |= name == "atomicCAS" && !header.contains("!= 0"));
                    if watches && !counts && !swaps {
                        out.push(*at);
                    }
                }
                spins(body, out);
            }
            Item::If { then, otherwise, .. } => {
                spins(then, out);
                spins(otherwise, out);
            }
            _ => {}
        }
    }
}

/// Threads that leave before a barrier.
pub(super) fn exits(c: &Context<'_, '_>, out: &mut Vec<Finding>) {
    let mut left = None;
    exit_before_barrier(c.items, false, &mut left, &mut |from, at| {
        out.push(c.finding(
            Severity::Blocks,
            "early-return",
            format!("threads may return here, before the barrier of line {}", c.line(at)),
            Some(from),
            "CUDA lets the rest go on; in Metal all threads must reach the barrier: guard the work instead of returning.",
        ));
    });
}

fn exit_before_barrier(
    items: &[Item],
    by_thread: bool,
    left: &mut Option<usize>,
    report: &mut dyn FnMut(usize, usize),
) {
    for item in items {
        match item {
            Item::Return { at } if by_thread && left.is_none() => *left = Some(*at),
            Item::If { by_thread: differs, then, otherwise, .. } => {
                exit_before_barrier(then, by_thread || *differs, left, report);
                exit_before_barrier(otherwise, by_thread || *differs, left, report);
            }
            Item::Loop { body, .. } => exit_before_barrier(body, by_thread, left, report),
            Item::Call { name, at, .. } if name.starts_with("__syncthreads") => {
                if let Some(from) = left.take() {
                    report(from, *at);
                }
            }
            _ => {}
        }
    }
}
