//! The shape of a kernel: what each block issues and which results each instruction waits for. Plain data for timing
//! models. Knows classes of instructions; must not know a chip or what things cost.

use serde::{Deserialize, Serialize};

use crate::counters::InstrClass;

/// No program point.
pub const NO_POINT: u32 = u32::MAX;

/// An instruction that a GPU would issue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeShape {
    /// Its class.
    pub class: InstrClass,
    /// Number of its result, unique in the kernel; also given to instructions without one.
    pub value: u32,
    /// Results it waits for: instructions or phis. What is free on the pipes has been looked through.
    pub operands: Vec<u32>,
    /// Program point of a memory instruction, as in memory events; [`NO_POINT`] for others.
    pub point: u32,
    /// 32-bit registers that it moves to or from memory; 0 for others.
    pub words: u8,
}

/// A value that depends on where control came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhiShape {
    /// Its number.
    pub value: u32,
    /// Block that control came from, and the value it brings. Values that are known from the start are left out.
    pub from: Vec<(u32, u32)>,
}

/// A block.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockShape {
    /// Phis.
    pub phis: Vec<PhiShape>,
    /// Instructions, in the compiler's order.
    pub nodes: Vec<NodeShape>,
}

/// A kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shape {
    /// Blocks, numbered as in counters and traces.
    pub blocks: Vec<BlockShape>,
    /// Numbers of values are below this.
    pub values: u32,
    /// 16-bit register halves live at most, per thread, if nothing is reordered.
    pub register_halves: u32,
    /// Private memory per thread that did not become registers, bytes.
    pub private_bytes: u32,
}
