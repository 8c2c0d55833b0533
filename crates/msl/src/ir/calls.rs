//! Circles among the functions of printed IR.

use std::collections::{BTreeMap, BTreeSet};

use super::hooks::function_name;

/// The first call that closes a circle: the function called, by its name in the IR.
pub fn recursion(ir: &str) -> Option<String> {
    let mut calls: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut current = "";
    for line in ir.lines() {
        if line.starts_with("define ") {
            current = function_name(line);
        } else if line.contains(" call ") || line.contains("= call ") || line.trim_start().starts_with("call ") {
            let callee = line.split_once('@').map_or("", |(_, rest)| rest.split('(').next().unwrap_or(""));
            calls.entry(current).or_default().insert(callee.trim_matches('"'));
        }
    }
    // Leaves fall away until only circles, and what leads to them, are left.
    let mut left: BTreeSet<&str> = calls.keys().copied().collect();
    loop {
        let gone: Vec<&str> = left.iter().copied().filter(|f| !calls[f].iter().any(|c| left.contains(c))).collect();
        if gone.is_empty() {
            break;
        }
        for f in gone {
            left.remove(f);
        }
    }
    // Of what is left, a function that reaches itself.
    left.iter().copied().find(|f| reaches(f, f, &calls, &left)).map(str::to_owned)
}

fn reaches<'a>(
    from: &'a str,
    to: &str,
    calls: &BTreeMap<&'a str, BTreeSet<&'a str>>,
    within: &BTreeSet<&'a str>,
) -> bool {
    let mut seen = BTreeSet::new();
    let mut queue = vec![from];
    while let Some(f) = queue.pop() {
        for callee in calls.get(f).into_iter().flatten().copied().filter(|c| within.contains(c)) {
            if callee == to {
                return true;
            }
            if seen.insert(callee) {
                queue.push(callee);
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn circles() {
        let ir = "define void @a() {\n  call void @b()\n}\ndefine void @b() {\n  %1 = call i32 @c()\n  ret void\n}\ndefine i32 @c() {\n  %1 = call i32 @c()\n}\n";
        assert_eq!(recursion(ir).as_deref(), Some("c"));
        assert_eq!(recursion(&ir.replace("@c()\n}\n", "@d()\n}\n")), None);
    }
}
