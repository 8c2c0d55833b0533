//! The strategies for attention: what each is, when it applies, what it is expected to do. Expected effects are rough
//! multipliers from published kernels (`FlashAttention`, MLX, metal-flash-attention) and the chip tables; the search
//! corrects them by what it measures. Must not know how a strategy is written down.

use ksearch_task::DType;

use super::super::{effect, entry};
use crate::facts::Facts;
use crate::strategy::{Catalogue, Strategy};

pub(super) const ONLINE_SOFTMAX: &str = "online-softmax";
pub(super) const EXP2: &str = "exp2";
pub(super) const VECTOR_LOADS: &str = "vector-loads";
pub(super) const QUERY_REGISTERS: &str = "query-registers";
pub(super) const SIMD_ROWS: &str = "simd-rows";
pub(super) const ROW_BLOCKING: &str = "row-blocking";
pub(super) const KEY_BLOCKING: &str = "key-blocking";
pub(super) const TILE_KV: &str = "tile-kv";
pub(super) const DOUBLE_BUFFER: &str = "double-buffer";
pub(super) const HALF_STORAGE: &str = "half-storage";
pub(super) const CAUSAL_SKIP: &str = "causal-skip";
pub(super) const SPLIT_KEYS: &str = "split-keys";
pub(super) const MATRIX: &str = "simdgroup-matrix";
pub(super) const PAD_TILES: &str = "pad-tiles";
pub(super) const TRANSPOSE_K: &str = "transpose-k";
pub(super) const EDGE_MASKS: &str = "edge-masks";

fn has_half(facts: &Facts) -> Result<(), String> {
    if facts.dtypes.iter().any(|d| matches!(d, DType::F16 | DType::BF16)) {
        return Ok(());
    }
    Err("no workload has 16-bit elements".into())
}

fn has_causal(facts: &Facts) -> Result<(), String> {
    if facts.largest("causal") == Some(1) { Ok(()) } else { Err("no workload is causal".into()) }
}

fn has_matrix(facts: &Facts) -> Result<(), String> {
    if facts.chip.simdgroup_matrix {
        return Ok(());
    }
    Err(format!("{} has no 8x8 simdgroup matrices", facts.chip.name))
}

fn few_groups(facts: &Facts) -> Result<(), String> {
    let rows = ["B", "Hq", "Lq"].iter().filter_map(|s| facts.smallest(s)).product::<i64>();
    let enough = i64::from(facts.chip.cores) * 4 * 32;
    if rows <= enough {
        return Ok(());
    }
    Err(format!("even the smallest workload has {rows} query rows, enough for all {} cores", facts.chip.cores))
}

pub(super) fn catalogue() -> Catalogue {
    Catalogue::new(vec![
        Strategy {
            difficulty: 2,
            effect: effect(0.7, 0.7, 0.7, 1.0),
            ..entry(
                ONLINE_SOFTMAX,
                "One pass with a running maximum",
                "Keeps the sum and the weighted values relative to the largest logit so far and rescales them when it \
                 grows, so that keys are read once and logits computed once.",
            )
        },
        Strategy {
            effect: effect(1.0, 0.97, 0.95, 1.0),
            ..entry(
                EXP2,
                "Base-2 exponential, scale folded in",
                "The hardware computes powers of two; multiplying the scale by log2(e) beforehand saves a multiplication \
                 per exponential.",
            )
        },
        Strategy {
            effect: effect(0.7, 0.6, 0.75, 1.0),
            ..entry(
                VECTOR_LOADS,
                "Four elements per load",
                "Rows are contiguous along the head dimension, so one instruction can move four elements, with a quarter \
                 of the address arithmetic and independent multiply-add chains.",
            )
        },
        Strategy {
            effect: effect(0.7, 0.7, 0.85, 1.0),
            ..entry(
                QUERY_REGISTERS,
                "Query in registers",
                "A query row is used for every key; holding it in registers halves the loads of the first product.",
            )
        },
        Strategy {
            requires: &[ONLINE_SOFTMAX],
            conflicts: &[MATRIX],
            tunables: &["TEAM", "SIMDGROUPS"],
            difficulty: 3,
            effect: effect(0.8, 0.4, 0.95, 1.0),
            ..entry(
                SIMD_ROWS,
                "Several rows per simdgroup, a team of lanes each",
                "A team of lanes shares a query row and sums its logits by a shuffle butterfly: fewer registers per lane, \
                 more rows in flight, coalesced loads.",
            )
        },
        Strategy {
            requires: &[ONLINE_SOFTMAX],
            tunables: &["ROWS"],
            difficulty: 2,
            effect: effect(0.6, 0.9, 0.8, 0.9),
            ..entry(
                ROW_BLOCKING,
                "Several query rows reuse each key",
                "A key or value fetched once serves several query rows held in registers, which divides the traffic of \
                 every memory level by their number.",
            )
        },
        Strategy {
            requires: &[ONLINE_SOFTMAX],
            conflicts: &[MATRIX],
            tunables: &["KEYS"],
            difficulty: 2,
            effect: effect(1.0, 0.6, 0.8, 1.0),
            ..entry(
                KEY_BLOCKING,
                "Several keys per step",
                "Logits of several keys are independent chains, and the accumulators are rescaled once per step instead of \
                 once per key.",
            )
        },
        Strategy {
            requires: &[ONLINE_SOFTMAX],
            tunables: &["KEYS_PER_TILE", "SIMDGROUPS"],
            difficulty: 3,
            effect: effect(0.6, 0.7, 1.0, 1.2),
            ..entry(
                TILE_KV,
                "Tiles of K and V in threadgroup memory",
                "All rows of a threadgroup use the same keys and values; staging a tile once replaces their separate loads \
                 from device memory.",
            )
        },
        Strategy {
            requires: &[TILE_KV],
            difficulty: 2,
            effect: effect(0.95, 0.8, 1.0, 0.7),
            ..entry(
                DOUBLE_BUFFER,
                "Two tiles in turn",
                "The next tile is fetched while the current one is used, and one barrier per tile is enough.",
            )
        },
        Strategy {
            requires: &[TILE_KV],
            effect: effect(0.6, 1.0, 0.95, 1.0),
            applies: has_half,
            ..entry(
                HALF_STORAGE,
                "Tiles in the element type, sums in float",
                "Half tiles take half the threadgroup memory and bandwidth; sums stay in float, so accuracy does not \
                 suffer.",
            )
        },
        Strategy {
            requires: &[ONLINE_SOFTMAX],
            effect: effect(0.6, 0.6, 0.6, 0.8),
            applies: has_causal,
            ..entry(
                CAUSAL_SKIP,
                "Skip blocks above the diagonal",
                "With a causal mask, keys past the last visible one contribute nothing; the loop ends there.",
            )
        },
        Strategy {
            requires: &[ONLINE_SOFTMAX],
            tunables: &["SPLITS"],
            difficulty: 4,
            effect: effect(0.8, 0.4, 0.9, 1.3),
            applies: few_groups,
            ..entry(
                SPLIT_KEYS,
                "Split the keys over threadgroups",
                "Where there are few query rows, several threadgroups share one row's keys and a second kernel joins their \
                 partial results, so that all cores have work.",
            )
        },
        Strategy {
            requires: &[ONLINE_SOFTMAX],
            conflicts: &[SIMD_ROWS, KEY_BLOCKING],
            tunables: &["KEYS_PER_TILE", "SIMDGROUPS"],
            difficulty: 5,
            effect: effect(0.4, 0.3, 0.25, 0.9),
            applies: has_matrix,
            ..entry(
                MATRIX,
                "Both products on 8x8 simdgroup matrices",
                "The matrix unit does 512 multiply-adds in about 17 cycles with one load per operand tile; logits leave it \
                 in the layout in which weights enter it.",
            )
        },
        Strategy {
            requires: &[TILE_KV, MATRIX],
            effect: effect(0.8, 0.95, 1.0, 1.0),
            ..entry(
                PAD_TILES,
                "Padded tile rows",
                "Sixteen bytes of padding per row put the rows of a tile on different banks of threadgroup memory.",
            )
        },
        Strategy {
            requires: &[TILE_KV, MATRIX],
            difficulty: 2,
            effect: effect(0.85, 0.9, 0.9, 1.0),
            ..entry(
                TRANSPOSE_K,
                "Keys transposed in threadgroup memory",
                "The first product takes keys as columns; stored transposed, a lane's two elements are neighbours and come \
                 in one load.",
            )
        },
        Strategy {
            requires: &[MATRIX],
            effect: effect(1.0, 0.97, 0.96, 1.0),
            ..entry(
                EDGE_MASKS,
                "Mask only blocks on an edge",
                "Only the last block of keys and the blocks on the diagonal hold keys to mask; all others skip the \
                 comparisons.",
            )
        },
    ])
}
