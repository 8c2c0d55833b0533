//! Large zeroed buffers: page-aligned, on huge pages where the system grants them, and an error, not an abort, where
//! memory runs out. Must not know what they hold.

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use bytemuck::Pod;
use memmap2::MmapMut;

use crate::error::{Error, Result};

/// A fixed number of elements, zero at first.
pub(crate) struct Buffer<T> {
    map: Option<MmapMut>,
    element: PhantomData<T>,
}

impl<T: Pod> Buffer<T> {
    /// `length` zeroes; `what` names the buffer in the error.
    pub(crate) fn new(length: usize, what: &str) -> Result<Self> {
        let Some(bytes) = length.checked_mul(size_of::<T>()) else {
            return Err(out_of_memory(what, u64::MAX));
        };
        if bytes == 0 {
            return Ok(Self { map: None, element: PhantomData });
        }
        if bytes as u64 > available() {
            return Err(out_of_memory(what, bytes as u64));
        }
        let map = MmapMut::map_anon(bytes).map_err(|_| out_of_memory(what, bytes as u64))?;
        #[cfg(target_os = "linux")]
        if bytes >= 4 << 20 {
            // Only a hint: a system without huge pages refuses it, and the buffer works as well, only slower.
            let _refused = map.advise(memmap2::Advice::HugePage);
        }
        Ok(Self { map: Some(map), element: PhantomData })
    }
}

impl<T: Pod> Deref for Buffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.map.as_deref().map_or(&[], bytemuck::cast_slice)
    }
}

impl<T: Pod> DerefMut for Buffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        self.map.as_deref_mut().map_or(&mut [], bytemuck::cast_slice_mut)
    }
}

/// Bytes that can still be taken without pushing the machine into the killer's arms: the kernel's own estimate on
/// Linux; no limit where there is none.
pub fn available() -> u64 {
    let parse = |text: String| {
        let line = text.lines().find_map(|l| l.strip_prefix("MemAvailable:"))?;
        line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()
    };
    std::fs::read_to_string("/proc/meminfo").ok().and_then(parse).map_or(u64::MAX, |kb| kb << 10)
}

fn out_of_memory(what: &str, needed: u64) -> Error {
    Error::OutOfMemory { what: what.to_owned(), needed, available: available() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_aligned_and_zero() {
        let mut b = Buffer::<f32>::new(5 << 20, "test").unwrap();
        assert!(b.as_ptr().addr().is_multiple_of(64) && b.len() == 5 << 20 && b.iter().all(|&v| v == 0.0));
        b[7] = 1.0;
        assert_eq!(b[7], 1.0);
        assert!(Buffer::<u16>::new(0, "test").unwrap().is_empty());
    }

    #[test]
    fn too_much_is_an_error() {
        for length in [usize::MAX, usize::MAX / 8, 1 << 46] {
            let e = Buffer::<f32>::new(length, "the embedding").err().expect("refused").to_string();
            assert!(e.contains("out of memory: the embedding needs"), "{e}");
        }
    }
}
