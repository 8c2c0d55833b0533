//! Anthropic's messages API. Must not know other formats.

use serde_json::{Value, json};

use super::wire::{End, Incoming, Wire, count, text};
use crate::http::Request;
use crate::request::{Prompt, Settings};

/// The format wants a limit; this is above what a kernel and its reasoning need.
const MOST_TOKENS: u32 = 32_000;

/// The format.
pub struct Anthropic;

impl Wire for Anthropic {
    fn name(&self) -> &'static str {
        "anthropic"
    }

    fn request(&self, base: &str, key: &str, prompt: &Prompt, settings: &Settings, structured: bool) -> Request {
        let mut body = json!({
            "model": settings.model,
            "max_tokens": settings.max_tokens.unwrap_or(MOST_TOKENS),
            "system": prompt.system,
            "messages": [{"role": "user", "content": prompt.user}],
            "stream": true,
        });
        if let Some(temperature) = settings.temperature {
            body["temperature"] = json!(temperature);
        }
        let mut output = json!({});
        if let Some(effort) = settings.effort {
            output["effort"] = json!(effort.name());
        }
        if let (true, Some(schema)) = (structured, &prompt.schema) {
            output["format"] = json!({"type": "json_schema", "schema": schema});
        }
        if output != json!({}) {
            body["output_config"] = output;
        }
        let headers = vec![("x-api-key", key.to_owned()), ("anthropic-version", "2023-06-01".to_owned())];
        Request { url: format!("{base}/messages"), headers, body }
    }

    fn event(&self, incoming: &mut Incoming, event: &str, data: &Value) {
        match text(data, "/type").unwrap_or(event) {
            "message_start" => {
                let usage = |name: &str| count(data, &format!("/message/usage/{name}")).unwrap_or(0);
                incoming.tokens_in =
                    usage("input_tokens") + usage("cache_creation_input_tokens") + usage("cache_read_input_tokens");
            }
            "content_block_delta" => incoming.text.push_str(text(data, "/delta/text").unwrap_or_default()),
            "message_delta" => {
                incoming.tokens_out = count(data, "/usage/output_tokens").unwrap_or(incoming.tokens_out);
                if let Some(reason) = text(data, "/delta/stop_reason") {
                    incoming.end = Some(end(reason));
                }
            }
            "error" => {
                let message = text(data, "/error/message").unwrap_or("no reason given");
                incoming.end = Some(End::Failed(message.to_owned()));
            }
            _ => {}
        }
    }

    fn whole(&self, incoming: &mut Incoming, body: &Value) {
        for part in body.get("content").and_then(Value::as_array).into_iter().flatten() {
            incoming.text.push_str(text(part, "/text").unwrap_or_default());
        }
        incoming.tokens_in = count(body, "/usage/input_tokens").unwrap_or(0);
        incoming.tokens_out = count(body, "/usage/output_tokens").unwrap_or(0);
        incoming.end = text(body, "/stop_reason").map(end);
    }
}

fn end(reason: &str) -> End {
    match reason {
        "max_tokens" | "model_context_window_exceeded" => End::Truncated,
        "refusal" => End::Refused("it gave no reason".to_owned()),
        _ => End::Complete,
    }
}
