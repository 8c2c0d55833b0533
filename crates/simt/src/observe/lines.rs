//! Sets of 128-byte lines of device memory: one bit a line, per buffer. Knows line numbers alone.

use rustc_hash::FxHashMap;

/// Log2 of the bytes of a line.
pub const LINE: u32 = 7;

/// Lines seen by one group and by all groups.
#[derive(Debug, Default)]
pub struct Lines {
    /// Words of 64 lines, by line number over 64: bits of the group that runs, bits of all.
    words: FxHashMap<u64, Pair>,
    /// Words the group has touched.
    touched: Vec<u64>,
    /// The word used last, kept out of the map.
    cache: Option<(u64, Pair)>,
    /// Distinct lines of the group that runs.
    pub group: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Pair {
    group: u64,
    all: u64,
}

impl Lines {
    /// Adds a line.
    #[inline]
    pub fn add(&mut self, line: u64) {
        self.add_many(line, line);
    }

    /// Adds the lines from `first` to `last`.
    #[inline]
    pub fn add_many(&mut self, first: u64, last: u64) {
        let mut at = first;
        loop {
            let word = at >> 6;
            let end = last.min(word << 6 | 63);
            let n = end - at + 1;
            let bits = if n == 64 { u64::MAX } else { ((1u64 << n) - 1) << (at & 63) };
            self.set(word, bits);
            if end == last {
                return;
            }
            at = end + 1;
        }
    }

    #[inline]
    fn set(&mut self, word: u64, bits: u64) {
        let mut p = match self.cache {
            Some((k, p)) if k == word => p,
            old => {
                if let Some((k, p)) = old {
                    self.words.insert(k, p);
                }
                self.words.get(&word).copied().unwrap_or_default()
            }
        };
        if p.group == 0 {
            self.touched.push(word);
        }
        self.group += u64::from((bits & !p.group).count_ones());
        p.group |= bits;
        self.cache = Some((word, p));
    }

    /// The group is done: its lines join those of all; gives their number.
    pub fn end_group(&mut self) -> u64 {
        if let Some((k, p)) = self.cache.take() {
            self.words.insert(k, p);
        }
        for k in self.touched.drain(..) {
            if let Some(p) = self.words.get_mut(&k) {
                p.all |= p.group;
                p.group = 0;
            }
        }
        std::mem::take(&mut self.group)
    }

    /// Distinct lines of all groups that have ended.
    pub fn total(&self) -> u64 {
        self.words.values().map(|p| u64::from(p.all.count_ones())).sum()
    }

    /// Takes over the lines of another set.
    pub fn merge(&mut self, other: Self) {
        for (k, p) in other.words {
            self.words.entry(k).or_default().all |= p.all;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_lines_once_a_group_and_once_in_all() {
        let mut l = Lines::default();
        l.add(3);
        l.add_many(60, 70);
        l.add(65);
        assert_eq!(l.end_group(), 12);
        l.add_many(0, 127);
        assert_eq!(l.end_group(), 128);
        let mut m = Lines::default();
        m.add(1000);
        m.end_group();
        l.merge(m);
        assert_eq!(l.total(), 129);
    }
}
