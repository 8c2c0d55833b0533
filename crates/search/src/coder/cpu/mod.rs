//! Kernels for processors: C++ with the compiler's vector types. Must not know what is measured.

pub(super) mod attention;
pub(super) mod conv1d_silu;
pub(super) mod gated_rms_norm;
pub(super) mod scan_step;
pub(super) mod selective_scan;
pub(super) mod ssd;

/// The template of vectors, which every kernel may include.
const VECTORS: (&str, &str) = ("vectors", include_str!("vectors.cpp.j2"));

/// Shares rows or blocks out to threads.
const THREADS: &str = "threads";
/// Powers of two by a polynomial.
const EXP2: &str = "exp2-polynomial";

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::coder::testing;

    /// Workers are this very program: the target starts it with this test alone, and it never returns then.
    #[test]
    fn cpu_worker() {
        ksearch_device::cpu::worker::serve_if_asked();
    }

    #[test]
    fn the_naive_kernels_are_right() {
        testing::naive_is_right(&attention::Attention::new());
        testing::naive_is_right(&selective_scan::SelectiveScan::new());
        for family in families() {
            testing::naive_is_right(&family);
        }
    }

    fn families() -> [crate::coder::family::Family; 4] {
        [conv1d_silu::family(), gated_rms_norm::family(), scan_step::family(), ssd::family()]
    }

    #[test]
    fn every_strategy_of_the_small_families_resolves_on_every_workload() {
        for family in families() {
            testing::every_strategy_resolves(&family);
        }
    }

    #[test]
    fn random_plans_of_the_convolution_are_right() {
        testing::random_plans_are_right(&conv1d_silu::family(), 14, testing::workloads::conv1d_silu);
    }

    #[test]
    fn random_plans_of_the_gated_norm_are_right() {
        testing::random_plans_are_right(&gated_rms_norm::family(), 14, testing::workloads::gated_rms_norm);
    }

    #[test]
    fn random_plans_of_the_step_are_right() {
        testing::random_plans_are_right(&scan_step::family(), 14, testing::workloads::scan_step);
    }

    #[test]
    fn random_plans_of_ssd_are_right() {
        testing::random_plans_are_right(&ssd::family(), 14, testing::workloads::ssd);
    }

    #[test]
    fn random_attention_plans_are_right_on_random_workloads() {
        testing::random_plans_are_right(&attention::Attention::new(), 14, |choices| {
            let (causal, queries, shared) = (choices.number(0..=1), choices.number(1..=150), choices.number(1..=2));
            let extra = if causal == 1 { choices.number(0..=90) } else { choices.number(1..=300) - queries };
            vec![
                ("B", choices.number(1..=2).to_string()),
                ("Hq", (2 * shared).to_string()),
                ("Hkv", choices.pick(&[2, 2 * shared]).to_string()),
                ("Lq", queries.to_string()),
                ("Lk", (queries + extra).to_string()),
                ("D", choices.pick(&[64, 80, 128]).to_string()),
                ("T", choices.pick(&["f16", "f32"]).to_string()),
                ("causal", causal.to_string()),
            ]
        });
    }

    #[test]
    fn random_scan_plans_are_right_on_random_workloads() {
        testing::random_plans_are_right(&selective_scan::SelectiveScan::new(), 14, |choices| {
            let groups = choices.number(1..=2);
            vec![
                ("batch", choices.number(1..=2).to_string()),
                ("groups", groups.to_string()),
                ("dim", (groups * choices.number(1..=40)).to_string()),
                ("states", choices.pick(&[1, 3, 5, 16, 33]).to_string()),
                ("L", choices.pick(&[1, 4, 31, 64, 100, 131, 260, 513]).to_string()),
                ("T", choices.pick(&["f16", "f32"]).to_string()),
                ("delta_softplus", choices.number(0..=1).to_string()),
                ("has_D", choices.number(0..=1).to_string()),
                ("has_z", choices.number(0..=1).to_string()),
                ("has_delta_bias", choices.number(0..=1).to_string()),
                ("has_initial_state", choices.number(0..=1).to_string()),
                ("has_final_state", choices.number(0..=1).to_string()),
            ]
        });
    }
}
