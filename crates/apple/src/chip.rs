//! Chips as data: reads `chips/*.toml`, follows inheritance, and marks what is estimated. Knows no formula.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use include_dir::{Dir, include_dir};

static EMBEDDED: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../chips");

/// Why a chip could not be loaded.
#[derive(Debug, thiserror::Error)]
pub enum ChipError {
    /// No chip of that name.
    #[error("unknown chip `{name}`; known chips: {}", known.join(", "))]
    Unknown {
        /// What was asked for.
        name: String,
        /// What there is.
        known: Vec<String>,
    },
    /// A data file cannot be read.
    #[error("cannot read chip data {path}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A data file is not valid TOML.
    #[error("{path}: {message}")]
    Parse {
        /// The file.
        path: String,
        /// Line, column and what was expected.
        message: String,
    },
    /// A value the model needs has no source for this chip.
    #[error("chip `{chip}` has no usable value for `{key}` ({why}); add it to chips/{chip}.toml")]
    Missing {
        /// The chip.
        chip: String,
        /// The value.
        key: String,
        /// What is wrong with it.
        why: String,
    },
}

/// One value with its origin.
#[derive(Clone, Debug)]
pub struct Fact {
    /// The value as written.
    pub value: toml::Value,
    /// Source tag; see `chips/sources.toml`.
    pub source: String,
    /// Inferred, or inherited from another micro-architecture.
    pub estimated: bool,
}

/// What the model knows of one chip.
#[derive(Clone, Debug)]
pub struct Chip {
    /// Name as in target strings, e.g. `m1-max`.
    pub name: String,
    /// Micro-architecture, e.g. `g13`.
    pub uarch: String,
    /// Apple GPU family, e.g. `Apple7`.
    pub family: String,
    /// GPU cores (the largest variant).
    pub cores: u32,
    /// Top clock in GHz.
    pub clock_ghz: f64,
    /// Attainable DRAM bandwidth in GB/s.
    pub dram_gbs: f64,
    /// Attainable system-level-cache bandwidth in GB/s.
    pub slc_gbs: f64,
    /// L2 bandwidth in bytes per cycle and core.
    pub l2_bytes_per_cycle: f64,
    /// L1 bandwidth in bytes per cycle and core.
    pub l1_bytes_per_cycle: f64,
    /// Threadgroup-memory bandwidth in bytes per cycle and core.
    pub threadgroup_bytes_per_cycle: f64,
    /// L1 data cache per core, bytes.
    pub l1_bytes: u64,
    /// L2 cache, bytes.
    pub l2_bytes: u64,
    /// System-level cache, bytes.
    pub slc_bytes: u64,
    /// Latencies in cycles: threadgroup memory, L2, SLC, DRAM.
    pub latency: [f64; 4],
    /// Threadgroup memory a threadgroup may use, bytes.
    pub max_threadgroup_bytes: u32,
    /// Threadgroup memory of a core, bytes.
    pub core_threadgroup_bytes: u32,
    /// Threads per threadgroup at most.
    pub max_threads: u32,
    /// Simdgroups resident per core at most.
    pub max_simdgroups: u32,
    /// Register file of a core as residency sees it, bytes.
    pub register_file_bytes: u32,
    /// Does the peak register count fix occupancy? (`false` with dynamic caching.)
    pub registers_bound_occupancy: bool,
    /// 16-bit ALU rate over the 32-bit one.
    pub fp16_ratio: f64,
    /// Microseconds of GPU time per dispatch.
    pub dispatch_us: f64,
    /// Keys whose value is inferred or inherited.
    pub estimated: Vec<String>,
    instructions: BTreeMap<String, (f64, f64, bool)>,
    /// Costs by class of instruction, which follow from the table.
    pub(crate) costs: Vec<crate::instr::Cost>,
}

impl Chip {
    /// Cycles per simdgroup instruction and scheduler, latency in cycles, and whether it runs on the
    /// integer-and-complex pipe, of the entry `name` in the chip's instruction table.
    pub fn instruction(&self, name: &str) -> Option<(f64, f64, bool)> {
        self.instructions.get(name).copied()
    }

    /// Peak f32 rate in GFLOP/s (two operations per multiply-add).
    pub fn peak_gflops(&self) -> f64 {
        f64::from(self.cores) * 256.0 * self.clock_ghz
    }
}

/// All chip data: embedded, or read from a folder.
#[derive(Clone, Debug)]
pub struct Chips {
    files: BTreeMap<String, toml::Table>,
}

impl Chips {
    /// The data that ships with the program.
    pub fn embedded() -> Result<Self, ChipError> {
        let mut files = BTreeMap::new();
        for dir in std::iter::once(&EMBEDDED).chain(EMBEDDED.dirs()) {
            for file in dir.files() {
                let path = file.path().to_string_lossy().into_owned();
                if let (Some(text), true) = (file.contents_utf8(), path.ends_with(".toml")) {
                    files.insert(path.clone(), parse(&path, text)?);
                }
            }
        }
        Ok(Self { files })
    }

    /// The embedded data, with every file that exists under `dir` replacing or extending it.
    pub fn with_overrides(dir: &Path) -> Result<Self, ChipError> {
        let mut chips = Self::embedded()?;
        for sub in ["", "uarch"] {
            let folder = dir.join(sub);
            if !folder.is_dir() {
                continue;
            }
            let read = |path: &Path, source| ChipError::Read { path: path.to_path_buf(), source };
            for entry in std::fs::read_dir(&folder).map_err(|e| read(&folder, e))? {
                let path = entry.map_err(|e| read(&folder, e))?.path();
                if path.extension().is_some_and(|e| e == "toml") {
                    let text = std::fs::read_to_string(&path).map_err(|e| read(&path, e))?;
                    let table = parse(&path.to_string_lossy(), &text)?;
                    if let Some(name) = path.file_name() {
                        chips.files.insert(Path::new(sub).join(name).to_string_lossy().into_owned(), table);
                    }
                }
            }
        }
        Ok(chips)
    }

    /// Names of all chips.
    pub fn names(&self) -> Vec<String> {
        self.files
            .iter()
            .filter(|(_, t)| t.contains_key("chip"))
            .filter_map(|(path, _)| path.strip_suffix(".toml").map(str::to_owned))
            .collect()
    }

    /// The chip named `name`, e.g. `m1-max`.
    pub fn get(&self, name: &str) -> Result<Chip, ChipError> {
        let table = self
            .files
            .get(&format!("{name}.toml"))
            .and_then(|t| t.get("chip"))
            .and_then(toml::Value::as_table)
            .ok_or_else(|| ChipError::Unknown { name: name.into(), known: self.names() })?;
        Resolver { chips: self, name, table }.chip()
    }
}

fn parse(path: &str, text: &str) -> Result<toml::Table, ChipError> {
    text.parse::<toml::Table>().map_err(|e| ChipError::Parse { path: path.into(), message: e.to_string() })
}

/// Looks a key up in the chip, its micro-architecture and what that inherits.
struct Resolver<'a> {
    chips: &'a Chips,
    name: &'a str,
    table: &'a toml::Table,
}

impl<'a> Resolver<'a> {
    fn uarch(&self, name: &str) -> Option<&'a toml::Table> {
        self.chips.files.get(&format!("uarch/{name}.toml"))?.get("uarch")?.as_table()
    }

    /// Micro-architectures from the chip's own upwards.
    fn lineage(&self) -> Vec<&'a toml::Table> {
        let mut out = Vec::new();
        let mut next = self.table.get("uarch").and_then(toml::Value::as_str);
        // A data file that inherits in a circle ends here instead of looping.
        while let Some(name) = next.filter(|_| out.len() < 8) {
            let Some(table) = self.uarch(name) else { break };
            out.push(table);
            next = table.get("inherits").and_then(toml::Value::as_str);
        }
        out
    }

    fn fact(&self, key: &str) -> Option<Fact> {
        let levels = std::iter::once(self.table).chain(self.lineage());
        for (depth, table) in levels.enumerate() {
            if let Some(entry) = table.get(key).and_then(toml::Value::as_table) {
                return Some(Fact {
                    value: entry.get("v")?.clone(),
                    source: entry.get("s").and_then(toml::Value::as_str).unwrap_or("?").into(),
                    estimated: depth > 1 || entry.get("estimated").and_then(toml::Value::as_bool).unwrap_or(false),
                });
            }
        }
        None
    }

    fn missing(&self, key: &str, why: &str) -> ChipError {
        ChipError::Missing { chip: self.name.into(), key: key.into(), why: why.into() }
    }

    /// The number under `key`; of a list, the last one (largest variant, best measurement where lists are sorted so).
    fn number(&self, key: &str, estimated: &mut Vec<String>) -> Result<Option<f64>, ChipError> {
        let Some(fact) = self.fact(key) else { return Ok(None) };
        if fact.estimated {
            estimated.push(key.into());
        }
        let value = match &fact.value {
            toml::Value::Array(items) => items.last().cloned(),
            other => Some(other.clone()),
        };
        match value {
            Some(toml::Value::Integer(i)) => Ok(Some(i as f64)),
            Some(toml::Value::Float(f)) => Ok(Some(f)),
            _ => Err(self.missing(key, "it is not a number")),
        }
    }

    fn need(&self, key: &str, estimated: &mut Vec<String>) -> Result<f64, ChipError> {
        self.number(key, estimated)?.ok_or_else(|| self.missing(key, "no source"))
    }

    fn chip(&self) -> Result<Chip, ChipError> {
        let mut est = Vec::new();
        let lineage = self.lineage();
        let uarch = self.table.get("uarch").and_then(toml::Value::as_str).unwrap_or_default().to_owned();
        if lineage.is_empty() {
            return Err(self.missing("uarch", "no such file in chips/uarch"));
        }
        let cores = self.need("gpu_cores", &mut est)?;
        let clock_ghz = if let Some(clock) = self.number("clock_ghz", &mut est)? {
            clock
        } else {
            // Same silicon generation, no published clock: take the base chip's.
            est.push("clock_ghz".into());
            let base = self.name.split('-').next().unwrap_or(self.name);
            if base == self.name {
                return Err(self.missing("clock_ghz", "no source"));
            }
            self.chips.get(base)?.clock_ghz
        };
        let spec = self.number("dram_gbs_spec", &mut est)?;
        let measured = self.fact("dram_gbs_measured").and_then(|f| match f.value {
            toml::Value::Array(a) => a.iter().filter_map(number_of).max_by(f64::total_cmp),
            v => number_of(&v),
        });
        let dram_gbs = match (measured, spec) {
            (Some(gbs), _) => gbs,
            // Attainable share of the specified bandwidth: the median of the measured chips (apple-gpu notes, section 3).
            (None, Some(spec)) => {
                est.push("dram_gbs_measured".into());
                spec * 0.83
            }
            (None, None) => return Err(self.missing("dram_gbs_spec", "no source")),
        };
        let slc_ratio = self.need("slc_over_dram_bandwidth", &mut est)?;
        let slc_gbs = match self.number("slc_gbs_measured", &mut est)? {
            Some(v) => v,
            None => dram_gbs * slc_ratio,
        };
        let l2_bytes = if let Some(v) = self.number("l2_bytes", &mut est)? {
            v
        } else {
            est.push("l2_bytes".into());
            (cores * 49_152.0).max(1_048_576.0)
        };
        let latency = self.latency(clock_ghz, &mut est);
        let mut instructions = BTreeMap::new();
        for table in lineage.iter().rev() {
            for (name, entry) in table.get("instr").and_then(toml::Value::as_table).into_iter().flatten() {
                let Some(entry) = entry.as_table() else { continue };
                let get = |k: &str| entry.get(k).and_then(number_of);
                let raw =
                    entry.get("lat_raw").and_then(toml::Value::as_array).and_then(|a| a.first()).and_then(number_of);
                let tp = get("tp").unwrap_or(1.0);
                let ic = entry.get("pipe").and_then(toml::Value::as_str) == Some("ic");
                instructions.insert(name.clone(), (tp, get("lat").or(raw).unwrap_or(tp.max(2.0)), ic));
            }
        }
        let flag = |key: &str| self.fact(key).and_then(|f| f.value.as_bool());
        let dispatch_us = self.dispatch_us(&mut est);
        let mut chip = Chip {
            name: self.name.into(),
            family: self.fact("family").and_then(|f| f.value.as_str().map(str::to_owned)).unwrap_or_default(),
            uarch,
            cores: cores as u32,
            clock_ghz,
            dram_gbs,
            slc_gbs,
            // 38 B/cycle is what three chips measured where the nominal figure is 32 (apple-gpu notes, section 3).
            l2_bytes_per_cycle: self.need("l2_bandwidth_bytes_per_cycle_core", &mut est)?.max(38.0),
            l1_bytes_per_cycle: self.need("l1_bandwidth_bytes_per_cycle_core", &mut est)?,
            threadgroup_bytes_per_cycle: self.need("tgmem_bandwidth_bytes_per_cycle_core", &mut est)?,
            l1_bytes: self.need("l1d_bytes_per_core", &mut est)? as u64,
            l2_bytes: l2_bytes as u64,
            slc_bytes: self.number("slc_bytes", &mut est)?.unwrap_or_else(|| {
                est.push("slc_bytes".into());
                8_388_608.0
            }) as u64,
            latency,
            max_threadgroup_bytes: self.need("tgmem_bytes_per_threadgroup_max", &mut est)? as u32,
            core_threadgroup_bytes: self.need("tgmem_bytes_per_core", &mut est)? as u32,
            max_threads: self.need("max_threads_per_threadgroup", &mut est)? as u32,
            max_simdgroups: self.need("max_simdgroups_per_core", &mut est)? as u32,
            register_file_bytes: self.need("register_file_bytes_per_core_measured_low", &mut est)? as u32,
            registers_bound_occupancy: flag("occupancy_by_max_registers").unwrap_or(true),
            fp16_ratio: self.number("fp16_over_fp32_alu", &mut est)?.unwrap_or(1.0),
            dispatch_us,
            estimated: est,
            instructions,
            costs: Vec::new(),
        };
        chip.costs = crate::instr::costs(&chip);
        Ok(chip)
    }

    /// Latencies in cycles of threadgroup memory, L2, SLC and DRAM: the chip's own where measured, else M1's.
    fn latency(&self, clock_ghz: f64, est: &mut Vec<String>) -> [f64; 4] {
        let ns = |table: Option<&toml::Table>, key: &str| {
            table?.get("latency_ns")?.get("v")?.as_table()?.get(key).and_then(number_of)
        };
        let m1 = self.chips.files.get("m1.toml").and_then(|t| t.get("chip")).and_then(toml::Value::as_table);
        // M1's figures, in nanoseconds, are the only complete set (Chips and Cheese, 2022).
        ["local", "l2", "slc", "dram"].map(|key| {
            let own = ns(Some(self.table), key);
            if own.is_none() {
                est.push(format!("latency_ns.{key}"));
            }
            own.or_else(|| ns(m1, key)).unwrap_or(300.0) * clock_ghz
        })
    }

    fn dispatch_us(&self, est: &mut Vec<String>) -> f64 {
        let launch = self.chips.files.get("launch.toml").and_then(|t| t.get("launch")).and_then(toml::Value::as_table);
        let get = |key: &str| launch?.get(key)?.get("v").and_then(number_of);
        if self.name == "m4-pro" {
            return get("gpu_per_dispatch_us_m4_pro").unwrap_or(1.0);
        }
        if self.name != "m1-pro" {
            est.push("gpu_per_dispatch_us".into());
        }
        get("gpu_per_dispatch_us_m1_pro").unwrap_or(4.3)
    }
}

fn number_of(value: &toml::Value) -> Option<f64> {
    match value {
        toml::Value::Integer(i) => Some(*i as f64),
        toml::Value::Float(f) => Some(*f),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shipped_chip_resolves_and_its_peak_is_near_the_published_one() {
        let chips = Chips::embedded().unwrap();
        let names = chips.names();
        assert!(names.len() >= 18, "{names:?}");
        for name in names {
            let chip = chips.get(&name).unwrap_or_else(|e| panic!("{e}"));
            assert!(chip.cores >= 7 && chip.clock_ghz > 1.0 && chip.dram_gbs > 40.0, "{name}: {chip:?}");
            assert!(chip.instruction("ffma32").is_some());
        }
        let m1_max = chips.get("m1-max").unwrap();
        assert!((m1_max.peak_gflops() - 10617.0).abs() < 5.0);
        assert_eq!((m1_max.cores, m1_max.max_threadgroup_bytes, m1_max.family.as_str()), (32, 32768, "Apple7"));
    }

    #[test]
    fn inherited_values_are_marked_estimated() {
        let chips = Chips::embedded().unwrap();
        assert!(!chips.get("m1").unwrap().estimated.iter().any(|k| k == "l1d_bytes_per_core"));
        assert!(chips.get("m3-max").unwrap().estimated.iter().any(|k| k == "l1d_bytes_per_core"));
    }

    #[test]
    fn an_unknown_chip_lists_the_known_ones() {
        let message = Chips::embedded().unwrap().get("m9").unwrap_err().to_string();
        assert!(message.contains("unknown chip `m9`") && message.contains("m1-max"), "{message}");
    }

    #[test]
    fn a_folder_overrides_and_a_bad_file_names_its_line() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(
            dir.path().join("toy.toml"),
            "[chip]\nuarch = \"g13\"\ngpu_cores = { v = 4 }\nclock_ghz = { v = 2.0 }\ndram_gbs_spec = { v = 50 }\n",
        )
        .unwrap();
        assert_eq!(Chips::with_overrides(dir.path()).unwrap().get("toy").unwrap().cores, 4);
        std::fs::write(dir.path().join("toy.toml"), "[chip]\nuarch = \n").unwrap();
        let message = Chips::with_overrides(dir.path()).unwrap_err().to_string();
        assert!(message.contains("toy.toml") && message.contains("line 2"), "{message}");
    }
}
