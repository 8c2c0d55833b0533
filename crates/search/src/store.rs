//! The store: a folder with one folder per run, named `TASK-NUMBER`, each with its journal. Must not know what a run
//! contains beyond its journal.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use crate::journal::{Journal, JournalError};
use crate::view::{RunView, ViewError};

/// File name of the journal in a run's folder.
pub const JOURNAL: &str = "journal.db";
const LOCK: &str = "lock";
const STOP: &str = "stop";

/// What went wrong with the store, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The folder cannot be written.
    #[error("{} cannot be written: {source}; choose another folder for runs", .path.display())]
    Unwritable {
        /// Which.
        path: PathBuf,
        /// The system's words.
        source: io::Error,
    },
    /// The folder cannot be read.
    #[error("{} cannot be read: {source}", .path.display())]
    Unreadable {
        /// Which.
        path: PathBuf,
        /// The system's words.
        source: io::Error,
    },
    /// No such run.
    #[error("there is no run `{name}` in {}{}", .root.display(), known(.runs))]
    Unknown {
        /// What was asked for.
        name: String,
        /// Where.
        root: PathBuf,
        /// What there is.
        runs: Vec<String>,
    },
    /// Another process works on it.
    #[error("run `{0}` is being worked on by another process; wait for it or stop it first")]
    Busy(String),
    /// Its journal.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// Its content.
    #[error(transparent)]
    View(#[from] ViewError),
}

fn known(runs: &[String]) -> String {
    match runs {
        [] => ", nor any other".to_owned(),
        runs => format!("; there are {}", runs.join(", ")),
    }
}

/// A run that this process works on. Dropping it, or the end of the process in any way, lets others have it.
#[derive(Debug)]
pub struct RunLock {
    /// Name of the run.
    pub name: String,
    /// Its folder.
    pub folder: PathBuf,
    _lock: File,
}

impl RunLock {
    /// Was someone outside of this process asking for the run to end in order? Answers yes once for each request.
    pub fn stop_requested(&self) -> bool {
        fs::remove_file(self.folder.join(STOP)).is_ok()
    }
}

/// A run's name and its content, or why that cannot be read.
pub type Listed = (String, Result<RunView, ViewError>);

/// All runs under one folder.
#[derive(Clone, Debug)]
pub struct RunStore {
    root: PathBuf,
}

impl RunStore {
    /// The store at `root`, which need not exist yet.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// Its folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Names of all runs, by task and number.
    pub fn names(&self) -> Result<Vec<String>, StoreError> {
        let entries = match fs::read_dir(&self.root) {
            Ok(entries) => entries,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(StoreError::Unreadable { path: self.root.clone(), source }),
        };
        let mut names: Vec<String> = entries
            .filter_map(|e| {
                let entry = e.ok()?;
                entry.path().join(JOURNAL).is_file().then(|| entry.file_name().into_string().ok())?
            })
            .collect();
        names.sort_by_key(|n| (split(n).0.to_owned(), split(n).1));
        Ok(names)
    }

    /// All runs with their content, or why it cannot be read.
    pub fn list(&self) -> Result<Vec<Listed>, StoreError> {
        Ok(self.names()?.into_iter().map(|n| (n.clone(), RunView::load(&self.root.join(n)))).collect())
    }

    /// The full name of a run: given as such, as a path to its folder, or as `latest`.
    pub fn resolve(&self, name: &str) -> Result<PathBuf, StoreError> {
        let direct = Path::new(name);
        if direct.join(JOURNAL).is_file() {
            return Ok(direct.to_owned());
        }
        let runs = self.names()?;
        let found = if name == "latest" {
            let touched = |n: &&String| fs::metadata(self.root.join(n).join(JOURNAL)).and_then(|m| m.modified()).ok();
            runs.iter().max_by_key(touched).cloned()
        } else {
            runs.iter().find(|n| *n == name).cloned()
        };
        found.map(|n| self.root.join(n)).ok_or_else(|| StoreError::Unknown {
            name: name.to_owned(),
            root: self.root.clone(),
            runs,
        })
    }

    /// Reads a run; it may be worked on meanwhile.
    pub fn open(&self, name: &str) -> Result<RunView, StoreError> {
        Ok(RunView::load(&self.resolve(name)?)?)
    }

    /// Makes a new run for `task`, with the next free number.
    pub fn create(&self, task: &str) -> Result<(RunLock, Journal), StoreError> {
        let unwritable = |path: &Path| {
            let path = path.to_owned();
            move |source| StoreError::Unwritable { path, source }
        };
        fs::create_dir_all(&self.root).map_err(unwritable(&self.root))?;
        let mut number = self.names()?.iter().map(|n| split(n)).filter(|(t, _)| *t == task).map(|(_, n)| n).max();
        loop {
            let next = number.map_or(1, |n| n + 1);
            number = Some(next);
            let folder = self.root.join(format!("{task}-{next}"));
            // Making the folder is what claims the number.
            match fs::create_dir(&folder) {
                Ok(()) => {
                    let lock = lock(&folder)?;
                    let journal = Journal::create(&folder.join(JOURNAL))?;
                    return Ok((lock, journal));
                }
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                Err(source) => return Err(StoreError::Unwritable { path: folder, source }),
            }
        }
    }

    /// Is a process working on this run?
    pub fn is_busy(&self, name: &str) -> bool {
        let file = File::options().write(true).open(self.root.join(name).join(LOCK));
        file.is_ok_and(|f| matches!(f.try_lock_shared(), Err(TryLockError::WouldBlock)))
    }

    /// Asks whoever works on this run to end in order; see [`RunLock::stop_requested`].
    pub fn request_stop(&self, name: &str) -> Result<(), StoreError> {
        let path = self.resolve(name)?.join(STOP);
        fs::write(&path, "").map_err(|source| StoreError::Unwritable { path, source })
    }

    /// Opens a run to go on with it.
    pub fn reopen(&self, name: &str) -> Result<(RunLock, Journal), StoreError> {
        let folder = self.resolve(name)?;
        let lock = lock(&folder)?;
        let journal = Journal::open(&folder.join(JOURNAL))?;
        Ok((lock, journal))
    }
}

fn lock(folder: &Path) -> Result<RunLock, StoreError> {
    let path = folder.join(LOCK);
    let name = folder.file_name().map_or_else(|| folder.display().to_string(), |n| n.to_string_lossy().into_owned());
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path)
        .map_err(|source| StoreError::Unwritable { path: path.clone(), source })?;
    match file.try_lock() {
        Ok(()) => {
            let lock = RunLock { name, folder: folder.to_owned(), _lock: file };
            // A request that came too late for the last session is none to this one.
            lock.stop_requested();
            Ok(lock)
        }
        Err(TryLockError::WouldBlock) => Err(StoreError::Busy(name)),
        Err(TryLockError::Error(source)) => Err(StoreError::Unwritable { path, source }),
    }
}

/// `attention-12` is number 12 of `attention`.
fn split(name: &str) -> (&str, u32) {
    name.rsplit_once('-').and_then(|(task, n)| Some((task, n.parse().ok()?))).unwrap_or((name, 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_numbered_by_task() {
        let folder = tempfile::tempdir().unwrap();
        let store = RunStore::new(folder.path().join("runs"));
        assert_eq!(store.names().unwrap(), Vec::<String>::new());
        let names: Vec<String> = ["a", "a", "b", "a"].iter().map(|t| store.create(t).unwrap().0.name).collect();
        assert_eq!(names, ["a-1", "a-2", "b-1", "a-3"]);
        assert_eq!(store.names().unwrap(), ["a-1", "a-2", "a-3", "b-1"]);
        let error = store.open("c-1").unwrap_err().to_string();
        assert!(error.contains("no run `c-1`") && error.contains("a-1, a-2, a-3, b-1"), "{error}");
        let error = RunStore::new(folder.path().join("none")).open("x").unwrap_err().to_string();
        assert!(error.ends_with(", nor any other"), "{error}");
    }

    #[test]
    fn a_run_is_worked_on_by_one_process_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let store = RunStore::new(folder.path());
        let (lock, journal) = store.create("a").unwrap();
        assert_eq!(
            store.reopen("a-1").unwrap_err().to_string(),
            "run `a-1` is being worked on by another process; wait for it or stop it first"
        );
        assert!(store.is_busy("a-1") && !store.is_busy("a-2"));
        assert!(!lock.stop_requested());
        store.request_stop("a-1").unwrap();
        assert!(lock.stop_requested() && !lock.stop_requested());
        store.request_stop("a-1").unwrap();
        drop((lock, journal));
        assert!(!store.is_busy("a-1"));
        let (lock, _journal) = store.reopen("a-1").unwrap();
        assert!(!lock.stop_requested(), "an old request is void");
    }

    #[test]
    fn a_folder_that_is_a_file_is_an_error_that_names_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        let error = RunStore::new(file.join("runs")).create("a").unwrap_err().to_string();
        assert!(error.contains("file/runs cannot be written") && error.contains("choose another folder"), "{error}");
    }
}
