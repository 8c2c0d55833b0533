//! Calls against a server that speaks each provider's wire format and misbehaves. Each call must end in bounded time with the right kind of error or the right answer. No test asserts how long anything takes beyond the
//! deadlines that the calls were given.
#![allow(clippy::unwrap_used)]

#[path = "support/server.rs"]
#[allow(dead_code, missing_docs)] // Shared with the tests of runs.
mod server;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use ksearch_llm::{
    Ask, CallErrorKind, Client, Effort, Limits, Prices, Prompt, ProviderKind, Secret, Settings, json, open, schema,
};
use serde_json::{Value, json};
use server::{Act, FORMATS, Format, Server, kind, serve};

const KEY: &str = "sk-very-secret-key";

fn client(format: Format, server: &Server, limits: Limits) -> Client {
    let settings = Settings {
        model: "gpt-5.4-test".into(),
        effort: Some(Effort::High),
        temperature: Some(0.5),
        max_tokens: Some(777),
    };
    Client::new(open(&kind(format), Some(&server.address), Secret::new(KEY)), settings, limits, Prices::embedded())
}

fn limits() -> Limits {
    Limits {
        deadline: Duration::from_secs(10),
        idle: Duration::from_millis(300),
        tries: 3,
        reasks: 2,
        backoff: Duration::from_millis(5),
    }
}

fn answer_schema() -> Value {
    json!({"type": "object", "required": ["n"], "additionalProperties": false,
           "properties": {"n": {"type": "integer"}}})
}

fn prompt() -> Prompt {
    Prompt {
        label: "test".into(),
        template: "test/1".into(),
        system: "Be brief.".into(),
        user: "Name a number.".into(),
        schema: Some(answer_schema()),
    }
}

fn check(text: &str) -> Result<i64, Vec<String>> {
    let found = json::find_object(text).map_err(|e| vec![e])?;
    let faults = schema::check(&found.value, &answer_schema());
    if faults.is_empty() { Ok(found.value["n"].as_i64().unwrap()) } else { Err(faults) }
}

fn run(format: Format, acts: Vec<Act>, limits: Limits) -> (Ask<i64>, Server) {
    let server = serve(format, acts);
    let ask = client(format, &server, limits).ask(&prompt(), &|| false, check);
    (ask, server)
}

fn good() -> Act {
    Act::Answer(r#"{"n": 7}"#.into())
}

#[test]
fn each_format_is_asked_and_read_as_documented() {
    for format in FORMATS {
        let (ask, server) = run(format, vec![good()], limits());
        assert_eq!(ask.result.unwrap(), 7, "{format:?}");
        let exchange = &ask.exchanges[0];
        assert_eq!((exchange.tokens_in, exchange.tokens_out), (100, 25), "{format:?}");
        assert_eq!(exchange.usd, Some((100.0 * 2.5 + 25.0 * 15.0) / 1e6));
        let seen = server.seen.lock().unwrap();
        insta::assert_snapshot!(format!("{format:?}"), format!("{}\n{:#}", seen[0].path, seen[0].body));
        let auth = match format {
            Format::Gemini => "x-goog-api-key: ",
            Format::Anthropic => "x-api-key: ",
            _ => "authorization: Bearer ",
        };
        assert!(seen[0].headers.contains(&format!("{auth}{KEY}")), "{}", seen[0].headers);
        assert!(!seen[0].path.contains(KEY) && !seen[0].body.to_string().contains(KEY));
    }
}

#[test]
fn what_may_pass_is_tried_again_and_what_may_not_is_said() {
    let kind_of = |format, act: Act| {
        let (ask, server) = run(format, vec![act.clone(), act.clone(), act], limits());
        let error = ask.result.unwrap_err();
        let tries = server.seen.lock().unwrap().len();
        assert!(!error.message.contains(KEY), "{}", error.message);
        assert_eq!(ask.exchanges.len(), tries, "each try is in the transcript");
        (error.kind, tries)
    };
    for format in FORMATS {
        let cases = [
            (Act::Silence, CallErrorKind::Timeout, 3),
            (Act::Hangup, CallErrorKind::Transport, 3),
            (Act::Status(429, "", "{}"), CallErrorKind::RateLimited, 3),
            (Act::Status(500, "", "oops"), CallErrorKind::Server, 3),
            (Act::Status(401, "", "bad key sk-very-secret-key"), CallErrorKind::Auth, 1),
            (Act::Status(404, "", r#"{"error": {"message": "no such model"}}"#), CallErrorKind::BadRequest, 1),
            (Act::Status(302, "location: http://127.0.0.1:1/\r\n", ""), CallErrorKind::Malformed, 3),
            (Act::Stall("{\"n\":".into()), CallErrorKind::Timeout, 3),
            (Act::Cut("{\"n\":".into()), CallErrorKind::Transport, 3),
            (Act::FailInStream, CallErrorKind::Server, 3),
            (Act::Garbage, CallErrorKind::Malformed, 3),
            (Act::Refusal, CallErrorKind::Refused, 1),
            (Act::Limit, CallErrorKind::Truncated, 1),
            (Act::Answer("x".repeat(5 << 20)), CallErrorKind::TooLarge, 1),
        ];
        for (index, (act, kind, tries)) in cases.into_iter().enumerate() {
            assert_eq!(kind_of(format, act), (kind, tries), "{format:?}, case {index}");
        }
    }
}

#[test]
fn a_failure_that_passes_costs_nothing_but_time() {
    for format in FORMATS {
        let acts = vec![Act::Status(503, "", ""), Act::Status(429, "retry-after: 0\r\n", ""), good()];
        let (ask, _) = run(format, acts, limits());
        assert_eq!(ask.result.unwrap(), 7, "{format:?}");
        assert_eq!(ask.exchanges.iter().filter(|e| e.error.is_some()).count(), 2);
    }
}

#[test]
fn a_server_that_asks_to_wait_longer_than_the_deadline_ends_the_call_at_once() {
    for format in FORMATS {
        let (ask, server) = run(format, vec![Act::Status(429, "retry-after: 3600\r\n", ""), good()], limits());
        assert_eq!(ask.result.unwrap_err().kind, CallErrorKind::RateLimited, "{format:?}");
        assert_eq!(server.seen.lock().unwrap().len(), 1, "{format:?}");
    }
}

#[test]
fn one_deadline_bounds_a_call_with_all_its_tries() {
    let limits = Limits { deadline: Duration::from_millis(400), idle: Duration::from_mins(1), tries: 100, ..limits() };
    let (ask, _) = run(Format::Chat, vec![Act::Silence, Act::Silence], limits);
    assert_eq!(ask.result.unwrap_err().kind, CallErrorKind::Timeout);
}

#[test]
fn a_call_can_be_cancelled_while_the_server_is_silent() {
    let server = serve(Format::Chat, vec![Act::Silence]);
    let stop = Arc::new(AtomicBool::new(false));
    let setter = Arc::clone(&stop);
    thread::spawn(move || {
        thread::sleep(Duration::from_millis(150));
        setter.store(true, Ordering::SeqCst);
    });
    let long = Limits { deadline: Duration::from_mins(10), idle: Duration::from_mins(10), ..limits() };
    let ask = client(Format::Chat, &server, long).ask(&prompt(), &|| stop.load(Ordering::SeqCst), check);
    assert_eq!(ask.result.unwrap_err().kind, CallErrorKind::Cancelled);
    assert!(ask.exchanges.is_empty());
}

#[test]
fn unusable_answers_are_asked_again_with_what_is_wrong() {
    for format in FORMATS {
        let acts = vec![
            Act::Answer("Sure! Here is a number.".into()),
            Act::Answer(r#"{"n": "seven", "m": 1}"#.into()),
            Act::Answer("```json\n{\"n\": 7,}\n```".into()),
        ];
        let (ask, server) = run(format, acts, limits());
        assert_eq!(ask.result.unwrap(), 7, "{format:?}");
        assert_eq!(ask.exchanges[0].faults, ["there is no JSON object in the answer"]);
        let seen = server.seen.lock().unwrap();
        let third = seen[2].body.to_string();
        assert!(third.contains("n: expected integer, found string") && third.contains("no field `m`"), "{third}");
    }
    let bad = Act::Answer(r#"{"n": 1.5"#.into());
    let (ask, server) = run(Format::Chat, vec![bad.clone(), bad.clone(), bad.clone(), bad], limits());
    let error = ask.result.unwrap_err();
    assert_eq!((error.kind, server.seen.lock().unwrap().len()), (CallErrorKind::Unusable, 3));
    assert!(error.message.contains("the JSON object is cut off"), "{}", error.message);
}

#[test]
fn an_endpoint_without_structured_output_is_asked_without() {
    for format in FORMATS {
        let no = Act::Status(400, "", r#"{"error": {"message": "Unknown name \"json_schema\": Cannot find field."}}"#);
        let server = serve(format, vec![no, good(), good()]);
        let client = client(format, &server, limits());
        assert_eq!(client.ask(&prompt(), &|| false, check).result.unwrap(), 7, "{format:?}");
        assert_eq!(client.ask(&prompt(), &|| false, check).result.unwrap(), 7);
        let seen = server.seen.lock().unwrap();
        let asks = |i: usize| seen[i].body.to_string().contains("additionalProperties");
        assert_eq!([asks(0), asks(1), asks(2)], [true, false, false], "{format:?}");
    }
}

#[test]
fn an_endpoint_that_does_not_stream_is_read_all_the_same() {
    for format in FORMATS {
        let (ask, _) = run(format, vec![Act::NotStreamed(r#"{"n": 7}"#.into())], limits());
        assert_eq!(ask.result.unwrap(), 7, "{format:?}");
        assert_eq!(ask.exchanges[0].tokens_out, 25, "{format:?}");
    }
}

#[test]
fn a_transcript_replays_failures_and_all() {
    let (ask, _) = run(Format::Chat, vec![Act::Status(500, "", ""), Act::Answer("no".into()), good()], limits());
    let replay = ksearch_llm::providers::Replay::new(ask.exchanges.clone());
    let client = Client::new(Box::new(replay), Settings::default(), limits(), Prices::default());
    let again = client.ask(&prompt(), &|| false, check);
    assert_eq!(again.result.unwrap(), 7);
    let texts = |e: &[ksearch_llm::Exchange]| e.iter().map(|e| e.answer.clone()).collect::<Vec<_>>();
    assert_eq!(texts(&again.exchanges), texts(&ask.exchanges));
    let error = client.ask(&prompt(), &|| false, check).result.unwrap_err();
    assert_eq!(error.kind, CallErrorKind::NotRecorded);
    assert!(error.message.contains("template test/1"), "{}", error.message);
}

#[test]
fn a_place_that_cannot_be_reached_is_named_without_the_key() {
    let settings = Settings { model: "m".into(), ..Settings::default() };
    let provider = open(&ProviderKind::OpenAiChat, Some("http://127.0.0.1:1"), Secret::new(KEY));
    let client = Client::new(provider, settings, limits(), Prices::default());
    let error = client.ask(&prompt(), &|| false, check).result.unwrap_err();
    assert_eq!(error.kind, CallErrorKind::Transport);
    assert!(!error.message.contains(KEY));
    assert_eq!(format!("{:?}", Secret::new(KEY)), "Secret([key])");
}
