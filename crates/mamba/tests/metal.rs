//! The Metal backend on the simulated machine against the CPU backend: the same weights, small widths, both families.
#![allow(clippy::unwrap_used)]

use ksearch_mamba::cpu::{CpuModel, Options};
use ksearch_mamba::metal::{KERNELS, MetalModel, Simulator};
use ksearch_mamba::random::{RandomWeights, tokens};
use ksearch_mamba::verify::{self, PARTS_LIMIT};
use ksearch_mamba::weights::WeightType;
use ksearch_mamba::{Arch, Config, Engine};

/// Two layers, narrow, with sizes that are no multiples of a tile.
fn small(family: &str) -> Config {
    let mut config = Config::preset(family).unwrap().with_layers(2);
    config.vocab = 150;
    config.d_model = 72;
    config.d_inner = 144;
    match &mut config.arch {
        Arch::Mamba1 { dt_rank } => *dt_rank = 12,
        Arch::Mamba2 { heads, head_dim, groups, .. } => {
            (*heads, *head_dim, *groups) = (6, 24, 1);
            config.d_inner = 144;
            config.d_state = 48;
        }
    }
    config
}

/// A shape that the CPU backend takes too: whole vectors.
fn shared(family: &str) -> Config {
    let mut config = small(family);
    (config.d_model, config.d_inner) = (64, 128);
    match &mut config.arch {
        Arch::Mamba1 { dt_rank } => *dt_rank = 4,
        Arch::Mamba2 { heads, head_dim, .. } => {
            (*heads, *head_dim) = (2, 64);
            config.d_state = 64;
        }
    }
    config
}

fn simulated(config: &Config, kind: WeightType) -> MetalModel<Simulator> {
    MetalModel::load(config, &RandomWeights::new(config, 3), kind).unwrap()
}

#[test]
fn logits_and_tokens_are_the_cpu_backends() {
    for family in ["mamba-130m", "mamba2-130m"] {
        let config = shared(family);
        let mut cpu = CpuModel::load(&config, &RandomWeights::new(&config, 3), Options::default()).unwrap();
        let mut metal = simulated(&config, WeightType::F32);
        for length in [1, 7, 70] {
            let ids = tokens(config.vocab, length, 5);
            let (ours, theirs) =
                (verify::logits_of(&mut metal, &ids).unwrap(), verify::logits_of(&mut cpu, &ids).unwrap());
            let largest = theirs.as_slice().iter().fold(0.0f32, |m, v| m.max(v.abs()));
            let difference = verify::max_difference(ours.as_slice(), theirs.as_slice());
            assert!(difference < 2e-5 * f64::from(largest), "{family} L={length}: off by {difference:e} of {largest}");
        }
        let prompt = tokens(config.vocab, 9, 6);
        let both = [verify::greedy(&mut metal, &prompt, 12).unwrap(), verify::greedy(&mut cpu, &prompt, 12).unwrap()];
        assert_eq!(both[0], both[1], "{family}");
        for (kind, limit) in [(WeightType::F16, 0.02), (WeightType::Bf16, 0.2)] {
            let ids = tokens(config.vocab, 40, 5);
            let theirs = verify::logits_of(&mut cpu, &ids).unwrap();
            let ours = verify::logits_of(&mut simulated(&config, kind), &ids).unwrap();
            let difference = verify::max_difference(ours.as_slice(), theirs.as_slice());
            assert!(difference > 1e-5 && difference < limit, "{family} {}: off by {difference}", kind.name());
        }
    }
}

#[test]
fn parts_and_batches_are_the_whole() {
    for family in ["mamba-130m", "mamba2-130m"] {
        let config = small(family);
        let mut metal = simulated(&config, WeightType::F32);
        let ids = tokens(config.vocab, 75, 8);
        // A part of one token, one shorter than the convolution, one that ends inside a segment.
        let check = verify::parts_against_whole(&mut metal, &ids, &[1, 2, 40]).unwrap();
        assert!(check.passed() && check.limit <= PARTS_LIMIT, "{family}: {check:?}");
        let sequences: Vec<Vec<u32>> = (0..3).map(|s| tokens(config.vocab, 35, 20 + s)).collect();
        let check = verify::batch_against_single(&mut metal, &sequences).unwrap();
        assert!(check.passed(), "{family}: {check:?}");
        // Several passes in place of one.
        let whole = verify::logits_of(&mut metal, &ids).unwrap();
        metal.set_rows_per_pass(33);
        let passes = verify::logits_of(&mut metal, &ids).unwrap();
        assert!(verify::max_difference(whole.as_slice(), passes.as_slice()) < 1e-4, "{family}");
    }
}

#[test]
fn no_kernel_has_a_fault_that_sanitizers_find() {
    for family in ["mamba-130m", "mamba2-130m"] {
        let config = small(family);
        let mut metal = simulated(&config, WeightType::F16);
        metal.runtime_mut().sanitize();
        for length in [1, 37] {
            verify::logits_of(&mut metal, &tokens(config.vocab, length, 9)).unwrap();
        }
    }
}

#[test]
fn models_that_the_kernels_cannot_take_are_refused_with_a_way_out() {
    let refused = |change: &dyn Fn(&mut Config)| {
        let mut config = small("mamba-130m");
        change(&mut config);
        let loaded = MetalModel::<Simulator>::load(&config, &RandomWeights::new(&config, 1), WeightType::F32);
        loaded.err().unwrap().to_string()
    };
    assert!(refused(&|c| c.d_model = 70).contains("multiples of 4"));
    assert!(refused(&|c| c.proj_bias = true).contains("use the `cpu` backend"));
    assert!(refused(&|c| c.d_conv = 1).contains("conv_kernel 1"));
    let mut metal = simulated(&small("mamba-130m"), WeightType::F32);
    let mut state = metal.start(2).unwrap();
    let batch = ksearch_mamba::Batch::one(&[1, 2]).unwrap();
    assert!(
        metal.forward(batch, &mut state, ksearch_mamba::Want::Last).unwrap_err().to_string().contains("state of 2")
    );
    // Every size that the host gives is used by the source.
    for name in ["D_MODEL", "HEAD_DIM", "GROUPS", "PITCH", "DT_LEAST", "ELEM"] {
        assert!(KERNELS.contains(name), "{name}");
    }
}
