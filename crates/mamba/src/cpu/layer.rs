//! One layer: norm, projections, convolution, state-space part, and the residual. Must not know other layers.
#![allow(unsafe_code)]

use super::buffer::Buffer;
use super::conv::Conv;
use super::gemm::{Matrix, MatrixMut, Panels, Part, row_pitch};
use super::lanes::{Isa, LANES};
use super::norm::Norm;
use super::scan::{self, Scan};
use super::ssd::{self, Ssd};
use crate::config::{Arch, Config};
use crate::error::{Error, Result};
use crate::weights::{WeightSource, WeightType, checked};

/// A layer's weights, packed.
pub(crate) struct Layer {
    norm: Norm,
    in_proj: Panels,
    in_bias: Option<Vec<f32>>,
    conv: Conv,
    core: Core,
    out_proj: Panels,
    out_bias: Option<Vec<f32>>,
}

/// The part that differs between the two families.
enum Core {
    One {
        /// dt, B and C from the convolved input; each padded to whole vectors.
        x_proj: Panels,
        dt_proj: Panels,
        scan: Scan,
        /// Padded rank of dt, and the columns where B and C begin.
        b_at: usize,
        c_at: usize,
    },
    Two {
        ssd: Ssd,
        norm: Norm,
        groups: usize,
    },
}

/// Activations, kept between calls. Everything but `hidden` is overwritten by each layer.
#[derive(Default)]
pub(crate) struct Workspace {
    rows: usize,
    /// The residual stream.
    pub(crate) hidden: Rows,
    pub(crate) hidden_pitch: usize,
    normed: Rows,
    projected: Rows,
    projected_pitch: usize,
    convolved: Rows,
    convolved_pitch: usize,
    /// dt, B, C (Mamba-1).
    selected: Rows,
    selected_pitch: usize,
    /// dt before, result after the scan.
    inner: Rows,
    inner_pitch: usize,
    scratch: ssd::Scratch,
}

/// A buffer that may not be there yet.
#[derive(Default)]
pub(crate) struct Rows(Option<Buffer<f32>>);

impl std::ops::Deref for Rows {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        self.0.as_deref().unwrap_or(&[])
    }
}

impl std::ops::DerefMut for Rows {
    fn deref_mut(&mut self) -> &mut [f32] {
        self.0.as_deref_mut().unwrap_or(&mut [])
    }
}

impl Workspace {
    /// Makes room for `rows` rows.
    pub(crate) fn fit(&mut self, config: &Config, layers: &[Layer], rows: usize) -> Result<()> {
        if self.rows >= rows {
            return Ok(());
        }
        let Some(layer) = layers.first() else { return Ok(()) };
        self.hidden_pitch = row_pitch(config.d_model);
        self.projected_pitch = row_pitch(layer.in_proj.outputs());
        self.convolved_pitch = row_pitch(layer.conv.channels());
        self.inner_pitch = row_pitch(config.d_inner);
        self.selected_pitch = match &layer.core {
            Core::One { x_proj, .. } => row_pitch(x_proj.outputs()),
            Core::Two { .. } => 0,
        };
        let buffer = |pitch: usize| Ok(Rows(Some(Buffer::new(rows * pitch, "the activations")?)));
        self.hidden = buffer(self.hidden_pitch)?;
        self.normed = buffer(self.hidden_pitch)?;
        self.projected = buffer(self.projected_pitch)?;
        self.convolved = buffer(self.convolved_pitch)?;
        self.selected = buffer(self.selected_pitch)?;
        self.inner = buffer(self.inner_pitch)?;
        self.rows = rows;
        Ok(())
    }
}

impl Layer {
    /// Reads and packs layer `index`.
    pub(crate) fn load(config: &Config, source: &dyn WeightSource, index: usize, kind: WeightType) -> Result<Self> {
        let name = |part: &str| format!("backbone.layers.{index}.{part}");
        let vector = |part: &str, n: usize| Ok::<_, Error>(checked(source, &name(part), &[n])?.to_f32());
        let matrix = |part: &str, n: usize, columns: usize, parts: &[Part], k: usize| {
            Panels::pack(&checked(source, &name(part), &[n, columns])?, parts, columns, k, kind)
        };
        let (d, di, n) = (config.d_model, config.d_inner, config.d_state);
        let inner = di.next_multiple_of(LANES);
        let channels = config.conv_channels();
        let conv_weight = checked(source, &name("mixer.conv1d.weight"), &[channels, 1, config.d_conv])?.to_f32();
        let conv_bias = config.conv_bias.then(|| vector("mixer.conv1d.bias", channels)).transpose()?;
        let conv = Conv::new(&conv_weight, conv_bias.as_deref(), config.d_conv, channels, |c| c);
        let whole = |rows: usize| Part { start: 0, rows, padded: rows };

        let (in_parts, core) = match config.arch {
            Arch::Mamba1 { dt_rank } => {
                let (rank, states) = (dt_rank.next_multiple_of(LANES), n.next_multiple_of(LANES));
                let selected = [
                    Part { start: 0, rows: dt_rank, padded: rank },
                    Part { start: dt_rank, rows: n, padded: states },
                    Part { start: dt_rank + n, rows: n, padded: states },
                ];
                let core = Core::One {
                    x_proj: matrix("mixer.x_proj.weight", dt_rank + 2 * n, di, &selected, inner)?,
                    dt_proj: matrix("mixer.dt_proj.weight", di, dt_rank, &[whole(di)], rank)?,
                    scan: Scan::new(
                        &checked(source, &name("mixer.A_log"), &[di, n])?.to_f32(),
                        &vector("mixer.dt_proj.bias", di)?,
                        &vector("mixer.D", di)?,
                        n,
                    ),
                    b_at: rank,
                    c_at: rank + states,
                };
                let parts =
                    vec![Part { start: 0, rows: di, padded: inner }, Part { start: di, rows: di, padded: inner }];
                (parts, core)
            }
            Arch::Mamba2 { heads, head_dim, groups, dt_limit } => {
                Ssd::check(head_dim, n).map_err(|reason| Error::Unsupported { backend: "cpu", reason })?;
                if di / groups % LANES != 0 {
                    let reason = format!("{groups} norm groups of {} channels are no whole vectors", di / groups);
                    return Err(Error::Unsupported { backend: "cpu", reason });
                }
                let core = Core::Two {
                    ssd: Ssd::new(
                        &vector("mixer.A_log", heads)?,
                        &vector("mixer.dt_bias", heads)?,
                        &vector("mixer.D", heads)?,
                        dt_limit,
                        head_dim,
                        groups,
                        n,
                    ),
                    norm: Norm::new(vector("mixer.norm.weight", di)?, config.eps),
                    groups,
                };
                let parts = vec![
                    whole(di + channels),
                    Part { start: di + channels, rows: heads, padded: heads.next_multiple_of(LANES) },
                ];
                (parts, core)
            }
        };
        let projected = in_parts.iter().map(|p| p.rows).sum();
        let bias = |part: &str, n: usize, parts: &[Part]| -> Result<Option<Vec<f32>>> {
            if !config.proj_bias {
                return Ok(None);
            }
            let values = vector(part, n)?;
            let padded = parts.iter().flat_map(|p| {
                let used = values.get(p.start..p.start + p.rows).unwrap_or(&[]).iter().copied();
                used.chain(std::iter::repeat_n(0.0, p.padded - p.rows)).collect::<Vec<_>>()
            });
            Ok(Some(padded.collect()))
        };
        Ok(Self {
            norm: Norm::new(vector("norm.weight", d)?, config.eps),
            in_proj: matrix("mixer.in_proj.weight", projected, d, &in_parts, d)?,
            in_bias: bias("mixer.in_proj.bias", projected, &in_parts)?,
            conv,
            core,
            out_proj: matrix("mixer.out_proj.weight", d, di, &[whole(d)], di)?,
            out_bias: bias("mixer.out_proj.bias", d, &[whole(d)])?,
        })
    }

    /// Bytes of the packed projections.
    pub(crate) fn bytes(&self) -> usize {
        let core = match &self.core {
            Core::One { x_proj, dt_proj, .. } => x_proj.bytes() + dt_proj.bytes(),
            Core::Two { .. } => 0,
        };
        self.in_proj.bytes() + self.out_proj.bytes() + core
    }

    /// Floats of one sequence's convolution state.
    pub(crate) fn conv_state_len(&self) -> usize {
        self.conv.state_len()
    }

    /// Floats of one sequence's scan state.
    pub(crate) fn ssm_state_len(&self) -> usize {
        match &self.core {
            Core::One { scan, .. } => scan.state_len(),
            Core::Two { ssd, .. } => ssd.state_len(),
        }
    }

    /// `hidden += mixer(norm(hidden))` for `sequences` stretches of `length` rows; the states advance.
    pub(crate) fn apply(
        &self,
        isa: Isa,
        w: &mut Workspace,
        sequences: usize,
        length: usize,
        conv_state: &mut [f32],
        ssm_state: &mut [f32],
    ) -> Result<()> {
        let rows = sequences * length;
        let hidden = Matrix { data: &w.hidden, pitch: w.hidden_pitch };
        self.norm.apply(isa, hidden, rows, &mut MatrixMut { data: &mut w.normed, pitch: w.hidden_pitch });
        let projected = MatrixMut { data: &mut w.projected, pitch: w.projected_pitch };
        self.in_proj.multiply(isa, Matrix { data: &w.normed, pitch: w.hidden_pitch }, rows, projected, false);
        add_bias(&mut w.projected, w.projected_pitch, rows, self.in_bias.as_deref());

        // The convolved channels: first in Mamba-1's projection, after the gate in Mamba-2's.
        let inner = self.inner();
        let (conv_at, gate_at) = match &self.core {
            Core::One { .. } => (0, inner),
            Core::Two { .. } => (inner, 0),
        };
        for (s, state) in conv_state.chunks_mut(self.conv.state_len().max(1)).enumerate().take(sequences) {
            let x = w.projected.get(s * length * w.projected_pitch + conv_at..).unwrap_or(&[]);
            let out = w.convolved.get_mut(s * length * w.convolved_pitch..).unwrap_or(&mut []);
            let x = Matrix { data: x, pitch: w.projected_pitch };
            self.conv.apply(isa, x, length, state, &mut MatrixMut { data: out, pitch: w.convolved_pitch });
        }
        let convolved = Matrix { data: &w.convolved, pitch: w.convolved_pitch };
        match &self.core {
            Core::One { x_proj, dt_proj, scan, b_at, c_at } => {
                let selected = MatrixMut { data: &mut w.selected, pitch: w.selected_pitch };
                x_proj.multiply(isa, convolved, rows, selected, false);
                let dt = MatrixMut { data: &mut w.inner, pitch: w.inner_pitch };
                dt_proj.multiply(isa, Matrix { data: &w.selected, pitch: w.selected_pitch }, rows, dt, false);
                assert!(w.fits(rows), "the workspace holds the rows");
                for (s, state) in ssm_state.chunks_mut(scan.state_len().max(1)).enumerate().take(sequences) {
                    let at = s * length;
                    // SAFETY: the workspace holds `rows` rows of each pitch, and every column group named here lies
                    // inside its pitch by construction of the packed projections.
                    unsafe {
                        let selected = w.selected.as_ptr().add(at * w.selected_pitch);
                        let rows = scan::Rows {
                            dt: w.inner.as_mut_ptr().add(at * w.inner_pitch),
                            dt_pitch: w.inner_pitch,
                            u: w.convolved.as_ptr().add(at * w.convolved_pitch),
                            u_pitch: w.convolved_pitch,
                            z: w.projected.as_ptr().add(at * w.projected_pitch + gate_at),
                            z_pitch: w.projected_pitch,
                            b: selected.add(*b_at),
                            c: selected.add(*c_at),
                            bc_pitch: w.selected_pitch,
                            length,
                        };
                        scan.apply(isa, rows, state);
                    }
                }
            }
            Core::Two { ssd, norm, groups } => {
                assert!(w.fits(rows), "the workspace holds the rows");
                for (s, state) in ssm_state.chunks_mut(ssd.state_len().max(1)).enumerate().take(sequences) {
                    let at = s * length;
                    // SAFETY: as above.
                    unsafe {
                        let rows = ssd::Rows {
                            xbc: w.convolved.as_ptr().add(at * w.convolved_pitch),
                            xbc_pitch: w.convolved_pitch,
                            dt: w.projected.as_ptr().add(at * w.projected_pitch + inner + self.conv.channels()),
                            dt_pitch: w.projected_pitch,
                            y: w.inner.as_mut_ptr().add(at * w.inner_pitch),
                            y_pitch: w.inner_pitch,
                            length,
                        };
                        ssd.apply(isa, rows, state, &mut w.scratch)?;
                    }
                }
                let gate = Matrix { data: &w.projected, pitch: w.projected_pitch };
                let x = &mut MatrixMut { data: &mut w.inner, pitch: w.inner_pitch };
                norm.apply_gated(isa, x, gate, rows, *groups);
            }
        }
        let hidden = MatrixMut { data: &mut w.hidden, pitch: w.hidden_pitch };
        self.out_proj.multiply(isa, Matrix { data: &w.inner, pitch: w.inner_pitch }, rows, hidden, true);
        add_bias(&mut w.hidden, w.hidden_pitch, rows, self.out_bias.as_deref());
        Ok(())
    }

    /// Padded inner width.
    fn inner(&self) -> usize {
        match &self.core {
            Core::One { .. } => self.conv.channels(),
            Core::Two { ssd, .. } => ssd.state_len() / ssd.states(),
        }
    }
}

impl Workspace {
    /// Whether every buffer holds `rows` rows.
    fn fits(&self, rows: usize) -> bool {
        rows <= self.rows
            && self.projected.len() >= rows * self.projected_pitch
            && self.convolved.len() >= rows * self.convolved_pitch
            && self.selected.len() >= rows * self.selected_pitch
            && self.inner.len() >= rows * self.inner_pitch
    }
}

fn add_bias(data: &mut [f32], pitch: usize, rows: usize, bias: Option<&[f32]>) {
    if let Some(bias) = bias {
        for row in data.chunks_mut(pitch).take(rows) {
            row.iter_mut().zip(bias).for_each(|(v, b)| *v += b);
        }
    }
}
