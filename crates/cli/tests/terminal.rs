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
    use unicode_width::UnicodeWidthStr;

    use super::*;

    fn columns(terminal: &File, columns: u16) {
        tcsetwinsize(terminal, Winsize { ws_row: 40, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
    }

    /// Text between control sequences and line ends.
    fn pieces(screen: &str) -> Vec<String> {
        let mut plain = String::new();
        let mut chars = screen.chars();
        while let Some(c) = chars.next() {
            if c != '\u{1b}' {
                plain.push(if c == '\r' { '\n' } else { c });
                continue;
            }
            // A sequence ends with a letter; only those that move begin something new.
            if let Some(end) = chars.by_ref().find(char::is_ascii_alphabetic)
                && end != 'm'
            {
                plain.push('\n');
            }
        }
        plain.lines().map(str::to_owned).collect()
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
        let mut bytes = Vec::new();
        let mut chunk = [0; 4096];
        let mut narrow_from = None;
        // Reading ends with an error once the last writer is gone.
        while let Ok(n) = terminal.read(&mut chunk)
            && n > 0
        {
            bytes.extend_from_slice(&chunk[..n]);
            let text = String::from_utf8_lossy(&bytes);
            if narrow_from.is_none() && text.matches("judged").count() > 5 {
                columns(&terminal, 38);
                narrow_from = Some(bytes.len());
            }
        }
        assert!(child.wait().unwrap().success());
        let wide = String::from_utf8_lossy(&bytes[..narrow_from.unwrap()]).into_owned();
        let narrow = String::from_utf8_lossy(&bytes[narrow_from.unwrap()..]).into_owned();
        assert!(wide.contains("softmax on sim:m1-max") && wide.contains("verdicts"), "{wide}");
        for piece in pieces(&wide) {
            assert!(piece.width() < 110, "{piece}");
        }
        // A block that was on its way when the window changed is still wide; it is redrawn with the next event.
        let after = pieces(&narrow);
        let settled = after.iter().rposition(|p| p.starts_with("best      ")).map_or(0, |i| i + 8);
        assert!(after.len() > settled + 20, "{narrow}");
        for piece in after.iter().skip(settled).filter(|p| !p.starts_with("better")) {
            assert!(piece.width() < 38, "{piece}");
        }
    }
}
