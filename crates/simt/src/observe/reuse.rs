//! Reuse distances: how many distinct lines a threadgroup touches between two touches of the same line. From them follow
//! the hits of a least-recently-used cache of any size. Knows line numbers alone.

use rustc_hash::FxHashMap;

/// Upper ends of the classes of distances, in lines; then come longer distances, then first touches.
pub const DISTANCES: [u32; 10] = [4, 8, 16, 32, 64, 128, 256, 512, 1024, 4096];

/// Classes of distances: those of [`DISTANCES`], longer ones, first touches.
pub const CLASSES: usize = DISTANCES.len() + 2;

/// Class of first touches.
pub const FIRST: usize = CLASSES - 1;

/// Touches that the clock counts before it is wound back.
const SPAN: usize = 1 << 15;

/// Lines by recency. A Fenwick tree over time has a one where a line was last touched, so the number of distinct lines
/// since then is a difference of two prefix sums.
#[derive(Debug)]
pub struct Reuse {
    last: FxHashMap<u64, u32>,
    tree: Vec<u32>,
    now: u32,
    /// The line touched last and its class, which is zero for the next touch.
    recent: u64,
}

impl Default for Reuse {
    fn default() -> Self {
        Self { last: FxHashMap::default(), tree: vec![0; SPAN + 1], now: 0, recent: u64::MAX }
    }
}

impl Reuse {
    /// Forgets everything: another threadgroup starts.
    pub fn clear(&mut self) {
        self.last.clear();
        self.tree.fill(0);
        self.now = 0;
        self.recent = u64::MAX;
    }

    /// Touches a line; gives the class of its reuse distance.
    #[inline]
    pub fn touch(&mut self, line: u64) -> usize {
        if line == self.recent {
            return 0;
        }
        self.recent = line;
        if self.now as usize == SPAN {
            self.wind_back();
        }
        let now = self.now + 1;
        let class = match self.last.insert(line, now) {
            None => FIRST,
            Some(before) => {
                let between = self.prefix(now) - self.prefix(before);
                self.add(before, u32::MAX);
                DISTANCES.iter().position(|&d| between < d).unwrap_or(DISTANCES.len())
            }
        };
        self.add(now, 1);
        self.now = now;
        class
    }

    fn add(&mut self, at: u32, delta: u32) {
        let mut i = at as usize;
        while let Some(t) = self.tree.get_mut(i) {
            *t = t.wrapping_add(delta);
            i += i & i.wrapping_neg();
        }
    }

    fn prefix(&self, at: u32) -> u32 {
        let (mut i, mut sum) = (at as usize, 0u32);
        while i > 0 {
            sum = sum.wrapping_add(self.tree.get(i).copied().unwrap_or(0));
            i &= i - 1;
        }
        sum
    }

    /// Renumbers the lines by recency; of those beyond the longest distance told apart, the oldest are forgotten.
    fn wind_back(&mut self) {
        let mut lines: Vec<(u32, u64)> = self.last.iter().map(|(&l, &t)| (t, l)).collect();
        lines.sort_unstable();
        let keep = lines.len().min(SPAN / 2);
        let from = lines.len() - keep;
        self.tree.fill(0);
        // What is forgotten keeps time zero, before everything else: its distance stays the longest.
        for (i, &(_, line)) in lines.iter().enumerate() {
            let time = (i + 1).saturating_sub(from) as u32;
            self.last.insert(line, time);
            if time > 0 {
                self.add(time, 1);
            }
        }
        self.now = keep as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_those_of_a_stack() {
        let mut r = Reuse::default();
        assert_eq!(r.touch(7), FIRST);
        assert_eq!(r.touch(7), 0);
        for l in 0..5 {
            assert_eq!(r.touch(100 + l), FIRST);
        }
        // Five others in between: distance five, which is in the class below eight.
        assert_eq!(r.touch(7), 1);
        assert_eq!(r.touch(104), 0);
        r.clear();
        assert_eq!(r.touch(7), FIRST);
    }

    #[test]
    fn the_clock_winds_back_without_changing_distances() {
        let mut r = Reuse::default();
        for round in 0..40 {
            for l in 0..2000 {
                let class = r.touch(l);
                assert_eq!(class, if round == 0 { FIRST } else { 9 }, "round {round}, line {l}");
            }
        }
    }

    /// Against a list moved to the front.
    #[test]
    fn agrees_with_a_plain_list() {
        let (mut r, mut list, mut x) = (Reuse::default(), Vec::<u64>::new(), 1u64);
        for _ in 0..20_000 {
            x = x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let line = (x >> 33) % if x >> 60 == 0 { 3000 } else { 60 };
            let at = list.iter().position(|&l| l == line);
            let class = match at {
                None => FIRST,
                Some(d) => DISTANCES.iter().position(|&u| (d as u32) < u).unwrap_or(DISTANCES.len()),
            };
            if let Some(d) = at {
                list.remove(d);
            }
            list.insert(0, line);
            assert_eq!(r.touch(line), class);
        }
    }
}
