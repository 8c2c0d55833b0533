//! Mamba-2's state-space layer (SSD, arXiv:2405.21060 section 6): in chunks by matrix products for prompts, step by step
//! for few tokens, with a state that carries over. Must not know the projections around it.
#![allow(unsafe_code, unsafe_op_in_unsafe_fn)]

use rayon::prelude::*;

use super::buffer::Buffer;
use super::gemm::{PANEL, Shared, Tile};
use super::lanes::{Isa, Kernel, LANES, Lanes};
use crate::error::Result;

/// Tokens of a chunk. The quadratic part costs as much as the state's part at twice this with the usual 64 x 128 heads.
const CHUNK: usize = 64;
/// Below this many tokens the recurrence is cheaper than a chunk.
const FEW: usize = 8;

/// The layer's own weights and sizes.
pub(crate) struct Ssd {
    /// `-exp(A_log) log2(e)` per head, so that decays are powers of two.
    decay: Vec<f32>,
    dt_bias: Vec<f32>,
    skip: Vec<f32>,
    dt_limit: [f32; 2],
    head_dim: usize,
    groups: usize,
    states: usize,
}

/// Where one sequence's rows lie.
#[derive(Clone, Copy)]
pub(crate) struct Rows {
    /// Input `[heads][head_dim]`, then B `[groups][states]`, then C alike.
    pub(crate) xbc: *const f32,
    pub(crate) xbc_pitch: usize,
    /// Time steps of the heads, before bias and softplus; whole vectors.
    pub(crate) dt: *const f32,
    pub(crate) dt_pitch: usize,
    /// Output `[heads][head_dim]`.
    pub(crate) y: *mut f32,
    pub(crate) y_pitch: usize,
    pub(crate) length: usize,
}

/// Room for what the heads share: kept between calls.
#[derive(Default)]
pub(crate) struct Scratch {
    /// Time steps `[time][head]`.
    dt: Option<Buffer<f32>>,
    /// `C Bᵀ` of each chunk and group, `[CHUNK][CHUNK]`.
    scores: Option<Buffer<f32>>,
    /// `Bᵀ` of each chunk and group, `[states][CHUNK]`.
    b: Option<Buffer<f32>>,
}

impl Ssd {
    pub(crate) fn new(
        a_log: &[f32],
        dt_bias: &[f32],
        skip: &[f32],
        dt_limit: [f32; 2],
        head_dim: usize,
        groups: usize,
        states: usize,
    ) -> Self {
        let mut bias = dt_bias.to_vec();
        bias.resize(dt_bias.len().next_multiple_of(LANES), 0.0);
        Self {
            decay: a_log.iter().map(|&a| (-f64::from(a).exp() * std::f64::consts::LOG2_E) as f32).collect(),
            dt_bias: bias,
            skip: skip.to_vec(),
            dt_limit,
            head_dim,
            groups,
            states,
        }
    }

    /// What the layer's sizes must be for this implementation; the reason where they are not.
    pub(crate) fn check(head_dim: usize, states: usize) -> std::result::Result<(), String> {
        if head_dim.is_multiple_of(PANEL) && states.is_multiple_of(LANES) {
            return Ok(());
        }
        Err(format!("head_dim {head_dim} must be a multiple of {PANEL} and state_size {states} of {LANES}"))
    }

    pub(crate) fn states(&self) -> usize {
        self.states
    }

    pub(crate) fn heads(&self) -> usize {
        self.decay.len()
    }

    /// Floats of one sequence's state: `[head][state][head_dim]`.
    pub(crate) fn state_len(&self) -> usize {
        self.heads() * self.states * self.head_dim
    }

    /// Runs one sequence: `S = exp(dt A) S + dt B xᵀ`, `y = C S + D x`.
    ///
    /// # Safety
    /// Every row of `rows` is valid for its width, and nothing else touches them meanwhile.
    pub(crate) unsafe fn apply(&self, isa: Isa, rows: Rows, state: &mut [f32], scratch: &mut Scratch) -> Result<()> {
        assert!(state.len() == self.state_len());
        let heads = self.heads();
        let steps = room(&mut scratch.dt, rows.length * self.dt_bias.len())?;
        isa.run(Steps { ssd: self, rows, out: steps.as_mut_ptr() });
        let steps = Shared::new(steps.as_ptr());
        let (shared, state) = (Shared::new(rows), Shared::new(state.as_mut_ptr()));
        if rows.length < FEW {
            let task = |h: usize| {
                // SAFETY: the caller's promise; heads touch disjoint columns and states.
                unsafe { isa.run(Recurrence(self.head(h, shared.get(), steps.get(), state.get()))) };
            };
            (0..heads).into_par_iter().with_min_len(heads.div_ceil(2 * rayon::current_num_threads())).for_each(task);
            return Ok(());
        }
        let chunks = rows.length.div_ceil(CHUNK);
        let scores = room(&mut scratch.scores, chunks * self.groups * CHUNK * CHUNK)?;
        let b = room(&mut scratch.b, chunks * self.groups * CHUNK * self.states)?;
        let (scores, b) = (Shared::new(scores.as_mut_ptr()), Shared::new(b.as_mut_ptr()));
        (0..chunks * self.groups).into_par_iter().for_each(|i| {
            let kernel = Scores { ssd: self, rows: shared.get(), index: i, out: scores.get(), b: b.get() };
            // SAFETY: the caller's promise; chunks and groups have parts of their own.
            unsafe { isa.run(kernel) };
        });
        (0..heads).into_par_iter().for_each(|h| {
            let head = self.head(h, shared.get(), steps.get(), state.get());
            let mut room = vec![0.0f32; CHUNK * (CHUNK + self.head_dim + 1)];
            let kernel = Chunks { head, scores: scores.get(), b: b.get(), room: &mut room };
            // SAFETY: the caller's promise; heads touch disjoint columns and states.
            unsafe { isa.run(kernel) };
        });
        Ok(())
    }

    fn head(&self, index: usize, rows: Rows, steps: *const f32, state: *mut f32) -> Head<'_> {
        Head { ssd: self, index, rows, steps, state }
    }
}

fn room(slot: &mut Option<Buffer<f32>>, length: usize) -> Result<&mut [f32]> {
    if slot.as_ref().is_none_or(|b| b.len() < length) {
        *slot = Some(Buffer::new(length, "the scan's scratch")?);
    }
    Ok(slot.as_deref_mut().unwrap_or(&mut []))
}

/// `dt = clamp(softplus(dt + bias))` for all heads.
struct Steps<'a> {
    ssd: &'a Ssd,
    rows: Rows,
    out: *mut f32,
}

impl Kernel for Steps<'_> {
    #[inline(always)]
    unsafe fn run<V: Lanes>(self) {
        let width = self.ssd.dt_bias.len();
        let [low, high] = self.ssd.dt_limit;
        for t in 0..self.rows.length {
            for c in (0..width).step_by(LANES) {
                let bias = V::load(self.ssd.dt_bias.as_ptr().add(c));
                let dt = V::load(self.rows.dt.add(t * self.rows.dt_pitch + c)).add(bias).softplus();
                dt.at_least(V::splat(low)).at_most(V::splat(high)).store(self.out.add(t * width + c));
            }
        }
    }
}

/// One head of one sequence.
#[derive(Clone, Copy)]
struct Head<'a> {
    ssd: &'a Ssd,
    index: usize,
    rows: Rows,
    steps: *const f32,
    state: *mut f32,
}

impl Head<'_> {
    unsafe fn dt(&self, t: usize) -> f32 {
        *self.steps.add(t * self.ssd.dt_bias.len() + self.index)
    }

    fn group(&self) -> usize {
        self.index / (self.ssd.heads() / self.ssd.groups)
    }

    unsafe fn x(&self, t: usize) -> *const f32 {
        self.rows.xbc.add(t * self.rows.xbc_pitch + self.index * self.ssd.head_dim)
    }

    unsafe fn y(&self, t: usize) -> *mut f32 {
        self.rows.y.add(t * self.rows.y_pitch + self.index * self.ssd.head_dim)
    }

    unsafe fn state(&self) -> *mut f32 {
        self.state.add(self.index * self.ssd.states * self.ssd.head_dim)
    }

    fn decay(&self) -> f32 {
        self.ssd.decay.get(self.index).copied().unwrap_or(0.0)
    }

    fn skip(&self) -> f32 {
        self.ssd.skip.get(self.index).copied().unwrap_or(0.0)
    }
}

unsafe fn b_row(ssd: &Ssd, rows: &Rows, t: usize, group: usize) -> *const f32 {
    rows.xbc.add(t * rows.xbc_pitch + ssd.heads() * ssd.head_dim + group * ssd.states)
}

unsafe fn c_row(ssd: &Ssd, rows: &Rows, t: usize, group: usize) -> *const f32 {
    b_row(ssd, rows, t, ssd.groups + group)
}

/// The head, one token after another.
struct Recurrence<'a>(Head<'a>);

impl Kernel for Recurrence<'_> {
    #[inline(always)]
    unsafe fn run<V: Lanes>(self) {
        let head = self.0;
        let (ssd, width) = (head.ssd, head.ssd.head_dim);
        for t in 0..head.rows.length {
            let dt = head.dt(t);
            let decay = V::splat(dt * head.decay()).exp2();
            let (b, c) = (b_row(ssd, &head.rows, t, head.group()), c_row(ssd, &head.rows, t, head.group()));
            for p in (0..width).step_by(LANES) {
                let x = V::load(head.x(t).add(p));
                let dtx = x.mul(V::splat(dt));
                let mut y = [x.mul(V::splat(head.skip())), V::splat(0.0)];
                for n in 0..ssd.states {
                    let s = head.state().add(n * width + p);
                    let new = decay.fma(V::load(s), dtx.mul(V::splat(*b.add(n))));
                    new.store(s);
                    let y = &mut y[n % 2];
                    *y = new.fma(V::splat(*c.add(n)), *y);
                }
                y[0].add(y[1]).store(head.y(t).add(p));
            }
        }
    }
}

/// What the heads of a group share in one chunk: `Bᵀ` and `C Bᵀ`.
struct Scores<'a> {
    ssd: &'a Ssd,
    rows: Rows,
    index: usize,
    out: *mut f32,
    b: *mut f32,
}

impl Kernel for Scores<'_> {
    #[inline(always)]
    unsafe fn run<V: Lanes>(self) {
        let (ssd, rows) = (self.ssd, &self.rows);
        let (chunk, group) = (self.index / ssd.groups, self.index % ssd.groups);
        let start = chunk * CHUNK;
        let count = CHUNK.min(rows.length - start);
        let b = self.b.add(self.index * CHUNK * ssd.states);
        for j in 0..CHUNK {
            for n in 0..ssd.states {
                *b.add(n * CHUNK + j) = if j < count { *b_row(ssd, rows, start + j, group).add(n) } else { 0.0 };
            }
        }
        for column in (0..CHUNK).step_by(PANEL) {
            let tile = Tile {
                w: b.cast_const().add(column),
                w_pitch: CHUNK,
                x: c_row(ssd, rows, start, group),
                x_pitch: rows.xbc_pitch,
                depth: ssd.states,
                out: self.out.add(self.index * CHUNK * CHUNK + column),
                out_pitch: CHUNK,
                accumulate: false,
            };
            tile.column::<V>(count);
        }
    }
}

/// The head, one chunk after another.
struct Chunks<'a> {
    head: Head<'a>,
    scores: *const f32,
    b: *const f32,
    /// `[CHUNK][CHUNK]` weights, `[CHUNK][head_dim]` inputs and `[CHUNK]` logarithms.
    room: &'a mut [f32],
}

impl Kernel for Chunks<'_> {
    #[inline(always)]
    unsafe fn run<V: Lanes>(self) {
        let head = self.head;
        let (ssd, rows, width) = (head.ssd, &head.rows, head.ssd.head_dim);
        let mix = self.room.as_mut_ptr();
        let fed = mix.add(CHUNK * CHUNK);
        // Logarithm (base 2) of the decay from the chunk's start up to and with each token.
        let log = fed.add(CHUNK * width);
        for start in (0..rows.length).step_by(CHUNK) {
            let count = CHUNK.min(rows.length - start);
            let index = start / CHUNK * ssd.groups + head.group();
            let (scores, b) = (self.scores.add(index * CHUNK * CHUNK), self.b.add(index * CHUNK * ssd.states));
            let mut sum = 0.0;
            for j in 0..CHUNK {
                if j < count {
                    sum += head.dt(start + j) * head.decay();
                }
                *log.add(j) = sum;
            }
            let whole = V::splat(sum);

            // mix[i][j] = (C_i . B_j) decay(j -> i) dt_j for j <= i; the skip joins on the diagonal.
            let mut dts = [0.0f32; CHUNK];
            for (j, dt) in dts.iter_mut().enumerate().take(count) {
                *dt = head.dt(start + j);
            }
            for i in 0..count {
                let row = mix.add(i * CHUNK);
                let at = V::splat(*log.add(i));
                for j in (0..=i).step_by(LANES) {
                    let decay = at.sub(V::load(log.add(j))).at_most(V::splat(0.0)).exp2();
                    let score = V::load(scores.add(i * CHUNK + j)).mul(V::load(dts.as_ptr().add(j)));
                    score.mul(decay).store(row.add(j));
                }
                for j in i + 1..CHUNK {
                    *row.add(j) = 0.0;
                }
                *row.add(i) += head.skip();
            }

            // fed[j] = x_j dt_j decay(j -> chunk's end).
            for (j, &dt) in dts.iter().enumerate().take(count) {
                let factor = whole.sub(V::splat(*log.add(j))).exp2().mul(V::splat(dt));
                for p in (0..width).step_by(LANES) {
                    V::load(head.x(start + j).add(p)).mul(factor).store(fed.add(j * width + p));
                }
            }

            // y = decay(start -> i) C S + mix x.
            for p in (0..width).step_by(PANEL) {
                let carried = Tile {
                    w: head.state().cast_const().add(p),
                    w_pitch: width,
                    x: c_row(ssd, rows, start, head.group()),
                    x_pitch: rows.xbc_pitch,
                    depth: ssd.states,
                    out: head.y(start).add(p),
                    out_pitch: rows.y_pitch,
                    accumulate: false,
                };
                carried.column::<V>(count);
                for i in 0..count {
                    let decay = V::splat(*log.add(i)).exp2();
                    for q in (p..p + PANEL).step_by(LANES) {
                        let y = head.y(start + i).add(q);
                        V::load(y).mul(decay).store(y);
                    }
                }
                let within = Tile {
                    w: head.x(start).add(p),
                    w_pitch: rows.xbc_pitch,
                    x: mix.cast_const(),
                    x_pitch: CHUNK,
                    depth: count,
                    out: head.y(start).add(p),
                    out_pitch: rows.y_pitch,
                    accumulate: true,
                };
                within.column::<V>(count);
            }

            // S = decay(whole chunk) S + Bᵀ fed.
            let decay = whole.exp2();
            for s in (0..ssd.states * width).step_by(LANES) {
                let s = head.state().add(s);
                V::load(s).mul(decay).store(s);
            }
            for p in (0..width).step_by(PANEL) {
                let update = Tile {
                    w: fed.cast_const().add(p),
                    w_pitch: width,
                    x: b,
                    x_pitch: CHUNK,
                    depth: count,
                    out: head.state().add(p),
                    out_pitch: width,
                    accumulate: true,
                };
                update.column::<V>(ssd.states);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_a_double_precision_recurrence_whole_and_in_parts() {
        let wave = |n: usize, f: f32| (0..n).map(|i| (i as f32 * f).sin()).collect::<Vec<_>>();
        let (heads, width, groups, states, length) = (4, 32, 2, 16, 203);
        let a_log: Vec<f32> = (0..heads).map(|h| (1.0 + h as f32).ln()).collect();
        let (bias, skip) = (wave(heads, 0.9), wave(heads, 0.4));
        let pitch = heads * width + 2 * groups * states + 16;
        let (xbc, dt) = (wave(length * pitch, 0.37), wave(length * 16, 0.61));
        let limit = [0.3, 1.1];
        let mut s = vec![0.0f64; heads * states * width];
        let mut want = vec![0.0f64; length * heads * width];
        for t in 0..length {
            for h in 0..heads {
                let row = &xbc[t * pitch..];
                let group = h / (heads / groups);
                let b = &row[heads * width + group * states..];
                let c = &row[heads * width + (groups + group) * states..];
                let step = f64::from(dt[t * 16 + h] + bias[h]).exp().ln_1p().clamp(limit[0].into(), limit[1].into());
                let decay = (-f64::from(a_log[h]).exp() * step).exp();
                for p in 0..width {
                    let x = f64::from(row[h * width + p]);
                    let mut y = f64::from(skip[h]) * x;
                    for n in 0..states {
                        let s = &mut s[(h * states + n) * width + p];
                        *s = decay * *s + step * f64::from(b[n]) * x;
                        y += *s * f64::from(c[n]);
                    }
                    want[(t * heads + h) * width + p] = y;
                }
            }
        }
        let ssd = Ssd::new(&a_log, &bias, &skip, limit, width, groups, states);
        for isa in Isa::available() {
            for parts in [vec![length], vec![1; length], vec![64, 65, 3, 71]] {
                let mut state = vec![0.0; ssd.state_len()];
                let mut y = vec![0.0; length * heads * width];
                let mut scratch = Scratch::default();
                let mut t = 0;
                for part in parts {
                    let rows = Rows {
                        xbc: xbc[t * pitch..].as_ptr(),
                        xbc_pitch: pitch,
                        dt: dt[t * 16..].as_ptr(),
                        dt_pitch: 16,
                        y: y[t * heads * width..].as_mut_ptr(),
                        y_pitch: heads * width,
                        length: part,
                    };
                    // SAFETY: all buffers hold `length` rows of the stated pitch.
                    unsafe { ssd.apply(isa, rows, &mut state, &mut scratch) }.unwrap();
                    t += part;
                }
                for (i, (got, want)) in y.iter().zip(&want).enumerate() {
                    assert!((f64::from(*got) - want).abs() < 2e-5 * (1.0 + want.abs()), "{isa:?} {i} {got} {want}");
                }
                for (got, want) in state.iter().zip(&s) {
                    assert!((f64::from(*got) - want).abs() < 2e-5 * (1.0 + want.abs()), "{isa:?} {got} {want}");
                }
            }
        }
        assert!(Ssd::check(64, 128).is_ok() && Ssd::check(24, 128).is_err() && Ssd::check(64, 5).is_err());
    }
}
