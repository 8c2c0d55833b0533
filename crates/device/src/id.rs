//! Target strings: `sim:m1-max`, `metal`, `cuda`, `cuda-msl`, `cpu`. Knows no target.

use std::fmt;
use std::str::FromStr;

use ksearch_task::{FigureKind, Language};

/// Where a candidate runs.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TargetId {
    /// The simulator, timed as the named Apple chip.
    Sim(String),
    /// This machine's Apple GPU.
    Metal,
    /// This machine's NVIDIA GPU, CUDA C++ candidates.
    Cuda,
    /// This machine's NVIDIA GPU, Metal candidates compiled to PTX.
    CudaMsl,
    /// This machine's processor.
    Cpu,
}

/// A target string that means nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown target `{0}`; targets are sim:<chip> (e.g. sim:m1-max), metal, cuda, cuda-msl, cpu")]
pub struct UnknownTarget(pub String);

impl FromStr for TargetId {
    type Err = UnknownTarget;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "metal" => Ok(Self::Metal),
            "cuda" => Ok(Self::Cuda),
            "cuda-msl" => Ok(Self::CudaMsl),
            "cpu" => Ok(Self::Cpu),
            _ => match text.split_once(':') {
                Some(("sim", chip)) if !chip.is_empty() => Ok(Self::Sim(chip.to_owned())),
                _ => Err(UnknownTarget(text.to_owned())),
            },
        }
    }
}

impl fmt::Display for TargetId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sim(chip) => write!(f, "sim:{chip}"),
            Self::Metal => f.write_str("metal"),
            Self::Cuda => f.write_str("cuda"),
            Self::CudaMsl => f.write_str("cuda-msl"),
            Self::Cpu => f.write_str("cpu"),
        }
    }
}

impl TargetId {
    /// Language of the candidates it takes.
    pub const fn language(&self) -> Language {
        match self {
            Self::Sim(_) | Self::Metal | Self::CudaMsl => Language::Msl,
            Self::Cuda => Language::Cuda,
            Self::Cpu => Language::Cpp,
        }
    }

    /// Label of its times.
    pub const fn figure_kind(&self) -> FigureKind {
        match self {
            Self::Sim(_) => FigureKind::Simulated,
            _ => FigureKind::Measured,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn target_strings_round_trip() {
        for text in ["sim:m1-max", "metal", "cuda", "cuda-msl", "cpu"] {
            assert_eq!(text.parse::<TargetId>().unwrap().to_string(), text);
        }
        for text in ["", "sim", "sim:", "gpu", "cuda:0"] {
            let message = text.parse::<TargetId>().unwrap_err().to_string();
            assert!(message.contains("sim:m1-max"), "{message}");
        }
    }
}
