//! Zeroed host memory aligned to a cache line.

use std::alloc::{Layout, alloc_zeroed, dealloc};

/// A block of zeroed bytes at a 64-byte boundary.
pub struct Aligned {
    ptr: *mut u8,
    layout: Layout,
}

impl Aligned {
    /// Allocates; `None` when the host has no memory.
    pub fn new(bytes: usize) -> Option<Self> {
        let layout = Layout::from_size_align(bytes.max(64), 64).ok()?;
        // SAFETY: the layout's size is not zero.
        let ptr = unsafe { alloc_zeroed(layout) };
        (!ptr.is_null()).then_some(Self { ptr, layout })
    }

    /// First byte.
    pub fn ptr(&self) -> *mut u8 {
        self.ptr
    }

    /// Sets the first `n` bytes to zero.
    pub fn clear(&mut self, n: usize) {
        // SAFETY: at most the whole block.
        unsafe { self.ptr.write_bytes(0, n.min(self.layout.size())) }
    }

    /// The bytes.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: the block is owned, initialised (zeroed) and not shared while borrowed.
        unsafe { std::slice::from_raw_parts_mut(self.ptr, self.layout.size()) }
    }
}

impl Drop for Aligned {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout.
        unsafe { dealloc(self.ptr, self.layout) }
    }
}

// SAFETY: the block is plain owned memory.
unsafe impl Send for Aligned {}
// SAFETY: shared access only hands out the address; the machine decides who may use it.
unsafe impl Sync for Aligned {}
