//! What a profile knows: traffic by program point, reuse, footprints, traces, samples of a launch.

mod common;

use common::run;
use ksearch_simt::{InstrClass, Launch, Mode, Outcome};

const IR: &str = include_str!("kernels/basic.ll");

/// y = a x + y over `groups` groups of 64 threads; those of `only`.
fn saxpy(groups: u32, only: Option<Vec<u64>>) -> Outcome {
    let n = groups * 64;
    let t = run(IR, "saxpy").buffer("x", &vec![1f32; n as usize]).buffer("y", &vec![1f32; n as usize]);
    let mut t = t.bytes(&2.5f32).bytes(&n);
    let launch = Launch { only, ..Launch::new([groups, 1, 1], [64, 1, 1], t.args.clone()) };
    t.program.run("saxpy", &launch, &mut t.memory, &t.limits, Mode::Profile).expect("the launch runs")
}

#[test]
fn traffic_reuse_and_footprint_of_a_streaming_kernel() {
    let o = saxpy(16, None);
    let d = o.detail.expect("a profile has details");
    // Two loads and a store, each of two simdgroups in sixteen groups, 128 bytes: one line, two sectors.
    assert_eq!(d.points.len(), 3);
    for p in &d.points {
        assert_eq!((p.runs, p.bytes, p.units, p.sectors), (32, 32 * 128, 32, 64), "{p:?}");
    }
    // The store finds the line that the load of y has brought.
    let first: u64 = d.points.iter().map(|p| p.reuse[ksearch_simt::observe::reuse::FIRST]).sum();
    assert_eq!(first, 64);
    assert_eq!(d.footprint.groups, [1, 2, 4, 8, 16]);
    assert_eq!(d.footprint.loads, [4.0, 8.0, 16.0, 32.0, 64.0]);
    assert_eq!(d.footprint.all, d.footprint.loads);
    assert_eq!(d.footprint.buffers.len(), 2);
    assert_eq!(o.counters.launch_lines, [64, 32]);
    assert_eq!(d.work.iter().map(|w| w.groups).sum::<u64>(), 16);
}

#[test]
fn the_shape_says_who_waits_for_whom() {
    let o = saxpy(1, None);
    let d = o.detail.expect("a profile has details");
    let nodes: Vec<_> = d.shape.blocks.iter().flat_map(|b| &b.nodes).collect();
    let loads: Vec<_> = nodes.iter().filter(|n| n.class == InstrClass::LoadDevice).collect();
    let fma = nodes.iter().find(|n| n.class == InstrClass::Fp32).expect("a multiply-add");
    let store = nodes.iter().find(|n| n.class == InstrClass::StoreDevice).expect("a store");
    assert_eq!(loads.len(), 2);
    assert!(loads.iter().all(|l| fma.operands.contains(&l.value) && l.words == 1), "{nodes:#?}");
    assert!(store.operands.contains(&fma.value));
    let runs: u64 = d.shape.blocks.iter().zip(&d.blocks).map(|(b, r)| b.nodes.len() as u64 * r.runs).sum();
    assert_eq!(runs, o.counters.instructions.iter().sum::<u64>(), "shape and counters count the same instructions");
    assert!(!d.traces.is_empty() && d.traces.iter().all(|t| !t.blocks.is_empty()));
}

#[test]
fn a_sample_runs_the_chosen_groups_alone() {
    let o = saxpy(1000, Some(vec![3, 4, 5, 900]));
    assert_eq!(o.groups_run, 4);
    assert_eq!(o.counters.device_bytes, [4 * 512, 4 * 256]);
    let d = o.detail.expect("a profile has details");
    // Runs of consecutive groups: no pair spans the gap.
    assert_eq!(d.footprint.groups, [1, 2]);
    assert_eq!(d.work.iter().map(|w| w.first).collect::<Vec<_>>(), [3, 4, 5, 900]);
    assert!(d.traces.iter().all(|t| [3, 4, 5, 900].contains(&t.group)));
    // A group that does not exist is not run.
    assert_eq!(saxpy(4, Some(vec![2, 9])).groups_run, 1);
}

/// y[i] = x[4i + 2] - 2 x[4i] + 3 x[4i + 1] - 5 x[4i + 7]: three neighbours, in no order, and one that is apart.
const NEIGHBOURS: &str = r"
declare spir_func i32 @__ks_sr(i32)
define spir_kernel void @neighbours(ptr addrspace(1) readonly align 4 %x, ptr addrspace(1) align 4 %y) {
  %i = tail call spir_func i32 @__ks_sr(i32 19)
  %w = zext i32 %i to i64
  %s = shl nuw nsw i64 %w, 2
  %p0 = getelementptr inbounds float, ptr addrspace(1) %x, i64 %s
  %p2 = getelementptr inbounds i8, ptr addrspace(1) %p0, i64 8
  %a = load float, ptr addrspace(1) %p2, align 4
  %b = load float, ptr addrspace(1) %p0, align 4
  %p7 = getelementptr inbounds i8, ptr addrspace(1) %p0, i64 28
  %d = load float, ptr addrspace(1) %p7, align 4
  %p1 = getelementptr inbounds i8, ptr addrspace(1) %p0, i64 4
  %c = load float, ptr addrspace(1) %p1, align 4
  %b2 = fmul float %b, -2.0
  %c3 = fmul float %c, 3.0
  %d5 = fmul float %d, -5.0
  %t = fadd float %a, %b2
  %u = fadd float %t, %c3
  %v = fadd float %u, %d5
  %q = getelementptr inbounds float, ptr addrspace(1) %y, i64 %w
  store float %v, ptr addrspace(1) %q, align 4
  ret void
}
";

#[test]
fn joined_loads_count_once_and_bring_the_same_values() {
    let x: Vec<f32> = (0..64 * 4 + 8u16).map(|i| f32::from(i * 37 % 97)).collect();
    let counted = |mode| {
        let mut t = run(NEIGHBOURS, "neighbours").buffer("x", &x).buffer("y", &[0f32; 64]);
        let ran = t.launch([1, 1, 1], [64, 1, 1], mode);
        ran.clean();
        for (i, y) in common::floats(t.bytes_of(1)).iter().enumerate() {
            let at = |k: usize| x[4 * i + k];
            assert_eq!(*y, at(2) - 2.0 * at(0) + 3.0 * at(1) - 5.0 * at(7), "{mode:?} {i}");
        }
        ran.0.counters.instructions[InstrClass::LoadDevice as usize]
    };
    // Two simdgroups: the three neighbours are one load, and the fourth is another.
    assert_eq!(counted(Mode::Profile), 2 * 2);
    assert_eq!(counted(Mode::Fast), 2 * 4);
    assert_eq!(counted(Mode::Sanitize), 2 * 4);
}
