//! The sanitizers: each finds its bug at the right line, and none complains of a kernel that is right.

mod common;

use common::{Ran, Test, floats, run, uints};
use ksearch_simt::{Fault, FaultKind, Mode, RunError};

const BUGS: &str = include_str!("kernels/bugs.ll");
const SOURCE: &str = include_str!("kernels/bugs.cl");
const RIGHT: &str = include_str!("kernels/right.ll");

/// Line of the comment `// TAG name` in the source of the bugs.
fn line(tag: &str, name: &str) -> u32 {
    let mark = format!("// {tag} {name}");
    let at = SOURCE.lines().position(|l| l.ends_with(&mark)).expect("the mark is in the source");
    at as u32 + 1
}

#[track_caller]
fn expect<'a>(r: &'a Ran, name: &str, kind: FaultKind) -> &'a Fault {
    let f = r.0.faults.first().expect("a fault");
    assert_eq!(f.kind, kind, "{:#?}", r.0.faults);
    assert_eq!(f.at.pos.as_ref().map(|p| p.line), Some(line("BUG", name)), "{:#?}", r.0.faults);
    assert!(f.at.pos.as_ref().is_some_and(|p| p.file == "bugs.cl" && p.column > 0));
    assert!(!f.help.is_empty() && !f.message.is_empty());
    f
}

fn bug(name: &str) -> Test {
    run(BUGS, name)
}

fn ramp(n: usize) -> Vec<f32> {
    (0..n).map(|i| i as f32 - 20.0).collect()
}

#[test]
fn off_by_one_store() {
    for mode in [Mode::Fast, Mode::Profile, Mode::Sanitize] {
        let mut t = bug("off_by_one").buffer("in", &ramp(101)).buffer("result", &[0f32; 100]).bytes(&100u32);
        let r = t.launch([1, 1, 1], [64, 1, 1], mode);
        let f = expect(&r, "off_by_one", FaultKind::OutOfBounds);
        assert_eq!(f.message, "write of 4 bytes at offset 400 of `result`, which has 400 bytes");
        assert_eq!((f.at.simdgroup, f.at.lane), (1, 4));
    }
}

#[test]
fn threadgroup_bounds() {
    let mut t = bug("past_tile").buffer("out", &[0f32; 64]);
    let r = t.launch([1, 1, 1], [64, 1, 1], Mode::Sanitize);
    let f = expect(&r, "past_tile", FaultKind::OutOfBounds);
    assert!(f.message.contains("offset 256 of threadgroup memory, which has 256 bytes"), "{}", f.message);
}

#[track_caller]
fn race(mut t: Test, name: &str, groups: u32, threads: u32) {
    let r = t.launch([groups, 1, 1], [threads, 1, 1], Mode::Sanitize);
    let f = expect(&r, name, FaultKind::DataRace);
    let other = f.other.as_ref().expect("both sides");
    assert_eq!(other.pos.as_ref().map(|p| p.line), Some(line("OTHER", name)), "{f:#?}");
    assert!(r.0.faults.iter().all(|f| f.kind == FaultKind::DataRace), "{:#?}", r.0.faults);
}

#[test]
fn missing_barrier() {
    race(bug("missing_barrier").buffer("in", &ramp(128)).buffer("out", &[0f32; 128]), "missing_barrier", 1, 128);
}

#[test]
fn reuse_without_barrier() {
    let t = bug("reuse_without_barrier").buffer("in", &ramp(128)).buffer("out", &[0f32; 128]);
    race(t, "reuse_without_barrier", 1, 128);
}

#[test]
fn fence_too_weak() {
    race(bug("weak_fence").buffer("in", &ramp(128)).buffer("out", &[0f32; 128]), "weak_fence", 1, 128);
}

#[test]
fn lanes_are_threads() {
    let t = bug("lanes_without_barrier").buffer("in", &ramp(64)).buffer("out", &[0f32; 64]);
    race(t, "lanes_without_barrier", 1, 64);
}

#[test]
fn groups_of_one_dispatch() {
    let t = bug("groups_race").buffer("cache", &[0f32; 8]).buffer("out", &[0f32; 256]);
    race(t, "groups_race", 8, 32);
}

#[test]
fn early_return_before_a_barrier() {
    let mut t = bug("early_return").buffer("in", &ramp(256)).buffer("out", &[0f32; 256]).bytes(&128u32);
    let r = t.launch([1, 1, 1], [256, 1, 1], Mode::Sanitize);
    expect(&r, "early_return", FaultKind::BarrierDivergence);
    let mut t = bug("early_return").buffer("in", &ramp(256)).buffer("out", &[0f32; 256]).bytes(&120u32);
    let r = t.launch([1, 1, 1], [128, 1, 1], Mode::Sanitize);
    let f = expect(&r, "early_return", FaultKind::BarrierDivergence);
    assert!(f.message.contains("24 of 32") && f.message.contains("returned"), "{}", f.message);
    let mut t = bug("early_return").buffer("in", &ramp(256)).buffer("out", &[0f32; 256]).bytes(&128u32);
    t.launch([2, 1, 1], [128, 1, 1], Mode::Sanitize).clean();
}

#[test]
fn barrier_in_divergent_flow() {
    let mut t = bug("divergent_barrier").buffer("in", &ramp(64)).buffer("out", &[0f32; 64]);
    let r = t.launch([1, 1, 1], [64, 1, 1], Mode::Sanitize);
    let f = expect(&r, "divergent_barrier", FaultKind::BarrierDivergence);
    assert!(f.message.contains("11 of 32"), "{}", f.message);
    let mut t = bug("two_barriers").buffer("in", &ramp(64)).buffer("out", &[0f32; 64]);
    let r = t.launch([1, 1, 1], [64, 1, 1], Mode::Sanitize);
    let f = expect(&r, "two_barriers", FaultKind::BarrierDivergence);
    let other = f.other.as_ref().and_then(|o| o.pos.as_ref()).map(|p| p.line);
    assert_eq!(other, Some(line("OTHER", "two_barriers")));
}

#[test]
fn uninitialised_memory() {
    let mut t = bug("uninitialised_tile").buffer("in", &ramp(64)).buffer("out", &[0f32; 64]).bytes(&60u32);
    let r = t.launch([1, 1, 1], [64, 1, 1], Mode::Sanitize);
    let f = expect(&r, "uninitialised_tile", FaultKind::UninitializedRead);
    assert_eq!((f.at.simdgroup, f.at.lane), (0, 0));
    let mut t = bug("uninitialised_local").buffer("in", &ramp(64)).buffer("out", &[0f32; 64]).bytes(&15u32);
    let r = t.launch([1, 1, 1], [64, 1, 1], Mode::Sanitize);
    expect(&r, "uninitialised_local", FaultKind::UninitializedRead);
    let mut t = bug("accumulates_unwritten").buffer("in", &ramp(64)).fresh("out", 256);
    let r = t.launch([1, 1, 1], [64, 1, 1], Mode::Sanitize);
    expect(&r, "accumulates_unwritten", FaultKind::UninitializedRead);
}

#[test]
fn endless_loop_runs_out_of_budget() {
    let mut t = bug("endless").buffer("out", &[1f32; 64]);
    t.limits.max_instructions = 100_000;
    for mode in [Mode::Fast, Mode::Sanitize] {
        let r = t.launch([2, 1, 1], [32, 1, 1], mode);
        let f = r.0.faults.first().expect("a fault");
        assert_eq!(f.kind, FaultKind::Runaway);
        let at = f.at.pos.as_ref().map(|p| p.line).expect("a line");
        assert!((line("BUG", "endless")..=line("LOOP", "endless") + 1).contains(&at), "line {at}");
    }
}

#[test]
fn misaligned_vector() {
    let mut t = bug("misaligned").buffer("in", &ramp(256)).buffer("out", &[0f32; 256]);
    let r = t.launch([1, 1, 1], [32, 1, 1], Mode::Sanitize);
    expect(&r, "misaligned", FaultKind::Misaligned);
}

#[test]
fn write_to_a_read_only_buffer() {
    for mode in [Mode::Fast, Mode::Sanitize] {
        let mut t = bug("write_input").buffer("in", &ramp(64)).buffer("out", &[0f32; 64]);
        t.memory.buffers[0].read_only = true;
        let r = t.launch([1, 1, 1], [64, 1, 1], mode);
        expect(&r, "write_input", FaultKind::ReadOnlyWrite);
        assert_eq!(floats(t.bytes_of(0)), ramp(64));
    }
}

#[test]
fn launch_limits_are_errors_of_the_launch() {
    use ksearch_simt::{ArgValue, Launch, LaunchError};
    let mut t = bug("missing_barrier").buffer("in", &ramp(128)).buffer("out", &[0f32; 128]);
    let mut go = |threads: u32, args: Vec<ArgValue>, bytes: u32| {
        t.limits.max_threadgroup_bytes = bytes;
        let l = Launch::new([1, 1, 1], [threads, 1, 1], args);
        t.program.run("missing_barrier", &l, &mut t.memory, &t.limits, Mode::Fast).err()
    };
    let args = vec![ArgValue::Buffer(ksearch_simt::BufferId(0), 0), ArgValue::Buffer(ksearch_simt::BufferId(1), 0)];
    let e = go(2048, args.clone(), 32768);
    assert_eq!(e, Some(RunError::Launch(LaunchError::TooManyThreads { threads: 2048, limit: 1024 })));
    let e = go(128, args.clone(), 256);
    assert_eq!(e, Some(RunError::Launch(LaunchError::TooMuchThreadgroupMemory { bytes: 512, limit: 256 })));
    let e = go(128, args[..1].to_vec(), 32768);
    assert_eq!(e, Some(RunError::Launch(LaunchError::ArgumentCount { expected: 2, given: 1 })));
    let e = go(0, args, 32768);
    assert!(matches!(e, Some(RunError::Launch(LaunchError::Empty { .. }))));
}

fn right(name: &str) -> Test {
    run(RIGHT, name)
}

#[test]
fn right_kernels_raise_no_alarm() {
    let half: Vec<f32> = (0..4096).map(|i| (i % 7) as f32 / 7.0).collect();
    let f = |n: usize| vec![0f32; n];
    let u = |n: usize| vec![0u32; n];

    right("simd_exchange").buffer("in", &half).buffer("out", &f(64)).launch([1; 3], [64, 1, 1], Mode::Sanitize).clean();

    let mut t = right("same_value_flag").buffer("in", &half).buffer("out", &u(128));
    t.launch([2, 1, 1], [64, 1, 1], Mode::Sanitize).clean();
    assert!(uints(t.bytes_of(1)).iter().all(|&x| x == 1));

    let mut t = right("handoff").buffer("in", &half).fresh("out", 128);
    t.launch([1; 3], [64, 1, 1], Mode::Sanitize).clean();
    assert_eq!(floats(t.bytes_of(1))[5], half[5] * 3.0);

    let mut t = right("padding").buffer("in", &half).fresh("out", 256).bytes(&40u32);
    t.launch([1; 3], [64, 1, 1], Mode::Sanitize).clean();

    let mut t = right("tail_vote").buffer("in", &half).fresh("out", 400).bytes(&77u32);
    t.launch([2, 1, 1], [64, 1, 1], Mode::Sanitize).clean();

    let mut t = right("double_buffer").buffer("in", &half).fresh("out", 256).bytes(&5u32);
    t.launch([1; 3], [64, 1, 1], Mode::Sanitize).clean();

    let mut t =
        right("last_group").buffer("in", &half).buffer("part", &f(16)).buffer("count", &u(1)).buffer("out", &f(1));
    t.launch([16, 1, 1], [32, 1, 1], Mode::Sanitize).clean();
    assert!((floats(t.bytes_of(3))[0] - half[..512].iter().sum::<f32>()).abs() < 1e-3);

    let seeds: Vec<u32> = (0..64).map(|i| i * 13).collect();
    let mut t = right("scratch").buffer("in", &seeds).fresh("out", 256);
    t.launch([1; 3], [64, 1, 1], Mode::Sanitize).clean();

    let mut t = right("bytes").buffer("in", &seeds).fresh("out", 64);
    t.launch([1; 3], [64, 1, 1], Mode::Sanitize).clean();
}
