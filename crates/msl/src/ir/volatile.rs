//! Makes every access to memory that lanes share volatile, so that no later pass drops, merges or moves it.

use std::fmt::Write;

/// Memory that the sanitizers watch: device, constant, threadgroup, and pointers that may be any of them.
const WATCHED: [&str; 4] = ["ptr addrspace(1)", "ptr addrspace(2)", "ptr addrspace(3)", "ptr addrspace(4)"];

/// Rewrites loads, stores and memory intrinsics.
pub fn make_volatile(ir: &str) -> String {
    let mut out = String::with_capacity(ir.len() + ir.len() / 16);
    for line in ir.lines() {
        match access(line) {
            Some(changed) => out.push_str(&changed),
            None => out.push_str(line),
        }
        out.push('\n');
    }
    out
}

fn access(line: &str) -> Option<String> {
    let body = line.strip_prefix("  ")?;
    if let Some(rest) = body.strip_prefix("store ") {
        let pointer = rest.rfind(", ptr addrspace(").map(|n| &rest[n + 2..])?;
        let plain = !rest.starts_with("volatile ") && !rest.starts_with("atomic ");
        return (plain && watched(pointer)).then(|| format!("  store volatile {rest}"));
    }
    if let Some(at) = body.find(" = load ") {
        let (name, rest) = (&body[..at], &body[at + " = load ".len()..]);
        let pointer = rest.find(", ptr addrspace(").map(|n| &rest[n + 2..])?;
        let plain = !rest.starts_with("volatile ") && !rest.starts_with("atomic ");
        return (plain && watched(pointer)).then(|| format!("  {name} = load volatile {rest}"));
    }
    if body.contains("call void @llvm.mem") {
        let watched_pointer = body.match_indices("ptr ").any(|(n, _)| {
            // Attributes may stand between the type and the operand.
            watched(&body[n..])
        });
        if watched_pointer && let Some(at) = body.rfind("i1 false)") {
            let mut changed = String::with_capacity(line.len());
            let _ = write!(changed, "  {}i1 true){}", &body[..at], &body[at + "i1 false)".len()..]);
            return Some(changed);
        }
    }
    None
}

fn watched(operand: &str) -> bool {
    WATCHED.iter().any(|w| operand.starts_with(w))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_memory_only() {
        for (line, wanted) in [
            (
                "  %3 = load i32, ptr addrspace(2) %1, align 4, !dbg !12",
                "  %3 = load volatile i32, ptr addrspace(2) %1, align 4, !dbg !12",
            ),
            (
                "  store float %5, ptr addrspace(1) %0, align 4",
                "  store volatile float %5, ptr addrspace(1) %0, align 4",
            ),
            ("  store ptr addrspace(1) %0, ptr %x, align 8", "  store ptr addrspace(1) %0, ptr %x, align 8"),
            ("  %3 = load ptr addrspace(1), ptr %x, align 8", "  %3 = load ptr addrspace(1), ptr %x, align 8"),
            (
                "  %3 = load ptr addrspace(1), ptr addrspace(2) %x, align 8",
                "  %3 = load volatile ptr addrspace(1), ptr addrspace(2) %x, align 8",
            ),
            (
                "  %3 = load atomic i32, ptr addrspace(1) %1 monotonic, align 4",
                "  %3 = load atomic i32, ptr addrspace(1) %1 monotonic, align 4",
            ),
            (
                "  call void @llvm.memcpy.p0.p1.i64(ptr align 4 %a, ptr addrspace(1) align 4 %b, i64 16, i1 false), !dbg !3",
                "  call void @llvm.memcpy.p0.p1.i64(ptr align 4 %a, ptr addrspace(1) align 4 %b, i64 16, i1 true), !dbg !3",
            ),
        ] {
            assert_eq!(make_volatile(line).trim_end_matches('\n'), wanted);
        }
    }
}
