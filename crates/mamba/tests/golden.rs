//! Logits and greedy tokens against transformers' own, from golden files that `scripts/mamba/golden.py` wrote. No Python
//! is needed here: the weights are the generator's, the same bits on every machine.
#![allow(clippy::unwrap_used)]

use ksearch_mamba::cpu::{CpuModel, Options};
use ksearch_mamba::random::RandomWeights;
use ksearch_mamba::verify::{self, LOGIT_LIMIT};
use ksearch_mamba::weights::WeightType;
use ksearch_mamba::{Batch, Config, Engine, Want};
use safetensors::SafeTensors;

fn ints(file: &SafeTensors<'_>, name: &str) -> Vec<u32> {
    file.tensor(name).unwrap().data().as_chunks::<4>().0.iter().map(|b| u32::from_le_bytes(*b)).collect()
}

fn floats(file: &SafeTensors<'_>, name: &str) -> Vec<f32> {
    file.tensor(name).unwrap().data().as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect()
}

fn check(name: &str, bytes: &[u8]) {
    let file = SafeTensors::deserialize(bytes).unwrap();
    let config = Config::preset(name).unwrap().with_layers(2);
    let random = RandomWeights::new(&config, 1);
    let mut model = CpuModel::load(&config, &random, Options::default()).unwrap();
    let columns = ints(&file, "columns");
    let pick = |row: &[f32]| columns.iter().map(|&c| row[c as usize]).collect::<Vec<_>>();
    for length in [1, 7, 64, 513, 4096] {
        let ids = ints(&file, &format!("ids_{length}"));
        let positions = ints(&file, &format!("positions_{length}"));
        let golden = floats(&file, &format!("logits_{length}"));
        let argmax = ints(&file, &format!("argmax_{length}"));
        assert_eq!((ids.len(), golden.len()), (length, positions.len() * columns.len()));

        // The text in parts, each ending at a position that the file has; and in one pass for the last of them.
        let mut state = model.start(1).unwrap();
        let mut from = 0;
        for (i, &p) in positions.iter().enumerate() {
            let part = Batch::one(&ids[from..=p as usize]).unwrap();
            let logits = model.forward(part, &mut state, Want::Last).unwrap();
            from = p as usize + 1;
            let want = &golden[i * columns.len()..(i + 1) * columns.len()];
            let difference = verify::max_difference(&pick(logits.row(0)), want);
            assert!(difference <= LOGIT_LIMIT, "{name} L={length} position {p}: off by {difference:e}");
            assert_eq!(
                ksearch_mamba::generate::argmax(logits.row(0)),
                Some(argmax[i]),
                "{name} L={length} position {p}"
            );
        }
        let mut state = model.start(1).unwrap();
        let whole = model.forward(Batch::one(&ids).unwrap(), &mut state, Want::Last).unwrap();
        let want = &golden[golden.len() - columns.len()..];
        let difference = verify::max_difference(&pick(whole.row(0)), want);
        assert!(difference <= LOGIT_LIMIT, "{name} L={length} whole: off by {difference:e}");
    }
    let greedy = verify::greedy(&mut model, &ints(&file, "prompt"), 64).unwrap();
    assert_eq!(greedy, ints(&file, "greedy"), "{name}: greedy tokens");

    // Half-width weights: the error that the documentation states, and no less than rounding must cause. The small shape
    // is enough for that.
    if config.d_model > 768 {
        return;
    }
    drop(model);
    let ids = ints(&file, "ids_64");
    for (kind, limit) in [(WeightType::F16, 0.02), (WeightType::Bf16, 0.15)] {
        let mut model = CpuModel::load(&config, &random, Options { weights: kind, ..Options::default() }).unwrap();
        let mut state = model.start(1).unwrap();
        let logits = model.forward(Batch::one(&ids).unwrap(), &mut state, Want::Last).unwrap();
        let golden = floats(&file, "logits_64");
        let difference = verify::max_difference(&pick(logits.row(0)), &golden[golden.len() - columns.len()..]);
        assert!(difference > 1e-5 && difference < limit, "{name} {}: off by {difference}", kind.name());
    }
}

#[test]
fn mamba_130m_matches_transformers() {
    check("mamba-130m", include_bytes!("golden/mamba-130m.safetensors"));
}

#[test]
fn mamba_370m_matches_transformers() {
    check("mamba-370m", include_bytes!("golden/mamba-370m.safetensors"));
}

#[test]
fn mamba2_130m_matches_transformers() {
    check("mamba2-130m", include_bytes!("golden/mamba2-130m.safetensors"));
}

#[test]
fn mamba2_370m_matches_transformers() {
    check("mamba2-370m", include_bytes!("golden/mamba2-370m.safetensors"));
}

/// A model of odd sizes: channels, states and ranks that fill no vector, biases everywhere, an untied head.
fn odd(arch: ksearch_mamba::Arch) -> Config {
    let mut config = Config::preset("mamba-130m").unwrap().with_layers(3);
    (config.vocab, config.d_model, config.d_inner, config.d_state, config.d_conv) = (101, 36, 72, 6, 3);
    (config.tied, config.proj_bias, config.arch) = (false, true, arch);
    if let ksearch_mamba::Arch::Mamba2 { .. } = arch {
        (config.d_model, config.d_inner, config.d_state) = (48, 96, 16);
    }
    config
}

#[test]
fn parts_batches_threads_and_vector_units_agree() {
    let two = ksearch_mamba::Arch::Mamba2 { heads: 3, head_dim: 32, groups: 3, dt_limit: [0.01, 0.5] };
    for config in [odd(ksearch_mamba::Arch::Mamba1 { dt_rank: 5 }), odd(two)] {
        let random = RandomWeights::new(&config, 4);
        let ids = ksearch_mamba::random::tokens(config.vocab, 150, 8);
        let mut first: Option<Vec<f32>> = None;
        for isa in ksearch_mamba::cpu::Isa::available() {
            for (threads, chunk) in [(1, 768), (2, 40)] {
                let options = Options { isa: Some(isa), threads, chunk, ..Options::default() };
                let mut model = CpuModel::load(&config, &random, options).unwrap();
                let logits = verify::logits_of(&mut model, &ids).unwrap();
                assert_eq!((logits.rows(), logits.row(0).len()), (150, 101));
                let first = first.get_or_insert_with(|| logits.as_slice().to_vec());
                let difference = verify::max_difference(first, logits.as_slice());
                assert!(difference < 2e-5, "{isa:?} {threads} threads, chunk {chunk}: {difference:e}");
                let parts = verify::parts_against_whole(&mut model, &ids, &[1, 1, 30, 7, 65]).unwrap();
                assert!(parts.passed(), "{parts:?}");
                let sequences: Vec<Vec<u32>> = ids.chunks_exact(50).map(<[u32]>::to_vec).collect();
                let batch = verify::batch_against_single(&mut model, &sequences).unwrap();
                assert!(batch.passed(), "{batch:?}");
            }
        }
    }
}

#[test]
fn wrong_use_is_refused() {
    let config = odd(ksearch_mamba::Arch::Mamba1 { dt_rank: 5 });
    let random = RandomWeights::new(&config, 4);
    let tight = Options { memory_limit: Some(1000), ..Options::default() };
    let error = CpuModel::load(&config, &random, tight).err().unwrap().to_string();
    assert!(error.contains("out of memory: the model's weights"), "{error}");
    let mut model = CpuModel::load(&config, &random, Options::default()).unwrap();
    let mut state = model.start(2).unwrap();
    let error = model.forward(Batch::one(&[1]).unwrap(), &mut state, Want::Last).unwrap_err().to_string();
    assert!(error.contains("1 sequences given to a state of 2"), "{error}");
    let error = model.forward(Batch::new(&[1, 101], 2).unwrap(), &mut state, Want::Last).unwrap_err().to_string();
    assert!(error.contains("token id 101 is past the vocabulary of 101"), "{error}");
    assert!(Batch::new(&[1, 2, 3], 2).is_err() && Batch::one(&[]).is_err());
    let bad = ksearch_mamba::Arch::Mamba2 { heads: 4, head_dim: 24, groups: 1, dt_limit: [0.0, 1.0] };
    let mut config = odd(bad);
    config.d_inner = 96;
    let error = CpuModel::load(&config, &RandomWeights::new(&config, 1), Options::default()).err().unwrap();
    assert!(error.to_string().contains("head_dim 24 must be a multiple"), "{error}");
}
