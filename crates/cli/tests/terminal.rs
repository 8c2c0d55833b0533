//! What reaches a terminal: the live view on a window that changes its width, and texts that try to steer it.
#![allow(clippy::unwrap_used)] // A test that cannot go on must say so at once.

use std::process::Command;

use assert_cmd::cargo::CommandCargoExt;
use ksearch_search::Journal;

#[path = "../../report/tests/support/synthetic.rs"]
#[allow(missing_docs)]
mod synthetic;

const NASTY: &str = "kernel\u{1b}[2J\u{1b}]0;owned\u{7}\u{9b}5A\u{202e}txt\u{2066}";

/// The text without the sequences of `keep`, or what else is in it that moves, rings or reorders.
fn steering(text: &str) -> Vec<char> {
    let foreign = |c: &char| {
        (c.is_control() && !matches!(c, '\n' | '\t'))
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}')
    };
    text.chars().filter(foreign).collect()
}

#[test]
fn texts_of_a_hostile_run_do_not_steer_the_terminal() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("runs/hostile-1");
    std::fs::create_dir_all(&folder).unwrap();
    let mut journal = Journal::create(&folder.join("journal.db")).unwrap();
    let texts = synthetic::Texts {
        task: NASTY.into(),
        title: NASTY.into(),
        source: format!("// {NASTY}\nkernel void k() {{}}\n"),
        answer: NASTY.into(),
    };
    synthetic::Synthetic::new(texts).write(&mut journal, 30, true);
    drop(journal);
    for args in [
        &["show", "hostile-1", "--tree"][..],
        &["show", "hostile-1", "--node", "n1"],
        &["show", "hostile-1", "--diff", "naive", "best"],
        &["show", "hostile-1", "--transcript"],
        &["show", "hostile-1", "--json"],
        &["runs"],
        &["report", "hostile-1", "--format", "md", "--out", "-"],
    ] {
        let output = Command::cargo_bin("ksearch")
            .unwrap()
            .current_dir(dir.path())
            .env_remove("KSEARCH_RUNS")
            .args(["--runs", "runs"])
            .args(args)
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains("kernel") || text.contains("hostile"), "{args:?}: {text}");
        assert_eq!(steering(&text), [], "{args:?}");
        assert_eq!(steering(&String::from_utf8(output.stderr).unwrap()), [], "{args:?}");
    }
}

#[cfg(target_os = "linux")]
mod live {
    use std::fs::{File, OpenOptions};
    use std::io::Read as _;
    use std::process::Stdio;

    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    use rustix::termios::{Winsize, tcsetwinsize};

    use super::*;

    const ROWS: u16 = 40;

    fn columns(terminal: &File, columns: u16) {
        tcsetwinsize(terminal, Winsize { ws_row: ROWS, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
    }

    /// The last block on the screen.
    fn block(picture: &str) -> Vec<String> {
        let lines: Vec<&str> = picture.lines().map(str::trim_end).collect();
        let head = lines.iter().rposition(|l| *l == "softmax on sim:m1-max").unwrap_or(lines.len());
        lines[head..].iter().filter(|l| !l.is_empty()).map(|l| (*l).to_owned()).collect()
    }

    #[test]
    fn the_live_view_keeps_within_a_window_that_becomes_narrow() {
        let dir = tempfile::tempdir().unwrap();
        let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&terminal).unwrap();
        unlockpt(&terminal).unwrap();
        let name = ptsname(&terminal, Vec::new()).unwrap().into_string().unwrap();
        let mut terminal = File::from(terminal);
        columns(&terminal, 110);
        let end = OpenOptions::new().read(true).write(true).open(name).unwrap();
        let mut child = Command::cargo_bin("ksearch")
            .unwrap()
            .current_dir(dir.path())
            .env_remove("CI")
            .env_remove("NO_COLOR")
            .env("TERM", "xterm-256color")
            .args(["search", "softmax", "--evaluations", "12"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::from(end))
            .spawn()
            .unwrap();
        let mut screen = vt100::Parser::new(ROWS, 110, 0);
        let mut chunk = [0; 4096];
        let (mut wide, mut narrow) = (String::new(), String::new());
        // Reading ends with an error once the last writer is gone.
        while let Ok(n) = terminal.read(&mut chunk)
            && n > 0
        {
            screen.process(&chunk[..n]);
            let columns_now = screen.screen().size().1;
            let picture = screen.screen().rows(0, columns_now).collect::<Vec<_>>().join("\n");
            if wide.is_empty() {
                if ["\nbest ", "\nnow ", "\nverdicts ", "\nopen "].iter().all(|n| picture.contains(n)) {
                    wide = picture;
                    columns(&terminal, 38);
                    screen.screen_mut().set_size(ROWS, 38);
                }
            } else {
                // What was on its way when the window changed stays above; the block that is kept fresh is the last.
                let last = block(&picture);
                if last.iter().any(|l| l.contains(" of 12 judged")) && !last.iter().any(|l| l.starts_with("better")) {
                    narrow = picture;
                }
            }
        }
        assert!(child.wait().unwrap().success());
        let names = |lines: &[String]| {
            lines.iter().filter(|l| ["best ", "now ", "verdicts ", "open "].iter().any(|n| l.starts_with(n))).count()
        };
        assert_eq!(names(&block(&wide)), 4, "{wide}");
        let after = block(&narrow);
        assert_eq!(names(&after), 0, "{narrow}");
        assert!(narrow.matches("softmax on sim:m1-max").count() <= 4, "blocks pile up:\n{narrow}");
        assert!(after.len() <= 8 && after.iter().any(|l| l.contains("µs [")), "{narrow}");
        assert!(after.iter().all(|l| l.chars().count() < 38), "{narrow}");
    }
}
