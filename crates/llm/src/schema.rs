//! Checks a JSON value against a schema: the keywords our schemas use, all faults at once, each with its path. A full
//! validator would bring more code than the rest of this crate. Must not know what the schemas describe.

use serde_json::Value;

/// Every way in which `value` departs from `schema`; empty when it conforms. Keywords: `type`, `enum`, `properties`,
/// `required`, `additionalProperties: false`, `items`, `minItems`, `maxItems`, `minLength`, `minimum`, `maximum`,
/// `anyOf`.
pub fn check(value: &Value, schema: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    walk(value, schema, "", &mut faults);
    faults
}

fn walk(value: &Value, schema: &Value, path: &str, faults: &mut Vec<String>) {
    let here = if path.is_empty() { "the object" } else { path };
    if let Some(kinds) = schema.get("type") {
        let allowed: Vec<&str> = match kinds {
            Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
            kind => kind.as_str().into_iter().collect(),
        };
        if !allowed.iter().any(|kind| is(value, kind)) {
            faults.push(format!("{here}: expected {}, found {}", allowed.join(" or "), kind_of(value)));
            return;
        }
    }
    if let Some(options) = schema.get("enum").and_then(Value::as_array)
        && !options.contains(value)
    {
        let options: Vec<String> = options.iter().map(Value::to_string).collect();
        faults.push(format!("{here}: {value} is not one of {}", options.join(", ")));
    }
    if let Some(options) = schema.get("anyOf").and_then(Value::as_array) {
        let tried: Vec<Vec<String>> = options
            .iter()
            .map(|option| {
                let mut faults = Vec::new();
                walk(value, option, path, &mut faults);
                faults
            })
            .collect();
        // The option that fits best says most about what is wrong.
        if !tried.iter().any(Vec::is_empty)
            && let Some(best) = tried.into_iter().min_by_key(Vec::len)
        {
            faults.extend(best);
        }
    }
    match value {
        Value::Object(object) => {
            for name in schema.get("required").and_then(Value::as_array).into_iter().flatten() {
                if let Some(name) = name.as_str()
                    && !object.contains_key(name)
                {
                    faults.push(format!("{here}: `{name}` is missing"));
                }
            }
            let properties = schema.get("properties").and_then(Value::as_object);
            for (name, member) in object {
                match properties.and_then(|p| p.get(name)) {
                    Some(schema) => walk(member, schema, &join(path, name), faults),
                    None if schema.get("additionalProperties") == Some(&Value::Bool(false)) => {
                        faults.push(format!("{here}: there is no field `{name}`"));
                    }
                    None => {}
                }
            }
        }
        Value::Array(items) => {
            let count = |key: &str| schema.get(key).and_then(Value::as_u64).map(|n| n as usize);
            if count("minItems").is_some_and(|least| items.len() < least) {
                faults.push(format!("{here}: {} items are too few", items.len()));
            }
            if count("maxItems").is_some_and(|most| items.len() > most) {
                faults.push(format!("{here}: {} items are too many", items.len()));
            }
            if let Some(schema) = schema.get("items") {
                for (index, item) in items.iter().enumerate() {
                    walk(item, schema, &format!("{path}[{index}]"), faults);
                }
            }
        }
        Value::String(text) => {
            let least = schema.get("minLength").and_then(Value::as_u64).unwrap_or(0);
            if (text.trim().chars().count() as u64) < least {
                faults.push(format!("{here}: the text is too short"));
            }
        }
        Value::Number(number) => {
            let limit = |key: &str| schema.get(key).and_then(Value::as_f64);
            let number = number.as_f64().unwrap_or(f64::NAN);
            if limit("minimum").is_some_and(|least| number < least) {
                faults.push(format!("{here}: {value} is below {}", schema["minimum"]));
            }
            if limit("maximum").is_some_and(|most| number > most) {
                faults.push(format!("{here}: {value} is above {}", schema["maximum"]));
            }
        }
        Value::Null | Value::Bool(_) => {}
    }
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

fn is(value: &Value, kind: &str) -> bool {
    match kind {
        "integer" => value.as_f64().is_some_and(|n| n.fract() == 0.0),
        kind => kind_of(value) == kind,
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn all_faults_come_at_once_with_their_paths() {
        let schema = json!({
            "type": "object", "additionalProperties": false, "required": ["ops", "why"],
            "properties": {
                "why": {"type": "string", "minLength": 1},
                "ops": {"type": "array", "minItems": 1, "maxItems": 3, "items": {
                    "type": "object", "required": ["op"],
                    "properties": {"op": {"enum": ["insert", "delete"]}, "rating": {"type": ["number", "null"], "minimum": 0, "maximum": 10}, "n": {"type": "integer"}}}},
            }
        });
        let good =
            json!({"why": "x", "ops": [{"op": "insert", "rating": 3, "n": 2.0}, {"op": "delete", "rating": null}]});
        assert_eq!(check(&good, &schema), Vec::<String>::new());
        let bad = json!({"extra": 1, "ops": [{"op": "grow", "rating": 11}, {"rating": "high", "n": 1.5}, 7]});
        insta::assert_snapshot!(check(&bad, &schema).join("\n"), @r#"
        the object: `why` is missing
        the object: there is no field `extra`
        ops[0].op: "grow" is not one of "insert", "delete"
        ops[0].rating: 11 is above 10
        ops[1]: `op` is missing
        ops[1].rating: expected number or null, found string
        ops[1].n: expected integer, found number
        ops[2]: expected object, found number
        "#);
        assert_eq!(check(&json!([]), &schema), ["the object: expected object, found array"]);
    }

    #[test]
    fn of_several_forms_the_closest_is_named() {
        let schema = json!({"anyOf": [
            {"type": "object", "required": ["a", "b", "c"]},
            {"type": "object", "required": ["a", "d"]}]});
        assert_eq!(check(&json!({"a": 1}), &schema), ["the object: `d` is missing"]);
        assert!(check(&json!({"a": 1, "d": 2}), &schema).is_empty());
    }
}
