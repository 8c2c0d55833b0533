//! One HTTP exchange with a streamed answer, under an outer deadline and an idle limit, and cancellable at any moment.
//! The blocking work is done by a thread that the caller can walk away from; the client's own global timeout ends it.
//! Must not know what is in the stream.

use std::io::Read;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::error::{CallError, CallErrorKind};
use crate::request::Secret;

/// Most bytes of one answer on the wire; a long answer with its envelopes is far below.
const MOST_BYTES: usize = 32 << 20;
/// How often a waiting call looks whether it was cancelled.
const PULSE: Duration = Duration::from_millis(50);

/// What bounds a call.
pub struct Control<'a> {
    /// When it must be over.
    pub deadline: Instant,
    /// Most time without a byte.
    pub idle: Duration,
    /// Has the caller given up?
    pub cancelled: &'a dyn Fn() -> bool,
}

impl Control<'_> {
    /// Time left.
    pub fn left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }
}

/// A request.
pub struct Request {
    /// Where to.
    pub url: String,
    /// Headers; the one that carries the key among them.
    pub headers: Vec<(&'static str, String)>,
    /// JSON body.
    pub body: Value,
}

enum Part {
    Head { status: u16, retry_after: Option<String>, stream: bool },
    Bytes(Vec<u8>),
    Failed(String),
    End,
}

/// A decoded piece of the answer.
#[derive(Debug, PartialEq)]
pub enum Piece {
    /// A server-sent event: its name and data.
    Event(String, String),
    /// A whole body that is not a stream.
    Whole(String),
}

/// Sends `request` and hands each piece of the answer to `take` as it comes.
pub fn post(
    request: Request,
    key: &Secret,
    control: &Control<'_>,
    mut take: impl FnMut(Piece) -> Result<(), CallError>,
) -> Result<(), CallError> {
    let parts = spawn(request, control.left());
    let mut answer = Answer::default();
    let mut decoder = SseDecoder::default();
    let mut received = 0;
    loop {
        match next(&parts, control)? {
            Part::Head { status, retry_after, stream } => {
                answer = Answer { status, retry_after, stream, body: Vec::new() };
            }
            Part::Bytes(bytes) => {
                received += bytes.len();
                if received > MOST_BYTES {
                    return Err(CallError::new(
                        CallErrorKind::TooLarge,
                        format!("the answer is over {} MiB; it was not read further", MOST_BYTES >> 20),
                    ));
                }
                if answer.stream && answer.status == 200 {
                    for (event, data) in decoder.feed(&bytes) {
                        take(Piece::Event(event, data))?;
                    }
                } else {
                    answer.body.extend_from_slice(&bytes);
                }
            }
            Part::Failed(why) => {
                return Err(CallError::new(
                    CallErrorKind::Transport,
                    format!("the connection failed: {}", key.redact(&why)),
                ));
            }
            Part::End => break,
        }
    }
    let body = String::from_utf8_lossy(&answer.body).into_owned();
    if answer.status != 200 {
        return Err(status_error(answer.status, answer.retry_after.as_deref(), &key.redact(&body)));
    }
    if !answer.stream {
        take(Piece::Whole(body))?;
    }
    Ok(())
}

#[derive(Default)]
struct Answer {
    status: u16,
    retry_after: Option<String>,
    stream: bool,
    body: Vec<u8>,
}

/// The next part, or why there is none in time.
fn next(parts: &Receiver<Part>, control: &Control<'_>) -> Result<Part, CallError> {
    let began = Instant::now();
    loop {
        if (control.cancelled)() {
            return Err(CallError::new(CallErrorKind::Cancelled, "the call was cancelled"));
        }
        match parts.recv_timeout(PULSE.min(control.left()).max(Duration::from_millis(1))) {
            Ok(part) => return Ok(part),
            Err(RecvTimeoutError::Disconnected) => {
                return Err(CallError::new(CallErrorKind::Transport, "the connection ended without an answer"));
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
        if control.left().is_zero() {
            return Err(CallError::new(
                CallErrorKind::Timeout,
                "the deadline of the call passed without a whole answer",
            ));
        }
        if began.elapsed() > control.idle {
            return Err(CallError::new(
                CallErrorKind::Timeout,
                format!("the server sent nothing for {:.0} s", control.idle.as_secs_f64()),
            ));
        }
    }
}

fn spawn(request: Request, limit: Duration) -> Receiver<Part> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        // A caller that has walked away no longer listens; there is nobody to tell.
        let _ = match exchange(&request, limit, &sender) {
            Ok(()) => sender.send(Part::End),
            Err(why) => sender.send(Part::Failed(why)),
        };
    });
    receiver
}

fn exchange(request: &Request, limit: Duration, parts: &Sender<Part>) -> Result<(), String> {
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .timeout_global(Some(limit.max(Duration::from_millis(1))))
        .http_status_as_error(false)
        .max_redirects(0)
        .user_agent(concat!("ksearch/", env!("CARGO_PKG_VERSION")))
        .build()
        .into();
    let mut post = agent.post(&request.url).header("content-type", "application/json");
    for (name, value) in &request.headers {
        post = post.header(*name, value);
    }
    let body = serde_json::to_vec(&request.body).map_err(|e| e.to_string())?;
    let response = post.send(&body[..]).map_err(|e| e.to_string())?;
    let header = |name: &str| response.headers().get(name).and_then(|v| v.to_str().ok()).map(str::to_owned);
    let head = Part::Head {
        status: response.status().as_u16(),
        retry_after: header("retry-after"),
        stream: header("content-type").is_some_and(|t| t.starts_with("text/event-stream")),
    };
    if parts.send(head).is_err() {
        return Ok(());
    }
    let mut reader = response.into_body().into_with_config().limit(MOST_BYTES as u64 + 1).reader();
    let mut buffer = vec![0; 16 << 10];
    loop {
        let count = reader.read(&mut buffer).map_err(|e| e.to_string())?;
        if count == 0 || parts.send(Part::Bytes(buffer[..count].to_vec())).is_err() {
            return Ok(());
        }
    }
}

/// What a status other than 200 means.
fn status_error(status: u16, retry_after: Option<&str>, body: &str) -> CallError {
    let (kind, what) = match status {
        401 | 403 => (CallErrorKind::Auth, "the key was refused"),
        408 => (CallErrorKind::Timeout, "the server timed out"),
        413 => (CallErrorKind::BadRequest, "the request is too large for the server"),
        429 => (CallErrorKind::RateLimited, "too many requests, or the quota is used up"),
        400..=499 => (CallErrorKind::BadRequest, "the server refused the request"),
        500..=599 => (CallErrorKind::Server, "the server failed"),
        _ => (CallErrorKind::Malformed, "the server answered with an unexpected status"),
    };
    let detail = error_detail(body);
    let message = format!("{what} (HTTP {status}){}{detail}", if detail.is_empty() { "" } else { ": " });
    CallError { kind, message, retry_after: retry_after.and_then(|t| t.trim().parse().ok()).map(Duration::from_secs) }
}

/// The message in an error body of any of the providers, else its beginning.
fn error_detail(body: &str) -> String {
    let parsed: Option<Value> = serde_json::from_str(body).ok();
    let message = parsed.as_ref().and_then(|v| {
        ["/error/message", "/0/error/message", "/message", "/error"].iter().find_map(|p| v.pointer(p)?.as_str())
    });
    message.unwrap_or(body).trim().chars().take(500).collect()
}

/// Decodes server-sent events from bytes as they come.
#[derive(Default)]
pub struct SseDecoder {
    line: Vec<u8>,
    event: String,
    data: Vec<String>,
}

impl SseDecoder {
    /// Events completed by these bytes.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<(String, String)> {
        let mut events = Vec::new();
        for byte in bytes {
            if *byte != b'\n' {
                self.line.push(*byte);
                continue;
            }
            let line = String::from_utf8_lossy(&std::mem::take(&mut self.line)).into_owned();
            let line = line.strip_suffix('\r').unwrap_or(&line);
            let value = |rest: &str| rest.strip_prefix(' ').unwrap_or(rest).to_owned();
            if line.is_empty() {
                let event = std::mem::take(&mut self.event);
                let data = std::mem::take(&mut self.data);
                if !data.is_empty() {
                    events.push((event, data.join("\n")));
                }
            } else if let Some(rest) = line.strip_prefix("data:") {
                self.data.push(value(rest));
            } else if let Some(rest) = line.strip_prefix("event:") {
                self.event = value(rest);
            }
        }
        events
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn events_are_decoded_however_the_bytes_are_cut() {
        let text = ": comment\r\nevent: a\r\ndata: {\"x\":\r\ndata: 1}\r\n\r\ndata: plain\n\n\nid: 7\ndata:[DONE]\n\ndata: cut off";
        let expected = vec![
            ("a".to_owned(), "{\"x\":\n1}".to_owned()),
            (String::new(), "plain".to_owned()),
            (String::new(), "[DONE]".to_owned()),
        ];
        for size in 1..text.len() {
            let mut decoder = SseDecoder::default();
            let events: Vec<_> = text.as_bytes().chunks(size).flat_map(|c| decoder.feed(c)).collect();
            assert_eq!(events, expected, "in pieces of {size}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_break_the_decoder(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            SseDecoder::default().feed(&bytes);
        }
    }

    #[test]
    fn error_bodies_of_all_providers_are_read() {
        for body in [
            r#"{"error": {"message": "no such model"}}"#,
            r#"[{"error": {"message": "no such model"}}]"#,
            r#"{"message": "no such model"}"#,
            r#"{"error": "no such model"}"#,
            "no such model\n",
        ] {
            let error = status_error(404, None, body);
            assert_eq!(error.message, "the server refused the request (HTTP 404): no such model");
            assert_eq!(error.kind, CallErrorKind::BadRequest);
        }
        assert_eq!(status_error(429, Some("7"), "").retry_after, Some(Duration::from_secs(7)));
        assert_eq!(status_error(503, Some("Wed, 21 Oct"), "").retry_after, None);
        assert!(status_error(500, None, &"x".repeat(9000)).message.len() < 600);
    }
}
