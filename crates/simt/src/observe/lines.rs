//! Sets of 128-byte lines of device memory: one bit a line, loads and stores apart, for the threadgroup that runs and for
//! all. Knows line numbers alone.

use rustc_hash::FxHashMap;

/// Log2 of the bytes of a line.
pub const LINE: u32 = 7;

/// Lines seen by one group and by all groups.
#[derive(Debug, Default)]
pub struct Lines {
    /// By line number over 64.
    words: FxHashMap<u64, Word>,
    /// Words the group has touched.
    touched: Vec<u64>,
    /// The word used last, kept out of the map.
    cache: Option<(u64, Word)>,
}

/// 64 lines: bits of loads and stores.
#[derive(Clone, Copy, Debug, Default)]
struct Word {
    group: [u64; 2],
    all: [u64; 2],
}

impl Lines {
    /// Adds the lines from `first` to `last` in direction `k`: 0 for loads, 1 for stores.
    #[inline]
    pub fn add_many(&mut self, k: usize, first: u64, last: u64) {
        let mut at = first;
        loop {
            let word = at >> 6;
            let end = last.min(word << 6 | 63);
            let n = end - at + 1;
            let bits = if n == 64 { u64::MAX } else { ((1u64 << n) - 1) << (at & 63) };
            self.set(k, word, bits);
            if end == last {
                return;
            }
            at = end + 1;
        }
    }

    #[inline]
    fn set(&mut self, k: usize, word: u64, bits: u64) {
        let mut p = match self.cache {
            Some((at, p)) if at == word => p,
            old => {
                if let Some((at, p)) = old {
                    self.words.insert(at, p);
                }
                self.words.get(&word).copied().unwrap_or_default()
            }
        };
        if p.group == [0; 2] {
            self.touched.push(word);
        }
        p.group[k] |= bits;
        self.cache = Some((word, p));
    }

    /// The group is done: its lines join those of all; gives its words with the bits of loads and of stores.
    pub fn end_group(&mut self) -> Vec<(u64, u64, u64)> {
        if let Some((at, p)) = self.cache.take() {
            self.words.insert(at, p);
        }
        let mut out = Vec::with_capacity(self.touched.len());
        for word in self.touched.drain(..) {
            if let Some(p) = self.words.get_mut(&word) {
                let [loads, stores] = std::mem::take(&mut p.group);
                p.all[0] |= loads;
                p.all[1] |= stores;
                out.push((word, loads, stores));
            }
        }
        out.sort_unstable();
        out
    }

    /// Distinct lines of all groups that have ended: loaded, stored.
    pub fn total(&self) -> [u64; 2] {
        let mut sum = [0; 2];
        for p in self.words.values() {
            sum[0] += u64::from(p.all[0].count_ones());
            sum[1] += u64::from(p.all[1].count_ones());
        }
        sum
    }

    /// Takes over the lines of another set.
    pub fn merge(&mut self, other: Self) {
        for (word, p) in other.words {
            let mine = self.words.entry(word).or_default();
            mine.all[0] |= p.all[0];
            mine.all[1] |= p.all[1];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(words: &[(u64, u64, u64)]) -> [u32; 2] {
        words.iter().fold([0; 2], |s, w| [s[0] + w.1.count_ones(), s[1] + w.2.count_ones()])
    }

    #[test]
    fn counts_lines_once_a_group_and_once_in_all() {
        let mut l = Lines::default();
        l.add_many(0, 3, 3);
        l.add_many(0, 60, 70);
        l.add_many(0, 65, 65);
        l.add_many(1, 65, 66);
        assert_eq!(count(&l.end_group()), [12, 2]);
        l.add_many(0, 0, 127);
        assert_eq!(count(&l.end_group()), [128, 0]);
        let mut m = Lines::default();
        m.add_many(0, 1000, 1000);
        m.end_group();
        l.merge(m);
        assert_eq!(l.total(), [129, 2]);
    }
}
