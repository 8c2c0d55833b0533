//! The strategies for the selective scan: what each is, when it applies, what it is expected to do. Expected effects are
//! rough multipliers from published scans (Mamba's CUDA kernel, MLX ports) and the chip tables; the search corrects them
//! by what it measures. Must not know how a strategy is written down.

use super::super::{effect, entry};
use crate::facts::Facts;
use crate::strategy::{Catalogue, Strategy};

pub(super) const EXP2: &str = "exp2";
pub(super) const STATE_REGISTERS: &str = "state-registers";
pub(super) const VECTOR_STEPS: &str = "vector-steps";
pub(super) const LANES_STATES: &str = "lanes-over-states";
pub(super) const FUSED_STEPS: &str = "fused-steps";
pub(super) const CHUNKED_SCAN: &str = "chunked-scan";
pub(super) const SHARE_INPUTS: &str = "share-inputs";
pub(super) const SPLIT_STATES: &str = "split-states";

fn long_sequences(facts: &Facts) -> Result<(), String> {
    match facts.largest("L") {
        Some(length) if length < 64 => Err(format!("the longest sequence has {length} steps, too few to share out")),
        _ => Ok(()),
    }
}

fn several_states(facts: &Facts) -> Result<(), String> {
    match facts.largest("states") {
        Some(states) if states < 4 => Err(format!("there are only {states} states per channel")),
        _ => Ok(()),
    }
}

pub(super) fn catalogue() -> Catalogue {
    Catalogue::new(vec![
        Strategy {
            effect: effect(1.0, 0.95, 0.95, 1.0),
            ..entry(
                EXP2,
                "Base-2 exponential, factor folded into the rates",
                "The hardware computes powers of two; multiplying the decay rates by log2(e) beforehand saves a \
                 multiplication per state and step.",
            )
        },
        Strategy {
            effect: effect(0.9, 0.8, 0.85, 1.0),
            ..entry(
                STATE_REGISTERS,
                "States and rates in registers",
                "The state and the decay rates of a channel are used at every step; unrolled over the states they stay in \
                 registers and their chains are independent.",
            )
        },
        Strategy {
            effect: effect(0.4, 0.5, 0.9, 1.0),
            ..entry(
                VECTOR_STEPS,
                "Four time steps per load",
                "Every sequence is contiguous in time, so one instruction can move four steps and use the whole of a cache \
                 line.",
            )
        },
        Strategy {
            requires: &[STATE_REGISTERS],
            conflicts: &[CHUNKED_SCAN],
            tunables: &["STATE_LANES"],
            difficulty: 3,
            effect: effect(0.8, 0.25, 1.1, 1.0),
            applies: several_states,
            ..entry(
                LANES_STATES,
                "Lanes over states",
                "The states of a channel are independent; a lane for each gives sixteen times the parallelism at the price \
                 of a shuffle reduction per step.",
            )
        },
        Strategy {
            requires: &[LANES_STATES],
            difficulty: 2,
            effect: effect(0.7, 0.8, 0.7, 1.0),
            ..entry(
                FUSED_STEPS,
                "Softplus, skip and gate once per step",
                "A team's lanes would all compute the same softplus and gate; each prepares and finishes a different step \
                 instead and hands it round by shuffles.",
            )
        },
        Strategy {
            requires: &[STATE_REGISTERS],
            conflicts: &[LANES_STATES],
            tunables: &["CHUNK"],
            difficulty: 4,
            effect: effect(0.3, 0.1, 1.2, 1.0),
            applies: long_sequences,
            ..entry(
                CHUNKED_SCAN,
                "Chunked parallel scan over time",
                "Steps compose associatively as pairs (decay, input): lanes take chunks of time, a simdgroup scans over them \
                 and each lane replays its chunk. Time becomes parallel, and loads coalesce along it.",
            )
        },
        Strategy {
            requires: &[CHUNKED_SCAN],
            tunables: &["CHANNELS"],
            difficulty: 2,
            effect: effect(0.6, 1.1, 0.95, 1.0),
            ..entry(
                SHARE_INPUTS,
                "Several channels share B and C",
                "The channels of a group read the same B and C; a simdgroup that takes several channels loads them once, and \
                 the channels' scans overlap.",
            )
        },
        Strategy {
            requires: &[CHUNKED_SCAN],
            tunables: &["SIMDGROUPS"],
            difficulty: 3,
            effect: effect(0.9, 0.5, 1.05, 1.3),
            applies: several_states,
            ..entry(
                SPLIT_STATES,
                "Split the states over simdgroups",
                "Several simdgroups take a share of the states of one channel and add their outputs in threadgroup memory, \
                 so that few channels still fill the chip.",
            )
        },
    ])
}
