//! Kernels of our own with known results: execution, reconvergence, barriers, shuffles, atomics, half precision.

mod common;

use common::{floats, run, uints};
use ksearch_simt::{ArgValue, Mode};

const IR: &str = include_str!("kernels/basic.ll");

#[test]
fn saxpy_guards_its_tail() {
    let x: Vec<f32> = (0..100).map(|i| i as f32).collect();
    let mut t = run(IR, "saxpy").buffer("x", &x).buffer("y", &vec![1f32; 100]).bytes(&2.5f32).bytes(&90u32);
    t.launch([4, 1, 1], [32, 1, 1], Mode::Fast).clean();
    let y = floats(t.bytes_of(1));
    for (i, v) in y.iter().enumerate() {
        assert_eq!(*v, if i < 90 { 2.5f32.mul_add(i as f32, 1.0) } else { 1.0 }, "element {i}");
    }
}

#[test]
fn lanes_leave_a_loop_at_different_times() {
    let input: Vec<u32> = (1..=256).collect();
    let mut t = run(IR, "collatz").buffer("in", &input).buffer("out", &vec![0u32; 256]);
    t.launch([2, 1, 1], [128, 1, 1], Mode::Fast).clean();
    let expected: Vec<u32> = input
        .iter()
        .map(|&x| {
            let (mut x, mut n) = (x, 0);
            while x != 1 {
                x = if x % 2 == 0 { x / 2 } else { 3 * x + 1 };
                n += 1;
            }
            n
        })
        .collect();
    assert_eq!(uints(t.bytes_of(1)), expected);
}

#[test]
fn nested_loops_with_continue_break_and_goto() {
    let input: Vec<i32> = (0..96).map(|i| i * 7 % 50).collect();
    let mut t = run(IR, "nested").buffer("in", &input).buffer("out", &vec![0i32; 96]);
    t.launch([1, 1, 1], [96, 1, 1], Mode::Fast).clean();
    let expected: Vec<u32> = input
        .iter()
        .map(|&v| {
            let mut acc = 0i32;
            'all: for i in 0..v {
                if i % 3 == 0 {
                    continue;
                }
                let mut j = i;
                while j < 2 * v {
                    if (j ^ v) % 7 == 5 {
                        break;
                    }
                    acc += j;
                    if acc > 1000 {
                        break 'all;
                    }
                    j += 3;
                }
                acc ^= i;
            }
            acc as u32
        })
        .collect();
    assert_eq!(uints(t.bytes_of(1)), expected);
}

#[test]
fn reduction_through_threadgroup_memory() {
    let x: Vec<f32> = (0..512).map(|i| (i % 13) as f32).collect();
    let mut t = run(IR, "block_sum").buffer("in", &x).buffer("out", &[0f32; 2]);
    let o = t.launch([2, 1, 1], [256, 1, 1], Mode::Profile);
    o.clean();
    assert_eq!(floats(t.bytes_of(1)), [x[..256].iter().sum::<f32>(), x[256..].iter().sum::<f32>()]);
    assert_eq!(o.0.counters.barriers, 2);
    assert_eq!((o.0.counters.groups, o.0.counters.simdgroups), (2, 16));
    assert_eq!(o.0.counters.threadgroup_memory, 32);
}

#[test]
fn dynamic_threadgroup_memory() {
    let x: Vec<f32> = (0..128).map(|i| i as f32).collect();
    let mut t = run(IR, "reverse").buffer("in", &x).buffer("out", &[0f32; 128]);
    t.args.push(ArgValue::Threadgroup(256));
    let mut t = t.bytes(&64u32);
    t.launch([2, 1, 1], [64, 1, 1], Mode::Sanitize).clean();
    let y = floats(t.bytes_of(1));
    assert!((0..128).all(|i| y[i] == (i / 64 * 64 + 63 - i % 64) as f32));
}

#[test]
fn half_arithmetic_rounds_once() {
    let a: Vec<half::f16> = (0..128).map(|i| half::f16::from_f32(0.1 + i as f32 * 0.013)).collect();
    let b: Vec<half::f16> = (0..128).map(|i| half::f16::from_f32(3.0 - i as f32 * 0.027)).collect();
    let bits = |v: &[half::f16]| v.iter().map(|x| x.to_bits()).collect::<Vec<u16>>();
    let mut t = run(IR, "halves").buffer("a", &bits(&a)).buffer("b", &bits(&b)).buffer("out", &[0u16; 128]);
    t.launch([1, 1, 1], [32, 1, 1], Mode::Fast).clean();
    let out: &[u8] = t.bytes_of(2);
    for i in 0..128 {
        let got = half::f16::from_le_bytes([out[2 * i], out[2 * i + 1]]);
        let want = half::f16::from_f64(a[i].to_f64() * b[i].to_f64() + 0.5);
        assert_eq!(got, want, "element {i}");
    }
}

#[test]
fn indexed_local_array() {
    let x: Vec<f32> = (0..40).map(|i| i as f32).collect();
    let mut t = run(IR, "local_array").buffer("in", &x).buffer("out", &[0f32; 64]).bytes(&40u32);
    t.launch([1, 1, 1], [64, 1, 1], Mode::Fast).clean();
    let got = floats(t.bytes_of(1));
    for (g, v) in got.iter().enumerate() {
        let mut acc = [0f32; 8];
        for (i, x) in x.iter().enumerate() {
            acc[(i * 5 + g) & 7] += x;
        }
        let want = acc.iter().enumerate().fold(0f32, |s, (i, a)| a.mul_add((i + 1) as f32, s));
        assert_eq!(*v, want, "thread {g}");
    }
}

#[test]
fn atomics_count_every_lane() {
    let x: Vec<u32> = (0..1024).map(|i| i * i % 10).collect();
    let mut t = run(IR, "histogram").buffer("in", &x).buffer("bins", &[0u32; 10]);
    let o = t.launch([8, 1, 1], [128, 1, 1], Mode::Profile);
    o.clean();
    let mut want = [0u32; 10];
    for &i in &x {
        want[i as usize] += 1;
    }
    assert_eq!(uints(t.bytes_of(1)), want);
    assert!(o.0.counters.atomic_conflicts > 0);
}

#[test]
fn shuffles_and_votes() {
    let mut t = run(IR, "shuffles").buffer("out", &[0i32; 256]);
    t.launch([1, 1, 1], [32, 1, 1], Mode::Fast).clean();
    let o = uints(t.bytes_of(0));
    for l in 0..32u32 {
        let r = &o[l as usize * 8..][..8];
        let third = (0..32).fold(0u32, |m, k| if k % 3 == 0 { m | 1 << k } else { m });
        let want = [
            l ^ 5,
            if l >= 3 { l - 3 } else { l },
            if l < 29 { l + 3 } else { l },
            31 - l,
            496,
            l * l.saturating_sub(1) / 2,
            third,
            if l >= 7 { u32::from(l == 7) + 14 } else { u32::MAX },
        ];
        assert_eq!(r, want, "lane {l}");
    }
}

#[test]
fn matrix_fragments() {
    let a: Vec<f32> = (0..64).map(|i| (i % 7) as f32 - 3.0).collect();
    let b: Vec<f32> = (0..64).map(|i| (i % 5) as f32 - 1.0).collect();
    let mut t = run(IR, "mma").buffer("a", &a).buffer("b", &b).buffer("c", &[0f32; 64]);
    t.launch([1, 1, 1], [32, 1, 1], Mode::Fast).clean();
    let c = floats(t.bytes_of(2));
    for r in 0..8 {
        for k in 0..8 {
            let want: f32 = (0..8).map(|j| a[r * 8 + j] * b[j * 8 + k]).sum();
            assert_eq!(c[r * 8 + k], want);
        }
    }
}

#[test]
fn constant_tables_and_calls() {
    let x: Vec<u32> = (0..32).collect();
    let mut t = run(IR, "lookup").buffer("in", &x).buffer("out", &[0f32; 32]);
    t.launch([1, 1, 1], [32, 1, 1], Mode::Fast).clean();
    let y = floats(t.bytes_of(1));
    assert!((0..32).all(|i| y[i] == [1., -2., 4., -8., 16.][i % 5]));

    let x: Vec<f32> = (0..32).map(|i| i as f32 * 0.25 - 4.0).collect();
    let mut t = run(IR, "calls").buffer("in", &x).buffer("out", &[0f32; 32]);
    t.launch([1, 1, 1], [32, 1, 1], Mode::Fast).clean();
    let poly = |x: f32, y: f32| if x.mul_add(x, y) > 2.0 { x } else { y * 3.0 };
    let y = floats(t.bytes_of(1));
    for i in 0..32 {
        // The compiler may contract the sum of a product.
        assert!((y[i] - (poly(x[i], 1.0) + poly(1.0, x[i]))).abs() < 1e-6);
    }
}

/// A reduction whose lanes leave the loop at different times over an edge that needs copies of its own: what a lane
/// takes along must survive while others go on.
const LEAVE: &str = r"
declare i32 @__ks_sr(i32)
declare i32 @llvm.umax.i32(i32, i32)

define spir_func void @leave(ptr addrspace(1) %in, ptr addrspace(1) %out, ptr addrspace(2) %count) {
entry:
  %lane = call i32 @__ks_sr(i32 12)
  %n = load i32, ptr addrspace(2) %count, align 4
  %any = icmp ult i32 %lane, %n
  br i1 %any, label %loop, label %end

loop:
  %i = phi i32 [ %lane, %entry ], [ %j, %loop ]
  %most = phi i32 [ 0, %entry ], [ %larger, %loop ]
  %sum = phi i32 [ 0, %entry ], [ %more, %loop ]
  %at = zext i32 %i to i64
  %p = getelementptr inbounds i32, ptr addrspace(1) %in, i64 %at
  %raw = load i32, ptr addrspace(1) %p, align 4
  %x = mul i32 %raw, 3
  %larger = call i32 @llvm.umax.i32(i32 %most, i32 %x)
  %grown = sub i32 %larger, %most
  %scaled = mul i32 %sum, %grown
  %below = sub i32 %larger, %x
  %odd = xor i32 %below, 5
  %more = add i32 %scaled, %odd
  %j = add i32 %i, 32
  %last = sub i32 %n, 32
  %again = icmp slt i32 %i, %last
  br i1 %again, label %loop, label %end

end:
  %total = phi i32 [ 0, %entry ], [ %more, %loop ]
  %peak = phi i32 [ 7, %entry ], [ %larger, %loop ]
  %both = xor i32 %total, %peak
  %to = zext i32 %lane to i64
  %q = getelementptr inbounds i32, ptr addrspace(1) %out, i64 %to
  store i32 %both, ptr addrspace(1) %q, align 4
  ret void
}
";

#[test]
fn lanes_that_left_a_loop_keep_what_they_took_along() {
    for n in [0u32, 5, 32, 40, 67, 99] {
        let input: Vec<u32> = (0..n.max(1)).map(|i| i * 37 % 101 + 1).collect();
        let mut t = run(LEAVE, "leave").buffer("in", &input).buffer("out", &[0u32; 32]).bytes(&n);
        t.launch([1, 1, 1], [32, 1, 1], Mode::Fast).clean();
        let expected: Vec<u32> = (0..32)
            .map(|lane| {
                if lane >= n {
                    return 7;
                }
                let (mut most, mut sum) = (0u32, 0u32);
                for x in input[..n as usize].iter().skip(lane as usize).step_by(32) {
                    let larger = most.max(3 * x);
                    sum = sum.wrapping_mul(larger - most).wrapping_add((larger - 3 * x) ^ 5);
                    most = larger;
                }
                sum ^ most
            })
            .collect();
        assert_eq!(uints(t.bytes_of(1)), expected, "{n} elements");
    }
}
