//! The library's two hooks in the IR: hand-outs of threadgroup memory become globals, and the sizes that arguments
//! report are collected; both calls disappear.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// A hand-out as found in the IR.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HandOut {
    /// Number that the pre-pass gave it.
    pub number: u32,
    /// Size in bytes.
    pub bytes: u32,
    /// Alignment in bytes.
    pub align: u32,
    /// Name of the global.
    pub symbol: String,
}

/// IR without hooks, and what they said.
#[derive(Debug, Default)]
pub struct Unhooked {
    /// The text.
    pub ir: String,
    /// Globals that were made.
    pub hand_outs: BTreeSet<HandOut>,
    /// Which globals each function uses, by function name.
    pub used_by: BTreeMap<String, BTreeSet<HandOut>>,
    /// Size of the pointee, by kernel and parameter.
    pub sizes: BTreeMap<(u32, u32), u32>,
}

/// Removes the hooks; `names` are the variables' names by number.
pub fn unhook(ir: &str, names: &[String]) -> Unhooked {
    let mut out = Unhooked { ir: String::with_capacity(ir.len()), ..Unhooked::default() };
    let mut function = String::new();
    // The function's last parameter, where that is threadgroup memory.
    let mut given: Option<&str> = None;
    let dynamic = ir.lines().any(|l| l.starts_with("define ") && block_of(l).is_some());
    for line in ir.lines() {
        if line.starts_with("define ") {
            function_name(line).clone_into(&mut function);
            given = block_of(line);
        }
        if dynamic && line.starts_with("declare ") && line.contains("@__ks_dynamic(") {
            continue;
        }
        if let Some(block) = given
            && let Some((name, _)) = line.split_once(" = ").filter(|(_, call)| call.contains("@__ks_dynamic("))
        {
            let dbg = line.rfind(", !dbg ").map_or("", |n| &line[n..]);
            let _ = writeln!(out.ir, "{name} = bitcast ptr addrspace(3) {block} to ptr addrspace(3){dbg}");
            continue;
        }
        if line.starts_with("declare ") && (line.contains("@__ks_meta(") || line.contains("@__ks_tg_alloc(")) {
            continue;
        }
        if line.contains("@__ks_meta(") {
            if let [kernel, param, bytes] = call_integers(line, "@__ks_meta(")[..] {
                out.sizes.insert((kernel as u32, param as u32), bytes as u32);
            }
            continue;
        }
        if let Some((name, _)) = line.split_once(" = ").filter(|_| line.contains("@__ks_tg_alloc("))
            && let [number, bytes, align] = call_integers(line, "@__ks_tg_alloc(")[..]
        {
            let variable = names.get(number as usize).map_or("", String::as_str);
            let hand_out = HandOut {
                number: number as u32,
                bytes: bytes as u32,
                align: (align as u32).max(1),
                symbol: format!("ks_tg_{number}_{bytes}_{align}_{variable}"),
            };
            let dbg = line.rfind(", !dbg ").map_or("", |n| &line[n..]);
            let _ = writeln!(out.ir, "{name} = bitcast ptr addrspace(3) @{} to ptr addrspace(3){dbg}", hand_out.symbol);
            out.used_by.entry(function.clone()).or_default().insert(hand_out.clone());
            out.hand_outs.insert(hand_out);
            continue;
        }
        out.ir.push_str(line);
        out.ir.push('\n');
    }
    let mut globals = String::new();
    for h in &out.hand_outs {
        let _ = writeln!(
            globals,
            "@{} = internal addrspace(3) global [{} x i8] undef, align {}",
            h.symbol, h.bytes, h.align
        );
    }
    if !globals.is_empty() {
        // Globals may stand anywhere at top level; the first function is a safe place.
        let at = match out.ir.find("\ndefine ") {
            _ if out.ir.starts_with("define ") => 0,
            Some(n) => n + 1,
            None => out.ir.len(),
        };
        out.ir.insert_str(at, &globals);
    }
    out
}

/// The last parameter of an entry point, if that is threadgroup memory: the block that the launch sizes.
fn block_of(define: &str) -> Option<&str> {
    let open = define.find(" @ks_entry_").and_then(|at| define[at..].find('(').map(|n| at + n))?;
    let last = define[open..].rsplit("ptr ").next()?;
    let last = last.strip_prefix("addrspace(3)")?;
    let end = last.find(')')?;
    last[..end].split_whitespace().last().filter(|name| name.starts_with('%'))
}

/// Name of the function a `define` line starts.
pub fn function_name(line: &str) -> &str {
    let Some(at) = line.find('@') else { return "" };
    let rest = &line[at + 1..];
    rest.split(['(', ' ']).next().unwrap_or("").trim_matches('"')
}

/// The source's name in an Itanium-mangled one: its last part before the parameters.
pub fn demangle(name: &str) -> String {
    let Some(rest) = name.strip_prefix("_Z") else { return name.to_owned() };
    let mut rest = rest.trim_start_matches(['N', 'L', 'K']);
    let mut last = name;
    loop {
        rest = rest.trim_start_matches('L');
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let Ok(length) = rest[..digits].parse::<usize>() else { break };
        let Some(part) = rest.get(digits..digits + length) else { break };
        last = part;
        rest = &rest[digits + length..];
    }
    last.to_owned()
}

/// Literal integer arguments of the call of `callee`.
fn call_integers(line: &str, callee: &str) -> Vec<u64> {
    let Some(at) = line.find(callee) else { return Vec::new() };
    let rest = &line[at + callee.len()..];
    let end = rest.find(')').unwrap_or(rest.len());
    rest[..end].split(',').filter_map(|arg| arg.split_whitespace().last()?.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hooks_become_globals_and_sizes() {
        let ir = "declare spir_func void @__ks_meta(i32)\ndefine spir_func void @ks_entry_0(ptr addrspace(1) %0) {\n  %2 = tail call spir_func noalias ptr addrspace(3) @__ks_tg_alloc(i32 noundef 0, i64 noundef 128, i64 noundef 16) #4, !dbg !7\n  tail call spir_func void @__ks_meta(i32 noundef 0, i32 noundef 1, i32 noundef 4) #5, !dbg !8\n  ret void\n}\n";
        let done = unhook(ir, &["tile".to_owned()]);
        assert_eq!(
            done.ir,
            "@ks_tg_0_128_16_tile = internal addrspace(3) global [128 x i8] undef, align 16\ndefine spir_func void @ks_entry_0(ptr addrspace(1) %0) {\n  %2 = bitcast ptr addrspace(3) @ks_tg_0_128_16_tile to ptr addrspace(3), !dbg !7\n  ret void\n}\n"
        );
        assert_eq!(done.sizes[&(0, 1)], 4);
        assert_eq!(done.used_by["ks_entry_0"].len(), 1);
    }
}
