//! What each granule of memory remembers: its last write and two unordered reads. Knows granule numbers alone.

use rustc_hash::FxHashMap;

use super::order::Mark;

/// Granules of a page.
pub const PAGE: usize = 1024;

/// Marks of a page's granules, one array for each half of a mark: stamps and names of the write, the first read, the
/// second read.
pub type Page = [[u32; PAGE]; PLANES];

/// Arrays of a page.
const PLANES: usize = 6;

/// The last write, in a page.
pub const WRITE: usize = 0;
/// The two reads, in a page.
pub const READS: [usize; 2] = [2, 4];

/// A mark of a granule.
#[inline]
pub fn get(page: &Page, which: usize, k: usize) -> Mark {
    let k = k % PAGE;
    Mark { stamp: page[which][k], id: page[which + 1][k] }
}

/// Sets a mark of a granule.
#[inline]
pub fn set(page: &mut Page, which: usize, k: usize, m: Mark) {
    let k = k % PAGE;
    page[which][k] = m.stamp;
    page[which + 1][k] = m.id;
}

/// Granules by number, in pages that are made when they are first used.
#[derive(Debug, Default)]
pub struct Cells {
    /// Pages of the lower granules, by number.
    low: Vec<Option<Box<Page>>>,
    /// Pages of all others.
    high: FxHashMap<u64, Box<Page>>,
}

/// Pages held by number.
const LOW_PAGES: u64 = 1 << 16;

fn blank() -> Box<Page> {
    // Zeroed by the allocator, page by page as they are touched.
    let planes: Result<Box<Page>, _> = vec![[0; PAGE]; PLANES].into_boxed_slice().try_into();
    planes.unwrap_or_else(|_| unreachable!("as many planes as a page has"))
}

impl Cells {
    /// The page with a granule.
    #[inline]
    pub fn page(&mut self, granule: u64) -> &mut Page {
        let page = granule / PAGE as u64;
        if page < LOW_PAGES {
            let page = page as usize;
            if page >= self.low.len() {
                self.low.resize_with(page + 1, || None);
            }
            self.low[page].get_or_insert_with(blank)
        } else {
            self.high.entry(page).or_insert_with(blank)
        }
    }
}
