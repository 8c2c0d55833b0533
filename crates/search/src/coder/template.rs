//! Kernel templates: from text with conditions to readable source. Knows no task.

use std::collections::BTreeMap;

use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, UndefinedBehavior, Value};

use crate::strategy::{Catalogue, Plan, PlanError};

/// Longest comment line written.
const COMMENT_WIDTH: usize = 118;

/// What a template may ask: conditions and pieces of text, by name.
#[derive(Default)]
pub(super) struct Context(BTreeMap<&'static str, Value>);

impl Context {
    /// Sets a condition.
    pub(super) fn flag(&mut self, name: &'static str, value: bool) {
        self.0.insert(name, Value::from(value));
    }

    /// Sets a piece of text.
    pub(super) fn text(&mut self, name: &'static str, value: impl Into<String>) {
        self.0.insert(name, Value::from(value.into()));
    }
}

/// Renders the template `main` out of `templates`, a list of name and text.
pub(super) fn render(templates: &[(&str, &str)], main: &str, context: Context) -> Result<String, PlanError> {
    let broken = |e: minijinja::Error| PlanError::Unrenderable(format!("{e:#}"));
    // A block on a line of its own leaves no line behind.
    let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build().map_err(broken)?;
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_syntax(syntax);
    environment.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
    for (name, text) in templates {
        environment.add_template(name, text).map_err(broken)?;
    }
    let source = environment.get_template(main).and_then(|t| t.render(Value::from(context.0))).map_err(broken)?;
    Ok(tidy(&source))
}

/// At most one empty line in a row, no trailing spaces, one newline at the end.
fn tidy(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut empty = true;
    for line in source.lines().map(str::trim_end) {
        if line.is_empty() {
            empty = !out.is_empty();
            continue;
        }
        if std::mem::take(&mut empty) && !out.is_empty() {
            out.push('\n');
        }
        out.push_str(line);
        out.push('\n');
    }
    out
}

/// What `plan` holds, as a comment.
pub(super) fn strategies(catalogue: &Catalogue, plan: &Plan) -> String {
    let titles: Vec<_> = catalogue.iter().filter(|s| plan.has(s.id)).map(|s| s.title.to_lowercase()).collect();
    comment(&format!("Strategies: {}.", titles.join("; ")))
}

/// `text` as `//` lines.
pub(super) fn comment(text: &str) -> String {
    let mut lines = vec!["//".to_owned()];
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.len() + 1 + word.len() <= COMMENT_WIDTH => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(format!("// {word}")),
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_is_tidy_and_unknown_names_are_refused() {
        let mut context = Context::default();
        context.flag("yes", true);
        context.text("body", "x < y && z");
        let text = "\n{% if yes %}\na\n\n\n{{ body }}\n{% endif %}\n{% if not yes %}\nb\n{% endif %}\n\n";
        assert_eq!(render(&[("m", text)], "m", context).unwrap(), "a\n\nx < y && z\n");
        assert!(matches!(render(&[("m", "{{ nothing }}")], "m", Context::default()), Err(PlanError::Unrenderable(_))));
    }

    #[test]
    fn comments_wrap() {
        let text = comment(&"word ".repeat(60));
        assert!(
            text.lines().count() == 3 && text.lines().all(|l| l.len() <= COMMENT_WIDTH && l.starts_with("// word"))
        );
    }
}
