//! Exchanges through shared memory that have no barrier between them. Must not claim more than the text shows: it names
//! the two places; whether they touch the same element is for the simulator to say.

use super::trace::{Access, Item, Space};

/// Two accesses of a shared array with no barrier between them.
#[derive(Clone, Debug, PartialEq)]
pub struct Hazard {
    /// The earlier one.
    pub first: Access,
    /// The later one.
    pub second: Access,
}

/// A condition that differs between threads, and which visit of the branch it was: the same branch in the next pass of
/// a loop is another visit.
type Guard = (String, usize);

#[derive(Clone, Default)]
struct State {
    pending: Vec<(Access, Vec<Guard>)>,
}

/// All hazards, one per pair of places.
pub fn find(items: &[Item]) -> Vec<Hazard> {
    let mut finder = Finder { guards: Vec::new(), found: Vec::new(), visits: 0 };
    let mut state = State::default();
    finder.walk(items, &mut state);
    finder.found
}

struct Finder {
    /// Conditions, among those that differ between threads, that the present place stands under.
    guards: Vec<Guard>,
    found: Vec<Hazard>,
    visits: usize,
}

/// Accesses remembered between two barriers at most.
const MAX_PENDING: usize = 64;

impl Finder {
    fn walk(&mut self, items: &[Item], state: &mut State) {
        for item in items {
            match item {
                Item::Loop { body, .. } => {
                    // Twice, so that the end of one pass meets the start of the next.
                    let before = state.clone();
                    self.walk(body, state);
                    self.walk(body, state);
                    merge(state, &before);
                }
                Item::If { condition, by_thread, then, otherwise } => {
                    let mut other = state.clone();
                    self.visits += 1;
                    let visit = self.visits;
                    if *by_thread {
                        self.guards.push((condition.clone(), visit));
                    }
                    self.walk(then, state);
                    if *by_thread {
                        self.guards.pop();
                        self.guards.push((format!("!({condition})"), visit));
                    }
                    self.walk(otherwise, &mut other);
                    if *by_thread {
                        self.guards.pop();
                    }
                    // What one side's barrier has settled the other side may have left open: only what both leave
                    // open is certain to be.
                    if has_barrier(then) == has_barrier(otherwise) {
                        merge(state, &other);
                    } else {
                        state.pending.retain(|p| other.pending.contains(p));
                    }
                }
                Item::Call { name, .. } if is_barrier(name) => state.pending.clear(),
                Item::Access(a) if a.space == Space::Shared => self.access(a, state),
                _ => {}
            }
        }
    }

    fn access(&mut self, a: &Access, state: &mut State) {
        for (earlier, guards) in &state.pending {
            let same_array = earlier.array == a.array && earlier.view == a.view;
            let conflict = earlier.write || a.write;
            let both_atomic = earlier.atomic && a.atomic;
            // `s[i] += s[i + h]` under a guard is how a tree reduction is written, with its barrier after it.
            if !same_array || !conflict || both_atomic || earlier.statement == a.statement {
                continue;
            }
            let crosses = if earlier.index == a.index {
                // The same uniform element, written by some threads and touched by others.
                !a.by_thread && !guards.iter().all(|(g, _)| self.guards.iter().any(|(h, _)| g == h))
            } else {
                // Two fixed elements, or two places of which neither depends on the thread, need no barrier for order.
                (earlier.by_thread || a.by_thread)
                    && !is_own(&self.guards, a, earlier)
                    && !is_own(guards, earlier, a)
                    && !apart(guards, &self.guards, &earlier.index, &a.index)
            };
            if crosses && !self.found.iter().any(|h| h.first.at == earlier.at && h.second.at == a.at) {
                self.found.push(Hazard { first: earlier.clone(), second: a.clone() });
            }
        }
        let entry = (a.clone(), self.guards.clone());
        if state.pending.len() < MAX_PENDING && !state.pending.contains(&entry) {
            state.pending.push(entry);
        }
    }
}

/// Under `i == 0`, element 0 of an array that others touch at `i` is the thread's own.
fn is_own(guards: &[Guard], fixed: &Access, other: &Access) -> bool {
    let squash = |t: &str| t.split_whitespace().collect::<String>();
    let (k, i) = (squash(&fixed.index), squash(&other.index));
    let says = [format!("{i}=={k}"), format!("{k}=={i}"), format!("!{i}")];
    !fixed.by_thread
        && other.by_thread
        && guards.iter().any(|(g, _)| {
            let g = squash(g);
            // Conditions are only narrowed by what is and-ed to them.
            !g.contains("||")
                && g.split("&&").any(|part| part == says[0] || part == says[1] || (k == "0" && part == says[2]))
        })
}

/// Under `t < h`, in one visit of the branch, element `i` and element `i + h` are never the same one of two threads: one
/// lies below `h` past the start of the part, the other above.
fn apart(before: &[Guard], now: &[Guard], a: &str, b: &str) -> bool {
    let squash = |t: &str| t.split_whitespace().collect::<String>();
    let (a, b) = (squash(a), squash(b));
    before.iter().filter(|g| now.contains(g)).any(|(g, _)| {
        let g = squash(g);
        let Some((_, h)) = g.split_once('<').filter(|(_, h)| !h.starts_with(['=', '<']) && !g.contains("||")) else {
            return false;
        };
        let h = h.split("&&").next().unwrap_or(h);
        a == format!("{b}+{h}") || b == format!("{a}+{h}")
    })
}

fn merge(into: &mut State, other: &State) {
    for p in &other.pending {
        if into.pending.len() < MAX_PENDING && !into.pending.contains(p) {
            into.pending.push(p.clone());
        }
    }
}

fn is_barrier(name: &str) -> bool {
    name.starts_with("__syncthreads") || name.starts_with("__syncwarp") || matches!(name, "sync" | "__barrier_sync")
}

fn has_barrier(items: &[Item]) -> bool {
    items.iter().any(|i| match i {
        Item::Loop { body, .. } => has_barrier(body),
        Item::If { then, otherwise, .. } => has_barrier(then) || has_barrier(otherwise),
        Item::Call { name, .. } => is_barrier(name),
        _ => false,
    })
}
