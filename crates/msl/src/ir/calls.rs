//! Circles among the functions of printed IR.

use std::collections::{BTreeMap, BTreeSet};

use super::hooks::function_name;

/// The first call that closes a circle: the function called, by its name in the IR. A function without
/// a result that ends by calling itself is a loop to every compiler, and no circle: Apple's takes it (MLX's
/// `LoopedElemToLoc` does so).
pub fn recursion(ir: &str) -> Option<String> {
    let mut calls: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut current = "";
    let lines: Vec<&str> = ir.lines().collect();
    for (n, line) in lines.iter().enumerate() {
        if line.starts_with("define ") {
            current = function_name(line);
        } else if line.contains(" call ") || line.contains("= call ") || line.trim_start().starts_with("call ") {
            let callee = line.split_once('@').map_or("", |(_, rest)| rest.split('(').next().unwrap_or(""));
            let callee = callee.trim_matches('"');
            if callee != current || !ends(&lines, n) {
                calls.entry(current).or_default().insert(callee);
            }
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

/// Does the function do nothing after the call in this line but return, and return nothing?
fn ends(lines: &[&str], call: usize) -> bool {
    let start = (0..call).rev().find(|n| lines[*n].starts_with("define ")).unwrap_or(0);
    let mut at = call + 1;
    // A path that comes to an end is no longer than the function.
    for _ in call..lines.len() {
        let Some(line) = lines.get(at).map(|l| l.trim_start()) else { return false };
        at += 1;
        let code = line.split_once(", !").map_or(line, |(code, _)| code);
        if let Some(label) = code.strip_prefix("br label %") {
            let is_label = |l: &str| l.strip_prefix(label).is_some_and(|rest| rest.starts_with(':'));
            let mut body = (start + 1..lines.len()).take_while(|n| !lines[*n].starts_with("define "));
            let Some(to) = body.find(|n| is_label(lines[*n])) else { return false };
            at = to + 1;
        } else if code == "ret void" {
            return true;
        } else if !(code.is_empty()
            || code.starts_with(';')
            || code.starts_with('#')
            || code.contains("@llvm.lifetime.end"))
        {
            return false;
        }
    }
    false
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

    #[test]
    fn a_call_at_the_end_is_a_loop() {
        let function = |body: &str| format!("define void @f(i32 %n) {{\n{body}}}\n");
        let tail = "  call void @f(i32 %m), !dbg !3\n  br label %if.end, !dbg !4\n\nother:\n  call void @g()\n  br label %if.end\n\n\
                    if.end:                    ; preds = %a\n  br label %done\n\ndone:\n  ret void\n";
        assert_eq!(recursion(&function(tail)), None);
        // Something follows, the way goes back, nothing is known; and a result is worked on.
        for body in [
            "  call void @f(i32 %m)\n  call void @g()\n  ret void\n",
            "again:\n  call void @f(i32 %m)\n  br label %again\n",
            "  call void @f(i32 %m)\n  br i1 %x, label %a, label %b\n",
            "  %c = call i32 @f(i32 %m)\n  %d = mul i32 %c, %n\n  ret i32 %d\n",
        ] {
            assert_eq!(recursion(&function(body)).as_deref(), Some("f"), "{body}");
        }
    }
}
