//! Isolation: what a child process that runs untrusted code may touch. Knows files, system calls and limits; must not
//! know kernels, compilers or tasks.

#[cfg(target_os = "linux")]
mod linux;

#[cfg(target_os = "linux")]
pub use linux::{Filter, available, deny_network, forbid, limit, restrict_files};

use serde::{Deserialize, Serialize};

/// Limits of a process. What is not given stays as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Address space, bytes.
    pub address_space: Option<u64>,
    /// Processor time of all threads together, seconds: the last resort against a child that outlives its parent.
    pub cpu_seconds: Option<u64>,
    /// Largest file it may write, bytes.
    pub file_size: Option<u64>,
    /// Open files.
    pub files: Option<u64>,
}

/// What was enforced on a process, and what could not be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Isolation {
    /// In force, one phrase each.
    pub enforced: Vec<String>,
    /// Wanted, but this host cannot: one phrase each, with the reason.
    pub missing: Vec<String>,
}

impl Isolation {
    /// Notes one measure: `Ok` is how it is enforced, `Err` why it is not.
    pub fn note(&mut self, what: &str, result: Result<String, String>) {
        match result {
            Ok(how) => self.enforced.push(format!("{what} ({how})")),
            Err(why) => self.missing.push(format!("{what} ({why})")),
        }
    }

    /// One sentence for a verdict or a report.
    pub fn sentence(&self) -> String {
        let list = |items: &[String]| if items.is_empty() { "nothing".to_owned() } else { items.join("; ") };
        let missing = if self.missing.is_empty() {
            String::new()
        } else {
            format!("; not enforced on this host: {}", list(&self.missing))
        };
        format!("enforced: {}{missing}", list(&self.enforced))
    }
}

/// What this host can enforce.
#[cfg(not(target_os = "linux"))]
pub fn available() -> Isolation {
    let mut out = Isolation::default();
    let why = || Err(format!("not written for {}", std::env::consts::OS));
    out.note("no files but the candidate's own", why());
    out.note("no system calls but memory and clocks", why());
    out
}
