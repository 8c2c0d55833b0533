//! Softmax along the last axis: `out[r, c] = exp(scale x[r, c]) / sum_j exp(scale x[r, j])`.

use indexmap::IndexMap;
use rayon::prelude::*;

use super::{Args, ReferenceError};
use crate::tensor::Exact;

pub(super) fn compute(args: &Args<'_>) -> Result<IndexMap<String, Exact>, ReferenceError> {
    let ([_, columns], x) = args.array::<2>("x")?;
    let scale = args.number("scale")?;
    let mut values = x.values;
    values.par_chunks_mut(columns.max(1)).for_each(|row| {
        for v in row.iter_mut() {
            *v *= scale;
        }
        softmax(row);
    });
    Ok(IndexMap::from_iter([("out".to_owned(), Exact { shape: x.shape, values })]))
}

/// Softmax in place, shifted by the maximum so that nothing overflows.
pub(super) fn softmax(row: &mut [f64]) {
    let max = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut sum = 0.0;
    for v in row.iter_mut() {
        *v = (*v - max).exp();
        sum += *v;
    }
    for v in row.iter_mut() {
        *v /= sum;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_sum_to_one_and_shifts_do_not_matter() {
        let mut a = [1.0, 2.0, -3.0, 700.0];
        let mut b = a.map(|v| v + 1000.0);
        softmax(&mut a);
        softmax(&mut b);
        assert!((a.iter().sum::<f64>() - 1.0).abs() < 1e-15);
        assert!(a.iter().zip(&b).all(|(x, y)| (x - y).abs() < 1e-15));
        let mut two = [0.0, 3f64.ln()];
        softmax(&mut two);
        assert!((two[0] - 0.25).abs() < 1e-15 && (two[1] - 0.75).abs() < 1e-15);
    }
}
