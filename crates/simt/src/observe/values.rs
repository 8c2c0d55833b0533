//! Values: what the instructions of one source line computed, lane by lane. Knows registers as they are handed over, not
//! the instructions' meaning.

use super::{Findings, MemEvent, Observer, Plan};

/// What to record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Watch {
    /// Program points, by index: is it wanted?
    pub points: Vec<bool>,
    /// Linear threadgroup.
    pub group: u64,
    /// Simdgroup in it.
    pub simdgroup: u32,
    /// Executions to keep at most.
    pub most: usize,
}

/// A register's contents in all lanes.
pub type Lanes = [u64; 32];

/// One execution of one instruction by one simdgroup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observed {
    /// Program point.
    pub point: u32,
    /// Lanes that took part.
    pub mask: u32,
    /// Operands before.
    pub args: Vec<Lanes>,
    /// Results after.
    pub results: Vec<Lanes>,
}

/// See the module.
#[derive(Debug, Default)]
pub struct Values {
    watch: Watch,
    active: bool,
    /// Executions in order.
    pub seen: Vec<Observed>,
    /// Executions beyond those that are kept.
    pub left_out: u64,
}

impl Observer for Values {
    const EVENTS: bool = false;
    const SANITIZE: bool = false;
    const VALUES: bool = true;

    fn plan(&mut self, plan: &Plan) {
        self.watch = plan.watch.clone();
    }

    fn wants(&self, simdgroup: u32, point: u32) -> bool {
        self.active && simdgroup == self.watch.simdgroup && self.watch.points.get(point as usize) == Some(&true)
    }

    fn observed(&mut self, o: Observed) {
        if self.seen.len() < self.watch.most {
            self.seen.push(o);
        } else {
            self.left_out += 1;
        }
    }

    fn access(&mut self, _: &MemEvent<'_>) {}

    fn group_start(&mut self, group: u64) {
        self.active = group == self.watch.group;
    }

    fn group_end(&mut self) {
        self.active = false;
    }

    fn merge(&mut self, other: Self) {
        // One threadgroup is watched, so one observer alone has seen anything.
        self.seen.extend(other.seen);
        self.left_out += other.left_out;
    }
}

impl Findings for Values {}
