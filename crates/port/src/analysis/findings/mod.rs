//! What stands in the way of a port: limits, warp assumptions, double precision, order, waits between blocks. One
//! function a question; each names the place and says what to do. Must not claim more than the text shows.

mod language;
mod limits;
mod order;
mod warp;

use super::cost::Profile;
use super::instance::Values;
use super::signals::Signals;
use super::trace::{Access, Item};
use super::{Ends, Finding, LaunchFact, ParamFact, Severity, SharedFact, Use};
use crate::cuda::host::Host;
use crate::cuda::lex::Kind;
use crate::cuda::unit::{Function, Unit};

/// What the questions are asked of.
pub struct Context<'a, 't> {
    /// The file.
    pub unit: &'a Unit<'t>,
    /// Its host side.
    pub host: &'a Host,
    /// The kernel.
    pub kernel: &'a Function<'t>,
    /// It and the device functions it reaches.
    pub reachable: &'a [&'a Function<'t>],
    /// What it does.
    pub items: &'a [Item],
    /// Its instances.
    pub instances: &'a [Values],
    /// Concepts it uses.
    pub uses: &'a [Use],
    /// Signs of its family.
    pub signs: &'a Signals,
    /// Source and target.
    pub ends: &'a Ends,
}

/// Codes that stand for blocks that wait for one another.
pub fn is_block_wait(code: &str) -> bool {
    matches!(code, "inter-block-wait" | "grid-barrier")
}

/// All findings, unsorted.
pub fn find(
    c: &Context<'_, '_>,
    shared: &[SharedFact],
    launches: &[LaunchFact],
    bound_threads: Option<u64>,
    profile: &Profile,
) -> Vec<Finding> {
    let mut out = Vec::new();
    limits::shared_memory(c, shared, launches, &mut out);
    limits::threads(c, launches, bound_threads, &mut out);
    warp::warp_masks(c, c.items, &mut out);
    warp::wide_warps(c, &mut out);
    warp::exchanges(c, &mut out);
    language::doubles(c, &mut out);
    order::atomics(c, &mut out);
    order::waits(c, &mut out);
    order::exits(c, &mut out);
    language::launched_from_device(c, &mut out);
    language::language(c, &mut out);
    language::globals(c, &mut out);
    limits::registers(c, &mut out);
    warp::shuffle_edges(c, c.items, &mut out);
    if profile.assumed_size {
        let message = "some element types are not known; bytes were counted as 4 an element".to_owned();
        out.push(c.finding(Severity::Note, "assumed-size", message, None, "Give the template arguments."));
    }
    out
}

impl Context<'_, '_> {
    fn finding(
        &self,
        severity: Severity,
        code: &str,
        message: impl Into<String>,
        at: Option<usize>,
        help: impl Into<String>,
    ) -> Finding {
        Finding {
            severity,
            code: code.to_owned(),
            message: message.into(),
            pos: at.map(|b| self.unit.source.pos(b)),
            help: help.into(),
        }
    }

    fn line(&self, at: usize) -> u32 {
        self.unit.source.line(at)
    }

    fn values(&self) -> Values {
        self.instances.first().cloned().unwrap_or_default()
    }

    /// Tokens of the kernel and what it reaches.
    fn words(&self) -> impl Iterator<Item = (usize, &str, Kind)> {
        self.reachable.iter().flat_map(|f| {
            let tokens = self.unit.source.tokens_in(f.node.byte_range());
            tokens.iter().map(|t| (t.range.start, t.text(&self.unit.source.text), t.kind))
        })
    }
}

fn each_call(items: &[Item], f: &mut dyn FnMut(&str, &[String], usize)) {
    for item in items {
        match item {
            Item::Call { name, args, at, .. } => f(name, args, *at),
            Item::Loop { body, .. } => each_call(body, f),
            Item::If { then, otherwise, .. } => {
                each_call(then, f);
                each_call(otherwise, f);
            }
            _ => {}
        }
    }
}

fn each_access<'a>(items: &'a [Item], f: &mut dyn FnMut(&'a Access)) {
    for item in items {
        match item {
            Item::Access(a) => f(a),
            Item::Loop { body, .. } => each_access(body, f),
            Item::If { then, otherwise, .. } => {
                each_access(then, f);
                each_access(otherwise, f);
            }
            _ => {}
        }
    }
}

/// What the kernel does with each parameter.
pub fn params(kernel: &Function<'_>, items: &[Item]) -> Vec<ParamFact> {
    kernel
        .params
        .iter()
        .map(|p| {
            let (mut read, mut write, mut atomic) = (false, false, false);
            each_access(items, &mut |a| {
                if a.array == p.name {
                    atomic |= a.atomic;
                    read |= !a.write && !a.atomic;
                    write |= a.write && !a.atomic;
                }
            });
            let access = match (read, write, atomic) {
                (_, _, true) => "atomic",
                (true, true, _) => "read-write",
                (true, false, _) => "read",
                (false, true, _) => "write",
                _ => "",
            };
            ParamFact {
                name: p.name.clone(),
                ty: p.ty.clone(),
                pointer: p.pointers > 0,
                access: if p.pointers > 0 { access.to_owned() } else { String::new() },
                restrict: p.restrict,
            }
        })
        .collect()
}
