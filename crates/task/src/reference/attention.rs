//! Scaled dot-product attention, forward.
//!
//! `out[b, h] = softmax(scale q[b, h] k[b, g]ᵀ + mask) v[b, g]` with `g = h / (Hq / Hkv)`. With `causal`, query i sees
//! keys `j <= i + Lk - Lq` (aligned at the bottom right), so `Lk >= Lq` is required.

use indexmap::IndexMap;
use rayon::prelude::*;

use super::{Args, ReferenceError, require, softmax::softmax};
use crate::tensor::Exact;

pub(super) fn compute(args: &Args<'_>) -> Result<IndexMap<String, Exact>, ReferenceError> {
    let ([batch, heads, queries, dim], q) = args.array::<4>("q")?;
    let ([k_batch, kv_heads, keys, k_dim], k) = args.array::<4>("k")?;
    let ([v_batch, v_heads, v_keys, v_dim], v) = args.array::<4>("v")?;
    let scale = args.number("scale")?;
    let causal = args.flag("causal")?;
    require(k_batch == batch && v_batch == batch, "q, k and v to have one batch size")?;
    require(k_dim == dim && v_dim == dim, "q, k and v to have one head dimension")?;
    require(v_heads == kv_heads && v_keys == keys, "k and v to have one shape")?;
    require(kv_heads > 0 && heads.is_multiple_of(kv_heads), "the query heads to be a multiple of the key heads")?;
    require(keys > 0 && (!causal || keys >= queries), "keys, and at least as many as queries when causal")?;

    let mut values = vec![0.0; batch * heads * queries * dim];
    values.par_chunks_mut(dim.max(1)).enumerate().for_each(|(row, out)| {
        let (b, h, i) = (row / (heads * queries), row / queries % heads, row % queries);
        let first_key = (b * kv_heads + h / (heads / kv_heads)) * keys;
        let seen = if causal { i + keys - queries + 1 } else { keys };
        let mut weights: Vec<f64> = (0..seen).map(|j| scale * dot(q.row(row), k.row(first_key + j))).collect();
        softmax(&mut weights);
        for (j, weight) in weights.iter().enumerate() {
            for (o, x) in out.iter_mut().zip(v.row(first_key + j)) {
                *o += weight * x;
            }
        }
    });
    Ok(IndexMap::from_iter([("out".to_owned(), Exact { shape: q.shape, values })]))
}

/// Eight sums side by side: a single one would wait for itself at every addition.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let (whole_a, rest_a) = a.as_chunks::<8>();
    let (whole_b, rest_b) = b.as_chunks::<8>();
    let mut sums = [0.0; 8];
    for (x, y) in whole_a.iter().zip(whole_b) {
        for (sum, (x, y)) in sums.iter_mut().zip(x.iter().zip(y)) {
            *sum += x * y;
        }
    }
    let rest: f64 = rest_a.iter().zip(rest_b).map(|(x, y)| x * y).sum();
    sums.iter().sum::<f64>() + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::DType;
    use crate::expr::Value;
    use crate::spec::{Env, Tensors};
    use crate::tensor::Tensor;

    struct Case {
        env: Env,
        inputs: Tensors,
    }

    /// Deterministic pseudo-random values; the generator's own distributions are tested elsewhere.
    fn noise(count: usize, seed: u64) -> Vec<f64> {
        let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state as f64 / u64::MAX as f64 * 2.0 - 1.0
        };
        (0..count).map(|_| next()).collect()
    }

    fn case(q: [usize; 4], kv_heads: usize, keys: usize, causal: bool) -> Case {
        let kv = [q[0], kv_heads, keys, q[3]];
        let tensor = |shape: [usize; 4], seed| {
            Tensor::from_values(DType::F32, shape.to_vec(), &noise(shape.iter().product(), seed))
        };
        let env = Env::from_iter([
            ("scale".to_owned(), Value::Real(0.7)),
            ("causal".to_owned(), Value::Int(i64::from(causal))),
        ]);
        let inputs = Tensors::from_iter([
            ("q".to_owned(), tensor(q, 1)),
            ("k".to_owned(), tensor(kv, 2)),
            ("v".to_owned(), tensor(kv, 3)),
        ]);
        Case { env, inputs }
    }

    fn run(case: &Case) -> Exact {
        compute(&Args { env: &case.env, inputs: &case.inputs }).unwrap().swap_remove("out").unwrap()
    }

    /// The definition, spelt out with full indices, unnormalised exponentials and a mask; shares no code with `compute`.
    fn slow(case: &Case) -> Vec<f64> {
        let (q, k, v) = (&case.inputs["q"], &case.inputs["k"], &case.inputs["v"]);
        let (qs, ks) = (&q.shape, &k.shape);
        let (qv, kv, vv) = (q.values(), k.values(), v.values());
        let causal = case.env["causal"] == Value::Int(1);
        let at = |b, h, l, d, s: &[usize]| ((b * s[1] + h) * s[2] + l) * s[3] + d;
        let mut out = vec![0.0; qv.len()];
        for b in 0..qs[0] {
            for h in 0..qs[1] {
                let g = h * ks[1] / qs[1];
                for i in 0..qs[2] {
                    for d in 0..qs[3] {
                        let (mut numerator, mut denominator) = (0.0, 0.0);
                        for j in 0..ks[2] {
                            if causal && j as i64 > i as i64 + ks[2] as i64 - qs[2] as i64 {
                                continue;
                            }
                            let s: f64 =
                                (0..qs[3]).map(|e| qv[at(b, h, i, e, qs)] * kv[at(b, g, j, e, ks)]).sum::<f64>() * 0.7;
                            numerator += s.exp() * vv[at(b, g, j, d, ks)];
                            denominator += s.exp();
                        }
                        out[at(b, h, i, d, qs)] = numerator / denominator;
                    }
                }
            }
        }
        out
    }

    fn close(a: &[f64], b: &[f64]) {
        assert_eq!(a.len(), b.len());
        for (i, (x, y)) in a.iter().zip(b).enumerate() {
            assert!((x - y).abs() < 1e-12, "{i}: {x} {y}");
        }
    }

    #[test]
    fn agrees_with_the_definition() {
        for (q, kv_heads, keys, causal) in [
            ([1, 1, 3, 4], 1, 5, false),
            ([2, 4, 3, 5], 2, 7, true),
            ([1, 6, 4, 3], 1, 4, true),
            ([2, 3, 1, 8], 3, 9, true),
        ] {
            let c = case(q, kv_heads, keys, causal);
            close(&run(&c).values, &slow(&c));
        }
    }

    #[test]
    fn a_single_visible_key_returns_its_value() {
        let c = case([1, 1, 5, 4], 1, 5, true);
        close(&run(&c).values[..4], &c.inputs["v"].values()[..4]);
    }

    #[test]
    fn output_is_linear_in_v_and_blind_to_the_order_of_keys() {
        let mut c = case([1, 2, 3, 4], 2, 6, false);
        let before = run(&c).values;
        for name in ["k", "v"] {
            let t = &c.inputs[name];
            let mut rows: Vec<Vec<f64>> = t.values().chunks(4).map(<[f64]>::to_vec).collect();
            rows[..6].reverse();
            let shape = t.shape.clone();
            c.inputs.insert(name.into(), Tensor::from_values(DType::F32, shape, &rows.concat()));
        }
        close(&run(&c).values[..12], &before[..12]);
        let doubled: Vec<f64> = c.inputs["v"].values().iter().map(|x| 2.0 * x).collect();
        let before = run(&c).values;
        let shape = c.inputs["v"].shape.clone();
        c.inputs.insert("v".into(), Tensor::from_values(DType::F32, shape, &doubled));
        close(&run(&c).values, &before.iter().map(|x| 2.0 * x).collect::<Vec<_>>());
    }

    #[test]
    fn inconsistent_shapes_are_refused() {
        let refuse = |c: &Case| compute(&Args { env: &c.env, inputs: &c.inputs }).unwrap_err().to_string();
        assert!(refuse(&case([1, 3, 2, 4], 2, 2, false)).contains("multiple"));
        assert!(refuse(&case([1, 2, 5, 4], 2, 3, true)).contains("at least as many"));
        let mut c = case([1, 2, 5, 4], 2, 3, false);
        c.inputs.shift_remove("v");
        assert!(refuse(&c).contains("`v`"));
    }
}
