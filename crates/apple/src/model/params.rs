//! Parameters of the model, read from `chips/model.toml`: value, bounds, where the bounds come from. Knows no formula.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::chip::ChipError;

macro_rules! parameters {
    ($($name:ident $key:literal $doc:literal),* $(,)?) => {
        /// A parameter of the model.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(usize)]
        pub enum Param { $(#[doc = $doc] $name),* }

        impl Param {
            /// All parameters.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// Name in the data file.
            pub const fn key(self) -> &'static str {
                match self { $(Self::$name => $key),* }
            }

            /// What it is.
            pub const fn about(self) -> &'static str {
                match self { $(Self::$name => $doc),* }
            }
        }
    };
}

parameters! {
    Issue "issue" "Factor on the cycles that scalar instructions take to issue.",
    Operands "operands" "Factor on f32 arithmetic for the bandwidth of operands.",
    ComplexSlots "complex_slots" "Issue slots of an instruction of the integer-and-complex pipe.",
    LoadWord "load_word" "Issue cycles for each register loaded from device memory.",
    StoreWord "store_word" "Issue cycles for each register stored to device memory.",
    ThreadgroupWord "threadgroup_word" "Issue cycles for each register moved to or from threadgroup memory.",
    PrivateWord "private_word" "Issue cycles for each register moved to or from private memory.",
    StartSlots "start_slots" "Issue cycles to start a simdgroup.",
    DivergeSlots "diverge_slots" "Issue cycles for each divergent branch.",
    Slot "slot" "Cycles between two instructions of one simdgroup.",
    WaitSimple "wait_simple" "Factor on the latency of simple arithmetic.",
    WaitComplex "wait_complex" "Factor on the latency of complex arithmetic.",
    WaitThreadgroup "wait_threadgroup" "Cycles until a load of threadgroup memory is there.",
    WaitDevice "wait_device" "Cycles until a load of device memory is there that the first level holds.",
    WaitMissed "wait_missed" "Cycles more where it does not hold it.",
    WaitPrivate "wait_private" "Cycles until a load of private memory is there.",
    WaitBarrier "wait_barrier" "Cycles at a barrier.",
    WaitBranch "wait_branch" "Cycles at a branch.",
    WaitDiverge "wait_diverge" "Cycles at a divergent branch.",
    WaitStart "wait_start" "Cycles from the launch of a simdgroup to its first instruction and from its last to the next.",
    Registers "registers" "Registers that Apple's compiler takes for each one that liveness counts.",
    RegistersMax "registers_max" "Live registers beyond which values spill.",
    EarlyLoads "early_loads" "How far loads are issued early: 0 in the order of the source, 1 all of a block at once.",
    SpillCap "spill_cap" "Spilled registers of a block beyond which further ones are loaded again instead.",
    SpillSlots "spill_slots" "Issue cycles of a spilled register.",
    SpillWait "spill_wait" "Cycles that a spilled register adds to the path.",
    SpillLines "spill_lines" "Lines beyond the first level that a spilled register moves.",
    FarWait "far_wait" "Factor on the wait for spilled and private values that the second level does not hold.",
    L1Port "l1_port" "Factor on the bandwidth of the load port of a core.",
    Sectors "sectors" "Share of 64-byte sectors, as against 128-byte lines, in what the port moves.",
    L1Lines "l1_lines" "Lines that the first level keeps.",
    ThreadgroupPort "threadgroup_port" "Factor on the bandwidth of threadgroup memory.",
    GroupStore "group_store" "Passes of threadgroup memory that count for one of a store.",
    L2Port "l2_port" "Factor on the bandwidth of the second level.",
    L2Kib "l2_kib" "KiB of second level for each core.",
    PartialStore "partial_store" "Cycles of the second level for each 64-byte sector that a store fills in part.",
    Slc "slc" "Factor on the bandwidth of the system-level cache.",
    Dram "dram" "Factor on the bandwidth of DRAM.",
    Drain "drain" "Factor on the bandwidth at which what was stored leaves the cores after the last instruction.",
    IndependentStalls "independent_stalls" "Share of the resident simdgroups that stall independently of one another.",
    OverlapPorts "overlap_ports" "Exponent with which issue and the ports of the core, to its first level and its threadgroup memory, join.",
    OverlapMemory "overlap_memory" "Exponent with which the core's time and that of memory beyond its first level join.",
    Dispatch "dispatch" "Factor on the time of a dispatch.",
}

/// Values of all parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    values: Vec<f64>,
}

impl Params {
    /// Value of a parameter.
    pub fn get(&self, p: Param) -> f64 {
        self.values.get(p as usize).copied().unwrap_or(1.0)
    }

    /// The same with another value for `p`.
    #[must_use]
    pub fn with(&self, p: Param, value: f64) -> Self {
        let mut out = self.clone();
        if let Some(v) = out.values.get_mut(p as usize) {
            *v = value;
        }
        out
    }
}

/// A parameter as the data file has it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ParamFact {
    /// Fitted value.
    pub v: f64,
    /// Least value that its sources allow.
    pub lo: f64,
    /// Largest value that its sources allow.
    pub hi: f64,
    /// Source of the bounds.
    pub s: String,
}

/// What leave-one-out validation showed.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Uncertainty {
    /// Median of |ln(simulated/measured)| over tasks that the fit had not seen.
    pub median: f64,
    /// Its 90th percentile.
    pub p90: f64,
    /// On what.
    pub s: String,
}

/// `chips/model.toml`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelFile {
    /// Parameters by name.
    pub parameter: BTreeMap<String, ParamFact>,
    /// Uncertainty.
    pub uncertainty: Uncertainty,
}

impl ModelFile {
    /// Text of the file that ships.
    pub const SHIPPED: &'static str = include_str!("../../../../chips/model.toml");

    /// The file that ships.
    pub fn embedded() -> Result<Self, ChipError> {
        Self::parse(Self::SHIPPED)
    }

    /// Reads a file; all parameters must be there, within their bounds, and no others.
    pub fn parse(text: &str) -> Result<Self, ChipError> {
        let bad = |message: String| ChipError::Parse { path: "model.toml".into(), message };
        let file: Self = toml::from_str(text).map_err(|e| bad(e.to_string()))?;
        for p in Param::ALL {
            let fact = file.parameter.get(p.key()).ok_or_else(|| bad(format!("no parameter `{}`", p.key())))?;
            if !(0.0 < fact.lo && fact.lo <= fact.v && fact.v <= fact.hi) {
                return Err(bad(format!(
                    "`{}` is {}, outside {} to {}, or these are not positive",
                    p.key(),
                    fact.v,
                    fact.lo,
                    fact.hi
                )));
            }
        }
        if let Some(other) = file.parameter.keys().find(|k| Param::ALL.iter().all(|p| p.key() != *k)) {
            return Err(bad(format!("the model has no parameter `{other}`")));
        }
        Ok(file)
    }

    /// Values.
    pub fn params(&self) -> Params {
        Params { values: Param::ALL.iter().map(|p| self.parameter.get(p.key()).map_or(1.0, |f| f.v)).collect() }
    }

    /// The middle of all bounds: where a fit starts that must not know what others found.
    pub fn centre(&self) -> Params {
        let middle = |p: &Param| {
            let (lo, hi) = self.bounds(*p);
            (lo * hi).sqrt()
        };
        Params { values: Param::ALL.iter().map(middle).collect() }
    }

    /// Bounds of a parameter.
    pub fn bounds(&self, p: Param) -> (f64, f64) {
        self.parameter.get(p.key()).map_or((1.0, 1.0), |f| (f.lo, f.hi))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shipped_file_is_whole_and_mistakes_are_named() {
        let text = include_str!("../../../../chips/model.toml");
        let file = ModelFile::embedded().expect("the shipped file");
        assert_eq!(file.params().get(Param::Slot), file.parameter["slot"].v);
        assert_eq!(file.params().with(Param::Slot, 9.0).get(Param::Slot), 9.0);
        let e = ModelFile::parse(&text.replace("[parameter.slot]", "[parameter.slat]")).unwrap_err().to_string();
        assert!(e.contains("`slot`"), "{e}");
        let e = ModelFile::parse(&format!("{text}\n[parameter.more]\nv = 1\nlo = 1\nhi = 1\ns = \"\"\n")).unwrap_err();
        assert!(e.to_string().contains("`more`"), "{e}");
    }
}
