//! Known bugs of public Metal kernels, rebuilt in a few lines each: found at their line, and silent once mended. And
//! kernels that look wrong and are right: none may raise an alarm. What each kernel stands for is said beside it.
#![allow(clippy::unwrap_used)] // A test that cannot go on must say so at once.

use std::path::Path;

use assert_cmd::Command;
use serde_json::Value;

const HEAD: &str = "#include <metal_stdlib>\nusing namespace metal;\n";

fn ksearch(dir: &Path, args: &str) -> (i32, String) {
    let output = Command::cargo_bin("ksearch")
        .unwrap()
        .current_dir(dir)
        .env("NO_COLOR", "1")
        .args(args.split_whitespace())
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(!text.is_empty(), "{args}: {}", String::from_utf8_lossy(&output.stderr));
    (output.status.code().unwrap_or(-1), text)
}

/// A launch of `source`; the kernel's text goes in without its head.
fn sanitize(source: &str, args: &str) -> (i32, Value) {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("k.metal"), format!("{HEAD}{source}")).unwrap();
    let (code, text) = ksearch(dir.path(), &format!("sanitize k.metal --json {args}"));
    (code, serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}")))
}

/// Line of `// TAG` in the source as it is written to the file.
fn line(source: &str, tag: &str) -> Option<u64> {
    format!("{HEAD}{source}").lines().position(|l| l.ends_with(&format!("// {tag}"))).map(|n| n as u64 + 1)
}

/// The first finding is `rule`, on the line that ends in `// BUG`, and its other place is the line that ends in `// OTHER`.
#[track_caller]
fn finds(rule: &str, source: &str, args: &str) -> Value {
    let (code, report) = sanitize(source, args);
    assert_eq!(code, 1, "{report:#}");
    let f = &report["findings"][0];
    assert_eq!(f["rule"], rule, "{report:#}");
    assert_eq!(f["pos"]["line"].as_u64(), line(source, "BUG"), "{report:#}");
    if let Some(other) = line(source, "OTHER") {
        assert_eq!(f["other"]["line"].as_u64(), Some(other), "{report:#}");
    }
    assert!(f["help"].as_str().is_some_and(|h| !h.is_empty()), "{report:#}");
    f.clone()
}

#[track_caller]
fn clean(source: &str, args: &str) {
    let (code, report) = sanitize(source, args);
    assert_eq!((code, report["findings"].as_array().map(Vec::len)), (0, Some(0)), "{report:#}");
}

/// mlx-lm issue 1700: a second reduction overwrites `shared` while others still read the first one's result.
#[test]
fn a_reduction_that_reuses_its_array() {
    let bad = "kernel void loss(device const float* x, device float* out, uint i [[thread_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]], uint simd [[simdgroup_index_in_threadgroup]]) {
  threadgroup float shared[4];
  float m = simd_max(x[i]);
  if (lane == 0) shared[simd] = m;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  float largest = max(max(shared[0], shared[1]), max(shared[2], shared[3])); // OTHER
  float s = simd_sum(exp(x[i] - largest));
  if (lane == 0) shared[simd] = s; // BUG
  threadgroup_barrier(mem_flags::mem_threadgroup);
  out[i] = log(shared[0] + shared[1] + shared[2] + shared[3]) + largest;
}";
    let launch = "--threads 128 --buffer x=random:f32:128 --buffer out=unwritten:f32:128";
    let f = finds("data_race", bad, launch);
    assert!(f["help"].as_str().unwrap().contains("threadgroup_barrier"), "{f:#}");
    let mended = bad.replace("  float s =", "  threadgroup_barrier(mem_flags::mem_threadgroup);\n  float s =");
    clean(&mended, launch);
}

/// mlx-lm issue 1700 again: a barrier that orders no memory.
#[test]
fn a_barrier_with_mem_none() {
    let bad = "kernel void total(device const float* x, device float* out, uint i [[thread_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]], uint simd [[simdgroup_index_in_threadgroup]]) {
  threadgroup float part[2];
  float s = simd_sum(x[i]);
  if (lane == 0) part[simd] = s; // OTHER
  threadgroup_barrier(mem_flags::mem_none);
  out[i] = part[0] + part[1]; // BUG
}";
    let launch = "--threads 64 --buffer x=random:f32:64 --buffer out=unwritten:f32:64";
    finds("data_race", bad, launch);
    clean(&bad.replace("mem_none", "mem_threadgroup"), launch);
}

/// vllm-mlx PR 721: threads past the end return before a barrier that the others wait at.
#[test]
fn an_early_return_before_a_barrier() {
    let bad = "kernel void rows(device const float* x, device float* out, constant uint& n,
    uint i [[thread_position_in_grid]], uint t [[thread_index_in_threadgroup]]) {
  threadgroup float tile[64];
  if (i >= n) return;
  tile[t] = x[i];
  threadgroup_barrier(mem_flags::mem_threadgroup); // BUG
  out[i] = tile[0] + x[i];
}";
    let launch = "--threads 64 --scalar n=50 --buffer x=random:f32:50 --buffer out=unwritten:f32:50";
    finds("barrier_divergence", bad, launch);
    let mended = "kernel void rows(device const float* x, device float* out, constant uint& n,
    uint i [[thread_position_in_grid]], uint t [[thread_index_in_threadgroup]]) {
  threadgroup float tile[64];
  tile[t] = i < n ? x[i] : 0.0f;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (i < n) out[i] = tile[0] + x[i];
}";
    clean(mended, launch);
}

/// ds4 PR 837: one threadgroup writes the cache that others read in the same dispatch. A barrier does not help across
/// threadgroups; a dispatch for each half does.
#[test]
fn a_cache_written_and_read_in_one_dispatch() {
    let bad = "kernel void step(device const float* x, device float* cache, device float* out, constant uint& n,
    uint t [[thread_index_in_threadgroup]], uint g [[threadgroup_position_in_grid]]) {
  if (g == 0) cache[t] = x[t]; // OTHER
  threadgroup_barrier(mem_flags::mem_device);
  out[g * n + t] = cache[t] * 2.0f; // BUG
}";
    let buffers = "--grid 4 --threads 32 --buffer x=random:f32:32 --buffer out=unwritten:f32:128 --scalar n=32";
    let f = finds("data_race", bad, &format!("{buffers} --buffer cache=zeros:f32:32"));
    assert_ne!(f["thread"]["threadgroup"], f["other_thread"]["threadgroup"], "{f:#}");
    let mended =
        bad.replace("if (g == 0) cache[t] = x[t]; // OTHER", "float v = x[t];").replace("cache[t] *", "v * cache[t] *");
    clean(&mended, &format!("{buffers} --buffer cache=ones:f32:32"));
}

/// mlx PR 4018: 1024 threads where the pipeline allows fewer; Metal drops such a dispatch and the output stays as it was.
#[test]
fn more_threads_than_the_pipeline_allows() {
    let bad = "[[max_total_threads_per_threadgroup(832)]] // BUG
kernel void big(device float* out, uint i [[thread_position_in_grid]]) { out[i] = 1.0f; }";
    let (code, report) = sanitize(bad, "--threads 1024 --buffer out=unwritten:f32:1024");
    let f = &report["findings"][0];
    assert_eq!((code, f["rule"].as_str()), (1, Some("launch_limit")), "{report:#}");
    assert!(f["message"].as_str().unwrap().contains("1024") && f["message"].as_str().unwrap().contains("832"), "{f:#}");
    clean(bad, "--threads 832 --buffer out=unwritten:f32:832");
}

/// The same without the attribute: what the registers leave room for is an estimate, so it is a warning.
#[test]
fn more_threads_than_the_registers_leave_room_for() {
    let many = "kernel void hog(device const float4* x, device float4* out, constant uint& n,
    uint i [[thread_position_in_grid]]) {
  float4 a[40];
  #pragma unroll
  for (int k = 0; k < 40; k++) a[k] = x[i + 1024 * k];
  for (uint r = 0; r < n; r++) {
    #pragma unroll
    for (int k = 0; k < 40; k++) a[k] = a[k] * a[(k + 7) % 40].yzwx + a[(k + 13) % 40];
  }
  float4 s = 0.0f;
  #pragma unroll
  for (int k = 0; k < 40; k++) s += a[k] * float(k + 1);
  out[i] = s;
}";
    let launch = "--threads 1024 --scalar n=3 --buffer x=zeros:f32:40960x4 --buffer out=unwritten:f32:1024x4";
    let (code, report) = sanitize(many, launch);
    assert_eq!((code, report["findings"][0]["rule"].as_str()), (0, Some("register_limit")), "{report:#}");
    clean(many, &launch.replace("--threads 1024", "--grid 4 --threads 256"));
}

/// mlx issue 4534: a grid given in threadgroups where threads are counted does a part of the work.
#[test]
fn a_grid_counted_in_the_wrong_unit() {
    let kernel = "kernel void rows(device const float* x, device float* out, constant uint& n,
    uint2 i [[thread_position_in_grid]]) {
  out[i.y * n + i.x] = x[i.y * n + i.x];
}";
    let buffers = "--buffer x=random:f32:3x512 --buffer out=unwritten:f32:3x512 --scalar n=512 --threads 256";
    let (code, report) = sanitize(kernel, &format!("{buffers} --grid-threads 2,3"));
    let f = &report["findings"][0];
    assert_eq!((code, f["rule"].as_str()), (1, Some("partial_coverage")), "{report:#}");
    assert!(f["message"].as_str().unwrap().contains("1530 of 1536"), "{f:#}");
    assert!(f["message"].as_str().unwrap().contains("[0, 2]"), "{f:#}");
    clean(kernel, &format!("{buffers} --grid-threads 512,3"));
}

/// tvm issue 17279 and mlx issue 2205: what fits one chip is refused on another.
#[test]
fn limits_are_those_of_the_chip() {
    let kernel = "kernel void tile(device float* out, uint t [[thread_index_in_threadgroup]]) {
  threadgroup float tile[6000]; // BUG
  tile[t * 4] = 1.0f;
  out[t] = tile[t * 4];
}";
    let chips = tempfile::tempdir().unwrap();
    let launch = "--threads 64 --buffer out=unwritten:f32:64";
    clean(kernel, launch);
    let more = kernel.replace("6000", "9000");
    let f = finds("launch_limit", &more, launch);
    assert!(
        f["message"].as_str().unwrap().contains("36000") && f["message"].as_str().unwrap().contains("32768"),
        "{f:#}"
    );
    // A chip of the user's own with half of the memory.
    let m1 = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../chips/m1.toml")).unwrap();
    let half = m1.replace("[chip]", "[chip]\ntgmem_bytes_per_threadgroup_max = { v = 16384, s = \"AGI\" }");
    std::fs::write(chips.path().join("tiny.toml"), half).unwrap();
    let there = format!("{launch} --chips {} --target sim:tiny", chips.path().display());
    let f = finds("launch_limit", kernel, &there);
    assert!(f["message"].as_str().unwrap().contains("16384"), "{f:#}");
}

/// Out of bounds counts even where nothing uses the value.
#[test]
fn an_unused_read_past_the_end() {
    let bad = "kernel void copy(device const float* x, device float* out, uint i [[thread_position_in_grid]]) {
  float next = x[i + 1]; // BUG
  out[i] = x[i];
  (void)next;
}";
    let launch = "--threads 64 --buffer x=random:f32:64 --buffer out=unwritten:f32:64";
    let f = finds("out_of_bounds", bad, launch);
    assert_eq!((f["thread"]["simdgroup"].as_u64(), f["thread"]["lane"].as_u64()), (Some(1), Some(31)), "{f:#}");
    clean(&bad.replace("x[i + 1]", "x[min(i + 1, 63u)]"), launch);
}

/// An index that passes 2^31. The buffer's memory is never touched but for a few pages.
#[test]
fn a_32_bit_index_that_overflows() {
    let bad = "kernel void far(device uchar* x, constant int& row, constant int& width,
    uint t [[thread_index_in_threadgroup]]) {
  x[row * width + int(t)] = 1; // BUG
}";
    let launch = "--threads 32 --buffer x=zeros:u8:2200000000 --scalar row=2148 --scalar width=1000000";
    let f = finds("out_of_bounds", bad, launch);
    assert!(f["help"].as_str().unwrap().contains("64 bits"), "{f:#}");
    clean(&bad.replace("row * width", "long(row) * width").replace("int(t)", "long(t)"), launch);
}

#[test]
fn a_misaligned_vector() {
    let bad = "kernel void quads(device const float* x, device float4* out, uint i [[thread_position_in_grid]]) {
  out[i] = *(device const float4*)(x + 4 * i + 1); // BUG
}";
    let launch = "--threads 32 --buffer x=random:f32:129 --buffer out=unwritten:f32:32x4";
    finds("misaligned", bad, launch);
    clean(
        &bad.replace("*(device const float4*)(x + 4 * i + 1)", "float4(*(device const packed_float4*)(x + 4 * i + 1))"),
        launch,
    );
}

/// The read is named, and where its value ends up.
#[test]
fn memory_that_nobody_wrote() {
    let bad = "kernel void sums(device const float* x, device float* out, constant uint& n,
    uint t [[thread_index_in_threadgroup]]) {
  threadgroup float tile[64];
  if (t < n) tile[t] = x[t];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  float v = tile[63 - t]; // BUG
  v = v * 2.0f + 1.0f;
  out[t] = v; // OTHER
}";
    let launch = "--threads 64 --buffer x=random:f32:64 --buffer out=unwritten:f32:64";
    finds("uninitialized_read", bad, &format!("{launch} --scalar n=60"));
    clean(bad, &format!("{launch} --scalar n=64"));
}

#[test]
fn arguments_without_use_and_outputs_without_writes() {
    let kernel = "kernel void k(device const float* x, device float* out,
    constant uint& n, // ARGUMENT
    uint i [[thread_position_in_grid]]) {
  if (x[0] > 2.0f) out[i] = x[i];
}";
    let launch = "--threads 32 --buffer x=random:f32:32 --buffer out=unwritten:f32:32 --scalar n=1";
    let (code, report) = sanitize(kernel, launch);
    let rules: Vec<_> = report["findings"].as_array().unwrap().iter().map(|f| f["rule"].as_str().unwrap()).collect();
    assert_eq!((code, rules), (1, vec!["unused_argument", "output_never_written"]), "{report:#}");
    assert_eq!(report["findings"][0]["pos"]["line"].as_u64(), line(kernel, "ARGUMENT"), "{report:#}");
}

/// Kernels that look wrong and are right.
#[test]
fn right_kernels_raise_no_alarm() {
    // Lanes of one simdgroup exchange through threadgroup memory, ordered by a simdgroup barrier alone.
    clean(
        "kernel void exchange(device const float* x, device float* out, uint i [[thread_position_in_grid]],
    uint t [[thread_index_in_threadgroup]]) {
  threadgroup float tile[64];
  tile[t] = x[i];
  simdgroup_barrier(mem_flags::mem_threadgroup);
  out[i] = tile[t ^ 1];
}",
        "--threads 64 --buffer x=random:f32:64 --buffer out=unwritten:f32:64",
    );
    // All threads raise one flag to one value.
    clean(
        "kernel void any_above(device const float* x, device uint* out, uint i [[thread_position_in_grid]],
    uint t [[thread_index_in_threadgroup]]) {
  threadgroup uint found;
  if (t == 0) found = 0;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (x[i] > 0.5f) found = 1;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  out[i] = found;
}",
        "--threads 64 --grid 2 --buffer x=random:f32:128 --buffer out=unwritten:u32:128",
    );
    // The same flag in device memory, raised by all threadgroups.
    clean(
        "kernel void changed(device const float* x, device uint* flag, uint i [[thread_position_in_grid]]) {
  if (x[i] > 0.5f) flag[0] = 1;
}",
        "--threads 64 --grid 4 --buffer x=random:f32:256 --buffer flag=zeros:u32:1",
    );
    // One simdgroup hands data to another by an atomic flag.
    clean(
        "kernel void handoff(device const float* x, device float* out, uint lane [[thread_index_in_simdgroup]],
    uint simd [[simdgroup_index_in_threadgroup]]) {
  threadgroup float data[32];
  threadgroup atomic_uint ready;
  if (simd == 0 && lane == 0) atomic_store_explicit(&ready, 0u, memory_order_relaxed);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (simd == 0) {
    data[lane] = x[lane] * 3.0f;
    simdgroup_barrier(mem_flags::mem_threadgroup);
    if (lane == 0) atomic_store_explicit(&ready, 1u, memory_order_relaxed);
  } else {
    while (atomic_load_explicit(&ready, memory_order_relaxed) == 0u) {}
    simdgroup_barrier(mem_flags::mem_threadgroup);
    out[lane] = data[lane];
  }
}",
        "--threads 64 --buffer x=random:f32:32 --buffer out=unwritten:f32:32",
    );
    // Lanes past the end compute on what nobody wrote and never store it.
    clean(
        "kernel void padded(device const float* x, device float* out, constant uint& n,
    uint t [[thread_index_in_threadgroup]]) {
  threadgroup float tile[64];
  if (t < n) tile[t] = x[t];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  float v = tile[t] * 0.5f + tile[t] * tile[t];
  if (t < n) out[t] = v;
}",
        "--threads 64 --buffer x=random:f32:40 --buffer out=unwritten:f32:40 --scalar n=40",
    );
    // Double buffering: one barrier a round.
    clean(
        "kernel void rounds(device const float* x, device float* out, constant uint& n,
    uint t [[thread_index_in_threadgroup]]) {
  threadgroup float tile[2][64];
  float sum = 0.0f;
  tile[0][t] = x[t];
  for (uint r = 0; r < n; r++) {
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (r + 1 < n) tile[(r + 1) & 1][t] = x[(r + 1) * 64 + t];
    sum += tile[r & 1][63 - t];
  }
  out[t] = sum;
}",
        "--threads 64 --buffer x=random:f32:320 --buffer out=unwritten:f32:64 --scalar n=5",
    );
}

#[test]
fn text_and_sarif() {
    let dir = tempfile::tempdir().unwrap();
    let source = "kernel void total(device const float* x, device float* out, uint i [[thread_position_in_grid]]) {
  threadgroup float part[64];
  part[i] = x[i];
  out[i] = part[63 - i];
}\n";
    std::fs::write(dir.path().join("k.metal"), format!("{HEAD}{source}")).unwrap();
    let launch = "--threads 64 --buffer x=random:f32:64 --buffer out=unwritten:f32:64";
    let (code, text) = ksearch(dir.path(), &format!("sanitize k.metal {launch} --sarif found.sarif"));
    assert_eq!(code, 1);
    insta::assert_snapshot!("race_as_text", text);
    let sarif = std::fs::read_to_string(dir.path().join("found.sarif")).unwrap();
    insta::assert_snapshot!("race_as_sarif", sarif.replace(env!("CARGO_PKG_VERSION"), "VERSION"));
    // The same through `run`.
    let (code, text) = ksearch(dir.path(), &format!("run k.metal {launch} --sanitize --json"));
    let value: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((code, value["findings"][0]["rule"].as_str()), (1, Some("data_race")), "{value:#}");
}

#[test]
fn traces_and_profiles() {
    let dir = tempfile::tempdir().unwrap();
    let source = "kernel void scale(device const float* x, device float* out, constant float& s,
    uint i [[thread_position_in_grid]], uint t [[thread_index_in_threadgroup]]) {
  threadgroup float tile[64];
  tile[t] = x[i] * s;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (t & 1) out[i] = tile[63 - t] < 5.0f ? 1.0f : 2.0f;
}\n";
    std::fs::write(dir.path().join("k.metal"), format!("{HEAD}{source}")).unwrap();
    let launch = "--threads 64 --grid 2 --buffer x=iota:f32:128 --buffer out=zeros:f32:128 --scalar s=0.5";
    let (code, text) =
        ksearch(dir.path(), &format!("run k.metal {launch} --trace 6 --lane 3 --lane 5 --at-group 1 --at-simdgroup 1"));
    assert_eq!(code, 0);
    insta::assert_snapshot!("trace", text);
    let (code, text) = ksearch(dir.path(), &format!("profile k.metal {launch} --html p.html"));
    assert_eq!(code, 0);
    insta::assert_snapshot!("profile", text);
    let page = std::fs::read_to_string(dir.path().join("p.html")).unwrap();
    assert!(page.contains("tile[63 - t] &lt; 5.0f") && !page.contains("http") && !page.contains("<script"), "{page}");
    let (_, json) = ksearch(dir.path(), &format!("profile k.metal {launch} --json"));
    let value: Value = serde_json::from_str(&json).unwrap();
    let at = |line: u64| value["lines"].as_array().unwrap().iter().find(|l| l["line"] == line).unwrap().clone();
    // Two threadgroups of 64 threads: each reads x once, writes the tile once and reads half of it.
    assert_eq!((at(6)["device_bytes"].as_u64(), at(6)["threadgroup_bytes"].as_u64()), (Some(512), Some(512)));
    assert_eq!((at(8)["device_bytes"].as_u64(), at(8)["threadgroup_bytes"].as_u64()), (Some(256), Some(256)));
}
