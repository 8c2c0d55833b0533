//! Google's Gemini API. Must not know other formats.

use serde_json::{Value, json};

use super::wire::{End, Incoming, Wire, count, text};
use crate::http::Request;
use crate::request::{Prompt, Settings};

/// The format.
pub struct Gemini;

impl Wire for Gemini {
    fn name(&self) -> &'static str {
        "gemini"
    }

    fn request(&self, base: &str, key: &str, prompt: &Prompt, settings: &Settings, structured: bool) -> Request {
        let mut generation = json!({});
        if let Some(effort) = settings.effort {
            generation["thinkingConfig"] = json!({"thinkingLevel": effort.name()});
        }
        if let Some(temperature) = settings.temperature {
            generation["temperature"] = json!(temperature);
        }
        if let Some(most) = settings.max_tokens {
            generation["maxOutputTokens"] = json!(most);
        }
        if let (true, Some(schema)) = (structured, &prompt.schema) {
            generation["responseMimeType"] = json!("application/json");
            generation["responseJsonSchema"] = schema.clone();
        }
        let body = json!({
            "systemInstruction": {"parts": [{"text": prompt.system}]},
            "contents": [{"role": "user", "parts": [{"text": prompt.user}]}],
            "generationConfig": generation,
        });
        let model = settings.model.strip_prefix("models/").unwrap_or(&settings.model);
        // The key goes into a header: an address ends up in logs.
        let headers = vec![("x-goog-api-key", key.to_owned())];
        Request { url: format!("{base}/models/{model}:streamGenerateContent?alt=sse"), headers, body }
    }

    fn event(&self, incoming: &mut Incoming, _event: &str, data: &Value) {
        if let Some(message) = text(data, "/error/message") {
            incoming.end = Some(End::Failed(message.to_owned()));
            return;
        }
        if let Some(reason) = text(data, "/promptFeedback/blockReason") {
            incoming.end = Some(End::Refused(format!("the prompt was blocked ({reason})")));
        }
        let parts = data.pointer("/candidates/0/content/parts").and_then(Value::as_array).into_iter().flatten();
        for part in parts.filter(|p| p.get("thought") != Some(&Value::Bool(true))) {
            incoming.text.push_str(text(part, "/text").unwrap_or_default());
        }
        if let Some(reason) = text(data, "/candidates/0/finishReason") {
            incoming.end = Some(match reason {
                "STOP" => End::Complete,
                "MAX_TOKENS" => End::Truncated,
                other => End::Refused(format!("the answer was stopped ({other})")),
            });
        }
        if let Some(prompt) = count(data, "/usageMetadata/promptTokenCount") {
            incoming.tokens_in = prompt;
            incoming.tokens_out = count(data, "/usageMetadata/candidatesTokenCount").unwrap_or(0)
                + count(data, "/usageMetadata/thoughtsTokenCount").unwrap_or(0);
        }
    }

    fn whole(&self, incoming: &mut Incoming, body: &Value) {
        // Without `alt=sse` a proxy may hand over the chunks as one list.
        match body {
            Value::Array(chunks) => chunks.iter().for_each(|c| self.event(incoming, "", c)),
            one => self.event(incoming, "", one),
        }
    }
}
