//! Makes every access to memory that lanes share volatile, so that no later pass drops, merges or moves it. Pointers of
//! unknown space count as shared, except where the unoptimised IR shows that they point to the thread's own objects: a
//! cast of a private pointer, and `this` of a constructor.

use std::collections::HashSet;
use std::fmt::Write;

/// Memory that the sanitizers watch: device, constant, threadgroup, and pointers that may be any of them.
const WATCHED: [&str; 4] = ["ptr addrspace(1)", "ptr addrspace(2)", "ptr addrspace(3)", "ptr addrspace(4)"];
const GENERIC: &str = "ptr addrspace(4)";

/// Rewrites loads, stores and memory intrinsics.
pub fn make_volatile(ir: &str) -> String {
    let mut out = String::with_capacity(ir.len() + ir.len() / 16);
    let mut own = Own::default();
    for line in ir.lines() {
        own.see(line);
        match access(line, &own) {
            Some(changed) => out.push_str(&changed),
            None => out.push_str(line),
        }
        out.push('\n');
    }
    out
}

/// Names in the current function that hold pointers of unknown space to the thread's own objects.
#[derive(Default)]
struct Own<'a> {
    /// The first parameter of a constructor.
    this: Option<&'a str>,
    /// Where it is kept.
    slot: Option<&'a str>,
    values: HashSet<&'a str>,
}

impl<'a> Own<'a> {
    fn see(&mut self, line: &'a str) {
        if line.starts_with("define ") {
            *self = Self::default();
            if is_constructor(super::hooks::function_name(line)) {
                self.this = line.split_once('(').and_then(|(_, params)| first_parameter(params));
            }
            return;
        }
        let body = line.trim_start();
        if let Some(rest) = body.strip_prefix("store ptr addrspace(4) ") {
            if let Some((value, slot)) = rest.split_once(", ptr %")
                && Some(value) == self.this
            {
                let end = slot.find([',', ' ']).unwrap_or(slot.len());
                self.slot = Some(&slot[..end]);
            }
            return;
        }
        let Some((name, value)) = body.split_once(" = ").filter(|(n, _)| n.starts_with('%')) else { return };
        let mine = if let Some(rest) = value.strip_prefix("load ptr addrspace(4), ptr %") {
            let end = rest.find([',', ' ']).unwrap_or(rest.len());
            self.slot == Some(&rest[..end])
        } else if value.starts_with("addrspacecast ptr %") {
            value.contains(" to ptr addrspace(4)")
        } else if value.starts_with("getelementptr ") {
            operand(value, GENERIC).is_some_and(|o| self.values.contains(o))
        } else {
            false
        };
        if mine {
            self.values.insert(name);
        }
    }

    fn holds(&self, pointer: &str) -> bool {
        operand(pointer, GENERIC).is_some_and(|o| self.values.contains(o))
    }
}

/// The value after a pointer type, e.g. `%3` of `ptr addrspace(4) %3, i64 1`; attributes may stand between.
fn operand<'a>(text: &'a str, ty: &str) -> Option<&'a str> {
    let at = text.find(ty)? + ty.len();
    let rest = &text[at..];
    let start = rest.find('%')?;
    let rest = &rest[start..];
    Some(&rest[..rest.find([',', ' ', ')']).unwrap_or(rest.len())])
}

fn first_parameter(params: &str) -> Option<&str> {
    let first = params.split(", ").next()?;
    let at = first.rfind('%')?;
    Some(first[at..].trim_end_matches([')', ' ', '{']))
}

/// `C1E` and `C2E` (or `C2I` for a template) end the name of an Itanium-mangled constructor.
fn is_constructor(name: &str) -> bool {
    name.starts_with("_ZN") && ["C1E", "C2E", "C1I", "C2I"].iter().any(|c| name.contains(c))
}

fn access(line: &str, own: &Own<'_>) -> Option<String> {
    let body = line.strip_prefix("  ")?;
    if let Some(rest) = body.strip_prefix("store ") {
        let pointer = rest.rfind(", ptr addrspace(").map(|n| &rest[n + 2..])?;
        let plain = !rest.starts_with("volatile ") && !rest.starts_with("atomic ");
        return (plain && watched(pointer) && !own.holds(pointer)).then(|| format!("  store volatile {rest}"));
    }
    if let Some(at) = body.find(" = load ") {
        let (name, rest) = (&body[..at], &body[at + " = load ".len()..]);
        let pointer = rest.find(", ptr addrspace(").map(|n| &rest[n + 2..])?;
        let plain = !rest.starts_with("volatile ") && !rest.starts_with("atomic ");
        return (plain && watched(pointer) && !own.holds(pointer)).then(|| format!("  {name} = load volatile {rest}"));
    }
    if body.contains("call void @llvm.mem") {
        let arguments = body.split_once("@llvm.mem").map_or("", |(_, rest)| rest);
        let watched_pointer = arguments.match_indices("ptr ").any(|(n, _)| {
            let argument = arguments[n..].split(", ").next().unwrap_or("");
            watched(argument) && !own.holds(argument)
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

    #[test]
    fn the_threads_own_objects_stay_plain() {
        let ir = "define internal spir_func void @_ZN1SC2EPKS_(ptr addrspace(4) noundef align 4 %0, ptr addrspace(4) noundef %1) {\n  store ptr addrspace(4) %0, ptr %3, align 8\n  store ptr addrspace(4) %1, ptr %4, align 8\n  %5 = load ptr addrspace(4), ptr %3, align 8\n  %6 = load ptr addrspace(4), ptr %4, align 8\n  %7 = getelementptr inbounds %struct.S, ptr addrspace(4) %5, i32 0, i32 1\n  %8 = load float, ptr addrspace(4) %6, align 4\n  store float %8, ptr addrspace(4) %7, align 4\n  %9 = addrspacecast ptr %2 to ptr addrspace(4)\n  %10 = load float, ptr addrspace(4) %9, align 4\n}\ndefine internal spir_func void @_Z1fv(ptr addrspace(4) %0) {\n  store float 1.0, ptr addrspace(4) %0, align 4\n}\n";
        let out = make_volatile(ir);
        assert!(out.contains("%8 = load volatile float, ptr addrspace(4) %6"), "the source may be shared");
        assert!(out.contains("  store float %8, ptr addrspace(4) %7"), "the object is the thread's");
        assert!(out.contains("%10 = load float, ptr addrspace(4) %9"));
        assert!(out.contains("  store volatile float 1.0, ptr addrspace(4) %0"));
    }
}
