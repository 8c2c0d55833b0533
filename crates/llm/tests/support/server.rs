//! A server that speaks each provider's wire format and misbehaves in every way that servers do.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use ksearch_llm::ProviderKind;
use serde_json::{Value, json};

/// What the server does with one request.
#[derive(Clone, Debug)]
pub enum Act {
    /// Reads the request and says nothing.
    Silence,
    /// Closes the connection.
    Hangup,
    /// A status with a header and a body.
    Status(u16, &'static str, &'static str),
    /// A whole answer with this text, in the provider's format.
    Answer(String),
    /// A stream of the answer that stops half way and stays open.
    Stall(String),
    /// A stream of the answer that is closed half way.
    Cut(String),
    /// The provider's way to decline.
    Refusal,
    /// The provider's way to say that the token limit cut the answer off.
    Limit,
    /// The provider's error event in the middle of a stream.
    FailInStream,
    /// A stream of something that is not JSON.
    Garbage,
    /// An answer in one piece instead of a stream.
    NotStreamed(String),
}

/// Whose format.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Format {
    Gemini,
    Responses,
    Chat,
    Anthropic,
}

/// All of them.
pub const FORMATS: [Format; 4] = [Format::Gemini, Format::Responses, Format::Chat, Format::Anthropic];

/// A request as it came.
pub struct Seen {
    pub path: String,
    pub headers: String,
    pub body: Value,
}

/// A running server; it ends with the process.
pub struct Server {
    pub address: String,
    pub seen: Arc<Mutex<Vec<Seen>>>,
}

/// Serves one connection per act, in order, then no more.
pub fn serve(format: Format, acts: Vec<Act>) -> Server {
    let acts = Mutex::new(acts.into_iter());
    serve_by(format, move |_| acts.lock().unwrap().next())
}

/// Serves what `act` says to the body of each request; where it says nothing, the connection is closed.
pub fn serve_by(format: Format, act: impl Fn(&Value) -> Option<Act> + Send + Sync + 'static) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&seen);
    let act = Arc::new(act);
    thread::spawn(move || {
        while let Ok((stream, _)) = listener.accept() {
            let (log, act) = (Arc::clone(&log), Arc::clone(&act));
            // A connection that is left open must not hold up the next.
            thread::spawn(move || handle(stream, format, &*act, &log));
        }
    });
    Server { address, seen }
}

fn handle(mut stream: TcpStream, format: Format, act: &dyn Fn(&Value) -> Option<Act>, log: &Mutex<Vec<Seen>>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let (mut path, mut headers, mut length) = (String::new(), String::new(), 0);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 || line == "\r\n" {
            break;
        }
        if path.is_empty() {
            line.split(' ').nth(1).unwrap_or_default().clone_into(&mut path);
        }
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        headers.push_str(&line);
    }
    let mut body = vec![0; length];
    let _ = reader.read_exact(&mut body);
    let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
    let act = act(&body).unwrap_or(Act::Hangup);
    log.lock().unwrap().push(Seen { path, headers, body });
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    let mut send = |text: &str| stream.write_all(text.as_bytes()).and_then(|()| stream.flush());
    let hold = || thread::sleep(Duration::from_secs(20));
    // The client may have hung up meanwhile; that is its right.
    let _ = match &act {
        Act::Silence => {
            hold();
            Ok(())
        }
        Act::Hangup => Ok(()),
        Act::Status(code, header, body) => send(&format!(
            "HTTP/1.1 {code} Status\r\n{header}content-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        )),
        Act::Answer(text) => send(&(head.to_owned() + &events(format, text, true))),
        Act::Stall(text) => {
            let sent = send(&(head.to_owned() + &events(format, text, false)));
            hold();
            sent
        }
        Act::Cut(text) => send(&(head.to_owned() + &events(format, text, false))),
        Act::Refusal => send(&(head.to_owned() + &refusal(format))),
        Act::Limit => send(&(head.to_owned() + &limit(format))),
        Act::FailInStream => send(&(head.to_owned() + &events(format, "half", false) + &failure(format))),
        Act::Garbage => send(&(head.to_owned() + "data: <html>\n\n")),
        Act::NotStreamed(text) => {
            let body = whole(format, text).to_string();
            let length = body.len();
            send(&format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
            ))
        }
    };
}

fn data(value: &Value) -> String {
    format!("data: {value}\n\n")
}

fn typed(value: &Value) -> String {
    format!("event: {}\ndata: {value}\n\n", value["type"].as_str().unwrap())
}

/// The stream of an answer, as each provider documents it; `complete` adds what ends it.
fn events(format: Format, text: &str, complete: bool) -> String {
    let middle = (0..=text.len() / 2).rev().find(|i| text.is_char_boundary(*i)).unwrap();
    let (a, b) = text.split_at(middle);
    let mut out = String::new();
    match format {
        Format::Gemini => {
            let part = |t: &str| json!({"candidates": [{"content": {"role": "model", "parts": [{"text": t}]}}]});
            let thought = json!({"candidates": [{"content": {"parts": [{"text": "hmm", "thought": true}]}}]});
            let end = json!({"candidates": [{"content": {"parts": [{"text": b}]}, "finishReason": "STOP"}],
                "usageMetadata": {"promptTokenCount": 100, "candidatesTokenCount": 20, "thoughtsTokenCount": 5}});
            out += &data(&thought);
            out += &data(&part(a));
            if complete {
                out += &data(&end);
            }
        }
        Format::Responses => {
            let delta = |t: &str| typed(&json!({"type": "response.output_text.delta", "item_id": "m", "delta": t}));
            out += &typed(&json!({"type": "response.created", "response": {"status": "in_progress"}}));
            out += &delta(a);
            if complete {
                out += &delta(b);
                out += &typed(&json!({"type": "response.completed", "response": {"status": "completed",
                    "usage": {"input_tokens": 100, "output_tokens": 25}}}));
            }
        }
        Format::Chat => {
            let chunk = |t: &str, end: Value| {
                data(&json!({"choices": [{"index": 0, "delta": {"content": t}, "finish_reason": end}]}))
            };
            out += &chunk(a, Value::Null);
            if complete {
                out += &chunk(b, Value::Null);
                out += &chunk("", json!("stop"));
                out += &data(&json!({"choices": [], "usage": {"prompt_tokens": 100, "completion_tokens": 25}}));
                out += "data: [DONE]\n\n";
            }
        }
        Format::Anthropic => {
            let delta = |t: &str| {
                typed(&json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": t}}))
            };
            let usage = json!({"input_tokens": 60, "cache_read_input_tokens": 40, "output_tokens": 1});
            out += &typed(&json!({"type": "message_start", "message": {"id": "m", "usage": usage}}));
            out += &typed(
                &json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
            );
            out += &typed(&json!({"type": "ping"}));
            out += &delta(a);
            if complete {
                out += &delta(b);
                out += &typed(&json!({"type": "content_block_stop", "index": 0}));
                out += &typed(&json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"},
                    "usage": {"output_tokens": 25}}));
                out += &typed(&json!({"type": "message_stop"}));
            }
        }
    }
    out
}

fn whole(format: Format, text: &str) -> Value {
    match format {
        Format::Gemini => json!([{"candidates": [{"content": {"parts": [{"text": text}]}, "finishReason": "STOP"}],
            "usageMetadata": {"promptTokenCount": 100, "candidatesTokenCount": 25}}]),
        Format::Responses => json!({"status": "completed",
            "output": [{"type": "reasoning"}, {"type": "message", "content": [{"type": "output_text", "text": text}]}],
            "usage": {"input_tokens": 100, "output_tokens": 25}}),
        Format::Chat => json!({"choices": [{"message": {"content": text}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 100, "completion_tokens": 25}}),
        Format::Anthropic => json!({"content": [{"type": "text", "text": text}], "stop_reason": "end_turn",
            "usage": {"input_tokens": 100, "output_tokens": 25}}),
    }
}

fn refusal(format: Format) -> String {
    match format {
        Format::Gemini => data(&json!({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}})),
        Format::Responses => {
            typed(&json!({"type": "response.refusal.delta", "delta": "I will not."}))
                + &typed(&json!({"type": "response.completed", "response": {"status": "completed"}}))
        }
        Format::Chat => {
            data(&json!({"choices": [{"delta": {"refusal": "I will not."}}]}))
                + &data(&json!({"choices": [{"delta": {}, "finish_reason": "stop"}]}))
        }
        Format::Anthropic => typed(&json!({"type": "message_delta", "delta": {"stop_reason": "refusal"}})),
    }
}

fn limit(format: Format) -> String {
    match format {
        Format::Gemini => {
            data(&json!({"candidates": [{"content": {"parts": [{"text": "{"}]}, "finishReason": "MAX_TOKENS"}]}))
        }
        Format::Responses => typed(&json!({"type": "response.incomplete",
            "response": {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}})),
        Format::Chat => data(&json!({"choices": [{"delta": {"content": "{"}, "finish_reason": "length"}]})),
        Format::Anthropic => typed(&json!({"type": "message_delta", "delta": {"stop_reason": "max_tokens"}})),
    }
}

fn failure(format: Format) -> String {
    match format {
        Format::Gemini | Format::Chat => data(&json!({"error": {"message": "overloaded", "code": 503}})),
        Format::Responses => typed(&json!({"type": "response.failed",
            "response": {"status": "failed", "error": {"message": "overloaded"}}})),
        Format::Anthropic => {
            typed(&json!({"type": "error", "error": {"type": "overloaded_error", "message": "overloaded"}}))
        }
    }
}

pub fn kind(format: Format) -> ProviderKind {
    match format {
        Format::Gemini => ProviderKind::Gemini,
        Format::Responses => ProviderKind::OpenAi,
        Format::Chat => ProviderKind::OpenAiChat,
        Format::Anthropic => ProviderKind::Anthropic,
    }
}
