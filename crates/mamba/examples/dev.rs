//! Measures and verifies from a source tree: `cargo run --release -p ksearch-mamba --example dev -- bench mamba-370m ...`.
#![allow(clippy::print_stdout, clippy::unwrap_used, missing_docs)]

use std::path::Path;

use ksearch_mamba::bench::{Case, Contestant, Own};
use ksearch_mamba::cpu::{CpuModel, Options};
use ksearch_mamba::cuda::CudaModel;
use ksearch_mamba::peer::{Launch, Peer};
use ksearch_mamba::random::{RandomWeights, tokens};
use ksearch_mamba::weights::WeightType;
use ksearch_mamba::{Config, Engine, bench, checkpoint, verify};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (config, layers) = (Config::preset(&args[1]).unwrap(), args[2].parse().unwrap());
    let mut config = config.with_layers(layers);
    let python = std::env::var("PEERS_PYTHON").unwrap_or_default();
    let dir = tempfile::tempdir().unwrap();
    match args[0].as_str() {
        "bench" => {
            let lengths: Vec<usize> = args[3].split(',').map(|s| s.parse().unwrap()).collect();
            let rounds = args[4].parse().unwrap();
            let random = RandomWeights::new(&config, 1);
            let mut all: Vec<Box<dyn Contestant>> = Vec::new();
            for (kind, chunk) in args[5].split(',').map(|k| (k.parse().unwrap(), 768)) {
                let engine =
                    CpuModel::load(&config, &random, Options { weights: kind, chunk, ..Options::default() }).unwrap();
                println!("{} {} MiB limits {:?}", engine.name(), engine.weight_bytes() >> 20, engine.limits());
                all.push(Box::new(Own { label: kind.name().into(), engine }));
            }
            if let Some(peers) = args.get(6) {
                checkpoint::export(&config, &random, dir.path()).unwrap();
                for p in peers.split(',') {
                    match Peer::start(&Launch::new(p, Path::new(&python)), dir.path()).unwrap() {
                        Ok(p) => all.push(Box::new(p)),
                        Err(e) => println!("{p}: {e}"),
                    }
                }
            }
            let mut cases: Vec<Case> = lengths.iter().map(|&n| Case::Prefill(n)).collect();
            cases.push(Case::Decode(32));
            let prompt = tokens(config.vocab, *lengths.iter().max().unwrap(), 5);
            for s in bench::run(&mut all, &cases, rounds, &prompt, |_| ()).unwrap() {
                println!("{:14} {:14} {:.1?} {:?}", s.case.label(), s.label, s.rate(), &s.ids[..s.ids.len().min(6)]);
            }
        }
        "verify" => {
            config.tied = args.get(3).is_none_or(|a| a != "untied");
            let random = RandomWeights::new(&config, 1);
            checkpoint::export(&config, &random, dir.path()).unwrap();
            let mut ours = CpuModel::load(&config, &random, Options::default()).unwrap();
            let mut peer = Peer::start(&Launch::new("transformers", Path::new(&python)), dir.path()).unwrap().unwrap();
            for length in [1, 7, 64, 513, 4096] {
                let ids = tokens(config.vocab, length, 3);
                let a = verify::logits_of(&mut ours, &ids).unwrap();
                let b = peer.logits(std::slice::from_ref(&ids), dir.path()).unwrap();
                let scale = b.as_slice().iter().fold(0f32, |m, v| m.max(v.abs()));
                println!("L={length} diff {:e} scale {scale}", verify::max_difference(a.as_slice(), b.as_slice()));
                drop((a, b));
                println!(
                    "{:?}",
                    verify::parts_against_whole(&mut ours, &ids, &[length / 3, 1, 5, length / 4]).unwrap()
                );
            }
            let prompt = tokens(config.vocab, 16, 9);
            let (a, b) = (verify::greedy(&mut ours, &prompt, 64).unwrap(), peer.decode(&prompt, 64).unwrap().1);
            println!("{:?}\n{a:?}\n{b:?}", verify::tokens("greedy", &a, &b));
        }
        "cuda-verify" => cuda_verify(&config),
        "cuda-bench" => cuda_bench(&config, args[3].parse().unwrap()),
        "export" => checkpoint::export(&config, &RandomWeights::new(&config, 1), Path::new(&args[3])).unwrap(),
        _ => panic!("export | bench | verify"),
    }
}

fn cuda_verify(config: &Config) {
    let random = RandomWeights::new(config, 1);
    let mut cpu = CpuModel::load(config, &random, Options::default()).unwrap();
    let prompt = tokens(config.vocab, 16, 9);
    let reference = verify::greedy(&mut cpu, &prompt, 64).unwrap();
    for kind in [WeightType::F32, WeightType::F16, WeightType::Bf16] {
        let mut gpu = CudaModel::load(config, &random, kind).unwrap();
        println!("{}", gpu.name());
        for length in [1, 7, 64, 65, 513, 1024] {
            let ids = tokens(config.vocab, length, 3);
            let a = verify::logits_of(&mut gpu, &ids).unwrap();
            let b = verify::logits_of(&mut cpu, &ids).unwrap();
            println!("L={length} difference from cpu f32 {:e}", verify::max_difference(a.as_slice(), b.as_slice()));
            println!(
                "{:?}",
                verify::parts_against_whole(&mut gpu, &ids, &[length / 3, 1, 5, 1, 1, length / 4]).unwrap()
            );
        }
        let sequences: Vec<Vec<u32>> = (0..3).map(|i| tokens(config.vocab, 100, i)).collect();
        println!("{:?}", verify::batch_against_single(&mut gpu, &sequences).unwrap());
        println!(
            "{:?}",
            verify::tokens("greedy through the host", &verify::greedy(&mut gpu, &prompt, 64).unwrap(), &reference)
        );
        let mut state = gpu.start(1).unwrap();
        let first =
            gpu.forward(ksearch_mamba::Batch::one(&prompt).unwrap(), &mut state, ksearch_mamba::Want::Last).unwrap();
        let first = ksearch_mamba::generate::argmax(first.row(0)).unwrap();
        let mut ids = vec![first];
        ids.extend(gpu.greedy(first, 63, &mut state).unwrap());
        println!("{:?}", verify::tokens("greedy on the GPU", &ids, &reference));
    }
}

fn cuda_bench(config: &Config, kind: WeightType) {
    let random = RandomWeights::new(config, 1);
    let mut gpu = CudaModel::load(config, &random, kind).unwrap();
    println!("{} {} MiB", gpu.name(), gpu.weight_bytes() >> 20);
    let ids = tokens(config.vocab, 8192, 5);
    for length in [512, 1024, 2048, 4096, 8192] {
        let mut rates: Vec<f64> = Vec::new();
        for round in 0..12 {
            let mut state = gpu.start(1).unwrap();
            let start = std::time::Instant::now();
            let batch = ksearch_mamba::Batch::one(&ids[..length]).unwrap();
            gpu.forward(batch, &mut state, ksearch_mamba::Want::Last).unwrap();
            if round > 1 {
                rates.push(length as f64 / start.elapsed().as_secs_f64());
            }
        }
        println!("prefill {length}: {:.0} tok/s median of {rates:.0?}", bench::median(&rates));
    }
    for early in [true, false] {
        gpu.set_early(early);
        let mut state = gpu.start(1).unwrap();
        gpu.greedy(5, 16, &mut state).unwrap();
        let mut rates: Vec<f64> = Vec::new();
        for _ in 0..7 {
            let start = std::time::Instant::now();
            gpu.greedy(5, 256, &mut state).unwrap();
            rates.push(256.0 / start.elapsed().as_secs_f64());
        }
        println!("decode on the GPU, early {early}: {:.0} tok/s median of {rates:.0?}", bench::median(&rates));
    }
    let mut own = Own { label: "cuda".into(), engine: gpu };
    for _ in 0..3 {
        let (seconds, _) = own.decode(&ids[..16], 256).unwrap();
        println!("decode through the host: {:.0} tok/s", 256.0 / seconds);
    }
}
