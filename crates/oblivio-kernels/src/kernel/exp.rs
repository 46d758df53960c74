//! `exp` on slices, with the widest vectors the machine has.
//!
//! The loop is plain Rust that the compiler vectorises; what makes it fast in a build for a baseline processor
//! is that [`vectorize`] compiles it three times (baseline, AVX2 with FMA, AVX-512) and picks one at run time.

#![allow(
    clippy::inline_always,
    reason = "only inlined code is compiled for the caller's instruction set"
)]

use pulp::Arch;

/// Runs `op` compiled for the machine's vector instructions.
pub fn vectorize<Op: Vectorized>(op: Op) -> Op::Output {
    match Arch::new() {
        #[cfg(target_arch = "x86_64")]
        Arch::V4(simd) => simd.vectorize(
            #[inline(always)]
            || op.run::<true>(),
        ),
        #[cfg(target_arch = "x86_64")]
        Arch::V3(simd) => simd.vectorize(
            #[inline(always)]
            || op.run::<true>(),
        ),
        // On AArch64 fused multiply-add is part of the baseline.
        _ if cfg!(target_arch = "aarch64") => op.run::<true>(),
        _ => op.run::<false>(),
    }
}

/// A loop worth compiling for several instruction sets.
///
/// Implementations must be `#[inline(always)]`, as must all they call, or nothing is gained.
pub trait Vectorized {
    /// What the loop gives.
    type Output;
    /// `FUSED` tells whether a multiply-add is one instruction; without it, one would be a slow library call.
    fn run<const FUSED: bool>(self) -> Self::Output;
}

/// Above this, `exp` overflows; below the other, it rounds to zero.
const HIGHEST: f64 = 710.0;
const LOWEST: f64 = -746.0;
/// Adding this rounds to an integer and leaves it in the low bits.
const ROUND: f64 = 6_755_399_441_055_744.0;
/// ln 2 in two parts; multiples of the first by up to 2^11 are exact.
const LN_2: (f64, f64) = (0.693_147_180_559_890_3, 5.497_923_018_708_371e-14);
/// (exp r − 1 − r)/r² at the Chebyshev nodes of |r| ≤ (ln 2)/2; relative error of exp 1.6e-17.
#[rustfmt::skip]
const TAIL: [f64; 10] = [
    0.500_000_000_000_000_1, 0.166_666_666_666_666_69, 0.041_666_666_666_624_164, 0.008_333_333_333_330_065,
    0.001_388_888_891_719_689, 0.000_198_412_698_630_406_75, 2.480_152_132_210_459e-5, 2.755_726_848_010_692_6e-6,
    2.762_007_600_563_138e-7, 2.510_037_592_918_592_5e-8,
];

/// The exponential function, within one unit in the last place.
///
/// With k the integer nearest to x/ln 2 and r = x − k ln 2, exp x = 2^k exp r. The power of two is applied in two
/// halves, so that results below the smallest normal number are rounded once.
#[inline(always)]
pub fn exp<const FUSED: bool>(x: f64) -> f64 {
    // Comparisons that a NaN fails, so that it passes through.
    let x = if x > HIGHEST { HIGHEST } else { x };
    let x = if x < LOWEST { LOWEST } else { x };
    let k = multiply_add::<FUSED>(x, std::f64::consts::LOG2_E, ROUND) - ROUND;
    let r = multiply_add::<FUSED>(-k, LN_2.0, x);
    let r = multiply_add::<FUSED>(-k, LN_2.1, r);
    let mut tail = TAIL[9];
    for coefficient in TAIL[..9].iter().rev() {
        tail = multiply_add::<FUSED>(tail, r, *coefficient);
    }
    let mantissa = multiply_add::<FUSED>(r * r, tail, r) + 1.0;
    let half = multiply_add::<FUSED>(k, 0.5, ROUND);
    let rest = k - (half - ROUND) + ROUND;
    mantissa * power_of_two(half) * power_of_two(rest)
}

/// 2^k for the integer k in the low bits of `rounded`, |k| < 1023.
#[inline(always)]
fn power_of_two(rounded: f64) -> f64 {
    f64::from_bits(rounded.to_bits().wrapping_add(1023) << 52)
}

/// ab + c, as one instruction where there is one.
#[inline(always)]
pub fn multiply_add<const FUSED: bool>(a: f64, b: f64, c: f64) -> f64 {
    if FUSED { a.mul_add(b, c) } else { a * b + c }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Exp<'a>(&'a mut [f64]);

    impl Vectorized for Exp<'_> {
        type Output = ();
        #[inline(always)]
        fn run<const FUSED: bool>(self) {
            for v in self.0 {
                *v = exp::<FUSED>(*v);
            }
        }
    }

    /// The distance in representable numbers; both are at least zero.
    fn ulps(a: f64, b: f64) -> u64 {
        a.to_bits().abs_diff(b.to_bits())
    }

    fn worst(inputs: &[f64], results: &[f64]) -> u64 {
        inputs
            .iter()
            .zip(results)
            .map(|(x, e)| ulps(x.exp(), *e))
            .max()
            .unwrap()
    }

    /// From −760 (zero) over the subnormal results (−745…−708) to 720 (infinite), and the tiny arguments.
    fn inputs() -> Vec<f64> {
        let grid = (0..=1_480_000).map(|i| -760.0 + f64::from(i) * 1e-3 + 1e-7);
        let tiny = (0..=1100).flat_map(|e| [2f64.powi(-e), -(2f64.powi(-e))]);
        grid.chain(tiny).chain([0.0, -0.0]).collect()
    }

    #[test]
    fn within_two_ulp_of_the_library_on_every_instruction_set() {
        let inputs = inputs();
        let mut results = inputs.clone();
        vectorize(Exp(&mut results));
        assert!(worst(&inputs, &results) <= 2);
        let mut results = inputs.clone();
        Exp(&mut results).run::<false>();
        assert!(worst(&inputs, &results) <= 2);
        #[cfg(target_arch = "x86_64")]
        if let Some(simd) = pulp::x86::V3::try_new() {
            let mut results = inputs.clone();
            simd.vectorize(
                #[inline(always)]
                || Exp(&mut results).run::<true>(),
            );
            assert!(worst(&inputs, &results) <= 2);
        }
    }

    #[test]
    fn special_values() {
        let mut values = [
            f64::NEG_INFINITY,
            -1e308,
            0.0,
            -0.0,
            f64::INFINITY,
            f64::NAN,
            1e308,
        ];
        vectorize(Exp(&mut values));
        assert_eq!(values[..5], [0.0, 0.0, 1.0, 1.0, f64::INFINITY]);
        assert!(values[5].is_nan());
        assert_eq!(values[6], f64::INFINITY);
    }

    #[test]
    fn dispatch_takes_the_widest_vectors_there_are() {
        #[cfg(target_arch = "x86_64")]
        match Arch::new() {
            Arch::V4(_) => assert!(is_x86_feature_detected!("avx512f")),
            Arch::V3(_) => {
                assert!(is_x86_feature_detected!("avx2") && !is_x86_feature_detected!("avx512dq"));
            }
            _ => assert!(!is_x86_feature_detected!("avx2")),
        }
    }
}
