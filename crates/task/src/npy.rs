//! Reading and writing `.npy` files (the format of `NumPy`, versions 1 to 3; `numpy.lib.format` documents it).
//! Little-endian, C order, the dtypes of this crate; f64 and 64-bit integers are converted where that is lossless.

use crate::dtype::DType;
use crate::tensor::{Tensor, elements};

const MAGIC: &[u8] = b"\x93NUMPY";

/// Why a file could not be read as an array.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NpyError {
    /// Not an npy file at all.
    #[error("not an .npy file: it does not start with the NumPy magic bytes; save it with numpy.save")]
    Magic,
    /// The header cannot be understood.
    #[error("the .npy header is damaged: {0}")]
    Header(String),
    /// An element type that kernels cannot take.
    #[error("dtype `{0}` is not supported; convert with .astype to float32, float16, int32, uint32 or uint8")]
    Dtype(String),
    /// Column-major data.
    #[error("the array is in Fortran order; save numpy.ascontiguousarray(x) instead")]
    Fortran,
    /// A value does not survive conversion.
    #[error("element {index} ({value}) does not fit in {dtype}")]
    Range {
        /// Flat index.
        index: usize,
        /// The value, as text.
        value: String,
        /// What it should fit in.
        dtype: DType,
    },
    /// Too few or too many bytes.
    #[error("the header promises {expected} bytes of data, the file has {found}")]
    Length {
        /// By shape and dtype.
        expected: usize,
        /// In the file.
        found: usize,
    },
}

/// Parses the bytes of an `.npy` file.
pub fn read(file: &[u8]) -> Result<Tensor, NpyError> {
    let rest = file.strip_prefix(MAGIC).ok_or(NpyError::Magic)?;
    let damaged = |what: &str| NpyError::Header(what.to_owned());
    let (length, rest) = match rest {
        [1, _, a, b, rest @ ..] => (usize::from(u16::from_le_bytes([*a, *b])), rest),
        [2 | 3, _, a, b, c, d, rest @ ..] => (u32::from_le_bytes([*a, *b, *c, *d]) as usize, rest),
        _ => return Err(damaged("unknown format version")),
    };
    let (header, data) = rest.split_at_checked(length).ok_or_else(|| damaged("it is cut off"))?;
    let header = std::str::from_utf8(header).map_err(|_| damaged("it is not text"))?;
    let descr = quoted(field(header, "descr")?).ok_or_else(|| damaged("`descr` is not a plain dtype"))?;
    if field(header, "fortran_order")?.starts_with("True") {
        return Err(NpyError::Fortran);
    }
    let shape = shape(field(header, "shape")?).ok_or_else(|| damaged("`shape` is not a tuple of sizes"))?;
    convert(descr, shape, data)
}

fn convert(descr: &str, shape: Vec<usize>, data: &[u8]) -> Result<Tensor, NpyError> {
    let (order, kind) = match descr.split_at_checked(1) {
        Some(("<" | "|" | "=", kind)) => ("<", kind),
        Some((order, kind)) => (order, kind),
        None => return Err(NpyError::Dtype(descr.to_owned())),
    };
    let (dtype, size) = match (order, kind) {
        ("<", "f4") => (DType::F32, 4),
        ("<", "f2") => (DType::F16, 2),
        ("<", "i4") => (DType::I32, 4),
        ("<", "u4") => (DType::U32, 4),
        ("<", "u1" | "b1") => (DType::U8, 1),
        ("<", "f8") => (DType::F32, 8),
        ("<", "i8") => (DType::I32, 8),
        _ => return Err(NpyError::Dtype(descr.to_owned())),
    };
    let expected = elements(&shape).saturating_mul(size);
    if data.len() != expected {
        return Err(NpyError::Length { expected, found: data.len() });
    }
    let bytes = match kind {
        // f64 rounds to f32 as every kernel argument would; infinities and NaN pass, an overflow does not.
        "f8" => wide(data, dtype, f64::from_le_bytes, |v: f64| {
            let narrow = v as f32;
            (narrow.is_finite() || !v.is_finite()).then(|| narrow.to_le_bytes())
        })?,
        "i8" => wide(data, dtype, i64::from_le_bytes, |v| i32::try_from(v).ok().map(i32::to_le_bytes))?,
        _ => data.to_vec(),
    };
    Ok(Tensor { dtype, shape, bytes })
}

fn wide<T: Copy + std::fmt::Display>(
    data: &[u8],
    dtype: DType,
    from: fn([u8; 8]) -> T,
    narrow: impl Fn(T) -> Option<[u8; 4]>,
) -> Result<Vec<u8>, NpyError> {
    let mut out = Vec::with_capacity(data.len() / 2);
    for (index, chunk) in data.as_chunks::<8>().0.iter().enumerate() {
        let value = from(*chunk);
        let bytes = narrow(value).ok_or_else(|| NpyError::Range { index, value: value.to_string(), dtype })?;
        out.extend_from_slice(&bytes);
    }
    Ok(out)
}

/// Text after `'name':` in the header's dictionary.
fn field<'a>(header: &'a str, name: &str) -> Result<&'a str, NpyError> {
    let missing = || NpyError::Header(format!("it has no `{name}`"));
    let (_, rest) = header
        .split_once(&format!("'{name}'"))
        .or_else(|| header.split_once(&format!("\"{name}\"")))
        .ok_or_else(missing)?;
    Ok(rest.trim_start().strip_prefix(':').ok_or_else(missing)?.trim_start())
}

fn quoted(text: &str) -> Option<&str> {
    let quote = text.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    text.get(1..)?.split_once(quote).map(|(inside, _)| inside)
}

fn shape(text: &str) -> Option<Vec<usize>> {
    let (inside, _) = text.strip_prefix('(')?.split_once(')')?;
    inside.split(',').map(str::trim).filter(|s| !s.is_empty()).map(|s| s.trim_end_matches('L').parse().ok()).collect()
}

/// The bytes of an `.npy` file (version 1.0) that holds `tensor`. bf16, which `NumPy` lacks, is written as f32.
pub fn write(tensor: &Tensor) -> Vec<u8> {
    let descr = match tensor.dtype {
        DType::F32 | DType::BF16 => "<f4",
        DType::F16 => "<f2",
        DType::I32 => "<i4",
        DType::U32 => "<u4",
        DType::U8 => "|u1",
    };
    let mut dims: Vec<String> = tensor.shape.iter().map(usize::to_string).collect();
    if dims.len() == 1 {
        dims.push(String::new());
    }
    let dict = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({}), }}", dims.join(", ").trim_end());
    // The data starts at a multiple of 64 bytes; the header ends in a newline.
    let unpadded = MAGIC.len() + 4 + dict.len() + 1;
    let header = format!("{dict}{}\n", " ".repeat(unpadded.next_multiple_of(64) - unpadded));
    let mut out = Vec::with_capacity(128 + tensor.bytes.len());
    out.extend_from_slice(MAGIC);
    out.extend_from_slice(&[1, 0]);
    out.extend_from_slice(&(header.len() as u16).to_le_bytes());
    out.extend_from_slice(header.as_bytes());
    if tensor.dtype == DType::BF16 {
        out.extend_from_slice(&DType::F32.encode(&tensor.values()));
    } else {
        out.extend_from_slice(&tensor.bytes);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn file(dict: &str, data: &[u8]) -> Vec<u8> {
        let mut out = b"\x93NUMPY\x01\x00".to_vec();
        out.extend_from_slice(&(dict.len() as u16).to_le_bytes());
        out.extend_from_slice(dict.as_bytes());
        out.extend_from_slice(data);
        out
    }

    #[test]
    fn every_dtype_round_trips() {
        for dtype in DType::ALL {
            for shape in [vec![], vec![3], vec![2, 3], vec![0, 4]] {
                let values: Vec<f64> = (0..elements(&shape)).map(|i| i as f64).collect();
                let tensor = Tensor::from_values(dtype, shape, &values);
                let back = read(&write(&tensor)).unwrap();
                assert_eq!((&back.shape, back.values()), (&tensor.shape, tensor.values()));
                assert_eq!(back.dtype, if dtype == DType::BF16 { DType::F32 } else { dtype });
                assert_eq!(write(&tensor).len() % 64, tensor.elements() * back.dtype.bytes() % 64);
            }
        }
    }

    #[test]
    fn reads_what_numpy_writes() {
        let t = read(&file("{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }\n", &[0; 16])).unwrap();
        assert_eq!((t.dtype, t.shape), (DType::F32, vec![2]));
        let big = file("{'descr': '<i8', 'fortran_order': False, 'shape': (), }", &(1i64 << 40).to_le_bytes());
        assert!(matches!(read(&big), Err(NpyError::Range { index: 0, .. })));
    }

    #[test]
    fn each_refusal_says_why() {
        assert_eq!(read(b"hello"), Err(NpyError::Magic));
        let f = "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 2), }";
        assert_eq!(read(&file(f, &[0; 16])), Err(NpyError::Fortran));
        let c = "{'descr': '<c8', 'fortran_order': False, 'shape': (1,), }";
        assert_eq!(read(&file(c, &[0; 8])), Err(NpyError::Dtype("<c8".into())));
        let big_endian = "{'descr': '>f4', 'fortran_order': False, 'shape': (1,), }";
        assert_eq!(read(&file(big_endian, &[0; 4])), Err(NpyError::Dtype(">f4".into())));
        let short = "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }";
        assert_eq!(read(&file(short, &[0; 4])), Err(NpyError::Length { expected: 12, found: 4 }));
        assert!(matches!(read(&file("{}", &[])), Err(NpyError::Header(_))));
    }

    proptest! {
        #[test]
        fn no_bytes_panic(tail in proptest::collection::vec(any::<u8>(), 0..80), dict in "[ -~]{0,60}") {
            let _ = read(&tail);
            let _ = read(&file(&dict, &tail));
            let _ = read(&file(&format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({dict}), }}"), &tail));
        }
    }
}
