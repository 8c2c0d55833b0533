//! RMS norm of rows, plain and gated. Must not know where the rows come from.
#![allow(unsafe_code, unsafe_op_in_unsafe_fn)]

use rayon::prelude::*;

use super::gemm::{Matrix, MatrixMut, Shared};
use super::lanes::{Isa, Kernel, LANES, Lanes};

/// A norm's weights, padded with zeroes to whole vectors, so that padding columns come out as zero.
pub(crate) struct Norm {
    weight: Vec<f32>,
    /// Columns that count.
    width: usize,
    eps: f32,
}

impl Norm {
    pub(crate) fn new(mut weight: Vec<f32>, eps: f32) -> Self {
        let width = weight.len();
        weight.resize(width.next_multiple_of(LANES), 0.0);
        Self { weight, width, eps }
    }

    /// `out[r] = x[r] / sqrt(mean(x[r]^2) + eps) * weight`. Columns of `x` past the width must be zero.
    pub(crate) fn apply(&self, isa: Isa, x: Matrix<'_>, rows: usize, out: &mut MatrixMut<'_>) {
        let columns = self.weight.len();
        assert!(x.data.len() >= rows.saturating_sub(1) * x.pitch + columns && x.pitch >= columns);
        let pitch = out.pitch;
        each_row(out.data, pitch, rows, columns, |r, o| {
            let kernel = Plain { norm: self, x: x.data.get(r * x.pitch..).unwrap_or(&[]).as_ptr(), out: o };
            // SAFETY: both rows have `columns` elements, checked above and by `each_row`.
            unsafe { isa.run(kernel) };
        });
    }

    /// `x[r] = norm(x[r] * silu(gate[r]))`, normed over each of `groups` equal stretches.
    pub(crate) fn apply_gated(&self, isa: Isa, x: &mut MatrixMut<'_>, gate: Matrix<'_>, rows: usize, groups: usize) {
        let columns = self.weight.len();
        assert!(gate.data.len() >= rows.saturating_sub(1) * gate.pitch + columns && gate.pitch >= columns);
        assert!(
            groups > 0 && columns == self.width && columns.is_multiple_of(groups * LANES),
            "groups are whole vectors"
        );
        let pitch = x.pitch;
        each_row(x.data, pitch, rows, columns, |r, o| {
            let gate = gate.data.get(r * gate.pitch..).unwrap_or(&[]).as_ptr();
            // SAFETY: as in `apply`.
            unsafe { isa.run(Gated { norm: self, x: o, gate, groups }) };
        });
    }
}

/// Calls `f` with each row's number and pointer, in parallel where there are enough rows.
fn each_row(data: &mut [f32], pitch: usize, rows: usize, columns: usize, f: impl Fn(usize, *mut f32) + Sync) {
    assert!(data.len() >= rows.saturating_sub(1) * pitch + columns && pitch >= columns);
    if rows < 8 {
        for r in 0..rows {
            f(r, data.get_mut(r * pitch..).unwrap_or(&mut []).as_mut_ptr());
        }
    } else {
        let base = Shared::new(data.as_mut_ptr());
        // SAFETY: the last row ends inside the slice, and rows do not overlap.
        (0..rows).into_par_iter().with_min_len(8).for_each(|r| f(r, unsafe { base.get().add(r * pitch) }));
    }
}

struct Plain<'a> {
    norm: &'a Norm,
    x: *const f32,
    out: *mut f32,
}

impl Kernel for Plain<'_> {
    #[inline(always)]
    unsafe fn run<V: Lanes>(self) {
        let columns = self.norm.weight.len();
        let mut sum = V::splat(0.0);
        for c in (0..columns).step_by(LANES) {
            let v = V::load(self.x.add(c));
            sum = v.fma(v, sum);
        }
        let scale = V::splat(1.0 / (sum.sum() / self.norm.width as f32 + self.norm.eps).sqrt());
        for c in (0..columns).step_by(LANES) {
            let w = V::load(self.norm.weight.as_ptr().add(c));
            V::load(self.x.add(c)).mul(scale).mul(w).store(self.out.add(c));
        }
    }
}

struct Gated<'a> {
    norm: &'a Norm,
    x: *mut f32,
    gate: *const f32,
    groups: usize,
}

impl Kernel for Gated<'_> {
    #[inline(always)]
    unsafe fn run<V: Lanes>(self) {
        let width = self.norm.weight.len() / self.groups;
        for group in 0..self.groups {
            let columns = group * width..(group + 1) * width;
            let mut sum = V::splat(0.0);
            for c in columns.clone().step_by(LANES) {
                let v = V::load(self.x.add(c)).mul(V::load(self.gate.add(c)).silu());
                v.store(self.x.add(c));
                sum = v.fma(v, sum);
            }
            let scale = V::splat(1.0 / (sum.sum() / width as f32 + self.norm.eps).sqrt());
            for c in columns.step_by(LANES) {
                let w = V::load(self.norm.weight.as_ptr().add(c));
                V::load(self.x.add(c)).mul(scale).mul(w).store(self.x.add(c));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn norms_match_plain_loops() {
        let wave = |n: usize, f: f32| (0..n).map(|i| (i as f32 * f).sin()).collect::<Vec<_>>();
        for isa in Isa::available() {
            // Width 20 leaves twelve columns of padding.
            let norm = Norm::new(wave(20, 0.3), 1e-5);
            let mut x = wave(10 * 40, 0.7);
            x.chunks_mut(40).for_each(|row| row[20..].fill(0.0));
            let mut out = vec![9.0; 10 * 48];
            norm.apply(isa, Matrix { data: &x, pitch: 40 }, 10, &mut MatrixMut { data: &mut out, pitch: 48 });
            for r in 0..10 {
                let row = &x[r * 40..r * 40 + 20];
                let scale = (row.iter().map(|v| v * v).sum::<f32>() / 20.0 + 1e-5).sqrt();
                for c in 0..20 {
                    assert!((out[r * 48 + c] - row[c] / scale * norm.weight[c]).abs() < 1e-5, "{isa:?}");
                }
                assert!(out[r * 48 + 20..r * 48 + 32].iter().all(|&v| v == 0.0));
            }

            let norm = Norm::new(wave(64, 0.2), 1e-5);
            let (before, gate) = (wave(3 * 64, 0.9), wave(3 * 70, 0.4));
            let mut x = before.clone();
            norm.apply_gated(isa, &mut MatrixMut { data: &mut x, pitch: 64 }, Matrix { data: &gate, pitch: 70 }, 3, 2);
            for r in 0..3 {
                let gated: Vec<f32> = (0..64)
                    .map(|c| {
                        let g = gate[r * 70 + c];
                        before[r * 64 + c] * g / (1.0 + (-g).exp())
                    })
                    .collect();
                for c in 0..64 {
                    let group = &gated[c / 32 * 32..c / 32 * 32 + 32];
                    let scale = (group.iter().map(|v| v * v).sum::<f32>() / 32.0 + 1e-5).sqrt();
                    assert!((x[r * 64 + c] - gated[c] / scale * norm.weight[c]).abs() < 1e-5, "{isa:?}");
                }
            }
        }
    }
}
