//! Mamba-1 selective scan, forward (Gu and Dao 2023, arXiv 2312.00752, section 3; argument names as in its code).
//!
//! Per batch b and channel d, with states n and group `g = d / (D / G)`:
//! ```text
//! dt[l]   = delta[b, d, l] + delta_bias[d];  softplus of that if `delta_softplus`
//! x[l, n] = exp(dt[l] A[d, n]) x[l - 1, n] + dt[l] B[b, g, n, l] u[b, d, l]        x[-1, n] = initial_state[b, d, n] or 0
//! y[l]    = sum_n x[l, n] C[b, g, n, l] + D[d] u[b, d, l]
//! out     = y[l] silu(z[b, d, l]) if there is a z, else y[l];    final_state[b, d, n] = x[L - 1, n]
//! ```

use indexmap::IndexMap;
use rayon::prelude::*;

use super::{Args, Array, ReferenceError, require};
use crate::tensor::Exact;

pub(super) fn compute(args: &Args<'_>) -> Result<IndexMap<String, Exact>, ReferenceError> {
    let ([batch, channels, length], u) = args.array::<3>("u")?;
    let (delta_shape, delta) = args.array::<3>("delta")?;
    let ([a_channels, states], a) = args.array::<2>("A")?;
    let ([b_batch, groups, b_states, b_length], b_in) = args.array::<4>("B")?;
    let (c_shape, c_in) = args.array::<4>("C")?;
    let skip = args.optional::<1>("D")?;
    let gate = args.optional::<3>("z")?;
    let bias = args.optional::<1>("delta_bias")?;
    let initial = args.optional::<3>("initial_state")?;
    let softplus = args.flag("delta_softplus")?;

    let full = [batch, channels, length];
    require(delta_shape == full && gate.as_ref().is_none_or(|(s, _)| *s == full), "u, delta and z to have one shape")?;
    require(a_channels == channels, "A to have a row for each channel")?;
    require(
        [b_batch, b_states, b_length] == [batch, states, length] && c_shape == [batch, groups, states, length],
        "B and C of shape (batch, groups, states, length)",
    )?;
    require(groups > 0 && channels.is_multiple_of(groups), "the channels to be a multiple of the groups")?;
    require(
        skip.as_ref().is_none_or(|([n], _)| *n == channels) && bias.as_ref().is_none_or(|([n], _)| *n == channels),
        "D and delta_bias to have an element for each channel",
    )?;
    let state_shape = [batch, channels, states];
    require(
        initial.as_ref().is_none_or(|(s, _)| *s == state_shape),
        "initial_state of shape (batch, channels, states)",
    )?;

    let of_channel = |array: &Option<([usize; 1], Array)>, d: usize| {
        array.as_ref().map_or(0.0, |(_, x)| x.values.get(d).copied().unwrap_or(0.0))
    };
    let rows: Vec<(Vec<f64>, Vec<f64>)> = (0..batch * channels)
        .into_par_iter()
        .map(|row| {
            let (b, d) = (row / channels, row % channels);
            let group_row = (b * groups + d / (channels / groups)) * states;
            let mut state = initial.as_ref().map_or_else(|| vec![0.0; states], |(_, x)| x.row(row).to_vec());
            let (bias, skip) = (of_channel(&bias, d), of_channel(&skip, d));
            let mut out = Vec::with_capacity(length);
            for (l, (&u, &delta)) in u.row(row).iter().zip(delta.row(row)).enumerate() {
                let mut dt = delta + bias;
                if softplus {
                    dt = self::softplus(dt);
                }
                let mut y = skip * u;
                for (n, (x, a)) in state.iter_mut().zip(a.row(d)).enumerate() {
                    let at = |array: &Array| array.row(group_row + n).get(l).copied().unwrap_or(0.0);
                    *x = (dt * a).exp() * *x + dt * at(&b_in) * u;
                    y += *x * at(&c_in);
                }
                if let Some(z) = gate.as_ref().and_then(|(_, z)| z.row(row).get(l)) {
                    y *= z / (1.0 + (-z).exp());
                }
                out.push(y);
            }
            (out, state)
        })
        .collect();
    let (out, state): (Vec<_>, Vec<_>) = rows.into_iter().unzip();
    Ok(IndexMap::from_iter([
        ("out".to_owned(), Exact { shape: full.to_vec(), values: out.concat() }),
        ("final_state".to_owned(), Exact { shape: state_shape.to_vec(), values: state.concat() }),
    ]))
}

/// `ln(1 + e^x)` without overflow.
fn softplus(x: f64) -> f64 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::DType;
    use crate::expr::Value;
    use crate::spec::{Env, Tensors};
    use crate::tensor::Tensor;

    const SHAPE: [usize; 5] = [2, 6, 2, 3, 9];

    fn tensor(shape: &[usize], f: impl FnMut(usize) -> f64) -> Tensor {
        let values: Vec<f64> = (0..shape.iter().product()).map(f).collect();
        Tensor::from_values(DType::F32, shape.to_vec(), &values)
    }

    fn inputs(optional: bool) -> (Env, Tensors) {
        let [b, d, g, n, l] = SHAPE;
        let wave = |shift: f64| move |i: usize| (i as f64 * 0.7 + shift).sin();
        let mut t = Tensors::from_iter([
            ("u".to_owned(), tensor(&[b, d, l], wave(0.1))),
            ("delta".to_owned(), tensor(&[b, d, l], wave(0.2))),
            ("A".to_owned(), tensor(&[d, n], |i| -0.1 - (i % 5) as f64 * 0.3)),
            ("B".to_owned(), tensor(&[b, g, n, l], wave(0.4))),
            ("C".to_owned(), tensor(&[b, g, n, l], wave(0.5))),
        ]);
        if optional {
            t.insert("D".into(), tensor(&[d], wave(0.6)));
            t.insert("z".into(), tensor(&[b, d, l], wave(0.7)));
            t.insert("delta_bias".into(), tensor(&[d], wave(0.8)));
            t.insert("initial_state".into(), tensor(&[b, d, n], wave(0.9)));
        }
        (Env::from_iter([("delta_softplus".to_owned(), Value::Int(1))]), t)
    }

    fn run(env: &Env, inputs: &Tensors) -> (Vec<f64>, Vec<f64>) {
        let mut out = compute(&Args { env, inputs }).unwrap();
        (out.swap_remove("out").unwrap().values, out.swap_remove("final_state").unwrap().values)
    }

    /// The recurrence unrolled: x[l] is a sum over earlier steps of inputs times the exponential of the summed decay.
    /// Quadratic in L, and shares no code with `compute`.
    fn unrolled(inputs: &Tensors) -> Vec<f64> {
        let [nb, nd, ng, nn, nl] = SHAPE;
        let get = |name: &str| inputs.get(name).map(Tensor::values);
        let (u, delta, a, bb, cc) =
            (get("u").unwrap(), get("delta").unwrap(), get("A").unwrap(), get("B").unwrap(), get("C").unwrap());
        let (skip, z, bias, initial) = (get("D"), get("z"), get("delta_bias"), get("initial_state"));
        let mut out = Vec::new();
        for b in 0..nb {
            for d in 0..nd {
                let row = (b * nd + d) * nl;
                let dt: Vec<f64> = (0..nl)
                    .map(|l| (1.0 + (delta[row + l] + bias.as_ref().map_or(0.0, |x| x[d])).exp()).ln())
                    .collect();
                for l in 0..nl {
                    let mut y = 0.0;
                    for n in 0..nn {
                        let bc = |k: usize| ((b * ng + d / (nd / ng)) * nn + n) * nl + k;
                        let decay = |from: usize| (a[d * nn + n] * dt[from..=l].iter().sum::<f64>()).exp();
                        let mut x: f64 = (0..l).map(|k| decay(k + 1) * dt[k] * bb[bc(k)] * u[row + k]).sum();
                        x += dt[l] * bb[bc(l)] * u[row + l];
                        x += initial.as_ref().map_or(0.0, |s| s[(b * nd + d) * nn + n]) * decay(0);
                        y += cc[bc(l)] * x;
                    }
                    y += skip.as_ref().map_or(0.0, |s| s[d]) * u[row + l];
                    if let Some(z) = &z {
                        y *= z[row + l] * (1.0 / (1.0 + (-z[row + l]).exp()));
                    }
                    out.push(y);
                }
            }
        }
        out
    }

    #[test]
    fn agrees_with_the_unrolled_sum() {
        for optional in [false, true] {
            let (env, inputs) = inputs(optional);
            let (out, _) = run(&env, &inputs);
            let slow = unrolled(&inputs);
            assert!(out.iter().zip(&slow).all(|(a, b)| (a - b).abs() < 1e-12), "optional inputs: {optional}");
        }
    }

    #[test]
    fn the_final_state_continues_the_scan() {
        let (env, whole) = inputs(true);
        let (out, last) = run(&env, &whole);
        let cut = |from: usize, to: usize, start: Option<Tensor>| {
            let mut part = whole.clone();
            for name in ["u", "delta", "z", "B", "C"] {
                let t = &whole[name];
                let values: Vec<f64> = t.values().chunks(9).flat_map(|r| r[from..to].to_vec()).collect();
                let mut shape = t.shape.clone();
                *shape.last_mut().unwrap() = to - from;
                // F32 holds the values exactly because they came from F32.
                part.insert(name.into(), Tensor::from_values(DType::F32, shape, &values));
            }
            if let Some(start) = start {
                part.insert("initial_state".into(), start);
            }
            run(&env, &part)
        };
        let (first, state) = cut(0, 4, None);
        let (second, end) = cut(4, 9, Some(Tensor::from_values(DType::F32, vec![2, 6, 3], &state)));
        let joined: Vec<f64> = first.chunks(4).zip(second.chunks(5)).flat_map(|(a, b)| [a, b].concat()).collect();
        // The state is rounded to f32 at the cut.
        assert!(joined.iter().zip(&out).all(|(a, b)| (a - b).abs() < 1e-6));
        assert!(end.iter().zip(&last).all(|(a, b)| (a - b).abs() < 1e-6));
    }

    #[test]
    fn without_decay_or_softplus_it_is_a_cumulative_sum() {
        let t = |shape: &[usize], value: f64| tensor(shape, |_| value);
        let inputs = Tensors::from_iter([
            ("u".to_owned(), tensor(&[1, 1, 5], |i| i as f64)),
            ("delta".to_owned(), t(&[1, 1, 5], 2.0)),
            ("A".to_owned(), t(&[1, 1], 0.0)),
            ("B".to_owned(), t(&[1, 1, 1, 5], 1.0)),
            ("C".to_owned(), t(&[1, 1, 1, 5], 1.0)),
        ]);
        let env = Env::from_iter([("delta_softplus".to_owned(), Value::Int(0))]);
        assert_eq!(run(&env, &inputs).0, [0.0, 2.0, 6.0, 12.0, 20.0]);
    }

    #[test]
    fn softplus_is_exact_at_both_ends() {
        assert_eq!(softplus(800.0), 800.0);
        assert!((softplus(-40.0) - (-40f64).exp()).abs() < 1e-30);
        assert!((softplus(0.0) - 2f64.ln()).abs() < 1e-15);
    }

    #[test]
    fn inconsistent_shapes_are_refused() {
        let (env, mut t) = inputs(true);
        t.insert("D".into(), tensor(&[5], |_| 0.0));
        assert!(compute(&Args { env: &env, inputs: &t }).unwrap_err().to_string().contains("each channel"));
    }
}
