//! From clang's IR for NVIDIA GPUs to IR that its PTX back end takes as meant: buffers in `constant` memory are ordinary
//! device memory (a load from the constant bank would read nothing), the grid's size is a kernel argument, and
//! threadgroup memory sized by the host is the kernel's dynamic shared memory. Entry points become kernels.

use std::fmt::Write;

/// Name of the dynamic shared memory.
const DYNAMIC: &str = "ks_dynamic_shared";

/// Rewrites the IR; kernels take the grid's three sizes as their last arguments.
pub fn settle(ir: &str) -> String {
    let mut out = String::with_capacity(ir.len());
    let mut last_three: Vec<String> = Vec::new();
    let mut dynamic = false;
    for line in ir.lines() {
        if line.starts_with("declare ") && (line.contains("@__ks_grid(") || line.contains("@__ks_dynamic(")) {
            continue;
        }
        if line.starts_with("define ") {
            last_three = last_parameters(line);
            if line.contains(" @ks_entry_") {
                out.push_str(&line.replacen(" void @", " ptx_kernel void @", 1));
                out.push('\n');
                continue;
            }
        }
        if let Some((name, call)) = line.split_once(" = ")
            && let Some((_, args)) = call.split_once("@__ks_grid(")
            && let Some(axis) = args.split(')').next().and_then(|a| a.split_whitespace().last()?.parse::<usize>().ok())
            && let Some(parameter) = last_three.get(axis)
        {
            let _ = writeln!(out, "{name} = add i32 {parameter}, 0");
            continue;
        }
        if let Some((name, _)) = line.split_once(" = ").filter(|(_, call)| call.contains("@__ks_dynamic(")) {
            let _ = writeln!(out, "{name} = bitcast ptr addrspace(3) @{DYNAMIC} to ptr addrspace(3)");
            dynamic = true;
            continue;
        }
        out.push_str(line);
        out.push('\n');
    }
    let mut out = out.replace("addrspace(4)", "addrspace(1)");
    // Intrinsics carry the spaces of their pointers in their names.
    for intrinsic in ["llvm.memcpy", "llvm.memmove", "llvm.memset"] {
        for (from, to) in [
            (".p0.p4.", ".p0.p1."),
            (".p4.p0.", ".p1.p0."),
            (".p1.p4.", ".p1.p1."),
            (".p3.p4.", ".p3.p1."),
            (".p4.", ".p1."),
        ] {
            out = out.replace(&format!("{intrinsic}{from}"), &format!("{intrinsic}{to}"));
        }
    }
    if dynamic {
        let at = out.find("\ndefine ").map_or(0, |n| n + 1);
        out.insert_str(at, &format!("@{DYNAMIC} = external addrspace(3) global [0 x i8], align 16\n"));
    }
    out
}

/// Names of a function's last three parameters.
fn last_parameters(line: &str) -> Vec<String> {
    let Some(open) = line.find('@').and_then(|at| line[at..].find('(').map(|n| at + n)) else { return Vec::new() };
    let mut depth = 0usize;
    let mut names = Vec::new();
    let mut start = open + 1;
    for (n, c) in line[open..].char_indices().map(|(n, c)| (open + n, c)) {
        match c {
            '(' => depth += 1,
            ')' => {
                depth -= 1;
                if depth == 0 {
                    names.push(line[start..n].to_owned());
                    break;
                }
            }
            ',' if depth == 1 => {
                names.push(line[start..n].to_owned());
                start = n + 1;
            }
            _ => {}
        }
    }
    let names: Vec<String> = names.iter().filter_map(|p| p.split_whitespace().last().map(str::to_owned)).collect();
    names[names.len().saturating_sub(3)..].to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spaces_grid_and_dynamic_memory() {
        let ir = "declare i32 @__ks_grid(i32)\n\ndefine void @ks_entry_0(ptr addrspace(1) align 4 dereferenceable(8) %0, ptr addrspace(4) %1, i32 %2, i32 noundef %3, i32 %4) {\n  %6 = tail call i32 @__ks_grid(i32 noundef 1) #2\n  %7 = tail call ptr addrspace(3) @__ks_dynamic() #2\n  call void @llvm.memcpy.p0.p4.i64(ptr %8, ptr addrspace(4) %1, i64 8, i1 false)\n}\n";
        let out = settle(ir);
        assert!(out.contains("  %6 = add i32 %3, 0"), "{out}");
        assert!(out.contains("bitcast ptr addrspace(3) @ks_dynamic_shared"));
        assert!(out.contains("@llvm.memcpy.p0.p1.i64(ptr %8, ptr addrspace(1) %1"));
        assert!(out.starts_with('\n') || out.contains("\n@ks_dynamic_shared = external"));
        assert!(!out.contains("__ks_"));
    }
}
