//! The roles played by language models: what they are shown, what they may answer. Prompts are templates in
//! `prompts/`, rendered from the typed values in `views`. Must not know providers beyond a client that asks.

mod briefing;
mod coder;
pub mod open;
mod planner;
mod prompts;
#[cfg(test)]
mod tests;
mod views;

pub use briefing::Briefing;
pub use coder::LlmCoder;
pub use open::Player;
pub use planner::LlmPlanner;
pub use prompts::VERSION as PROMPTS_VERSION;

use ksearch_llm::{CallError, CallErrorKind, Exchange};

use crate::roles::{RoleError, RoleErrorKind};

/// A failed call as a role's failure.
fn role_error(error: &CallError, exchanges: Vec<Exchange>) -> RoleError {
    let kind = match error.kind {
        CallErrorKind::Cancelled => RoleErrorKind::Cancelled,
        kind if kind.is_unavailable() => RoleErrorKind::Unavailable,
        _ => RoleErrorKind::Unusable,
    };
    RoleError { kind, message: error.message.clone(), exchanges }
}
