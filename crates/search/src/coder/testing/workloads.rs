//! Small random workloads of the tasks that are written in several languages. Must not know how kernels are written.

use super::Choices;

/// Values of symbols and parameters, as text.
pub type Values = Vec<(&'static str, String)>;

/// Small workloads of the convolution.
pub fn conv1d_silu(choices: &mut Choices) -> Values {
    vec![
        ("batch", choices.number(1..=3).to_string()),
        ("L", choices.pick(&[1, 2, 5, 33, 64]).to_string()),
        ("dim", choices.pick(&[1, 4, 7, 36, 64, 130]).to_string()),
        ("K", choices.pick(&[2, 3, 4]).to_string()),
        ("T", choices.pick(&["f16", "f32", "bf16"]).to_string()),
        ("silu", choices.number(0..=1).to_string()),
        ("has_bias", choices.number(0..=1).to_string()),
        ("has_initial_state", choices.number(0..=1).to_string()),
        ("has_final_state", choices.number(0..=1).to_string()),
    ]
}

/// Small workloads of the gated RMS norm.
pub fn gated_rms_norm(choices: &mut Choices) -> Values {
    vec![
        ("R", choices.number(1..=20).to_string()),
        ("C", choices.pick(&[1, 4, 7, 31, 32, 130, 516, 1001]).to_string()),
        ("T", choices.pick(&["f16", "f32", "bf16"]).to_string()),
        ("eps", choices.pick(&["1e-5", "0.3"]).to_string()),
        ("has_z", choices.number(0..=1).to_string()),
    ]
}

/// Small workloads of one step of the scan.
pub fn scan_step(choices: &mut Choices) -> Values {
    vec![
        ("batch", choices.number(1..=5).to_string()),
        ("dim", choices.pick(&[1, 3, 31, 64, 77]).to_string()),
        ("states", choices.pick(&[1, 4, 5, 16, 33, 64]).to_string()),
        ("T", choices.pick(&["f16", "f32", "bf16"]).to_string()),
        ("dt_softplus", choices.number(0..=1).to_string()),
        ("has_D", choices.number(0..=1).to_string()),
        ("has_z", choices.number(0..=1).to_string()),
        ("has_dt_bias", choices.number(0..=1).to_string()),
    ]
}

/// Small workloads of Mamba-2's scan.
pub fn ssd(choices: &mut Choices) -> Values {
    let groups = choices.number(1..=2);
    vec![
        ("batch", choices.number(1..=2).to_string()),
        ("L", choices.pick(&[1, 5, 32, 45]).to_string()),
        ("groups", groups.to_string()),
        ("heads", (groups * choices.number(1..=2)).to_string()),
        ("P", choices.pick(&[1, 7, 16, 24, 33]).to_string()),
        ("states", choices.pick(&[1, 4, 10, 16, 64]).to_string()),
        ("T", choices.pick(&["f16", "f32", "bf16"]).to_string()),
        ("dt_softplus", choices.number(0..=1).to_string()),
        ("has_D", choices.number(0..=1).to_string()),
        ("has_dt_bias", choices.number(0..=1).to_string()),
        ("has_initial_state", choices.number(0..=1).to_string()),
        ("has_final_state", choices.number(0..=1).to_string()),
    ]
}
