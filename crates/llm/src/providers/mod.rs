//! Providers: one file per wire format, and two that need no network. Add a provider here and in [`open`].

pub mod anthropic;
pub mod gemini;
pub mod manual;
pub mod openai_chat;
pub mod openai_responses;
pub mod replay;
mod wire;

use std::path::PathBuf;
use std::str::FromStr;

use crate::error::CallError;
use crate::http::Control;
use crate::request::{Prompt, Reply, Secret, Settings};

pub use manual::Manual;
pub use replay::Replay;
pub use wire::{Http, Wire};

/// Sends one request and waits for the whole answer. No retries here.
pub trait Provider: Send + Sync {
    /// Short name, as on the command line.
    fn name(&self) -> &'static str;

    /// One attempt.
    fn send(&self, prompt: &Prompt, settings: &Settings, control: &Control<'_>) -> Result<Reply, CallError>;

    /// Does an answer come from a person, so that waiting long is right?
    fn is_patient(&self) -> bool {
        false
    }
}

/// Which provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProviderKind {
    /// Google's Gemini API.
    Gemini,
    /// OpenAI's responses API.
    OpenAi,
    /// OpenAI's chat completions, or any endpoint that speaks them (Ollama, LM Studio, vLLM, mlx-lm, OpenRouter, …).
    OpenAiChat,
    /// Anthropic's messages API.
    Anthropic,
    /// Requests and answers are files in this folder.
    Manual(PathBuf),
}

impl ProviderKind {
    /// Environment variables that may hold its key, in order of preference. Reading them is the caller's part.
    pub const fn key_variables(&self) -> &'static [&'static str] {
        match self {
            Self::Gemini => &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
            Self::OpenAi | Self::OpenAiChat => &["OPENAI_API_KEY", "LLM_API_KEY"],
            Self::Anthropic => &["ANTHROPIC_API_KEY"],
            Self::Manual(_) => &[],
        }
    }

    /// Where its API is, unless the caller names another place.
    pub const fn default_base(&self) -> &'static str {
        match self {
            Self::Gemini => "https://generativelanguage.googleapis.com/v1beta",
            Self::OpenAi | Self::OpenAiChat => "https://api.openai.com/v1",
            Self::Anthropic => "https://api.anthropic.com/v1",
            Self::Manual(_) => "",
        }
    }

    /// The provider that a model's name suggests, for the documented short form `--model NAME`.
    pub fn of_model(model: &str) -> Option<Self> {
        let name = model.rsplit('/').next().unwrap_or(model);
        let starts = |prefixes: &[&str]| prefixes.iter().any(|p| name.starts_with(p));
        if starts(&["gemini-", "gemma-"]) {
            Some(Self::Gemini)
        } else if starts(&["gpt-", "o1", "o3", "o4"]) {
            Some(Self::OpenAi)
        } else if starts(&["claude-"]) {
            Some(Self::Anthropic)
        } else {
            None
        }
    }
}

impl FromStr for ProviderKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "gemini" => Ok(Self::Gemini),
            "openai" => Ok(Self::OpenAi),
            "openai-chat" | "compatible" => Ok(Self::OpenAiChat),
            "anthropic" => Ok(Self::Anthropic),
            _ => match text.split_once(':') {
                Some(("manual", folder)) if !folder.is_empty() => Ok(Self::Manual(folder.into())),
                _ => Err(format!(
                    "unknown provider `{text}`: use gemini, openai, openai-chat (any compatible endpoint, with a base \
                     URL), anthropic, or manual:FOLDER"
                )),
            },
        }
    }
}

/// Opens a provider. `base` replaces the default address; `key` may be empty where the endpoint wants none.
pub fn open(kind: &ProviderKind, base: Option<&str>, key: Secret) -> Box<dyn Provider> {
    let base = base.unwrap_or_else(|| kind.default_base()).trim_end_matches('/').to_owned();
    match kind {
        ProviderKind::Gemini => Box::new(Http::new(gemini::Gemini, base, key)),
        ProviderKind::OpenAi => Box::new(Http::new(openai_responses::Responses, base, key)),
        ProviderKind::OpenAiChat => Box::new(Http::new(openai_chat::Chat, base, key)),
        ProviderKind::Anthropic => Box::new(Http::new(anthropic::Anthropic, base, key)),
        ProviderKind::Manual(folder) => Box::new(Manual::new(folder.clone())),
    }
}
