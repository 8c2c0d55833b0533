//! What is asked of a model and what comes back. Must not know any provider.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A key. Never printed, never serialised.
#[derive(Clone, Default)]
pub struct Secret(String);

impl Secret {
    /// Takes a key.
    pub fn new(key: impl Into<String>) -> Self {
        Self(key.into())
    }

    /// The key itself, for a request header only.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }

    /// `text` with the key blotted out, should a server have echoed it.
    pub fn redact(&self, text: &str) -> String {
        if self.0.len() < 8 { text.to_owned() } else { text.replace(&self.0, "[key]") }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret([key])")
    }
}

/// How hard a model should think, where it can be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    /// Little.
    Low,
    /// Some.
    Medium,
    /// Much.
    High,
}

impl Effort {
    /// Name on the wire and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

impl FromStr for Effort {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        [Self::Low, Self::Medium, Self::High]
            .into_iter()
            .find(|e| e.name() == text)
            .ok_or_else(|| format!("unknown effort `{text}`: use low, medium or high"))
    }
}

/// Model and sampling settings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// Model as the provider names it.
    pub model: String,
    /// How hard to think.
    pub effort: Option<Effort>,
    /// Sampling temperature; the provider's default where none.
    pub temperature: Option<f64>,
    /// Most tokens of an answer, thinking included.
    pub max_tokens: Option<u32>,
}

/// A request to a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Prompt {
    /// What it is for, e.g. `coder-apply`: part of file names in the manual provider.
    pub label: String,
    /// Name and version of the template it was rendered from.
    pub template: String,
    /// Standing instructions.
    pub system: String,
    /// The request.
    pub user: String,
    /// JSON schema of the answer, given to the provider where it can use one.
    pub schema: Option<Value>,
}

impl Prompt {
    /// Content address of what the model sees.
    pub fn hash(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        for part in [&self.system, &self.user] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
        hasher.finalize().to_hex().as_str()[..16].to_owned()
    }
}

/// A complete answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    /// The text.
    pub text: String,
    /// Tokens in.
    pub tokens_in: u64,
    /// Tokens out, thinking included.
    pub tokens_out: u64,
}
