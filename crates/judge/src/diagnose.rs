//! What a wrong answer looks like, in words that point at the mistake. Knows numbers, not kernels.

use ksearch_task::Exact;
use ksearch_task::compare::AnswerStats;
use ksearch_task::tensor::unravel;

/// A sentence on the pattern of the error and where to look, from the exact and the given answer.
pub fn pattern(expected: &Exact, got: &[f64]) -> String {
    let values = &expected.values;
    if values.len() != got.len() || values.is_empty() {
        return "The output has another size than expected.".into();
    }
    let stats = AnswerStats::of(got);
    if stats.all_zero() {
        return "Every output is zero: the result is never stored, or an accumulator is lost.".into();
    }
    if stats.constant() {
        return "Every output has one value: check the indices the kernel stores to and what it reads.".into();
    }
    if let Some(factor) = common_factor(values, got) {
        return format!(
            "The outputs are {factor:.4} times the exact ones throughout: check the scale and the normalisation."
        );
    }
    let scale = AnswerStats::of(values).rms.max(f64::MIN_POSITIVE);
    let wrong: Vec<usize> =
        (0..got.len()).filter(|&i| (got[i] - values[i]).abs() > 0.01 * scale.max(values[i].abs())).collect();
    if wrong.is_empty() {
        return "The error is small and everywhere: accumulate in f32, and check where values are rounded to half."
            .into();
    }
    if let Some(place) = confined(&wrong, &expected.shape) {
        return place;
    }
    let share = wrong.len() as f64 / got.len() as f64;
    format!(
        "{:.0}% of the elements are off by more than 1% of the output's magnitude, with no simple pattern: check scale factors, index \
         arithmetic, masks and reductions.",
        100.0 * share
    )
}

/// The factor `f` with `got = f * expected` for nearly all elements, when it is not 1.
fn common_factor(expected: &[f64], got: &[f64]) -> Option<f64> {
    let (mut dot, mut square) = (0.0, 0.0);
    for (e, g) in expected.iter().zip(got) {
        dot += e * g;
        square += e * e;
    }
    let factor = dot / square;
    if !factor.is_finite() || (factor - 1.0).abs() < 0.01 || factor.abs() < 1e-6 {
        return None;
    }
    let residual: f64 = expected.iter().zip(got).map(|(e, g)| (g - factor * e).powi(2)).sum();
    (residual / (square * factor * factor) < 1e-4).then_some(factor)
}

/// Where the wrong elements lie, when they fill one end of an axis only.
fn confined(wrong: &[usize], shape: &[usize]) -> Option<String> {
    for (axis, &extent) in shape.iter().enumerate() {
        if extent < 2 {
            continue;
        }
        let positions = || wrong.iter().filter_map(|&i| unravel(i, shape).get(axis).copied());
        let (low, high) = (positions().min()?, positions().max()?);
        if low > 0 && high == extent - 1 {
            return Some(format!(
                "All wrong elements have index {low} or more on axis {axis} of {extent}: check the ragged tail and the \
                 bounds there."
            ));
        }
        if low == high {
            return Some(format!(
                "All wrong elements have index {low} on axis {axis}: check the first and last iteration."
            ));
        }
        if low == 0 && high + 1 < extent {
            return Some(format!(
                "All wrong elements have index {high} or less on axis {axis} of {extent}: check how the first block starts."
            ));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ramp() -> Exact {
        Exact { shape: vec![4, 8], values: (0..32).map(|i| f64::from(i) - 12.5).collect() }
    }

    #[test]
    fn each_pattern_is_named() {
        let e = ramp();
        let scaled: Vec<f64> = e.values.iter().map(|v| 1.5 * v).collect();
        assert!(pattern(&e, &scaled).contains("1.5000 times"));
        assert!(pattern(&e, &[0.0; 32]).contains("zero"));
        assert!(pattern(&e, &[3.0; 32]).contains("one value"));
        let mut tail = e.values.clone();
        for row in 0..4 {
            tail[row * 8 + 7] += 100.0;
        }
        assert!(pattern(&e, &tail).contains("index 7 or more on axis 1"), "{}", pattern(&e, &tail));
        let mut last_row = e.values.clone();
        last_row[24..].iter_mut().for_each(|v| *v += 50.0);
        assert!(pattern(&e, &last_row).contains("axis 0"));
        assert!(pattern(&e, &[1.0]).contains("size"));
    }
}
