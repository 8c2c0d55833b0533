//! Which model a command line means: a checkpoint's folder, or a published size with random weights.

use std::path::Path;

use anyhow::{Result, bail};
use ksearch_mamba::Config;
use ksearch_mamba::checkpoint::{self, Checkpoint};
use ksearch_mamba::cpu::{CpuModel, Options};
use ksearch_mamba::cuda::CudaModel;
use ksearch_mamba::metal::MetalModel;
use ksearch_mamba::metal::runtime::Runtime;
use ksearch_mamba::random::RandomWeights;
use ksearch_mamba::weights::{WeightSource, WeightType};

use super::args::ModelArgs;

/// A model's sizes and weights.
pub struct Model {
    /// Its sizes.
    pub config: Config,
    weights: Weights,
}

enum Weights {
    Stored(Checkpoint),
    Random(RandomWeights),
}

impl Model {
    /// Finds the model that `args` names.
    pub fn open(args: &ModelArgs) -> Result<Self> {
        let dir = Path::new(&args.model);
        if dir.is_dir() {
            if args.layers.is_some() {
                bail!("--layers cuts random models only; {} is a checkpoint", dir.display());
            }
            let checkpoint = Checkpoint::open(dir)?;
            return Ok(Self { config: checkpoint.config.clone(), weights: Weights::Stored(checkpoint) });
        }
        if args.model.contains(['/', '\\']) && !args.model.starts_with("state-spaces/") {
            bail!("there is no folder {}", dir.display());
        }
        let config = preset(&args.model, args.layers)?;
        let weights = Weights::Random(RandomWeights::new(&config, args.weight_seed));
        Ok(Self { config, weights })
    }

    /// One layer of a published size, with random weights.
    pub fn one_layer(name: &str) -> Result<Self> {
        let config = preset(name, Some(1))?;
        let weights = Weights::Random(RandomWeights::new(&config, 1));
        Ok(Self { config, weights })
    }

    /// Is it a made-up model?
    pub const fn is_random(&self) -> bool {
        matches!(self.weights, Weights::Random(_))
    }

    /// The folder it was read from, if it was.
    pub fn dir(&self) -> Option<&Path> {
        match &self.weights {
            Weights::Stored(c) => Some(c.dir()),
            Weights::Random(_) => None,
        }
    }

    fn source(&self) -> &dyn WeightSource {
        match &self.weights {
            Weights::Stored(c) => c,
            Weights::Random(r) => r,
        }
    }

    /// The model on this machine's processor.
    pub fn on_cpu(&self, args: &ModelArgs, weights: WeightType) -> Result<CpuModel> {
        if args.chunk == 0 {
            bail!("--chunk must be at least 1");
        }
        let options = Options { weights, threads: args.threads, chunk: args.chunk, ..Options::default() };
        Ok(CpuModel::load(&self.config, self.source(), options)?)
    }

    /// The model on an NVIDIA GPU.
    pub fn on_cuda(&self, weights: WeightType) -> Result<CudaModel> {
        Ok(CudaModel::load(&self.config, self.source(), weights)?)
    }

    /// The model where Metal kernels run.
    pub fn on_metal<R: Runtime>(&self, weights: WeightType) -> Result<MetalModel<R>> {
        Ok(MetalModel::load(&self.config, self.source(), weights)?)
    }

    /// A folder that peers can read the model from: its own, or one written into `scratch`.
    pub fn folder<'a>(&'a self, scratch: &'a Path) -> Result<&'a Path> {
        if let Some(dir) = self.dir() {
            return Ok(dir);
        }
        checkpoint::export(&self.config, self.source(), scratch)?;
        Ok(scratch)
    }
}

/// A published size, cut to `layers`.
pub fn preset(name: &str, layers: Option<usize>) -> Result<Config> {
    let config = Config::preset(name)?;
    match layers {
        Some(0) => bail!("--layers must be at least 1"),
        Some(n) if n > config.layers => bail!("{name} has {} layers, fewer than {n}", config.layers),
        Some(n) => Ok(config.with_layers(n)),
        None => Ok(config),
    }
}
