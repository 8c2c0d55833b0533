//! Sixteen f32 lanes on whatever vector unit the processor has: AVX-512, AVX2 with FMA, or plain arrays that the
//! compiler turns into NEON and the like. Must not know what is computed with them.
//!
//! A kernel is a value with a generic `run`; [`Isa::run`] calls it inside a function compiled for the chosen unit.
#![allow(unsafe_code, unsafe_op_in_unsafe_fn)]

use half::f16;

/// Lanes of one vector.
pub(crate) const LANES: usize = 16;

/// Sixteen f32 values.
///
/// # Safety
/// Every method may only run on a processor that has the type's vector unit, which [`Isa::run`] sees to. Pointers must be
/// valid for sixteen elements; no alignment is needed.
pub(crate) trait Lanes: Copy {
    /// Rows of a matrix tile that fit the registers beside two vectors of columns.
    const ROWS: usize;

    unsafe fn splat(v: f32) -> Self;
    unsafe fn load(p: *const f32) -> Self;
    unsafe fn load_f16(p: *const u16) -> Self;
    unsafe fn load_bf16(p: *const u16) -> Self;
    unsafe fn store(self, p: *mut f32);
    unsafe fn add(self, o: Self) -> Self;
    unsafe fn sub(self, o: Self) -> Self;
    unsafe fn mul(self, o: Self) -> Self;
    unsafe fn div(self, o: Self) -> Self;
    /// `self * m + a`, rounded once where the unit can.
    unsafe fn fma(self, m: Self, a: Self) -> Self;
    /// The greater; NaN in `self` stays NaN.
    unsafe fn at_least(self, o: Self) -> Self;
    /// The smaller; NaN in `self` stays NaN.
    unsafe fn at_most(self, o: Self) -> Self;
    /// Nearest whole number.
    unsafe fn round(self) -> Self;
    /// `self * 2^n` for whole `n` in -126 ..= 127.
    unsafe fn scale(self, n: Self) -> Self;
    unsafe fn sum(self) -> f32;

    /// `2^x` for `x <= 127`; at least the smallest normal number (2^-126), so that no denormal ever appears. Relative
    /// error below 2e-7: `2^r` on `|r| <= 1/2` by a polynomial whose value and slope at 0 are exact, since a decay near 1
    /// is raised to a high power by a scan (minimax fit by Lawson's method, 3.1e-9 before rounding).
    #[inline(always)]
    unsafe fn exp2(self) -> Self {
        let x = self.at_least(Self::splat(-126.0));
        let n = x.round();
        let r = x.sub(n);
        let p = r.fma(Self::splat(0.000_153_211_55), Self::splat(0.001_339_016_1));
        let p = p.fma(r, Self::splat(0.009_618_526));
        let p = p.fma(r, Self::splat(0.055_503_62));
        let p = p.fma(r, Self::splat(0.240_226_48));
        let p = p.fma(r, Self::splat(std::f32::consts::LN_2));
        p.fma(r, Self::splat(1.0)).scale(n)
    }

    /// `e^x` for any x; saturates at 2^126 and 2^-126.
    #[inline(always)]
    unsafe fn exp(self) -> Self {
        self.mul(Self::splat(std::f32::consts::LOG2_E)).at_most(Self::splat(126.0)).exp2()
    }

    /// `x / (1 + e^-x)`.
    #[inline(always)]
    unsafe fn silu(self) -> Self {
        let e = Self::splat(0.0).sub(self).exp();
        self.div(Self::splat(1.0).add(e))
    }

    /// `ln(1 + e^x)`, relative error below 1e-6 everywhere: `max(x, 0) + log1p(e^-|x|)`, with
    /// `log1p(e) = 2 atanh(e / (2 + e))` by its series, whose argument is at most 1/3.
    #[inline(always)]
    unsafe fn softplus(self) -> Self {
        let zero = Self::splat(0.0);
        let negative = zero.sub(self);
        let e = self.at_most(negative).exp();
        let s = e.div(Self::splat(2.0).add(e));
        let s2 = s.mul(s);
        let p = s2.fma(Self::splat(2.0 / 13.0), Self::splat(2.0 / 11.0));
        let p = p.fma(s2, Self::splat(2.0 / 9.0));
        let p = p.fma(s2, Self::splat(2.0 / 7.0));
        let p = p.fma(s2, Self::splat(2.0 / 5.0));
        let p = p.fma(s2, Self::splat(2.0 / 3.0));
        let p = p.fma(s2, Self::splat(2.0));
        p.fma(s, self.at_least(zero))
    }
}

/// A computation written once for all vector units.
pub(crate) trait Kernel {
    /// Runs it. Implementations are `#[inline(always)]`, so that they are compiled with the caller's features.
    ///
    /// # Safety
    /// As for [`Lanes`], and what the implementation says of its pointers.
    unsafe fn run<V: Lanes>(self);
}

/// A vector unit that this processor has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isa {
    /// AVX-512 F, BW, VL and DQ.
    #[cfg(target_arch = "x86_64")]
    Avx512,
    /// AVX2, FMA and F16C.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// What the compiler makes of plain code for the target's baseline.
    Portable,
}

impl Isa {
    /// Every unit this processor has, best first.
    // On other processors nothing comes before the last line.
    #[cfg_attr(not(target_arch = "x86_64"), allow(clippy::vec_init_then_push))]
    pub fn available() -> Vec<Self> {
        let mut out = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            let avx512 = is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512dq");
            let avx2 =
                is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") && is_x86_feature_detected!("f16c");
            if avx512 && avx2 {
                out.push(Self::Avx512);
            }
            if avx2 {
                out.push(Self::Avx2);
            }
        }
        out.push(Self::Portable);
        out
    }

    /// The best unit.
    pub fn best() -> Self {
        Self::available().into_iter().next().unwrap_or(Self::Portable)
    }

    /// Runs a kernel on this unit.
    ///
    /// # Safety
    /// `self` came from [`Isa::available`] on this processor, and the kernel's own conditions hold.
    pub(crate) unsafe fn run<K: Kernel>(self, kernel: K) {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => run_avx512(kernel),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => run_avx2(kernel),
            Self::Portable => kernel.run::<Portable>(),
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c")]
unsafe fn run_avx512<K: Kernel>(kernel: K) {
    kernel.run::<x86::Avx512>();
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn run_avx2<K: Kernel>(kernel: K) {
    kernel.run::<x86::Avx2>();
}

/// Plain arrays.
#[derive(Clone, Copy)]
pub(crate) struct Portable([f32; LANES]);

impl Portable {
    #[inline(always)]
    fn zip(self, o: Self, f: impl Fn(f32, f32) -> f32) -> Self {
        Self(std::array::from_fn(|i| f(self.0[i], o.0[i])))
    }
}

impl Lanes for Portable {
    const ROWS: usize = 3;

    #[inline(always)]
    unsafe fn splat(v: f32) -> Self {
        Self([v; LANES])
    }

    #[inline(always)]
    unsafe fn load(p: *const f32) -> Self {
        Self(p.cast::<[f32; LANES]>().read_unaligned())
    }

    #[inline(always)]
    unsafe fn load_f16(p: *const u16) -> Self {
        Self(p.cast::<[u16; LANES]>().read_unaligned().map(|b| f16::from_bits(b).to_f32()))
    }

    #[inline(always)]
    unsafe fn load_bf16(p: *const u16) -> Self {
        Self(p.cast::<[u16; LANES]>().read_unaligned().map(|b| f32::from_bits(u32::from(b) << 16)))
    }

    #[inline(always)]
    unsafe fn store(self, p: *mut f32) {
        p.cast::<[f32; LANES]>().write_unaligned(self.0);
    }

    #[inline(always)]
    unsafe fn add(self, o: Self) -> Self {
        self.zip(o, |a, b| a + b)
    }

    #[inline(always)]
    unsafe fn sub(self, o: Self) -> Self {
        self.zip(o, |a, b| a - b)
    }

    #[inline(always)]
    unsafe fn mul(self, o: Self) -> Self {
        self.zip(o, |a, b| a * b)
    }

    #[inline(always)]
    unsafe fn div(self, o: Self) -> Self {
        self.zip(o, |a, b| a / b)
    }

    #[inline(always)]
    unsafe fn fma(self, m: Self, a: Self) -> Self {
        // Without an FMA unit `mul_add` is a slow library call.
        let one = |x: f32, y: f32, z: f32| {
            if cfg!(any(target_arch = "aarch64", target_feature = "fma")) { x.mul_add(y, z) } else { x * y + z }
        };
        Self(std::array::from_fn(|i| one(self.0[i], m.0[i], a.0[i])))
    }

    #[inline(always)]
    unsafe fn at_least(self, o: Self) -> Self {
        self.zip(o, |a, b| if a < b { b } else { a })
    }

    #[inline(always)]
    unsafe fn at_most(self, o: Self) -> Self {
        self.zip(o, |a, b| if a > b { b } else { a })
    }

    #[inline(always)]
    unsafe fn round(self) -> Self {
        // 1.5 * 2^23: adding it leaves no room for a fraction. Only used for |x| < 2^22.
        Self(self.0.map(|v| (v + 12_582_912.0) - 12_582_912.0))
    }

    #[inline(always)]
    unsafe fn scale(self, n: Self) -> Self {
        self.zip(n, |a, n| a * f32::from_bits(((n as i32 + 127) as u32) << 23))
    }

    #[inline(always)]
    unsafe fn sum(self) -> f32 {
        let mut v = self.0;
        let mut width = LANES / 2;
        while width > 0 {
            for i in 0..width {
                v[i] += v[i + width];
            }
            width /= 2;
        }
        v[0]
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    #[allow(clippy::wildcard_imports)] // Fifty intrinsics.
    use std::arch::x86_64::*;

    use super::Lanes;

    /// One 512-bit register.
    #[derive(Clone, Copy)]
    pub(super) struct Avx512(__m512);

    impl Lanes for Avx512 {
        // 12 x 2 accumulators, 2 columns and a broadcast: 27 of 32 registers.
        const ROWS: usize = 12;

        #[inline(always)]
        unsafe fn splat(v: f32) -> Self {
            Self(_mm512_set1_ps(v))
        }

        #[inline(always)]
        unsafe fn load(p: *const f32) -> Self {
            Self(_mm512_loadu_ps(p))
        }

        #[inline(always)]
        unsafe fn load_f16(p: *const u16) -> Self {
            Self(_mm512_cvtph_ps(_mm256_loadu_si256(p.cast())))
        }

        #[inline(always)]
        unsafe fn load_bf16(p: *const u16) -> Self {
            let wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256(p.cast()));
            Self(_mm512_castsi512_ps(_mm512_slli_epi32::<16>(wide)))
        }

        #[inline(always)]
        unsafe fn store(self, p: *mut f32) {
            _mm512_storeu_ps(p, self.0);
        }

        #[inline(always)]
        unsafe fn add(self, o: Self) -> Self {
            Self(_mm512_add_ps(self.0, o.0))
        }

        #[inline(always)]
        unsafe fn sub(self, o: Self) -> Self {
            Self(_mm512_sub_ps(self.0, o.0))
        }

        #[inline(always)]
        unsafe fn mul(self, o: Self) -> Self {
            Self(_mm512_mul_ps(self.0, o.0))
        }

        #[inline(always)]
        unsafe fn div(self, o: Self) -> Self {
            Self(_mm512_div_ps(self.0, o.0))
        }

        #[inline(always)]
        unsafe fn fma(self, m: Self, a: Self) -> Self {
            Self(_mm512_fmadd_ps(self.0, m.0, a.0))
        }

        #[inline(always)]
        unsafe fn at_least(self, o: Self) -> Self {
            // The instruction answers its second operand where either is NaN.
            Self(_mm512_max_ps(o.0, self.0))
        }

        #[inline(always)]
        unsafe fn at_most(self, o: Self) -> Self {
            Self(_mm512_min_ps(o.0, self.0))
        }

        #[inline(always)]
        unsafe fn round(self) -> Self {
            Self(_mm512_roundscale_ps::<8>(self.0))
        }

        #[inline(always)]
        unsafe fn scale(self, n: Self) -> Self {
            Self(_mm512_scalef_ps(self.0, n.0))
        }

        #[inline(always)]
        unsafe fn sum(self) -> f32 {
            _mm512_reduce_add_ps(self.0)
        }
    }

    /// Two 256-bit registers.
    #[derive(Clone, Copy)]
    pub(super) struct Avx2(__m256, __m256);

    impl Lanes for Avx2 {
        // 3 x 4 accumulators, 3 broadcasts: 15 of 16 registers, columns from memory.
        const ROWS: usize = 3;

        #[inline(always)]
        unsafe fn splat(v: f32) -> Self {
            Self(_mm256_set1_ps(v), _mm256_set1_ps(v))
        }

        #[inline(always)]
        unsafe fn load(p: *const f32) -> Self {
            Self(_mm256_loadu_ps(p), _mm256_loadu_ps(p.add(8)))
        }

        #[inline(always)]
        unsafe fn load_f16(p: *const u16) -> Self {
            Self(_mm256_cvtph_ps(_mm_loadu_si128(p.cast())), _mm256_cvtph_ps(_mm_loadu_si128(p.add(8).cast())))
        }

        #[inline(always)]
        unsafe fn load_bf16(p: *const u16) -> Self {
            let half = |p: *const u16| {
                let wide = _mm256_cvtepu16_epi32(_mm_loadu_si128(p.cast()));
                _mm256_castsi256_ps(_mm256_slli_epi32::<16>(wide))
            };
            Self(half(p), half(p.add(8)))
        }

        #[inline(always)]
        unsafe fn store(self, p: *mut f32) {
            _mm256_storeu_ps(p, self.0);
            _mm256_storeu_ps(p.add(8), self.1);
        }

        #[inline(always)]
        unsafe fn add(self, o: Self) -> Self {
            Self(_mm256_add_ps(self.0, o.0), _mm256_add_ps(self.1, o.1))
        }

        #[inline(always)]
        unsafe fn sub(self, o: Self) -> Self {
            Self(_mm256_sub_ps(self.0, o.0), _mm256_sub_ps(self.1, o.1))
        }

        #[inline(always)]
        unsafe fn mul(self, o: Self) -> Self {
            Self(_mm256_mul_ps(self.0, o.0), _mm256_mul_ps(self.1, o.1))
        }

        #[inline(always)]
        unsafe fn div(self, o: Self) -> Self {
            Self(_mm256_div_ps(self.0, o.0), _mm256_div_ps(self.1, o.1))
        }

        #[inline(always)]
        unsafe fn fma(self, m: Self, a: Self) -> Self {
            Self(_mm256_fmadd_ps(self.0, m.0, a.0), _mm256_fmadd_ps(self.1, m.1, a.1))
        }

        #[inline(always)]
        unsafe fn at_least(self, o: Self) -> Self {
            Self(_mm256_max_ps(o.0, self.0), _mm256_max_ps(o.1, self.1))
        }

        #[inline(always)]
        unsafe fn at_most(self, o: Self) -> Self {
            Self(_mm256_min_ps(o.0, self.0), _mm256_min_ps(o.1, self.1))
        }

        #[inline(always)]
        unsafe fn round(self) -> Self {
            Self(_mm256_round_ps::<8>(self.0), _mm256_round_ps::<8>(self.1))
        }

        #[inline(always)]
        unsafe fn scale(self, n: Self) -> Self {
            let half = |v: __m256, n: __m256| {
                let bits = _mm256_slli_epi32::<23>(_mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127)));
                _mm256_mul_ps(v, _mm256_castsi256_ps(bits))
            };
            Self(half(self.0, n.0), half(self.1, n.1))
        }

        #[inline(always)]
        unsafe fn sum(self) -> f32 {
            let v = _mm256_add_ps(self.0, self.1);
            let v = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps::<1>(v));
            let v = _mm_add_ps(v, _mm_movehl_ps(v, v));
            _mm_cvtss_f32(_mm_add_ss(v, _mm_shuffle_ps::<1>(v, v)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Map<'a> {
        input: &'a [f32],
        exp: &'a mut Vec<f32>,
        silu: &'a mut Vec<f32>,
        softplus: &'a mut Vec<f32>,
        sums: &'a mut Vec<f32>,
    }

    impl Kernel for Map<'_> {
        #[inline(always)]
        unsafe fn run<V: Lanes>(self) {
            for (i, chunk) in self.input.chunks_exact(LANES).enumerate() {
                let v = V::load(chunk.as_ptr());
                v.exp().store(self.exp.as_mut_ptr().add(i * LANES));
                v.silu().store(self.silu.as_mut_ptr().add(i * LANES));
                v.softplus().store(self.softplus.as_mut_ptr().add(i * LANES));
                self.sums.push(v.sum());
            }
        }
    }

    #[test]
    fn functions_match_double_precision_on_every_unit() {
        let input: Vec<f32> = (-16000..16000).map(|i| i as f32 * 0.005).collect();
        for isa in Isa::available() {
            let (mut e, mut s, mut p) = (vec![0.0; 32000], vec![0.0; 32000], vec![0.0; 32000]);
            let mut sums = Vec::new();
            // SAFETY: the unit is available; the outputs are as long as the input.
            unsafe {
                isa.run(Map { input: &input, exp: &mut e, silu: &mut s, softplus: &mut p, sums: &mut sums });
            }
            for (i, &x) in input.iter().enumerate() {
                let d = f64::from(x);
                let near = |got: f32, want: f64, tolerance: f64, what: &str| {
                    let error = (f64::from(got) - want).abs() / want.abs().max(1e-30);
                    assert!(error < tolerance, "{isa:?} {what}({x}) = {got}, want {want}, off by {error:e}");
                };
                // The argument is rounded to 24 bits before the power is taken, so the error grows with its size.
                near(e[i], d.exp(), 3e-7 + 1.2e-7 * d.abs(), "exp");
                near(s[i], d / (1.0 + (-d).exp()), 4e-7 + 1.2e-7 * d.abs(), "silu");
                near(p[i], d.exp().ln_1p(), 1e-6 + 1.2e-7 * d.abs(), "softplus");
            }
            for (chunk, sum) in input.chunks_exact(LANES).zip(&sums) {
                assert!((chunk.iter().sum::<f32>() - sum).abs() <= 1e-5 * chunk.iter().map(|v| v.abs()).sum::<f32>());
            }
        }
    }

    #[test]
    fn extremes_stay_finite_and_nan_stays_nan() {
        let mut input = [0.0f32; LANES];
        input[..6].copy_from_slice(&[f32::NAN, 1e30, -1e30, f32::INFINITY, 88.0, -88.0]);
        for isa in Isa::available() {
            let (mut e, mut s, mut p) = (vec![0.0; LANES], vec![0.0; LANES], vec![0.0; LANES]);
            let mut sums = Vec::new();
            // SAFETY: as above.
            unsafe {
                isa.run(Map { input: &input, exp: &mut e, silu: &mut s, softplus: &mut p, sums: &mut sums });
            }
            assert!(e[0].is_nan() && s[0].is_nan() && p[0].is_nan(), "{isa:?}");
            assert!(e[1].is_finite() && e[2] > 0.0 && s[1] == 1e30 && p[1] == 1e30, "{isa:?} {e:?}");
            assert!(s[2].abs() < 1e-6 && p[2] < 1e-30 && p[4] == 88.0 && p[5] > 0.0, "{isa:?} {s:?} {p:?}");
            assert!(sums[0].is_nan());
        }
    }

    #[test]
    fn half_types_are_read_exactly() {
        struct Load<'a>(&'a [u16], &'a mut [f32], &'a mut [f32]);
        impl Kernel for Load<'_> {
            #[inline(always)]
            unsafe fn run<V: Lanes>(self) {
                V::load_f16(self.0.as_ptr()).store(self.1.as_mut_ptr());
                V::load_bf16(self.0.as_ptr()).store(self.2.as_mut_ptr());
            }
        }
        let bits: Vec<u16> = (0..16).map(|i| 0x3c00 + 777 * i).collect();
        for isa in Isa::available() {
            let (mut h, mut b) = ([0.0; LANES], [0.0; LANES]);
            // SAFETY: all three slices have sixteen elements.
            unsafe { isa.run(Load(&bits, &mut h, &mut b)) };
            for i in 0..LANES {
                assert_eq!(h[i], f16::from_bits(bits[i]).to_f32());
                assert_eq!(b[i], half::bf16::from_bits(bits[i]).to_f32());
            }
        }
    }
}
