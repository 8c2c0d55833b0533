//! Mamba inference: checkpoints in Hugging Face's layout, Mamba-1 and Mamba-2, several backends behind one trait.
//!
//! Knows the models and how to run them fast. Must not know what a search is, nor how anything is shown.

pub mod bench;
pub mod checkpoint;
pub mod config;
pub mod cpu;
pub mod cuda;
pub mod engine;
pub mod error;
pub mod generate;
pub mod metal;
pub mod peer;
pub mod random;
pub mod tokenizer;
pub mod verify;
pub mod weights;

pub use config::{Arch, Config};
pub use engine::{Batch, Engine, Logits, Want};
pub use error::{Error, Result};
