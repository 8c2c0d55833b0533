//! Reuse distances: how many distinct lines a threadgroup touches between two touches of the same line. From them follow
//! the hits of a least-recently-used cache of any size. Knows line numbers alone.

use rustc_hash::FxHashMap;

/// Upper ends of the classes of distances, in lines; then come longer distances, then first touches.
pub const DISTANCES: [u32; 10] = [4, 8, 16, 32, 64, 128, 256, 512, 1024, 4096];

/// Classes of distances: those of [`DISTANCES`], longer ones, first touches.
pub const CLASSES: usize = DISTANCES.len() + 2;

/// Class of first touches.
pub const FIRST: usize = CLASSES - 1;

/// Times of a word of the timeline.
const WORD: u32 = 64;
/// Words of the timeline that are counted together.
const BLOCK: usize = 8;
/// Times that the clock counts before it is wound back: a multiple of a block's.
const SPAN: u32 = 1 << 17;
/// The time of lines that were touched longer ago than any distance told apart; real times are later.
const LONG_AGO: u32 = 1;

/// Lines by recency. A timeline has a one where a line was last touched, so the number of distinct lines since a time is
/// the number of ones after it.
#[derive(Debug)]
pub struct Reuse {
    last: Times,
    /// One bit for each time.
    timeline: Vec<u64>,
    /// Ones of each block of words.
    counts: Vec<u32>,
    now: u32,
    /// The line touched last; its distance is zero for the next touch.
    recent: u64,
    run: Run,
}

/// Touches of lines that were touched one right after another before: they all have the same distance, because each one
/// that joins the later lines was one of those between before. The timeline does not show them yet.
#[derive(Clone, Copy, Debug, Default)]
struct Run {
    /// First time of the touches before.
    before: u32,
    /// First time of these touches.
    start: u32,
    /// Lines.
    len: u32,
    /// Their class.
    class: usize,
}

impl Default for Reuse {
    fn default() -> Self {
        Self {
            last: Times::default(),
            timeline: vec![0; (SPAN / WORD) as usize],
            counts: vec![0; (SPAN / WORD) as usize / BLOCK],
            now: LONG_AGO,
            recent: u64::MAX,
            run: Run::default(),
        }
    }
}

impl Reuse {
    /// Forgets everything: another threadgroup starts.
    pub fn clear(&mut self) {
        self.last.clear();
        self.wipe();
        self.now = LONG_AGO;
        self.recent = u64::MAX;
        self.run = Run::default();
    }

    fn wipe(&mut self) {
        let words = (self.now / WORD) as usize + 1;
        self.timeline.iter_mut().take(words).for_each(|w| *w = 0);
        self.counts.iter_mut().take(words / BLOCK + 1).for_each(|c| *c = 0);
    }

    /// Touches a line; gives the class of its reuse distance.
    #[inline]
    pub fn touch(&mut self, line: u64) -> usize {
        if line == self.recent {
            return 0;
        }
        self.recent = line;
        if self.now + 1 == SPAN {
            self.wind_back();
        }
        self.now += 1;
        let now = self.now;
        let before = std::mem::replace(self.last.at(line), now);
        if before == self.run.before + self.run.len && before > LONG_AGO && self.run.len > 0 {
            self.run.len += 1;
            return self.run.class;
        }
        self.settle();
        if before == 0 {
            self.set(now, 1, true);
            return FIRST;
        }
        let between = self.since(before);
        let class = DISTANCES.iter().position(|&d| between < d).unwrap_or(DISTANCES.len());
        self.run = Run { before, start: now, len: 1, class };
        class
    }

    /// Shows the run on the timeline.
    fn settle(&mut self) {
        let r = std::mem::take(&mut self.run);
        if r.len > 0 {
            // In this order: a run may touch its own lines again.
            self.set(r.start, r.len, true);
            self.set(r.before, r.len, false);
        }
    }

    /// Sets `len` times from `from` on, or clears them.
    #[inline]
    fn set(&mut self, from: u32, len: u32, on: bool) {
        let end = from + len;
        let mut at = from;
        while at < end {
            let (word, first) = ((at / WORD) as usize, at % WORD);
            let n = (end - at).min(WORD - first);
            let bits = (u64::MAX >> (WORD - n)) << first;
            if let (Some(w), Some(c)) = (self.timeline.get_mut(word), self.counts.get_mut(word / BLOCK)) {
                if on {
                    *c += (bits & !*w).count_ones();
                    *w |= bits;
                } else {
                    *c -= (bits & *w).count_ones();
                    *w &= !bits;
                }
            }
            at += n;
        }
    }

    /// Ones after a time; a count past the longest distance may be too low.
    #[inline]
    fn since(&self, time: u32) -> u32 {
        let far = DISTANCES[DISTANCES.len() - 1];
        let (first, mut word) = ((time / WORD) as usize, (self.now / WORD) as usize);
        let mut sum = 0;
        while word > first && sum < far {
            if (word + 1).is_multiple_of(BLOCK) && word >= first + BLOCK {
                sum += self.counts[word / BLOCK];
                word -= BLOCK;
            } else {
                sum += self.timeline[word].count_ones();
                word -= 1;
            }
        }
        if word == first {
            // Those of the first word that are later than `time`.
            sum += (self.timeline[word] >> (time % WORD) >> 1).count_ones();
        }
        sum
    }

    /// Renumbers the lines by recency; of those beyond the longest distance told apart, the oldest are only known to have
    /// been touched.
    #[cold]
    fn wind_back(&mut self) {
        self.settle();
        let mut times: Vec<u32> = self.last.all().filter(|t| **t > LONG_AGO).map(|t| *t).collect();
        times.sort_unstable();
        let keep = times.len().min(SPAN as usize / 2);
        let times = times.split_off(times.len() - keep);
        for t in self.last.all().filter(|t| **t > 0) {
            *t = times.binary_search(t).map_or(LONG_AGO, |k| k as u32 + LONG_AGO + 1);
        }
        self.wipe();
        self.now = LONG_AGO + keep as u32;
        self.set(LONG_AGO + 1, keep as u32, true);
    }
}

/// Lines of a page of times.
const PAGE: u64 = 64;
/// Pages that are found without a look into the index.
const NEAR: usize = 16;

/// The time of each line; 0 for lines that have none.
#[derive(Debug, Default)]
struct Times {
    /// Pages in use, by line number over [`PAGE`].
    index: FxHashMap<u64, u32>,
    pages: Vec<[u32; PAGE as usize]>,
    used: usize,
    /// Number of a page, plus one, and its place.
    near: [(u64, u32); NEAR],
}

impl Times {
    #[inline]
    fn at(&mut self, line: u64) -> &mut u32 {
        let page = line / PAGE;
        // Buffers start at the same numbers.
        let slot = (page ^ page >> 27) as usize % NEAR;
        let (known, at) = self.near[slot];
        let at = if known == page + 1 { at } else { self.find(page, slot) };
        &mut self.pages[at as usize][(line % PAGE) as usize]
    }

    fn find(&mut self, page: u64, slot: usize) -> u32 {
        let (pages, used) = (&mut self.pages, &mut self.used);
        let at = *self.index.entry(page).or_insert_with(|| {
            if *used == pages.len() {
                pages.push([0; PAGE as usize]);
            }
            *used += 1;
            *used as u32 - 1
        });
        self.near[slot] = (page + 1, at);
        at
    }

    fn all(&mut self) -> impl Iterator<Item = &mut u32> {
        self.pages.iter_mut().take(self.used).flatten()
    }

    fn clear(&mut self) {
        self.all().for_each(|t| *t = 0);
        self.index.clear();
        self.used = 0;
        self.near = [(0, 0); NEAR];
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
        for round in 0..200 {
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
        let mut run = 0;
        let mut line = 0;
        for _ in 0..200_000 {
            x = x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            // Rows of neighbours, and lines anywhere.
            if run == 0 {
                run = if x >> 62 == 0 { 1 } else { (x >> 40) % 40 };
                line = (x >> 33) % if x >> 59 == 0 { 3000 } else { 60 };
            }
            (run, line) = (u64::saturating_sub(run, 1), line + 1);
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
