//! In place of a Mac's GPU where there is none: cannot be opened, and says so.

use super::runtime::{Launch, Runtime};
use crate::error::{Error, Result};

/// Metal's GPU, which this system does not have.
pub enum Gpu {}

impl Runtime for Gpu {
    type Memory = ();

    fn open(_source: &str, _defines: &[(&'static str, String)]) -> Result<Self> {
        let reason = "Metal is on macOS only; the `sim` backend runs the same kernels in the simulator";
        Err(Error::Unsupported { backend: "metal", reason: reason.into() })
    }

    fn name(&self) -> String {
        match *self {}
    }

    fn memory(&self, _bytes: usize, _what: &str) -> Result<()> {
        match *self {}
    }

    fn write(&self, (): &(), _bytes: &[u8]) -> Result<()> {
        match *self {}
    }

    fn read(&self, (): &(), _bytes: &mut [u8]) -> Result<()> {
        match *self {}
    }

    fn launch(&self, _launch: &Launch<'_, ()>) -> Result<()> {
        match *self {}
    }
}
