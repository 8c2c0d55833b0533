//! The library kernels that candidates are held against: MLX's own, from the user's wheel, on the simulator; libraries
//! on the processor, and those of `PyTorch` and `mamba_ssm` on real GPUs, each in a process of its own.
//!
//! Knows where MLX keeps its kernels and how its host code launches them. Must not know the search. Nothing of MLX is
//! part of this program: its files are read where the user has them.

pub mod library;
mod lines;
pub mod mlx;
pub mod peer;
pub mod run;
pub mod wheel;

pub use library::{Library, LibraryError};
pub use mlx::{Argument, Dispatch, NoKernel, Operation};
pub use peer::{Material, Peer, PeerError};
pub use run::{Baseline, BaselineError, time};
pub use wheel::{Wheel, WheelError};
