//! What PTX text tells about a kernel: parameters that nothing reads, variables that outlive a launch. Text only.

/// Indices of the parameters of `symbol` that no instruction mentions.
pub fn unread_parameters(ptx: &str, symbol: &str) -> Vec<u32> {
    let Some(entry) = entry(ptx, symbol) else { return Vec::new() };
    let Some((signature, body)) = entry.split_once('{') else { return Vec::new() };
    let names = signature.split(".param").skip(1).filter_map(|p| {
        let name = p.split([',', ')']).next()?.split_whitespace().last()?;
        Some(name.split('[').next().unwrap_or(name))
    });
    names.enumerate().filter(|(_, name)| !mentions(body, name)).map(|(n, _)| n as u32).collect()
}

/// The text of an entry point, from its name to the next one.
fn entry<'a>(ptx: &'a str, symbol: &str) -> Option<&'a str> {
    let mut from = 0;
    while let Some(at) = ptx.get(from..)?.find(".entry ") {
        let start = from + at + ".entry ".len();
        let rest = ptx.get(start..)?;
        let name = rest.split(['(', '{', '\n', ' ']).next()?;
        if name == symbol {
            return Some(rest.split(".entry ").next().unwrap_or(rest));
        }
        from = start;
    }
    None
}

fn mentions(body: &str, name: &str) -> bool {
    body.match_indices(name).any(|(at, _)| {
        let after = body.get(at + name.len()..).and_then(|r| r.chars().next());
        !after.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_' || c == '$')
    })
}

/// A variable in device memory that some instruction uses, in which a kernel could leave something for its next launch.
/// Strings are none, nor are constants that the compiler has put into the instructions.
pub fn lasting_variable(ptx: &str) -> Option<&str> {
    ptx.lines().find_map(|line| {
        let line = line.trim_start();
        let rest = line.strip_prefix(".visible ").or_else(|| line.strip_prefix(".weak ")).unwrap_or(line);
        let rest = rest.strip_prefix(".global ")?;
        let name = rest.split(['[', '=', ';']).next()?.split_whitespace().last()?;
        let used = ptx.lines().filter(|l| mentions(l, name)).nth(1).is_some();
        (used && !name.starts_with("$str")).then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PTX: &str = "
.visible .entry _Z1kPfS_i(
\t.param .u64 .ptr .align 1 _Z1kPfS_i_param_0,
\t.param .u64 _Z1kPfS_i_param_1,
\t.param .u32 _Z1kPfS_i_param_10
)
{
\tld.param.u64 %rd1, [_Z1kPfS_i_param_0];
\tld.param.u32 %r1, [_Z1kPfS_i_param_10];
}
.visible .entry other(.param .u64 other_param_0)
{
\tld.param.u64 %rd1, [other_param_0];
}
";

    #[test]
    fn unread_parameters_are_those_that_no_instruction_names() {
        assert_eq!(unread_parameters(PTX, "_Z1kPfS_i"), [1]);
        assert!(unread_parameters(PTX, "other").is_empty() && unread_parameters(PTX, "nosuch").is_empty());
    }

    #[test]
    fn variables_that_outlive_a_launch_are_found() {
        assert_eq!(lasting_variable(PTX), None);
        let used = |declared: &str| format!("{declared}\n\tmov.u64 %rd1, cache;\n");
        assert_eq!(lasting_variable(&used(".visible .global .align 4 .u32 cache;")), Some("cache"));
        assert_eq!(lasting_variable(&used(".global .align 4 .b8 cache[64] = {1, 2};")), Some("cache"));
        assert_eq!(lasting_variable(".global .align 4 .u32 SPAN = 512;\n\tadd.s32 %r1, %r2, 512;\n"), None);
        assert_eq!(lasting_variable(".global .align 1 .b8 $str[4] = {1, 2};\n.const .b32 c;"), None);
    }
}
