//! From files to a candidate: finds the recipe, follows quoted includes. Knows no task.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Component, Path};

use super::recipe;
use super::{Candidate, Language, SourceFile};
use crate::file::FileError;

/// Files that a candidate may pull in, so that a cycle or a maze of includes ends.
const MAX_FILES: usize = 64;

pub(super) fn from_path(path: &Path) -> Result<Candidate, FileError> {
    let shown = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|e| FileError::whole(&shown, format!("cannot be read: {e}")))?;
    let sidecar = format!("{shown}.toml");
    let recipe = match std::fs::read_to_string(&sidecar) {
        Ok(text) => Some(text),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => None,
        Err(e) => return Err(FileError::whole(sidecar, format!("cannot be read: {e}"))),
    };
    let folder = path.parent().unwrap_or(Path::new("")).to_path_buf();
    from_source(&shown, &text, recipe.as_deref(), &|relative| std::fs::read_to_string(folder.join(relative)).ok())
}

/// A candidate from the text of its main file. `sidecar` is the text of `NAME.toml` if there is one; `open` gives the
/// text of a file by its path relative to the main file, `None` if there is none.
pub fn from_source(
    name: &str,
    text: &str,
    sidecar: Option<&str>,
    open: &dyn Fn(&str) -> Option<String>,
) -> Result<Candidate, FileError> {
    let language = Language::of_path(name)
        .ok_or_else(|| FileError::whole(name, "unknown kind of source; expected .metal, .cu or .cpp"))?;
    let block = find_block(text);
    let (recipe, tunables) = match (&block, sidecar) {
        (Some(found), None) => {
            let inner = text.get(found.inner.clone()).unwrap_or("");
            let first_line = text.get(..found.inner.start).unwrap_or("").matches('\n').count() + 1;
            recipe::parse(name, inner, first_line)?
        }
        (None, Some(sidecar)) => recipe::parse(&format!("{name}.toml"), sidecar, 1)?,
        (Some(_), Some(_)) => {
            let message = format!("has its recipe twice: in a `/* ksearch` comment and in {name}.toml; remove one");
            return Err(FileError::whole(name, message));
        }
        (None, None) => {
            let message = "has no launch recipe; add a comment `/* ksearch … */` that holds at least\n  [[dispatch]]\n  \
                           kernel = \"name\"\n  grid = [\"…\", 1, 1]\n  threadgroup = [32, 1, 1]\nor the same in a file "
                .to_owned()
                + &format!("{name}.toml");
            return Err(FileError::whole(name, message));
        }
    };
    let main = Path::new(name).file_name().map_or_else(|| name.to_owned(), |n| n.to_string_lossy().into_owned());
    let mut files = vec![SourceFile { path: main, text: text.to_owned() }];
    let mut next = 0;
    while let Some(file) = files.get(next) {
        let folder = Path::new(&file.path).parent().unwrap_or(Path::new("")).to_path_buf();
        // As compilers look for them: beside the file, then from the folder of the main one.
        let includes: Vec<[Option<String>; 2]> =
            quoted_includes(&file.text).map(|i| [plain(&folder.join(i)), plain(Path::new(i))]).collect();
        for places in includes {
            for path in places.into_iter().flatten() {
                if files.iter().any(|f| f.path == path) {
                    break;
                }
                // What is not there is left to the compiler to report, with its line.
                if let Some(text) = open(&path) {
                    files.push(SourceFile { path, text });
                    break;
                }
            }
            if files.len() > MAX_FILES {
                return Err(FileError::whole(name, format!("includes more than {MAX_FILES} files")));
            }
        }
        next += 1;
    }
    Ok(Candidate { language, files, recipe, tunables, values: BTreeMap::new() })
}

/// A `/* ksearch` comment: where it stands and where the TOML in it does.
pub(super) struct Block {
    pub(super) start: usize,
    pub(super) end: usize,
    inner: Range<usize>,
}

/// Finds the first comment that opens with the word `ksearch` on its first line.
pub(super) fn find_block(text: &str) -> Option<Block> {
    let mut from = 0;
    loop {
        let start = from + text.get(from..)?.find("/*")?;
        let body = start + 2;
        let length = text.get(body..)?.find("*/")?;
        let comment = text.get(body..body + length)?;
        let (first, _) = comment.split_once('\n').unwrap_or((comment, ""));
        if first.trim() == "ksearch" {
            return Some(Block { start, end: body + length + 2, inner: body + first.len()..body + length });
        }
        from = body + length + 2;
    }
}

fn quoted_includes(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        let rest = line.trim_start().strip_prefix('#')?.trim_start().strip_prefix("include")?.trim_start();
        rest.strip_prefix('"')?.split_once('"').map(|(path, _)| path)
    })
}

/// `path` without `.`; `None` where it would leave the candidate's folder.
fn plain(path: &Path) -> Option<String> {
    let mut parts = Vec::new();
    for component in path.components() {
        match component {
            Component::Normal(part) => parts.push(part.to_str()?),
            Component::CurDir => {}
            _ => return None,
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECIPE: &str = "[[dispatch]]\nkernel = \"k\"\ngrid = [1]\nthreadgroup = [32]\n";

    fn open_none(_: &str) -> Option<String> {
        None
    }

    #[test]
    fn block_and_sidecar_give_the_same() {
        let code = "#include <metal_stdlib>\nkernel void k() {}\n";
        let block = format!("/* a */\n/* ksearch\n{RECIPE}*/\n{code}");
        let a = from_source("k.metal", &block, None, &open_none).unwrap();
        let b = from_source("k.metal", code, Some(RECIPE), &open_none).unwrap();
        assert_eq!(a.recipe, b.recipe);
        assert_eq!(a.id(), b.id());
        assert!(from_source("k.metal", &block, Some(RECIPE), &open_none).unwrap_err().message.contains("twice"));
        assert!(from_source("k.metal", code, None, &open_none).unwrap_err().message.contains("no launch recipe"));
        assert!(from_source("k.txt", code, None, &open_none).unwrap_err().message.contains(".metal"));
    }

    #[test]
    fn recipe_errors_name_the_line_of_the_source_file() {
        let text =
            "// first\n/* ksearch\n[[dispatch]]\nkernel = \"k\"\ngrid = [\"ceil_div(L\"]\nthreadgroup = [32]\n*/\n";
        let e = from_source("k.metal", text, None, &open_none).unwrap_err();
        assert_eq!((e.file.as_str(), e.line, e.column), ("k.metal", 5, 9), "{e}");
    }

    #[test]
    fn includes_are_followed_but_never_out_of_the_folder() {
        let files: BTreeMap<&str, &str> = BTreeMap::from([
            ("sub/a.h", "#include \"b.h\"\n#include \"../../etc/passwd\"\n"),
            ("sub/b.h", "# include \"./a.h\"\n#include \"sub/deep/c.h\"\n"),
            ("sub/deep/c.h", "#include \"sub/a.h\"\n"),
        ]);
        let text =
            format!("/* ksearch\n{RECIPE}*/\n#include \"sub/a.h\"\n#include \"gone.h\"\n#include \"/etc/passwd\"\n");
        let open = |path: &str| {
            assert!(!path.contains("passwd"));
            files.get(path).map(ToString::to_string)
        };
        let c = from_source("dir/k.metal", &text, None, &open).unwrap();
        let paths: Vec<_> = c.files.iter().map(|f| f.path.as_str()).collect();
        assert_eq!(paths, ["k.metal", "sub/a.h", "sub/b.h", "sub/deep/c.h"]);
    }

    #[test]
    fn the_recipe_comment_is_replaced_not_doubled() {
        let text = format!("// head\n/* ksearch\n{RECIPE}*/\nkernel void k() {{}}\n");
        let c = from_source("k.metal", &text, None, &open_none).unwrap();
        let id = c.id();
        let again = c.with_recipe_comment();
        assert_eq!(again.files[0].text.matches("/* ksearch").count(), 1);
        assert!(again.files[0].text.starts_with("// head\n/* ksearch\n"));
        assert!(again.files[0].text.ends_with("*/\nkernel void k() {}\n"));
        let reread = from_source("k.metal", &again.files[0].text, None, &open_none).unwrap();
        assert_eq!(reread.recipe, again.recipe);
        assert_eq!(reread.id(), id);
    }
}
