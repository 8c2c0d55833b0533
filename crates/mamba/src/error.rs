//! Everything that can go wrong in this crate, each with the place and what to do about it.
//! Must not know how an error is shown.

use std::path::{Path, PathBuf};

/// Result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong, where, and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file could not be read or written.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's word.
        source: std::io::Error,
    },
    /// A file is not the JSON it must be.
    #[error("{path}:{line}:{column}: not valid JSON: {reason}")]
    Json {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// The parser's word.
        reason: String,
    },
    /// A configuration field is missing, malformed or contradicts another.
    #[error("{path}: field `{field}`: {reason}")]
    Config {
        /// The file or the name of the configuration.
        path: String,
        /// The field.
        field: &'static str,
        /// What is wrong with it and what is expected.
        reason: String,
    },
    /// The checkpoint is of a model family this crate does not run.
    #[error(
        "{path}: unknown architecture `{found}`; known are `mamba` and `mamba2` (Hugging Face), and the original state-spaces layout (`d_model`, `n_layer`, `ssm_cfg`)"
    )]
    UnknownArchitecture {
        /// The file.
        path: String,
        /// What it names.
        found: String,
    },
    /// A safetensors file is corrupt or truncated.
    #[error("{path}: not a readable safetensors file: {reason}; the file is corrupt or cut short, fetch it again")]
    Safetensors {
        /// The file.
        path: PathBuf,
        /// What does not hold.
        reason: String,
    },
    /// The folder holds no weights in a form that can be read.
    #[error("{dir}: no weights found: looked for `model.safetensors` and `model.safetensors.index.json`{hint}")]
    MissingWeights {
        /// The folder.
        dir: PathBuf,
        /// What else was seen there, and what to do.
        hint: String,
    },
    /// A tensor that the configuration calls for is not in the checkpoint.
    #[error("{place}: tensor `{name}` is missing; does `config.json` belong to these weights?")]
    MissingTensor {
        /// The checkpoint.
        place: String,
        /// The tensor.
        name: String,
    },
    /// A tensor has a shape other than the configuration calls for.
    #[error("{place}: tensor `{name}` has shape {found:?}, the configuration calls for {expected:?}")]
    TensorShape {
        /// The checkpoint.
        place: String,
        /// The tensor.
        name: String,
        /// Shape the configuration calls for.
        expected: Vec<usize>,
        /// Shape in the file.
        found: Vec<usize>,
    },
    /// A tensor has an element type that cannot be used as weights.
    #[error("{place}: tensor `{name}` holds {found}; weights must be F32, F16 or BF16")]
    TensorDtype {
        /// The checkpoint.
        place: String,
        /// The tensor.
        name: String,
        /// Its element type.
        found: String,
    },
    /// The folder has no tokenizer.
    #[error("{dir}: no `tokenizer.json`; copy it from the model's repository, or give token ids instead of text")]
    MissingTokenizer {
        /// The folder.
        dir: PathBuf,
    },
    /// The tokenizer could not be read, or refused a text.
    #[error("{path}: tokenizer: {reason}")]
    Tokenizer {
        /// The file.
        path: PathBuf,
        /// What it says.
        reason: String,
    },
    /// More memory is needed than there is.
    #[error("out of memory: {what} needs {} MiB and {} MiB are free; use a narrower weight type, a smaller batch or a shorter chunk", needed >> 20, available >> 20)]
    OutOfMemory {
        /// What the memory is for.
        what: String,
        /// Bytes needed.
        needed: u64,
        /// Bytes available.
        available: u64,
    },
    /// The caller's input cannot be run.
    #[error("{0}")]
    Input(String),
    /// This backend cannot run this model.
    #[error("backend `{backend}`: {reason}")]
    Unsupported {
        /// The backend.
        backend: &'static str,
        /// What it lacks, and what to use instead.
        reason: String,
    },
}

impl Error {
    pub(crate) fn io(path: impl AsRef<Path>, source: std::io::Error) -> Self {
        Self::Io { path: path.as_ref().to_owned(), source }
    }

    pub(crate) fn json(path: impl AsRef<Path>, e: &serde_json::Error) -> Self {
        Self::Json { path: path.as_ref().to_owned(), line: e.line(), column: e.column(), reason: e.to_string() }
    }
}
