//! Files that people write: where in them something is wrong, and TOML whose every key has a line and a column.
//! Knows neither tasks nor recipes.

use serde::de::DeserializeOwned;
use toml::de::{DeTable, DeValue};

/// A problem in a file of the user: where, what, what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct FileError {
    /// File as the user named it.
    pub file: String,
    /// 1-based line; 0 when the problem is the file as a whole.
    pub line: usize,
    /// 1-based column in characters; 0 when `line` is.
    pub column: usize,
    /// What is wrong and what was expected.
    pub message: String,
}

impl FileError {
    /// A problem of the file as a whole.
    pub fn whole(file: impl Into<String>, message: impl Into<String>) -> Self {
        Self { file: file.into(), line: 0, column: 0, message: message.into() }
    }
}

impl std::fmt::Display for FileError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.line == 0 {
            write!(f, "{}: {}", self.file, self.message)
        } else {
            write!(f, "{}:{}:{}: {}", self.file, self.line, self.column, self.message)
        }
    }
}

/// One step of the way to a value in a TOML document.
#[derive(Clone, Copy, Debug)]
pub enum Step<'a> {
    /// Of a table.
    Key(&'a str),
    /// Of an array, from 0.
    Index(usize),
}

impl<'a> From<&'a str> for Step<'a> {
    fn from(key: &'a str) -> Self {
        Self::Key(key)
    }
}

impl<'a> From<&'a String> for Step<'a> {
    fn from(key: &'a String) -> Self {
        Self::Key(key)
    }
}

impl From<usize> for Step<'_> {
    fn from(index: usize) -> Self {
        Self::Index(index)
    }
}

/// The way to a value: `steps!["tensors", name, "shape", 1]`.
macro_rules! steps {
    ($($step:expr),* $(,)?) => { &[$($crate::file::Step::from($step)),*] };
}
pub(crate) use steps;

/// A TOML document, possibly embedded in a longer file, that turns positions in it into errors.
#[derive(Clone, Debug)]
pub struct TomlFile<'a> {
    name: &'a str,
    text: &'a str,
    /// Line of the surrounding file on which `text` starts.
    first_line: usize,
}

impl<'a> TomlFile<'a> {
    /// A document that is a whole file.
    pub fn new(name: &'a str, text: &'a str) -> Self {
        Self::embedded(name, text, 1)
    }

    /// A document that starts at the beginning of line `first_line` of file `name`.
    pub fn embedded(name: &'a str, text: &'a str, first_line: usize) -> Self {
        Self { name, text, first_line }
    }

    /// Reads the document as a `T`.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, FileError> {
        toml::from_str(self.text).map_err(|e| {
            let offset = e.span().map_or(0, |span| span.start);
            self.error_at(offset, e.message().trim_end().replace('\n', "; "))
        })
    }

    /// An error about the value that `path` leads to, or about the nearest one before it that exists.
    pub fn error(&self, path: &[Step<'_>], message: impl Into<String>) -> FileError {
        self.error_at(self.offset(path), message.into())
    }

    fn error_at(&self, offset: usize, message: String) -> FileError {
        let before = self.text.get(..offset).unwrap_or(self.text);
        let line = before.matches('\n').count();
        let column = before.rsplit('\n').next().unwrap_or("").chars().count();
        FileError { file: self.name.to_owned(), line: self.first_line + line, column: column + 1, message }
    }

    fn offset(&self, path: &[Step<'_>]) -> usize {
        let Ok(document) = DeTable::parse(self.text) else { return 0 };
        let mut offset = 0;
        let root = DeValue::Table(document.into_inner());
        let mut value = &root;
        for step in path {
            let next = match step {
                Step::Index(i) => value.get(*i),
                Step::Key(key) => {
                    // A key is the better place than a table's header, which TOML may have opened elsewhere.
                    if let Some((found, _)) =
                        value.as_table().and_then(|t| t.iter().find(|(k, _)| k.get_ref().as_ref() == *key))
                    {
                        offset = found.span().start;
                    }
                    value.get(*key)
                }
            };
            let Some(next) = next else { break };
            if !next.get_ref().is_table() || matches!(step, Step::Index(_)) {
                offset = next.span().start;
            }
            value = next.get_ref();
        }
        offset
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "a = 1\n[t.q]\nshape = [\"é\", \"Lq\"]\n[[w]]\nx = 1\n[[w]]\nx = 2\n";

    fn place(path: &[Step<'_>]) -> (usize, usize) {
        let e = TomlFile::new("f.toml", TEXT).error(path, "bad");
        (e.line, e.column)
    }

    #[test]
    fn paths_lead_to_lines_and_columns() {
        assert_eq!(place(steps!["a"]), (1, 5));
        assert_eq!(place(steps!["t", "q"]), (2, 4));
        assert_eq!(place(steps!["t", "q", "shape", 1]), (3, 15));
        assert_eq!(place(steps!["w", 1]), (6, 1));
        assert_eq!(place(steps!["w", 1, "x"]), (7, 5));
        assert_eq!(place(steps!["w", 1, "missing"]), (6, 1));
        assert_eq!(place(steps!["nothing"]), (1, 1));
    }

    #[test]
    fn syntax_errors_have_places_also_when_embedded() {
        let e = TomlFile::embedded("k.metal", "x = 1\ny = = 2\n", 10).parse::<toml::Table>().unwrap_err();
        assert_eq!((e.line, e.file.as_str()), (11, "k.metal"));
    }
}
