//! What the HTTP providers share: sending, collecting the answer, and falling back where an endpoint does not know
//! structured output. Must not know any one format.

use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;

use crate::error::{CallError, CallErrorKind};
use crate::http::{Control, Piece, Request, post};
use crate::providers::Provider;
use crate::request::{Prompt, Reply, Secret, Settings};

/// Most characters of an answer; a kernel with its reasoning is a tenth of this.
const MOST_TEXT: usize = 2 << 20;

/// How an answer ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// As it should.
    Complete,
    /// The token limit cut it off.
    Truncated,
    /// The model or a filter declined; in its words.
    Refused(String),
    /// The server reported a failure in the stream.
    Failed(String),
}

/// An answer as it comes in.
#[derive(Clone, Debug, Default)]
pub struct Incoming {
    /// Text so far.
    pub text: String,
    /// What a refusal says so far.
    pub refusal: String,
    /// Tokens in.
    pub tokens_in: u64,
    /// Tokens out.
    pub tokens_out: u64,
    /// How it ended, once it has.
    pub end: Option<End>,
}

/// A wire format.
pub trait Wire: Send + Sync {
    /// Short name.
    fn name(&self) -> &'static str;

    /// The request. `structured` says whether to ask for the schema.
    fn request(&self, base: &str, key: &str, prompt: &Prompt, settings: &Settings, structured: bool) -> Request;

    /// Takes in one event of the stream.
    fn event(&self, incoming: &mut Incoming, event: &str, data: &Value);

    /// Takes in an answer that was not streamed.
    fn whole(&self, incoming: &mut Incoming, body: &Value);
}

/// A provider over HTTP.
pub struct Http<W> {
    wire: W,
    base: String,
    key: Secret,
    plain: AtomicBool,
}

impl<W: Wire> Http<W> {
    /// A provider at `base`.
    pub fn new(wire: W, base: String, key: Secret) -> Self {
        Self { wire, base, key, plain: AtomicBool::new(false) }
    }

    fn attempt(
        &self,
        prompt: &Prompt,
        settings: &Settings,
        control: &Control<'_>,
        structured: bool,
    ) -> Result<Reply, CallError> {
        let request = self.wire.request(&self.base, self.key.reveal(), prompt, settings, structured);
        let mut incoming = Incoming::default();
        let malformed = |what: &str, text: &str| {
            let begin: String = text.chars().take(200).collect();
            CallError::new(CallErrorKind::Malformed, format!("{what}: {begin}"))
        };
        post(request, &self.key, control, |piece| {
            match piece {
                Piece::Event(_, data) if data == "[DONE]" => {}
                Piece::Event(event, data) => {
                    let value = serde_json::from_str(&data)
                        .map_err(|_| malformed("an event of the stream is not JSON", &data))?;
                    self.wire.event(&mut incoming, &event, &value);
                }
                Piece::Whole(body) => {
                    let value = serde_json::from_str(&body).map_err(|_| malformed("the answer is not JSON", &body))?;
                    self.wire.whole(&mut incoming, &value);
                }
            }
            if incoming.text.len() > MOST_TEXT {
                return Err(CallError::new(
                    CallErrorKind::TooLarge,
                    format!("the answer is over {} MiB of text; it was not read further", MOST_TEXT >> 20),
                ));
            }
            Ok(())
        })?;
        let Incoming { text, refusal, tokens_in, tokens_out, end } = incoming;
        match end {
            Some(End::Complete) if !refusal.is_empty() && text.is_empty() => {
                Err(CallError::new(CallErrorKind::Refused, format!("the model declined: {refusal}")))
            }
            Some(End::Complete) => Ok(Reply { text, tokens_in, tokens_out }),
            Some(End::Truncated) => Err(CallError::new(
                CallErrorKind::Truncated,
                "the answer was cut off by the token limit; raise it, or ask for less effort",
            )),
            Some(End::Refused(why)) => {
                let why = if refusal.is_empty() { why } else { refusal };
                Err(CallError::new(CallErrorKind::Refused, format!("the model declined: {why}")))
            }
            Some(End::Failed(why)) => {
                Err(CallError::new(CallErrorKind::Server, format!("the server failed: {}", self.key.redact(&why))))
            }
            None => Err(CallError::new(CallErrorKind::Transport, "the stream ended before the answer was complete")),
        }
    }
}

impl<W: Wire> Provider for Http<W> {
    fn name(&self) -> &'static str {
        self.wire.name()
    }

    fn send(&self, prompt: &Prompt, settings: &Settings, control: &Control<'_>) -> Result<Reply, CallError> {
        let structured = prompt.schema.is_some() && !self.plain.load(Ordering::Relaxed);
        match self.attempt(prompt, settings, control, structured) {
            // Many endpoints do not know structured output; the answer is checked here in any case.
            Err(e) if structured && e.kind == CallErrorKind::BadRequest && mentions_schema(&e.message) => {
                tracing::info!("{} does not take a schema here; asking without", self.wire.name());
                self.plain.store(true, Ordering::Relaxed);
                self.attempt(prompt, settings, control, false)
            }
            other => other,
        }
    }
}

fn mentions_schema(message: &str) -> bool {
    let message = message.to_lowercase();
    ["schema", "response_format", "responsemimetype", "output_config", "text.format", "structured"]
        .iter()
        .any(|word| message.contains(word))
}

/// A text member by JSON pointer.
pub fn text<'a>(value: &'a Value, pointer: &str) -> Option<&'a str> {
    value.pointer(pointer)?.as_str()
}

/// A count by JSON pointer.
pub fn count(value: &Value, pointer: &str) -> Option<u64> {
    value.pointer(pointer)?.as_u64()
}
