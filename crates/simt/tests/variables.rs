//! Names of the user's variables, as debug information has them: in the records that clang prints from 19 on, and in the
//! calls that it printed before.

mod common;

use common::run;
use ksearch_msl::{CompileOptions, Compiler, Optimise, SourceFile};
use ksearch_simt::{ArgValue, Buffer, Launch, Limits, Memory, Program, TracedStep};

const IR: &str = r#"
define spir_kernel void @k(ptr addrspace(1) %out) !dbg !4 {
entry:
  %i = call i32 @__ks_sr(i32 19), !dbg !10
    #dbg_value(i32 %i, !6, !DIExpression(), !10)
  %f = uitofp i32 %i to float, !dbg !10
  %s = fmul float %f, 2.0, !dbg !11
    #dbg_value(float %s, !7, !DIExpression(), !11)
  %t = fadd float %s, 1.0, !dbg !11
  call void @llvm.dbg.value(metadata float %t, metadata !8, metadata !DIExpression()), !dbg !11
  %u = fadd float %t, 1.0, !dbg !11
    #dbg_value(float %u, !9, !DIExpression(), !11)
    #dbg_value(float %u, !7, !DIExpression(DW_OP_LLVM_fragment, 0, 16), !11)
  %p = getelementptr float, ptr addrspace(1) %out, i32 %i, !dbg !12
  store float %u, ptr addrspace(1) %p, align 4, !dbg !12
  ret void, !dbg !12
}
declare i32 @__ks_sr(i32)
declare void @llvm.dbg.value(metadata, metadata, metadata)
!0 = distinct !DICompileUnit(language: DW_LANG_C_plus_plus, file: !1)
!1 = !DIFile(filename: "k.metal", directory: "")
!2 = !DIFile(filename: "library", directory: "")
!4 = distinct !DISubprogram(name: "k", scope: !1, file: !1, line: 1, unit: !0)
!6 = !DILocalVariable(name: "i", scope: !4, file: !1, line: 2)
!7 = !DILocalVariable(name: "s", scope: !4, file: !1, line: 3)
!8 = !DILocalVariable(name: "t", arg: 1, scope: !4, file: !1, line: 3)
!9 = !DILocalVariable(name: "hidden", scope: !4, file: !2, line: 3)
!10 = !DILocation(line: 2, column: 3, scope: !4)
!11 = !DILocation(line: 3, column: 5, scope: !4)
!12 = !DILocation(line: 4, column: 7, scope: !4)
"#;

#[test]
fn traced_values_have_the_names_of_variables() {
    let mut t = run(IR, "k").buffer("out", &[0f32; 32]);
    let launch = Launch::new([1, 1, 1], [32, 1, 1], t.args.clone());
    let mut names = |line| {
        let traced = t.program.trace("k", &launch, &mut t.memory, &t.limits, line, (0, 0, 100)).expect("it runs");
        traced.steps.into_iter().map(|s| (s.variables, s.stored)).collect::<Vec<_>>()
    };
    let named = |n: &str| vec![Some(n.to_owned())];
    assert_eq!(names(2).first(), Some(&(named("i"), false)));
    // What the library calls its own, and parts of variables, have no name.
    let line = names(3);
    assert_eq!(line, [(named("s"), false), (named("t"), false), (vec![None], false)]);
    assert_eq!(names(4), [(vec![None], true)]);
}

/// From Metal source, in the form that a trace runs.
#[test]
fn variables_of_metal_sources_have_names() {
    let source = "#include <metal_stdlib>
using namespace metal;
kernel void k(device const float* x [[buffer(0)]], device float* out [[buffer(1)]],
              uint i [[thread_position_in_grid]]) {
  float v = x[i] + 1.0f;
  float2 w = float2(v, v * v);
  for (uint k = 0; k < 3; k++) w *= x[k];
  out[i] = clamp(w.x, 0.0f, 9.0f) + w.y;
}
";
    let names = |line| {
        trace(source, line, true).into_iter().flat_map(|s| s.variables.into_iter().zip(s.values)).collect::<Vec<_>>()
    };
    let lane = |v: &[u64; 32]| f32::from_bits(v[3] as u32);
    let of = |list: &[(Option<String>, [u64; 32])], name: &str| {
        list.iter().filter(|(n, _)| n.as_deref() == Some(name)).map(|(_, v)| lane(v)).collect::<Vec<_>>()
    };
    assert_eq!(of(&names(5), "v"), [4.0]);
    assert_eq!(of(&names(6), "w.y"), [16.0]);
    assert_eq!(of(&names(7), "w.x").last(), Some(&0.0));
    // What the library calls its own arguments is nobody's business.
    assert!(names(8).iter().all(|(n, _)| n.as_deref().is_none_or(|n| n.starts_with('w'))), "{:?}", names(8));
}

/// Asking for names changes nothing else.
#[test]
fn names_do_not_change_what_runs() {
    let source = "#include <metal_stdlib>
using namespace metal;
kernel void k(device const float* x, device float* out, uint i [[thread_position_in_grid]],
    uint t [[thread_index_in_threadgroup]]) {
  threadgroup float tile[64];
  tile[t] = x[i] * 3.0f;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (t & 1) out[i] = tile[31 - t] < 5.0f ? 1.0f : 2.0f;
}
";
    for line in [6, 8] {
        let [with, without] = [true, false].map(|variables| {
            let steps = trace(source, line, variables);
            steps.into_iter().map(|s| (s.pos, s.what, s.mask, s.values)).collect::<Vec<_>>()
        });
        assert!(!with.is_empty());
        assert_eq!(with, without);
    }
}

/// What a line of kernel `k` computes on 32 threads and two buffers, in the form that a trace runs.
fn trace(source: &str, line: u32, variables: bool) -> Vec<TracedStep> {
    let options =
        CompileOptions { optimise: Optimise::Faithful, fast_math: true, variables, ..CompileOptions::default() };
    let compiler = Compiler::shared().expect("a clang");
    let module = compiler.compile(&[SourceFile::new("k.metal", source)], &options).expect("it compiles");
    let program = Program::load(&module).expect("it is readable");
    let mut memory = Memory::default();
    let mut add = |name: &str| {
        let bytes = (0..32).flat_map(|i| (i as f32).to_le_bytes()).collect();
        ArgValue::Buffer(memory.add(Buffer { name: name.into(), bytes, written: None, read_only: false }), 0)
    };
    let launch = Launch::new([1, 1, 1], [32, 1, 1], vec![add("x"), add("out")]);
    let traced = program.trace("k", &launch, &mut memory, &Limits::default(), line, (0, 0, 100));
    traced.expect("it runs").steps
}
