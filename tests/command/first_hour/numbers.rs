//! The numbers in the tensors, there and here.

/// An element of a parameter: the first has both signs, the others are positive, as what is divided by or under a root.
pub(crate) fn number(at: usize, parameter: usize) -> f32 {
    let value = noise(at + 1000 * parameter);
    if parameter == 0 { value } else { value.abs() }
}

/// Numbers between -1 and 1 that look random (the finaliser of SplitMix64).
fn noise(at: usize) -> f32 {
    let mut z = (at as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z >> 40) as f32 / (1 << 23) as f32) - 1.0
}
