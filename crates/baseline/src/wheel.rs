//! Where MLX's kernel headers are: an unpacked `mlx-metal` wheel, or a checkout of MLX, which has the kernels that are in no
//! header too. Knows files and pip; must not know kernels.

use std::path::{Path, PathBuf};
use std::process::Command;

use ksearch_msl::SourceFile;

/// Version that is installed; its launches are what [`crate::mlx`] follows.
pub const VERSION: &str = "0.32.4";
/// Folder of the headers inside the wheel.
const INCLUDE: &str = "mlx/include";
/// Folder of the kernels inside that.
const KERNELS: &str = "mlx/backend/metal/kernels";

/// An unpacked wheel, or a checkout.
#[derive(Clone, Debug)]
pub struct Wheel {
    root: PathBuf,
    include: PathBuf,
}

/// Why there are no headers.
#[derive(Debug, thiserror::Error)]
pub enum WheelError {
    /// None found.
    #[error(
        "no `mlx-metal` wheel: run `ksearch baseline install mlx`, or set KSEARCH_MLX to a folder that holds `mlx/include`, or to a checkout of ml-explore/mlx"
    )]
    Missing,
    /// No place to keep it.
    #[error("there is no cache folder; set KSEARCH_CACHE")]
    NoCache,
    /// pip or the unpacking failed.
    #[error("{what} failed: {why}")]
    Failed {
        /// The step.
        what: &'static str,
        /// What it said.
        why: String,
    },
    /// A header cannot be read.
    #[error("cannot read {path}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

impl Wheel {
    /// The wheel or checkout under `root`, if its headers are there.
    pub fn at(root: &Path) -> Option<Self> {
        let includes = [root.join(INCLUDE), root.to_path_buf()];
        let include = includes.into_iter().find(|i| i.join(KERNELS).is_dir())?;
        Some(Self { root: root.to_path_buf(), include })
    }

    /// What it is, as names of baselines have it.
    pub fn version(&self) -> String {
        if self.include == self.root { "(checkout)".to_owned() } else { VERSION.to_owned() }
    }

    /// The text of a file by the name that includes give it, if it is there.
    pub fn file(&self, name: &str) -> Option<SourceFile> {
        Some(SourceFile::new(name, std::fs::read_to_string(self.include.join(name)).ok()?))
    }

    /// The one that `KSEARCH_MLX` names, else the one in the cache.
    pub fn find() -> Result<Self, WheelError> {
        let named = std::env::var_os("KSEARCH_MLX").filter(|v| !v.is_empty()).map(PathBuf::from);
        let cached = ksearch_msl::cache_dir().map(|c| c.join("mlx").join(VERSION));
        named.into_iter().chain(cached).find_map(|root| Self::at(&root)).ok_or(WheelError::Missing)
    }

    /// Downloads the wheel with pip and unpacks it into the cache. The only thing here that uses the network.
    pub fn install() -> Result<Self, WheelError> {
        let root = ksearch_msl::cache_dir().ok_or(WheelError::NoCache)?.join("mlx").join(VERSION);
        let download = root.with_extension("download");
        let fail = |what, e: &dyn std::fmt::Display| WheelError::Failed { what, why: e.to_string() };
        std::fs::create_dir_all(&download).map_err(|e| fail("making the cache folder", &e))?;
        let wanted = format!("mlx-metal=={VERSION}");
        let to = download.to_string_lossy().into_owned();
        let pip = ["-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"];
        let platform = ["--platform", "macosx_15_0_arm64", "--dest", &to, &wanted];
        python(&[&pip[..], &platform[..]].concat(), "pip download")?;
        let wheel = std::fs::read_dir(&download)
            .map_err(|e| fail("reading the download", &e))?
            .filter_map(Result::ok)
            .map(|e| e.path())
            .find(|p| p.extension().is_some_and(|e| e == "whl"))
            .ok_or_else(|| fail("pip download", &"it left no wheel"))?;
        let (from, to) = (wheel.to_string_lossy().into_owned(), root.to_string_lossy().into_owned());
        python(&["-m", "zipfile", "-e", &from, &to], "unpacking the wheel")?;
        std::fs::remove_dir_all(&download).map_err(|e| fail("removing the download", &e))?;
        Self::at(&root).ok_or_else(|| fail("unpacking the wheel", &"it holds no kernel headers"))
    }

    /// Where it is.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// All kernel headers, named as their includes name them.
    pub fn headers(&self) -> Result<Vec<SourceFile>, WheelError> {
        let include = &self.include;
        let mut out = Vec::new();
        let mut folders = vec![include.join(KERNELS)];
        while let Some(folder) = folders.pop() {
            let read = |source| WheelError::Read { path: folder.clone(), source };
            for entry in std::fs::read_dir(&folder).map_err(read)? {
                let path = entry.map_err(read)?.path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|e| e == "h") {
                    let name = path.strip_prefix(include).unwrap_or(&path).to_string_lossy().replace('\\', "/");
                    let text = std::fs::read_to_string(&path)
                        .map_err(|source| WheelError::Read { path: path.clone(), source })?;
                    out.push(SourceFile::new(name, text));
                }
            }
        }
        out.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(out)
    }
}

fn python(args: &[&str], what: &'static str) -> Result<(), WheelError> {
    let done = Command::new("python3")
        .args(args)
        .output()
        .map_err(|e| WheelError::Failed { what, why: format!("python3 cannot be started: {e}") })?;
    if done.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&done.stderr);
    let why = said.lines().rev().find(|l| !l.trim().is_empty()).unwrap_or("it said nothing").trim().to_owned();
    Err(WheelError::Failed { what, why })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_named_as_they_are_included() {
        let dir = tempfile::tempdir().expect("a folder");
        assert!(Wheel::at(dir.path()).is_none());
        let kernels = dir.path().join(INCLUDE).join(KERNELS);
        std::fs::create_dir_all(kernels.join("steel")).expect("a folder");
        std::fs::write(kernels.join("steel/defines.h"), "#pragma once\n").expect("a file");
        std::fs::write(kernels.join("other.txt"), "no header").expect("a file");
        let headers = Wheel::at(dir.path()).expect("a wheel").headers().expect("headers");
        assert_eq!(headers.len(), 1);
        assert_eq!(headers[0].name, "mlx/backend/metal/kernels/steel/defines.h");
        // A checkout has the same folders without the wheel's own above them, and more files.
        let source = tempfile::tempdir().expect("a folder");
        let kernels = source.path().join(KERNELS);
        std::fs::create_dir_all(&kernels).expect("a folder");
        std::fs::write(kernels.join("norm.metal"), "kernel").expect("a file");
        let checkout = Wheel::at(source.path()).expect("a checkout");
        assert_eq!(checkout.file("mlx/backend/metal/kernels/norm.metal").expect("a file").text, "kernel");
        assert!(checkout.file("mlx/backend/metal/kernels/other.metal").is_none());
        assert_eq!(checkout.version(), "(checkout)");
    }
}
