//! OpenAI's chat completions, spoken by most other endpoints too. Must not know other formats.

use serde_json::{Value, json};

use super::wire::{End, Incoming, Wire, count, text};
use crate::http::Request;
use crate::request::{Prompt, Settings};

/// The format.
pub struct Chat;

impl Wire for Chat {
    fn name(&self) -> &'static str {
        "openai-chat"
    }

    fn request(&self, base: &str, key: &str, prompt: &Prompt, settings: &Settings, structured: bool) -> Request {
        let mut body = json!({
            "model": settings.model,
            "messages": [{"role": "system", "content": prompt.system}, {"role": "user", "content": prompt.user}],
            "stream": true,
            "stream_options": {"include_usage": true},
        });
        if let Some(effort) = settings.effort {
            body["reasoning_effort"] = json!(effort.name());
        }
        if let Some(temperature) = settings.temperature {
            body["temperature"] = json!(temperature);
        }
        if let Some(most) = settings.max_tokens {
            body["max_completion_tokens"] = json!(most);
        }
        if let (true, Some(schema)) = (structured, &prompt.schema) {
            body["response_format"] =
                json!({"type": "json_schema", "json_schema": {"name": "answer", "schema": schema, "strict": false}});
        }
        let mut headers = Vec::new();
        if !key.is_empty() {
            headers.push(("authorization", format!("Bearer {key}")));
        }
        Request { url: format!("{base}/chat/completions"), headers, body }
    }

    fn event(&self, incoming: &mut Incoming, _event: &str, data: &Value) {
        if let Some(message) = text(data, "/error/message") {
            incoming.end = Some(End::Failed(message.to_owned()));
            return;
        }
        incoming.text.push_str(text(data, "/choices/0/delta/content").unwrap_or_default());
        incoming.refusal.push_str(text(data, "/choices/0/delta/refusal").unwrap_or_default());
        finish(incoming, data);
    }

    fn whole(&self, incoming: &mut Incoming, body: &Value) {
        incoming.text.push_str(text(body, "/choices/0/message/content").unwrap_or_default());
        incoming.refusal.push_str(text(body, "/choices/0/message/refusal").unwrap_or_default());
        finish(incoming, body);
    }
}

fn finish(incoming: &mut Incoming, data: &Value) {
    if let Some(reason) = text(data, "/choices/0/finish_reason") {
        incoming.end = Some(match reason {
            "length" => End::Truncated,
            "content_filter" => End::Refused("a content filter stopped the answer".to_owned()),
            _ => End::Complete,
        });
    }
    incoming.tokens_in = count(data, "/usage/prompt_tokens").unwrap_or(incoming.tokens_in);
    incoming.tokens_out = count(data, "/usage/completion_tokens").unwrap_or(incoming.tokens_out);
}
