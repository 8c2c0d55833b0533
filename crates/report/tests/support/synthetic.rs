//! A made-up run of any length, event by event as the engine writes them: for benchmarks and for tests that need texts
//! no honest run holds.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use ksearch_device::Profile;
use ksearch_judge::{Evidence, FaultReport, Status, Verdict, WorkloadResult};
use ksearch_search::record::{Attempt, Baseline, CodeResult, Content, CycleEnd, CycleReport, Finalist, PlanResult};
use ksearch_search::roles::Exchange;
use ksearch_search::{ChipFacts, Event, Facts, Journal, PlanPurpose, Premises, SearchConfig, Stage, Stop, state};
use ksearch_task::candidate::Recipe;
use ksearch_task::{Bottleneck, Candidate, CandidateId, Figure, Language, SourceFile};
use ksearch_world::edit::{Edit, NewNode, Patch};
use ksearch_world::{EditLimits, EditScript, Failure, NodeId, NodeRef, Outcome, Selection, WorldEvent};

/// Texts that a run may hold.
#[derive(Clone, Debug)]
pub struct Texts {
    pub task: String,
    pub title: String,
    pub source: String,
    pub answer: String,
}

impl Default for Texts {
    fn default() -> Self {
        Self {
            task: "synthetic".into(),
            title: "Tiles in threadgroup memory".into(),
            source: "kernel void k(device float* x [[buffer(0)]], uint i [[thread_position_in_grid]])\n{\n    x[i] = 2.0f * x[i];\n}\n".into(),
            answer: "Here is the kernel.".into(),
        }
    }
}

/// Events in the order they are written, in batches as the engine writes them.
pub struct Synthetic {
    texts: Texts,
    batch: Vec<Event>,
    nodes: u32,
    /// Solved nodes with time and candidate; parents are taken from here.
    solved: Vec<(NodeId, f64, CandidateId, usize)>,
    best: f64,
    number: u32,
}

fn us(value: f64) -> Figure {
    Figure { ci: Some([value * 0.99, value * 1.015]), ..Figure::simulated_us(value, "m1-max") }
}

/// A number in 0..1 that hangs on `key` alone.
fn draw(key: u32) -> f64 {
    (state::draw(7, "synthetic", &key.to_string()) % 1_000_003) as f64 / 1_000_003.0
}

impl Synthetic {
    pub fn new(texts: Texts) -> Self {
        Self { texts, batch: Vec::new(), nodes: 1, solved: Vec::new(), best: f64::INFINITY, number: 0 }
    }

    /// Writes a whole run of `candidates`.
    pub fn write(mut self, journal: &mut Journal, candidates: u32, finish: bool) {
        self.start(candidates);
        for i in 1..candidates {
            self.cycle(i);
            if self.batch.len() > 2_000 {
                journal.append(std::mem::take(&mut self.batch)).unwrap();
            }
        }
        if finish {
            self.finish();
        }
        journal.append(std::mem::take(&mut self.batch)).unwrap();
    }

    fn candidate(&self, number: u32) -> Candidate {
        Candidate {
            language: Language::Msl,
            files: vec![SourceFile {
                path: "k.metal".into(),
                text: format!("{}constant uint VARIANT = {number};\n", self.texts.source),
            }],
            recipe: Recipe::default(),
            tunables: Vec::new(),
            values: BTreeMap::new(),
        }
    }

    fn verdict(&self, id: &CandidateId, time: Option<f64>) -> Verdict {
        let terms = |t: f64| {
            IndexMap::from([
                ("dram".to_owned(), t * 0.9),
                ("issue".to_owned(), t * 0.4),
                ("latency".to_owned(), t * 0.2),
            ])
        };
        let profile = time.map(|t| Profile {
            time: us(t),
            bottleneck: Bottleneck::Bandwidth,
            terms: terms(t),
            instructions: IndexMap::from([("fp32".to_owned(), 1e6), ("load_device".to_owned(), 4e5)]),
            bytes: IndexMap::from([("l2".to_owned(), 9e6), ("dram".to_owned(), 1e6 + t * 1e4)]),
            occupancy: 0.5,
            occupancy_limit: "registers".into(),
            registers: Some(40.0),
            threadgroup_memory: 4096,
            conflict_share: 0.01,
            barriers: 3.0,
            divergence: 0.02,
            floor_fraction: Some(2.0 / t),
            resources: IndexMap::new(),
            advice: vec!["Bound by main memory: move fewer bytes.".into()],
        });
        let status = if time.is_some() { Status::Passed } else { Status::Fault };
        Verdict {
            candidate: id.clone(),
            task: self.texts.task.clone(),
            target: "sim:m1-max".into(),
            seed: 1,
            status,
            summary: if time.is_some() { "right on 3 of 3 workloads".into() } else { "read outside of `x`".into() },
            advice: String::new(),
            fault: time.is_none().then(|| FaultReport {
                kind: "out_of_bounds".into(),
                message: format!("read past the end of {}", self.texts.title),
                pos: None,
                other: None,
            }),
            workloads: (0..3)
                .map(|w| WorkloadResult {
                    label: format!("f32-{}", 1024 << w),
                    status,
                    time: time.map(|t| us(t * f64::from(w + 1))),
                    error: time.map(|_| 0.03),
                    profile: None,
                })
                .collect(),
            time: time.map(us),
            profile,
            evidence: vec![Evidence {
                check: "sanitizers".into(),
                ok: time.is_some(),
                detail: "f32-1024: no fault of any kind".into(),
            }],
            diagnostics: Vec::new(),
            wall_s: 0.1,
        }
    }

    fn judged(&mut self, id: &CandidateId, cycle: u32, stage: Stage, time: Option<f64>) {
        let verdict = self.verdict(id, time);
        let seed = state::draw(0, stage.name(), &id.0);
        self.batch.push(Event::Judged { cycle, candidate: id.clone(), stage, seed, seconds: 0.1, verdict });
    }

    fn start(&mut self, candidates: u32) {
        let naive = self.candidate(0);
        let id = naive.id();
        let chip = ChipFacts {
            name: "m1-max".into(),
            simd_width: 32,
            max_threads: 1024,
            threadgroup_memory: 32_768,
            registers_at_full_occupancy: 52,
            cores: 32,
            dram_gbps: 317.6,
            f32_gflops: 10_617.0,
            f16_gflops: 10_617.0,
            bfloat: true,
            simdgroup_matrix: true,
        };
        let mut config =
            SearchConfig { task: self.texts.task.clone(), target: "sim:m1-max".into(), ..SearchConfig::default() };
        config.budget.evaluations = candidates;
        let premises = Premises {
            facts: Facts { task: self.texts.task.clone(), dtypes: Vec::new(), symbols: BTreeMap::new(), chip },
            baseline: Some(Baseline { name: "a library's kernel".into(), time: us(30.0) }),
            floor: Some(Figure { kind: ksearch_task::FigureKind::Derived, ..Figure::simulated_us(4.0, "m1-max") }),
            naive: Some(id.clone()),
            context: None,
            given: None,
            tree: None,
            versions: BTreeMap::from([("ksearch".to_owned(), "0.1.0".to_owned())]),
        };
        self.batch.push(Event::Started { config, premises });
        self.batch.push(Event::Candidate {
            id: id.clone(),
            content: Content::Whole { candidate: Box::new(naive) },
            plan: None,
            parent: None,
            by: "task".into(),
            cycle: 0,
        });
        self.judged(&id, 0, Stage::Full, Some(400.0));
        let outcome = Outcome {
            candidate: id.clone(),
            time: us(400.0),
            gain: None,
            applied: None,
            bottleneck: Some(Bottleneck::Latency),
            within_noise: false,
        };
        self.batch.push(Event::Tree { change: WorldEvent::Seeded { outcome } });
        self.best = 400.0;
        self.solved.push((NodeId::ROOT, 400.0, id, 0));
    }

    fn exchange(&self) -> Exchange {
        Exchange {
            provider: "made-up".into(),
            model: "model-1".into(),
            template: "coder-1".into(),
            hash: "0".into(),
            system: "You write kernels.".into(),
            user: format!("Apply: {}", self.texts.title),
            answer: self.texts.answer.clone(),
            error: None,
            faults: Vec::new(),
            tokens_in: 1000,
            tokens_out: 500,
            usd: Some(0.01),
            seconds: 3.0,
        }
    }

    /// One action: proposed, chosen, written, judged, closed.
    fn cycle(&mut self, i: u32) {
        let pick = (draw(3 * i) * draw(3 * i + 1) * self.solved.len() as f64) as usize;
        let at = self.solved.len() - 1 - pick;
        self.solved[at].3 += 2;
        let (parent, parent_time, base, children) = self.solved[at].clone();
        if children > 20 {
            // A node bears only so many children.
            self.solved.remove(at);
        }
        let insert = |title: String| Edit::Insert {
            parent: NodeRef::from(parent),
            node: NewNode {
                id: None,
                patch: Patch {
                    title: Some(title),
                    description: Some("Stage a tile once, use it often.".into()),
                    rationale: Some("Each byte is fetched once.".into()),
                    difficulty: Some(2),
                    rating: Some(5.0),
                    confidence: Some(0.7),
                    predicted_gain: Some(1.2),
                    ..Patch::default()
                },
            },
        };
        let mut ops = vec![insert(format!("{} {i}", self.texts.title))];
        if i.is_multiple_of(3) {
            ops.push(insert(format!("Something else {i}")));
        }
        let node = NodeId(self.nodes);
        let created: Vec<NodeId> = (0..ops.len() as u32).map(|o| NodeId(self.nodes + o)).collect();
        self.nodes += ops.len() as u32;
        let script = EditScript { ops, ..EditScript::default() };
        let request = PlanPurpose::Refine { node: parent };
        let call = i - 1;
        self.batch.push(Event::Planned {
            call,
            retry: 0,
            request: request.clone(),
            by: "builtin".into(),
            seconds: 0.1,
            result: PlanResult::Script { script: script.clone() },
            exchanges: Vec::new(),
        });
        self.batch.push(Event::Tree {
            change: WorldEvent::Edited { by: "builtin".into(), script, limits: EditLimits::default() },
        });
        self.batch.push(Event::Settled { call, request, created, refusals: Vec::new(), failure: None });
        self.batch.push(Event::Tree { change: WorldEvent::Started { node } });
        let selection = Selection { node, score: 1.0, terms: IndexMap::new(), frontier: 3 };
        self.batch.push(Event::Selected { cycle: i, selection, base: Some(base.clone()), allowance: 4 });
        self.number += 1;
        let candidate = self.candidate(i);
        let id = candidate.id();
        self.batch.push(Event::Candidate {
            id: id.clone(),
            content: Content::Whole { candidate: Box::new(candidate) },
            plan: None,
            parent: Some(base),
            by: "builtin".into(),
            cycle: i,
        });
        let exchanges = if i % 50 == 1 { vec![self.exchange()] } else { Vec::new() };
        self.batch.push(Event::Coded {
            cycle: i,
            attempt: 1,
            repair: 0,
            step: "apply".into(),
            by: "builtin".into(),
            seconds: 0.1,
            result: CodeResult::Candidate { id: id.clone(), notes: self.texts.answer.chars().take(100).collect() },
            exchanges,
        });
        let failed = draw(3 * i + 2) < 0.12;
        let time = (!failed).then(|| (parent_time * (0.86 + 0.3 * draw(3 * i + 3))).max(5.0));
        self.judged(&id, i, Stage::Full, time);
        let attempt = Attempt {
            step: "apply".into(),
            candidate: Some(id.clone()),
            status: if failed { "fault".into() } else { "passed".into() },
            summary: "right on 3 of 3 workloads".into(),
            time: time.map(us),
            repairs: 0,
            improved: !failed,
            sweep: None,
        };
        let report = CycleReport {
            attempts: vec![attempt],
            best: time.map(|_| id.clone()),
            judged: vec![id.clone()],
            screens: 0,
            ended: CycleEnd::Done,
        };
        self.batch.push(Event::Closed { cycle: i, node, report });
        if let Some(t) = time {
            let outcome = Outcome {
                candidate: id.clone(),
                time: us(t),
                gain: Some(parent_time / t),
                applied: None,
                bottleneck: Some(Bottleneck::Bandwidth),
                within_noise: false,
            };
            self.batch.push(Event::Tree { change: WorldEvent::Solved { node, outcome } });
            if t < self.best * 0.99 {
                self.best = t;
                self.batch.push(Event::Best {
                    node,
                    candidate: id.clone(),
                    time: us(t),
                    speedup: Some(400.0 / t),
                    bottleneck: Some(Bottleneck::Bandwidth),
                });
            }
            self.solved.push((node, t, id, 0));
        } else {
            let failure =
                Failure { status: "fault".into(), summary: "read outside of `x`".into(), candidate: Some(id) };
            self.batch.push(Event::Tree { change: WorldEvent::Failed { node, failure } });
            self.batch.push(Event::Tree { change: WorldEvent::Abandoned { node, why: "given up".into() } });
        }
    }

    fn finish(&mut self) {
        let Some((node, time, id, _)) = self.solved.iter().min_by(|a, b| a.1.total_cmp(&b.1)).cloned() else { return };
        self.judged(&id, 0, Stage::Confirm, Some(time));
        self.judged(&id, 0, Stage::HeldOut, Some(time));
        self.batch.push(Event::Stopped { reason: Stop::Evaluations });
        let finalist = Finalist {
            node,
            candidate: id,
            time: us(time),
            status: "passed".into(),
            confirmed: Some(us(time)),
            heldout: Some((3, 3)),
        };
        self.batch.push(Event::Finished { finalists: vec![finalist], winner: Some(0) });
    }
}
