//! The dashboard over its socket: what it answers, what it refuses, and that no address leads to a file.

#![allow(clippy::unwrap_used, missing_docs)]

use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ksearch_report::model::LineCosts;
use ksearch_report::ui::{Control, Dashboard};
use ksearch_search::{Journal, RunStore};

#[path = "support/synthetic.rs"]
mod synthetic;

#[derive(Default)]
struct Noted(Mutex<Vec<String>>);

impl Control for Noted {
    fn resume(&self, run: &str) -> Result<(), String> {
        self.0.lock().unwrap().push(run.to_owned());
        Ok(())
    }

    fn line_costs(&self, run: &str) -> Result<LineCosts, String> {
        self.0.lock().unwrap().push(format!("line costs of {run}"));
        let first = ("k.metal".to_owned(), 1, 0.625, "counted for this test".to_owned());
        Ok(LineCosts { label: "share of test counts".to_owned(), lines: vec![first] })
    }
}

struct Served {
    port: u16,
    base: String,
    noted: Arc<Noted>,
    folder: tempfile::TempDir,
}

fn write_run(root: &Path, name: &str, candidates: u32) {
    std::fs::create_dir_all(root.join(name)).unwrap();
    let mut journal = Journal::create(&root.join(name).join("journal.db")).unwrap();
    synthetic::Synthetic::new(synthetic::Texts::default()).write(&mut journal, candidates, true);
}

fn serve() -> Served {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("runs");
    write_run(&root, "synthetic-1", 30);
    write_run(&root, "synthetic-2", 40);
    std::fs::write(folder.path().join("secret.txt"), "secret").unwrap();
    std::fs::write(root.join("synthetic-1").join("note.txt"), "secret").unwrap();
    let noted = Arc::new(Noted::default());
    let dashboard = Dashboard::bind(0, RunStore::new(&root), Arc::clone(&noted) as Arc<dyn Control>).unwrap();
    let address = dashboard.address();
    let (_, rest) = address.split_once("127.0.0.1:").unwrap();
    let (port, path) = rest.split_once('/').unwrap();
    let served = Served { port: port.parse().unwrap(), base: format!("/{path}"), noted, folder };
    std::thread::spawn(move || dashboard.serve().unwrap());
    served
}

impl Served {
    /// Status, headers and body.
    fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)]) -> (u16, String, String) {
        let mut socket = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        socket.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
        let host = format!("127.0.0.1:{}", self.port);
        let mut request = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\nContent-Length: 0\r\n");
        if !headers.iter().any(|(n, _)| *n == "Host") {
            let _ = write!(request, "Host: {host}\r\n");
        }
        for (name, value) in headers {
            let _ = write!(request, "{name}: {value}\r\n");
        }
        socket.write_all(format!("{request}\r\n").as_bytes()).unwrap();
        let mut answer = Vec::new();
        socket.read_to_end(&mut answer).unwrap();
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        let status = head.split(' ').nth(1).and_then(|s| s.parse().ok()).unwrap_or(0);
        (status, head.to_lowercase(), body.to_owned())
    }

    fn get(&self, path: &str) -> (u16, String, String) {
        self.ask("GET", &format!("{}{path}", self.base), &[])
    }
}

#[test]
fn pages_are_answered_with_headers_that_keep_them_to_themselves() {
    let served = serve();
    let (status, head, body) = served.get("");
    assert_eq!(status, 200);
    assert!(
        head.contains("content-security-policy: default-src 'none'") && head.contains("referrer-policy: no-referrer"),
        "{head}"
    );
    assert!(!head.contains("access-control-allow"), "{head}");
    assert!(body.contains("run/synthetic-1/") && body.contains("run/synthetic-2/"));
    let (status, _, body) = served.get("run/synthetic-1/data.json");
    assert_eq!(status, 200);
    let value: serde_json::Value = serde_json::from_str(body.trim_matches(|c| c != '{' && c != '}')).unwrap();
    assert_eq!(value["data"]["trials"].as_array().unwrap().len(), 30);
    assert_eq!(served.get("run/synthetic-1/node/n1.json").0, 200);
    assert_eq!(served.get("run/synthetic-1/node/n99999.json").0, 404);
    assert_eq!(served.get("compare?a=synthetic-1:naive&b=synthetic-2:best").0, 200);
    assert_eq!(served.get("compare?a=synthetic-1:naive&b=synthetic-1:best").0, 200);
    assert_eq!(served.get("compare?a=synthetic-1:n1&b=synthetic-1:best").0, 200);
    assert_eq!(served.get("compare?a=synthetic-1:n99999&b=synthetic-1:best").0, 404);
    assert_eq!(served.get("compare?a=synthetic-1:zzz&b=nothing").0, 404);
    assert_eq!(served.get("run/synthetic-1/report.html").0, 200);
    assert_eq!(served.get("assets/page.js").0, 200);
}

#[test]
fn without_the_token_nothing_is_answered() {
    let served = serve();
    for path in ["/", "/run/synthetic-1/", "/assets/page.js", "/00000000000000000000000000000000/", "/favicon.ico"] {
        let (status, _, body) = served.ask("GET", path, &[]);
        assert_eq!((status, body.contains("synthetic")), (404, false), "{path}");
    }
}

#[test]
fn other_hosts_and_origins_are_refused() {
    let served = serve();
    assert_eq!(served.ask("GET", &served.base, &[("Host", "evil.example")]).0, 421);
    assert_eq!(served.ask("GET", &served.base, &[("Host", &format!("localhost:{}", served.port))]).0, 200);
    assert_eq!(served.ask("GET", &served.base, &[("Origin", "http://evil.example")]).0, 403);
    let stop = format!("{}run/synthetic-1/stop", served.base);
    let resume = format!("{}run/synthetic-1/resume", served.base);
    for path in [&stop, &resume] {
        assert_eq!(served.ask("POST", path, &[]).0, 403, "without an origin");
        assert_eq!(served.ask("POST", path, &[("Origin", "null")]).0, 403);
        assert_eq!(served.ask("GET", path, &[]).0, 405);
    }
    assert!(served.noted.0.lock().unwrap().is_empty());
    assert!(!served.folder.path().join("runs/synthetic-1/stop").exists());
}

#[test]
fn its_own_page_may_stop_and_resume() {
    let served = serve();
    let own = format!("http://127.0.0.1:{}", served.port);
    let own = [("Origin", own.as_str())];
    assert_eq!(served.ask("POST", &format!("{}run/synthetic-1/stop", served.base), &own).0, 204);
    assert!(served.folder.path().join("runs/synthetic-1/stop").exists());
    assert_eq!(served.ask("POST", &format!("{}run/synthetic-1/resume", served.base), &own).0, 204);
    assert_eq!(*served.noted.0.lock().unwrap(), ["synthetic-1"]);
    assert_eq!(served.ask("POST", &format!("{}run/nothing-1/resume", served.base), &own).0, 404);
}

#[test]
fn no_address_leads_to_a_file() {
    let served = serve();
    for path in [
        "../secret.txt",
        "..%2fsecret.txt",
        "run/..%2f..%2fsecret.txt/",
        "run/../../secret.txt",
        "run/%2e%2e/",
        "run/../",
        "run/synthetic-1/note.txt",
        "run/synthetic-1/journal.db",
        "run/synthetic-1%2fnote.txt/",
        "run/synthetic-1/node/..%2f..%2fnote.txt",
        "run/synthetic-1%00/",
        "run//etc/passwd",
        "run/%2fetc/data.json",
        "assets/..%2f..%2fsecret.txt",
        "assets/../../secret.txt",
        "compare?a=../secret.txt&b=%2fetc%2fpasswd",
        "compare?a=..%2f..&b=.",
    ] {
        let (status, _, body) = served.get(path);
        assert!(status == 404 || status == 400, "{path}: {status}");
        assert!(!body.contains("secret") || path.contains("compare"), "{path}");
    }
}

#[test]
fn a_watcher_is_told_when_a_run_changes() {
    let served = serve();
    let mut socket = TcpStream::connect(("127.0.0.1", served.port)).unwrap();
    socket.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
    let request =
        format!("GET {}run/synthetic-1/events HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n\r\n", served.base, served.port);
    socket.write_all(request.as_bytes()).unwrap();
    let mut heard = String::new();
    let mut buffer = [0; 4096];
    let mut wait_for = |count: usize| {
        while heard.matches("event: changed\ndata: now\n").count() < count {
            let n = socket.read(&mut buffer).unwrap();
            assert!(n > 0, "the stream ended");
            heard.push_str(&String::from_utf8_lossy(&buffer[..n]));
        }
    };
    wait_for(1);
    let mut journal = Journal::open(&served.folder.path().join("runs/synthetic-1/journal.db")).unwrap();
    journal.append(vec![ksearch_search::Event::Stopped { reason: ksearch_search::Stop::Interrupted }]).unwrap();
    wait_for(2);
    socket.shutdown(Shutdown::Both).unwrap();
}

#[test]
fn what_lines_cost_is_counted_once_and_then_shown() {
    let served = serve();
    let source = || {
        let (status, _, body) = served.get("run/synthetic-1/data.json");
        assert_eq!(status, 200);
        body
    };
    assert!(!source().contains("share of test counts"));
    // The page asks again when it is told that something changed; this test just asks again.
    let found = (0..600).any(|_| {
        std::thread::sleep(Duration::from_millis(50));
        source().contains("share of test counts")
    });
    assert!(found);
    assert_eq!(served.noted.0.lock().unwrap().iter().filter(|n| *n == "line costs of synthetic-1").count(), 1);
}
