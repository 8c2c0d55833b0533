//! Reads the debug metadata that positions and names of variables need: `DILocation`, the scopes it points to, `DIFile`,
//! `DILocalVariable`. Knows nothing else of the module.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::ir::{LocId, Location};
use super::lexer::unescape;

/// Positions by metadata number.
#[derive(Debug, Default)]
pub struct DebugInfo {
    /// All locations.
    pub locations: Vec<Location>,
    /// Metadata number to index in `locations`.
    pub by_id: FxHashMap<u32, LocId>,
    /// Files.
    pub files: Vec<String>,
    /// Names of the user's variables by metadata number.
    pub variables: FxHashMap<u32, Arc<str>>,
}

/// File that the front end gives to its own library: variables there are not the user's.
const LIBRARY: &str = "library";
/// How the names of the functions begin that the front end wraps around kernels.
const WRAPPER: &str = "ks_entry_";

/// Value of `key: value` in the fields of a specialised node.
fn field<'a>(body: &'a str, key: &str) -> Option<&'a str> {
    let mut from = 0;
    loop {
        let at = body.get(from..)?.find(key)? + from;
        let end = at + key.len();
        let starts = at == 0 || matches!(body.as_bytes().get(at - 1), Some(b' ' | b'(' | b','));
        if starts && body.as_bytes().get(end) == Some(&b':') {
            let rest = body.get(end + 1..)?.trim_start();
            if let Some(q) = rest.strip_prefix('"') {
                return q.split('"').next();
            }
            return rest.split([',', ')']).next().map(str::trim);
        }
        from = end;
    }
}

fn reference(s: &str) -> Option<u32> {
    s.strip_prefix('!')?.parse().ok()
}

/// Reads the metadata lines.
pub fn read(lines: &[(u32, &str)]) -> DebugInfo {
    let mut out = DebugInfo::default();
    let mut files: FxHashMap<u32, u32> = FxHashMap::default();
    let mut names: FxHashMap<String, u32> = FxHashMap::default();
    // Scope: its own file and its parent.
    let mut scopes: FxHashMap<u32, (Option<u32>, Option<u32>)> = FxHashMap::default();
    let mut raw = Vec::new();
    let mut variables = Vec::new();
    let mut wrappers = Vec::new();
    for &(id, line) in lines {
        let line = line.strip_prefix("distinct ").unwrap_or(line);
        let Some((kind, body)) = line.strip_prefix('!').and_then(|l| l.split_once('(')) else { continue };
        match kind {
            "DIFile" => {
                let name = String::from_utf8_lossy(&unescape(field(body, "filename").unwrap_or(""))).into_owned();
                let n = *names.entry(name.clone()).or_insert_with(|| {
                    out.files.push(name);
                    out.files.len() as u32 - 1
                });
                files.insert(id, n);
            }
            "DILocation" => {
                let num = |k| field(body, k).and_then(|s| s.parse().ok()).unwrap_or(0u32);
                let rf = |k| field(body, k).and_then(reference);
                out.by_id.insert(id, raw.len() as u32);
                raw.push((num("line"), num("column"), rf("scope"), rf("inlinedAt")));
            }
            "DILocalVariable" => {
                let rf = |k| field(body, k).and_then(reference);
                variables.extend(field(body, "name").zip(rf("file")).map(|(name, file)| (id, name, file, rf("scope"))));
            }
            k if k.starts_with("DI") => {
                if k == "DISubprogram" && field(body, "name").is_some_and(|n| n.starts_with(WRAPPER)) {
                    wrappers.push(Some(id));
                }
                scopes.insert(id, (field(body, "file").and_then(reference), field(body, "scope").and_then(reference)));
            }
            _ => {}
        }
    }
    let library = names.get(LIBRARY);
    variables.retain(|v| files.get(&v.2).is_some_and(|f| Some(f) != library) && !wrappers.contains(&v.3));
    out.variables = variables.into_iter().map(|v| (v.0, Arc::from(v.1))).collect();
    for (line, column, scope, at) in raw {
        let mut file = None;
        let mut s = scope;
        // Scopes nest; the bound keeps a malformed cycle from hanging.
        for _ in 0..64 {
            let Some(id) = s else { break };
            if let Some(&f) = files.get(&id) {
                file = Some(f);
                break;
            }
            let Some(&(f, parent)) = scopes.get(&id) else { break };
            if let Some(f) = f.and_then(|f| files.get(&f)) {
                file = Some(*f);
                break;
            }
            s = parent;
        }
        let inlined_at = at.and_then(|a| out.by_id.get(&a).copied());
        out.locations.push(Location { line, column, file, inlined_at });
    }
    out
}
