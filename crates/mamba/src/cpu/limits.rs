//! What the machine itself can do at this moment: multiply-adds a second from registers, bytes a second from memory.
//! Measured, so that a figure's share of the floor holds for the machine and the load it was taken under. Must not know models.
#![allow(unsafe_code, unsafe_op_in_unsafe_fn)]

use std::time::Instant;

use rayon::prelude::*;

use super::buffer::Buffer;
use super::gemm::Shared;
use super::lanes::{Isa, Kernel, LANES, Lanes};
use crate::error::Result;

/// Multiply-adds in flight: enough to hide the latency of two units.
const CHAINS: usize = 12;

/// Floating-point operations a second of all the pool's threads together, a multiply-add counting as two.
pub(crate) fn fma_rate(isa: Isa) -> f64 {
    let (threads, rounds) = (rayon::current_num_threads(), 2_000_000usize);
    let start = Instant::now();
    let sums: Vec<f32> = (0..threads)
        .into_par_iter()
        .map(|_| {
            let mut out = 0.0f32;
            // SAFETY: `out` outlives the call.
            unsafe { isa.run(Spin { rounds, out: &raw mut out }) };
            out
        })
        .collect();
    let seconds = start.elapsed().as_secs_f64();
    std::hint::black_box(sums);
    2.0 * (threads * rounds * CHAINS * LANES) as f64 / seconds
}

/// Bytes a second that all the pool's threads together read from a buffer too large for any cache.
pub(crate) fn read_rate(isa: Isa) -> Result<f64> {
    let floats = 1usize << 28;
    let mut buffer = Buffer::<f32>::new(floats, "the bandwidth measurement")?;
    // Untouched pages all share one page of zeroes, which would stay in cache.
    buffer.par_chunks_mut(1 << 16).for_each(|c| c.fill(1.0));
    let parts = 4 * rayon::current_num_threads();
    let count = floats / parts / (8 * LANES) * (8 * LANES);
    let data = Shared::new(buffer.as_ptr());
    let sum = |i: usize| {
        let mut out = 0.0f32;
        // SAFETY: parts lie inside the buffer; `out` outlives the call.
        unsafe { isa.run(Sum { data: data.get().add(i * count), count, out: &raw mut out }) };
        out
    };
    let start = Instant::now();
    let total: f32 = (0..parts).into_par_iter().with_max_len(1).map(sum).sum();
    let seconds = start.elapsed().as_secs_f64();
    std::hint::black_box(total);
    Ok((4 * parts * count) as f64 / seconds)
}

struct Spin {
    rounds: usize,
    out: *mut f32,
}

impl Kernel for Spin {
    #[inline(always)]
    unsafe fn run<V: Lanes>(self) {
        let (m, a) = (V::splat(std::hint::black_box(0.999)), V::splat(std::hint::black_box(0.001)));
        let mut v = [V::splat(1.0); CHAINS];
        for _ in 0..self.rounds {
            for v in &mut v {
                *v = v.fma(m, a);
            }
        }
        let mut sum = v[0];
        for v in v.iter().skip(1) {
            sum = sum.add(*v);
        }
        *self.out = sum.sum();
    }
}

struct Sum {
    data: *const f32,
    count: usize,
    out: *mut f32,
}

impl Kernel for Sum {
    #[inline(always)]
    unsafe fn run<V: Lanes>(self) {
        let mut sums = [V::splat(0.0); 8];
        for i in (0..self.count).step_by(8 * LANES) {
            for (j, sum) in sums.iter_mut().enumerate() {
                *sum = sum.add(V::load(self.data.add(i + j * LANES)));
            }
        }
        let mut total = sums[0];
        for s in sums.iter().skip(1) {
            total = total.add(*s);
        }
        *self.out = total.sum();
    }
}
