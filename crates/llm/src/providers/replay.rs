//! The replay provider: answers from a recorded transcript, by the content of the request. Must not know where the
//! transcript was kept.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use super::Provider;
use crate::client::Exchange;
use crate::error::{CallError, CallErrorKind};
use crate::http::Control;
use crate::request::{Prompt, Reply, Settings};

/// Recorded answers, in the order in which they were given, by request.
pub struct Replay {
    answers: Mutex<HashMap<String, VecDeque<Exchange>>>,
}

impl Replay {
    /// Replays these exchanges; failed ones too.
    pub fn new(exchanges: impl IntoIterator<Item = Exchange>) -> Self {
        let mut answers: HashMap<String, VecDeque<Exchange>> = HashMap::new();
        for exchange in exchanges {
            answers.entry(exchange.hash.clone()).or_default().push_back(exchange);
        }
        Self { answers: Mutex::new(answers) }
    }
}

impl Provider for Replay {
    fn name(&self) -> &'static str {
        "replay"
    }

    fn send(&self, prompt: &Prompt, _settings: &Settings, _control: &Control<'_>) -> Result<Reply, CallError> {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let next = answers.get_mut(&prompt.hash()).and_then(VecDeque::pop_front);
        let Some(exchange) = next else {
            return Err(CallError::new(
                CallErrorKind::NotRecorded,
                format!(
                    "the transcript has no answer to this {} request (template {}): the task, the program or its \
                     prompts have changed since",
                    prompt.label, prompt.template
                ),
            ));
        };
        match exchange.error {
            Some(error) => Err(CallError::new(error.kind, error.message)),
            None => Ok(Reply { text: exchange.answer, tokens_in: exchange.tokens_in, tokens_out: exchange.tokens_out }),
        }
    }
}
