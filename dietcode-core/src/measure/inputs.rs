//! The elements of inputs: fresh and random, and the same for everyone who has the seed.

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// Uniform in [-1, 1) but never zero, also not as a number of 16 bits: a zero hides what multiplies it.
pub(super) fn random(seed: u64, param: usize) -> impl Iterator<Item = f32> {
    let mut rng = StdRng::seed_from_u64(seed ^ (param as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    std::iter::repeat_with(move || match rng.random_range(-1.0f32..1.0) {
        0.0 => 0.5,
        other => other,
    })
}
