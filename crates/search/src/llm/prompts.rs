//! Prompt templates: embedded files, one version for all, rendered with strict undefined values. Must not know what the
//! values mean.

use ksearch_llm::Prompt;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, UndefinedBehavior};
use serde_json::Value;

use crate::roles::{RoleError, RoleErrorKind};

/// Version of the prompts. Raised with every change to a template or a schema; a test holds it to their content.
pub const VERSION: u32 = 3;

pub(super) const TEMPLATES: [(&str, &str); 15] = [
    ("_action.j2", include_str!("prompts/_action.j2")),
    ("_candidate.j2", include_str!("prompts/_candidate.j2")),
    ("_task.j2", include_str!("prompts/_task.j2")),
    ("_tree.j2", include_str!("prompts/_tree.j2")),
    ("_verdict.j2", include_str!("prompts/_verdict.j2")),
    ("coder_apply", include_str!("prompts/coder_apply.j2")),
    ("coder_debug", include_str!("prompts/coder_debug.j2")),
    ("coder_improve", include_str!("prompts/coder_improve.j2")),
    ("coder_repair", include_str!("prompts/coder_repair.j2")),
    ("coder_system", include_str!("prompts/coder_system.j2")),
    ("planner_failed", include_str!("prompts/planner_failed.j2")),
    ("planner_initialise", include_str!("prompts/planner_initialise.j2")),
    ("planner_propose", include_str!("prompts/planner_propose.j2")),
    ("planner_refine", include_str!("prompts/planner_refine.j2")),
    ("planner_system", include_str!("prompts/planner_system.j2")),
];
/// Schema of a planner's answer.
pub(super) const PLANNER_SCHEMA: &str = include_str!("prompts/planner.schema.json");
/// Schema of a coder's answer.
pub(super) const CODER_SCHEMA: &str = include_str!("prompts/coder.schema.json");

/// Renders the prompt `name` of a `role` with its system text and schema.
pub(super) fn prompt(role: &str, name: &str, schema: &str, values: &Value) -> Result<Prompt, RoleError> {
    let broken = |e: &dyn std::fmt::Display| {
        RoleError::new(RoleErrorKind::Inapplicable, format!("the prompt {role}_{name} cannot be rendered: {e}"))
    };
    let environment = environment().map_err(|e| broken(&e))?;
    let render = |template: &str| {
        let text = environment.get_template(template).and_then(|t| t.render(Serde(values))).map_err(|e| broken(&e))?;
        Ok::<_, RoleError>(tidy(&text))
    };
    Ok(Prompt {
        label: format!("{role}-{name}"),
        template: format!("{role}_{name}/{VERSION}"),
        system: render(&format!("{role}_system"))?,
        user: render(&format!("{role}_{name}"))?,
        schema: Some(serde_json::from_str(schema).map_err(|e| broken(&e))?),
    })
}

fn environment() -> Result<Environment<'static>, minijinja::Error> {
    let mut environment = Environment::new();
    environment.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?);
    environment.set_undefined_behavior(UndefinedBehavior::SemiStrict);
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    for (name, text) in TEMPLATES {
        environment.add_template(name, text)?;
    }
    Ok(environment)
}

/// The members of both objects; those of `over` win.
pub(super) fn merged(mut base: Value, over: Value) -> Value {
    if let (Some(base), Value::Object(over)) = (base.as_object_mut(), over) {
        base.extend(over);
    }
    base
}

/// No more than one blank line in a row outside of code, none at the ends.
fn tidy(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut blank, mut in_code) = (true, false);
    for line in text.lines() {
        if line.starts_with("````") {
            in_code = !in_code;
        }
        if line.trim().is_empty() && !in_code {
            if !blank {
                out.push('\n');
            }
            blank = true;
            continue;
        }
        blank = false;
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out.trim_end().to_owned()
}
