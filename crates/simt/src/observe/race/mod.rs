//! Finds data races: two accesses to the same memory, at least one a write, with no order between them. Knows addresses,
//! threads and synchronisation; must not know registers or instructions beyond their numbers.
//!
//! Each granule of memory remembers its last write and two unordered reads; [`order`] says which of them are ordered
//! before an access. Most accesses are checked for a whole simdgroup at once ([`rows`]).

// The bodies of whole-simdgroup checks must be inlined into the copies made for each host instruction set.
#![allow(clippy::inline_always)]

mod cells;
mod order;
mod rows;

use rustc_hash::FxHashSet;

use super::AccessKind;
use cells::{Cells, PAGE};
use order::{Mark, Order};
use rows::{Chunk, Clashes, Host, LANES};
pub use rows::{NO_CHANGE, Row};

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

/// Races in one memory space.
#[derive(Debug)]
pub struct Races {
    /// Log2 of the bytes of a granule.
    granule: u32,
    order: Order,
    /// Cells by buffer (the upper bits of an address).
    buffers: Vec<Cells>,
    /// Accesses of different groups meet in this space.
    shared: bool,
    found: Vec<Race>,
    known: FxHashSet<(u32, u32)>,
    host: Host,
}

/// Threads of a granule's lane, for [`Chunk::who`], and all bits for those that take part.
type Lanes = ([u32; LANES], [u32; LANES]);

impl Races {
    /// A space whose accesses are all multiples of `granule` bytes (1, 2 or 4).
    pub fn new(granule: u32, shared: bool) -> Self {
        Self {
            granule: granule.clamp(1, 4).ilog2(),
            order: Order::new(shared),
            buffers: Vec::new(),
            shared,
            found: Vec::new(),
            known: FxHashSet::default(),
            host: Host::new(),
        }
    }

    /// Time is finite: when it is used up, everything is forgotten once.
    fn before_tick(&mut self) {
        if self.order.worn_out() {
            self.buffers.clear();
            self.order.rewind();
        }
    }

    /// A group starts.
    pub fn start(&mut self, group: u32) {
        self.before_tick();
        self.order.start(group);
    }

    /// All threads of the group met.
    pub fn barrier(&mut self) {
        self.before_tick();
        self.order.barrier();
    }

    /// The lanes of a simdgroup met.
    pub fn simd_barrier(&mut self, simd: u32) {
        self.before_tick();
        self.order.simd_barrier(simd as usize);
    }

    /// Before an atomic, for ordering: call once per lane, then [`Self::access`].
    pub fn atomic(&mut self, thread: u32, address: u64, writes: bool) {
        self.before_tick();
        self.order.hand_over((thread / 32) as usize, address, writes);
    }

    /// Is there a race to take?
    #[inline]
    pub fn any(&self) -> bool {
        !self.found.is_empty()
    }

    /// The next race, each pair of program points once.
    pub fn take(&mut self) -> Option<Race> {
        self.found.pop()
    }

    /// Buffer and byte offset of an address.
    #[inline]
    fn place(&mut self, address: u64) -> (usize, u64) {
        let buffer = (address >> 40) as usize;
        let within = address & ((1 << 40) - 1);
        // Device addresses start in the middle of their slot.
        let within = if self.shared { within.wrapping_sub(1 << 39) & ((1 << 40) - 1) } else { within };
        if buffer >= self.buffers.len() {
            self.buffers.resize_with(buffer + 1, Cells::default);
        }
        (buffer, within)
    }

    /// One lane's access.
    pub fn access(&mut self, a: &LaneAccess<'_>) {
        let (buffer, within) = self.place(a.address);
        let first = within >> self.granule;
        let last = (within + u64::from(a.bytes.max(1)) - 1) >> self.granule;
        for g in first..=last {
            let same = a.change.is_some_and(|(old, new)| {
                let from = (g << self.granule).saturating_sub(within) as usize;
                let to = (((g + 1) << self.granule) - within).min(old.len() as u64) as usize;
                old.get(from..to) == new.get(from..to)
            });
            self.one(buffer, g, a.thread, a.point, a.kind == AccessKind::Atomic, a.writes.then_some(same));
        }
    }

    /// One thread's access to one granule; `writes` says whether a write leaves it as it is.
    #[inline]
    fn one(&mut self, buffer: usize, g: u64, thread: u32, point: u32, atomic: bool, writes: Option<bool>) {
        let me = self.order.mark(thread, point, atomic);
        let page = self.buffers[buffer].page(g);
        let k = (g % PAGE as u64) as usize;
        let found = match writes {
            Some(same) => rows::write_one(&self.order, page, k, me, same),
            None => rows::read_one(&self.order, page, k, me),
        };
        if found != [None; 3] {
            self.report(buffer, g, me, writes.is_some(), found);
        }
    }

    /// A simdgroup's access. `false`, and nothing done, when it must be told lane by lane.
    #[inline]
    pub fn row(&mut self, r: &Row<'_>) -> bool {
        if r.low & ((1 << self.granule) - 1) != 0 {
            return false;
        }
        let (buffer, within) = self.place(r.base);
        let first = within >> self.granule;
        let each = r.bytes >> self.granule;
        if r.base == r.last && !r.writes {
            self.read_by_all(r, buffer, first, each, r.mask);
        } else if r.ramp && each.is_power_of_two() {
            self.ramp(r, buffer, first, each);
        } else {
            self.scattered(r, buffer, first, each);
        }
        true
    }

    /// Lanes of `mask` all read the same granules.
    #[inline]
    fn read_by_all(&mut self, r: &Row<'_>, buffer: usize, first: u64, each: u32, mask: u32) {
        let all = first..first + u64::from(each);
        let place = |g: u64| (g % PAGE as u64) as usize;
        let (cells, order) = (&mut self.buffers[buffer], &self.order);
        let several = !mask.is_power_of_two();
        if several && all.clone().all(|g| rows::readable(order, cells.page(g), place(g), r.simd)) {
            for g in all {
                rows::read_by_all(order, cells.page(g), place(g), r.simd, mask, r.point);
            }
            return;
        }
        let mut m = mask;
        while m != 0 {
            let thread = r.simd * 32 + m.trailing_zeros();
            m &= m - 1;
            for g in all.clone() {
                self.one(buffer, g, thread, r.point, false, None);
            }
        }
    }

    /// Lanes touch granules that follow each other.
    fn ramp(&mut self, r: &Row<'_>, buffer: usize, first: u64, each: u32) {
        let (from, to) = (r.mask.trailing_zeros() & 31, 32 - (r.mask.leading_zeros() & 31));
        let log = each.trailing_zeros();
        let total = (to - from) << log;
        let (stamp, limits) = (self.order.mark(0, 0, false).stamp, self.order.limits(r.simd as usize));
        let mut at = 0;
        while at < total {
            let g = first + u64::from(at);
            let k = (g % PAGE as u64) as usize;
            let n = (total - at).min(LANES as u32).min((PAGE - k) as u32);
            let (who, on) = lanes_of(r, from, at, n, log);
            let mut change = [0; LANES];
            if r.writes {
                change = changes(r, from, at, log, self.granule);
            }
            let chunk = Chunk { limits, who: &who, on: &on, stamp, point: r.point, change: &change };
            let page = self.buffers[buffer].page(g);
            let done = if r.writes {
                rows::write_chunk(self.host, page, k, &chunk)
            } else {
                rows::read_chunk(self.host, page, k, &chunk)
            };
            if !done {
                for i in 0..n as usize {
                    if on[i] != 0 {
                        let writes = r.writes.then_some(change[i] == 0);
                        self.one(buffer, g + i as u64, who[i], r.point, false, writes);
                    }
                }
            }
            at += n;
        }
    }

    /// Lanes touch granules anywhere.
    fn scattered(&mut self, r: &Row<'_>, buffer: usize, first: u64, each: u32) {
        let mut m = r.mask;
        while m != 0 {
            let lane = m.trailing_zeros() as usize;
            let at = r.rel[lane % LANES];
            let g = first + u64::from(at >> self.granule);
            if r.writes {
                for j in 0..each {
                    let same = r.same(lane, j as usize, self.granule);
                    self.one(buffer, g + u64::from(j), r.simd * 32 + lane as u32, r.point, false, Some(same));
                }
                m &= m - 1;
                continue;
            }
            // Neighbours that read the same are one read.
            let mut together = 0;
            while m != 0 && r.rel[m.trailing_zeros() as usize % LANES] == at {
                together |= m & m.wrapping_neg();
                m &= m - 1;
            }
            self.read_by_all(r, buffer, g, each, together);
        }
    }

    #[cold]
    fn report(&mut self, buffer: usize, g: u64, me: Mark, writes: bool, found: Clashes) {
        for (other, other_writes) in found.into_iter().flatten() {
            let side = |m: Mark, write| Side {
                point: m.point().unwrap_or(u32::MAX),
                group: self.order.group_of(m),
                thread: m.thread(),
                write,
            };
            let mine = side(me, writes);
            let theirs = side(other, other_writes);
            let (first, second) = if theirs.point <= mine.point { (theirs, mine) } else { (mine, theirs) };
            if self.known.insert((first.point, second.point)) {
                let base = if self.shared { ((buffer as u64) << 40) + (1 << 39) } else { 0 };
                self.found.push(Race { first, second, address: base + (g << self.granule) });
            }
        }
    }
}

/// Lanes of the `n` granules from the `at`th of a ramp whose first lane is `from` and whose lanes have `1 << log` each.
#[inline(always)]
fn lanes_of(r: &Row<'_>, from: u32, at: u32, n: u32, log: u32) -> Lanes {
    let (mut who, mut on) = ([0; LANES], [0; LANES]);
    for (i, (w, o)) in who.iter_mut().zip(&mut on).enumerate() {
        let lane = from + ((at + i as u32) >> log);
        *w = r.simd * 32 + lane;
        *o = 0u32.wrapping_sub(u32::from((i as u32) < n) & (r.mask >> (lane & 31)) & u32::from(lane < 32));
    }
    (who, on)
}

/// Which of the granules of a ramp change.
#[inline(always)]
fn changes(r: &Row<'_>, from: u32, at: u32, log: u32, granule: u32) -> [u32; LANES] {
    let mut out = [0; LANES];
    if log == 0 && granule == 2 && from == 0 && at == 0 {
        return r.change[0];
    }
    for (i, c) in out.iter_mut().enumerate() {
        let j = at + i as u32;
        let lane = (from + (j >> log)) as usize;
        *c = u32::from(!r.same(lane, (j & ((1 << log) - 1)) as usize, granule));
    }
    out
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

    /// What one simdgroup does in a random run.
    #[derive(Clone, Copy)]
    struct Step {
        writes: bool,
        simd: u32,
        mask: u32,
        base: u64,
        rel: [u32; 32],
        bytes: u32,
        changed: u64,
    }

    fn tell_lanes(r: &mut Races, s: &Step, point: u32) {
        for lane in (0..32).filter(|l| s.mask >> l & 1 == 1) {
            let (old, mut new) = ([0u8; 16], [0u8; 16]);
            for (k, b) in new.iter_mut().enumerate() {
                *b = u8::from(s.changed >> ((lane as usize * 7 + k) % 61) & 1 == 1);
            }
            let n = s.bytes as usize;
            r.access(&LaneAccess {
                kind: if s.writes { AccessKind::Store } else { AccessKind::Load },
                address: s.base + u64::from(s.rel[lane as usize]),
                bytes: s.bytes,
                thread: s.simd * 32 + lane,
                point,
                writes: s.writes,
                change: s.writes.then_some((&old[..n], &new[..n])),
            });
        }
    }

    fn tell_row(r: &mut Races, s: &Step, point: u32) -> bool {
        let lanes: Vec<usize> = (0..32).filter(|l| s.mask >> l & 1 == 1).collect();
        let lo = lanes.iter().map(|&l| s.rel[l]).min().expect("a lane");
        let hi = lanes.iter().map(|&l| s.rel[l]).max().expect("a lane");
        let mut change = [[0; 32]; 4];
        for &l in &lanes {
            for k in (0..s.bytes as usize).filter(|k| s.changed >> ((l * 7 + k) % 61) & 1 == 1) {
                change[k / 4][l] |= 1 << (8 * (k % 4));
            }
        }
        let rel = s.rel.map(|x| x.wrapping_sub(lo));
        let first = lanes[0];
        let ramp = lo != hi && lanes.iter().all(|&l| rel[l] == (l - first) as u32 * s.bytes);
        let base = s.base + u64::from(lo);
        let low = lanes.iter().fold(base as u32, |a, &l| a | rel[l]);
        r.row(&Row {
            writes: s.writes,
            simd: s.simd,
            mask: s.mask,
            base,
            last: s.base + u64::from(hi),
            rel: &rel,
            ramp,
            low,
            bytes: s.bytes,
            point,
            change: &change,
        })
    }

    /// Whole simdgroups find and leave behind what their lanes do one after another.
    #[test]
    fn rows_are_their_lanes() {
        let mut seed = 7u64;
        let mut random = move |n: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % n
        };
        let mut races = 0;
        for round in 0..600 {
            let (shared, granule) = (round % 2 == 1, [1, 2, 4][round / 2 % 3]);
            let mut by_row: Vec<Races> =
                Host::all().map(|host| Races { host, ..Races::new(granule, shared) }).collect();
            let mut by_lane = Races::new(granule, shared);
            let slot = if shared { (1 << 40) + (1 << 39) } else { 0 };
            for r in by_row.iter_mut().chain([&mut by_lane]) {
                r.start(0);
            }
            for point in 0..30 {
                // Near the end of a page, so that rows cross it.
                let near = slot + (PAGE as u64 - 24) * u64::from(granule);
                let bytes = granule << random(3);
                let bytes = if bytes > 16 { granule } else { bytes };
                let each = if random(8) == 0 { 3 * granule } else { bytes };
                let stride = [0, 1, 1, 1, 2][random(5) as usize] * each;
                let scatter = random(6) == 0;
                let step = Step {
                    writes: random(3) == 0,
                    simd: random(3) as u32,
                    mask: [u32::MAX, u32::MAX, 1, 0xff0, random(1 << 32).max(1) as u32][random(5) as usize],
                    base: near + random(12) * u64::from(granule) * 8,
                    rel: std::array::from_fn(|l| if scatter { random(9) as u32 * granule } else { l as u32 * stride }),
                    bytes: each,
                    changed: if random(3) == 0 { 0 } else { random(1 << 62) | (random(2) * u64::MAX) },
                };
                // Lanes that write the same place come one by one, each with what the one before left there.
                let mask = if step.writes && (scatter || stride == 0) {
                    step.mask & step.mask.wrapping_neg()
                } else {
                    step.mask
                };
                let step = Step { mask, ..step };
                tell_lanes(&mut by_lane, &step, point);
                for r in &mut by_row {
                    assert!(tell_row(r, &step, point), "aligned rows are taken");
                }
                let what = random(8);
                for r in by_row.iter_mut().chain([&mut by_lane]) {
                    match what {
                        0 => r.barrier(),
                        1 => r.simd_barrier(step.simd),
                        2 => r.atomic(step.simd * 32, 1, point % 2 == 0),
                        3 => r.start(point),
                        _ => {}
                    }
                    if r.found.len() < 8 {
                        r.known.clear();
                    }
                }
                for r in &mut by_row {
                    assert_eq!(r.found, by_lane.found, "round {round}, point {point}");
                    for g in PAGE as u64 - 64..PAGE as u64 + 512 {
                        for (a, b) in r.buffers.iter_mut().zip(&mut by_lane.buffers) {
                            let k = (g % PAGE as u64) as usize;
                            for which in [cells::WRITE, cells::READS[0], cells::READS[1]] {
                                let (a, b) = (cells::get(a.page(g), which, k), cells::get(b.page(g), which, k));
                                assert!(
                                    a == b || a.stamp == 0 && b.stamp == 0,
                                    "round {round}, point {point}, {g}.{which}: {a:?} {b:?}"
                                );
                            }
                        }
                    }
                }
            }
            races += by_lane.found.len();
        }
        assert!(races > 1000, "{races}");
    }

    #[test]
    fn time_that_runs_out_forgets_and_goes_on() {
        let mut r = Races::new(4, false);
        r.start(0);
        r.access(&lane(AccessKind::Store, 0, 16, 1));
        while !r.order.worn_out() {
            r.order.barrier();
            r.order.skip(1 << 20);
        }
        r.barrier();
        r.access(&lane(AccessKind::Store, 0, 16, 1));
        r.access(&lane(AccessKind::Load, 40, 16, 2));
        assert!(r.take().is_some());
    }
}
