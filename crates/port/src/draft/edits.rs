//! Edits of a text by byte ranges, applied at once. Knows nothing of languages.

use std::ops::Range;

/// Replacements and insertions that do not overlap; those at one place stay in the order in which they were made.
#[derive(Debug, Default)]
pub struct Edits {
    list: Vec<(Range<usize>, String)>,
}

impl Edits {
    /// Puts `text` in place of `range`.
    pub fn replace(&mut self, range: Range<usize>, text: impl Into<String>) {
        self.list.push((range, text.into()));
    }

    /// Puts `text` before the byte at `at`.
    pub fn insert(&mut self, at: usize, text: impl Into<String>) {
        self.list.push((at..at, text.into()));
    }

    /// Takes `range` out.
    pub fn remove(&mut self, range: Range<usize>) {
        self.list.push((range, String::new()));
    }

    /// `text[range]` with the edits inside it. An edit that begins inside an earlier replacement is dropped: what it
    /// would change is gone.
    pub fn apply(&self, text: &str, range: Range<usize>) -> String {
        let mut inside: Vec<&(Range<usize>, String)> =
            self.list.iter().filter(|(r, _)| r.start >= range.start && r.end <= range.end).collect();
        // Insertions come before a replacement at the same place, and of two replacements the longer one counts.
        inside.sort_by_key(|(r, _)| (r.start, r.end > r.start, std::cmp::Reverse(r.end)));
        let mut out = String::new();
        let mut at = range.start;
        for (r, new) in inside {
            if r.start < at {
                continue;
            }
            out.push_str(text.get(at..r.start).unwrap_or(""));
            out.push_str(new);
            at = r.end;
        }
        out.push_str(text.get(at..range.end).unwrap_or(""));
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_apply_in_place_order() {
        let mut e = Edits::default();
        e.replace(4..7, "B");
        e.insert(4, "<");
        e.remove(8..9);
        e.replace(5..6, "gone");
        e.insert(9, ">");
        assert_eq!(e.apply("foo bar baz", 0..11), "foo <B >az");
        assert_eq!(e.apply("foo bar baz", 4..7), "<B");
    }
}
