//! A made-up task for tests: a catalogue whose promises are partly false, a landscape with cliffs, failures and noise,
//! and a judge that computes its verdicts from the text of a candidate. Shared with the tests in `tests/`.

use std::collections::BTreeMap;
use std::sync::Mutex;

use indexmap::IndexMap;
use ksearch_device::Profile;
use ksearch_judge::{Status, Verdict, WorkloadResult};
use ksearch_search::{
    Catalogue, ChipFacts, Effect, Evaluator, Facts, Generator, Plan, PlanError, Premises, SearchConfig, Stage, Strategy,
};
use ksearch_task::candidate::Recipe;
use ksearch_task::{Bottleneck, Candidate, CandidateId, Figure, Language, SourceFile, Tunable};

/// What is really true of a strategy: factors on (bandwidth, latency, compute, synchronization).
const TRUTH: [(&str, [f64; 4]); 9] = [
    ("tile", [0.25, 1.0, 0.9, 1.3]),
    ("online", [0.6, 0.9, 1.0, 1.0]),
    ("vectors", [0.8, 0.7, 0.8, 1.0]),
    ("rows", [0.7, 0.6, 0.9, 1.0]),
    ("double-buffer", [1.0, 0.5, 1.05, 1.1]),
    ("matrix", [1.0, 1.0, 0.2, 1.0]),
    ("exp2", [1.0, 1.0, 0.9, 1.0]),
    ("prefetch", [1.3, 1.3, 1.1, 1.0]),
    ("unroll", [1.0, 0.999, 1.0, 1.0]),
];

fn strategy(id: &'static str, effect: [f64; 4], requires: &'static [&'static str]) -> Strategy {
    Strategy {
        id,
        title: id,
        why: "made up",
        requires,
        conflicts: &[],
        tunables: &[],
        difficulty: 2,
        effect: Effect { bandwidth: effect[0], latency: effect[1], compute: effect[2], synchronization: effect[3] },
        applies: |_| Ok(()),
    }
}

/// The generator.
pub struct Toy(Catalogue);

impl Toy {
    /// A generator whose catalogue promises too much for `prefetch` and too little for `matrix`.
    pub fn new() -> Self {
        Self(Catalogue::new(vec![
            Strategy { tunables: &["BK"], ..strategy("tile", [0.3, 1.0, 1.0, 1.2], &[]) },
            strategy("online", [0.6, 0.9, 1.0, 1.0], &[]),
            strategy("vectors", [0.8, 0.8, 0.8, 1.0], &[]),
            Strategy { tunables: &["ROWS"], ..strategy("rows", [0.7, 0.7, 1.0, 1.0], &[]) },
            strategy("double-buffer", [1.0, 0.6, 1.0, 1.1], &["tile"]),
            Strategy { difficulty: 5, ..strategy("matrix", [1.0, 1.0, 0.6, 1.0], &["tile"]) },
            strategy("exp2", [1.0, 1.0, 0.9, 1.0], &[]),
            strategy("prefetch", [0.3, 0.3, 0.9, 1.0], &[]),
            strategy("unroll", [1.0, 0.9, 0.9, 1.0], &[]),
            Strategy { conflicts: &["online"], ..strategy("broken", [0.2, 0.5, 0.5, 1.0], &[]) },
        ]))
    }
}

impl Generator for Toy {
    fn task(&self) -> &'static str {
        "toy"
    }

    fn catalogue(&self) -> &Catalogue {
        &self.0
    }

    fn render(&self, plan: &Plan, _facts: &Facts) -> Result<Candidate, PlanError> {
        let mut ids: Vec<&str> = plan.strategies.iter().map(String::as_str).collect();
        ids.sort_unstable();
        let mut tunables = Vec::new();
        if plan.has("tile") {
            tunables.push(Tunable { name: "BK".into(), values: vec![8, 16, 32, 64, 128], default: 16 });
        }
        if plan.has("rows") {
            tunables.push(Tunable { name: "ROWS".into(), values: vec![1, 2, 4, 8], default: 2 });
        }
        Ok(candidate(&ids.join(" "), tunables))
    }
}

/// A candidate whose text is `text`.
pub fn candidate(text: &str, tunables: Vec<Tunable>) -> Candidate {
    Candidate {
        language: Language::Msl,
        files: vec![SourceFile { path: "toy.metal".into(), text: text.to_owned() }],
        recipe: Recipe::default(),
        tunables,
        values: BTreeMap::new(),
    }
}

/// Facts about the made-up chip.
pub fn premises() -> Premises {
    Premises {
        facts: Facts {
            task: "toy".into(),
            dtypes: vec![],
            symbols: BTreeMap::new(),
            chip: ChipFacts {
                name: "toy".into(),
                simd_width: 32,
                max_threads: 1024,
                threadgroup_memory: 32768,
                registers_at_full_occupancy: 104,
                cores: 8,
                dram_gbps: 100.0,
                f32_gflops: 1000.0,
                f16_gflops: 1000.0,
                bfloat: false,
                simdgroup_matrix: true,
            },
        },
        baseline: None,
        floor: None,
        naive: None,
        versions: BTreeMap::new(),
        given: None,
        tree: None,
        context: None,
    }
}

/// Settings for the made-up task.
pub fn config(seed: u64) -> SearchConfig {
    SearchConfig { task: "toy".into(), target: "sim:toy".into(), seed, ..SearchConfig::default() }
}

/// Called with a candidate's id, the stage and the seed.
pub type After = Box<dyn Fn(&str, Stage, u64) + Send + Sync>;

/// The judge. Keeps a list of what it was asked to judge.
#[derive(Default)]
pub struct Landscape {
    /// (candidate, stage) in the order of the calls.
    pub calls: Mutex<Vec<(String, Stage, u64)>>,
    /// Relative amplitude of the noise.
    pub noise: f64,
    /// Called after each judgement.
    pub after: Option<After>,
}

fn value(c: &Candidate, name: &str) -> Option<f64> {
    let tunable = c.tunables.iter().find(|t| t.name == name)?;
    Some(c.values.get(name).copied().unwrap_or(tunable.default) as f64)
}

/// Times per class, microseconds.
pub fn truth(c: &Candidate) -> [f64; 4] {
    let mut terms = [1000.0, 600.0, 700.0, 40.0];
    let text = &c.files[0].text;
    for (id, factors) in TRUTH {
        if text.split(' ').any(|s| s == id) {
            for (term, factor) in terms.iter_mut().zip(factors) {
                *term *= factor;
            }
        }
    }
    // Tunables have a best value inside their range.
    for (name, best) in [("BK", 64.0), ("ROWS", 4.0)] {
        if let Some(v) = value(c, name) {
            let off = (v / best).log2();
            for term in &mut terms {
                *term *= 1.0 + 0.08 * off * off;
            }
        }
    }
    // What helps with small tiles and hurts with the large ones that were best before it came.
    if text.split(' ').any(|s| s == "crowd") {
        let factor = if value(c, "BK").is_some_and(|v| v > 32.0) { 4.0 } else { 0.5 };
        for term in &mut terms {
            *term *= factor;
        }
    }
    terms
}

impl Landscape {
    fn verdict(&self, c: &Candidate, id: &CandidateId, seed: u64, status: Status, stage: Stage) -> Verdict {
        let terms = truth(c);
        let draw = ksearch_search::state::draw(seed, "noise", stage.name()) as f64 / u64::MAX as f64;
        let total = terms.iter().map(|t| t.powi(4)).sum::<f64>().powf(0.25) * (1.0 + self.noise * (2.0 * draw - 1.0));
        let time = Figure::simulated_us(total, "toy");
        let names = ["l2", "latency", "issue", "sync"];
        let largest = (0..4).max_by(|a, b| terms[*a].total_cmp(&terms[*b])).unwrap();
        let profile = Profile {
            time: time.clone(),
            bottleneck: Bottleneck::ALL[largest],
            terms: names.iter().zip(terms).map(|(n, t)| ((*n).to_owned(), t)).collect(),
            instructions: IndexMap::new(),
            bytes: IndexMap::new(),
            occupancy: 1.0,
            occupancy_limit: "threads".into(),
            registers: None,
            threadgroup_memory: 0,
            conflict_share: 0.0,
            barriers: 0.0,
            divergence: 0.0,
            floor_fraction: None,
            resources: IndexMap::new(),
            advice: vec![],
        };
        let passed = status == Status::Passed;
        Verdict {
            candidate: id.clone(),
            task: "toy".into(),
            target: "sim:toy".into(),
            seed,
            status,
            summary: if passed { "right on every workload".into() } else { format!("made-up {status}") },
            advice: if passed { String::new() } else { "mend it".into() },
            fault: None,
            workloads: vec![WorkloadResult {
                label: "w".into(),
                status,
                time: passed.then(|| time.clone()),
                error: Some(0.1),
                profile: None,
            }],
            time: passed.then_some(time),
            profile: passed.then_some(profile),
            evidence: vec![],
            diagnostics: vec![],
            wall_s: 0.0,
        }
    }
}

impl Evaluator for Landscape {
    fn check(&self, c: &Candidate) -> Option<Verdict> {
        let text = &c.files[0].text;
        if text.contains("syntax-error") {
            return Some(self.verdict(c, &CandidateId("x".into()), 0, Status::CompileError, Stage::Check));
        }
        // A cliff: large tiles with many rows break a limit.
        let large = value(c, "BK").unwrap_or(0.0) * value(c, "ROWS").unwrap_or(0.0) > 300.0;
        large.then(|| self.verdict(c, &CandidateId("x".into()), 0, Status::LaunchError, Stage::Check))
    }

    fn judge(&self, c: &Candidate, stage: Stage, seed: u64) -> Verdict {
        let text = &c.files[0].text;
        let id = c.id();
        let broken = text.split(' ').any(|s| s == "broken");
        let status = if broken { Status::WrongAnswer } else { Status::Passed };
        let verdict = self.verdict(c, &id, seed, status, stage);
        self.calls.lock().unwrap().push((id.0.clone(), stage, seed));
        if let Some(after) = &self.after {
            after(&id.0, stage, seed);
        }
        verdict
    }
}
