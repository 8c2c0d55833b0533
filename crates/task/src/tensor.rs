//! Tensors: a dtype, a shape, bytes in row-major order. Knows nothing about tasks.

use crate::dtype::DType;

/// A dense row-major tensor as a kernel sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    /// Element type.
    pub dtype: DType,
    /// Extent per axis; empty for a scalar.
    pub shape: Vec<usize>,
    /// Little-endian elements.
    pub bytes: Vec<u8>,
}

impl Tensor {
    /// A tensor of these values, rounded to `dtype`. The caller gives as many values as the shape has elements.
    pub fn from_values(dtype: DType, shape: Vec<usize>, values: &[f64]) -> Self {
        debug_assert_eq!(values.len(), elements(&shape));
        Self { dtype, shape, bytes: dtype.encode(values) }
    }

    /// Number of elements.
    pub fn elements(&self) -> usize {
        elements(&self.shape)
    }

    /// Elements as f64; exact for every dtype.
    pub fn values(&self) -> Vec<f64> {
        self.dtype.decode(&self.bytes)
    }
}

/// A tensor of exact results, before any rounding to an element type.
#[derive(Clone, Debug, PartialEq)]
pub struct Exact {
    /// Extent per axis.
    pub shape: Vec<usize>,
    /// Elements in row-major order.
    pub values: Vec<f64>,
}

/// Number of elements of a shape, saturating.
pub fn elements(shape: &[usize]) -> usize {
    shape.iter().fold(1, |n, &d| n.saturating_mul(d))
}

/// Multi-dimensional index of the flat row-major index `flat`.
pub fn unravel(mut flat: usize, shape: &[usize]) -> Vec<usize> {
    let mut index = vec![0; shape.len()];
    for (i, &extent) in index.iter_mut().zip(shape).rev() {
        *i = flat % extent.max(1);
        flat /= extent.max(1);
    }
    index
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_unravel_row_major() {
        assert_eq!(unravel(0, &[2, 3, 4]), [0, 0, 0]);
        assert_eq!(unravel(23, &[2, 3, 4]), [1, 2, 3]);
        assert_eq!(unravel(7, &[2, 3, 4]), [0, 1, 3]);
        assert_eq!(elements(&[]), 1);
    }
}
