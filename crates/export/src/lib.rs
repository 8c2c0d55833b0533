//! Found kernels for other people's programs. Knows candidates, tasks and signatures; must not know how a kernel was
//! found, nor run one.

pub mod mlx;
pub mod mlx_lm;
mod split;

pub use mlx::{Origin, Unfit, module};
