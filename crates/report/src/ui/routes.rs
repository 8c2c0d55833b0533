//! Addresses of the dashboard and what is answered. Must not know how runs are kept or drawn.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Path, Query, Request, State};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use futures_util::Stream;
use ksearch_search::RunStore;
use ksearch_search::view::best;
use ksearch_world::NodeId;
use serde::Deserialize;
use serde_json::json;

use super::shelf::Shelf;
use super::{Control, Guard, pages};
use crate::compare::{Side, compare};
use crate::model::Shown;
use crate::{page, plots};

/// How often a journal is looked at for something new.
const LOOK: Duration = Duration::from_millis(700);

/// Everything a page may do: run what this server sends, and nothing else.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

#[derive(Clone)]
struct App {
    shelf: Arc<Shelf>,
    control: Arc<dyn Control>,
    guard: Guard,
}

pub fn router(guard: Guard, store: RunStore, control: Arc<dyn Control>) -> Router {
    let app = App { shelf: Arc::new(Shelf::new(store)), control, guard };
    Router::new()
        .route("/{token}/", get(list))
        .route("/{token}/rows", get(rows))
        .route("/{token}/events", get(list_events))
        .route("/{token}/assets/{name}", get(asset))
        .route("/{token}/compare", get(comparison))
        .route("/{token}/run/{run}/", get(run))
        .route("/{token}/run/{run}/data.json", get(data))
        .route("/{token}/run/{run}/report.html", get(report))
        .route("/{token}/run/{run}/node/{node}", get(node))
        .route("/{token}/run/{run}/events", get(run_events))
        .route("/{token}/run/{run}/stop", post(stop))
        .route("/{token}/run/{run}/resume", post(resume))
        .layer(middleware::from_fn_with_state(app.clone(), guarded))
        .with_state(app)
}

/// Refuses whom it must, and sends the headers that keep a page to itself.
async fn guarded(State(app): State<App>, request: Request, next: Next) -> Response {
    let mut response = match app.guard.check(request.method(), request.uri().path(), request.headers()) {
        Ok(()) => next.run(request).await,
        Err(refusal) => refusal.status().into_response(),
    };
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

fn page_of(text: String) -> Response {
    ([(header::CONTENT_TYPE, "text/html; charset=utf-8")], text).into_response()
}

fn json_of(value: &serde_json::Value) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], value.to_string()).into_response()
}

/// Work on journals happens beside the server, so that a long one holds nobody up.
async fn beside(what: impl FnOnce() -> Response + Send + 'static) -> Response {
    tokio::task::spawn_blocking(what).await.unwrap_or_else(|_| StatusCode::INTERNAL_SERVER_ERROR.into_response())
}

fn missing(up: &str, why: &str) -> Response {
    (StatusCode::NOT_FOUND, page_of(pages::trouble(up, why))).into_response()
}

async fn list(State(app): State<App>) -> Response {
    beside(move || match app.shelf.list() {
        Ok(entries) => page_of(pages::runs(&entries, &app.shelf.store().root().display().to_string())),
        Err(why) => missing("", &why),
    })
    .await
}

async fn rows(State(app): State<App>) -> Response {
    beside(move || match app.shelf.list() {
        Ok(entries) => page_of(pages::rows(&entries)),
        Err(why) => missing("", &why),
    })
    .await
}

async fn asset(Path((_, name)): Path<(String, String)>) -> Response {
    let (kind, text) = match name.as_str() {
        "page.css" => ("text/css", page::STYLE),
        "plots.css" => ("text/css", plots::STYLE),
        "page.js" => ("text/javascript", page::SCRIPT),
        "live.js" => ("text/javascript", include_str!("../assets/live.js")),
        "runs.js" => ("text/javascript", include_str!("../assets/runs.js")),
        _ => return StatusCode::NOT_FOUND.into_response(),
    };
    ([(header::CONTENT_TYPE, format!("{kind}; charset=utf-8"))], text).into_response()
}

async fn run(State(app): State<App>, Path((_, name)): Path<(String, String)>) -> Response {
    if app.shelf.knows(&name) { page_of(pages::run(&name)) } else { missing("../../", "There is no such run.") }
}

async fn data(State(app): State<App>, Path((_, name)): Path<(String, String)>) -> Response {
    beside(move || {
        let busy = app.shelf.store().is_busy(&name);
        let made = app.shelf.with(&name, |run| {
            let report = run.report();
            let mut data = page::data(&report);
            if let Some(object) = data.as_object_mut() {
                object.insert("remote".to_owned(), json!("."));
                object.insert("busy".to_owned(), json!(busy));
                object.insert("working".to_owned(), json!(report.run.working));
                object.insert("evaluations".to_owned(), json!([report.run.evaluations, report.run.budget]));
            }
            let sections: Vec<_> = page::sections(&report)
                .into_iter()
                .map(|s| json!({ "id": s.id, "title": s.title, "body": s.body }))
                .collect();
            let best = best(&run.view.state).map(|b| b.candidate);
            (json!({ "head": page::head(&report), "sections": sections, "data": data }), best)
        });
        match made {
            Ok((value, best)) => {
                // A run that is worked on needs the processor, and may have another best soon.
                if let Some(best) = best.filter(|b| !busy && app.shelf.is_to_be_priced(&name, b)) {
                    tokio::task::spawn_blocking(move || {
                        let found = app.control.line_costs(&name);
                        app.shelf.priced(&name, best, found.map_or_else(Shown::missing, Shown::Known));
                    });
                }
                json_of(&value)
            }
            Err(why) => (StatusCode::NOT_FOUND, json_of(&json!({ "error": why }))).into_response(),
        }
    })
    .await
}

async fn report(State(app): State<App>, Path((_, name)): Path<(String, String)>) -> Response {
    beside(move || match app.shelf.with(&name, page::stand_alone) {
        Ok(text) => {
            let named = format!(
                "attachment; filename=\"{}.html\"",
                name.replace(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_', "_")
            );
            ([(header::CONTENT_DISPOSITION, named)], page_of(text)).into_response()
        }
        Err(why) => missing("../../", &why),
    })
    .await
}

async fn node(State(app): State<App>, Path((_, name, node)): Path<(String, String, String)>) -> Response {
    beside(move || {
        let id = node.strip_suffix(".json").and_then(NodeId::parse);
        let detail = id.and_then(|id| app.shelf.with(&name, |run| run.node(id)).ok().flatten());
        match detail {
            Some(detail) => json_of(&json!(detail)),
            None => StatusCode::NOT_FOUND.into_response(),
        }
    })
    .await
}

/// The two sides of a comparison: `RUN` or `RUN:CANDIDATE`.
#[derive(Deserialize)]
struct Pair {
    a: String,
    b: String,
}

async fn comparison(State(app): State<App>, Query(pair): Query<Pair>) -> Response {
    beside(move || {
        let split = |text: &str| {
            let (run, candidate) = text.split_once(':').unwrap_or((text, ""));
            (run.to_owned(), candidate.to_owned())
        };
        let ((run_a, a), (run_b, b)) = (split(&pair.a), split(&pair.b));
        let made = if run_a == run_b {
            // One lock, taken once.
            app.shelf.with(&run_a, |run| Ok(compare(&Side::find(run, &a)?, &Side::find(run, &b)?)))
        } else {
            // Always in the same order, so that two comparisons never wait for each other.
            let turned = run_b < run_a;
            let (first, second) = if turned { (&run_b, &run_a) } else { (&run_a, &run_b) };
            app.shelf.with(first, |x| {
                let inner = app.shelf.with(second, |y| {
                    let (x, y) = if turned { (y, x) } else { (x, y) };
                    Ok(compare(&Side::find(x, &a)?, &Side::find(y, &b)?))
                });
                inner.unwrap_or_else(Err)
            })
        };
        match made.unwrap_or_else(Err) {
            Ok(content) => page_of(pages::comparison(&content)),
            Err(why) => missing("", &why),
        }
    })
    .await
}

/// One message whenever `look` gives something else than before. Browsers drop messages without data.
fn changes<T, F>(look: F) -> Sse<impl Stream<Item = Result<Event, Infallible>>>
where
    T: PartialEq + Send + 'static,
    F: Fn() -> T + Send + Sync + 'static,
{
    let first: Option<T> = None;
    let stream = futures_util::stream::unfold((first, look), |(last, look)| async move {
        loop {
            let now = look();
            if last.as_ref() != Some(&now) {
                return Some((Ok(Event::default().event("changed").data("now")), (Some(now), look)));
            }
            tokio::time::sleep(LOOK).await;
        }
    });
    Sse::new(stream).keep_alive(KeepAlive::default())
}

async fn list_events(State(app): State<App>) -> Response {
    let shelf = Arc::clone(&app.shelf);
    changes(move || shelf.stamps()).into_response()
}

async fn run_events(State(app): State<App>, Path((_, name)): Path<(String, String)>) -> Response {
    if !app.shelf.knows(&name) {
        return StatusCode::NOT_FOUND.into_response();
    }
    let shelf = Arc::clone(&app.shelf);
    changes(move || (shelf.stamp(&name), shelf.store().is_busy(&name), shelf.is_priced(&name))).into_response()
}

async fn stop(State(app): State<App>, Path((_, name)): Path<(String, String)>) -> Response {
    if !app.shelf.knows(&name) {
        return StatusCode::NOT_FOUND.into_response();
    }
    done(app.shelf.store().request_stop(&name).map_err(|e| e.to_string()))
}

async fn resume(State(app): State<App>, Path((_, name)): Path<(String, String)>) -> Response {
    if !app.shelf.knows(&name) {
        return StatusCode::NOT_FOUND.into_response();
    }
    if app.shelf.store().is_busy(&name) {
        return done(Err("a process is working on it already".to_owned()));
    }
    beside(move || done(app.control.resume(&name))).await
}

fn done(result: Result<(), String>) -> Response {
    match result {
        Ok(()) => StatusCode::NO_CONTENT.into_response(),
        Err(why) => (StatusCode::CONFLICT, why).into_response(),
    }
}
