//! What probably bounds a kernel on each of the two chips, from its static cost. Must not claim certainty: it is an
//! estimate from counting, and says when counting cannot tell.

use ksearch_task::Bottleneck;

use super::chips::ChipSide;
use super::cost::{Intensity, Profile};
use super::{Confidence, Guess};

/// Within this factor of a chip's balance the count cannot tell.
const TOO_CLOSE: f64 = 2.0;
/// Operations per barrier and thread below which barriers weigh (a barrier costs some tens of cycles with its skew).
const WORK_PER_BARRIER: f64 = 24.0;

/// Fewer barriers than this are not weighed at all.
const MANY_BARRIERS: f64 = 4.0;

/// What a trace says about waiting on other blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waits {
    /// Blocks wait for one another.
    pub on_blocks: bool,
}

/// The guess for one chip.
pub fn guess(profile: &Profile, waits: Waits, chip: &ChipSide) -> Guess {
    let say = |class: Option<Bottleneck>, confidence: Confidence, why: String| Guess {
        chip: chip.name.clone(),
        class,
        confidence,
        why,
    };
    if waits.on_blocks {
        let why = "blocks wait for one another through global memory".to_owned();
        return say(Some(Bottleneck::Synchronization), Confidence::Medium, why);
    }
    if profile.escapes {
        let why =
            "functions that are not in this file get pointers to global memory, and what they move is not counted";
        return say(None, Confidence::Low, why.to_owned());
    }
    let top = profile.dominant();
    let work = top.flops + top.global / 4.0 + top.shared / 4.0;
    if top.barriers >= MANY_BARRIERS && work / top.barriers < WORK_PER_BARRIER {
        let why =
            format!("{} barriers stand against about {work:.0} operations and accesses of a thread", top.barriers);
        return say(Some(Bottleneck::Synchronization), Confidence::Low, why);
    }
    if top.atomics > 0.0 && top.flops <= top.atomics {
        let why = "its innermost loop is atomics and loads; which of them bounds it depends on how often they collide";
        return say(None, Confidence::Low, why.to_owned());
    }
    let matrix = matches!(profile.intensity(), Some(Intensity::Matrix));
    let balance = chip.balance(matrix);
    match profile.intensity() {
        None => say(None, Confidence::Low, "no access to global memory was found to count".into()),
        Some(Intensity::Ratio(r)) => {
            let counted = if r == 0.0 { "almost no arithmetic".to_owned() } else { format!("about {r:.2} operations") };
            let why = format!(
                "{counted} per byte of global memory as written (caches left out), {} balances at {balance:.0}",
                chip.name
            );
            if r * TOO_CLOSE < balance {
                // Where no arithmetic was recognised some may have been missed.
                let confidence = if r > 0.0 && r * 8.0 < balance { Confidence::High } else { Confidence::Medium };
                say(Some(Bottleneck::Bandwidth), confidence, why)
            } else if r > balance * TOO_CLOSE {
                say(Some(Bottleneck::Compute), Confidence::Medium, why)
            } else {
                say(None, Confidence::Low, format!("{why}: too close to tell"))
            }
        }
        Some(Intensity::Grows) => {
            // On-chip work: shared memory, arithmetic or the latency of either.
            let per_flop = if top.flops > 0.0 { top.shared / top.flops } else { 0.0 };
            let why = if per_flop >= 2.0 {
                format!(
                    "arithmetic stands in deeper loops than global memory, and each operation reads about {per_flop:.0} bytes of \
                     shared memory: on-chip traffic or arithmetic, not main memory"
                )
            } else {
                "arithmetic stands in deeper loops than global memory, and grows with their length".to_owned()
            };
            say(Some(Bottleneck::Compute), Confidence::Medium, why)
        }
        Some(Intensity::Matrix) => {
            let why = format!(
                "matrix instructions and global loads share their loops; {} balances at {balance:.0} operations a byte",
                chip.name
            );
            say(None, Confidence::Low, why)
        }
    }
}
