//! How likely sizes are.

use rand::RngExt;
use rand::rngs::StdRng;

/// How often a size is one that vectors, caches and copies like: a power of two, or three quarters of one.
const ROUND: f64 = 0.75;

/// A size from 1 to `most`: as often between 1 and 2 as between 64 and 128, so that large ones do not dominate; most are
/// round, each is possible.
pub(crate) fn size(most: i64, rng: &mut StdRng) -> i64 {
    let log = (most as f64 + 1.0).ln() * rng.random::<f64>();
    let size = (log.exp() as i64).clamp(1, most);
    let bits = i64::BITS - size.leading_zeros();
    let kept = if rng.random_bool(ROUND) { 1 + u32::from(rng.random_bool(0.5)) } else { bits };
    let dropped = bits.saturating_sub(kept);
    size >> dropped << dropped
}

/// An index by weight; none: no weight is above 0.
pub(crate) fn pick(weights: &[f64], rng: &mut StdRng) -> Option<usize> {
    let total: f64 = weights.iter().sum();
    let mut left = rng.random::<f64>() * total;
    let mut last = None;
    for (n, weight) in weights.iter().enumerate().filter(|(_, weight)| **weight > 0.0) {
        if left < *weight {
            return Some(n);
        }
        left -= weight;
        last = Some(n);
    }
    // Rounding may leave a rest.
    last
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    #[test]
    fn sizes_are_spread_over_magnitudes_and_each_is_possible() {
        let mut rng = StdRng::seed_from_u64(1);
        let draws: Vec<i64> = (0..40_000).map(|_| size(200, &mut rng)).collect();
        assert!((1..=200).all(|size| draws.contains(&size)));
        let between = |low: i64, high: i64| draws.iter().filter(|d| (low..high).contains(*d)).count() as f64 / 40_000.0;
        let magnitude = 2f64.ln() / 201f64.ln();
        for low in [1, 2, 4, 8, 16, 32, 64] {
            assert!((between(low, 2 * low) / magnitude - 1.0).abs() < 0.1, "{low}: {}", between(low, 2 * low));
        }
        let round = draws.iter().filter(|d| (**d as u64).count_ones() <= 2).count();
        assert!(round > 30_000, "{round}");
    }

    #[test]
    fn weights_decide() {
        let mut rng = StdRng::seed_from_u64(2);
        let picks: Vec<usize> = (0..4000).filter_map(|_| pick(&[0.0, 1.0, 3.0], &mut rng)).collect();
        let share = picks.iter().filter(|n| **n == 2).count() as f64 / 4000.0;
        assert!((share - 0.75).abs() < 0.03 && !picks.contains(&0), "{share}");
        assert_eq!(pick(&[0.0, 0.0], &mut rng), None);
    }
}
