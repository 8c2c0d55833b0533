//! Targets: where a candidate is built, launched and timed, behind one trait.
//!
//! Knows how to run. Must not know right from wrong, nor what a search is.

pub mod profile;

pub use profile::Profile;
