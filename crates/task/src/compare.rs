//! Comparison of a kernel's answer with the exact one, and of answers with the trivial ones a cheat would give.
//!
//! Errors are scaled by the output's own magnitude, overall and per row, so that no absolute tolerance can let zeros
//! or constants through. Knows nothing about how an answer was produced.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use crate::dtype::DType;
use crate::tensor::{Exact, Tensor, unravel};

/// Share of the overall magnitude below which a row's own magnitude no longer lowers its scale: a row of near zeros
/// is compared on the scale of the output, not of its own rounding noise.
const ROW_SCALE_FLOOR: f64 = 0.01;

/// Largest errors allowed, as fractions of the output's magnitude (its root mean square).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tolerance {
    /// Any single element, over the magnitude of its row or its own exact value, whichever is larger.
    pub max: f64,
    /// Root mean square over the whole output, over the magnitude of the output.
    pub rms: f64,
    /// Root mean square over any one row, over the magnitude of that row.
    pub row: f64,
}

/// An element that stands out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Element {
    /// Index per axis.
    pub index: Vec<usize>,
    /// Exact value.
    pub expected: f64,
    /// The kernel's value.
    pub got: f64,
}

impl std::fmt::Display for Element {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "at {:?}: expected {:.6e}, got {:.6e}", self.index, self.expected, self.got)
    }
}

/// How far an answer is from the exact one.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Largest error of an element over its row's scale or its own size, whichever is larger.
    pub max: f64,
    /// Root-mean-square error over the output's scale.
    pub rms: f64,
    /// Largest root-mean-square error of a row over the row's scale.
    pub row: f64,
    /// The largest of the three over its tolerance: at most 1 passes. Infinite when an element is not finite.
    pub ratio: f64,
    /// The element with the largest scaled error.
    pub worst: Option<Element>,
    /// Elements that are NaN or infinite where the exact value is representable.
    pub nonfinite: usize,
    /// The first of those.
    pub first_nonfinite: Option<Element>,
}

impl Comparison {
    /// Is the answer right?
    pub fn passed(&self) -> bool {
        self.nonfinite == 0 && self.ratio <= 1.0
    }
}

/// Compares `got`, stored as `dtype`, with the exact values. A row is the last axis. NaN never passes, also where the
/// exact value is NaN: a task that yields NaN is at fault itself. An infinity passes only where the exact value,
/// rounded to `dtype`, is the same infinity. Lengths that differ count as an infinite error.
pub fn compare(expected: &Exact, got: &[f64], dtype: DType, tolerance: &Tolerance) -> Comparison {
    let mut result =
        Comparison { max: 0.0, rms: 0.0, row: 0.0, ratio: 0.0, worst: None, nonfinite: 0, first_nonfinite: None };
    let values = &expected.values;
    if values.len() != got.len() {
        result.ratio = f64::INFINITY;
        return result;
    }
    let width = expected.shape.last().copied().unwrap_or(1).max(1);
    let whole = scale(values, dtype);
    let mut square_sum = 0.0;
    for (row, (exact, answer)) in values.chunks(width).zip(got.chunks(width)).enumerate() {
        let scale = scale(exact, dtype).max(ROW_SCALE_FLOOR * whole);
        let mut row_sum = 0.0;
        for (column, (&e, &g)) in exact.iter().zip(answer).enumerate() {
            let element = || Element { index: unravel(row * width + column, &expected.shape), expected: e, got: g };
            let rounded = round(e, dtype);
            if !g.is_finite() || !rounded.is_finite() {
                if g != rounded {
                    result.nonfinite += 1;
                    result.first_nonfinite.get_or_insert_with(element);
                }
                continue;
            }
            let error = (g - e).abs();
            row_sum += error * error;
            let scaled = over(error, scale.max(e.abs()));
            if scaled > result.max {
                result.max = scaled;
                result.worst = Some(element());
            }
        }
        square_sum += row_sum;
        result.row = result.row.max(over((row_sum / exact.len() as f64).sqrt(), scale));
    }
    result.rms = over((square_sum / values.len().max(1) as f64).sqrt(), whole);
    result.ratio =
        over(result.max, tolerance.max).max(over(result.rms, tolerance.rms)).max(over(result.row, tolerance.row));
    if result.nonfinite > 0 {
        result.ratio = f64::INFINITY;
    }
    result
}

/// `error / scale`, where no error is fine on any scale and some error is infinitely bad on a scale of zero.
fn over(error: f64, scale: f64) -> f64 {
    if error == 0.0 { 0.0 } else { error / scale }
}

/// Root mean square of the values that are finite in `dtype`.
fn scale(values: &[f64], dtype: DType) -> f64 {
    let finite = values.iter().filter(|v| round(**v, dtype).is_finite());
    let (count, sum) = finite.fold((0u64, 0.0), |(n, s), v| (n + 1, s + v * v));
    if count == 0 { 0.0 } else { (sum / count as f64).sqrt() }
}

/// `value` as `dtype` would store it; integers are left as they are.
fn round(value: f64, dtype: DType) -> f64 {
    if !dtype.is_float() {
        return value;
    }
    let mut bytes = Vec::with_capacity(4);
    dtype.push(value, &mut bytes);
    dtype.decode(&bytes).first().copied().unwrap_or(f64::NAN)
}

/// What an answer looks like as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct AnswerStats {
    /// Elements.
    pub elements: usize,
    /// Exact zeros.
    pub zeros: usize,
    /// NaNs.
    pub nans: usize,
    /// Infinities.
    pub infinities: usize,
    /// Smallest finite value; 0 if there is none.
    pub min: f64,
    /// Largest finite value; 0 if there is none.
    pub max: f64,
    /// Mean of the finite values.
    pub mean: f64,
    /// Root mean square of the finite values.
    pub rms: f64,
}

impl AnswerStats {
    /// Statistics of `values`.
    pub fn of(values: &[f64]) -> Self {
        let mut s =
            Self { elements: values.len(), zeros: 0, nans: 0, infinities: 0, min: 0.0, max: 0.0, mean: 0.0, rms: 0.0 };
        let mut finite = 0u64;
        for &v in values {
            s.zeros += usize::from(v == 0.0);
            s.nans += usize::from(v.is_nan());
            s.infinities += usize::from(v.is_infinite());
            if v.is_finite() {
                (s.min, s.max) = if finite == 0 { (v, v) } else { (s.min.min(v), s.max.max(v)) };
                finite += 1;
                s.mean += v;
                s.rms += v * v;
            }
        }
        let n = finite.max(1) as f64;
        s.mean /= n;
        s.rms = (s.rms / n).sqrt();
        s
    }

    /// Is every element zero?
    pub fn all_zero(&self) -> bool {
        self.zeros == self.elements
    }

    /// Do all elements have one value?
    pub fn constant(&self) -> bool {
        self.nans == 0 && self.infinities == 0 && self.min == self.max
    }
}

/// The input whose bytes `output` repeats: the whole of it, or a prefix of it at least as long as the output.
pub fn copied_from<'a>(output: &Tensor, inputs: &'a IndexMap<String, Tensor>) -> Option<&'a str> {
    inputs
        .iter()
        .find(|(_, input)| {
            !output.bytes.is_empty() && input.dtype == output.dtype && input.bytes.starts_with(&output.bytes)
        })
        .map(|(name, _)| name.as_str())
}

/// Trivial answers that the tolerance would let through on this workload, in words; empty when the check is sound.
/// Tried: zeros, the mean of the exact answer everywhere, the mean of each row, each input of the same size.
pub fn trivial_answers_that_pass(
    expected: &Exact,
    dtype: DType,
    tolerance: &Tolerance,
    inputs: &IndexMap<String, Tensor>,
) -> Vec<String> {
    let n = expected.values.len();
    let passes = |answer: &[f64]| compare(expected, answer, dtype, tolerance).passed();
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
    let width = expected.shape.last().copied().unwrap_or(1).max(1);
    let mut found = Vec::new();
    if passes(&vec![0.0; n]) {
        found.push("all zeros".to_owned());
    }
    if passes(&vec![mean(&expected.values); n]) {
        found.push("one constant".to_owned());
    }
    let rows: Vec<f64> = expected.values.chunks(width).flat_map(|row| vec![mean(row); row.len()]).collect();
    if width > 1 && passes(&rows) {
        found.push("one constant per row".to_owned());
    }
    for (name, input) in inputs.iter().filter(|(_, input)| input.elements() == n) {
        if passes(&input.values()) {
            found.push(format!("a copy of input `{name}`"));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const T: Tolerance = Tolerance { max: 1e-2, rms: 1e-3, row: 2e-3 };

    fn exact(shape: &[usize], values: &[f64]) -> Exact {
        Exact { shape: shape.to_vec(), values: values.to_vec() }
    }

    #[test]
    fn equal_passes_and_the_worst_element_is_named() {
        let e = exact(&[2, 2], &[1.0, 2.0, 3.0, 4.0]);
        assert!(compare(&e, &[1.0, 2.0, 3.0, 4.0], DType::F32, &T).passed());
        let c = compare(&e, &[1.0, 2.0, 3.5, 4.0], DType::F32, &T);
        assert!(!c.passed());
        assert_eq!(c.worst, Some(Element { index: vec![1, 0], expected: 3.0, got: 3.5 }));
    }

    #[test]
    fn a_wrong_small_row_is_not_hidden_by_a_large_one() {
        let mut values = vec![100.0; 1000];
        values.extend([1.5, -1.5, 1.5, -1.5]);
        let e = exact(&[251, 4], &values);
        let mut got = values.clone();
        got[1000] = 1.4;
        let c = compare(&e, &got, DType::F32, &T);
        assert!(c.rms < T.rms && !c.passed(), "{c:?}");
    }

    #[test]
    fn nan_never_passes_and_infinity_only_where_expected() {
        let nan = exact(&[1], &[f64::NAN]);
        assert!(!compare(&nan, &[f64::NAN], DType::F32, &T).passed());
        let big = exact(&[2], &[1e6, 1.0]);
        assert!(compare(&big, &[f64::INFINITY, 1.0], DType::F16, &T).passed(), "1e6 overflows f16");
        assert!(!compare(&big, &[f64::INFINITY, 1.0], DType::F32, &T).passed());
        assert!(!compare(&big, &[f64::NEG_INFINITY, 1.0], DType::F16, &T).passed());
        assert!(!compare(&big, &[1e6, f64::NAN], DType::F32, &T).passed());
        assert_eq!(compare(&exact(&[2], &[1.0, 2.0]), &[1.0], DType::F32, &T).ratio, f64::INFINITY);
    }

    #[test]
    fn zero_outputs_allow_no_error_at_all() {
        let zero = exact(&[3], &[0.0; 3]);
        assert!(compare(&zero, &[0.0; 3], DType::F32, &T).passed());
        assert!(!compare(&zero, &[0.0, 1e-30, 0.0], DType::F32, &T).passed());
    }

    #[test]
    fn trivial_answers_are_found() {
        let inputs =
            IndexMap::from_iter([("x".to_owned(), Tensor::from_values(DType::F32, vec![4], &[1.0, -1.0, 2.0, 0.5]))]);
        let near_constant = exact(&[4], &[1.0, 1.0001, 1.0, 1.0]);
        assert_eq!(
            trivial_answers_that_pass(&near_constant, DType::F32, &T, &inputs),
            ["one constant", "one constant per row"]
        );
        let identity = exact(&[4], &[1.0, -1.0, 2.0, 0.5]);
        assert_eq!(trivial_answers_that_pass(&identity, DType::F32, &T, &inputs), ["a copy of input `x`"]);
        assert_eq!(copied_from(&Tensor::from_values(DType::F32, vec![2], &[1.0, -1.0]), &inputs), Some("x"));
        assert_eq!(copied_from(&Tensor::from_values(DType::F32, vec![2], &[1.0, 1.0]), &inputs), None);
    }

    #[test]
    fn statistics() {
        let s = AnswerStats::of(&[0.0, 3.0, f64::NAN, -4.0, f64::INFINITY]);
        assert_eq!((s.zeros, s.nans, s.infinities, s.min, s.max), (1, 1, 1, -4.0, 3.0));
        assert!(!s.all_zero() && !s.constant());
        assert!(AnswerStats::of(&[0.0; 4]).all_zero() && AnswerStats::of(&[2.0; 4]).constant());
    }

    proptest! {
        #[test]
        fn the_verdict_does_not_depend_on_the_outputs_unit(
            values in proptest::collection::vec(-10.0..10.0f64, 1..40),
            noise in proptest::collection::vec(-0.01..0.01f64, 40),
            exponent in -20i32..20,
        ) {
            let unit = 2f64.powi(exponent);
            let got: Vec<f64> = values.iter().zip(&noise).map(|(v, n)| v + n).collect();
            let scaled = |v: &[f64]| v.iter().map(|x| x * unit).collect::<Vec<_>>();
            let plain = compare(&exact(&[values.len()], &values), &got, DType::F32, &T);
            let other = compare(&exact(&[values.len()], &scaled(&values)), &scaled(&got), DType::F32, &T);
            prop_assert!((plain.ratio - other.ratio).abs() <= 1e-9 * plain.ratio.abs().max(1.0));
        }
    }
}
