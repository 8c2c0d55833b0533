//! Memory shared with the worker: a file of inputs that it may only read, and one of outputs and scratch. Knows bytes
//! and pages; must not know tensors.

#![allow(unsafe_code)] // Shared mappings cannot be had without it; every access below is bounded by the mapping's length.

use std::ffi::c_void;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::ptr::NonNull;

use rustix::fs::{MemfdFlags, Mode, OFlags, ftruncate, memfd_create, open};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

/// Bytes of a page; larger real pages are multiples of it on every machine this runs on, and mappings are made with the
/// real size.
pub fn page() -> u64 {
    rustix::param::page_size() as u64
}

/// An anonymous file, mapped whole into this process.
#[derive(Debug)]
pub struct SharedFile {
    file: OwnedFd,
    base: NonNull<c_void>,
    length: usize,
}

// The mapping is owned and only accessed through `&mut self` or for copying out.
unsafe impl Send for SharedFile {}

impl SharedFile {
    /// A file of `length` bytes of zeros, rounded up to pages.
    pub fn new(name: &str, length: u64) -> io::Result<Self> {
        let length = length.next_multiple_of(page()).max(page());
        let file = memfd_create(name, MemfdFlags::CLOEXEC)?;
        ftruncate(&file, length)?;
        let size = usize::try_from(length).map_err(|_| io::ErrorKind::OutOfMemory)?;
        // SAFETY: a fresh mapping at an address the kernel chooses aliases nothing.
        let base = unsafe {
            mmap(std::ptr::null_mut(), size, ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED, &file, 0)?
        };
        let base = NonNull::new(base).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { file, base, length: size })
    }

    /// The file for a child that may write it.
    pub fn writable(&self) -> io::Result<OwnedFd> {
        self.file.try_clone()
    }

    /// The file for a child that can only read it, also where it maps it itself.
    pub fn read_only(&self) -> io::Result<OwnedFd> {
        let path = format!("/proc/self/fd/{}", self.file.as_fd().as_raw_fd());
        Ok(open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?)
    }

    /// Copies bytes in. What lies outside the file is refused.
    pub fn write(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let at = self.within(offset, bytes.len())?;
        // SAFETY: `within` has checked the range; a worker that writes at the same time can only spoil its own data.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.base.as_ptr().cast::<u8>().add(at), bytes.len()) };
        Ok(())
    }

    /// Fills a range.
    pub fn fill(&mut self, offset: u64, length: u64, byte: u8) -> io::Result<()> {
        let length = usize::try_from(length).map_err(|_| io::ErrorKind::InvalidInput)?;
        let at = self.within(offset, length)?;
        // SAFETY: as in `write`.
        unsafe { std::ptr::write_bytes(self.base.as_ptr().cast::<u8>().add(at), byte, length) };
        Ok(())
    }

    /// Copies bytes out.
    pub fn read(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        let at = self.within(offset, bytes.len())?;
        // SAFETY: as in `write`.
        unsafe {
            std::ptr::copy_nonoverlapping(self.base.as_ptr().cast::<u8>().add(at), bytes.as_mut_ptr(), bytes.len());
        }
        Ok(())
    }

    fn within(&self, offset: u64, length: usize) -> io::Result<usize> {
        let at = usize::try_from(offset).map_err(|_| io::ErrorKind::InvalidInput)?;
        at.checked_add(length).filter(|end| *end <= self.length).ok_or(io::ErrorKind::InvalidInput)?;
        Ok(at)
    }
}

impl Drop for SharedFile {
    fn drop(&mut self) {
        // SAFETY: the mapping was made in `new` and nothing borrows it. It cannot fail for a valid mapping, and there is
        // nobody to tell.
        let _ = unsafe { munmap(self.base.as_ptr(), self.length) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_go_in_and_out_and_never_beyond_the_end() {
        let mut file = SharedFile::new("test", 10).unwrap();
        file.write(4090, &[1, 2, 3]).unwrap();
        let mut out = [0; 3];
        file.read(4090, &mut out).unwrap();
        assert_eq!(out, [1, 2, 3]);
        assert!(file.write(page() - 1, &[1, 2]).is_err());
        assert!(file.read(u64::MAX, &mut out).is_err());
    }

    #[test]
    fn the_child_s_descriptor_of_inputs_cannot_be_written() {
        let file = SharedFile::new("test", 10).unwrap();
        let fd = file.read_only().unwrap();
        // SAFETY: a fresh mapping aliases nothing; it must fail anyway.
        let mapped = unsafe { mmap(std::ptr::null_mut(), 4096, ProtFlags::WRITE, MapFlags::SHARED, &fd, 0) };
        assert!(mapped.is_err());
    }
}
