//! Mamba-1's selective scan with a state that carries over, gate and skip fused in. Must not know the projections around it.
//!
//! Sixteen channels ride in the lanes of a vector and the states of a channel lie side by side in registers, so that no
//! sum runs across lanes and the layout of the activations stays (time, channel).
#![allow(unsafe_code, unsafe_op_in_unsafe_fn)]

use rayon::prelude::*;

use super::gemm::Shared;
use super::lanes::{Isa, Kernel, LANES, Lanes};

/// Vectors of channels in one task.
const TASK_GROUPS: usize = 8;
/// Time steps done for one vector of channels before the next, so that rows stay in cache across vectors.
const TIME_BLOCK: usize = 32;

/// The scan's own weights, channels padded to whole vectors.
pub(crate) struct Scan {
    /// `A log2(e)`, so that the decay is a power of two: `[vector of channels][state][lane]`.
    decay: Vec<f32>,
    dt_bias: Vec<f32>,
    skip: Vec<f32>,
    states: usize,
}

/// Where one sequence's rows lie. `dt` is read and then overwritten by the result.
#[derive(Clone, Copy)]
pub(crate) struct Rows {
    /// Time steps before bias and softplus; then the output.
    pub(crate) dt: *mut f32,
    pub(crate) dt_pitch: usize,
    /// Convolved input.
    pub(crate) u: *const f32,
    pub(crate) u_pitch: usize,
    /// Gate.
    pub(crate) z: *const f32,
    pub(crate) z_pitch: usize,
    /// B and C, `states` each.
    pub(crate) b: *const f32,
    pub(crate) c: *const f32,
    pub(crate) bc_pitch: usize,
    pub(crate) length: usize,
}

impl Scan {
    /// From `A_log` `[channel][state]`, the time-step bias and the skip.
    pub(crate) fn new(a_log: &[f32], dt_bias: &[f32], skip: &[f32], states: usize) -> Self {
        let channels = skip.len().next_multiple_of(LANES);
        let mut decay = vec![0.0; channels * states];
        for (c, row) in a_log.chunks_exact(states).enumerate() {
            for (n, &a) in row.iter().enumerate() {
                let at = (c / LANES * states + n) * LANES + c % LANES;
                if let Some(d) = decay.get_mut(at) {
                    *d = (-f64::from(a).exp() * std::f64::consts::LOG2_E) as f32;
                }
            }
        }
        let pad = |v: &[f32]| v.iter().copied().chain(std::iter::repeat(0.0)).take(channels).collect::<Vec<_>>();
        Self { decay, dt_bias: pad(dt_bias), skip: pad(skip), states }
    }

    /// Floats of one sequence's state: `[vector of channels][state][lane]`.
    pub(crate) fn state_len(&self) -> usize {
        self.decay.len()
    }

    /// Runs one sequence: `h = exp(dt A) h + dt B u`, `y = (C h + D u) silu(z)`.
    ///
    /// # Safety
    /// Every row of `rows` is valid for the padded channels (or `states`), and nothing else touches them meanwhile.
    pub(crate) unsafe fn apply(&self, isa: Isa, rows: Rows, state: &mut [f32]) {
        assert!(state.len() == self.state_len());
        let groups = self.skip.len() / LANES;
        let (rows, state) = (Shared::new(rows), Shared::new(state.as_mut_ptr()));
        let task = |t: usize| {
            let kernel = Groups {
                scan: self,
                rows: rows.get(),
                state: state.get(),
                first: t * TASK_GROUPS,
                last: groups.min((t + 1) * TASK_GROUPS),
            };
            // SAFETY: the caller's promise; tasks touch disjoint channels.
            unsafe { isa.run(kernel) };
        };
        let tasks = groups.div_ceil(TASK_GROUPS);
        (0..tasks)
            .into_par_iter()
            .with_min_len(if rows.get().length < 8 { tasks.div_ceil(2) } else { 1 })
            .for_each(task);
    }
}

struct Groups<'a> {
    scan: &'a Scan,
    rows: Rows,
    state: *mut f32,
    first: usize,
    last: usize,
}

impl Kernel for Groups<'_> {
    #[inline(always)]
    unsafe fn run<V: Lanes>(self) {
        let mut t = 0;
        while t < self.rows.length {
            let end = self.rows.length.min(t + TIME_BLOCK);
            for g in self.first..self.last {
                if self.scan.states == 16 {
                    self.block_in_registers::<V, 16>(g, t, end);
                } else {
                    self.block::<V>(g, t, end);
                }
            }
            t = end;
        }
    }
}

impl Groups<'_> {
    /// The step's quantities that do not depend on the state: dt, dt u, and the skip's part of the output.
    #[inline(always)]
    unsafe fn step<V: Lanes>(&self, c: usize, t: usize, bias: V, skip: V) -> (V, V, V) {
        let dt = V::load(self.rows.dt.add(t * self.rows.dt_pitch + c)).add(bias).softplus();
        let u = V::load(self.rows.u.add(t * self.rows.u_pitch + c));
        (dt, dt.mul(u), skip.mul(u))
    }

    #[inline(always)]
    unsafe fn finish<V: Lanes>(&self, c: usize, t: usize, y: V) {
        let z = V::load(self.rows.z.add(t * self.rows.z_pitch + c));
        y.mul(z.silu()).store(self.rows.dt.add(t * self.rows.dt_pitch + c));
    }

    #[inline(always)]
    unsafe fn block_in_registers<V: Lanes, const N: usize>(&self, g: usize, start: usize, end: usize) {
        let c = g * LANES;
        let decay = self.scan.decay.as_ptr().add(g * N * LANES);
        let state = self.state.add(g * N * LANES);
        let (bias, skip) = (V::load(self.scan.dt_bias.as_ptr().add(c)), V::load(self.scan.skip.as_ptr().add(c)));
        let mut h = [V::splat(0.0); N];
        for (n, h) in h.iter_mut().enumerate() {
            *h = V::load(state.add(n * LANES));
        }
        for t in start..end {
            let (dt, dtu, y) = self.step(c, t, bias, skip);
            let (b, cc) = (self.rows.b.add(t * self.rows.bc_pitch), self.rows.c.add(t * self.rows.bc_pitch));
            // Two sums halve the chain of dependent additions.
            let mut y = [y, V::splat(0.0)];
            for (n, h) in h.iter_mut().enumerate() {
                let a = dt.mul(V::load(decay.add(n * LANES))).exp2();
                *h = a.fma(*h, dtu.mul(V::splat(*b.add(n))));
                let y = &mut y[n % 2];
                *y = h.fma(V::splat(*cc.add(n)), *y);
            }
            self.finish(c, t, y[0].add(y[1]));
        }
        for (n, h) in h.iter().enumerate() {
            h.store(state.add(n * LANES));
        }
    }

    /// Any number of states, kept in memory.
    #[inline(always)]
    unsafe fn block<V: Lanes>(&self, g: usize, start: usize, end: usize) {
        let (c, states) = (g * LANES, self.scan.states);
        let decay = self.scan.decay.as_ptr().add(g * states * LANES);
        let state = self.state.add(g * states * LANES);
        let (bias, skip) = (V::load(self.scan.dt_bias.as_ptr().add(c)), V::load(self.scan.skip.as_ptr().add(c)));
        for t in start..end {
            let (dt, dtu, mut y) = self.step(c, t, bias, skip);
            let (b, cc) = (self.rows.b.add(t * self.rows.bc_pitch), self.rows.c.add(t * self.rows.bc_pitch));
            for n in 0..states {
                let a = dt.mul(V::load(decay.add(n * LANES))).exp2();
                let h = a.fma(V::load(state.add(n * LANES)), dtu.mul(V::splat(*b.add(n))));
                h.store(state.add(n * LANES));
                y = h.fma(V::splat(*cc.add(n)), y);
            }
            self.finish(c, t, y);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_a_double_precision_scan_whole_and_in_parts() {
        let wave = |n: usize, f: f32| (0..n).map(|i| (i as f32 * f).sin()).collect::<Vec<_>>();
        for (channels, states, length) in [(32, 16, 70), (20, 5, 9), (16, 1, 33)] {
            let padded = channels_padded(channels);
            let a_log: Vec<f32> = (0..channels * states).map(|i| ((i % states + 1) as f32).ln()).collect();
            let (bias, skip) = (wave(channels, 0.9), wave(channels, 0.4));
            let scan = Scan::new(&a_log, &bias, &skip, states);
            let (dt, u, z) = (wave(length * padded, 0.3), wave(length * padded, 0.77), wave(length * padded, 0.51));
            let bc = wave(length * 2 * states, 0.19);
            let mut h = vec![0.0f64; channels * states];
            let mut want = vec![0.0f64; length * channels];
            for t in 0..length {
                for c in 0..channels {
                    let at = t * padded + c;
                    let step = f64::from(dt[at] + bias[c]).exp().ln_1p();
                    let mut y = f64::from(skip[c] * u[at]);
                    for n in 0..states {
                        let a = (-f64::from(a_log[c * states + n]).exp() * step).exp();
                        let row = t * 2 * states;
                        let h = &mut h[c * states + n];
                        *h = a * *h + step * f64::from(bc[row + n]) * f64::from(u[at]);
                        y += *h * f64::from(bc[row + states + n]);
                    }
                    let gate = f64::from(z[at]);
                    want[t * channels + c] = y * gate / (1.0 + (-gate).exp());
                }
            }
            for isa in Isa::available() {
                for parts in [vec![length], vec![1; length], vec![3, length - 3]] {
                    let (mut y, mut state) = (dt.clone(), vec![0.0; scan.state_len()]);
                    let mut t = 0;
                    for part in parts {
                        let rows = Rows {
                            dt: y[t * padded..].as_mut_ptr(),
                            dt_pitch: padded,
                            u: u[t * padded..].as_ptr(),
                            u_pitch: padded,
                            z: z[t * padded..].as_ptr(),
                            z_pitch: padded,
                            b: bc[t * 2 * states..].as_ptr(),
                            c: bc[t * 2 * states + states..].as_ptr(),
                            bc_pitch: 2 * states,
                            length: part,
                        };
                        // SAFETY: all buffers hold `length` rows of the stated pitch.
                        unsafe { scan.apply(isa, rows, &mut state) };
                        t += part;
                    }
                    for t in 0..length {
                        for c in 0..channels {
                            let (got, want) = (f64::from(y[t * padded + c]), want[t * channels + c]);
                            assert!(
                                (got - want).abs() < 2e-6 * (1.0 + want.abs()) * 4.0,
                                "{isa:?} {t} {c} {got} {want}"
                            );
                        }
                    }
                }
            }
        }
    }

    fn channels_padded(channels: usize) -> usize {
        channels.next_multiple_of(LANES)
    }
}
