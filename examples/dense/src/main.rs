//! Calls one kernel at several sequence lengths, tuned or not, and checks each result against the loop nest itself.

mod ops;

use std::time::Instant;

use dietcode_core::Error;
use dietcode_core::runtime::Tensor;
use ops::dense;

const K: usize = 768;
const N: usize = 96;

fn main() -> Result<(), Error> {
    let w = Tensor::from_fn(&[N, K], noise)?;
    for t in [1, 5, 24, 37, 81] {
        let m = 16 * t;
        let x = Tensor::from_fn(&[m, K], |at| noise(at + 1))?;
        let mut y = Tensor::full(&[m, N], f32::NAN)?;

        let start = Instant::now();
        dense(&x, &w, &mut y)?;
        let seconds = start.elapsed().as_secs_f64();

        let mut expected = Tensor::zeros(&[m, N])?;
        dense::reference(&x, &w, &mut expected)?;
        check(y.as_slice(), expected.as_slice());
        println!("T = {t:3}: {m} × {N} × {K}, as the reference says, {:.1} ms", 1e3 * seconds);
    }
    Ok(())
}

/// Each result is a sum of K products of numbers below 1, summed here in another order than there: both are within
/// γ(K)·K of the exact sum, γ(n) = n·u / (1 − n·u), u = 2⁻²⁴ (Higham, Accuracy and Stability of Numerical Algorithms, §3.1).
fn check(y: &[f32], expected: &[f32]) {
    let n = K as f32 * f32::EPSILON / 2.0;
    let bound = 2.0 * n / (1.0 - n) * K as f32;
    for (at, (y, expected)) in y.iter().zip(expected).enumerate() {
        assert!((y - expected).abs() <= bound, "element {at} is {y}, the reference says {expected}");
    }
}

/// Numbers between -1 and 1 that look random (the finaliser of SplitMix64).
fn noise(at: usize) -> f32 {
    let mut z = (at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z >> 40) as f32 / (1 << 23) as f32) - 1.0
}
