//! Verdicts that several runs of one task on one target share, in memory and, where asked for, in a file. A verdict is
//! kept under the candidate's normalised content and the stage; everything else that a judge looks at (task, chip,
//! program, seed of the inputs) is the same for all that is kept together. Must not know what runs are compared.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ksearch_judge::{Status, Verdict};
use ksearch_task::{Candidate, CandidateId};
use serde::{Deserialize, Serialize};

use crate::evaluate::{Evaluator, Stage};

/// What went wrong with a file of verdicts.
#[derive(Debug, thiserror::Error)]
pub enum SharedError {
    /// It cannot be read or written.
    #[error("{}: {source}", .path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// The system's words.
        source: io::Error,
    },
    /// It was made under other premises, so that its verdicts say nothing here.
    #[error("{} holds verdicts made under other premises ({field} differs); choose another file", .path.display())]
    Premises {
        /// Which.
        path: PathBuf,
        /// Name of the first premise that differs.
        field: String,
    },
    /// A line of it makes no sense.
    #[error("{}, line {line}: {why}", .path.display())]
    Content {
        /// Which.
        path: PathBuf,
        /// 1-based.
        line: usize,
        /// Reason.
        why: String,
    },
}

/// A verdict as it is kept; none where a check found nothing.
#[derive(Serialize, Deserialize)]
struct Line {
    candidate: CandidateId,
    stage: Stage,
    verdict: Option<Verdict>,
}

/// A verdict that is being made or is there; the inner one is none where a check found nothing.
type Cell = Arc<Mutex<Option<Option<Verdict>>>>;

/// An evaluator that several runs share: a candidate that one of them had judged is not judged again for another.
///
/// Honest where verdicts hang on nothing but the candidate: on a simulated target, with inputs from one fixed seed. A run
/// that is to prove something draws fresh inputs for every candidate instead.
pub struct Shared<E> {
    inner: E,
    seed: u64,
    quick: bool,
    known: Mutex<HashMap<(CandidateId, Stage), Cell>>,
    file: Option<(PathBuf, Mutex<File>)>,
    made: Mutex<usize>,
    lost: Mutex<Option<String>>,
}

impl<E> Shared<E> {
    /// Shares `inner`, which judges everything with inputs from `seed`.
    pub fn new(inner: E, seed: u64) -> Self {
        Self {
            inner,
            seed,
            quick: false,
            known: Mutex::default(),
            file: None,
            made: Mutex::default(),
            lost: Mutex::default(),
        }
    }

    /// The same, but whatever is asked for is the cheap screen: the cheapest workload, timed and compared, not watched.
    /// Enough to compare ways to search with a coder whose candidates are known to be right.
    #[must_use]
    pub fn quick(self) -> Self {
        Self { quick: true, ..self }
    }

    /// Keeps verdicts in the file `path` too, and takes those that it holds. `premises` are all that a verdict hangs on
    /// besides the candidate; a file made under others is refused. A last line that was cut off is dropped.
    pub fn kept_in(mut self, path: &Path, premises: &serde_json::Value) -> Result<Self, SharedError> {
        let file = |source| SharedError::File { path: path.to_owned(), source };
        let mut head = premises.clone();
        if let Some(head) = head.as_object_mut() {
            head.insert("seed".to_owned(), self.seed.into());
        }
        let mut whole = 0;
        if path.exists() {
            let mut reader = BufReader::new(File::open(path).map_err(file)?);
            let mut text = String::new();
            let mut number = 0;
            while reader.read_line(&mut text).map_err(file)? > 0 {
                if !text.ends_with('\n') {
                    break;
                }
                number += 1;
                let bad = |e: serde_json::Error| SharedError::Content {
                    path: path.to_owned(),
                    line: number,
                    why: e.to_string(),
                };
                if number == 1 {
                    let found: serde_json::Value = serde_json::from_str(&text).map_err(bad)?;
                    same_premises(path, &found, &head)?;
                } else {
                    let line: Line = serde_json::from_str(&text).map_err(bad)?;
                    let known = self.known.get_mut().unwrap_or_else(PoisonError::into_inner);
                    known.insert((line.candidate, line.stage), Arc::new(Mutex::new(Some(line.verdict))));
                }
                whole += text.len() as u64;
                text.clear();
            }
        }
        let mut kept = OpenOptions::new().append(true).create(true).open(path).map_err(file)?;
        kept.set_len(whole).map_err(file)?;
        if whole == 0 {
            writeln!(kept, "{head}").map_err(file)?;
        }
        self.file = Some((path.to_owned(), Mutex::new(kept)));
        Ok(self)
    }

    /// Verdicts that are known, with those from the file.
    pub fn known(&self) -> usize {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Verdicts that were really made, checks not counted.
    pub fn judged(&self) -> usize {
        *self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Why verdicts could not be kept in the file, if they could not.
    pub fn lost(&self) -> Option<String> {
        self.lost.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn once(&self, id: CandidateId, stage: Stage, make: impl FnOnce() -> Option<Verdict>) -> Option<Verdict> {
        let cell = {
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(known.entry((id.clone(), stage)).or_default())
        };
        // Whoever comes second waits for the first.
        let mut cell = cell.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = &*cell {
            return known.clone();
        }
        let verdict = make();
        // The machine's own failures say nothing about the candidate.
        if verdict.as_ref().is_some_and(|v| v.status == Status::InfrastructureError) {
            return verdict;
        }
        if stage != Stage::Check {
            *self.made.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        }
        self.keep(&Line { candidate: id, stage, verdict: verdict.clone() });
        *cell = Some(verdict.clone());
        verdict
    }

    fn keep(&self, line: &Line) {
        let Some((path, file)) = &self.file else { return };
        let written = serde_json::to_string(line).map_err(io::Error::from).and_then(|text| {
            let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
            file.write_all(format!("{text}\n").as_bytes())
        });
        if let Err(e) = written {
            let mut lost = self.lost.lock().unwrap_or_else(PoisonError::into_inner);
            lost.get_or_insert_with(|| format!("{}: {e}", path.display()));
        }
    }
}

fn same_premises(path: &Path, found: &serde_json::Value, wanted: &serde_json::Value) -> Result<(), SharedError> {
    if found == wanted {
        return Ok(());
    }
    let names =
        |v: &serde_json::Value| v.as_object().map(|o| o.keys().cloned().collect::<Vec<_>>()).unwrap_or_default();
    let field = names(wanted).into_iter().chain(names(found)).find(|n| found.get(n) != wanted.get(n));
    Err(SharedError::Premises { path: path.to_owned(), field: field.unwrap_or_else(|| "the first line".to_owned()) })
}

impl<E: Evaluator> Evaluator for Shared<E> {
    fn check(&self, candidate: &Candidate) -> Option<Verdict> {
        self.once(candidate.id(), Stage::Check, || self.inner.check(candidate))
    }

    fn judge(&self, candidate: &Candidate, stage: Stage, seed: u64) -> Verdict {
        let stage = if self.quick { Stage::Screen } else { stage };
        let shared = self.once(candidate.id(), stage, || Some(self.inner.judge(candidate, stage, self.seed)));
        let verdict = shared.unwrap_or_else(|| self.inner.judge(candidate, stage, self.seed));
        Verdict { seed, ..verdict }
    }

    fn lanes(&self) -> usize {
        self.inner.lanes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::toy::{self, Landscape};
    use serde_json::json;

    #[test]
    fn what_was_judged_once_is_not_judged_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("verdicts.jsonl");
        let premises = json!({"task": "toy", "target": "sim:toy"});
        let (fast, broken) = (toy::candidate("tile", vec![]), toy::candidate("broken", vec![]));
        let refused = toy::candidate("syntax-error", vec![]);
        let first = Shared::new(Landscape::default(), 3).kept_in(&path, &premises).unwrap();
        let verdicts = [&fast, &broken].map(|c| first.judge(c, Stage::Full, 1));
        assert_eq!(first.judge(&fast, Stage::Full, 9), Verdict { seed: 9, ..verdicts[0].clone() });
        assert!(first.check(&fast).is_none() && first.check(&refused).is_some());
        let calls = first.inner.calls.lock().unwrap().clone();
        assert!(calls.len() == 2 && calls.iter().all(|(_, _, seed)| *seed == 3), "one seed for all: {calls:?}");
        assert_eq!((first.judged(), first.known()), (2, 4));
        drop(first);
        // Cut off in the middle of a line: what is whole is used.
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, format!("{text}{{\"candidate\": \"ab")).unwrap();
        let second = Shared::new(Landscape::default(), 3).kept_in(&path, &premises).unwrap();
        assert_eq!([&fast, &broken].map(|c| second.judge(c, Stage::Full, 1)), verdicts);
        assert!(second.check(&fast).is_none() && second.check(&refused).is_some());
        assert_eq!((second.judged(), second.inner.calls.lock().unwrap().len()), (0, 0));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        second.judge(&fast, Stage::Screen, 1);
        assert_eq!(second.judged(), 1, "another stage is another verdict");
    }

    #[test]
    fn verdicts_of_other_premises_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("verdicts.jsonl");
        let open = |seed, target| Shared::new(Landscape::default(), seed).kept_in(&path, &json!({"target": target}));
        open(3, "sim:toy").unwrap();
        assert!(open(3, "sim:toy").is_ok());
        let why = |r: Result<Shared<Landscape>, SharedError>| r.map(|_| ()).unwrap_err().to_string();
        assert!(why(open(3, "sim:m4")).contains("target differs"));
        assert!(why(open(4, "sim:toy")).contains("seed differs"));
        std::fs::write(&path, "no json\n").unwrap();
        assert!(why(open(3, "sim:toy")).contains("line 1"));
    }
}
