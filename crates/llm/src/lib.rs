//! Language models: providers behind one trait, with deadlines, retries, prices, transcripts and replay.
//!
//! Knows wire formats. Must not know kernels, the search, nor where a key comes from: the caller hands it over. There
//! is no async runtime: a call blocks its thread, and every way it can end is bounded by one outer deadline.

pub mod client;
pub mod error;
pub mod http;
pub mod json;
pub mod prices;
pub mod providers;
pub mod request;
pub mod schema;

pub use client::{Ask, Client, Exchange, Limits};
pub use error::{CallError, CallErrorKind};
pub use prices::{Price, Prices};
pub use providers::{Provider, ProviderKind, open};
pub use request::{Effort, Prompt, Reply, Secret, Settings};
