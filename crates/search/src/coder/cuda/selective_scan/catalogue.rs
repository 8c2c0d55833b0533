//! The strategies for the selective scan on NVIDIA GPUs: what each is, when it applies, what it is expected to do.
//! Must not know how a strategy is written down.

use crate::facts::Facts;
use crate::strategy::{Catalogue, Effect, Strategy};

pub(super) const EXP2: &str = "exp2";
pub(super) const STATE_REGISTERS: &str = "state-registers";
pub(super) const CHUNKED_SCAN: &str = "chunked-scan";
pub(super) const WARP_RELAY: &str = "warp-relay";
pub(super) const SHARE_INPUTS: &str = "share-inputs";
pub(super) const UNROLL_STATES: &str = "unroll-states";
pub(super) const POLYNOMIAL: &str = "polynomial-exp";

const fn effect(bandwidth: f64, latency: f64, compute: f64, synchronization: f64) -> Effect {
    Effect { bandwidth, latency, compute, synchronization }
}

#[allow(clippy::unnecessary_wraps)]
fn always(_: &Facts) -> Result<(), String> {
    Ok(())
}

fn long_sequences(facts: &Facts) -> Result<(), String> {
    match facts.largest("L") {
        Some(length) if length < 128 => Err(format!("the longest sequence has {length} steps, too few to share out")),
        _ => Ok(()),
    }
}

pub(super) fn catalogue() -> Catalogue {
    let entry = |id, title, why| Strategy {
        id,
        title,
        why,
        requires: &[],
        conflicts: &[],
        tunables: &[],
        difficulty: 1,
        effect: Effect::NONE,
        applies: always,
    };
    Catalogue::new(vec![
        Strategy {
            effect: effect(1.0, 0.7, 0.6, 1.0),
            ..entry(
                EXP2,
                "Base-2 exponential of the special-function unit",
                "The unit computes powers of two in one instruction; log2(e) goes into the decay rates.",
            )
        },
        Strategy {
            effect: effect(0.9, 0.7, 0.85, 1.0),
            ..entry(
                STATE_REGISTERS,
                "States and rates in registers",
                "Unrolled over the states, their chains are independent and nothing goes to local memory.",
            )
        },
        Strategy {
            requires: &[EXP2, STATE_REGISTERS],
            tunables: &["STEPS", "WARPS", "RESIDENT", "PART"],
            difficulty: 4,
            effect: effect(0.3, 0.05, 0.3, 1.0),
            applies: long_sequences,
            ..entry(
                CHUNKED_SCAN,
                "Chunked parallel scan over time",
                "Steps compose associatively as pairs (decay, state): the lanes of a warp take chunks of time, scan over \
                 them by shuffles and replay. B and C pass through shared memory for all channels of a block, copied \
                 asynchronously a few states ahead.",
            )
        },
        Strategy {
            requires: &[EXP2, STATE_REGISTERS],
            conflicts: &[CHUNKED_SCAN],
            tunables: &["STEPS", "WARPS"],
            difficulty: 5,
            effect: effect(0.3, 0.04, 0.25, 1.0),
            applies: long_sequences,
            ..entry(
                WARP_RELAY,
                "Relay of warps over time",
                "Warps take consecutive steps of the same channels and walk through the states one behind the other, \
                 handing each state on through shared memory: time is parallel, no step is computed twice and nothing \
                 is scanned over lanes.",
            )
        },
        Strategy {
            requires: &[CHUNKED_SCAN],
            tunables: &["CHANNELS"],
            difficulty: 2,
            effect: effect(0.8, 0.9, 0.95, 1.0),
            ..entry(
                SHARE_INPUTS,
                "Several channels per warp",
                "A warp that works on several channels loads B and C once for all, and their scans overlap.",
            )
        },
        Strategy {
            requires: &[EXP2, STATE_REGISTERS],
            difficulty: 1,
            effect: effect(1.0, 0.95, 1.0, 1.0),
            ..entry(
                UNROLL_STATES,
                "Two states at a time",
                "The exponentials of one state fill the waits in the scan of the other.",
            )
        },
        Strategy {
            requires: &[EXP2, STATE_REGISTERS],
            tunables: &["POLYNOMIAL"],
            difficulty: 2,
            effect: effect(1.0, 1.0, 0.93, 1.0),
            ..entry(
                POLYNOMIAL,
                "A share of the exponentials by polynomial",
                "The special-function unit has an eighth of the rate of the ordinary pipes; a few of the exponentials are \
                 cheaper there.",
            )
        },
    ])
}
