//! Running clang. Knows processes and command lines; nothing of MSL.

pub mod precompiled;
pub mod process;
pub mod toolchain;
