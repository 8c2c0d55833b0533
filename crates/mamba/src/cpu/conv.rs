//! Causal depthwise convolution fused with `silu`, with a state of the last inputs. Must not know what follows.
#![allow(unsafe_code, unsafe_op_in_unsafe_fn)]

use rayon::prelude::*;

use super::gemm::{Matrix, MatrixMut, Shared};
use super::lanes::{Isa, Kernel, LANES, Lanes};

/// Channels of one task: short enough to spread, long enough that a row's part is whole cache lines of one page.
const TASK_CHANNELS: usize = 8 * LANES;

/// Weights of the convolution, channels padded to whole vectors.
pub(crate) struct Conv {
    /// `[tap][channel]`, oldest tap first.
    weight: Vec<f32>,
    bias: Vec<f32>,
    taps: usize,
    channels: usize,
}

impl Conv {
    /// From `[channel][tap]` weights. `place` says where each channel of the checkpoint goes among `channels` padded ones.
    pub(crate) fn new(
        weight: &[f32],
        bias: Option<&[f32]>,
        taps: usize,
        channels: usize,
        place: impl Fn(usize) -> usize,
    ) -> Self {
        let channels = channels.next_multiple_of(LANES);
        let mut out = Self { weight: vec![0.0; taps * channels], bias: vec![0.0; channels], taps, channels };
        for (c, w) in weight.chunks_exact(taps).enumerate() {
            let at = place(c);
            for (tap, &v) in w.iter().enumerate() {
                if let Some(o) = out.weight.get_mut(tap * channels + at) {
                    *o = v;
                }
            }
            if let (Some(o), Some(&b)) = (out.bias.get_mut(at), bias.and_then(|b| b.get(c))) {
                *o = b;
            }
        }
        out
    }

    /// Padded channels.
    pub(crate) fn channels(&self) -> usize {
        self.channels
    }

    /// Floats of one sequence's state: the last `taps - 1` inputs, oldest first.
    pub(crate) fn state_len(&self) -> usize {
        (self.taps - 1) * self.channels
    }

    /// `out[t] = silu(bias + sum_j weight[j] x[t - taps + 1 + j])` for one sequence of `length` rows; inputs before the
    /// first come from `state`, which then holds the last ones.
    pub(crate) fn apply(&self, isa: Isa, x: Matrix<'_>, length: usize, state: &mut [f32], out: &mut MatrixMut<'_>) {
        let last = length.saturating_sub(1);
        assert!(x.data.len() >= last * x.pitch + self.channels && x.pitch >= self.channels);
        assert!(out.data.len() >= last * out.pitch + self.channels && out.pitch >= self.channels);
        assert!(state.len() == self.state_len());
        let (target, history) = (Shared::new(out.data.as_mut_ptr()), Shared::new(state.as_mut_ptr()));
        let out_pitch = out.pitch;
        let task = |t: usize| {
            let kernel = Channels {
                conv: self,
                x,
                length,
                state: history.get(),
                out: target.get(),
                out_pitch,
                first: t * TASK_CHANNELS,
                last: self.channels.min((t + 1) * TASK_CHANNELS),
            };
            // SAFETY: sizes are checked above; tasks touch disjoint channels of `out` and `state`.
            unsafe { isa.run(kernel) };
        };
        let tasks = self.channels.div_ceil(TASK_CHANNELS);
        if length < 8 {
            (0..tasks).for_each(task);
        } else {
            (0..tasks).into_par_iter().for_each(task);
        }
    }
}

struct Channels<'a> {
    conv: &'a Conv,
    x: Matrix<'a>,
    length: usize,
    state: *mut f32,
    out: *mut f32,
    out_pitch: usize,
    first: usize,
    last: usize,
}

impl Kernel for Channels<'_> {
    #[inline(always)]
    unsafe fn run<V: Lanes>(self) {
        let (taps, channels) = (self.conv.taps, self.conv.channels);
        let x = self.x.data.as_ptr();
        // Input of time `t - (taps - 1) + tap`, from the state where that lies before the first row.
        let input = |t: usize, tap: usize, c: usize| {
            if t + tap >= taps - 1 {
                x.add((t + tap + 1 - taps) * self.x.pitch + c)
            } else {
                self.state.cast_const().add((t + tap) * channels + c)
            }
        };
        for t in 0..self.length {
            for c in (self.first..self.last).step_by(LANES) {
                let mut sum = V::load(self.conv.bias.as_ptr().add(c));
                for tap in 0..taps {
                    let w = V::load(self.conv.weight.as_ptr().add(tap * channels + c));
                    sum = V::load(input(t, tap, c)).fma(w, sum);
                }
                sum.silu().store(self.out.add(t * self.out_pitch + c));
            }
        }
        // Oldest first, so that a short sequence's shift reads each old value before it is overwritten.
        for slot in 0..taps - 1 {
            for c in (self.first..self.last).step_by(LANES) {
                V::load(input(self.length, slot, c)).store(self.state.add(slot * channels + c));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_plain_loops_and_carries_its_state() {
        let (channels, taps, length) = (21, 4, 19);
        let wave = |n: usize, f: f32| (0..n).map(|i| (i as f32 * f).sin()).collect::<Vec<_>>();
        let (w, b, x) = (wave(channels * taps, 0.37), wave(channels, 0.11), wave(length * 40, 0.73));
        for isa in Isa::available() {
            let conv = Conv::new(&w, Some(&b), taps, channels, |c| c);
            assert_eq!(conv.channels(), 32);
            // Parts of every length, those shorter than the taps too, give what one pass gives.
            for parts in [vec![19], vec![1; 19], vec![2, 3, 1, 13]] {
                let (mut out, mut state) = (vec![0.0; length * 48], vec![0.0; conv.state_len()]);
                let mut t = 0;
                for part in parts {
                    let input = Matrix { data: &x[t * 40..], pitch: 40 };
                    let mut target = MatrixMut { data: &mut out[t * 48..], pitch: 48 };
                    conv.apply(isa, input, part, &mut state, &mut target);
                    t += part;
                }
                for t in 0..length {
                    for c in 0..channels {
                        let sum: f32 = (0..taps)
                            .filter(|j| t + j + 1 >= taps)
                            .map(|j| w[c * taps + j] * x[(t + j + 1 - taps) * 40 + c])
                            .sum();
                        let v = sum + b[c];
                        assert!((out[t * 48 + c] - v / (1.0 + (-v).exp())).abs() < 1e-5, "{isa:?} t={t} c={c}");
                    }
                }
            }
        }
    }
}
