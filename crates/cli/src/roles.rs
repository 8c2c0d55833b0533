//! Who plays planner and coder: from arguments to settings, from settings to the roles themselves. The one place where
//! keys are read from the environment; they go into request headers and nowhere else.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result, anyhow, bail};
use ksearch_llm::{Client, Limits, Prices, Secret, Settings};
use ksearch_search::builtin::Refinement;
use ksearch_search::config::RoleModel;
use ksearch_search::llm::{Briefing, LlmCoder, LlmPlanner, Player, open};
use ksearch_search::{BuiltinCoder, BuiltinPlanner, Coder, Generator, Planner, Recorded, RunStore, SearchConfig};

use crate::args::{Global, ModelArgs};

/// Writes the models that the arguments name into the settings.
pub fn choose(config: &mut SearchConfig, args: &ModelArgs) {
    let model = |name: &Option<String>, provider: &Option<String>, effort, temperature| RoleModel {
        provider: provider.clone().or_else(|| args.provider.clone()),
        base_url: args.base_url.clone(),
        settings: Settings {
            model: name.clone().or_else(|| args.model.clone()).unwrap_or_default(),
            effort,
            temperature,
            max_tokens: args.max_tokens,
        },
    };
    if asks(&config.planner) {
        config.planner_model = Some(model(
            &args.planner_model,
            &args.planner_provider,
            args.planner_effort.or(args.effort),
            args.planner_temperature.or(args.temperature),
        ));
    }
    if asks(&config.coder) {
        config.coder_model = Some(model(
            &args.coder_model,
            &args.coder_provider,
            args.coder_effort.or(args.effort),
            args.coder_temperature.or(args.temperature),
        ));
    }
}

/// Is someone asked who has a name? Whoever answers by hand may be named with `--model`, for the record.
fn asks(player: &str) -> bool {
    matches!(player.parse(), Ok(Player::Model | Player::Manual(_)))
}

/// The two roles.
pub struct Roles<'a> {
    /// Chooses actions.
    pub planner: Box<dyn Planner + 'a>,
    /// Writes candidates.
    pub coder: Box<dyn Coder + 'a>,
}

impl<'a> Roles<'a> {
    /// The roles that `config` names, for the task of `briefing`.
    pub fn open(
        global: &Global,
        config: &SearchConfig,
        generator: Option<&'a dyn Generator>,
        briefing: &Briefing,
    ) -> Result<Self> {
        let planner: Player = config.planner.parse().map_err(|e| anyhow!("--planner: {e}"))?;
        let coder: Player = config.coder.parse().map_err(|e| anyhow!("--coder: {e}"))?;
        Self::cast(global, config, (&planner, &coder), generator, briefing)
    }

    /// The same roles, but models answer from the transcript of `events`.
    pub fn rehearse(
        config: &SearchConfig,
        events: &[Recorded],
        generator: Option<&'a dyn Generator>,
        briefing: &Briefing,
    ) -> Result<Self> {
        let client = |role: &str| open::recorded(events, role, Limits::default(), Prices::default());
        let only = matches!(config.coder.parse(), Ok(Player::Builtin));
        let planner: Box<dyn Planner + 'a> = match config.planner.parse().map_err(|e: String| anyhow!(e))? {
            Player::Builtin => Box::new(BuiltinPlanner::new(known(generator)?)),
            Player::Refinement => {
                Box::new(Refinement::new(only.then(|| known(generator)).transpose()?.map(Generator::catalogue)))
            }
            _ => Box::new(LlmPlanner::new(
                client("planner"),
                briefing.clone(),
                generator.map(Generator::catalogue),
                only,
            )),
        };
        let coder: Box<dyn Coder + 'a> = if only {
            Box::new(BuiltinCoder::new(known(generator)?))
        } else {
            Box::new(LlmCoder::new(client("coder"), briefing.clone()))
        };
        Ok(Self { planner, coder })
    }

    fn cast(
        global: &Global,
        config: &SearchConfig,
        (planner, coder): (&Player, &Player),
        generator: Option<&'a dyn Generator>,
        briefing: &Briefing,
    ) -> Result<Self> {
        let built_in_coder = *coder == Player::Builtin;
        let catalogue = generator.map(Generator::catalogue);
        let planner: Box<dyn Planner + 'a> = match planner {
            Player::Builtin => Box::new(BuiltinPlanner::new(known(generator)?)),
            Player::Refinement if built_in_coder => Box::new(Refinement::new(Some(known(generator)?.catalogue()))),
            Player::Refinement => Box::new(Refinement::new(None)),
            other => {
                let client = client(global, other, config.planner_model.as_ref(), "planner")?;
                Box::new(LlmPlanner::new(client, briefing.clone(), catalogue, built_in_coder))
            }
        };
        let coder: Box<dyn Coder + 'a> = match coder {
            Player::Builtin => Box::new(BuiltinCoder::new(known(generator)?)),
            Player::Refinement => {
                bail!("--coder: refinement is a way to plan; use builtin, llm, manual:FOLDER or replay:RUN")
            }
            other => {
                Box::new(LlmCoder::new(client(global, other, config.coder_model.as_ref(), "coder")?, briefing.clone()))
            }
        };
        Ok(Self { planner, coder })
    }
}

/// The built-in roles need a generator for the task.
fn known(generator: Option<&dyn Generator>) -> Result<&dyn Generator> {
    generator.with_context(|| {
        let known: BTreeSet<_> = ksearch_search::coder::generators().iter().map(|g| g.task()).collect();
        let known: Vec<_> = known.into_iter().collect();
        format!(
            "the built-in roles know no strategies for this task (they know {}); let models search it (--planner llm \
             --coder llm --model …), play the roles yourself (--planner manual:DIR --coder manual:DIR), or judge your \
             own kernels with `ksearch eval`",
            known.join(", ")
        )
    })
}

fn client(global: &Global, player: &Player, model: Option<&RoleModel>, role: &str) -> Result<Client> {
    let limits = Limits::default();
    match player {
        Player::Manual(folder) => {
            let who = model.map(|m| m.settings.model.clone()).unwrap_or_default();
            Ok(open::manual(folder.clone(), who, limits))
        }
        Player::Replay(run) => {
            let events = RunStore::new(&global.runs).open(run)?.events()?;
            Ok(open::recorded(&events, role, limits, prices(global)?))
        }
        Player::Model => {
            let model =
                model.with_context(|| format!("--{role} llm needs --model, e.g. --model gemini-3.5-pro-preview"))?;
            open::client(model, key, limits, prices(global)?).map_err(|e| anyhow!("--{role} llm: {e}"))
        }
        Player::Builtin | Player::Refinement => bail!("--{role}: no model is asked"),
    }
}

/// The first of these variables that is set.
fn key(variables: &[&str]) -> Option<Secret> {
    variables.iter().find_map(|v| std::env::var(v).ok()).filter(|k| !k.trim().is_empty()).map(|k| Secret::new(k.trim()))
}

fn prices(global: &Global) -> Result<Prices> {
    let Some(path) = &global.prices else { return Ok(Prices::embedded()) };
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let over = Prices::parse(&text).map_err(|e| anyhow!("{}: {e}", path.display()))?;
    Ok(Prices::embedded().overridden(over))
}
