//! Why a call failed, and whether trying again can help. Must not know any provider.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Kinds of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallErrorKind {
    /// No connection, or it broke.
    Transport,
    /// Nothing came for too long, or the outer deadline passed.
    Timeout,
    /// Too many requests.
    RateLimited,
    /// The server failed.
    Server,
    /// The key is missing or refused.
    Auth,
    /// The request is wrong: model name, parameters.
    BadRequest,
    /// The model declined to answer.
    Refused,
    /// The answer was cut off by the token limit.
    Truncated,
    /// The answer is absurdly long.
    TooLarge,
    /// What came back is not the provider's format.
    Malformed,
    /// Answers came and none could be used.
    Unusable,
    /// The caller asked to stop.
    Cancelled,
    /// A recorded transcript has no answer to this.
    NotRecorded,
}

impl CallErrorKind {
    /// May the same request succeed later?
    pub const fn is_retryable(self) -> bool {
        matches!(self, Self::Transport | Self::Timeout | Self::RateLimited | Self::Server | Self::Malformed)
    }

    /// Is it the provider that is away, rather than the answer that is useless?
    pub const fn is_unavailable(self) -> bool {
        matches!(
            self,
            Self::Transport
                | Self::Timeout
                | Self::RateLimited
                | Self::Server
                | Self::Auth
                | Self::BadRequest
                | Self::Malformed
                | Self::NotRecorded
        )
    }
}

/// A failed call.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct CallError {
    /// Which kind.
    pub kind: CallErrorKind,
    /// What happened and what to do; keys are blotted out.
    pub message: String,
    /// How long the server asked to wait.
    pub retry_after: Option<Duration>,
}

impl CallError {
    /// An error of this kind.
    pub fn new(kind: CallErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), retry_after: None }
    }
}
