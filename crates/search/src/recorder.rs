//! The recorder: the one place through which a run changes. What happens is written to the journal first, then folded
//! into the state, then told to observers, so that nothing is ever shown that a crash could take back. Shared by all
//! threads of a run. Must not decide anything.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ksearch_judge::{Status, Verdict};
use ksearch_task::{Candidate, CandidateId};

use crate::evaluate::{Evaluator, Stage};
use crate::journal::{Journal, JournalError};
use crate::record::{Content, Event, Recorded};
use crate::roles::Cancel;
use crate::state::{CandidateRecord, RunState, StateError, VerdictKey};
use crate::strategy::Plan;

/// What is going on right now: for progress displays, never kept.
#[derive(Clone, Debug, PartialEq)]
pub enum Activity {
    /// A planner is thinking.
    Planning {
        /// `initialise`, `propose`, `refine`, `failed`.
        purpose: &'static str,
    },
    /// A coder is writing.
    Coding {
        /// Work it belongs to.
        cycle: u32,
        /// 1-based attempt.
        attempt: u32,
        /// `apply`, `repair`, `debug`, `improve`.
        step: &'static str,
    },
    /// A candidate is being judged.
    Judging {
        /// Work it belongs to; 0 outside of any.
        cycle: u32,
        /// Which.
        candidate: CandidateId,
        /// How thoroughly.
        stage: Stage,
    },
    /// Settings of tunables are being screened.
    Sweeping {
        /// Work it belongs to.
        cycle: u32,
        /// Settings done.
        done: u32,
        /// Settings in all.
        total: u32,
    },
}

/// Follows a run. Called with the run's lock held: must be quick and must not call back.
pub trait Observer: Send + Sync {
    /// Something was recorded.
    fn recorded(&self, event: &Recorded, state: &RunState);

    /// Something is going on.
    fn activity(&self, _activity: &Activity) {}

    /// Nothing has happened for so many seconds; this was the last that was going on. Every call has a deadline of its
    /// own, so this is not an error, but someone who watches should know what is waited for.
    fn stalled(&self, _seconds: f64, _doing: Option<&Activity>) {}
}

/// Watches nothing.
#[derive(Debug)]
pub struct Silent;

impl Observer for Silent {
    fn recorded(&self, _event: &Recorded, _state: &RunState) {}
}

/// Why work had to stop without a result.
#[derive(Debug, thiserror::Error)]
pub enum Abort {
    /// The run was asked to stop.
    #[error("interrupted")]
    Cancelled,
    /// The judge failed for reasons of its own.
    #[error("{0}")]
    Infrastructure(String),
    /// The journal could not be written.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The journal does not make sense.
    #[error(transparent)]
    State(#[from] StateError),
}

/// Times an infrastructure error is tried again before the run gives up.
const INFRASTRUCTURE_TRIES: u32 = 3;

struct Inner {
    journal: Journal,
    state: RunState,
    judging: HashSet<VerdictKey>,
    lanes: usize,
}

/// Journal, state and observers of a run under one lock, and the queue for the judge.
pub struct Recorder<'a> {
    inner: Mutex<Inner>,
    changed: Condvar,
    observer: &'a dyn Observer,
    evaluator: &'a dyn Evaluator,
    cancel: &'a Cancel,
    pulse: Mutex<(Instant, Option<Activity>)>,
}

impl<'a> Recorder<'a> {
    /// Starts from a journal and the state it folds to.
    pub fn new(
        journal: Journal,
        state: RunState,
        observer: &'a dyn Observer,
        evaluator: &'a dyn Evaluator,
        cancel: &'a Cancel,
    ) -> Self {
        let lanes = evaluator.lanes().max(1);
        let inner = Inner { journal, state, judging: HashSet::new(), lanes };
        let pulse = Mutex::new((Instant::now(), None));
        Self { inner: Mutex::new(inner), changed: Condvar::new(), observer, evaluator, cancel, pulse }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // A panic elsewhere cannot leave the state half-changed in a way that the journal would not show.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes events, all or none, then folds and tells them.
    pub fn record(&self, events: Vec<Event>) -> Result<(), Abort> {
        self.beat(None);
        Self::write(&mut self.lock(), self.observer, events)
    }

    /// Something happened.
    fn beat(&self, activity: Option<&Activity>) {
        let mut pulse = self.pulse.lock().unwrap_or_else(PoisonError::into_inner);
        pulse.0 = Instant::now();
        if activity.is_some() {
            pulse.1 = activity.cloned();
        }
    }

    /// Tells the observer when nothing has happened for `quiet`, again and again while that lasts, until `over`.
    pub fn watch(&self, quiet: Duration, over: &AtomicBool) {
        let mut told = 0;
        while !over.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(20).min(quiet));
            let (since, doing) = self.pulse.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let silent = since.elapsed();
            let times = (silent.as_secs_f64() / quiet.as_secs_f64()) as u64;
            if times > told {
                self.observer.stalled(silent.as_secs_f64(), doing.as_ref());
            }
            told = times;
        }
    }

    fn write(inner: &mut Inner, observer: &dyn Observer, events: Vec<Event>) -> Result<(), Abort> {
        for recorded in inner.journal.append(events)? {
            inner.state.apply(&recorded)?;
            observer.recorded(&recorded, &inner.state);
        }
        Ok(())
    }

    /// Looks at the state.
    pub fn look<T>(&self, look: impl FnOnce(&RunState) -> T) -> T {
        look(&self.lock().state)
    }

    /// A snapshot for a role.
    pub fn snapshot(&self) -> RunState {
        self.look(RunState::for_roles)
    }

    /// Tells observers what is going on.
    pub fn activity(&self, activity: &Activity) {
        self.beat(Some(activity));
        self.observer.activity(activity);
    }

    /// The request to stop.
    pub fn cancel(&self) -> &Cancel {
        self.cancel
    }

    /// Ends the recording and gives the state and the journal.
    pub fn finish(self) -> (RunState, Journal) {
        let inner = self.inner.into_inner().unwrap_or_else(PoisonError::into_inner);
        (inner.state, inner.journal)
    }

    /// The event that keeps a candidate, unless it is kept already.
    pub fn candidate_event(
        &self,
        id: &CandidateId,
        record: &CandidateRecord,
        of: Option<&CandidateId>,
    ) -> Option<Event> {
        if self.look(|s| s.candidates.contains_key(id)) {
            return None;
        }
        let content = match of {
            Some(of) => Content::Variant { of: of.clone(), values: record.candidate.values.clone() },
            None => Content::Whole { candidate: Box::new(record.candidate.clone()) },
        };
        Some(Event::Candidate {
            id: id.clone(),
            content,
            plan: record.plan.clone(),
            parent: record.parent.clone(),
            by: record.by.clone(),
            cycle: record.cycle,
        })
    }

    /// Static checks and compilation; what was found before is not looked for again.
    pub fn check(&self, cycle: u32, id: &CandidateId, candidate: &Candidate) -> Result<Option<Verdict>, Abort> {
        let key = self.look(|s| (id.clone(), Stage::Check, s.seed_for(id, Stage::Check)));
        if let Some(known) = self.look(|s| s.verdicts.get(&key).cloned()) {
            return Ok(Some((*known).clone()));
        }
        let began = Instant::now();
        let Some(verdict) = self.evaluator.check(candidate) else { return Ok(None) };
        let seconds = began.elapsed().as_secs_f64();
        let (candidate, stage, seed) = key;
        self.record(vec![Event::Judged { cycle, candidate, stage, seed, seconds, verdict: verdict.clone() }])?;
        Ok(Some(verdict))
    }

    /// Judges a candidate, or gives the verdict that is known. No candidate is judged twice at the same stage and seed,
    /// also when two threads ask at the same time.
    pub fn judge(&self, cycle: u32, id: &CandidateId, candidate: &Candidate, stage: Stage) -> Result<Verdict, Abort> {
        let key = self.look(|s| (id.clone(), stage, s.seed_for(id, stage)));
        let mut inner = self.lock();
        loop {
            let known = if stage == Stage::HeldOut { &inner.state.heldout } else { &inner.state.verdicts };
            if let Some(verdict) = known.get(&key) {
                return Ok((**verdict).clone());
            }
            if self.cancel.is_cancelled() {
                return Err(Abort::Cancelled);
            }
            if inner.judging.len() < inner.lanes && !inner.judging.contains(&key) {
                break;
            }
            inner = self.changed.wait(inner).unwrap_or_else(PoisonError::into_inner);
        }
        inner.judging.insert(key.clone());
        drop(inner);
        self.activity(&Activity::Judging { cycle, candidate: id.clone(), stage });
        let result = self.judge_now(&key, candidate);
        let mut inner = self.lock();
        inner.judging.remove(&key);
        let result = result.and_then(|(verdict, seconds)| {
            let event =
                Event::Judged { cycle, candidate: id.clone(), stage, seed: key.2, seconds, verdict: verdict.clone() };
            Self::write(&mut inner, self.observer, vec![event]).map(|()| verdict)
        });
        drop(inner);
        self.changed.notify_all();
        result
    }

    fn judge_now(&self, key: &VerdictKey, candidate: &Candidate) -> Result<(Verdict, f64), Abort> {
        let mut last = String::new();
        for _ in 0..INFRASTRUCTURE_TRIES {
            if self.cancel.is_cancelled() {
                return Err(Abort::Cancelled);
            }
            let began = Instant::now();
            let verdict = self.evaluator.judge(candidate, key.1, key.2);
            if verdict.status != Status::InfrastructureError {
                return Ok((verdict, began.elapsed().as_secs_f64()));
            }
            last = format!("the judge failed for reasons of its own: {} {}", verdict.summary, verdict.advice);
            tracing::warn!("{last}");
        }
        Err(Abort::Infrastructure(last.trim().to_owned()))
    }
}

/// A candidate as it is kept.
pub fn candidate_record(
    candidate: &Candidate,
    plan: Option<&Plan>,
    parent: Option<&CandidateId>,
    by: &str,
    cycle: u32,
) -> CandidateRecord {
    CandidateRecord {
        candidate: candidate.clone(),
        plan: plan.cloned(),
        parent: parent.cloned(),
        by: by.to_owned(),
        cycle,
    }
}
