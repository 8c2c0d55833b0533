//! From settings to a client: which provider, at which address, with whose key. Must not read the environment: the
//! caller looks keys up.

use ksearch_llm::{Client, Exchange, Limits, Prices, ProviderKind, Secret, Settings, open, providers::Replay};

use crate::config::RoleModel;
use crate::record::{Event, Recorded};

/// Who plays a role, as written on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Player {
    /// The built-in one.
    Builtin,
    /// A model behind an API.
    Model,
    /// Files in a folder.
    Manual(std::path::PathBuf),
    /// The transcript of another run.
    Replay(String),
    /// Plain iterative refinement (planner only).
    Refinement,
}

impl std::str::FromStr for Player {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.split_once(':')) {
            ("builtin", _) => Ok(Self::Builtin),
            ("llm", _) => Ok(Self::Model),
            ("refinement", _) => Ok(Self::Refinement),
            (_, Some(("manual", folder))) if !folder.is_empty() => Ok(Self::Manual(folder.into())),
            (_, Some(("replay", run))) if !run.is_empty() => Ok(Self::Replay(run.to_owned())),
            _ => Err(format!("unknown role `{text}`: use builtin, llm, manual:FOLDER or replay:RUN")),
        }
    }
}

/// A client for a model behind an API. `key` looks up the first of these environment variables that is set.
pub fn client(
    model: &RoleModel,
    key: impl Fn(&[&str]) -> Option<Secret>,
    limits: Limits,
    prices: Prices,
) -> Result<Client, String> {
    let name = &model.settings.model;
    if name.is_empty() {
        return Err("no model is named: add --model, e.g. --model gemini-3.5-pro-preview".to_owned());
    }
    let kind = match &model.provider {
        Some(provider) => provider.parse()?,
        // An address of its own means a compatible endpoint.
        None if model.base_url.is_some() => ProviderKind::OpenAiChat,
        None => ProviderKind::of_model(name).ok_or_else(|| {
            format!("the provider of model `{name}` cannot be told from its name: add --provider, and --base-url for a local endpoint")
        })?,
    };
    let variables = kind.key_variables();
    let secret = match key(variables) {
        Some(secret) => secret,
        // Local endpoints want no key.
        None if model.base_url.is_some() => Secret::default(),
        None => {
            return Err(format!(
                "no key for {name}: set {} in the environment (it is never stored), or use --planner builtin --coder builtin",
                variables.join(" or ")
            ));
        }
    };
    Ok(Client::new(open(&kind, model.base_url.as_deref(), secret), model.settings.clone(), limits, prices))
}

/// A client whose requests and answers are files in `folder`. `who` is kept in the transcript as the one who answers.
pub fn manual(folder: std::path::PathBuf, who: String, limits: Limits) -> Client {
    let provider = open(&ProviderKind::Manual(folder), None, Secret::default());
    Client::new(provider, Settings { model: who, ..Settings::default() }, limits, Prices::default())
}

/// A client that answers from what `role` (`planner` or `coder`) was answered in a recorded run.
pub fn recorded(events: &[Recorded], role: &str, limits: Limits, prices: Prices) -> Client {
    let exchanges: Vec<Exchange> = events
        .iter()
        .filter_map(|r| match &r.event {
            Event::Planned { exchanges, .. } if role == "planner" => Some(exchanges.clone()),
            Event::Coded { exchanges, .. } if role == "coder" => Some(exchanges.clone()),
            _ => None,
        })
        .flatten()
        .collect();
    let model = exchanges.first().map(|e| e.model.clone()).unwrap_or_default();
    let settings = Settings { model, ..Settings::default() };
    Client::new(Box::new(Replay::new(exchanges)), settings, limits, prices)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(model: &str, provider: Option<&str>, base: Option<&str>, key: bool) -> Result<String, String> {
        let model = RoleModel {
            provider: provider.map(str::to_owned),
            base_url: base.map(str::to_owned),
            settings: Settings { model: model.to_owned(), ..Settings::default() },
        };
        let key = |_: &[&str]| key.then(|| Secret::new("k"));
        client(&model, key, Limits::default(), Prices::default()).map(|c| c.name())
    }

    #[test]
    fn a_model_finds_its_provider_or_says_what_is_missing() {
        assert_eq!(ask("gemini-3.5-pro-preview", None, None, true).unwrap(), "gemini:gemini-3.5-pro-preview");
        assert_eq!(ask("gpt-5.5", None, None, true).unwrap(), "openai:gpt-5.5");
        assert_eq!(ask("gpt-5.5", Some("openai-chat"), None, true).unwrap(), "openai-chat:gpt-5.5");
        assert_eq!(ask("claude-opus-4-8", None, None, true).unwrap(), "anthropic:claude-opus-4-8");
        assert_eq!(ask("qwen3", None, Some("http://localhost:11434/v1"), false).unwrap(), "openai-chat:qwen3");
        insta::assert_snapshot!([
            ask("qwen3", None, None, true).unwrap_err(),
            ask("gpt-5.5", None, None, false).unwrap_err(),
            ask("", None, None, true).unwrap_err(),
            ask("x", Some("nosuch"), None, true).unwrap_err(),
            "nosuch".parse::<Player>().unwrap_err(),
        ].join("\n"), @"
        the provider of model `qwen3` cannot be told from its name: add --provider, and --base-url for a local endpoint
        no key for gpt-5.5: set OPENAI_API_KEY or LLM_API_KEY in the environment (it is never stored), or use --planner builtin --coder builtin
        no model is named: add --model, e.g. --model gemini-3.5-pro-preview
        unknown provider `nosuch`: use gemini, openai, openai-chat (any compatible endpoint, with a base URL), anthropic, or manual:FOLDER
        unknown role `nosuch`: use builtin, llm, manual:FOLDER or replay:RUN
        ");
    }
}
