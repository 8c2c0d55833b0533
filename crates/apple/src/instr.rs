//! Cost of each instruction class on a chip: which pipe, how many cycles. Knows no kernel.

use ksearch_simt::InstrClass as C;

use crate::chip::Chip;

/// Cost of one simdgroup instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// Cycles it occupies one scheduler's floating-point side.
    pub fp: f64,
    /// Of those, the ones of instructions that run there.
    pub plain: f64,
    /// Instructions of the integer-and-complex pipe.
    pub complex: f64,
    /// Cycles it occupies the integer-and-complex pipe.
    pub ic: f64,
    /// Cycles until a dependent instruction can start.
    pub latency: f64,
}

/// Where a class's cost comes from: entries of the chip's instruction table, summed.
fn entries(class: C) -> &'static [&'static str] {
    match class {
        C::Fp32 => &["ffma32"],
        C::Fp16 => &["ffma16"],
        C::CompareSelect => &["fcmpsel32"],
        C::IntAdd => &["iadd32"],
        C::Bitwise => &["bitwise32"],
        C::IntMul => &["imad32"],
        C::Shift => &["bitextract32"],
        C::Int64 => &["iadd64"],
        // A 32-bit division is a sequence: two conversions, a reciprocal, two multiply-high corrections.
        C::IntDiv => &["cvt_f_i32", "rcp32", "cvt_f_i32", "imulhi32", "imul32", "iadd32", "icmpsel32"],
        C::Convert => &["cvt_f_i32"],
        C::Rcp => &["rcp32"],
        C::Sqrt => &["rsqrt32"],
        C::Exp2 => &["exp2_32"],
        C::SinCos => &["sin32"],
        // Built on one complex operation and a polynomial (tanh, pow, atan …).
        C::Special => &["exp2_32", "rcp32", "ffma32", "ffma32", "ffma32", "ffma32", "ffma32", "ffma32"],
        C::Move => &["mov_imm"],
        C::Shuffle => &["simd_shuffle32"],
        C::ShuffleRandom => &["simd_shuffle_random32"],
        C::SimdReduce => &["simd_sum_f32"],
        C::Vote => &["simd_ballot"],
        C::Mma32 => &["simdgroup_mma_8x8_f32"],
        C::Mma16 => &["simdgroup_mma_8x8_f16"],
        // Memory instructions issue in one slot; what they move is priced apart.
        C::LoadDevice
        | C::StoreDevice
        | C::LoadThreadgroup
        | C::StoreThreadgroup
        | C::Private
        | C::AtomicDevice
        | C::AtomicThreadgroup
        | C::Branch
        | C::Barrier
        | C::SimdBarrier => &["mov_imm"],
    }
}

/// Cost of `class` on `chip`.
pub fn cost(chip: &Chip, class: C) -> Cost {
    chip.costs.get(class as usize).copied().unwrap_or_default()
}

/// Costs of all classes from the chip's instruction table.
pub(crate) fn costs(chip: &Chip) -> Vec<Cost> {
    ALL.iter().map(|class| price(chip, *class)).collect()
}

fn price(chip: &Chip, class: C) -> Cost {
    let mut out = Cost { fp: 0.0, plain: 0.0, complex: 0.0, ic: 0.0, latency: 0.0 };
    for name in entries(class) {
        let (tp, latency, ic) = chip.instruction(name).unwrap_or((1.0, 2.0, false));
        if ic {
            // An instruction of the integer-and-complex pipe also takes issue slots: the mixing rule
            // max(n_fp + 2 n_ic, T_ic) fits 71 measured sequences to 5% (apple-gpu notes, section 7).
            out.ic += tp;
            out.fp += 2.0;
            out.complex += 1.0;
        } else {
            out.fp += tp;
            out.plain += tp;
        }
        out.latency += latency;
    }
    match class {
        // A dependent multiply-add waits 6 cycles for its operands (metal-benchmarks, later value).
        C::Fp32 => out.latency = out.latency.max(6.0),
        C::Fp16 => {
            out.fp /= chip.fp16_ratio;
            out.plain /= chip.fp16_ratio;
            out.latency = out.latency.max(3.0);
        }
        C::Mma32 => out.latency = out.latency.max(36.0),
        C::Mma16 => out.latency = out.latency.max(34.0),
        C::LoadThreadgroup | C::AtomicThreadgroup => out.latency = chip.latency[0],
        // Loads of device memory are priced by level in the latency term.
        C::LoadDevice | C::AtomicDevice => out.latency = 0.0,
        _ => {}
    }
    out
}

/// All classes in counter order.
pub fn classes() -> impl Iterator<Item = (usize, C)> {
    ALL.into_iter().map(|c| (c as usize, c))
}

/// Every class, in the order of its index.
pub const ALL: [C; C::COUNT] = [
    C::Fp32,
    C::Fp16,
    C::CompareSelect,
    C::IntAdd,
    C::Bitwise,
    C::IntMul,
    C::Shift,
    C::Int64,
    C::IntDiv,
    C::Convert,
    C::Rcp,
    C::Sqrt,
    C::Exp2,
    C::SinCos,
    C::Special,
    C::Move,
    C::Shuffle,
    C::ShuffleRandom,
    C::SimdReduce,
    C::Vote,
    C::Mma32,
    C::Mma16,
    C::LoadDevice,
    C::StoreDevice,
    C::LoadThreadgroup,
    C::StoreThreadgroup,
    C::Private,
    C::AtomicDevice,
    C::AtomicThreadgroup,
    C::Branch,
    C::Barrier,
    C::SimdBarrier,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_classes_is_in_index_order() {
        for (i, class) in ALL.into_iter().enumerate() {
            assert_eq!(class as usize, i, "{class:?}");
        }
    }

    #[test]
    fn measured_mixtures_cost_what_was_measured() {
        let chip = crate::Chips::embedded().and_then(|c| c.get("m1-max")).unwrap();
        // exp2 runs at 32 lanes per cycle and core, that is 4 cycles per simdgroup and scheduler.
        let exp2 = cost(&chip, C::Exp2);
        assert!((exp2.fp.max(exp2.ic) - 4.0).abs() < 0.1);
        // A random shuffle is about fourteen times a static one.
        assert!(cost(&chip, C::ShuffleRandom).fp / cost(&chip, C::Shuffle).fp > 13.0);
    }
}
