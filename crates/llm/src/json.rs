//! Finding the JSON object in an answer, with the repairs that cannot change its meaning: fences, text around it,
//! comments, trailing commas. What cannot be read is reported with line and column. Must not know schemas.

use serde_json::Value;

/// An object and what had to be mended to read it.
#[derive(Debug, PartialEq)]
pub struct Found {
    /// The object.
    pub value: Value,
    /// Names of the repairs.
    pub repairs: Vec<&'static str>,
}

/// The object in `text`: the whole of it, else what is in a fence, else the longest brace-balanced span that reads.
pub fn find_object(text: &str) -> Result<Found, String> {
    let trimmed = text.trim().trim_start_matches('\u{feff}');
    if trimmed.is_empty() {
        return Err("the answer is empty".to_owned());
    }
    let mut first_error = None;
    let mut attempts: Vec<(&str, Vec<&'static str>)> = vec![(trimmed, vec![])];
    attempts.extend(fenced(trimmed).into_iter().map(|f| (f, vec!["fence"])));
    attempts.extend(spans(trimmed).into_iter().map(|s| (s, vec!["text around the object"])));
    for (candidate, repairs) in attempts {
        match read(candidate) {
            Ok((value, more)) if value.is_object() => {
                return Ok(Found { value, repairs: repairs.into_iter().chain(more).collect() });
            }
            Ok(_) => {}
            Err(e) if candidate.starts_with('{') => first_error = first_error.or(Some(e)),
            Err(_) => {}
        }
    }
    Err(match first_error {
        Some(e) if e.contains("EOF") => format!("the JSON object is cut off: {e}"),
        Some(e) => format!("the JSON object cannot be read: {e}"),
        None => "there is no JSON object in the answer".to_owned(),
    })
}

fn read(text: &str) -> Result<(Value, Vec<&'static str>), String> {
    match serde_json::from_str(text) {
        Ok(value) => Ok((value, vec![])),
        Err(strict) => {
            let (relaxed, repairs) = relax(text);
            if repairs.is_empty() {
                return Err(strict.to_string());
            }
            serde_json::from_str(&relaxed).map(|v| (v, repairs)).map_err(|_| strict.to_string())
        }
    }
}

/// `text` without comments and trailing commas, strings untouched.
fn relax(text: &str) -> (String, Vec<&'static str>) {
    let chars: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len());
    let mut repairs = Vec::new();
    let mut at = 0;
    let mut note = |repair| {
        if !repairs.contains(&repair) {
            repairs.push(repair);
        }
    };
    while let Some(&c) = chars.get(at) {
        match c {
            '"' => {
                let end = string_end(&chars, at);
                out.extend(&chars[at..end]);
                at = end;
                continue;
            }
            '/' if chars.get(at + 1) == Some(&'/') => {
                note("comments");
                while chars.get(at).is_some_and(|c| *c != '\n') {
                    at += 1;
                }
                continue;
            }
            '/' if chars.get(at + 1) == Some(&'*') => {
                note("comments");
                at += 2;
                while at < chars.len() && !(chars[at] == '*' && chars.get(at + 1) == Some(&'/')) {
                    at += 1;
                }
                at += 2;
                continue;
            }
            ',' => {
                if matches!(next_meaning(&chars, at + 1), Some('}' | ']')) {
                    note("trailing commas");
                    at += 1;
                    continue;
                }
                out.push(c);
            }
            _ => out.push(c),
        }
        at += 1;
    }
    (out, repairs)
}

/// The next character that is neither space nor comment.
fn next_meaning(chars: &[char], mut at: usize) -> Option<char> {
    loop {
        match (chars.get(at)?, chars.get(at + 1)) {
            ('/', Some('/')) => {
                while chars.get(at).is_some_and(|c| *c != '\n') {
                    at += 1;
                }
            }
            ('/', Some('*')) => {
                at += 2;
                while chars.get(at).is_some_and(|c| *c != '*') || chars.get(at + 1).is_some_and(|c| *c != '/') {
                    at += 1;
                }
                at += 2;
            }
            (c, _) if c.is_whitespace() => at += 1,
            (c, _) => return Some(*c),
        }
    }
}

/// Index after the string that begins at `start`.
fn string_end(chars: &[char], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(c) = chars.get(at) {
        match c {
            '\\' => at += 2,
            '"' => return at + 1,
            _ => at += 1,
        }
    }
    chars.len()
}

/// Contents of Markdown fences, those that say `json` first.
pub fn fenced(text: &str) -> Vec<&str> {
    let mut blocks = Vec::new();
    let mut rest = text;
    while let Some(open) = rest.find("```") {
        let after = &rest[open + 3..];
        let Some(line_end) = after.find('\n') else { break };
        let (language, body) = (after[..line_end].trim(), &after[line_end + 1..]);
        let end = closing(body);
        blocks.push((language, body[..end].trim()));
        let skip = (end + 3).min(body.len());
        rest = &body[skip..];
    }
    blocks.sort_by_key(|(language, _)| *language != "json");
    blocks.into_iter().map(|(_, body)| body).collect()
}

/// Where the fence that encloses `body` closes: at the start of a line; else the end of the text.
pub fn closing(body: &str) -> usize {
    let mut at = 0;
    for line in body.split_inclusive('\n') {
        if line.trim_start().starts_with("```") {
            return at + (line.len() - line.trim_start().len());
        }
        at += line.len();
    }
    body.len()
}

/// Brace-balanced spans, longest first; an unclosed one runs to the end.
fn spans(text: &str) -> Vec<&str> {
    let bytes = text.as_bytes();
    let mut spans = Vec::new();
    let mut at = 0;
    while let Some(open) = bytes[at..].iter().position(|b| *b == b'{').map(|p| p + at) {
        let end = balanced_end(bytes, open);
        spans.push(&text[open..end.unwrap_or(text.len())]);
        at = end.unwrap_or(text.len());
        if spans.len() >= 64 {
            break;
        }
    }
    spans.sort_by_key(|s| std::cmp::Reverse(s.len()));
    spans
}

fn balanced_end(bytes: &[u8], open: usize) -> Option<usize> {
    let (mut depth, mut at, mut in_string) = (0_usize, open, false);
    while let Some(byte) = bytes.get(at) {
        match (in_string, byte) {
            (true, b'\\') => at += 1,
            (_, b'"') => in_string = !in_string,
            (false, b'{') => depth += 1,
            (false, b'}') => {
                depth -= 1;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
        at += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn harmless_faults_are_mended_and_named() {
        let expected = json!({"a": [1, 2], "s": "x, ] // no comment"});
        let body = r#"{"a": [1, 2], "s": "x, ] // no comment"}"#;
        let cases = [
            (body.to_owned(), vec![]),
            (format!("```json\n{body}\n```"), vec!["fence"]),
            (format!("Here you are:\n\n```\n{body}\n```\nDone."), vec!["fence"]),
            (format!("Here it is: {body} and {{that}} is all"), vec!["text around the object"]),
            (
                "{\"a\": [1, 2,], // two\n \"s\": \"x, ] // no comment\", /* end */ }".to_owned(),
                vec!["comments", "trailing commas"],
            ),
        ];
        for (text, mut repairs) in cases {
            let mut found = find_object(&text).unwrap();
            found.repairs.sort_unstable();
            repairs.sort_unstable();
            assert_eq!((found.value, found.repairs), (expected.clone(), repairs), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_said() {
        for (text, message) in [
            ("", "the answer is empty"),
            ("I cannot help with that.", "there is no JSON object in the answer"),
            ("[1, 2]", "there is no JSON object in the answer"),
            ("{\"a\": [1, 2", "the JSON object is cut off: EOF while parsing a list at line 1 column 11"),
            ("{\"a\" 1}", "the JSON object cannot be read: expected `:` at line 1 column 6"),
        ] {
            assert_eq!(find_object(text).unwrap_err(), message, "{text}");
        }
    }

    proptest! {
        #[test]
        fn nothing_makes_it_panic(text in r#"[{}\[\]",:/*`\\a1 \n]{0,80}"#) {
            let _ = find_object(&text);
        }

        #[test]
        fn strings_survive(inside in any::<String>()) {
            let text = serde_json::to_string(&json!({"s": inside})).unwrap();
            prop_assert_eq!(find_object(&format!("```json\n{text}\n```")).unwrap().value, json!({"s": inside}));
        }
    }
}
