//! Counters by source line: what a profile knows about blocks and memory instructions, laid on the lines they stem from.
//! Knows the lowered program; must not know what things cost.

use std::collections::BTreeMap;

use ksearch_msl::SourcePos;
use serde::{Deserialize, Serialize};

use crate::counters::InstrClass;
use crate::launch::Detail;
use crate::lower::Lowered;
use crate::lower::linear::LOp;
use crate::lower::sir::{Op, Space};

/// What one source line did, summed over all simdgroups.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineCounts {
    /// File as the user named it.
    pub file: String,
    /// 1-based line.
    pub line: u32,
    /// Simdgroup instructions by class, indexed by `InstrClass as usize`.
    pub instructions: Vec<u64>,
    /// Active lanes, summed over those instructions.
    pub lanes: u64,
    /// Branches on this line whose lanes went both ways.
    pub splits: u64,
    /// Bytes asked for: device memory.
    pub device_bytes: u64,
    /// Distinct 128-byte lines per instruction, summed: device memory.
    pub device_lines: u64,
    /// Bytes asked for: threadgroup memory.
    pub threadgroup_bytes: u64,
    /// Passes over the banks of threadgroup memory.
    pub passes: u64,
    /// Passes beyond the least possible.
    pub conflicts: u64,
    /// Bytes asked for: private memory that did not become registers.
    pub private_bytes: u64,
}

impl LineCounts {
    /// Simdgroup instructions of all classes.
    pub fn total(&self) -> u64 {
        self.instructions.iter().sum()
    }

    /// Mean share of the 32 lanes that were active; 1 where nothing ran.
    pub fn efficiency(&self) -> f64 {
        let all = self.total() * 32;
        if all == 0 { 1.0 } else { self.lanes as f64 / all as f64 }
    }
}

/// Lines in order; what has no position is left out.
pub fn by_line(lowered: &Lowered, detail: &Detail) -> Vec<LineCounts> {
    let mut lines: BTreeMap<(String, u32), LineCounts> = BTreeMap::new();
    let mut at = |pos: Option<&SourcePos>, add: &mut dyn FnMut(&mut LineCounts)| {
        let Some(p) = pos else { return };
        let counts = lines.entry((p.file.clone(), p.line)).or_insert_with(|| LineCounts {
            file: p.file.clone(),
            line: p.line,
            instructions: vec![0; InstrClass::COUNT],
            ..LineCounts::default()
        });
        add(counts);
    };
    for (block, runs) in lowered.blocks.iter().zip(&detail.blocks) {
        if runs.runs == 0 {
            continue;
        }
        for &(pos, class) in &block.issue {
            at(lowered.position(pos), &mut |c| {
                if let Some(n) = c.instructions.get_mut(class as usize) {
                    *n += runs.runs;
                }
                c.lanes += runs.lanes;
            });
        }
        if runs.splits > 0 {
            at(lowered.position(block.term_pos), &mut |c| c.splits += runs.splits);
        }
    }
    for p in &detail.points {
        let Some(inst) = lowered.insts.get(p.point as usize) else { continue };
        let LOp::Op(Op::Load(m) | Op::Store(m) | Op::Rmw(_, m) | Op::CmpXchg(m)) = inst.op else { continue };
        at(lowered.position(inst.pos), &mut |c| match m.space {
            Space::Threadgroup => {
                c.threadgroup_bytes += p.bytes;
                c.passes += p.units;
                c.conflicts += p.conflicts;
            }
            Space::Private => c.private_bytes += p.bytes,
            Space::Device | Space::Generic => {
                c.device_bytes += p.bytes;
                c.device_lines += p.units;
            }
        });
    }
    lines.into_values().collect()
}
