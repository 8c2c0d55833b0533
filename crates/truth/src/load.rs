//! Folders of ground truth: the format of this project (`truth.toml`) and the results of metal-sci. Knows files; must not
//! know the simulator.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use include_dir::{Dir, include_dir};
use ksearch_task::FileError;
use ksearch_task::file::TomlFile;
use serde::Deserialize;

use crate::geometry::Geometry;

static EMBEDDED: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/data");

/// One measurement: a program on a size.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Task, which names the geometry.
    pub task: String,
    /// Size, as the geometry names it.
    pub size: String,
    /// Where the program came from, relative to the folder.
    pub name: String,
    /// The program.
    pub source: Arc<str>,
    /// Measured seconds; of several measurements of the same program and size, the least.
    pub seconds: f64,
}

/// Measurements with how they were launched.
#[derive(Clone, Debug)]
pub struct TruthSet {
    /// Chip they were made on, as in `sim:<chip>`.
    pub chip: String,
    /// Where they come from, for reports.
    pub source: String,
    /// Measurements, sorted by task, size and name.
    pub rows: Vec<Row>,
    /// Launch geometry by task.
    pub geometries: BTreeMap<String, Geometry>,
    /// What was left out, and why.
    pub skipped: Vec<String>,
}

/// A folder that cannot be read as ground truth.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A file cannot be read.
    #[error("cannot read {path}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file of this project's formats is wrong.
    #[error(transparent)]
    File(#[from] FileError),
    /// A result is not what it should be.
    #[error("{path}: {message}")]
    Format {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        message: String,
    },
    /// The folder holds neither format.
    #[error(
        "{0} holds no ground truth: neither `truth.toml` (see docs/timing-model.md) nor a `results` folder as metal-sci writes it"
    )]
    Nothing(PathBuf),
}

/// `truth.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TruthFile {
    chip: String,
    source: String,
    row: Vec<RowFile>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RowFile {
    task: String,
    size: String,
    file: String,
    seconds: f64,
}

/// One result of metal-sci.
#[derive(Debug, Deserialize)]
struct Outcome {
    #[serde(default)]
    sizes: Vec<SizeOutcome>,
}

#[derive(Debug, Deserialize)]
struct SizeOutcome {
    label: String,
    correct: bool,
    gpu_seconds: Option<f64>,
}

impl TruthSet {
    /// Reads `dir`. `geometry` is a folder with one TOML file a task, which come before those that ship. `tasks`, where
    /// given, are the only ones that are looked at: files of others are not opened.
    pub fn load(dir: &Path, geometry: Option<&Path>, tasks: Option<&BTreeSet<String>>) -> Result<Self, LoadError> {
        let mut set = if dir.join("truth.toml").is_file() {
            own(dir, geometry, tasks)?
        } else if dir.join("results").is_dir() {
            metal_sci(dir, geometry, tasks)?
        } else {
            return Err(LoadError::Nothing(dir.into()));
        };
        set.rows.sort_by(|a, b| {
            (&a.task, &a.size, &a.source, a.seconds.to_bits()).cmp(&(&b.task, &b.size, &b.source, b.seconds.to_bits()))
        });
        // Times are positive, so their bits sort as they do: the first of equals is the fastest.
        set.rows.dedup_by(|b, a| (&a.task, &a.size, &a.source) == (&b.task, &b.size, &b.source));
        set.rows.sort_by(|a, b| (&a.task, &a.size, &a.name).cmp(&(&b.task, &b.size, &b.name)));
        Ok(set)
    }

    /// Tasks that have rows, in order.
    pub fn tasks(&self) -> Vec<&str> {
        let mut out: Vec<&str> = self.rows.iter().map(|r| r.task.as_str()).collect();
        out.dedup();
        out
    }
}

fn read(path: &Path) -> Result<String, LoadError> {
    std::fs::read_to_string(path).map_err(|source| LoadError::Read { path: path.into(), source })
}

/// Names of what is in a folder, sorted.
fn list(path: &Path) -> Result<Vec<String>, LoadError> {
    let fail = |source| LoadError::Read { path: path.into(), source };
    let mut out = Vec::new();
    for entry in std::fs::read_dir(path).map_err(fail)? {
        out.push(entry.map_err(fail)?.file_name().to_string_lossy().into_owned());
    }
    out.sort();
    Ok(out)
}

/// Geometry files: those of the folder, then those that ship under `data/<set>`.
fn geometries(
    folder: Option<&Path>,
    set: &str,
    wanted: &dyn Fn(&str) -> bool,
) -> Result<BTreeMap<String, Geometry>, LoadError> {
    let mut out = BTreeMap::new();
    for file in EMBEDDED.get_dir(set).into_iter().flat_map(Dir::files) {
        let name = file.path().to_string_lossy();
        if let Some(text) = file.contents_utf8() {
            let g = Geometry::parse(&name, text)?;
            out.insert(g.name.clone(), g);
        }
    }
    if let Some(folder) = folder {
        for name in list(folder)? {
            let Some(task) = name.strip_suffix(".toml").filter(|t| wanted(t)) else { continue };
            let g = Geometry::parse(&name, &read(&folder.join(&name))?)?;
            out.insert(task.to_owned(), g);
        }
    }
    out.retain(|name, _| wanted(name));
    Ok(out)
}

fn own(dir: &Path, geometry: Option<&Path>, tasks: Option<&BTreeSet<String>>) -> Result<TruthSet, LoadError> {
    let wanted = |t: &str| tasks.is_none_or(|set| set.contains(t));
    let text = read(&dir.join("truth.toml"))?;
    let file: TruthFile = TomlFile::new("truth.toml", &text).parse()?;
    let beside = dir.join("geometry");
    let folder = geometry.or_else(|| beside.is_dir().then_some(beside.as_path()));
    let mut rows = Vec::new();
    for r in file.row.into_iter().filter(|r| wanted(&r.task)) {
        let path = dir.join(&r.file);
        if !(r.seconds > 0.0 && r.seconds.is_finite()) {
            return Err(LoadError::Format {
                path: dir.join("truth.toml"),
                message: format!("`seconds` of {} on {} is {}, not a positive time", r.file, r.size, r.seconds),
            });
        }
        rows.push(Row { task: r.task, size: r.size, name: r.file, source: read(&path)?.into(), seconds: r.seconds });
    }
    Ok(TruthSet {
        chip: file.chip,
        source: file.source,
        rows,
        geometries: geometries(folder, "own", &wanted)?,
        skipped: Vec::new(),
    })
}

/// metal-sci: `results/<task>_<model>_<date>/NN_result.json` beside `NN_candidate.metal`; GPU timestamps on an M1 Pro.
fn metal_sci(dir: &Path, geometry: Option<&Path>, tasks: Option<&BTreeSet<String>>) -> Result<TruthSet, LoadError> {
    let wanted = |t: &str| tasks.is_none_or(|set| set.contains(t));
    let geometries = geometries(geometry, "metal-sci", &wanted)?;
    let mut set = TruthSet {
        chip: "m1-pro".into(),
        source: "github vicgalle/metal-sci-kernels, GPU timestamps, median of 10".into(),
        rows: Vec::new(),
        geometries,
        skipped: Vec::new(),
    };
    let results = dir.join("results");
    let mut other = 0;
    for run in list(&results)? {
        let Some((task, _)) = run.split_once('_').filter(|(t, _)| set.geometries.contains_key(*t)) else {
            other += 1;
            continue;
        };
        let folder = results.join(&run);
        for file in list(&folder)? {
            let Some(stem) = file.strip_suffix("result.json") else { continue };
            let candidate = format!("{stem}candidate.metal");
            let path = folder.join(&file);
            // Python writes NaN and Infinity, which are no JSON; they stand for errors of results, which are not used.
            let text = read(&path)?.replace("NaN", "null").replace("-Infinity", "null").replace("Infinity", "null");
            let outcome: Outcome = serde_json::from_str(&text)
                .map_err(|e| LoadError::Format { path: path.clone(), message: e.to_string() })?;
            let measured: Vec<_> =
                outcome.sizes.into_iter().filter(|s| s.correct && s.gpu_seconds.is_some_and(|t| t > 0.0)).collect();
            if measured.is_empty() {
                continue;
            }
            if !folder.join(&candidate).is_file() {
                set.skipped.push(format!("{run}/{file}: no {candidate} beside it"));
                continue;
            }
            let source: Arc<str> = read(&folder.join(&candidate))?.into();
            for s in measured {
                set.rows.push(Row {
                    task: task.to_owned(),
                    size: s.label,
                    name: format!("{run}/{candidate}"),
                    source: Arc::clone(&source),
                    seconds: s.gpu_seconds.unwrap_or_default(),
                });
            }
        }
    }
    if other > 0 {
        set.skipped.push(format!("{other} runs of tasks that were not asked for or have no geometry file"));
    }
    Ok(set)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shipped_geometries_parse_and_resolve_on_every_size() {
        let all = geometries(None, "metal-sci", &|_| true).expect("geometries");
        assert_eq!(
            all.keys().map(String::as_str).collect::<Vec<_>>(),
            ["fft3d", "hmc", "heat2d", "lbm", "nbody", "saxpy"]
                .into_iter()
                .collect::<BTreeSet<_>>()
                .into_iter()
                .collect::<Vec<_>>()
        );
        for (name, g) in &all {
            for size in g.sizes.keys() {
                for k in 0..g.dispatch.len() {
                    let l = g.launch(k, size, 1024).unwrap_or_else(|e| panic!("{name} {size}: {e}"));
                    assert!(l.groups.iter().all(|&n| n > 0));
                }
                assert!(g.buffers(size).is_ok());
            }
        }
    }

    #[test]
    fn metal_sci_results_are_read_and_duplicates_keep_the_faster() {
        let dir = tempfile::tempdir().expect("a folder");
        let write = |run: &str, n: u32, seconds: f64, correct: bool| {
            let folder = dir.path().join("results").join(run);
            std::fs::create_dir_all(&folder).expect("a folder");
            std::fs::write(folder.join(format!("0{n}_candidate.metal")), "kernel").expect("a file");
            let json = format!(
                r#"{{"correct": {correct}, "score": NaN, "sizes": [{{"label": "1M", "correct": {correct}, "error_value": Infinity, "gpu_seconds": {seconds}}}]}}"#
            );
            std::fs::write(folder.join(format!("0{n}_result.json")), json).expect("a file");
        };
        write("saxpy_a_1", 1, 2e-3, true);
        write("saxpy_a_2", 1, 1e-3, true);
        write("saxpy_a_2", 2, 1e-9, false);
        write("unheard_a_2", 2, 1e-9, true);
        let set = TruthSet::load(dir.path(), None, None).expect("ground truth");
        assert_eq!(set.rows.len(), 1);
        assert_eq!((set.rows[0].seconds, set.rows[0].size.as_str()), (1e-3, "1M"));
        assert_eq!(set.skipped.len(), 1);
        let none = TruthSet::load(dir.path(), None, Some(&BTreeSet::from(["lbm".to_owned()]))).expect("ground truth");
        assert!(none.rows.is_empty());
    }

    #[test]
    fn own_format_and_its_mistakes() {
        let dir = tempfile::tempdir().expect("a folder");
        assert!(TruthSet::load(dir.path(), None, None).unwrap_err().to_string().contains("no ground truth"));
        std::fs::create_dir(dir.path().join("geometry")).expect("a folder");
        std::fs::write(
            dir.path().join("geometry/t.toml"),
            "name = \"t\"\n[sizes]\ns = { n = 1 }\n[buffers]\na = { dtype = \"f32\", count = \"n\" }\n[[dispatch]]\nkernel = \"k\"\nthreads = [\"n\"]\nthreadgroup = [32]\nargs = [\"a\"]\n",
        )
        .expect("a file");
        std::fs::write(dir.path().join("k.metal"), "kernel").expect("a file");
        let truth = "chip = \"m1\"\nsource = \"here\"\n[[row]]\ntask = \"t\"\nsize = \"s\"\nfile = \"k.metal\"\nseconds = 1e-3\n";
        std::fs::write(dir.path().join("truth.toml"), truth).expect("a file");
        let set = TruthSet::load(dir.path(), None, None).expect("ground truth");
        assert_eq!((set.chip.as_str(), set.rows.len(), set.tasks()), ("m1", 1, vec!["t"]));
        std::fs::write(dir.path().join("truth.toml"), truth.replace("1e-3", "-1.0")).expect("a file");
        assert!(TruthSet::load(dir.path(), None, None).unwrap_err().to_string().contains("not a positive time"));
    }
}
