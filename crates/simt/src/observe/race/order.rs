//! What is ordered before what in one memory space. Knows threads and synchronisation; must not know memory.
//!
//! Time counts the synchronisations of the launch, and each access carries the time it took place. Instead of a vector
//! clock, each simdgroup keeps for each other one the time before which it relies on what that one did. A threadgroup
//! barrier moves all of these up to now; a simdgroup barrier moves a simdgroup's limit for its own lanes, which are
//! different threads: lock step is no order; an atomic operation hands its limits on to whoever reads that location
//! atomically later.

use rustc_hash::{FxHashMap, FxHashSet};

/// Most simdgroups in a group.
pub const SIMDS: usize = 32;

/// Bits of a program point in a mark.
const POINT: u32 = 22;

/// An access as it is remembered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    /// Twice its time, plus one for an atomic; 0 for no access.
    pub stamp: u32,
    /// Linear thread above, program point below.
    pub id: u32,
}

impl Mark {
    /// Linear thread in the group.
    pub fn thread(self) -> u32 {
        self.id >> POINT
    }
    /// Program point; `None` for one beyond the numbers that fit.
    pub fn point(self) -> Option<u32> {
        let p = self.id & ((1 << POINT) - 1);
        (p < (1 << POINT) - 1).then_some(p)
    }
    /// Simdgroup of its thread.
    pub fn simd(self) -> usize {
        (self.id >> (POINT + 5)) as usize % SIMDS
    }
    /// Is it an atomic's?
    pub fn atomic(self) -> bool {
        self.stamp & 1 == 1
    }
}

/// The half of a mark that names thread and point.
pub fn id(thread: u32, point: u32) -> u32 {
    thread << POINT | point.min((1 << POINT) - 1)
}

/// See the module.
#[derive(Debug)]
pub struct Order {
    /// Twice the time.
    now: u32,
    /// Twice the time the group started; no access that it made is older.
    start: u32,
    group: u32,
    /// By simdgroup and other simdgroup: what the other did before this is ordered before what this one does.
    before: Box<[[u32; SIMDS]; SIMDS]>,
    /// Least of each row of `before`.
    least: [u32; SIMDS],
    /// Greatest of each row of `before`.
    most: [u32; SIMDS],
    /// Limits that an atomic location passes on.
    released: FxHashMap<u64, [u32; SIMDS]>,
    /// Groups whose writes an atomic location publishes, and those that this group has seen.
    published: FxHashMap<u64, FxHashSet<u32>>,
    seen_groups: FxHashSet<u32>,
    /// Start and number of each group, where groups share the memory.
    starts: Vec<(u32, u32)>,
    /// Accesses of different groups meet in this space.
    shared: bool,
}

impl Order {
    /// Of a space that the groups of a launch share, or that each has for itself.
    pub fn new(shared: bool) -> Self {
        Self {
            now: 2,
            start: 2,
            group: 0,
            before: Box::new([[2; SIMDS]; SIMDS]),
            least: [2; SIMDS],
            most: [2; SIMDS],
            released: FxHashMap::default(),
            published: FxHashMap::default(),
            seen_groups: FxHashSet::default(),
            starts: Vec::new(),
            shared,
        }
    }

    /// Is the time used up? Then all marks must be forgotten, and [`Self::rewind`] called.
    pub fn worn_out(&self) -> bool {
        self.now > u32::MAX - 8
    }

    /// Starts time again, in the middle of a group.
    pub fn rewind(&mut self) {
        self.now = 0;
        self.released.clear();
        self.starts.clear();
        self.begin();
    }

    /// Lets time pass.
    #[cfg(test)]
    pub fn skip(&mut self, times: u32) {
        self.now = self.now.saturating_add(2 * times) & !1;
    }

    fn begin(&mut self) {
        self.now += 2;
        self.start = self.now;
        *self.before = [[self.now; SIMDS]; SIMDS];
        self.least = [self.now; SIMDS];
        self.most = [self.now; SIMDS];
        if self.shared {
            self.starts.push((self.now, self.group));
        }
    }

    /// A group starts.
    pub fn start(&mut self, group: u32) {
        self.group = group;
        self.released.clear();
        self.seen_groups.clear();
        self.begin();
    }

    /// All threads of the group met.
    pub fn barrier(&mut self) {
        self.now += 2;
        *self.before = [[self.now; SIMDS]; SIMDS];
        self.least = [self.now; SIMDS];
        self.most = [self.now; SIMDS];
    }

    /// The lanes of a simdgroup met.
    pub fn simd_barrier(&mut self, simd: usize) {
        self.now += 2;
        let now = self.now;
        if let Some(b) = self.before.get_mut(simd).and_then(|row| row.get_mut(simd)) {
            *b = now;
        }
        self.settle(simd);
    }

    fn settle(&mut self, simd: usize) {
        if let (Some(row), Some(least), Some(most)) =
            (self.before.get(simd), self.least.get_mut(simd), self.most.get_mut(simd))
        {
            *least = row.iter().copied().min().unwrap_or(0);
            *most = row.iter().copied().max().unwrap_or(0);
        }
    }

    /// An atomic on `address` by a simdgroup: sees what the location publishes, then publishes what it knows.
    pub fn hand_over(&mut self, simd: usize, address: u64, writes: bool) {
        let simd = simd % SIMDS;
        if let Some(r) = self.released.get(&address)
            && let Some(row) = self.before.get_mut(simd)
        {
            for (s, r) in row.iter_mut().zip(r) {
                *s = (*s).max(*r);
            }
        }
        if self.shared
            && let Some(p) = self.published.get(&address)
        {
            self.seen_groups.extend(p.iter().copied());
        }
        if writes {
            self.now += 2;
            let now = self.now;
            if let Some(row) = self.before.get_mut(simd) {
                if let Some(own) = row.get_mut(simd) {
                    *own = now;
                }
                let slot = self.released.entry(address).or_insert([0; SIMDS]);
                for (s, n) in slot.iter_mut().zip(row) {
                    *s = (*s).max(*n);
                }
            }
            if self.shared {
                let p = self.published.entry(address).or_default();
                p.insert(self.group);
                p.extend(self.seen_groups.iter().copied());
            }
        }
        self.settle(simd);
    }

    /// The mark of an access that takes place now.
    #[inline]
    pub fn mark(&self, thread: u32, point: u32, atomic: bool) -> Mark {
        Mark { stamp: self.now | u32::from(atomic), id: id(thread, point) }
    }

    /// Group that made an access.
    pub fn group_of(&self, m: Mark) -> u32 {
        if m.stamp >= self.start {
            return self.group;
        }
        let k = self.starts.partition_point(|s| s.0 <= m.stamp);
        k.checked_sub(1).and_then(|k| self.starts.get(k)).map_or(self.group, |s| s.1)
    }

    /// Is `m` an access of the group that runs?
    #[inline]
    pub fn own(&self, m: Mark) -> bool {
        m.stamp >= self.start
    }

    /// Is `m` ordered before what any lane of a simdgroup does now?
    #[inline]
    pub fn before(&self, m: Mark, simd: usize) -> bool {
        if m.stamp == 0 {
            return true;
        }
        if m.stamp < self.start {
            return !self.shared || self.seen_groups.contains(&self.group_of(m));
        }
        m.stamp < self.before[simd % SIMDS][m.simd()]
    }

    /// Is `m` ordered before what thread `thread` does now?
    #[inline]
    pub fn ordered(&self, m: Mark, thread: u32) -> bool {
        self.before(m, (thread / 32) as usize) || (self.own(m) && m.thread() == thread)
    }

    /// What a whole simdgroup can check at once: see [`Limits::fine`].
    #[inline]
    pub fn limits(&self, simd: usize) -> Limits {
        let simd = simd % SIMDS;
        Limits {
            start: if self.shared { self.start } else { 0 },
            unseen: if self.shared && self.seen_groups.is_empty() { self.start } else { 0 },
            most: self.most[simd],
            least: self.least[simd],
            own: self.before[simd][simd],
            simd: simd as u32,
        }
    }
}

/// Limits of one simdgroup.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    start: u32,
    /// Marks below this are of groups that this one knows nothing of.
    unseen: u32,
    least: u32,
    most: u32,
    own: u32,
    simd: u32,
}

impl Limits {
    /// All bits when a mark is surely ordered before what `thread` does now; 0 when that needs a closer look. Without
    /// branches, so that it vectorises.
    #[inline(always)]
    pub fn fine(self, stamp: u32, id: u32, thread: u32) -> u32 {
        let all = |b: bool| 0u32.wrapping_sub(u32::from(b));
        let mine = all(id >> POINT == thread);
        let near = all(id >> (POINT + 5) == self.simd) & all(stamp < self.own);
        all(stamp == 0) | (all(stamp >= self.start) & (all(stamp < self.least) | mine | near))
    }

    /// All bits when a mark is surely not ordered before what `thread` does now; 0 when that needs a closer look.
    #[inline(always)]
    pub fn loose(self, stamp: u32, id: u32, thread: u32) -> u32 {
        let all = |b: bool| 0u32.wrapping_sub(u32::from(b));
        let apart = all(id >> POINT != thread) & all(stamp >= self.start) & all(stamp >= self.most);
        apart | (all(stamp != 0) & all(stamp < self.unseen))
    }
}
