//! Vector primitives of memory accesses, for each host instruction set: bounds of lane values, gathers, scatters,
//! contiguous moves with conversion. Knows lanes and pointers, no buffers.

use super::LANES;
use crate::lower::sir::Elem;

/// 32 lanes of 32 bits.
pub type Words = [u32; LANES];
/// 32 lanes of 64 bits.
pub type Longs = [u64; LANES];

/// What memory accesses need of a host's vector unit. Masks name the lanes that take part; lanes outside are neither
/// read nor written.
pub trait Simd {
    /// Smallest and largest value, unsigned, of the lanes in a mask that is not empty.
    ///
    /// # Safety
    /// The host has the instruction set.
    unsafe fn bounds(v: &Words, mask: u32) -> (u32, u32);

    /// Is each lane in the mask `first + lane * step`?
    ///
    /// # Safety
    /// As [`Self::bounds`].
    unsafe fn is_ramp(v: &Words, first: u32, step: u32, mask: u32) -> bool;

    /// Reads 32 bits at `base + rel[l]`.
    ///
    /// # Safety
    /// As [`Self::bounds`], and each address in the mask is readable.
    unsafe fn gather(base: *const u8, rel: &Words, mask: u32, out: *mut Words);

    /// Writes 32 bits at `base + rel[l]`, lanes in order.
    ///
    /// # Safety
    /// As [`Self::bounds`], and each address in the mask is writable.
    unsafe fn scatter(base: *mut u8, rel: &Words, mask: u32, v: &Words);
}

/// Plain Rust.
pub struct Portable;
/// AVX2.
pub struct Avx2;
/// AVX-512.
pub struct Avx512;

impl Simd for Portable {
    #[inline(always)]
    unsafe fn bounds(v: &Words, mask: u32) -> (u32, u32) {
        let (mut lo, mut hi) = (u32::MAX, 0);
        for (l, &x) in v.iter().enumerate() {
            let on = 0u32.wrapping_sub(mask >> l & 1);
            lo = lo.min(x | !on);
            hi = hi.max(x & on);
        }
        (lo, hi)
    }

    #[inline(always)]
    unsafe fn is_ramp(v: &Words, first: u32, step: u32, mask: u32) -> bool {
        let mut bad = 0u32;
        for (l, &x) in v.iter().enumerate() {
            bad |= u32::from(x != first.wrapping_add(step * l as u32)) << l;
        }
        bad & mask == 0
    }

    #[inline(always)]
    unsafe fn gather(base: *const u8, rel: &Words, mask: u32, out: *mut Words) {
        // SAFETY: the caller's.
        unsafe {
            let mut m = mask;
            while m != 0 {
                let l = m.trailing_zeros() as usize;
                m &= m - 1;
                (*out)[l] = base.add(rel[l] as usize).cast::<u32>().read_unaligned();
            }
        }
    }

    #[inline(always)]
    unsafe fn scatter(base: *mut u8, rel: &Words, mask: u32, v: &Words) {
        // SAFETY: the caller's.
        unsafe {
            let mut m = mask;
            while m != 0 {
                let l = m.trailing_zeros() as usize;
                m &= m - 1;
                base.add(rel[l] as usize).cast::<u32>().write_unaligned(v[l]);
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        __m256i, __m512i, _mm256_add_epi32, _mm256_and_si256, _mm256_andnot_si256, _mm256_castsi256_ps,
        _mm256_cmpeq_epi32, _mm256_loadu_si256, _mm256_mask_i32gather_epi32, _mm256_max_epu32, _mm256_min_epu32,
        _mm256_movemask_ps, _mm256_mullo_epi32, _mm256_or_si256, _mm256_set1_epi32, _mm256_setr_epi32,
        _mm256_setzero_si256, _mm256_sllv_epi32, _mm256_srai_epi32, _mm256_storeu_si256, _mm512_add_epi32,
        _mm512_loadu_si512, _mm512_mask_cmpneq_epi32_mask, _mm512_mask_i32gather_epi32, _mm512_mask_i32scatter_epi32,
        _mm512_mask_reduce_max_epu32, _mm512_mask_reduce_min_epu32, _mm512_mullo_epi32, _mm512_set1_epi32,
        _mm512_setr_epi32, _mm512_storeu_si512,
    };

    use super::{Avx2, Avx512, Portable, Simd, Words};

    /// All bits of the lanes in a mask of eight.
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn spread(mask: u32) -> __m256i {
        let bits = _mm256_sllv_epi32(_mm256_set1_epi32(mask as i32), _mm256_setr_epi32(31, 30, 29, 28, 27, 26, 25, 24));
        _mm256_srai_epi32::<31>(bits)
    }

    impl Simd for Avx2 {
        #[inline]
        #[target_feature(enable = "avx2")]
        unsafe fn bounds(v: &Words, mask: u32) -> (u32, u32) {
            // SAFETY: eight words at a time of 32.
            unsafe {
                let mut lo = _mm256_set1_epi32(-1);
                let mut hi = _mm256_setzero_si256();
                for c in 0..4 {
                    let x = _mm256_loadu_si256(v.as_ptr().add(c * 8).cast());
                    let m = spread(mask >> (c * 8));
                    lo = _mm256_min_epu32(lo, _mm256_or_si256(x, _mm256_andnot_si256(m, _mm256_set1_epi32(-1))));
                    hi = _mm256_max_epu32(hi, _mm256_and_si256(x, m));
                }
                let (mut a, mut b) = ([0u32; 8], [0u32; 8]);
                _mm256_storeu_si256(a.as_mut_ptr().cast(), lo);
                _mm256_storeu_si256(b.as_mut_ptr().cast(), hi);
                (a.iter().copied().fold(u32::MAX, u32::min), b.iter().copied().fold(0, u32::max))
            }
        }

        #[inline]
        #[target_feature(enable = "avx2")]
        unsafe fn is_ramp(v: &Words, first: u32, step: u32, mask: u32) -> bool {
            // SAFETY: as `bounds`.
            unsafe {
                let ramp =
                    _mm256_mullo_epi32(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), _mm256_set1_epi32(step as i32));
                let mut same = 0u32;
                for c in 0..4 {
                    let x = _mm256_loadu_si256(v.as_ptr().add(c * 8).cast());
                    let at = first.wrapping_add(step.wrapping_mul(8 * c as u32));
                    let eq = _mm256_cmpeq_epi32(x, _mm256_add_epi32(ramp, _mm256_set1_epi32(at as i32)));
                    same |= (_mm256_movemask_ps(_mm256_castsi256_ps(eq)) as u32) << (c * 8);
                }
                mask & !same == 0
            }
        }

        #[inline]
        #[target_feature(enable = "avx2")]
        unsafe fn gather(base: *const u8, rel: &Words, mask: u32, out: *mut Words) {
            // SAFETY: masked lanes are readable (the caller's); others are not touched.
            unsafe {
                for c in 0..4 {
                    let dst = out.cast::<u32>().add(c * 8).cast::<__m256i>();
                    let idx = _mm256_loadu_si256(rel.as_ptr().add(c * 8).cast());
                    let old = _mm256_loadu_si256(dst);
                    let m = spread(mask >> (c * 8));
                    let r = _mm256_mask_i32gather_epi32::<1>(old, base.cast(), idx, m);
                    _mm256_storeu_si256(dst, r);
                }
            }
        }

        #[inline]
        #[target_feature(enable = "avx2")]
        unsafe fn scatter(base: *mut u8, rel: &Words, mask: u32, v: &Words) {
            // SAFETY: the caller's.
            unsafe { Portable::scatter(base, rel, mask, v) }
        }
    }

    impl Simd for Avx512 {
        #[inline]
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
        unsafe fn bounds(v: &Words, mask: u32) -> (u32, u32) {
            // SAFETY: sixteen words at a time of 32.
            unsafe {
                let a: __m512i = _mm512_loadu_si512(v.as_ptr().cast());
                let b: __m512i = _mm512_loadu_si512(v.as_ptr().add(16).cast());
                let (m, n) = (mask as u16, (mask >> 16) as u16);
                (
                    _mm512_mask_reduce_min_epu32(m, a).min(_mm512_mask_reduce_min_epu32(n, b)),
                    _mm512_mask_reduce_max_epu32(m, a).max(_mm512_mask_reduce_max_epu32(n, b)),
                )
            }
        }

        #[inline]
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
        unsafe fn is_ramp(v: &Words, first: u32, step: u32, mask: u32) -> bool {
            // SAFETY: as `bounds`.
            unsafe {
                let a: __m512i = _mm512_loadu_si512(v.as_ptr().cast());
                let b: __m512i = _mm512_loadu_si512(v.as_ptr().add(16).cast());
                let ramp = _mm512_mullo_epi32(
                    _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
                    _mm512_set1_epi32(step as i32),
                );
                let lo = _mm512_add_epi32(ramp, _mm512_set1_epi32(first as i32));
                let hi = _mm512_add_epi32(lo, _mm512_set1_epi32(step.wrapping_mul(16) as i32));
                let x = _mm512_mask_cmpneq_epi32_mask(mask as u16, a, lo);
                let y = _mm512_mask_cmpneq_epi32_mask((mask >> 16) as u16, b, hi);
                x | y == 0
            }
        }

        #[inline]
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
        unsafe fn gather(base: *const u8, rel: &Words, mask: u32, out: *mut Words) {
            // SAFETY: masked lanes are readable (the caller's); others are not touched.
            unsafe {
                for c in 0..2 {
                    let dst = out.cast::<u32>().add(c * 16);
                    let idx = _mm512_loadu_si512(rel.as_ptr().add(c * 16).cast());
                    let old = _mm512_loadu_si512(dst.cast());
                    let m = (mask >> (c * 16)) as u16;
                    let r = _mm512_mask_i32gather_epi32::<1>(old, m, idx, base.cast());
                    _mm512_storeu_si512(dst.cast(), r);
                }
            }
        }

        #[inline]
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
        unsafe fn scatter(base: *mut u8, rel: &Words, mask: u32, v: &Words) {
            // SAFETY: masked lanes are writable (the caller's).
            unsafe {
                for c in 0..2 {
                    let idx = _mm512_loadu_si512(rel.as_ptr().add(c * 16).cast());
                    let x = _mm512_loadu_si512(v.as_ptr().add(c * 16).cast());
                    let m = (mask >> (c * 16)) as u16;
                    _mm512_mask_i32scatter_epi32::<1>(base.cast(), m, idx, x);
                }
            }
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod other {
    use super::{Avx2, Avx512, Portable, Simd, Words};

    macro_rules! forward {
        ($($t:ty)*) => {$(impl Simd for $t {
            unsafe fn bounds(v: &Words, mask: u32) -> (u32, u32) {
                // SAFETY: portable code.
                unsafe { Portable::bounds(v, mask) }
            }
            unsafe fn is_ramp(v: &Words, first: u32, step: u32, mask: u32) -> bool {
                // SAFETY: portable code.
                unsafe { Portable::is_ramp(v, first, step, mask) }
            }
            unsafe fn gather(base: *const u8, rel: &Words, mask: u32, out: *mut Words) {
                // SAFETY: the caller's.
                unsafe { Portable::gather(base, rel, mask, out) }
            }
            unsafe fn scatter(base: *mut u8, rel: &Words, mask: u32, v: &Words) {
                // SAFETY: the caller's.
                unsafe { Portable::scatter(base, rel, mask, v) }
            }
        })*};
    }
    forward!(Avx2 Avx512);
}

/// Reads consecutive elements of up to 32 bits into all lanes, converted to register form.
///
/// # Safety
/// `32 * e.bytes()` bytes at `p` are readable; `e` is not [`Elem::B64`].
#[inline(always)]
pub unsafe fn read_row(e: Elem, p: *const u8, out: *mut Words) {
    // SAFETY: the caller's.
    unsafe {
        match e {
            Elem::B32 | Elem::B64 => out.cast::<u8>().copy_from_nonoverlapping(p, 4 * LANES),
            Elem::U16 => {
                let v = p.cast::<[u16; LANES]>().read_unaligned();
                for (o, x) in (*out).iter_mut().zip(v) {
                    *o = u32::from(x);
                }
            }
            Elem::Bf16 => {
                let v = p.cast::<[u16; LANES]>().read_unaligned();
                for (o, x) in (*out).iter_mut().zip(v) {
                    *o = u32::from(x) << 16;
                }
            }
            Elem::F16 => {
                let v = p.cast::<[u16; LANES]>().read_unaligned();
                for (o, x) in (*out).iter_mut().zip(v) {
                    *o = crate::semantics::f16_to_f32(x);
                }
            }
            Elem::U8 => {
                let v = p.cast::<[u8; LANES]>().read_unaligned();
                for (o, x) in (*out).iter_mut().zip(v) {
                    *o = u32::from(x);
                }
            }
        }
    }
}

/// Writes all lanes to consecutive elements of up to 32 bits.
///
/// # Safety
/// As [`read_row`], writable.
#[inline(always)]
pub unsafe fn write_row(e: Elem, p: *mut u8, v: &Words) {
    // SAFETY: the caller's.
    unsafe {
        match e {
            Elem::B32 | Elem::B64 => p.copy_from_nonoverlapping(v.as_ptr().cast(), 4 * LANES),
            Elem::U16 => p.cast::<[u16; LANES]>().write_unaligned(v.map(|x| x as u16)),
            Elem::Bf16 => {
                p.cast::<[u16; LANES]>().write_unaligned(v.map(crate::semantics::f32_to_bf16));
            }
            Elem::F16 => p.cast::<[u16; LANES]>().write_unaligned(v.map(crate::semantics::f32_to_f16)),
            Elem::U8 => p.cast::<[u8; LANES]>().write_unaligned(v.map(|x| x as u8)),
        }
    }
}

/// Reads one element into register bits.
///
/// # Safety
/// `e.bytes()` bytes at `p` are readable.
#[inline(always)]
pub unsafe fn get(e: Elem, p: *const u8) -> u64 {
    // SAFETY: the caller's.
    unsafe {
        match e {
            Elem::U8 => u64::from(*p),
            Elem::U16 => u64::from(p.cast::<u16>().read_unaligned()),
            Elem::F16 => u64::from(crate::semantics::f16_to_f32(p.cast::<u16>().read_unaligned())),
            Elem::Bf16 => u64::from(p.cast::<u16>().read_unaligned()) << 16,
            Elem::B32 => u64::from(p.cast::<u32>().read_unaligned()),
            Elem::B64 => p.cast::<u64>().read_unaligned(),
        }
    }
}

/// Writes one element from register bits.
///
/// # Safety
/// `e.bytes()` bytes at `p` are writable.
#[inline(always)]
pub unsafe fn put(e: Elem, p: *mut u8, v: u64) {
    // SAFETY: the caller's.
    unsafe {
        match e {
            Elem::U8 => *p = v as u8,
            Elem::U16 => p.cast::<u16>().write_unaligned(v as u16),
            Elem::F16 => p.cast::<u16>().write_unaligned(crate::semantics::f32_to_f16(v as u32)),
            Elem::Bf16 => p.cast::<u16>().write_unaligned(crate::semantics::f32_to_bf16(v as u32)),
            Elem::B32 => p.cast::<u32>().write_unaligned(v as u32),
            Elem::B64 => p.cast::<u64>().write_unaligned(v),
        }
    }
}
