//! Register allocation over the linear order of instructions. Knows live ranges; must not know operations.
//!
//! Arithmetic writes all 32 lanes of its result, also those that do not run at the moment, so a register may be reused
//! only where no lane, running or waiting, still needs what it holds. Waiting lanes wait in later blocks of the same
//! order, so a range that covers everything between definition and last use in that order is enough; loops extend it.

/// A stretch of the linear order, both ends included. Instruction `i` reads at `2i` and writes at `2i + 1`.
pub type Range = (u32, u32);

/// Live ranges, sorted and disjoint.
#[derive(Clone, Debug, Default)]
pub struct Live {
    /// The stretches.
    pub ranges: Vec<Range>,
}

impl Live {
    /// Adds a stretch.
    pub fn add(&mut self, lo: u32, hi: u32) {
        self.ranges.push((lo, hi.max(lo)));
        self.normalise();
    }

    fn normalise(&mut self) {
        self.ranges.sort_unstable();
        let mut out: Vec<Range> = Vec::with_capacity(self.ranges.len());
        for &(lo, hi) in &self.ranges {
            match out.last_mut() {
                Some(l) if lo <= l.1.saturating_add(1) => l.1 = l.1.max(hi),
                _ => out.push((lo, hi)),
            }
        }
        self.ranges = out;
    }

    /// Do the two share a point?
    pub fn overlaps(&self, other: &Self) -> bool {
        let (mut i, mut j) = (0, 0);
        while let (Some(a), Some(b)) = (self.ranges.get(i), other.ranges.get(j)) {
            if a.0 <= b.1 && b.0 <= a.1 {
                return true;
            }
            if a.1 < b.1 { i += 1 } else { j += 1 }
        }
        false
    }

    /// Takes over the stretches of another.
    pub fn absorb(&mut self, other: &Self) {
        self.ranges.extend_from_slice(&other.ranges);
        self.normalise();
    }
}

/// Assigns slots of one pool: `items` are live ranges; the result is a slot for each and the number of slots.
pub fn assign(items: &[Live]) -> (Vec<u32>, u32) {
    let mut order: Vec<usize> = (0..items.len()).filter(|&i| !items[i].ranges.is_empty()).collect();
    order.sort_by_key(|&i| (items[i].ranges[0].0, i));
    let mut slots: Vec<Live> = Vec::new();
    let mut out = vec![0u32; items.len()];
    for i in order {
        let start = items[i].ranges[0].0;
        let found = slots.iter_mut().position(|s| {
            s.ranges.retain(|r| r.1 >= start);
            !s.overlaps(&items[i])
        });
        let k = match found {
            Some(k) => k,
            None => {
                slots.push(Live::default());
                slots.len() - 1
            }
        };
        slots[k].absorb(&items[i]);
        out[i] = k as u32;
    }
    (out, slots.len() as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_that_touch_share_a_slot_and_holes_are_used() {
        let live = |r: &[Range]| Live { ranges: r.to_vec() };
        // A loop-carried value with a hole, its successor inside the hole, and one that spans both.
        let items = [live(&[(1, 6), (11, 14)]), live(&[(7, 10)]), live(&[(3, 12)])];
        let (slots, n) = assign(&items);
        assert_eq!((slots[0], slots[1], n), (0, 0, 2));
        assert_eq!(slots[2], 1);
    }
}
