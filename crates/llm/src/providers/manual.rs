//! The manual provider: each request is a Markdown file (to read) and a JSON file (to process) in a folder; the answer
//! is a file put beside them. A person or any program can play a role. A request that is asked again, as after a
//! resume, finds its files by content and takes an answer that is there. Must not know what is asked.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use serde_json::json;

use super::Provider;
use crate::error::{CallError, CallErrorKind};
use crate::http::Control;
use crate::request::{Prompt, Reply, Settings};

/// How often the folder is looked at.
const PULSE: Duration = Duration::from_millis(200);
/// Endings an answer may have.
const ENDINGS: [&str; 3] = ["answer.md", "answer.json", "answer.txt"];

/// A folder of questions and answers.
pub struct Manual {
    folder: PathBuf,
}

impl Manual {
    /// A provider over `folder`, which is made when the first request comes.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// The stem of the request's files, such as `0007-coder-apply-3fa2b1c0`: found by content, else the next number.
    fn stem(&self, prompt: &Prompt) -> io::Result<String> {
        fs::create_dir_all(&self.folder)?;
        let hash = prompt.hash();
        let short = hash.get(..8).unwrap_or(&hash);
        let mut last = 0;
        for entry in fs::read_dir(&self.folder)? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            let Some(stem) = name.strip_suffix(".request.json") else { continue };
            if stem.ends_with(short) {
                return Ok(stem.to_owned());
            }
            last = last.max(stem.split('-').next().and_then(|n| n.parse().ok()).unwrap_or(0));
        }
        Ok(format!("{:04}-{}-{short}", last + 1, prompt.label))
    }

    fn ask(&self, stem: &str, prompt: &Prompt) -> io::Result<()> {
        let json = self.folder.join(format!("{stem}.request.json"));
        if json.exists() {
            return Ok(());
        }
        let schema = prompt
            .schema
            .as_ref()
            .map_or_else(String::new, |s| format!("\n\n## Schema of the answer\n\n```json\n{s:#}\n```\n"));
        let text = format!(
            "<!-- Answer by putting one of {} beside this file. -->\n\n{}\n\n{}{schema}",
            ENDINGS.map(|e| format!("`{stem}.{e}`")).join(", "),
            prompt.system.trim(),
            prompt.user.trim(),
        );
        fs::write(self.folder.join(format!("{stem}.request.md")), text)?;
        let request = json!({"label": prompt.label, "template": prompt.template, "hash": prompt.hash(),
                             "system": prompt.system, "user": prompt.user, "schema": prompt.schema});
        // Written last and whole: whoever watches for it finds both.
        write_whole(&json, &format!("{request:#}\n"))
    }

    fn answer(&self, stem: &str) -> io::Result<Option<String>> {
        for ending in ENDINGS {
            match fs::read_to_string(self.folder.join(format!("{stem}.{ending}"))) {
                // An empty file is one that is still being written.
                Ok(text) if !text.trim().is_empty() => return Ok(Some(text)),
                Ok(_) => {}
                Err(e) if e.kind() == io::ErrorKind::NotFound => {}
                Err(e) => return Err(e),
            }
        }
        Ok(None)
    }
}

/// Writes a file so that it is there whole or not at all.
fn write_whole(path: &Path, text: &str) -> io::Result<()> {
    let part = path.with_extension("part");
    fs::write(&part, text)?;
    fs::rename(part, path)
}

impl Provider for Manual {
    fn name(&self) -> &'static str {
        "manual"
    }

    fn is_patient(&self) -> bool {
        true
    }

    fn send(&self, prompt: &Prompt, _settings: &Settings, control: &Control<'_>) -> Result<Reply, CallError> {
        let failed = |e: io::Error| {
            CallError::new(CallErrorKind::BadRequest, format!("{} cannot be used: {e}", self.folder.display()))
        };
        let stem = self.stem(prompt).map_err(failed)?;
        self.ask(&stem, prompt).map_err(failed)?;
        loop {
            if let Some(text) = self.answer(&stem).map_err(failed)? {
                return Ok(Reply { text, tokens_in: 0, tokens_out: 0 });
            }
            if (control.cancelled)() {
                return Err(CallError::new(CallErrorKind::Cancelled, "the call was cancelled"));
            }
            if control.left().is_zero() {
                let folder = self.folder.display();
                return Err(CallError::new(
                    CallErrorKind::Timeout,
                    format!("no answer to {folder}/{stem}.request.md came in time; the run can be resumed with it"),
                ));
            }
            thread::sleep(PULSE.min(control.left()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    fn prompt(user: &str) -> Prompt {
        Prompt {
            label: "coder-apply".into(),
            template: "t/1".into(),
            system: "You write kernels.".into(),
            user: user.into(),
            schema: Some(json!({"type": "object"})),
        }
    }

    fn send(manual: &Manual, user: &str, wait: Duration) -> Result<Reply, CallError> {
        let control = Control { deadline: Instant::now() + wait, idle: wait, cancelled: &|| false };
        manual.send(&prompt(user), &Settings::default(), &control)
    }

    #[test]
    fn requests_are_files_and_answers_are_found_beside_them() {
        let folder = tempfile::tempdir().unwrap();
        let manual = Manual::new(folder.path().join("io"));
        let late = send(&manual, "one", Duration::from_millis(1)).unwrap_err();
        assert_eq!(late.kind, CallErrorKind::Timeout);
        let name = |user: &str, n: u32| format!("{n:04}-coder-apply-{}", &prompt(user).hash()[..8]);
        assert!(late.message.contains(&name("one", 1)), "{}", late.message);
        let request = fs::read_to_string(folder.path().join("io").join(name("one", 1) + ".request.md")).unwrap();
        assert!(request.contains("You write kernels.") && request.contains("Schema of the answer"));
        let _ = send(&manual, "two", Duration::from_millis(1)).unwrap_err();
        fs::write(folder.path().join("io").join(name("one", 1) + ".answer.md"), "the answer").unwrap();
        fs::write(folder.path().join("io").join(name("two", 2) + ".answer.json"), "").unwrap();
        // The same question again finds the answer that came meanwhile; an empty file is not one.
        assert_eq!(send(&manual, "one", Duration::from_millis(1)).unwrap().text, "the answer");
        assert!(send(&manual, "two", Duration::from_millis(1)).is_err());
    }

    #[test]
    fn waiting_can_be_cancelled() {
        let folder = tempfile::tempdir().unwrap();
        let manual = Manual::new(folder.path().to_owned());
        let far = Instant::now() + Duration::from_hours(1);
        let control = Control { deadline: far, idle: Duration::MAX, cancelled: &|| true };
        let error = manual.send(&prompt("x"), &Settings::default(), &control).unwrap_err();
        assert_eq!(error.kind, CallErrorKind::Cancelled);
    }
}
