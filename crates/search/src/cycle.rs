//! Work on one action: attempts, repairs, the sweep, until there is no more progress. Runs on a thread of its own and
//! changes the run only through effects (answers, candidates, verdicts); what came of it is decided when it is closed.
//! Started again after a crash, it finds its own effects in the journal and repeats none. Must not choose actions.

use std::time::Instant;

use ksearch_judge::{Status, Verdict};
use ksearch_task::{Candidate, CandidateId, Figure};

use crate::noise::is_faster;
use crate::record::{Attempt, CodeResult, CycleEnd, CycleReport, Event, RoleFailure};
use crate::recorder::{Abort, Activity, Recorder, candidate_record};
use crate::roles::{CodeAnswer, CodeRequest, CodeStep, Coder, RoleErrorKind};
use crate::state::{CandidateRecord, OpenCycle, RunState, is_evaluation};
use crate::sweep::{Swept, sweep};

/// A candidate of this series with its verdict.
struct Tried {
    id: CandidateId,
    record: CandidateRecord,
    verdict: Verdict,
}

/// What one attempt gave.
enum Written {
    /// A candidate that compiles, or one that repairs could not mend.
    Candidate { id: CandidateId, record: Box<CandidateRecord>, refused: Option<Box<Verdict>>, repairs: u32 },
    /// The coder had nothing more.
    Nothing(String),
    /// The coder failed.
    Failed(RoleFailure),
}

/// Works on the action of `open` until it ends. `deadline` is where the wall-clock budget runs out.
pub fn run(
    recorder: &Recorder<'_>,
    coder: &dyn Coder,
    open: &OpenCycle,
    deadline: Option<Instant>,
) -> Result<CycleReport, Abort> {
    Cycle {
        recorder,
        coder,
        open,
        state: &open.snapshot,
        deadline,
        attempts: Vec::new(),
        judged: Vec::new(),
        screens: 0,
        tried: Vec::new(),
    }
    .run()
}

struct Cycle<'a> {
    recorder: &'a Recorder<'a>,
    coder: &'a dyn Coder,
    open: &'a OpenCycle,
    state: &'a RunState,
    deadline: Option<Instant>,
    attempts: Vec<Attempt>,
    judged: Vec<CandidateId>,
    screens: u32,
    tried: Vec<(CandidateId, String)>,
}

impl Cycle<'_> {
    fn run(mut self) -> Result<CycleReport, Abort> {
        let config = &self.state.config;
        let mut best: Option<Tried> = None;
        let mut last: Option<Tried> = None;
        let mut streak = 0;
        let ended = loop {
            let number = self.attempts.len() as u32 + 1;
            if streak >= config.stagnation.max(1) {
                break CycleEnd::Stagnation;
            }
            if number > config.attempts.max(1) {
                break CycleEnd::Attempts;
            }
            if self.left() == 0 {
                break CycleEnd::Budget;
            }
            if number > 1 && self.deadline.is_some_and(|d| Instant::now() >= d) {
                break CycleEnd::WallTime;
            }
            if number > 1 && self.is_spent() {
                break CycleEnd::Cost;
            }
            let step = match (&best, &last) {
                (None, None) => CodeStep::Apply,
                (None, Some(l)) => CodeStep::Debug { candidate: &l.record.candidate, verdict: &l.verdict },
                (Some(b), l) => CodeStep::Improve {
                    candidate: &b.record.candidate,
                    verdict: &b.verdict,
                    last: l.as_ref().filter(|l| l.id != b.id).map(|l| (&l.record.candidate, &l.verdict)),
                },
            };
            let name = step.name();
            match self.write(number, &step)? {
                Written::Nothing(why) => {
                    self.attempts.push(plain(name, "nothing", why));
                    break CycleEnd::Done;
                }
                Written::Failed(failure) => {
                    self.attempts.push(plain(name, "role_error", failure.message));
                    match failure.kind {
                        RoleErrorKind::Cancelled => return Err(Abort::Cancelled),
                        RoleErrorKind::Unavailable => break CycleEnd::Unavailable,
                        RoleErrorKind::Inapplicable => break CycleEnd::Inapplicable,
                        RoleErrorKind::Unusable => streak += 1,
                    }
                }
                Written::Candidate { id, record, refused, repairs } => {
                    let (attempt, tried) = self.evaluate(name, id, record, refused, repairs, best.as_ref())?;
                    streak = if attempt.improved { 0 } else { streak + 1 };
                    self.tried.push((tried.id.clone(), attempt.telling()));
                    let improved = attempt.improved;
                    self.attempts.push(attempt);
                    if improved {
                        best = Some(tried);
                        last = None;
                    } else {
                        last = Some(tried);
                    }
                }
            }
        };
        Ok(CycleReport {
            attempts: self.attempts,
            best: best.map(|b| b.id),
            judged: self.judged,
            screens: self.screens,
            ended,
        })
    }

    /// Is the token or money budget used up, by what had been used when this work began and by itself? Other work that is
    /// under way does not count, so that the answer hangs on nothing but the journal.
    fn is_spent(&self) -> bool {
        let budget = &self.state.config.budget;
        let (usd, tokens_in, tokens_out) = self.state.cost();
        let (own_usd, own) = self.recorder.look(|s| s.spent.get(&self.open.cycle).copied()).unwrap_or_default();
        budget.tokens.is_some_and(|most| tokens_in + tokens_out + own >= most)
            || budget.usd.is_some_and(|most| usd + own_usd >= most)
    }

    /// Evaluations this work may still use.
    fn left(&self) -> u32 {
        self.open.allowance.saturating_sub(self.judged.len() as u32)
    }

    /// Asks the coder, and again with the compiler's findings while repairs are left.
    fn write(&self, attempt: u32, first: &CodeStep<'_>) -> Result<Written, Abort> {
        let mut refused: Option<(CandidateId, Box<CandidateRecord>, Box<Verdict>)> = None;
        let mut repairs = 0;
        loop {
            let step = match &refused {
                None => first.clone(),
                Some((_, record, verdict)) => CodeStep::Repair { candidate: &record.candidate, verdict },
            };
            let result = self.ask(attempt, repairs, step)?;
            let id = match result {
                CodeResult::Candidate { id, .. } => id,
                // A repair that gives up leaves the candidate as it is.
                CodeResult::Nothing { why } => return Ok(give_up(refused, repairs, Written::Nothing(why))),
                CodeResult::Failed(failure) => return Ok(give_up(refused, repairs, Written::Failed(failure))),
            };
            let record = self
                .recorder
                .look(|s| s.candidates.get(&id).cloned())
                .ok_or_else(|| Abort::Infrastructure(format!("candidate {id} is missing from the journal")))?;
            let record = Box::new(CandidateRecord::clone(&record));
            match self.recorder.check(self.open.cycle, &id, &record.candidate)?.map(Box::new) {
                Some(verdict) if repairs < self.state.config.repairs => {
                    repairs += 1;
                    refused = Some((id, record, verdict));
                }
                refused => return Ok(Written::Candidate { id, record, refused, repairs }),
            }
        }
    }

    /// One answer of the coder: the recorded one if there is one, else a fresh one, recorded before it is used.
    fn ask(&self, attempt: u32, repair: u32, step: CodeStep<'_>) -> Result<CodeResult, Abort> {
        let cycle = self.open.cycle;
        if let Some(known) = self.recorder.look(|s| s.answers.get(&(cycle, attempt, repair)).cloned()) {
            return Ok(known);
        }
        let name = step.name();
        self.recorder.activity(&Activity::Coding { cycle, attempt, step: name });
        let began = Instant::now();
        let answer = self.coder.write(&CodeRequest {
            node: self.open.node,
            step,
            state: self.state,
            base: self.open.base.as_ref(),
            cycle,
            attempt,
            repair,
            left: self.left(),
            tried: &self.tried,
            cancel: self.recorder.cancel(),
        });
        let seconds = began.elapsed().as_secs_f64();
        let mut events = Vec::new();
        let (result, exchanges) = match answer {
            Ok(CodeAnswer::Candidate { candidate, plan, notes, exchanges }) => {
                let id = candidate.id();
                let by = self.coder.name();
                let record = candidate_record(&candidate, plan.as_ref(), self.open.base.as_ref(), &by, cycle);
                events.extend(self.recorder.candidate_event(&id, &record, None));
                (CodeResult::Candidate { id, notes }, exchanges)
            }
            Ok(CodeAnswer::Nothing { why, exchanges }) => (CodeResult::Nothing { why }, exchanges),
            // Not recorded: after a resume the same question is asked again.
            Err(e) if e.kind == RoleErrorKind::Cancelled => return Err(Abort::Cancelled),
            Err(e) => (CodeResult::Failed(RoleFailure { kind: e.kind, message: e.message }), e.exchanges),
        };
        events.push(Event::Coded {
            cycle,
            attempt,
            repair,
            step: name.to_owned(),
            by: self.coder.name(),
            seconds,
            result: result.clone(),
            exchanges,
        });
        self.recorder.record(events)?;
        Ok(result)
    }

    /// Judges a candidate, sweeps its tunables where that may pay, and compares.
    fn evaluate(
        &mut self,
        step: &str,
        id: CandidateId,
        record: Box<CandidateRecord>,
        refused: Option<Box<Verdict>>,
        repairs: u32,
        best: Option<&Tried>,
    ) -> Result<(Attempt, Tried), Abort> {
        let duplicate = self.state.judged.contains_key(&id) || self.tried.iter().any(|(t, _)| *t == id);
        let verdict = match refused {
            Some(verdict) => *verdict,
            None => self.recorder.judge(self.open.cycle, &id, &record.candidate, crate::evaluate::Stage::Full)?,
        };
        self.count(&id, &verdict);
        let mut attempt = Attempt {
            step: step.to_owned(),
            candidate: Some(id.clone()),
            status: if duplicate { "duplicate".to_owned() } else { verdict.status.name().to_owned() },
            summary: if duplicate {
                format!("the same candidate was judged before: {} {}", verdict.status, verdict.summary)
            } else {
                verdict.summary.clone()
            },
            time: verdict.time.clone(),
            repairs,
            improved: false,
            sweep: None,
        };
        let mut tried = Tried { id, record: *record, verdict };
        let time = match (tried.verdict.status, tried.verdict.time.clone()) {
            (Status::Passed, Some(time)) if !duplicate => time,
            _ => return Ok((attempt, tried)),
        };
        let mut final_time = time.clone();
        if let Some(Swept { report, better, judged }) = self.sweep(&tried, &time)? {
            for id in judged {
                if let Some(verdict) = self.recorder.look(|s| s.full_verdict(&id).cloned()) {
                    self.count(&id, &verdict);
                }
            }
            self.screens += report.screened;
            if let Some((id, candidate, time)) = better {
                let verdict = self.recorder.look(|s| s.full_verdict(&id).cloned());
                tried.record.candidate = candidate;
                tried.id = id;
                if let Some(verdict) = verdict {
                    tried.verdict = (*verdict).clone();
                }
                attempt.time = Some(time.clone());
                final_time = time;
            }
            attempt.sweep = Some(report);
        }
        let held = best.and_then(|b| b.verdict.time.as_ref());
        attempt.improved = held.is_none_or(|held| is_faster(&final_time, held, self.state.config.min_gain));
        Ok((attempt, tried))
    }

    /// Sweeps the tunables that are new against the base; where none is, all, and only for a candidate that could become
    /// the best. A candidate slower than its parent has all swept, against the parent: the settings that it took over
    /// suited another kernel, and judged by them alone a good strategy is lost for the rest of the run.
    fn sweep(&self, tried: &Tried, time: &Figure) -> Result<Option<Swept>, Abort> {
        let config = &self.state.config;
        let candidate: &Candidate = &tried.record.candidate;
        if config.sweep.screens == 0 || candidate.tunables.is_empty() || self.left() == 0 {
            return Ok(None);
        }
        let base = self.open.base.as_ref().and_then(|id| Some((id, self.state.candidates.get(id)?)));
        let parent = self.open.base.as_ref().and_then(|b| self.state.full_verdict(b)).and_then(|v| v.time.as_ref());
        let slower = parent.filter(|p| config.rules >= 3 && is_faster(p, time, config.min_gain));
        let best = self.state.best().map_or(f64::INFINITY, |b| b.time.value);
        // What is this far behind will not lead after a sweep either; its screens are better spent elsewhere.
        if slower.unwrap_or(time).value > 2.0 * best {
            return Ok(None);
        }
        let known: Vec<&str> =
            base.map(|(_, b)| b.candidate.tunables.iter().map(|t| t.name.as_str()).collect()).unwrap_or_default();
        let all = || candidate.tunables.iter().map(|t| t.name.clone());
        let new: Vec<String> = all().filter(|n| !known.contains(&n.as_str())).collect();
        let whole = slower.is_some() || new.is_empty() && time.value < best;
        let free: Vec<String> = if whole { all().collect() } else { new };
        if free.is_empty() {
            return Ok(None);
        }
        let rival = base.filter(|_| slower.is_some()).map(|(id, b)| (id, &b.candidate));
        let start = (&tried.id, &tried.record, time);
        sweep(self.recorder, self.open.cycle, start, &free, rival, (config.sweep, self.left()), config.min_gain)
            .map(Some)
    }

    /// Counts an evaluation against the budget: once per candidate, and not what earlier work had judged.
    fn count(&mut self, id: &CandidateId, verdict: &Verdict) {
        if is_evaluation(verdict) && !self.state.judged.contains_key(id) && !self.judged.contains(id) {
            self.judged.push(id.clone());
        }
    }
}

fn plain(step: &str, status: &str, summary: String) -> Attempt {
    Attempt {
        step: step.to_owned(),
        candidate: None,
        status: status.to_owned(),
        summary,
        time: None,
        repairs: 0,
        improved: false,
        sweep: None,
    }
}

fn give_up(
    refused: Option<(CandidateId, Box<CandidateRecord>, Box<Verdict>)>,
    repairs: u32,
    otherwise: Written,
) -> Written {
    match refused {
        Some((id, record, verdict)) => Written::Candidate { id, record, refused: Some(verdict), repairs },
        None => otherwise,
    }
}

/// What the last attempt of a series without a passing candidate says: status, one sentence, the candidate.
pub fn last_failure(report: &CycleReport) -> (String, String, Option<CandidateId>) {
    // The coder's "nothing more" and a repetition say less than what failed before them.
    let says = |a: &&Attempt| !matches!(a.status.as_str(), "nothing" | "duplicate");
    let telling = report.attempts.iter().rev().find(says).or(report.attempts.last());
    telling.map_or_else(
        || ("nothing".to_owned(), "no attempt was made".to_owned(), None),
        |a| (a.status.clone(), a.summary.clone(), a.candidate.clone()),
    )
}

/// Is a node's failure final, however many tries are left: the same again, or beyond the role?
pub fn is_final(report: &CycleReport) -> bool {
    report.attempts.iter().all(|a| matches!(a.status.as_str(), "duplicate" | "nothing")) && !report.attempts.is_empty()
}
