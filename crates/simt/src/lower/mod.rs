//! Lowers LLVM IR to a SIMT program. Knows the IR and the ABI of external functions; must not know how it is run.

mod alloc;
mod build;
mod calls;
mod casts;
mod cfg;
mod chain;
mod classify;
mod diverge;
mod flow;
mod fuse;
mod insts;
mod layout;
pub mod linear;
mod loops;
mod make;
mod memory;
mod passes;
mod print;
mod roots;
pub mod sir;
mod widen;

pub use build::{CONSTANTS_BASE, TAG_PRIVATE, TAG_THREADGROUP};
pub use linear::Lowered;

use crate::reader::ir::Module;

use ksearch_msl::SourcePos;

/// What becomes of loads of neighbouring elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loads {
    /// Each stays where and what it is: for finding faults.
    AsWritten,
    /// They become vector loads, as compilers for GPUs make them: for counting.
    Joined,
}

/// Lowers the kernel whose IR function is `symbol`.
pub fn lower(m: &Module, symbol: &str, loads: Loads) -> Result<Lowered, LowerError> {
    let mut f = build::build(m, symbol)?;
    passes::remove_unreachable(&mut f);
    passes::merge_blocks(&mut f);
    passes::dead_code(&mut f);
    loops::canonicalise(&mut f)?;
    passes::remove_unreachable(&mut f);
    passes::common_subexpressions(&mut f);
    fuse::fuse(&mut f);
    passes::dead_code(&mut f);
    let cfg = cfg::Cfg::new(&f)?;
    loops::hoist_invariants(&mut f, &cfg);
    passes::common_subexpressions(&mut f);
    loops::split_critical_edges(&mut f);
    if loads == Loads::Joined {
        widen::join_loads(&mut f);
        passes::dead_code(&mut f);
    }
    loops::close(&mut f)?;
    loops::split_critical_edges(&mut f);
    passes::dead_code(&mut f);
    linear::linearise(&f)
}

/// A kernel cannot be lowered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LowerError {
    /// The program uses something the machine does not have.
    #[error("the simulator cannot run {what}")]
    Unsupported {
        /// The construct, as the object of "cannot run".
        what: String,
        /// Where.
        pos: Option<SourcePos>,
    },
    /// There is no such function.
    #[error("the module defines no function `{0}`")]
    NoFunction(String),
    /// The IR contradicts itself, which valid IR never does.
    #[error("malformed IR: {0}")]
    Malformed(String),
}

impl LowerError {
    pub(crate) fn unsupported(what: impl Into<String>) -> Self {
        Self::Unsupported { what: what.into(), pos: None }
    }

    pub(crate) fn malformed(what: impl Into<String>) -> Self {
        Self::Malformed(what.into())
    }

    pub(crate) fn at(mut self, p: Option<SourcePos>) -> Self {
        if let Self::Unsupported { pos, .. } = &mut self
            && pos.is_none()
        {
            *pos = p;
        }
        self
    }
}
