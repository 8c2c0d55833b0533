//! The library precompiled: one file in the project's cache for each clang, set of flags and library text. Reading it
//! takes a few milliseconds where parsing the library takes forty. It is only a shortcut: whatever goes wrong with it, the
//! library's text is compiled instead. Knows files and flags; nothing of what the library says.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::process;
use super::toolchain::{Toolchain, cache_dir};

/// Time to precompile the library, on a busy machine.
const LIMIT: Duration = Duration::from_mins(1);

/// What is known about the precompiled forms of one compiler.
#[derive(Debug, Default)]
pub struct Precompiled {
    known: Mutex<HashMap<[u8; 32], Option<PathBuf>>>,
}

impl Precompiled {
    /// The precompiled form of `text` under `flags`; `None` when there is none and none can be made.
    pub fn find(&self, toolchain: &Toolchain, flags: &[String], text: &str) -> Option<PathBuf> {
        let key = key(toolchain, flags, text);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(path) = known.get(&key) {
            return path.clone();
        }
        let path = make(toolchain, flags, text, &key);
        known.insert(key, path.clone());
        path
    }

    /// Forgets a form that clang would not read, and removes its file.
    pub fn discard(&self, path: &Path) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        for entry in known.values_mut().filter(|p| p.as_deref() == Some(path)) {
            *entry = None;
        }
        // If it cannot be removed, the next process will find it unreadable again and go on as well.
        let _ = std::fs::remove_file(path);
    }
}

fn key(toolchain: &Toolchain, flags: &[String], text: &str) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    let program = toolchain.program.to_string_lossy();
    for part in [program.as_ref(), &toolchain.version, text].into_iter().chain(flags.iter().map(String::as_str)) {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    *hasher.finalize().as_bytes()
}

fn make(toolchain: &Toolchain, flags: &[String], text: &str, key: &[u8; 32]) -> Option<PathBuf> {
    let dir = cache_dir()?.join("library");
    let name = blake3::Hash::from_bytes(*key).to_hex();
    let done = dir.join(format!("{name}.pch"));
    let header = dir.join(format!("{name}.h"));
    if done.is_file() && header.is_file() {
        return Some(done);
    }
    std::fs::create_dir_all(&dir).ok()?;
    let scratch = dir.join(format!("{name}.{}.tmp", std::process::id()));
    std::fs::write(&scratch, text).ok()?;
    std::fs::rename(&scratch, &header).ok()?;
    let mut command = toolchain.command();
    command.args(flags).args(["-S", "-emit-llvm", "-Xclang", "-emit-pch", "-Xclang", "-fno-pch-timestamp", "-o"]);
    command.arg(&scratch).arg(&header);
    let built = process::run(command, b"", LIMIT).is_ok_and(|d| d.success) && std::fs::rename(&scratch, &done).is_ok();
    if !built {
        // Nothing half-made is left; the text is compiled instead.
        let _ = std::fs::remove_file(&scratch);
        return None;
    }
    Some(done)
}
