//! Sizes near a size.

/// The largest step of a nudge, as a part of the size: 16 becomes up to 20.
const STEP: i64 = 4;

/// Sizes next to a size: imperfect steps up and down, the double and the half.
///
/// ```text
/// 16  →  12, 13, 14, 15, 17, 18, 19, 20, 32, 8
/// ```
pub(super) fn near(size: i64) -> Vec<i64> {
    // Of large sizes not every step, but as many as of small ones.
    const STEPS: i64 = 8;
    let farthest = (size / STEP).max(1);
    let count = farthest.min(STEPS);
    let nudges = (1..=count).flat_map(|n| [size + n * farthest / count, size - n * farthest / count]);
    let mut sizes: Vec<i64> = nudges.chain([2 * size, size / 2]).filter(|near| *near > 0 && *near != size).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_imperfect_too() {
        assert_eq!(near(16), [8, 12, 13, 14, 15, 17, 18, 19, 20, 32]);
        assert_eq!(near(1), [2]);
        assert_eq!(near(1000).len(), 18);
    }
}
