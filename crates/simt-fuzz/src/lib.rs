//! Tests the SIMT machine against a second opinion: random kernels ([`generate`]), a plain executor that runs one thread at
//! a time straight from the IR ([`reference`]), and the comparison of the two ([`oracle`]). Used by the property tests of
//! this crate and by the fuzz targets, which are only glue.

// A `match` with one named case says what the other cases are.
#![allow(clippy::single_match_else)]

pub mod generate;
pub mod oracle;
pub mod reference;
