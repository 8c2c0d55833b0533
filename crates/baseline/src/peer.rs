//! Library implementations on this machine's processor: each in a Python process of its own, started on demand, given the
//! very inputs a candidate gets and asked for its answer and its time. Knows processes and files; must not know
//! candidates.

use std::path::{Path, PathBuf};
use std::process::Command;

use ksearch_task::{Env, Exact, Tensors, Value};
use serde_json::{Map, Value as Json, json};
use tempfile::TempDir;

use crate::lines::{self, Lines};

const SCRIPT: &str = include_str!("../python/cpu_peer.py");
const SIMD_SCAN: &str = include_str!("../python/simd_scan.c");

/// Peers by task, the strongest known first.
pub fn names(task: &str) -> &'static [&'static str] {
    match task {
        "attention" => &["torch", "mlx"],
        "selective_scan" => &["simd-c", "torch", "mambapy", "mlx"],
        _ => &[],
    }
}

/// What pip installs for them.
pub const PACKAGES: [&str; 4] = ["torch", "numpy", "mambapy", "mlx[cpu]"];

/// Why there is no peer.
#[derive(Debug, thiserror::Error)]
pub enum PeerError {
    /// No interpreter.
    #[error(
        "no Python with libraries: run `ksearch baseline install cpu`, or set KSEARCH_PEERS to a folder made by `python3 -m venv`"
    )]
    Missing,
    /// It says itself why it cannot run here.
    #[error("{name}: {why}")]
    Absent {
        /// Which.
        name: String,
        /// Its reason.
        why: String,
    },
    /// It could not be started or talked to.
    #[error("{name}: {source}")]
    Broken {
        /// Which.
        name: String,
        /// Why.
        source: std::io::Error,
    },
    /// Its answer is not the exact one.
    #[error("{name} gives another answer: off by {error:.1e} of the output's magnitude")]
    Wrong {
        /// Which.
        name: String,
        /// Largest difference over the output's root mean square.
        error: f64,
    },
}

/// The interpreter of the environment that holds the libraries: `KSEARCH_PEERS`, else the one in the cache.
pub fn python() -> Result<PathBuf, PeerError> {
    let named = std::env::var_os("KSEARCH_PEERS").filter(|v| !v.is_empty()).map(PathBuf::from);
    let cached = ksearch_msl::cache_dir().map(|c| c.join("peers"));
    named.into_iter().chain(cached).map(|d| d.join("bin/python")).find(|p| p.is_file()).ok_or(PeerError::Missing)
}

/// Makes an environment in the cache and installs the libraries with pip.
pub fn install() -> Result<PathBuf, String> {
    let dir = ksearch_msl::cache_dir().ok_or("there is no cache folder; set KSEARCH_CACHE")?.join("peers");
    let run = |command: &mut Command| {
        let status = command.status().map_err(|e| e.to_string())?;
        if status.success() { Ok(()) } else { Err(format!("{command:?} failed: {status}")) }
    };
    run(Command::new("python3").args(["-m", "venv"]).arg(&dir))?;
    run(Command::new(dir.join("bin/pip")).args(["install", "--quiet"]).args(PACKAGES))?;
    Ok(dir)
}

/// One workload on disk, as peers read it.
#[derive(Debug)]
pub struct Material {
    folder: TempDir,
}

impl Material {
    /// Writes the inputs as f32.
    pub fn new(task: &str, env: &Env, inputs: &Tensors) -> std::io::Result<Self> {
        let folder = tempfile::Builder::new().prefix("ksearch-peer-").tempdir()?;
        let mut shapes = Map::new();
        for (name, tensor) in inputs {
            let bytes: Vec<u8> = tensor.values().iter().flat_map(|v| (*v as f32).to_le_bytes()).collect();
            std::fs::write(folder.path().join(format!("{name}.bin")), bytes)?;
            shapes.insert(name.clone(), json!(tensor.shape));
        }
        let number = |value: &Value| value.as_f64().map(Json::from);
        let values: Map<String, Json> = env.iter().filter_map(|(n, v)| Some((n.clone(), number(v)?))).collect();
        let workload = json!({ "task": task, "values": values, "inputs": shapes });
        std::fs::write(folder.path().join("workload.json"), workload.to_string())?;
        std::fs::write(folder.path().join("simd_scan.c"), SIMD_SCAN)?;
        Ok(Self { folder })
    }
}

/// One timing of a peer.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// Microseconds a call, over several in a row.
    pub us: f64,
    /// Processor seconds over wall seconds meanwhile: how many cores it had.
    pub cores: f64,
}

/// A running peer. Dropping it ends the process.
#[derive(Debug)]
pub struct Peer {
    /// Its name.
    pub name: String,
    /// Versions of what it runs on.
    pub versions: Vec<(String, String)>,
    folder: PathBuf,
    process: Lines,
}

impl Peer {
    /// Starts a peer on a workload.
    pub fn start(name: &str, python: &Path, threads: u32, material: &Material) -> Result<Self, PeerError> {
        let broken = |source| PeerError::Broken { name: name.to_owned(), source };
        let mut command = Command::new(python);
        command
            .args(["-c", SCRIPT, name, &threads.to_string()])
            .arg(material.folder.path())
            // These, where a machine sets them, make current OpenBLAS builds slower than they are.
            .env_remove("OPENBLAS_CORETYPE")
            .env_remove("OPENBLAS_L2_SIZE");
        let mut process = Lines::start(&mut command).map_err(broken)?;
        let first = process.hear().map_err(broken)?;
        if let Some(why) = first.get("absent").and_then(Json::as_str) {
            return Err(PeerError::Absent { name: name.to_owned(), why: why.to_owned() });
        }
        let versions = lines::texts(first.get("versions"));
        Ok(Self { name: name.to_owned(), versions, folder: material.folder.path().to_owned(), process })
    }

    fn ask(&mut self, what: &str) -> Result<Json, PeerError> {
        self.process.ask(what).map_err(|source| PeerError::Broken { name: self.name.clone(), source })
    }

    /// Fails where its answer is not `exact`, beyond what f32 rounding makes; gives the error over the magnitude.
    pub fn verify(&mut self, exact: &Exact) -> Result<f64, PeerError> {
        self.ask("answer")?;
        let path = self.folder.join(format!("{}.out.bin", self.name));
        let bytes = std::fs::read(path).map_err(|source| PeerError::Broken { name: self.name.clone(), source })?;
        let got = bytes.chunks_exact(4).map(|b| f64::from(f32::from_le_bytes([b[0], b[1], b[2], b[3]])));
        let magnitude = (exact.values.iter().map(|v| v * v).sum::<f64>() / exact.values.len().max(1) as f64).sqrt();
        let worst = exact.values.iter().zip(got).map(|(e, g)| (e - g).abs()).fold(0.0, f64::max);
        let error = if bytes.len() == 4 * exact.values.len() { worst / magnitude } else { f64::INFINITY };
        if error < 1e-3 { Ok(error) } else { Err(PeerError::Wrong { name: self.name.clone(), error }) }
    }

    /// One timing.
    pub fn time(&mut self) -> Result<Sample, PeerError> {
        let answer = self.ask("time")?;
        let field = |name: &str| answer.get(name).and_then(Json::as_f64).unwrap_or(f64::NAN);
        Ok(Sample { us: field("us"), cores: field("cpu") / field("wall") })
    }

    /// Name with versions, as tables show it.
    pub fn label(&self) -> String {
        let versions: Vec<_> = self.versions.iter().map(|(n, v)| format!("{n} {v}")).collect();
        format!("{} ({})", self.name, versions.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use indexmap::IndexMap;
    use ksearch_task::{DType, Tensor};

    #[test]
    fn a_workload_is_written_as_peers_read_it() {
        let inputs: Tensors =
            IndexMap::from([("q".to_owned(), Tensor::from_values(DType::F16, vec![2, 1], &[1.0, 2.0]))]);
        let env = Env::from_iter([("L".to_owned(), Value::Int(3)), ("scale".to_owned(), Value::Real(0.5))]);
        let material = Material::new("attention", &env, &inputs).unwrap();
        let read = |n: &str| std::fs::read(material.folder.path().join(n)).unwrap();
        assert_eq!(read("q.bin"), [1.0_f32, 2.0].iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>());
        let workload: Json = serde_json::from_slice(&read("workload.json")).unwrap();
        assert_eq!(workload["inputs"]["q"], json!([2, 1]));
        assert_eq!(workload["values"]["L"], json!(3.0));
    }

    #[test]
    fn an_absent_peer_says_why() {
        // Any Python will do to be told that a peer cannot be had.
        let Ok(python) = which("python3") else { return };
        let material = Material::new("unknown", &Env::default(), &Tensors::default()).unwrap();
        let error = Peer::start("torch", &python, 1, &material).unwrap_err();
        assert!(matches!(error, PeerError::Absent { .. }), "{error:?}");
    }

    fn which(name: &str) -> Result<PathBuf, ()> {
        let path = std::env::var_os("PATH").ok_or(())?;
        std::env::split_paths(&path).map(|d| d.join(name)).find(|p| p.is_file()).ok_or(())
    }
}
