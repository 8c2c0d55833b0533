//! Settings of a run. Plain values that are kept in the journal; must not know how they are read from a user.

use ksearch_llm::Settings;
use ksearch_world::{EditLimits, PolicyConfig};
use serde::{Deserialize, Serialize};

/// What a run may use up, and when it has reached what it is for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Budget {
    /// Full judgements of distinct candidates.
    pub evaluations: u32,
    /// Seconds of wall clock, all sessions of the run together.
    pub wall_s: Option<f64>,
    /// Model tokens, both ways.
    pub tokens: Option<u64>,
    /// Model cost, US dollars.
    pub usd: Option<f64>,
    /// Evaluations in a row without a better best.
    pub plateau: Option<u32>,
    /// Stop once the baseline's time over the best time reaches this.
    pub target_ratio: Option<f64>,
    /// Stop once the physical floor over the best time reaches this.
    pub floor_fraction: Option<f64>,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            evaluations: 60,
            wall_s: None,
            tokens: None,
            usd: None,
            plateau: None,
            target_ratio: None,
            floor_fraction: Some(0.95),
        }
    }
}

/// How tunables are swept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SweepConfig {
    /// Most settings that are screened for one candidate; 0 turns sweeps off.
    pub screens: u32,
    /// Most settings that go on from the screen to a full judgement.
    pub full: u32,
}

impl Default for SweepConfig {
    fn default() -> Self {
        Self { screens: 12, full: 2 }
    }
}

/// Which model plays a role, and how it is reached. The key is not here: it comes from the environment each time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RoleModel {
    /// Provider; by the model's name where none is given.
    pub provider: Option<String>,
    /// Address of the API in place of the provider's own.
    pub base_url: Option<String>,
    /// Model and sampling.
    pub settings: Settings,
}

/// Version of the rules by which the engine decides. A run keeps those it was begun with, so that it replays and resumes
/// to the same decisions: 1 asked the planner for lessons even when the budget was spent, and compared a prediction with
/// all that an action's work gave; 2 does neither; 3 weighs the errors of predictions by their size, and sweeps all
/// tunables of a candidate that came out slower than its parent.
pub const RULES: u32 = 3;

/// Rules of runs that do not say.
const fn first_rules() -> u32 {
    1
}

/// All settings of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SearchConfig {
    /// Version of the engine's rules, see [`RULES`].
    #[serde(default = "first_rules")]
    pub rules: u32,
    /// Task name.
    pub task: String,
    /// Target string.
    pub target: String,
    /// Planner, as on the command line.
    pub planner: String,
    /// Coder, as on the command line.
    pub coder: String,
    /// Model in the planner's role, where a model plays it.
    pub planner_model: Option<RoleModel>,
    /// Model in the coder's role, where a model plays it.
    pub coder_model: Option<RoleModel>,
    /// Name of the context pack shown to the roles, if any.
    pub context: Option<String>,
    /// Seed of every random choice.
    pub seed: u64,
    /// Selection policy.
    pub policy: PolicyConfig,
    /// Actions in work at the same time.
    pub parallel: u32,
    /// Attempts in a row without progress that end the work on an action (the paper's K).
    pub stagnation: u32,
    /// Most attempts on an action in one go.
    pub attempts: u32,
    /// Attempt series without a passing candidate after which an action is given up.
    pub tries: u32,
    /// Compile errors and broken limits that a coder may mend per attempt, free of the evaluation budget.
    pub repairs: u32,
    /// Smallest relative gain that counts as progress; a wider measurement interval takes its place.
    pub min_gain: f64,
    /// Tunable sweeps.
    pub sweep: SweepConfig,
    /// Best candidates that are judged again at the end, with fresh inputs. 0: the run ends where the search does, with
    /// no winner.
    pub finalists: u32,
    /// What one planner edit may do.
    pub edits: EditLimits,
    /// Times a planner is asked again when its edit is refused.
    pub replans: u32,
    /// Budget and goals.
    pub budget: Budget,
}

impl Default for SearchConfig {
    fn default() -> Self {
        Self {
            rules: RULES,
            task: String::new(),
            target: String::new(),
            planner: "builtin".into(),
            coder: "builtin".into(),
            planner_model: None,
            coder_model: None,
            context: None,
            seed: 0,
            policy: PolicyConfig::default(),
            parallel: 1,
            stagnation: 3,
            attempts: 8,
            tries: 2,
            repairs: 3,
            min_gain: 0.01,
            sweep: SweepConfig::default(),
            finalists: 3,
            edits: EditLimits::default(),
            replans: 2,
            budget: Budget::default(),
        }
    }
}
