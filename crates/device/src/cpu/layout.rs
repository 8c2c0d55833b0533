//! Layout: where tensors and scratch lie in the two shared files, and how they get there and back. Knows tensors and
//! bytes; must not know how a kernel is called.

use std::io;

use indexmap::IndexMap;
use ksearch_task::candidate::Resolved;

use super::memory::{SharedFile, page};
use super::protocol::{Arg, CRASH_PAGE, Crash, Region};
use crate::target::{Failure, Slots};

/// Data starts at multiples of this, whichever end of its pages it lies at.
const ALIGN: u64 = 64;
/// What fills the bytes of a region around its data.
const CANARY: u8 = 0xc7;

/// At which end of its pages a buffer's data lies. Beyond either end of the pages nothing is mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// At the start: what reads or writes before the data faults.
    Start,
    /// At the end, as far as alignment allows: what goes past the data faults, or hits bytes that are watched.
    End,
}

/// One buffer.
#[derive(Clone, Copy, Debug)]
struct Place {
    region: u32,
    input: bool,
    offset: u64,
    pages: u64,
    bytes: u64,
}

impl Place {
    fn shift(&self, placement: Placement) -> u64 {
        match placement {
            Placement::Start => 0,
            Placement::End => self.pages - self.bytes.next_multiple_of(ALIGN).min(self.pages),
        }
    }
}

/// A buffer near an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Near {
    /// Its name.
    pub name: String,
    /// Bytes from the first byte of its data.
    pub distance: i64,
    /// Bytes of its data.
    pub bytes: u64,
    /// Is it an input?
    pub input: bool,
}

/// All buffers of one workload, with the memory they lie in.
#[derive(Debug)]
pub struct Layout {
    tensors: IndexMap<String, Place>,
    scratch: IndexMap<String, Place>,
    /// The file of inputs.
    pub inputs: SharedFile,
    /// The file of outputs and scratch.
    pub outputs: SharedFile,
}

#[allow(clippy::needless_pass_by_value)] // Used as a function of `map_err`.
fn trouble(e: io::Error) -> Failure {
    Failure::Infrastructure(format!("shared memory: {e}"))
}

impl Layout {
    /// Places for every present tensor and scratch buffer.
    pub fn new(resolved: &Resolved) -> Result<Self, Failure> {
        let (mut inputs, mut outputs) = ((0_u32, 0_u64), (0_u32, CRASH_PAGE.next_multiple_of(page())));
        let mut place = |bytes: usize, input: bool| {
            let bytes = bytes as u64;
            let pages = bytes.max(1).next_multiple_of(page());
            let (count, end) = if input { &mut inputs } else { &mut outputs };
            let place = Place { region: *count, input, offset: *end, pages, bytes };
            *count += 1;
            *end += pages;
            place
        };
        let tensors: IndexMap<String, Place> = resolved
            .tensors
            .iter()
            .filter(|t| t.present)
            .map(|t| (t.name.clone(), place(t.bytes(), !t.role.is_written())))
            .collect();
        let scratch: IndexMap<String, Place> =
            resolved.scratch.iter().map(|s| (s.name.clone(), place(s.bytes, false))).collect();
        Ok(Self {
            tensors,
            scratch,
            inputs: SharedFile::new("ksearch-inputs", inputs.1).map_err(trouble)?,
            outputs: SharedFile::new("ksearch-outputs", outputs.1).map_err(trouble)?,
        })
    }

    /// Regions of the two files, for the worker.
    pub fn regions(&self) -> (Vec<Region>, Vec<Region>) {
        let all = || self.tensors.values().chain(self.scratch.values());
        let of = |input| {
            let region = |p: &Place| Region { offset: p.offset, bytes: p.pages };
            all().filter(|p| p.input == input).map(region).collect()
        };
        (of(true), of(false))
    }

    /// Bytes of everything.
    pub fn bytes(&self) -> u64 {
        self.tensors.values().chain(self.scratch.values()).map(|p| p.pages).sum()
    }

    /// The argument that points at a tensor.
    pub fn tensor(&self, name: &str, placement: Placement) -> Arg {
        self.tensors.get(name).map_or(Arg::Null, |p| Self::arg(p, placement))
    }

    /// The argument that points at a scratch buffer.
    pub fn scratch(&self, name: &str, placement: Placement) -> Arg {
        self.scratch.get(name).map_or(Arg::Null, |p| Self::arg(p, placement))
    }

    fn arg(place: &Place, placement: Placement) -> Arg {
        let (region, shift) = (place.region, place.shift(placement));
        if place.input { Arg::Input { region, shift } } else { Arg::Output { region, shift } }
    }

    /// Copies all tensors in, and everything around them and all scratch becomes known bytes.
    pub fn load(&mut self, slots: &Slots, placement: Placement, scratch: u8) -> Result<(), Failure> {
        for (name, place) in &self.tensors {
            let Some(slot) = slots.get(name) else { continue };
            let file = if place.input { &mut self.inputs } else { &mut self.outputs };
            let shift = place.shift(placement);
            file.fill(place.offset, shift, CANARY).map_err(trouble)?;
            file.write(place.offset + shift, &slot.tensor.bytes).map_err(trouble)?;
            let end = shift + place.bytes;
            file.fill(place.offset + end, place.pages.saturating_sub(end), CANARY).map_err(trouble)?;
        }
        for place in self.scratch.values() {
            self.outputs.fill(place.offset, place.pages, scratch).map_err(trouble)?;
        }
        Ok(())
    }

    /// Overwrites the contents of one tensor.
    pub fn put(&mut self, name: &str, placement: Placement, bytes: &[u8]) -> Result<(), Failure> {
        let Some(place) = self.tensors.get(name) else { return Ok(()) };
        let file = if place.input { &mut self.inputs } else { &mut self.outputs };
        file.write(place.offset + place.shift(placement), bytes).map_err(trouble)
    }

    /// The contents of one tensor now.
    pub fn get(&self, name: &str, placement: Placement) -> Result<Vec<u8>, Failure> {
        let Some(place) = self.tensors.get(name) else { return Ok(Vec::new()) };
        let mut bytes = vec![0; place.bytes as usize];
        let file = if place.input { &self.inputs } else { &self.outputs };
        file.read(place.offset + place.shift(placement), &mut bytes).map_err(trouble)?;
        Ok(bytes)
    }

    /// A written tensor around which bytes have changed, with the distance from its data (negative: before it).
    pub fn overrun(&self, placement: Placement) -> Result<Option<(String, i64)>, Failure> {
        for (name, place) in self.tensors.iter().filter(|(_, p)| !p.input) {
            let mut bytes = vec![0; place.pages as usize];
            self.outputs.read(place.offset, &mut bytes).map_err(trouble)?;
            let (from, to) = (place.shift(placement), place.shift(placement) + place.bytes);
            let outside = |i: u64| i < from || i >= to;
            let hit = bytes.iter().enumerate().map(|(i, b)| (i as u64, *b)).find(|(i, b)| outside(*i) && *b != CANARY);
            if let Some((i, _)) = hit {
                let distance = if i < from { i as i64 - from as i64 } else { (i - to) as i64 };
                return Ok(Some((name.clone(), distance)));
            }
        }
        Ok(None)
    }

    /// The buffer that an address of the worker is in, or within a page of, with its distance from the first byte of the
    /// data, its length, and whether it is an input.
    pub fn near(&self, address: u64, places: (&[u64], &[u64]), placement: Placement) -> Option<Near> {
        self.tensors.iter().chain(&self.scratch).find_map(|(name, p)| {
            let base = if p.input { places.0 } else { places.1 }.get(p.region as usize)?;
            let reach = base.saturating_sub(page())..base + p.pages + page();
            reach.contains(&address).then(|| Near {
                name: name.clone(),
                distance: address as i64 - (base + p.shift(placement)) as i64,
                bytes: p.bytes,
                input: p.input,
            })
        })
    }

    /// What the worker's last breath left.
    pub fn crash(&self) -> Option<Crash> {
        let mut words = [0; 24];
        self.outputs.read(0, &mut words).ok()?;
        Crash::read(&words)
    }

    /// Forgets the last breath of an earlier worker.
    pub fn forget_crash(&mut self) -> Result<(), Failure> {
        self.outputs.fill(0, 64, 0).map_err(trouble)
    }
}
