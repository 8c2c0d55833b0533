//! One sitting of a search: roles, judge, progress, ^C, and the final table. Shared by `search` and `resume`.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use comfy_table::{Table, presets};
use ksearch_device::TargetId;
use ksearch_judge::Judge;
use ksearch_search::coder;
use ksearch_search::llm::Briefing;
use ksearch_search::{
    Cancel, Facts, Generator, Journal, Kernels, Players, Premises, RunLock, RunState, RunSummary, RunView,
    SearchConfig, SearchError, Stop,
};
use ksearch_task::{Candidate, Task};

use crate::args::{BudgetArgs, Global};
use crate::contest::Contest;
use crate::context::{self, show_figure};
use crate::exit::{self, Outcome};
use crate::printer::{Printer, Tone};
use crate::progress::{Progress, duration};
use crate::roles::Roles;

/// What the user brings along.
#[derive(Clone, Debug, Default)]
pub struct Material {
    /// Text of the context pack.
    pub context: Option<String>,
    /// A kernel to go on from.
    pub given: Option<Candidate>,
    /// A tree to start with.
    pub tree: Option<serde_json::Value>,
}

/// Everything a search needs besides its journal.
pub struct Session {
    judge: Judge,
    generator: Option<Box<dyn Generator>>,
    config: SearchConfig,
    material: Material,
    global: Global,
    cancel: Cancel,
    baseline: OnceLock<std::result::Result<ksearch_search::Baseline, String>>,
}

/// What models are told of the task and target of a run.
pub fn briefing(config: &SearchConfig, premises: &Premises) -> Result<Briefing> {
    let task = context::task(&config.task)?;
    let language = config.target.parse::<TargetId>()?.language();
    Ok(Briefing::new(&task, &config.target, &premises.facts.chip, language, premises.context.clone()))
}

impl Session {
    /// Sets up task, target and roles as `config` names them.
    pub fn new(global: &Global, config: &SearchConfig, material: Material) -> Result<Self> {
        let task: Arc<Task> = context::task(&config.task)?;
        let target = context::target(global, &config.target)?;
        let generator = coder::generator_for(&task.family, target.id().language());
        let session = Self {
            judge: Judge::new(task, target),
            generator,
            config: config.clone(),
            material,
            global: global.clone(),
            cancel: interruptible()?,
            baseline: OnceLock::new(),
        };
        // Found out before a run is made.
        session.roles()?;
        Ok(session)
    }

    /// The same, going on from a kernel.
    pub fn from(mut self, given: Candidate) -> Self {
        self.material.given = Some(given);
        self
    }

    fn roles(&self) -> Result<Roles<'_>> {
        let briefing = briefing(&self.config, &self.premises())?;
        Roles::open(&self.global, &self.config, self.generator.as_deref(), &briefing)
    }

    /// The judge of the task on the target.
    pub fn judge(&self) -> &Judge {
        &self.judge
    }

    /// The user's request to stop.
    pub fn cancel(&self) -> &Cancel {
        &self.cancel
    }

    /// Name of the task.
    pub fn task_name(&self) -> &str {
        &self.judge.task().name
    }

    /// The library kernel to compare with, or why there is none.
    pub fn baseline(&self) -> std::result::Result<ksearch_search::Baseline, String> {
        self.baseline.get_or_init(|| self.library()).clone()
    }

    fn library(&self) -> std::result::Result<ksearch_search::Baseline, String> {
        let (task, target) = (self.judge.task(), self.judge.target());
        match target.id() {
            TargetId::Sim(chip) => {
                let chip = context::chips(&self.global).and_then(|c| Ok(c.get(chip)?)).map_err(|e| e.to_string())?;
                crate::commands::baseline::of_task(task, &chip)
            }
            #[cfg(target_os = "linux")]
            TargetId::Cpu => crate::commands::peers::of_task(task, target),
            TargetId::Cuda => crate::commands::baseline::of_libraries(task, target),
            _ => Err("library kernels are timed on the simulator, the processor and NVIDIA GPUs only".into()),
        }
    }

    /// What is known before a run.
    pub fn premises(&self) -> Premises {
        let mut versions = BTreeMap::from([("ksearch".to_owned(), env!("CARGO_PKG_VERSION").to_owned())]);
        if let Ok(clang) = ksearch_msl::Toolchain::find() {
            versions.insert("clang".into(), clang.version);
        }
        Premises {
            facts: Facts::of(self.judge.task(), self.judge.target().facts()),
            baseline: self.baseline().ok(),
            floor: self.judge.floor(),
            naive: None,
            versions,
            given: None,
            tree: self.material.tree.clone(),
            context: self.material.context.clone(),
        }
    }

    /// All that a verdict hangs on besides the candidate and the seed, for verdicts that are kept in a file.
    pub fn verdict_premises(&self, quick: bool) -> Result<serde_json::Value> {
        let TargetId::Sim(chip) = self.judge.target().id() else {
            bail!("--verdicts: only simulated times can be kept; a device has to be asked anew");
        };
        let chip = context::chips(&self.global)?.get(chip)?;
        // The debug form shows every field of task and chip.
        let hash = |text: String| blake3::hash(text.as_bytes()).to_hex()[..16].to_owned();
        Ok(serde_json::json!({
            "task": self.task_name(),
            "task_hash": hash(format!("{:?}", self.judge.task())),
            "target": self.config.target,
            "chip_hash": hash(format!("{chip:?}")),
            "quick": quick,
            "versions": self.premises().versions,
        }))
    }

    /// Works on the run until it ends, then shows it.
    pub fn work(
        &self,
        lock: &RunLock,
        evaluations: u32,
        printer: Printer,
        go: impl FnOnce(&Players<'_>) -> Result<RunState, SearchError>,
    ) -> Result<Outcome> {
        let (state, view) = self.play(lock, evaluations, printer, go)?;
        let file = view.write_best().with_context(|| format!("cannot write into {}", lock.folder.display()))?;
        let mut summary = view.summary();
        if let (Some(best), Some(file)) = (&mut summary.best, file) {
            best.file = Some(file);
        }
        show(&summary, None, printer)?;
        if state.stop == Some(Stop::Interrupted) {
            // Whoever interrupts does not wait for another comparison.
            printer.object(&summary)?;
            printer.note(format!("\ninterrupted; nothing is lost: ksearch resume {}", lock.name));
            return Ok(Outcome::Interrupted);
        }
        printer.object(&with_contest(&summary, &view, &self.global, printer)?)?;
        failed(&state)?;
        Ok(if summary.best.is_some() { Outcome::Success } else { Outcome::No })
    }

    /// Works on the run until it ends; shows its progress only.
    pub fn play(
        &self,
        lock: &RunLock,
        evaluations: u32,
        printer: Printer,
        go: impl FnOnce(&Players<'_>) -> Result<RunState, SearchError>,
    ) -> Result<(RunState, RunView)> {
        let roles = self.roles()?;
        if let Err(why) = self.baseline() {
            printer.note(format!("no library kernel to compare with: {why}"));
        }
        let progress = Progress::new(printer, evaluations);
        let players = Players {
            planner: &*roles.planner,
            coder: &*roles.coder,
            evaluator: &self.judge,
            observer: &progress,
            cancel: &self.cancel,
        };
        let result = watched(lock, &self.cancel, || go(&players));
        progress.finish();
        let state = result.with_context(|| format!("run `{}` cannot go on; its journal is kept", lock.name))?;
        Ok((state, RunView::load(&lock.folder)?))
    }

    /// The kernel to start from, as the task names it; else the generator's empty plan.
    pub fn start(
        &self,
        config: SearchConfig,
        players: &Players<'_>,
        journal: Journal,
    ) -> Result<RunState, SearchError> {
        let premises = self.premises();
        let plan = ksearch_search::Plan::default();
        let language = self.judge.target().id().language();
        let naive = match &self.judge.task().naive {
            Some(candidate) if candidate.language == language => Some((candidate.clone(), Some(plan))),
            _ => self.generator.as_ref().and_then(|g| g.render(&plan, &premises.facts).ok()).map(|c| (c, Some(plan))),
        };
        let kernels = Kernels { naive, given: self.material.given.clone() };
        ksearch_search::start(players, config, premises, kernels, journal)
    }
}

/// The summary as an object, with how sure its win against the library is, which is printed as well.
pub fn with_contest(
    summary: &RunSummary,
    view: &RunView,
    global: &Global,
    printer: Printer,
) -> Result<serde_json::Value> {
    let contest = match Contest::of(view, global) {
        Ok(contest) => contest,
        Err(why) => {
            printer.note(format!("how sure the win against the library is cannot be told: {why:#}"));
            None
        }
    };
    let mut object = serde_json::to_value(summary)?;
    object["robustness"] = serde_json::to_value(contest.as_ref().map(Contest::rows_for_programs))?;
    if let Some(contest) = contest {
        contest.show(printer)?;
    }
    Ok(object)
}

/// Did the run end because something broke?
pub fn failed(state: &RunState) -> Result<()> {
    match &state.stop {
        Some(stop @ (Stop::NaiveFailed { .. } | Stop::Infrastructure { .. } | Stop::RoleUnavailable { .. })) => {
            bail!("{stop}")
        }
        _ => Ok(()),
    }
}

/// Does the work, and ends it in order when someone asks for that from outside, e.g. on the dashboard.
fn watched<T>(lock: &RunLock, cancel: &Cancel, work: impl FnOnce() -> T) -> T {
    /// Ends the watch however the work ends.
    struct Done<'a>(&'a AtomicBool);
    impl Drop for Done<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::SeqCst);
        }
    }
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::SeqCst) {
                if lock.stop_requested() {
                    cancel.cancel();
                }
                std::thread::sleep(Duration::from_millis(200));
            }
        });
        let _done = Done(&done);
        work()
    })
}

/// A first ^C asks the run to end in order; a second one leaves at once.
fn interruptible() -> Result<Cancel> {
    let cancel = Cancel::default();
    let shared = cancel.clone();
    let presses = AtomicU32::new(0);
    ctrlc::set_handler(move || {
        if presses.fetch_add(1, Ordering::SeqCst) > 0 {
            std::process::exit(i32::from(exit::INTERRUPTED));
        }
        shared.cancel();
    })
    .context("cannot catch ^C")?;
    Ok(cancel)
}

/// Changes to the budget that the user asked for.
pub fn widen(config: &mut SearchConfig, budget: &BudgetArgs) {
    if let Some(n) = budget.evaluations {
        config.budget.evaluations = n;
    }
    if budget.wall.is_some() {
        config.budget.wall_s = budget.wall;
    }
    if budget.plateau.is_some() {
        config.budget.plateau = budget.plateau;
    }
    if budget.tokens.is_some() {
        config.budget.tokens = budget.tokens;
    }
    if budget.usd.is_some() {
        config.budget.usd = budget.usd;
    }
    if budget.floor_fraction.is_some() {
        config.budget.floor_fraction = budget.floor_fraction;
    }
    if budget.target_ratio.is_some() {
        config.budget.target_ratio = budget.target_ratio;
    }
}

/// The final table; `ending` is the last picture of the live view, where it is not on the screen already.
pub fn show(summary: &RunSummary, ending: Option<&[String]>, printer: Printer) -> Result<()> {
    let head = format!("{} on {}", summary.task, summary.target);
    printer.line(format!(
        "{}  run {}, seed {}, {} evaluations and {} screened settings in {}",
        Tone::Strong.paint(head),
        summary.run,
        summary.seed,
        summary.evaluations,
        summary.screens,
        duration(summary.wall_s)
    ))?;
    for line in ending.unwrap_or_default() {
        printer.line(line)?;
    }
    if let Some(why) = &summary.stopped {
        printer.line(format!("stopped: {why}"))?;
    }
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header([
        "time",
        "vs naive",
        "vs baseline",
        "after",
        "bound by",
        "what gave it",
    ]);
    for step in &summary.improvements {
        table.add_row([
            show_figure(&step.time),
            ratio(step.speedup_vs_naive),
            ratio(step.ratio_vs_baseline),
            step.evaluations.to_string(),
            step.bottleneck.map(|b| b.to_string()).unwrap_or_default(),
            step.title.clone(),
        ]);
    }
    printer.line("")?;
    printer.line(table)?;
    printer.line("")?;
    let Some(best) = &summary.best else {
        printer.line(Tone::Bad.paint("no candidate passed"))?;
        return Ok(());
    };
    let speedup = best.speedup_vs_naive.map(|s| format!(", {s:.2}x naive")).unwrap_or_default();
    printer.line(format!("best       {}{speedup}", Tone::Good.paint(show_figure(&best.time))))?;
    match (&summary.baseline, best.ratio_vs_baseline) {
        (Some(baseline), Some(r)) => {
            printer.line(format!(
                "baseline   {} {}, best is {r:.3}x as fast",
                baseline.name,
                show_figure(&baseline.time)
            ))?;
        }
        _ => printer.line("baseline   none: no library kernel was timed on this target")?,
    }
    if let Some(b) = best.bottleneck {
        printer.line(format!("bound by   {b}"))?;
    }
    match summary.heldout {
        Some(h) => {
            let tone = if h.passed == h.total { Tone::Good } else { Tone::Bad };
            printer
                .line(format!("held-out   {}", tone.paint(format!("{} of {} workloads passed", h.passed, h.total))))?;
        }
        None => printer.line("held-out   not judged yet")?,
    }
    if !best.strategies.is_empty() {
        printer.line(format!("strategies {}", best.strategies.join(", ")))?;
    }
    if let Some(file) = &best.file {
        printer.line(format!("file       {}", file.display()))?;
    }
    ledger(summary, printer)
}

/// What models were asked and cost, where any were.
fn ledger(summary: &RunSummary, printer: Printer) -> Result<()> {
    if summary.ledger.values().all(|l| l.exchanges == 0) {
        return Ok(());
    }
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header([
        "role",
        "requests",
        "failed",
        "exchanges",
        "tokens in",
        "tokens out",
        "USD",
        "waited",
    ]);
    for (role, l) in &summary.ledger {
        let usd = if l.unpriced == l.exchanges { "price not known".to_owned() } else { format!("{:.2}", l.usd) };
        table.add_row([
            role.clone(),
            l.calls.to_string(),
            l.failures.to_string(),
            l.exchanges.to_string(),
            l.tokens_in.to_string(),
            l.tokens_out.to_string(),
            usd,
            duration(l.seconds),
        ]);
    }
    printer.line("")?;
    Ok(printer.line(table)?)
}

fn ratio(value: Option<f64>) -> String {
    value.map(|v| format!("{v:.2}x")).unwrap_or_default()
}
