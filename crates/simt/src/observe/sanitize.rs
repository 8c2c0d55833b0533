//! The sanitizers' observer: races in threadgroup and device memory. (Bounds, initialisation, alignment and barriers are
//! checked by the machine itself, which knows registers.) Knows addresses and synchronisation.

use super::race::{LaneAccess, Race, Races, Row};
use super::{AccessKind, Findings, MemEvent, Observer};
use crate::lower::sir::Space;

/// Bits of `mem_flags`.
const DEVICE: u32 = 1;
const THREADGROUP: u32 = 2;

/// See the module.
#[derive(Debug)]
pub struct Sanitize {
    threadgroup: Races,
    device: Races,
}

impl Default for Sanitize {
    fn default() -> Self {
        Self { threadgroup: Races::new(4, false), device: Races::new(4, true) }
    }
}

impl Sanitize {
    fn space(&mut self, s: Space) -> Option<&mut Races> {
        match s {
            Space::Threadgroup => Some(&mut self.threadgroup),
            Space::Device => Some(&mut self.device),
            Space::Private | Space::Generic => None,
        }
    }
}

impl Observer for Sanitize {
    const EVENTS: bool = false;
    const SANITIZE: bool = true;

    fn granules(&mut self, threadgroup: u32, device: u32) {
        self.threadgroup = Races::new(threadgroup, false);
        self.device = Races::new(device, true);
    }

    fn access(&mut self, _: &MemEvent<'_>) {}

    fn lane(&mut self, space: Space, a: &LaneAccess<'_>) {
        if a.kind == AccessKind::Atomic {
            // An atomic orders accesses to both spaces.
            let key = a.address ^ if space == Space::Threadgroup { 1 << 63 } else { 0 };
            self.threadgroup.atomic(a.thread, key, a.writes);
            self.device.atomic(a.thread, key, a.writes);
        }
        if let Some(r) = self.space(space) {
            r.access(a);
        }
    }

    #[inline]
    fn row(&mut self, space: Space, row: &Row<'_>) -> bool {
        self.space(space).is_none_or(|r| r.row(row))
    }

    fn barrier(&mut self, flags: u32) {
        if flags & THREADGROUP != 0 {
            self.threadgroup.barrier();
        }
        if flags & DEVICE != 0 {
            self.device.barrier();
        }
    }

    fn simd_barrier(&mut self, simdgroup: u32, flags: u32) {
        if flags & THREADGROUP != 0 {
            self.threadgroup.simd_barrier(simdgroup);
        }
        if flags & DEVICE != 0 {
            self.device.simd_barrier(simdgroup);
        }
    }

    fn group_start(&mut self, group: u64) {
        self.threadgroup.start(group as u32);
        self.device.start(group as u32);
    }

    fn group_end(&mut self) {}

    fn merge(&mut self, _: Self) {}
}

impl Findings for Sanitize {
    #[inline]
    fn any(&self) -> bool {
        self.threadgroup.any() || self.device.any()
    }

    fn race(&mut self) -> Option<(Space, Race)> {
        if let Some(r) = self.threadgroup.take() {
            return Some((Space::Threadgroup, r));
        }
        self.device.take().map(|r| (Space::Device, r))
    }
}
