//! The client: one question to a model, with retries, under one outer deadline, with everything that was tried kept for
//! the transcript. Must not know what the answer should look like beyond what the caller's check says.

use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::error::{CallError, CallErrorKind};
use crate::http::Control;
use crate::prices::Prices;
use crate::providers::Provider;
use crate::request::{Prompt, Settings};

/// Bounds of a question.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// From the question to a usable answer or a final error, retries and re-asks included.
    pub deadline: Duration,
    /// Longest silence within one attempt.
    pub idle: Duration,
    /// Attempts at one request when the provider fails.
    pub tries: u32,
    /// Times a model is told what is wrong with its answer.
    pub reasks: u32,
    /// First pause between attempts; doubled each time, with jitter.
    pub backoff: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            deadline: Duration::from_mins(20),
            idle: Duration::from_mins(5),
            tries: 5,
            reasks: 2,
            backoff: Duration::from_secs(2),
        }
    }
}

/// The failure of an exchange, as it is kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExchangeError {
    /// Which kind.
    pub kind: CallErrorKind,
    /// What happened.
    pub message: String,
}

/// One exchange with a model: what was asked, what came back, what it cost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Exchange {
    /// Provider.
    pub provider: String,
    /// Model as asked for.
    pub model: String,
    /// Name and version of the prompt template.
    pub template: String,
    /// Content address of the prompt.
    pub hash: String,
    /// Standing instructions, whole.
    pub system: String,
    /// The request, whole.
    pub user: String,
    /// The answer, whole; empty when none came.
    pub answer: String,
    /// What went wrong, if something did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ExchangeError>,
    /// What was wrong with the answer, where it was asked again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<String>,
    /// Tokens in.
    pub tokens_in: u64,
    /// Tokens out, thinking included.
    pub tokens_out: u64,
    /// US dollars by the price table; none where the model is not in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usd: Option<f64>,
    /// Seconds until the answer was complete.
    pub seconds: f64,
}

/// What a question came to.
pub struct Ask<T> {
    /// The checked answer, or why there is none.
    pub result: Result<T, CallError>,
    /// Everything that was asked and answered on the way.
    pub exchanges: Vec<Exchange>,
}

/// A model with its settings.
pub struct Client {
    provider: Box<dyn Provider>,
    settings: Settings,
    limits: Limits,
    prices: Prices,
}

impl Client {
    /// A client.
    pub fn new(provider: Box<dyn Provider>, settings: Settings, limits: Limits, prices: Prices) -> Self {
        Self { provider, settings, limits, prices }
    }

    /// `provider` or `provider:model`.
    pub fn name(&self) -> String {
        match self.settings.model.as_str() {
            "" => self.provider.name().to_owned(),
            model => format!("{}:{model}", self.provider.name()),
        }
    }

    /// Asks until `check` accepts an answer, a failure is final, or the deadline passes. What `check` objects to is put
    /// to the model together with its answer.
    pub fn ask<T>(
        &self,
        prompt: &Prompt,
        cancelled: &dyn Fn() -> bool,
        check: impl Fn(&str) -> Result<T, Vec<String>>,
    ) -> Ask<T> {
        let limit = if self.provider.is_patient() { self.limits.deadline.max(PATIENCE) } else { self.limits.deadline };
        let deadline = Instant::now() + limit;
        let mut exchanges = Vec::new();
        let mut question = prompt.clone();
        let mut asked = 0;
        loop {
            let answer = match self.attempt(&question, deadline, cancelled, &mut exchanges) {
                Ok(answer) => answer,
                Err(error) => return Ask { result: Err(error), exchanges },
            };
            match check(&answer) {
                Ok(value) => return Ask { result: Ok(value), exchanges },
                Err(faults) => {
                    if let Some(last) = exchanges.last_mut() {
                        last.faults.clone_from(&faults);
                    }
                    if asked >= self.limits.reasks {
                        let message = format!(
                            "no usable answer after {} questions; the last one: {}",
                            asked + 1,
                            faults.join("; ")
                        );
                        return Ask { result: Err(CallError::new(CallErrorKind::Unusable, message)), exchanges };
                    }
                    asked += 1;
                    question = again(prompt, &answer, &faults);
                }
            }
        }
    }

    /// One request, tried again while the provider fails in ways that may pass.
    fn attempt(
        &self,
        prompt: &Prompt,
        deadline: Instant,
        cancelled: &dyn Fn() -> bool,
        exchanges: &mut Vec<Exchange>,
    ) -> Result<String, CallError> {
        let mut pause = self.limits.backoff;
        let mut tries = 0;
        loop {
            tries += 1;
            let began = Instant::now();
            let idle = if self.provider.is_patient() { PATIENCE } else { self.limits.idle };
            let control = Control { deadline, idle, cancelled };
            let result = self.provider.send(prompt, &self.settings, &control);
            let seconds = began.elapsed().as_secs_f64();
            let error = match result {
                Ok(reply) => {
                    let usd = self.prices.cost(&self.settings.model, reply.tokens_in, reply.tokens_out);
                    exchanges.push(Exchange {
                        answer: reply.text.clone(),
                        tokens_in: reply.tokens_in,
                        tokens_out: reply.tokens_out,
                        usd,
                        ..self.exchange(prompt, seconds)
                    });
                    return Ok(reply.text);
                }
                Err(error) => error,
            };
            if error.kind != CallErrorKind::Cancelled {
                let kept = ExchangeError { kind: error.kind, message: error.message.clone() };
                exchanges.push(Exchange { error: Some(kept), ..self.exchange(prompt, seconds) });
            }
            let wait = error.retry_after.unwrap_or_else(|| jitter(pause, &prompt.hash(), tries));
            let left = deadline.saturating_duration_since(Instant::now());
            if !error.kind.is_retryable() || tries >= self.limits.tries || wait >= left {
                let message =
                    if tries > 1 { format!("{} (after {tries} tries)", error.message) } else { error.message };
                return Err(CallError { message, ..error });
            }
            tracing::info!("{}: {}; trying again in {:.1} s", self.name(), error.message, wait.as_secs_f64());
            sleep(wait, cancelled)?;
            pause *= 2;
        }
    }

    fn exchange(&self, prompt: &Prompt, seconds: f64) -> Exchange {
        Exchange {
            provider: self.provider.name().to_owned(),
            model: self.settings.model.clone(),
            template: prompt.template.clone(),
            hash: prompt.hash(),
            system: prompt.system.clone(),
            user: prompt.user.clone(),
            answer: String::new(),
            error: None,
            faults: Vec::new(),
            tokens_in: 0,
            tokens_out: 0,
            usd: None,
            seconds,
        }
    }
}

/// How long a person may take.
const PATIENCE: Duration = Duration::from_hours(7 * 24);

/// The question again, with the answer that was not usable and why.
fn again(prompt: &Prompt, answer: &str, faults: &[String]) -> Prompt {
    let shown: String = answer.chars().take(20_000).collect();
    let list = faults.join("\n- ");
    Prompt {
        label: format!("{}-again", prompt.label),
        user: format!(
            "{}\n\n# Your previous answer could not be used\n\n- {list}\n\nIt was:\n\n````\n{shown}\n````\n\nAnswer again, whole \
             and corrected.",
            prompt.user
        ),
        ..prompt.clone()
    }
}

/// Half to one and a half times `pause`, by the request and the try: spread over clients, yet repeatable.
fn jitter(pause: Duration, key: &str, tries: u32) -> Duration {
    let hash = blake3::hash(format!("{key}{tries}{}", std::process::id()).as_bytes());
    pause.mul_f64(0.5 + f64::from(hash.as_bytes()[0]) / 255.0)
}

fn sleep(wait: Duration, cancelled: &dyn Fn() -> bool) -> Result<(), CallError> {
    let end = Instant::now() + wait;
    loop {
        if cancelled() {
            return Err(CallError::new(CallErrorKind::Cancelled, "the call was cancelled"));
        }
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(());
        }
        thread::sleep(left.min(Duration::from_millis(50)));
    }
}
