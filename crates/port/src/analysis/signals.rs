//! Signs of what a kernel computes, gathered from its trace. Each sign says where it was seen. Must not decide.

use super::trace::math::is_exponential;
use super::trace::{Access, Item, Space};
use crate::cuda::lex::{self, Kind};

/// Signs, each with the first byte of the place that shows it.
#[expect(clippy::struct_excessive_bools, reason = "independent facts of the text")]
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Signals {
    /// An exponential function.
    pub exponential: Option<usize>,
    /// A maximum carried through a loop or over lanes.
    pub maximum: Option<usize>,
    /// Sums of products of two arrays, each carried through a loop: the places.
    pub dots: Vec<usize>,
    /// A sum of products in which one factor is a value computed here (probabilities times values).
    pub weighted: Option<usize>,
    /// Matrix instructions.
    pub matrix: Option<usize>,
    /// A value from a lower lane or element is added under a guard: a prefix operation.
    pub prefix: Option<usize>,
    /// `h = a * h + b` with `h` used in every step.
    pub recurrence: Option<usize>,
    /// A butterfly or downward shuffle, a halving loop over shared memory, or a warp reduction.
    pub reduction: Option<usize>,
    /// An index travels along with the value that is reduced.
    pub selection: Option<usize>,
    /// Neighbours on both sides of an element of one array are read together.
    pub neighbours: Option<usize>,
    /// An atomic on an element chosen by data.
    pub scattered_atomic: Option<usize>,
    /// A load or store through an index that was loaded.
    pub indirect: Option<usize>,
    /// An atomic whose result picks the place of a store.
    pub ticketed_store: Option<usize>,
    /// Rank of a lane among those of a ballot.
    pub ballot_rank: Option<usize>,
    /// Floating arithmetic anywhere.
    pub arithmetic: bool,
    /// Elements of global memory are read.
    pub loads: bool,
    /// Elements of global memory are written.
    pub stores: bool,
    /// Shared memory is used.
    pub shared: bool,
    /// Every load of global memory has the index of a store.
    pub same_index: bool,
    /// A sum of loaded values is carried through a loop.
    pub sum: Option<usize>,
    /// Every store to global memory changes the element it read in the same statement, at this place.
    pub in_place: Option<usize>,
    /// A shared array is written under one index and read under another.
    pub rearranges: bool,
}

struct Walk<'a> {
    s: Signals,
    global_loads: Vec<&'a str>,
    global_stores: Vec<&'a str>,
    tickets: Vec<&'a str>,
    ballots: Vec<&'a str>,
    exponentials: Vec<&'a str>,
    updates: Vec<(&'a str, &'a str)>,
    accesses: Vec<&'a Access>,
}

/// Gathers the signs of a traced kernel.
pub fn gather(items: &[Item]) -> Signals {
    let mut w = Walk {
        s: Signals::default(),
        global_loads: Vec::new(),
        global_stores: Vec::new(),
        tickets: Vec::new(),
        ballots: Vec::new(),
        exponentials: Vec::new(),
        updates: Vec::new(),
        accesses: Vec::new(),
    };
    walk(&mut w, items, 0);
    finish(&mut w);
    w.s.same_index = w.global_loads.iter().all(|i| w.global_stores.contains(i));
    w.s
}

fn walk<'a>(w: &mut Walk<'a>, items: &'a [Item], loops: usize) {
    for item in items {
        match item {
            Item::Loop { body, .. } => walk(w, body, loops + 1),
            Item::If { then, otherwise, .. } => {
                walk(w, then, loops);
                walk(w, otherwise, loops);
            }
            Item::Access(a) => access(w, a),
            Item::Flops(_) => w.s.arithmetic = true,
            Item::Call { name, args, at, .. } => call(w, name, args, *at),
            Item::Update { target, value, operator, carried, at } => {
                update(w, target, value, operator, *carried, *at, loops);
            }
            Item::Scalar { name, value } => scalar(w, name, value),
            Item::Return { .. } | Item::Array { .. } => {}
        }
    }
}

fn access<'a>(w: &mut Walk<'a>, a: &'a Access) {
    w.accesses.push(a);
    match a.space {
        Space::Global if a.write => {
            w.s.stores = true;
            w.global_stores.push(&a.index);
        }
        Space::Global => {
            w.s.loads = true;
            w.global_loads.push(&a.index);
        }
        Space::Shared => w.s.shared = true,
        _ => {}
    }
    if a.atomic && a.indirect {
        w.s.scattered_atomic.get_or_insert(a.at);
    }
    if a.indirect && !a.atomic && a.space == Space::Global {
        w.s.indirect.get_or_insert(a.at);
    }
    if a.write && a.space == Space::Global && w.tickets.iter().any(|t| mentions(&a.index, t)) {
        w.s.ticketed_store.get_or_insert(a.at);
    }
}

fn call<'a>(w: &mut Walk<'a>, name: &'a str, args: &'a [String], at: usize) {
    if is_exponential(name) {
        w.s.exponential.get_or_insert(at);
    }
    match name {
        n if n.contains("mma_sync") || n.contains("wgmma") => {
            w.s.matrix.get_or_insert(at);
        }
        "__shfl_xor_sync" | "__shfl_xor" | "shfl_xor" | "__shfl_down_sync" | "__shfl_down" | "shfl_down"
        | "__reduce_add_sync" | "__reduce_max_sync" | "__reduce_min_sync" | "BlockReduce" | "WarpReduce" => {
            w.s.reduction.get_or_insert(at);
        }
        // Cooperative groups: `reduce(group, value, operation)`.
        "reduce" if args.len() == 3 => {
            w.s.reduction.get_or_insert(at);
        }
        "BlockScan" | "WarpScan" | "InclusiveSum" | "ExclusiveSum" | "InclusiveScan" | "ExclusiveScan" => {
            w.s.prefix.get_or_insert(at);
        }
        "__popc" | "__popcll" if args.iter().any(|a| w.ballots.iter().any(|b| mentions(a, b))) => {
            w.s.ballot_rank.get_or_insert(at);
        }
        _ => {}
    }
}

fn scalar<'a>(w: &mut Walk<'a>, name: &'a str, value: &'a str) {
    if value.contains("atomicAdd") || value.contains("atomicInc") {
        w.tickets.push(name);
    }
    if value.contains("ballot") {
        w.ballots.push(name);
    }
    w.updates.push((name, value));
}

fn update<'a>(
    w: &mut Walk<'a>,
    target: &'a str,
    value: &'a str,
    operator: &str,
    carried: bool,
    at: usize,
    loops: usize,
) {
    w.updates.push((target, value));
    let exponential = lex::tokens(value).iter().any(|t| is_exponential(t.text(value)));
    if exponential || w.exponentials.iter().any(|e| mentions(value, e)) && operator == "=" && !carried {
        w.exponentials.push(target);
    }
    let is_max = ["fmaxf", "max", "__hmax"].iter().any(|m| called(value, m));
    // `m = fmaxf(m, v)`, or `next = fmaxf(m, v)` and later `m = next`.
    let through = w.updates.iter().any(|(n, v)| *n == value && called(v, "fmaxf") && mentions(v, target));
    if (is_max && mentions(value, target) && (carried || loops > 0)) || (through && carried) {
        w.s.maximum.get_or_insert(at);
    }
    if !carried {
        return;
    }
    let from_array = |n: &str| w.updates.iter().any(|(m, v)| *m == n && v.contains('['));
    let loaded = value.contains('[') || lex::tokens(value).iter().any(|t| from_array(t.text(value)));
    if operator == "+=" && loops > 0 && !target.contains('[') && loaded {
        w.s.sum.get_or_insert(at);
    }
    if let Some((a, b)) = product(target, value, operator) {
        let element = |t: &str| t.contains('[');
        if mentions(&a, target) || mentions(&b, target) {
            return;
        }
        if element(&a) && element(&b) && stem(&a) != stem(&b) {
            w.s.dots.push(at);
        } else if element(&a) || element(&b) {
            let other = if element(&a) { &b } else { &a };
            if w.exponentials.iter().any(|e| mentions(other, e)) {
                w.s.weighted.get_or_insert(at);
            } else {
                // One factor was loaded to a register before: still a sum of products of arrays if that came from one.
                let loaded = w.updates.iter().any(|(n, v)| n == other && v.contains('['));
                if loaded {
                    w.s.dots.push(at);
                }
            }
        } else {
            let from_array = |x: &str| w.updates.iter().any(|(n, v)| *n == x && v.contains('['));
            if from_array(&a) && from_array(&b) && a != b {
                w.s.dots.push(at);
            }
        }
    }
    if recurrence(target, value, operator) {
        w.s.recurrence.get_or_insert(at);
    }
}

/// Signs that need the whole kernel.
fn finish(w: &mut Walk<'_>) {
    // A halving loop over shared memory: `s[i] += s[i + h]`, or a prefix step `s[i] += s[i - h]`.
    for store in w.accesses.iter().filter(|a| a.write && a.space == Space::Shared) {
        for load in w.accesses.iter().filter(|b| !b.write && b.statement == store.statement && b.array == store.array) {
            let rest = load.index.strip_prefix(store.index.as_str()).map(str::trim_start);
            match rest.and_then(|r| r.chars().next()) {
                Some('+') => w.s.reduction = w.s.reduction.or(Some(store.at)),
                Some('-') => w.s.prefix = w.s.prefix.or(Some(store.at)),
                _ => {}
            }
        }
    }
    let stores: Vec<&&Access> = w.accesses.iter().filter(|a| a.write && a.space == Space::Global).collect();
    let changes = |a: &Access| {
        let reads = |b: &&Access| {
            !b.write && b.statement == a.statement && b.array == a.array && b.index == a.index && b.space == a.space
        };
        !a.atomic && w.accesses.iter().any(reads)
    };
    if stores.iter().all(|a| changes(a)) {
        w.s.in_place = stores.first().map(|a| a.at);
    }
    w.s.rearranges = w.accesses.iter().filter(|a| a.space == Space::Shared && a.write).any(|a| {
        w.accesses.iter().any(|b| !b.write && b.space == Space::Shared && b.array == a.array && b.index != a.index)
    });
    let stored = |integer: bool| {
        w.accesses.iter().find(|a| a.write && !a.atomic && a.space == Space::Global && a.integer == integer)
    };
    if let (Some(_), Some(a), Some(_)) = (w.s.reduction, stored(true), stored(false)) {
        w.s.selection = Some(a.at);
    }
    // Neighbours: one statement reads the same array at x - e and at x + e.
    for a in &w.accesses {
        if a.write || !matches!(a.space, Space::Global | Space::Shared | Space::Unknown) {
            continue;
        }
        let mirrored = |b: &&&Access| {
            b.statement == a.statement && b.array == a.array && !b.write && a.index != b.index && {
                let (x, y) = (a.index.replace(' ', ""), b.index.replace(' ', ""));
                x.contains('-') && x.replacen('-', "+", 1) == y
            }
        };
        if w.accesses.iter().find(mirrored).is_some() {
            w.s.neighbours.get_or_insert(a.at);
        }
    }
}

/// Factors of the product that `target op= value` adds to the target.
fn product(target: &str, value: &str, operator: &str) -> Option<(String, String)> {
    let tokens = lex::tokens(value);
    let word = |i: usize| tokens.get(i).map_or("", |t| t.text(value));
    if operator == "=" && matches!(word(0), "fmaf" | "fma" | "__fmaf_rn" | "__hfma") {
        let (args, _) = crate::cuda::constant::arguments(value, &tokens, 1)?;
        let [a, b, c] = args.as_slice() else { return None };
        return (squash(c) == squash(target)).then(|| (a.clone(), b.clone()));
    }
    let sum = match operator {
        "+=" => value.to_owned(),
        "=" => {
            let rest = value.trim().strip_prefix(target)?.trim_start().strip_prefix('+')?;
            rest.to_owned()
        }
        _ => return None,
    };
    split_product(&sum)
}

/// `a * b` at the top level of an expression without other operators there.
fn split_product(text: &str) -> Option<(String, String)> {
    let mut text = text.trim();
    while text.starts_with('(') && matching(text) == Some(text.len() - 1) {
        text = text.get(1..text.len() - 1)?.trim();
    }
    let mut depth = 0i32;
    let mut star = None;
    for t in lex::tokens(text) {
        match t.text(text) {
            "(" | "[" => depth += 1,
            ")" | "]" => depth -= 1,
            "*" if depth == 0 && t.range.start > 0 => star = star.or(Some(t.range.clone())),
            "+" | "-" | "?" | "/" if depth == 0 => return None,
            _ => {}
        }
    }
    let star = star?;
    Some((text.get(..star.start)?.trim().to_owned(), text.get(star.end..)?.trim().to_owned()))
}

fn matching(text: &str) -> Option<usize> {
    let mut depth = 0i32;
    for (i, c) in text.char_indices() {
        depth += match c {
            '(' => 1,
            ')' => -1,
            _ => 0,
        };
        if depth == 0 {
            return Some(i);
        }
    }
    None
}

/// `h = a * h + b`.
fn recurrence(target: &str, value: &str, operator: &str) -> bool {
    if operator != "=" || target.contains('[') && !mentions(value, target) {
        return false;
    }
    let flat = squash(value);
    let h = squash(target);
    let times = format!("*{h}");
    let before = format!("{h}*");
    (flat.contains(&times) || flat.starts_with(&before)) && flat.contains('+') && !flat.contains("fmax")
}

fn squash(text: &str) -> String {
    text.split_whitespace().collect()
}

fn stem(text: &str) -> &str {
    text.split('[').next().unwrap_or(text).trim()
}

fn called(text: &str, name: &str) -> bool {
    let tokens = lex::tokens(text);
    tokens.windows(2).any(|w| matches!(w, [a, b] if a.text(text) == name && b.text(text) == "("))
}

/// Does `text` hold `name` as a whole word (or, for an element, its array)?
pub fn mentions(text: &str, name: &str) -> bool {
    let word = stem(name);
    lex::tokens(text).iter().any(|t| t.kind == Kind::Ident && t.text(text) == word)
}

/// The prefix sign of shuffles: an upward shuffle whose value is used under `lane >= delta`, or a shuffle-up in a
/// doubling loop.
pub fn shuffle_prefix(items: &[Item]) -> Option<usize> {
    items.iter().find_map(|i| match i {
        Item::Call { name, at, .. } if matches!(name.as_str(), "__shfl_up_sync" | "__shfl_up" | "shfl_up") => Some(*at),
        Item::Loop { body, .. } => shuffle_prefix(body),
        Item::If { then, otherwise, .. } => shuffle_prefix(then).or_else(|| shuffle_prefix(otherwise)),
        _ => None,
    })
}
