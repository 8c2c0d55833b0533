//! Debug locations: from the text clang read to the user's files. Locations inside the library move to the place that
//! called it.

use std::collections::HashMap;
use std::fmt::Write;

use crate::diag::SourcePos;

/// Name that the generated text has in debug information.
pub const SOURCE: &str = "ks_src";
/// Name that the library has.
pub const LIBRARY: &str = "ks_lib";

/// A place in the user's files: index of the file, line, column.
pub type Place = (u32, u32, u32);

/// Rewrites all debug metadata. `find` maps a line and column of the generated text; `files` are the user's names.
pub fn relocate(ir: &str, files: &[String], find: &dyn Fn(u32, u32) -> Option<Place>) -> String {
    let nodes: HashMap<u32, &str> = ir.lines().filter_map(node).collect();
    let Some(max) = nodes.keys().max().copied() else { return ir.to_owned() };
    let mut pass = Pass {
        nodes,
        files,
        find,
        next: max + 1,
        file_nodes: HashMap::new(),
        blocks: HashMap::new(),
        added: String::new(),
    };
    let mut out = String::with_capacity(ir.len() + 1024);
    for line in ir.lines() {
        match node(line).and_then(|(id, text)| pass.rewrite(id, text)) {
            Some(text) => {
                let id = node(line).map_or(0, |(id, _)| id);
                let _ = writeln!(out, "!{id} = {text}");
            }
            None => {
                if !line.starts_with("source_filename") && !line.starts_with("; ModuleID") {
                    out.push_str(line);
                    out.push('\n');
                }
            }
        }
    }
    out.push_str(&pass.added);
    out
}

fn node(line: &str) -> Option<(u32, &str)> {
    let rest = line.strip_prefix('!')?;
    let (id, text) = rest.split_once(" = ")?;
    Some((id.parse().ok()?, text))
}

struct Pass<'a> {
    nodes: HashMap<u32, &'a str>,
    files: &'a [String],
    find: &'a dyn Fn(u32, u32) -> Option<Place>,
    next: u32,
    file_nodes: HashMap<u32, u32>,
    blocks: HashMap<(u32, u32), u32>,
    added: String,
}

/// Numeric value of `name: 12` or `name: !12` in a node.
fn field(text: &str, name: &str) -> Option<u32> {
    let at = find_field(text, name)?;
    let rest = text[at..].trim_start_matches('!');
    let digits: &str = &rest[..rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len())];
    digits.parse().ok()
}

fn find_field(text: &str, name: &str) -> Option<usize> {
    for opening in ["(", ", "] {
        let wanted = format!("{opening}{name}: ");
        if let Some(n) = text.find(&wanted) {
            return Some(n + wanted.len());
        }
    }
    None
}

fn set_field(text: &str, name: &str, value: &str) -> String {
    let Some(at) = find_field(text, name) else { return text.to_owned() };
    let end = text[at..].find([',', ')']).map_or(text.len(), |n| at + n);
    format!("{}{value}{}", &text[..at], &text[end..])
}

impl Pass<'_> {
    fn rewrite(&mut self, id: u32, text: &str) -> Option<String> {
        let kind = text.strip_prefix("distinct ").unwrap_or(text);
        if kind.starts_with("!DILocation(") {
            return Some(self.location(id, text));
        }
        if kind.starts_with("!DIFile(") {
            // The compile unit's own file: name the user's first.
            let main = self.files.first().map_or("", String::as_str);
            let library = text.contains(&format!("filename: \"{LIBRARY}\""));
            let name = if library { "library" } else { main };
            return Some(file_node(name));
        }
        if kind.starts_with("!DISubprogram(") || kind.starts_with("!DILexicalBlock(") {
            if self.file_is_library(text) {
                return None;
            }
            let place = (self.find)(field(text, "line")?, field(text, "column").unwrap_or(1))?;
            let file = self.file(place.0);
            let mut out = set_field(text, "file", &format!("!{file}"));
            out = set_field(&out, "line", &place.1.to_string());
            if field(text, "column").is_some() {
                out = set_field(&out, "column", &place.2.to_string());
            }
            if field(text, "scopeLine").is_some() {
                out = set_field(&out, "scopeLine", &place.1.to_string());
            }
            return Some(out);
        }
        None
    }

    fn file_is_library(&self, text: &str) -> bool {
        field(text, "file")
            .and_then(|f| self.nodes.get(&f))
            .is_some_and(|t| t.contains(&format!("filename: \"{LIBRARY}\"")))
    }

    /// Is the scope a function of the library?
    fn in_library(&self, scope: u32) -> bool {
        let mut scope = Some(scope);
        for _ in 0..64 {
            let Some(text) = scope.and_then(|s| self.nodes.get(&s)) else { return false };
            if text.contains("!DISubprogram(") {
                return self.file_is_library(text);
            }
            scope = field(text, "scope");
        }
        false
    }

    fn location(&mut self, id: u32, text: &str) -> String {
        // A place in the library is the place of its call.
        let mut text = text.to_owned();
        for _ in 0..64 {
            let library = field(&text, "scope").is_some_and(|s| self.in_library(s));
            let Some(call) = field(&text, "inlinedAt").filter(|_| library) else { break };
            let Some(outer) = self.nodes.get(&call) else { break };
            (*outer).clone_into(&mut text);
        }
        if self.nodes.get(&id).is_some_and(|t| !t.starts_with("distinct ")) {
            text = text.strip_prefix("distinct ").unwrap_or(&text).to_owned();
        }
        let (line, column) = (field(&text, "line").unwrap_or(0), field(&text, "column").unwrap_or(0));
        if line == 0 {
            return text;
        }
        let Some(place) = (self.find)(line, column) else { return text };
        let mut out = set_field(&text, "line", &place.1.to_string());
        if find_field(&out, "column").is_some() {
            out = set_field(&out, "column", &place.2.to_string());
        }
        if let Some(scope) = field(&text, "scope")
            && self.scope_file(scope) != Some(place.0)
        {
            let block = self.block(scope, place.0);
            out = set_field(&out, "scope", &format!("!{block}"));
        }
        out
    }

    /// The user's file that a scope is in after rewriting.
    fn scope_file(&self, scope: u32) -> Option<u32> {
        let text = self.nodes.get(&scope)?;
        if text.contains("!DILexicalBlockFile(") {
            return self.scope_file(field(text, "scope")?);
        }
        (self.find)(field(text, "line")?, field(text, "column").unwrap_or(1)).map(|p| p.0)
    }

    fn block(&mut self, scope: u32, file: u32) -> u32 {
        if let Some(id) = self.blocks.get(&(scope, file)) {
            return *id;
        }
        let file_id = self.file(file);
        let id = self.next;
        self.next += 1;
        let _ =
            writeln!(self.added, "!{id} = !DILexicalBlockFile(scope: !{scope}, file: !{file_id}, discriminator: 0)");
        self.blocks.insert((scope, file), id);
        id
    }

    fn file(&mut self, file: u32) -> u32 {
        if let Some(id) = self.file_nodes.get(&file) {
            return *id;
        }
        let id = self.next;
        self.next += 1;
        let name = self.files.get(file as usize).map_or("", String::as_str);
        let _ = writeln!(self.added, "!{id} = {}", file_node(name));
        self.file_nodes.insert(file, id);
        id
    }
}

/// Position of the first call of a function in relocated IR.
pub fn first_call(ir: &str, function: &str) -> Option<SourcePos> {
    let wanted = format!("@{function}(");
    let line = ir.lines().find(|l| l.contains(" call ") && l.contains(&wanted))?;
    let id: u32 = line.rsplit_once("!dbg !")?.1.split([',', ' ']).next()?.parse().ok()?;
    let nodes: HashMap<u32, &str> = ir.lines().filter_map(node).collect();
    let location = nodes.get(&id)?;
    let mut scope = nodes.get(&field(location, "scope")?)?;
    for _ in 0..64 {
        if field(scope, "file").is_some() {
            break;
        }
        scope = nodes.get(&field(scope, "scope")?)?;
    }
    let file = nodes.get(&field(scope, "file")?)?;
    let name = file.split('"').nth(1)?.to_owned();
    Some(SourcePos { file: name, line: field(location, "line")?, column: field(location, "column").unwrap_or(0) })
}

fn file_node(name: &str) -> String {
    let mut escaped = String::new();
    for byte in name.bytes() {
        if byte == b'"' || byte == b'\\' || !(0x20..0x7f).contains(&byte) {
            let _ = write!(escaped, "\\{byte:02X}");
        } else {
            escaped.push(byte as char);
        }
    }
    format!("!DIFile(filename: \"{escaped}\", directory: \"\")")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locations_name_the_users_files() {
        let ir = "; ModuleID = '-'\n  ret void, !dbg !4\n!1 = !DIFile(filename: \"ks_src\", directory: \"/x\")\n!2 = !DIFile(filename: \"ks_lib\", directory: \"/x\")\n!3 = distinct !DISubprogram(name: \"f\", scope: !1, file: !1, line: 10, scopeLine: 10, unit: !0)\n!4 = !DILocation(line: 12, column: 5, scope: !3)\n!5 = distinct !DISubprogram(name: \"lib\", scope: !2, file: !2, line: 7, unit: !0)\n!6 = !DILocation(line: 8, column: 1, scope: !5, inlinedAt: !7)\n!7 = distinct !DILocation(line: 13, column: 2, scope: !3)\n";
        let files = vec!["a.metal".to_owned(), "b\"h".to_owned()];
        let find = |line: u32, col: u32| Some((u32::from(line == 13), line * 100, col));
        let out = relocate(ir, &files, &find);
        for wanted in [
            "!4 = !DILocation(line: 1200, column: 5, scope: !3)",
            "!6 = !DILocation(line: 1300, column: 2, scope: !10)",
            "!7 = distinct !DILocation(line: 1300, column: 2, scope: !10)",
            "!10 = !DILexicalBlockFile(scope: !3, file: !9, discriminator: 0)",
            "!9 = !DIFile(filename: \"b\\22h\", directory: \"\")",
            "!3 = distinct !DISubprogram(name: \"f\", scope: !1, file: !8, line: 1000, scopeLine: 1000, unit: !0)",
        ] {
            assert!(out.contains(wanted), "{wanted}\n{out}");
        }
        assert!(!out.contains("ModuleID"));
    }
}
