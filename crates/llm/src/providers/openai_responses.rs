//! OpenAI's responses API. Must not know other formats.

use serde_json::{Value, json};

use super::wire::{End, Incoming, Wire, count, text};
use crate::http::Request;
use crate::request::{Prompt, Settings};

/// The format.
pub struct Responses;

impl Wire for Responses {
    fn name(&self) -> &'static str {
        "openai"
    }

    fn request(&self, base: &str, key: &str, prompt: &Prompt, settings: &Settings, structured: bool) -> Request {
        let mut body = json!({
            "model": settings.model, "instructions": prompt.system, "input": prompt.user, "stream": true, "store": false,
        });
        if let Some(effort) = settings.effort {
            body["reasoning"] = json!({"effort": effort.name()});
        }
        if let Some(temperature) = settings.temperature {
            body["temperature"] = json!(temperature);
        }
        if let Some(most) = settings.max_tokens {
            body["max_output_tokens"] = json!(most);
        }
        if let (true, Some(schema)) = (structured, &prompt.schema) {
            body["text"] =
                json!({"format": {"type": "json_schema", "name": "answer", "schema": schema, "strict": false}});
        }
        let headers = vec![("authorization", format!("Bearer {key}"))];
        Request { url: format!("{base}/responses"), headers, body }
    }

    fn event(&self, incoming: &mut Incoming, event: &str, data: &Value) {
        match text(data, "/type").unwrap_or(event) {
            "response.output_text.delta" => incoming.text.push_str(text(data, "/delta").unwrap_or_default()),
            "response.refusal.delta" => incoming.refusal.push_str(text(data, "/delta").unwrap_or_default()),
            "response.completed" | "response.incomplete" | "response.failed" => {
                finish(incoming, data.get("response").unwrap_or(&Value::Null));
            }
            "error" => {
                let message =
                    text(data, "/message").or_else(|| text(data, "/error/message")).unwrap_or("no reason given");
                incoming.end = Some(End::Failed(message.to_owned()));
            }
            _ => {}
        }
    }

    fn whole(&self, incoming: &mut Incoming, body: &Value) {
        let items = body.get("output").and_then(Value::as_array).into_iter().flatten();
        for part in items.filter_map(|i| i.get("content")?.as_array()).flatten() {
            incoming.text.push_str(text(part, "/text").unwrap_or_default());
            incoming.refusal.push_str(text(part, "/refusal").unwrap_or_default());
        }
        finish(incoming, body);
    }
}

fn finish(incoming: &mut Incoming, response: &Value) {
    incoming.tokens_in = count(response, "/usage/input_tokens").unwrap_or(incoming.tokens_in);
    incoming.tokens_out = count(response, "/usage/output_tokens").unwrap_or(incoming.tokens_out);
    incoming.end = Some(match (text(response, "/status"), text(response, "/incomplete_details/reason")) {
        (Some("failed"), _) => End::Failed(text(response, "/error/message").unwrap_or("no reason given").to_owned()),
        (Some("incomplete"), Some("content_filter")) => End::Refused("a content filter stopped the answer".to_owned()),
        (Some("incomplete"), _) => End::Truncated,
        _ => End::Complete,
    });
}
