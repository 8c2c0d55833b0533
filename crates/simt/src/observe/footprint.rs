//! Footprints: how many distinct lines runs of consecutive threadgroups touch, as a function of their number. Its slope
//! at the point where it fills a cache is the traffic beyond that cache (Xiang et al., HOTL, 2013). Knows line numbers
//! alone.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// Lines of one threadgroup: words of 64 lines with their loads and stores.
#[derive(Clone, Debug, Default)]
pub struct GroupLines {
    /// Linear threadgroup.
    pub group: u64,
    /// Number of the word, bits of lines loaded, bits of lines stored; ascending.
    pub words: Vec<(u64, u64, u64)>,
}

/// Distinct lines as a function of the number of consecutive threadgroups.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Footprint {
    /// Threadgroups in a run: powers of two.
    pub groups: Vec<u32>,
    /// Mean distinct lines loaded in such runs.
    pub loads: Vec<f64>,
    /// Mean distinct lines stored.
    pub stores: Vec<f64>,
    /// Mean distinct lines touched at all.
    pub all: Vec<f64>,
    /// By buffer: what was touched.
    pub buffers: Vec<BufferTouch>,
}

/// What the threadgroups that ran touched of one buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BufferTouch {
    /// Number of the buffer, as in addresses.
    pub buffer: u32,
    /// Distinct lines loaded, distinct lines stored.
    pub distinct: [u64; 2],
    /// Distinct lines per threadgroup, summed: loads, stores.
    pub by_group: [u64; 2],
}

/// Most words that are looked at for each run length; beyond, only the first ones count.
const MAX_WORDS: usize = 8 << 20;

/// Makes the footprint of the threadgroups of one launch.
pub fn footprint(mut groups: Vec<GroupLines>) -> Footprint {
    groups.sort_unstable_by_key(|g| g.group);
    let mut out = Footprint { buffers: buffers(&groups), ..Footprint::default() };
    let mut words = 0;
    let few = groups.iter().take_while(|g| {
        words += g.words.len();
        words <= MAX_WORDS
    });
    let few = few.count().max(1);
    groups.truncate(few);
    let mut length = 1usize;
    while let Some([loads, stores, all]) = runs(&groups, length) {
        out.groups.push(length as u32);
        out.loads.push(loads);
        out.stores.push(stores);
        out.all.push(all);
        length *= 2;
    }
    out
}

/// Mean distinct lines of the runs of `length` threadgroups one after another: loaded, stored, either. `None` when no
/// run is that long.
fn runs(groups: &[GroupLines], length: usize) -> Option<[f64; 3]> {
    let mut seen: FxHashMap<u64, (u64, u64)> = FxHashMap::default();
    let (mut in_run, mut count) = (0, 0u64);
    let mut next = None;
    let mut sums = [0u64; 3];
    for g in groups {
        if next != Some(g.group) {
            seen.clear();
            in_run = 0;
        }
        next = Some(g.group + 1);
        for &(word, loads, stores) in &g.words {
            let s = seen.entry(word).or_default();
            s.0 |= loads;
            s.1 |= stores;
        }
        in_run += 1;
        if in_run == length {
            for (loads, stores) in seen.values() {
                sums[0] += u64::from(loads.count_ones());
                sums[1] += u64::from(stores.count_ones());
                sums[2] += u64::from((loads | stores).count_ones());
            }
            seen.clear();
            in_run = 0;
            count += 1;
        }
    }
    (count > 0).then(|| sums.map(|s| s as f64 / count as f64))
}

fn buffers(groups: &[GroupLines]) -> Vec<BufferTouch> {
    let mut by_buffer: FxHashMap<u32, BufferTouch> = FxHashMap::default();
    let mut seen: FxHashMap<u64, (u64, u64)> = FxHashMap::default();
    for g in groups {
        for &(word, loads, stores) in &g.words {
            let (buffer, _) = super::buffer_of(word << (super::lines::LINE + 6));
            let b = by_buffer.entry(buffer).or_default();
            let s = seen.entry(word).or_default();
            for (k, (bits, old)) in [(loads, &mut s.0), (stores, &mut s.1)].into_iter().enumerate() {
                b.by_group[k] += u64::from(bits.count_ones());
                b.distinct[k] += u64::from((bits & !*old).count_ones());
                *old |= bits;
            }
        }
    }
    let mut out: Vec<BufferTouch> = by_buffer.into_iter().map(|(buffer, b)| BufferTouch { buffer, ..b }).collect();
    out.sort_unstable_by_key(|b| b.buffer);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(group: u64, words: &[(u64, u64, u64)]) -> GroupLines {
        GroupLines { group, words: words.to_vec() }
    }

    #[test]
    fn neighbours_share_and_runs_do_not_cross_gaps() {
        // Each group loads its own word and one line that all share, and stores one line.
        let list: Vec<_> =
            [0u64, 1, 2, 3, 10, 11].iter().map(|&g| group(g, &[(g, u64::MAX, 1), (1000, 1, 0)])).collect();
        let f = footprint(list);
        assert_eq!(f.groups, [1, 2, 4]);
        assert_eq!(f.loads, [65.0, 129.0, 257.0]);
        assert_eq!(f.stores, [1.0, 2.0, 4.0]);
        assert_eq!(f.all, [65.0, 129.0, 257.0]);
        assert_eq!(f.buffers.len(), 1);
        assert_eq!((f.buffers[0].distinct, f.buffers[0].by_group), ([6 * 64 + 1, 6], [6 * 65, 6]));
    }

    #[test]
    fn nothing_touched_is_an_empty_footprint() {
        assert_eq!(footprint(Vec::new()), Footprint::default());
        assert_eq!(footprint(vec![group(4, &[])]).loads, [0.0]);
    }
}
