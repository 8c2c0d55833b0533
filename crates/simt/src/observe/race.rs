//! Finds data races: two accesses to the same memory, at least one a write, with no order between them. Knows addresses,
//! threads and synchronisation; must not know registers or instructions beyond their numbers.
//!
//! Each simdgroup has a clock, and knows how far it has seen the clocks of the others (a vector clock). A threadgroup
//! barrier shows everybody everything, for the memory its flags name; a simdgroup barrier orders the lanes of one
//! simdgroup; an atomic operation publishes what its simdgroup has done to whoever reads that location atomically later.
//! Lanes of one simdgroup are different threads: lock step is no order. Each granule of memory remembers its last write
//! and two unordered reads.

use rustc_hash::{FxHashMap, FxHashSet};

use super::AccessKind;

/// Most simdgroups in a group.
const SIMDS: usize = 32;

/// An access as it is remembered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Mark {
    /// Linear thread plus one; 0 for none.
    who: u32,
    group: u32,
    clock: u32,
    /// Program point; the top bit marks an atomic.
    point: u32,
}

const ATOMIC: u32 = 1 << 31;

impl Mark {
    fn thread(self) -> u32 {
        self.who.wrapping_sub(1)
    }
    fn simd(self) -> usize {
        (self.thread() / 32) as usize % SIMDS
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    write: Mark,
    reads: [Mark; 2],
}

/// One side of a race.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Side {
    /// Program point.
    pub point: u32,
    /// Linear group.
    pub group: u32,
    /// Linear thread in the group.
    pub thread: u32,
    /// Did it write?
    pub write: bool,
}

/// A race: the access earlier in the program first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Race {
    /// One access.
    pub first: Side,
    /// The other.
    pub second: Side,
    /// Address of the granule.
    pub address: u64,
}

/// What one lane does.
#[derive(Clone, Copy, Debug)]
pub struct LaneAccess<'a> {
    /// What it does.
    pub kind: AccessKind,
    /// Address of its first byte.
    pub address: u64,
    /// Bytes.
    pub bytes: u32,
    /// Linear thread in the group.
    pub thread: u32,
    /// Program point.
    pub point: u32,
    /// Does it write?
    pub writes: bool,
    /// For a plain store: what memory holds and what it will hold. The same bytes make a race harmless.
    pub change: Option<(&'a [u8], &'a [u8])>,
}

/// Clocks of one memory space.
#[derive(Clone, Debug)]
struct Clocks {
    own: [u32; SIMDS],
    seen: Box<[[u32; SIMDS]; SIMDS]>,
}

impl Clocks {
    fn new() -> Self {
        Self { own: [1; SIMDS], seen: Box::new([[0; SIMDS]; SIMDS]) }
    }

    fn reset(&mut self) {
        self.own = [1; SIMDS];
        *self.seen = [[0; SIMDS]; SIMDS];
    }

    fn barrier(&mut self) {
        let now = self.own;
        for s in self.seen.iter_mut() {
            *s = now;
        }
        for c in &mut self.own {
            *c += 1;
        }
    }
}

/// Cells of a page.
const PAGE: usize = 256;

type Page = Box<[Cell; PAGE]>;

/// Cells by granule number, in pages that are made when they are first used.
#[derive(Debug, Default)]
struct Cells {
    /// Pages of the lower granules, by number.
    low: Vec<Option<Page>>,
    /// Pages of all others.
    high: FxHashMap<u64, Page>,
}

/// Pages held by number.
const LOW_PAGES: usize = 1 << 16;

impl Cells {
    #[inline]
    fn at(&mut self, granule: u64) -> &mut Cell {
        let page = granule / PAGE as u64;
        let k = granule as usize % PAGE;
        let make = || Box::new([Cell::default(); PAGE]);
        if (page as usize) < LOW_PAGES {
            let page = page as usize;
            if page >= self.low.len() {
                self.low.resize_with(page + 1, || None);
            }
            &mut self.low[page].get_or_insert_with(make)[k]
        } else {
            &mut self.high.entry(page).or_insert_with(make)[k]
        }
    }
}

/// Races in one memory space.
#[derive(Debug)]
pub struct Races {
    /// Log2 of the bytes of a granule.
    granule: u32,
    clocks: Clocks,
    /// Cells by buffer (the upper bits of an address).
    buffers: Vec<Cells>,
    /// Clocks that an atomic location has been given.
    released: FxHashMap<u64, [u32; SIMDS]>,
    /// Groups whose writes an atomic location publishes, and those that this group has seen.
    published: FxHashMap<u64, FxHashSet<u32>>,
    seen_groups: FxHashSet<u32>,
    group: u32,
    /// Accesses of different groups meet in this space.
    shared: bool,
    found: Vec<Race>,
    known: FxHashSet<(u32, u32)>,
}

impl Races {
    /// A space whose accesses are all multiples of `granule` bytes (1, 2 or 4).
    pub fn new(granule: u32, shared: bool) -> Self {
        Self {
            granule: granule.max(1).ilog2(),
            clocks: Clocks::new(),
            buffers: Vec::new(),
            released: FxHashMap::default(),
            published: FxHashMap::default(),
            seen_groups: FxHashSet::default(),
            group: 0,
            shared,
            found: Vec::new(),
            known: FxHashSet::default(),
        }
    }

    /// A group starts.
    pub fn start(&mut self, group: u32) {
        self.group = group;
        self.clocks.reset();
        self.released.clear();
        self.seen_groups.clear();
    }

    /// All threads of the group met.
    pub fn barrier(&mut self) {
        self.clocks.barrier();
    }

    /// The lanes of a simdgroup met.
    pub fn simd_barrier(&mut self, simd: u32) {
        if let Some(c) = self.clocks.own.get_mut(simd as usize) {
            *c += 1;
        }
    }

    /// The next race, each pair of program points once.
    pub fn take(&mut self) -> Option<Race> {
        self.found.pop()
    }

    /// An atomic on `address` by a simdgroup: sees what the location publishes, then publishes what it knows.
    fn hand_over(&mut self, simd: usize, address: u64, writes: bool) {
        if let Some(r) = self.released.get(&address)
            && let Some(seen) = self.clocks.seen.get_mut(simd)
        {
            for (s, r) in seen.iter_mut().zip(r) {
                *s = (*s).max(*r);
            }
        }
        if self.shared
            && let Some(p) = self.published.get(&address)
        {
            self.seen_groups.extend(p.iter().copied());
        }
        if !writes {
            return;
        }
        let mut now = self.clocks.seen.get(simd).copied().unwrap_or([0; SIMDS]);
        if let (Some(n), Some(own)) = (now.get_mut(simd), self.clocks.own.get_mut(simd)) {
            *n = *own;
            *own += 1;
        }
        let slot = self.released.entry(address).or_insert([0; SIMDS]);
        for (s, n) in slot.iter_mut().zip(now) {
            *s = (*s).max(n);
        }
        if self.shared {
            let p = self.published.entry(address).or_default();
            p.insert(self.group);
            p.extend(self.seen_groups.iter().copied());
        }
    }

    /// Before an atomic, for ordering: call once per lane, then [`Self::access`].
    pub fn atomic(&mut self, thread: u32, address: u64, writes: bool) {
        self.hand_over((thread / 32) as usize % SIMDS, address, writes);
    }

    /// Is `m` ordered before what thread `thread` does now?
    #[inline]
    fn ordered(&self, m: Mark, thread: u32) -> bool {
        if m.who == 0 {
            return true;
        }
        if m.group != self.group {
            return !self.shared || self.seen_groups.contains(&m.group);
        }
        if m.thread() == thread {
            return true;
        }
        let (s, t) = ((thread / 32) as usize % SIMDS, m.simd());
        if s == t { m.clock < self.clocks.own[s] } else { m.clock <= self.clocks.seen[s][t] }
    }

    /// One lane's access.
    #[inline]
    pub fn access(&mut self, a: &LaneAccess<'_>) {
        let buffer = (a.address >> 40) as usize;
        let within = a.address & ((1 << 40) - 1);
        // Device addresses start in the middle of their slot.
        let within = if self.shared { within.wrapping_sub(1 << 39) & ((1 << 40) - 1) } else { within };
        let first = within >> self.granule;
        let last = (within + u64::from(a.bytes.max(1)) - 1) >> self.granule;
        let simd = (a.thread / 32) as usize % SIMDS;
        let atomic = a.kind == AccessKind::Atomic;
        let me = Mark {
            who: a.thread + 1,
            group: self.group,
            clock: self.clocks.own[simd],
            point: a.point | if atomic { ATOMIC } else { 0 },
        };
        if buffer >= self.buffers.len() {
            self.buffers.resize_with(buffer + 1, Cells::default);
        }
        for g in first..=last {
            let cell = *self.buffers[buffer].at(g);
            let new = if a.writes {
                let from = ((g << self.granule).saturating_sub(within)) as usize;
                self.write(a, me, cell, g, from)
            } else {
                self.read(a, me, cell, g)
            };
            *self.buffers[buffer].at(g) = new;
        }
    }

    #[inline]
    fn clash(&self, me: Mark, m: Mark, thread: u32) -> bool {
        let both_atomic = me.point & ATOMIC != 0 && m.point & ATOMIC != 0;
        !both_atomic && !self.ordered(m, thread)
    }

    #[inline]
    fn read(&mut self, a: &LaneAccess<'_>, me: Mark, cell: Cell, g: u64) -> Cell {
        if self.clash(me, cell.write, a.thread) {
            self.report(a, me, cell.write, true, g);
        }
        let [r, s] = cell.reads;
        let reads = if self.ordered(r, a.thread) {
            [me, if self.ordered(s, a.thread) { Mark::default() } else { s }]
        } else {
            [r, me]
        };
        Cell { write: cell.write, reads }
    }

    /// `from`: offset of the granule in the access.
    #[inline]
    fn write(&mut self, a: &LaneAccess<'_>, me: Mark, cell: Cell, g: u64, from: usize) -> Cell {
        let same = a.change.is_some_and(|(old, new)| {
            let to = (from + (1 << self.granule)).min(old.len());
            old.get(from..to) == new.get(from..to)
        });
        if same {
            // A harmless write does not hide the reads and writes before it.
            let keep = !self.ordered(cell.write, a.thread);
            return Cell { write: if keep { cell.write } else { me }, reads: cell.reads };
        }
        if self.clash(me, cell.write, a.thread) {
            self.report(a, me, cell.write, true, g);
        }
        for r in cell.reads {
            if self.clash(me, r, a.thread) {
                self.report(a, me, r, false, g);
            }
        }
        Cell { write: me, reads: [Mark::default(); 2] }
    }

    #[cold]
    fn report(&mut self, a: &LaneAccess<'_>, me: Mark, other: Mark, other_writes: bool, g: u64) {
        let side = |m: Mark, write| Side { point: m.point & !ATOMIC, group: m.group, thread: m.thread(), write };
        let mine = side(me, a.writes);
        let theirs = side(other, other_writes);
        let (first, second) = if theirs.point <= mine.point { (theirs, mine) } else { (mine, theirs) };
        if self.known.insert((first.point, second.point)) {
            let slot = a.address >> 40 << 40;
            let base = if self.shared { slot + (1 << 39) } else { 0 };
            self.found.push(Race { first, second, address: base + (g << self.granule) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lane(kind: AccessKind, thread: u32, address: u64, point: u32) -> LaneAccess<'static> {
        let writes = kind == AccessKind::Store || point == 3 && kind == AccessKind::Atomic;
        LaneAccess { kind, address, bytes: 4, thread, point, writes, change: None }
    }

    #[test]
    fn a_barrier_orders_a_missing_one_does_not() {
        let mut r = Races::new(4, false);
        r.start(0);
        r.access(&lane(AccessKind::Store, 0, 16, 1));
        r.access(&lane(AccessKind::Load, 40, 16, 2));
        let race = r.take().expect("a race");
        assert_eq!((race.first.point, race.second.point, race.first.write), (1, 2, true));
        r.start(1);
        r.access(&lane(AccessKind::Store, 0, 16, 1));
        r.barrier();
        r.access(&lane(AccessKind::Load, 40, 16, 2));
        r.barrier();
        r.access(&lane(AccessKind::Store, 3, 16, 3));
        assert_eq!(r.take(), None);
    }

    #[test]
    fn lanes_of_one_simdgroup_need_a_simdgroup_barrier() {
        let mut r = Races::new(4, false);
        r.start(0);
        r.access(&lane(AccessKind::Store, 0, 0, 1));
        r.simd_barrier(0);
        r.access(&lane(AccessKind::Load, 1, 0, 2));
        assert_eq!(r.take(), None);
        r.access(&lane(AccessKind::Store, 2, 0, 3));
        assert_eq!(r.take().map(|x| (x.first.point, x.second.point)), Some((2, 3)));
    }

    #[test]
    fn the_same_value_is_harmless_and_atomics_hand_over() {
        let mut r = Races::new(4, false);
        r.start(0);
        let one = [1u8, 0, 0, 0];
        let zero = [0u8; 4];
        let store = |thread, old, new| LaneAccess { change: Some((old, new)), ..lane(AccessKind::Store, thread, 8, 1) };
        r.access(&store(0, &zero[..], &one[..]));
        r.access(&store(64, &one[..], &one[..]));
        assert_eq!(r.take(), None);
        // Data at 100, flag at 200.
        r.access(&lane(AccessKind::Store, 0, 100, 2));
        r.atomic(0, 200, true);
        r.access(&lane(AccessKind::Atomic, 0, 200, 3));
        r.atomic(99, 200, false);
        r.access(&lane(AccessKind::Atomic, 99, 200, 4));
        r.access(&lane(AccessKind::Load, 99, 100, 5));
        assert_eq!(r.take(), None);
        r.access(&lane(AccessKind::Load, 700, 100, 6));
        assert!(r.take().is_some());
    }

    #[test]
    fn groups_are_never_ordered_but_by_atomics() {
        let mut r = Races::new(4, true);
        let at = (1 << 40) + (1 << 39) + 64;
        r.start(0);
        r.access(&lane(AccessKind::Store, 0, at, 1));
        r.atomic(0, 0, true);
        r.start(1);
        r.access(&lane(AccessKind::Load, 5, at, 2));
        assert_eq!(r.take().map(|x| (x.first.group, x.address)), Some((0, at)));
        r.start(2);
        r.atomic(0, 0, true);
        r.access(&lane(AccessKind::Load, 5, at, 3));
        assert_eq!(r.take(), None);
    }
}
