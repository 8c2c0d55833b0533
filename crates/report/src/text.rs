//! Foreign text made safe to show: kernel sources, model answers, task names. Control characters (and with them every
//! terminal escape) and the marks that reorder text become visible signs, and no line is longer than a page can bear.
//! Must not know where the text comes from or goes to; markup is escaped by whoever writes markup.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Characters of one line that are shown; the rest is counted.
pub const LONGEST_LINE: usize = 2_000;

/// The text with everything that is not plain writing made visible. Line feeds and tabs stay.
pub fn clean(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            // A line end of another system is a line end.
            '\r' if chars.peek() == Some(&'\n') => {}
            c if !is_unsafe(c) => out.push(c),
            // Unicode has a picture of each old control character.
            '\0'..='\x1f' => out.push(char::from_u32(0x2400 + c as u32).unwrap_or('\u{fffd}')),
            '\x7f' => out.push('\u{2421}'),
            c => {
                let _ = write!(out, "⟨U+{:04X}⟩", c as u32);
            }
        }
    }
    Cow::Owned(out)
}

/// One line: cleaned, line ends shown as spaces, cut at [`LONGEST_LINE`] characters.
pub fn line(text: &str) -> String {
    clip(&clean(text).replace(['\n', '\t'], " "), LONGEST_LINE)
}

/// A whole text: cleaned, every line cut at [`LONGEST_LINE`] characters.
pub fn block(text: &str) -> String {
    let clean = clean(text);
    if clean.lines().all(|l| l.len() <= LONGEST_LINE) {
        return clean.into_owned();
    }
    clean.lines().map(|l| clip(l, LONGEST_LINE)).collect::<Vec<_>>().join("\n")
}

/// The first `most` characters, and how many are left out.
pub fn clip(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((at, _)) => {
            let (shown, rest) = text.split_at(at);
            format!("{shown}… ({} characters more)", rest.chars().count())
        }
    }
}

/// `text` within `columns` of a terminal, with an ellipsis where it is cut.
pub fn fit(text: &str, columns: usize) -> String {
    use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};
    if text.width() <= columns {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut used = 0;
    for c in text.chars() {
        let width = c.width().unwrap_or(0);
        if used + width + 1 > columns {
            break;
        }
        used += width;
        out.push(c);
    }
    if columns > 0 {
        out.push('…');
    }
    out
}

/// Escaped for HTML, both between tags and within quoted attributes.
pub fn html(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for c in clean(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// JSON that can stand in a `<script>` element: nothing in it can end the element or begin a comment.
pub fn json_for_script(json: &str) -> String {
    json.replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

/// JSON as it was, with every character that could steer a terminal written as its escape. JSON holds such characters only
/// within strings, where an escape means the same.
pub fn json(text: &str) -> Cow<'_, str> {
    let unsafe_ = |c: char| c != '\r' && is_unsafe(c);
    if !text.chars().any(unsafe_) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if unsafe_(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// Moves the cursor, rings, hides, or reorders what is around it.
fn is_unsafe(c: char) -> bool {
    matches!(c,
        '\0'..='\x08' | '\x0b'..='\x1f' | '\x7f'..='\u{9f}'
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{061c}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn escapes_of_terminals_and_marks_that_reorder_become_visible() {
        assert_eq!(clean("a\x1b[31mred\x07"), "a␛[31mred␇");
        assert_eq!(clean("x\u{202e}y\u{2066}"), "x⟨U+202E⟩y⟨U+2066⟩");
        assert_eq!(clean("\u{9b}2J"), "⟨U+009B⟩2J");
        assert_eq!(clean("one\r\ntwo\rthree\t"), "one\ntwo␍three\t");
    }

    #[test]
    fn markup_cannot_break_out() {
        assert_eq!(html("</script><b a=\"'&"), "&lt;/script&gt;&lt;b a=&quot;&#39;&amp;");
        assert_eq!(json_for_script("{\"a\":\"</script><!--\"}"), "{\"a\":\"\\u003c/script>\\u003c!--\"}");
    }

    #[test]
    fn json_means_the_same_and_steers_nothing() {
        let hostile = "a\u{9b}2J\u{202e}b\u{e0041}\u{7f}ü\u{1b}";
        let plain = serde_json::to_string(hostile).unwrap();
        let safe = json(&plain);
        assert!(!safe.chars().any(is_unsafe));
        assert_eq!(serde_json::from_str::<String>(&safe).unwrap(), hostile);
        assert!(matches!(json("{\"a\": 1}"), Cow::Borrowed(_)));
    }

    #[test]
    fn a_line_of_megabytes_is_cut_and_counted() {
        let long = "x".repeat(5_000_000);
        assert_eq!(line(&long).len(), LONGEST_LINE + "… (4998000 characters more)".len());
        assert_eq!(block(&format!("a\n{long}\nb")).lines().count(), 3);
        assert_eq!(fit("ärger im büro", 6), "ärger…");
        assert_eq!(fit("漢字漢字", 5), "漢字…");
        assert_eq!(fit("abc", 0), "");
    }

    proptest! {
        #[test]
        fn nothing_unsafe_is_left(text in any::<String>()) {
            prop_assert!(!clean(&text).chars().any(is_unsafe));
            prop_assert!(!html(&text).contains(['<', '>', '"', '\'']));
        }

        #[test]
        fn a_fitted_text_fits(text in any::<String>(), columns in 0usize..40) {
            use unicode_width::UnicodeWidthStr;
            prop_assert!(fit(&line(&text), columns).width() <= columns);
        }
    }
}
