//! Conversions against the crate `half` and against arithmetic in f64, over all values or random ones.

use dietcode_core::runtime::function;
use half::{bf16, f16};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::emulator::{Kernels, args};

const BLOCK: u32 = 256;

fn each<To: Clone, From>(kernels: &Kernels, symbol: &str, from: &[From], fill: To) -> Vec<To> {
    let mut to = vec![fill; from.len()];
    let grid = (from.len() as u32).div_ceil(BLOCK);
    kernels.launch(symbol, (grid, BLOCK, 0), args![&mut to[..], from, from.len() as i32]).unwrap();
    to
}

/// Floats of all magnitudes, ties between 16-bit numbers among them, and the special ones.
fn floats() -> Vec<f32> {
    let mut rng = StdRng::seed_from_u64(3);
    let mut floats: Vec<f32> = (0..100_000).map(|_| f32::from_bits(rng.random())).collect();
    for exponent in -30..20 {
        for _ in 0..100 {
            let x = rng.random_range(1.0..2.0f32) * 2f32.powi(exponent);
            let cut = |bits: u32| f32::from_bits(x.to_bits() >> bits << bits);
            floats.extend([x, -x, cut(12), -cut(12), cut(13), cut(15), -cut(15), cut(16)]);
        }
    }
    let edges = [65519.996, 65520.0, 65504.0, f32::MAX, f32::INFINITY, f32::NAN, 0.0, f32::MIN_POSITIVE, 1e-45, 6.1e-5];
    floats.extend(edges.into_iter().flat_map(|x| [x, -x]));
    floats
}

#[test]
fn every_number_of_16_bits_is_loaded_exactly() {
    let kernels = Kernels::of("numbers");
    let all: Vec<u16> = (0..=u16::MAX).collect();
    for (bits, value) in all.iter().zip(each(kernels, "load_f16", &all, 0.0f32)) {
        let expected = f16::from_bits(*bits).to_f32();
        assert!(value.to_bits() == expected.to_bits() || value.is_nan() && expected.is_nan(), "{bits:x}: {value}");
    }
    for (bits, value) in all.iter().zip(each(kernels, "load_bf16", &all, 0.0f32)) {
        assert_eq!(value.to_bits(), u32::from(*bits) << 16);
    }
}

#[test]
fn floats_are_rounded_to_the_nearest_even() {
    let kernels = Kernels::of("numbers");
    let floats = floats();
    let same = each(kernels, "load_f32", &each(kernels, "round_f32", &floats, 0.0f32), 0.0f32);
    let [f16s, bf16s] = ["round_f16", "round_bf16"].map(|symbol| each(kernels, symbol, &floats, 0u16));
    for (i, x) in floats.into_iter().enumerate() {
        let (half, brain) = (f16::from_f32(x).to_bits(), bf16::from_f32(x).to_bits());
        let expected = if x.is_nan() { (0x7fff, 0x7fff) } else { (half, brain) };
        assert_eq!((f16s[i], bf16s[i]), expected, "{x:e}");
        assert!(same[i].to_bits() == x.to_bits() || x.is_nan());
    }
}

#[test]
fn tf32_has_ten_bits_of_fraction_and_ties_go_away_from_zero() {
    let kernels = Kernels::of("tf32");
    let floats = floats();
    let rounded = each(kernels, "round_tf32", &floats, 0u32);
    for (x, bits) in floats.into_iter().zip(rounded) {
        if x.is_nan() {
            assert_eq!(bits, 0x7fff_ffff);
            continue;
        }
        let unit = 2f64.powi((x.abs().log2().floor() as i32).max(-126) - 10);
        let expected = (f64::from(x) / unit).round() * unit;
        let close = f64::from(f32::from_bits(bits)) == f64::from(expected as f32);
        assert!(bits & 0x1fff == 0 && (close || !x.is_normal()), "{x:e} became {:e}", f32::from_bits(bits));
    }
}

#[test]
fn of_a_nan_and_a_number_the_number() {
    let kernels = Kernels::of("numbers");
    let numbers = [1.0, f32::NAN, -2.0, f32::INFINITY, f32::NAN, 3.0, f32::NAN, -1.0f32];
    let pairs = || numbers.iter().zip(numbers.iter().rev());
    let bits = |floats: Vec<f32>| floats.into_iter().map(f32::to_bits).collect::<Vec<_>>();
    let largest = bits(each(kernels, "max_pairs", &numbers, 0.0f32));
    assert_eq!(largest, bits(pairs().map(|(a, b)| a.max(*b)).collect()));
    let smallest = bits(each(kernels, "min_pairs", &numbers, 0.0f32));
    assert_eq!(smallest, bits(pairs().map(|(a, b)| a.min(*b)).collect()));
}

/// The lower bound is NaN, below, or above the upper one, which is 2.
#[test]
fn bounds_and_powers_are_those_of_reference() {
    let kernels = Kernels::of("numbers");
    let numbers = [1.0, f32::NAN, -2.0, f32::INFINITY, f32::NAN, 3.0, -0.0, -1.0, 0.5, 2.5f32];
    let bits = |floats: Vec<f32>| floats.into_iter().map(f32::to_bits).collect::<Vec<_>>();
    let clamped = bits(each(kernels, "clamped", &numbers, 0.0f32));
    let expected = numbers.iter().zip(numbers.iter().rev()).map(|(x, low)| function::clamp(*x, *low, 2.0));
    assert_eq!(clamped, bits(expected.collect()));
    let same = |found: Vec<f32>, expected: fn(f32) -> f32| {
        for (found, x) in found.into_iter().zip(numbers) {
            assert!(found == expected(x) || found.is_nan() && x.is_nan(), "{found} of {x}");
        }
    };
    same(each(kernels, "cubed", &numbers, 0.0f32), |x| x * x * x);
    same(each(kernels, "inverse_squared", &numbers, 0.0f32), |x| 1.0 / (x * x));
}

#[test]
fn whole_numbers_have_minima_and_maxima() {
    let from = [-7i64, 0, 4, 5, 6, 9, 1 << 20];
    let expected: Vec<i64> = from.iter().map(|x| x.max(&0) - x.min(&5) + 2 - x.min(&9)).collect();
    assert_eq!(each(Kernels::of("numbers"), "integers", &from, 0i64), expected);
}

#[test]
fn atomics_lose_nothing() {
    let kernels = Kernels::of("numbers");
    let from: Vec<f32> = (0..100).map(|i| i as f32).collect();
    let mut sum = [0.5f32];
    kernels.launch("sum", (3, 100, 0), args![&mut sum[..], &from[..]]).unwrap();
    assert_eq!(sum, [3.0 * 4950.0 + 0.5]);
    let mut to = [0i32; 5];
    let mut wide = [0u64];
    kernels.launch("atomics", (1, 64, 0), args![&mut to[..], &mut wide[..]]).unwrap();
    assert_eq!((&to[..3], wide), (&[64, 63, -63][..], [64 << 40]));
    assert_eq!(to[3], to[4] + 1);
}
