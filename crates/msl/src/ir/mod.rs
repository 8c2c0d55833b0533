//! Passes over clang's printed LLVM IR. They read lines and never parse more of an instruction than they change, so
//! that the small differences between clang versions do not matter. Know IR text; nothing of MSL.

pub mod calls;
pub mod debug;
pub mod hooks;
pub mod ptx;
pub mod unroll;
pub mod volatile;
