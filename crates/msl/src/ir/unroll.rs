//! Loops that the source asks to unroll and that clang left alone, because OpenCL's rules make every call one that all
//! lanes take part in (`convergent`), also calls of plain mathematics. Knows printed IR.

/// Is there a loop whose wish to be unrolled is still open?
pub fn left(ir: &str) -> bool {
    ["count", "full", "enable"].iter().any(|wish| ir.contains(&format!("!\"llvm.loop.unroll.{wish}\"")))
}

/// Functions that only compute (`willreturn memory(none)`) are no longer `convergent`: barriers and simdgroup operations
/// are never such functions.
pub fn calls_made_plain(ir: &str) -> String {
    let mut out = String::with_capacity(ir.len());
    for line in ir.split_inclusive('\n') {
        if line.starts_with("attributes #") && line.contains(" willreturn memory(none)") {
            out.push_str(&line.replacen(" convergent ", " ", 1));
        } else {
            out.push_str(line);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pure_functions_become_plain() {
        let ir = "attributes #0 = { convergent nounwind }\nattributes #1 = { convergent nounwind willreturn memory(none) }\n";
        assert_eq!(
            calls_made_plain(ir),
            "attributes #0 = { convergent nounwind }\nattributes #1 = { nounwind willreturn memory(none) }\n"
        );
        assert!(left("!7 = !{!\"llvm.loop.unroll.count\", i32 8}") && !left("!7 = !{!\"llvm.loop.unroll.disable\"}"));
    }

    #[test]
    fn a_loop_with_mathematics_in_it_is_unrolled_as_asked() {
        let source = "#include <metal_stdlib>\nusing namespace metal;\nkernel void k(device const float* x [[buffer(0)]], device float* y [[buffer(1)]], constant uint& n [[buffer(2)]], uint i [[thread_position_in_grid]]) { float a = 0; _Pragma(\"unroll(8)\") for (uint j = 0; j < n; ++j) a += rsqrt(x[j]); y[i] = a; }\n";
        let files = [crate::SourceFile::new("k.metal", source)];
        let options = crate::CompileOptions { fast_math: true, ..crate::CompileOptions::default() };
        let module = crate::compile(&files, &options).expect("it compiles");
        assert!(module.ir.matches("@__ks_rsqrt_f32(").count() > 8, "{}", module.ir);
    }
}
