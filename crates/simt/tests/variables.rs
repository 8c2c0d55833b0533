//! Names of the user's variables, as debug information has them: in the records that clang prints from 19 on, and in the
//! calls that it printed before.

mod common;

use common::run;
use ksearch_simt::Launch;

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
