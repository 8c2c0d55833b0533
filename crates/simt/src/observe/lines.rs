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
    /// Words used last, kept out of the map: each at the place that its number has there.
    near: [Option<(u64, Word)>; NEAR],
}

/// Words kept out of the map.
const NEAR: usize = 8;

/// 64 lines: bits of loads and stores.
#[derive(Clone, Copy, Debug, Default)]
struct Word {
    group: [u64; 2],
    all: [u64; 2],
}

impl Lines {
    /// Adds lines in direction `k`, 0 for loads, 1 for stores: bits of a word of 64 lines.
    #[inline]
    pub fn add(&mut self, k: usize, word: u64, bits: u64) {
        // Buffers start at the same numbers.
        let near = &mut self.near[(word ^ word >> 27) as usize % NEAR];
        let mut p = match *near {
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
        *near = Some((word, p));
    }

    /// The group is done: its lines join those of all; gives its words with the bits of loads and of stores.
    pub fn end_group(&mut self) -> Vec<(u64, u64, u64)> {
        for (at, p) in self.near.iter_mut().filter_map(Option::take) {
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
        l.add(0, 0, 1 << 3 | 0xf << 60);
        l.add(0, 1, 0x7f);
        l.add(0, 1, 0x2);
        l.add(1, 1, 0x6);
        assert_eq!(count(&l.end_group()), [12, 2]);
        l.add(0, 0, u64::MAX);
        l.add(0, 1, u64::MAX);
        assert_eq!(count(&l.end_group()), [128, 0]);
        let mut m = Lines::default();
        m.add(0, 1000 / 64, 1 << (1000 % 64));
        m.end_group();
        l.merge(m);
        assert_eq!(l.total(), [129, 2]);
    }
}
