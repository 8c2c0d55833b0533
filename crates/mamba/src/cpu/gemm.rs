//! Matrix products `out = x · Wᵀ` over weights that are packed once, at load, in the one layout that serves both a
//! prompt (many rows) and a decode step (one row). Must not know what is multiplied.
//!
//! Weights stand in panels of 32 output columns, `[panel][k][32]`: a tile streams its panel once, from front to back,
//! with no horizontal sums. Activations are read in place, row-major; callers keep the distance between rows off powers
//! of two ([`row_pitch`]), which would put the rows of a tile into the same cache set. No crate packs half-width weights
//! once for both uses; against `gemm` 0.19, `matrixmultiply` and `faer` on the same shapes see `docs/mamba.md`.
#![allow(unsafe_code, unsafe_op_in_unsafe_fn)]

use half::{bf16, f16};
use rayon::prelude::*;

use super::buffer::Buffer;
use super::lanes::{Isa, Kernel, LANES, Lanes};
use crate::error::Result;
use crate::weights::{Tensor, WeightType};

/// Columns of a panel.
pub(crate) const PANEL: usize = 2 * LANES;
/// Depth of a block: a panel's block (32 KiB) stays in the first-level cache while a column of tiles is computed.
const DEPTH: usize = 256;
/// Rows of a block: with `DEPTH` 768 KiB of activations, which stay in the second-level cache.
const BLOCK_ROWS: usize = 768;

/// Distance between rows of an activation buffer that is `columns` wide: whole panels, and off powers of two.
pub(crate) fn row_pitch(columns: usize) -> usize {
    columns.next_multiple_of(PANEL) + LANES
}

/// A pointer that may cross threads: every task writes columns of its own.
#[derive(Clone, Copy)]
pub(crate) struct Shared<T>(T);

// SAFETY: holders write disjoint parts; each use says which.
unsafe impl<T> Send for Shared<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Shared<T> {}

impl<T: Copy> Shared<T> {
    pub(crate) fn new(pointer: T) -> Self {
        Self(pointer)
    }

    /// The pointer. A method, so that closures capture the wrapper and not its field.
    pub(crate) fn get(self) -> T {
        self.0
    }
}

/// An element type of packed weights.
///
/// # Safety
/// As for [`Lanes`].
trait Element: Copy + Send + Sync {
    unsafe fn lanes<V: Lanes>(p: *const Self) -> V;
}

impl Element for f32 {
    #[inline(always)]
    unsafe fn lanes<V: Lanes>(p: *const Self) -> V {
        V::load(p)
    }
}

impl Element for f16 {
    #[inline(always)]
    unsafe fn lanes<V: Lanes>(p: *const Self) -> V {
        V::load_f16(p.cast())
    }
}

impl Element for bf16 {
    #[inline(always)]
    unsafe fn lanes<V: Lanes>(p: *const Self) -> V {
        V::load_bf16(p.cast())
    }
}

enum Store {
    F32(Buffer<f32>),
    F16(Buffer<f16>),
    Bf16(Buffer<bf16>),
}

/// A packed weight matrix: `n` outputs of depth `k`.
pub(crate) struct Panels {
    n: usize,
    k: usize,
    store: Store,
}

/// Where the rows of a packed matrix come from: stretches of a tensor's rows, each padded to a width of its own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    /// First row in the tensor.
    pub(crate) start: usize,
    /// Rows taken.
    pub(crate) rows: usize,
    /// Rows in the packed matrix; those past `rows` are zero.
    pub(crate) padded: usize,
}

impl Panels {
    /// Packs the given stretches of a tensor `[.., columns]`, converted to `kind`. The depth is padded with zeroes to `k`.
    pub(crate) fn pack(
        tensor: &Tensor<'_>,
        parts: &[Part],
        columns: usize,
        k: usize,
        kind: WeightType,
    ) -> Result<Self> {
        let n: usize = parts.iter().map(|p| p.padded).sum();
        let row_of = |n: usize| {
            let mut first = 0;
            for part in parts {
                if n < first + part.padded {
                    return (n - first < part.rows).then_some(part.start + n - first);
                }
                first += part.padded;
            }
            None
        };
        let padded = n.next_multiple_of(PANEL);
        let row = |n: usize, out: &mut [f32]| match row_of(n) {
            Some(r) => {
                let (used, rest) = out.split_at_mut(columns.min(out.len()));
                tensor.read(r * columns, used);
                rest.fill(0.0);
            }
            None => out.fill(0.0),
        };
        let store = match kind {
            WeightType::F32 => Store::F32(pack_into(padded * k, k, &row, |v| v)?),
            WeightType::F16 => Store::F16(pack_into(padded * k, k, &row, f16::from_f32)?),
            WeightType::Bf16 => Store::Bf16(pack_into(padded * k, k, &row, bf16::from_f32)?),
        };
        Ok(Self { n, k, store })
    }

    /// Output columns, padding of the parts counted.
    pub(crate) fn outputs(&self) -> usize {
        self.n
    }

    /// Bytes of the packed weights.
    pub(crate) fn bytes(&self) -> usize {
        match &self.store {
            Store::F32(b) => 4 * b.len(),
            Store::F16(b) => 2 * b.len(),
            Store::Bf16(b) => 2 * b.len(),
        }
    }

    /// One row of the matrix (an embedding's vector) as f32.
    pub(crate) fn row(&self, n: usize, out: &mut [f32]) {
        let base = n / PANEL * PANEL * self.k + n % PANEL;
        let at = |i: usize| base + i * PANEL;
        for (i, o) in out.iter_mut().enumerate().take(self.k) {
            *o = match &self.store {
                Store::F32(b) => b.get(at(i)).copied().unwrap_or(0.0),
                Store::F16(b) => b.get(at(i)).map_or(0.0, |v| v.to_f32()),
                Store::Bf16(b) => b.get(at(i)).map_or(0.0, |v| v.to_f32()),
            };
        }
    }

    /// `out[r][c] = sum_k x[r][k] W[c][k]` for `rows` rows, or `+=` with `accumulate`. Whole panels are written: rows of
    /// `out` must be `outputs()` rounded up to 32 wide.
    pub(crate) fn multiply(&self, isa: Isa, x: Matrix<'_>, rows: usize, mut out: MatrixMut<'_>, accumulate: bool) {
        let panels = self.n.div_ceil(PANEL);
        assert!(rows == 0 || x.data.len() >= (rows - 1) * x.pitch + self.k, "activations end before the last row");
        assert!(
            rows == 0 || out.data.len() >= (rows - 1) * out.pitch + panels * PANEL && out.pitch >= panels * PANEL,
            "outputs end before the last row"
        );
        match &self.store {
            Store::F32(w) => multiply(isa, w, self.k, panels, x, rows, &mut out, accumulate),
            Store::F16(w) => multiply(isa, w, self.k, panels, x, rows, &mut out, accumulate),
            Store::Bf16(w) => multiply(isa, w, self.k, panels, x, rows, &mut out, accumulate),
        }
    }
}

/// Rows of f32, `pitch` apart.
#[derive(Clone, Copy)]
pub(crate) struct Matrix<'a> {
    pub(crate) data: &'a [f32],
    pub(crate) pitch: usize,
}

/// Rows of f32 to write, `pitch` apart.
pub(crate) struct MatrixMut<'a> {
    pub(crate) data: &'a mut [f32],
    pub(crate) pitch: usize,
}

fn pack_into<E: Element + bytemuck::Pod>(
    length: usize,
    k: usize,
    row: &(impl Fn(usize, &mut [f32]) + Sync),
    convert: impl Fn(f32) -> E + Sync,
) -> Result<Buffer<E>> {
    let mut out = Buffer::<E>::new(length, "the weights")?;
    if k == 0 {
        return Ok(out);
    }
    out.par_chunks_mut(PANEL * k).enumerate().for_each(|(panel, chunk)| {
        let mut rows = vec![0.0f32; PANEL * k];
        for (j, r) in rows.chunks_exact_mut(k).enumerate() {
            row(panel * PANEL + j, r);
        }
        for (i, column) in chunk.chunks_exact_mut(PANEL).enumerate() {
            for (j, o) in column.iter_mut().enumerate() {
                *o = convert(rows.get(j * k + i).copied().unwrap_or(0.0));
            }
        }
    });
    Ok(out)
}

#[allow(clippy::too_many_arguments)]
fn multiply<E: Element>(
    isa: Isa,
    w: &[E],
    k: usize,
    panels: usize,
    x: Matrix<'_>,
    rows: usize,
    out: &mut MatrixMut<'_>,
    accumulate: bool,
) {
    // A few tasks per thread even out a busy neighbour; more would only cost hand-overs.
    let threads = rayon::current_num_threads();
    let per_task = panels.div_ceil(4 * threads).max(1);
    let target = Shared::new(out.data.as_mut_ptr());
    for first in (0..rows).step_by(BLOCK_ROWS) {
        let count = BLOCK_ROWS.min(rows - first);
        let task = |t: usize| {
            let block = Block {
                w: w.as_ptr(),
                k,
                // SAFETY: `multiply` of `Panels` has checked that the last row ends inside both slices.
                x: unsafe { x.data.as_ptr().add(first * x.pitch) },
                x_pitch: x.pitch,
                rows: count,
                // SAFETY: as above.
                out: unsafe { target.get().add(first * out.pitch) },
                out_pitch: out.pitch,
                first_panel: t * per_task,
                last_panel: panels.min((t + 1) * per_task),
                accumulate,
            };
            // SAFETY: tasks write disjoint columns.
            unsafe { isa.run(block) };
        };
        let tasks = panels.div_ceil(per_task);
        if tasks == 1 {
            task(0);
        } else {
            (0..tasks).into_par_iter().with_max_len(1).for_each(task);
        }
    }
}

/// One task: some panels against a block of rows.
struct Block<E> {
    w: *const E,
    k: usize,
    x: *const f32,
    x_pitch: usize,
    rows: usize,
    out: *mut f32,
    out_pitch: usize,
    first_panel: usize,
    last_panel: usize,
    accumulate: bool,
}

impl<E: Element> Kernel for Block<E> {
    #[inline(always)]
    unsafe fn run<V: Lanes>(self) {
        let mut depth = 0;
        while depth < self.k {
            let count = if self.rows == 1 { self.k } else { DEPTH.min(self.k - depth) };
            for panel in self.first_panel..self.last_panel {
                let tile = Tile {
                    w: self.w.add((panel * self.k + depth) * PANEL),
                    w_pitch: PANEL,
                    x: self.x.add(depth),
                    x_pitch: self.x_pitch,
                    depth: count,
                    out: self.out.add(panel * PANEL),
                    out_pitch: self.out_pitch,
                    accumulate: self.accumulate || depth > 0,
                };
                tile.column::<V>(self.rows);
            }
            depth += count;
        }
    }
}

/// A column of tiles: `rows x 32` outputs over one stretch of depth.
#[derive(Clone, Copy)]
pub(crate) struct Tile<E> {
    /// `[depth][32]`, rows `w_pitch` apart.
    pub(crate) w: *const E,
    pub(crate) w_pitch: usize,
    /// `[rows][depth]`, rows `x_pitch` apart.
    pub(crate) x: *const f32,
    pub(crate) x_pitch: usize,
    pub(crate) depth: usize,
    /// `[rows][32]`, rows `out_pitch` apart.
    pub(crate) out: *mut f32,
    pub(crate) out_pitch: usize,
    pub(crate) accumulate: bool,
}

#[allow(private_bounds)]
impl<E: Element> Tile<E> {
    /// Computes all rows, the most that fit the registers at a time.
    ///
    /// # Safety
    /// The three pointers are valid for the stretches said above.
    #[inline(always)]
    pub(crate) unsafe fn column<V: Lanes>(mut self, rows: usize) {
        let mut left = rows;
        while left > 0 {
            let done = match left.min(V::ROWS) {
                1 => self.rows::<V, 1>(),
                2 => self.rows::<V, 2>(),
                3 => self.rows::<V, 3>(),
                4..=5 => self.rows::<V, 4>(),
                6..=7 => self.rows::<V, 6>(),
                8..=11 => self.rows::<V, 8>(),
                _ => self.rows::<V, 12>(),
            };
            self.x = self.x.add(done * self.x_pitch);
            self.out = self.out.add(done * self.out_pitch);
            left -= done;
        }
    }

    #[inline(always)]
    unsafe fn rows<V: Lanes, const R: usize>(&self) -> usize {
        let mut sums = [[V::splat(0.0); 2]; R];
        let mut w = self.w;
        for k in 0..self.depth {
            let (w0, w1) = (E::lanes::<V>(w), E::lanes::<V>(w.add(LANES)));
            w = w.add(self.w_pitch);
            for (r, sum) in sums.iter_mut().enumerate() {
                let x = V::splat(*self.x.add(r * self.x_pitch + k));
                sum[0] = x.fma(w0, sum[0]);
                sum[1] = x.fma(w1, sum[1]);
            }
        }
        for (r, sum) in sums.iter().enumerate() {
            for (j, &v) in sum.iter().enumerate() {
                let p = self.out.add(r * self.out_pitch + j * LANES);
                let v = if self.accumulate { V::load(p).add(v) } else { v };
                v.store(p);
            }
        }
        R
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;

    fn values(count: usize, seed: u32) -> Vec<f32> {
        let mut s = seed;
        (0..count)
            .map(|_| {
                s = s.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (s >> 8) as f32 / 8_388_608.0 - 1.0
            })
            .collect()
    }

    #[test]
    fn products_match_plain_loops() {
        for (rows, n, k) in [(1, 5, 7), (2, 33, 300), (13, 96, 64), (25, 64, 513), (800, 40, 20)] {
            let (x, w) = (values(rows * (k + 3), 1), values(n * k, 2));
            let tensor = Tensor {
                kind: WeightType::F32,
                shape: vec![n, k],
                data: Cow::Owned(w.iter().flat_map(|v| v.to_le_bytes()).collect()),
            };
            let pitch = row_pitch(n);
            for kind in [WeightType::F32, WeightType::F16, WeightType::Bf16] {
                let part = Part { start: 0, rows: n, padded: n };
                let panels = Panels::pack(&tensor, &[part], k, k, kind).unwrap();
                let mut round = vec![0.0; k];
                for isa in Isa::available() {
                    let mut out = vec![0.5f32; rows * pitch];
                    let matrix = Matrix { data: &x, pitch: k + 3 };
                    panels.multiply(isa, matrix, rows, MatrixMut { data: &mut out, pitch }, true);
                    for c in 0..n {
                        panels.row(c, &mut round);
                        let exact = w.get(c * k..c * k + k).unwrap();
                        let tolerance = match kind {
                            WeightType::F32 => 0.0,
                            WeightType::F16 => 0.001,
                            WeightType::Bf16 => 0.005,
                        };
                        assert!(round.iter().zip(exact).all(|(a, b)| (a - b).abs() <= tolerance * b.abs() + 1e-7));
                        for r in 0..rows {
                            let want: f64 =
                                0.5 + (0..k).map(|i| f64::from(x[r * (k + 3) + i]) * f64::from(round[i])).sum::<f64>();
                            let got = f64::from(out[r * pitch + c]);
                            assert!((got - want).abs() < 1e-4, "{isa:?} {kind:?} {rows}x{n}x{k} [{r}][{c}]");
                        }
                    }
                    assert!(out[n.next_multiple_of(PANEL)..pitch].iter().all(|&v| v == 0.5), "past the panels");
                }
            }
        }
    }

    #[test]
    fn parts_are_padded_with_zero_rows() {
        let tensor = Tensor {
            kind: WeightType::F32,
            shape: vec![4, 2],
            data: Cow::Owned((0..8u8).flat_map(|v| f32::from(v).to_le_bytes()).collect()),
        };
        let parts = [Part { start: 2, rows: 2, padded: 3 }, Part { start: 0, rows: 1, padded: 1 }];
        let panels = Panels::pack(&tensor, &parts, 2, 3, WeightType::F32).unwrap();
        assert_eq!(panels.outputs(), 4);
        let mut row = [9.0; 3];
        for (n, want) in [[4.0, 5.0, 0.0], [6.0, 7.0, 0.0], [0.0; 3], [0.0, 1.0, 0.0], [0.0; 3]].iter().enumerate() {
            panels.row(n, &mut row);
            assert_eq!(&row, want, "{n}");
        }
    }
}
