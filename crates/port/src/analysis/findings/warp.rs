//! What a kernel assumes of warps: masks, their width, lock step, the edges of shuffles.

use super::super::hazards;
use super::super::instance::names;
use super::{Access, Context, Finding, Item, Severity, each_call};
use crate::cuda::constant::{self, Names};
use crate::cuda::lex;

/// A mask argument: all lanes, some, or not known.
enum Mask {
    Full,
    Partial(u64),
    Wide,
    Computed,
}

fn mask(text: &str, names: &dyn Names) -> Mask {
    let expanded = constant::expand_macros(text, names).unwrap_or_else(|| text.to_owned());
    let wide = lex::tokens(&expanded).iter().any(|t| {
        let word = t.text(&expanded).trim_end_matches(['u', 'U', 'l', 'L']).to_lowercase();
        word.strip_prefix("0x").is_some_and(|h| h.trim_start_matches('0').len() > 8)
    });
    if wide {
        return Mask::Wide;
    }
    match constant::eval(text, names) {
        Some(-1) => Mask::Full,
        Some(v) if v as u64 == 0xffff_ffff => Mask::Full,
        Some(v) if u32::try_from(v).is_ok() => Mask::Partial(v as u64),
        Some(_) => Mask::Wide,
        None => Mask::Computed,
    }
}

pub(super) fn warp_masks(c: &Context<'_, '_>, items: &[Item], out: &mut Vec<Finding>) {
    let values = c.values();
    let bound = names(c.unit, c.kernel, &values);
    let mut walk = |name: &str, args: &[String], at: usize| {
        let warp = name.starts_with("__shfl")
            || name.starts_with("__ballot")
            || name.starts_with("__any")
            || name.starts_with("__all")
            || name.starts_with("__match")
            || name.starts_with("__reduce")
            || name == "__syncwarp";
        if !warp {
            return;
        }
        if !name.ends_with("_sync") && name != "__syncwarp" {
            if name.starts_with("__reduce") {
                return;
            }
            let message = format!("`{name}` without a mask relies on lanes running together");
            out.push(c.finding(
                Severity::Check,
                "legacy-shuffle",
                message,
                Some(at),
                "Make sure that all 32 lanes reach it: Metal's functions have no mask either.",
            ));
            return;
        }
        let Some(first) = args.first() else { return };
        match mask(first, &bound) {
            Mask::Full => {}
            Mask::Wide => {
                let message = format!("`{name}` has a mask of more than 32 bits (`{first}`); a warp has 32 lanes");
                out.push(c.finding(Severity::Blocks, "wide-warp", message, Some(at), WIDE_HELP));
            }
            Mask::Partial(m) => {
                let message = format!("`{name}` names {} of 32 lanes ({m:#x})", m.count_ones());
                out.push(c.finding(
                    Severity::Check,
                    "partial-mask",
                    message,
                    Some(at),
                    "Metal's functions have no mask: make sure that the other lanes take no part or do no harm.",
                ));
            }
            Mask::Computed => {
                let message = format!("`{name}` takes a computed mask (`{first}`)");
                out.push(c.finding(
                    Severity::Check,
                    "computed-mask",
                    message,
                    Some(at),
                    "Metal's functions act on the active lanes: branch on the condition instead of passing a mask.",
                ));
            }
        }
        // An explicit width below 32 splits the warp.
        let width = if name.starts_with("__shfl") { args.get(3) } else { None };
        if let Some(w) = width.filter(|w| constant::eval(w, &bound) != Some(32)) {
            let message = format!("`{name}` works in parts of `{w}` lanes");
            out.push(c.finding(
                Severity::Check,
                "shuffle-width",
                message,
                Some(at),
                "Metal has no width: xor masks below it stay inside the part; for up, down and index add the part's base and a guard.",
            ));
        }
    };
    each_call(items, &mut walk);
}

const WIDE_HELP: &str =
    "It was written for 64-lane wavefronts: count within 32 lanes and combine the two halves through shared memory.";

/// Lane arithmetic on 64, and 64-bit results of a ballot.
pub(super) fn wide_warps(c: &Context<'_, '_>, out: &mut Vec<Finding>) {
    let text = &c.unit.source.text;
    for f in c.reachable {
        let tokens = c.unit.source.tokens_in(f.node.byte_range());
        let word = |i: usize| tokens.get(i).map_or("", |t| t.text(text));
        for (i, t) in tokens.iter().enumerate() {
            // `threadIdx.x & 63`, `threadIdx.x % 64`, `threadIdx.x / 64`, `threadIdx.x >> 6`
            let split = word(i) == "threadIdx"
                && matches!((word(i + 3), word(i + 4)), ("&", "63") | ("%" | "/", "64") | (">>", "6"));
            // Parts of 64 threads are also how two warps are taken together; a ballot beside it tells.
            let ballot = c.uses.iter().any(|u| u.concept == "ballot");
            if split && ballot {
                let message =
                    format!("lanes are numbered with `{} {}`, as in wavefronts of 64", word(i + 3), word(i + 4));
                out.push(c.finding(Severity::Blocks, "wide-warp", message, Some(t.range.start), WIDE_HELP));
            }
            // `unsigned long long x = __ballot…`
            if word(i).starts_with("__ballot") && i > 2 && word(i - 1) == "=" {
                let long = (1..6).any(|k| i >= k && matches!(word(i - k), "long" | "uint64_t" | "ulong"));
                if long {
                    let message = "a ballot is kept in 64 bits; a warp has 32 lanes".to_owned();
                    out.push(c.finding(
                        Severity::Check,
                        "wide-ballot",
                        message,
                        Some(t.range.start),
                        "Harmless if the upper half is never used; else the kernel expects 64 lanes.",
                    ));
                }
            }
        }
    }
}

/// Exchanges through shared memory without a barrier: one finding an array, with the first pair of places.
pub(super) fn exchanges(c: &Context<'_, '_>, out: &mut Vec<Finding>) {
    let all = hazards::find(c.items);
    let mut views: Vec<&str> = Vec::new();
    for h in &all {
        let (a, b) = (&h.first, &h.second);
        if views.contains(&b.view.as_str()) {
            continue;
        }
        views.push(&b.view);
        let verb = |x: &Access| if x.write { "writes" } else { "reads" };
        let place = |x: &Access| {
            if x.index.is_empty() { x.view.clone() } else { format!("{}[{}]", x.view, x.index) }
        };
        let same: Vec<_> = all.iter().filter(|o| o.second.view == b.view).collect();
        let last = same.iter().map(|o| c.line(o.second.at)).max().unwrap_or(0);
        let more =
            if same.len() > 1 { format!(" ({} such pairs down to line {last})", same.len()) } else { String::new() };
        let volatile = if a.volatile || b.volatile { ", through volatile" } else { "" };
        let message = format!(
            "line {} {} `{}` and line {} {} `{}` with no barrier between them{volatile}{more}: where these are different \
             threads' elements, it relies on warps running in lock step",
            c.line(a.at),
            verb(a),
            place(a),
            c.line(b.at),
            verb(b),
            place(b),
        );
        out.push(c.finding(
            Severity::Blocks,
            "warp-synchronous",
            message,
            Some(b.at),
            "Put __syncwarp() (Metal: simdgroup_barrier) between the steps, or use shuffles.",
        ));
    }
}

/// Upward and downward shuffles read past the edge of the warp: CUDA then gives the lane's own value, Metal nothing.
pub(super) fn shuffle_edges(c: &Context<'_, '_>, items: &[Item], out: &mut Vec<Finding>) {
    let mut first = None;
    each_call(items, &mut |name, _, at| {
        if (name.starts_with("__shfl_up") || name.starts_with("__shfl_down")) && first.is_none() {
            first = Some((name.to_owned(), at));
        }
    });
    if let Some((name, at)) = first {
        let (metal, fill) = if name.contains("up") {
            ("simd_shuffle_up", "simd_shuffle_and_fill_up")
        } else {
            ("simd_shuffle_down", "simd_shuffle_and_fill_down")
        };
        out.push(c.finding(
            Severity::Note,
            "shuffle-edge",
            format!("past the edge of the warp `{name}` gives the lane's own value, {metal} an undefined one"),
            Some(at),
            format!("Use {fill} where those lanes' results count."),
        ));
    }
}
