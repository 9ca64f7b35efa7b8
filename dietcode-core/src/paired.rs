//! Which of two is faster, by samples that were taken by turns: one look at pairs, and what it can say.
//!
//! Rounds go back and forth, `a₁ b₁ | b₂ a₂`, so that what drifts evenly weighs alike on both. Two of them are a *pair*, and its gain is
//! by how much b took longer:
//!
//! ```text
//! g = ½ ln(b₁ / a₁) + ½ ln(b₂ / a₂)          0.02: a is 2% faster
//! ```
//!
//! What counts is the median m of the gains, and nothing is assumed of them but that pairs are independent. How many of n gains lie
//! below m is Binomial(n, ½), so the ordered gains g₁ ≤ … ≤ gₙ enclose it (W. J. Conover, *Practical Nonparametric Statistics*, section 3.2):
//!
//! ```text
//! P(m < g₁₊ₖ or m > gₙ₋ₖ) ≤ 2 · P(Binomial(n, ½) ≤ k)
//! ```
//!
//! The interval has the largest k for which that is at most the error of one look. Where even k = 0 is too much (n < 12 for three rivals),
//! it has no ends, and the look says nothing. There are at most four [looks](LOOKS) at a rival, also where it begins with pairs that an
//! earlier duel took; by Bonferroni's inequality none says anything wrong with a probability of 99% if each errs with 1% / (4 · rivals).
//!
//! Ends above +2% are a certain win, below −2% a certain loss. Where the upper end leaves no room for a win, or no look is left, both
//! are *equal*: a holder that cannot lose any more need not be shown to win.

#[cfg(feature = "compiler")]
use serde::{Deserialize, Serialize};

use crate::named::named;

/// After so many pairs one looks.
pub const LOOKS: [usize; 4] = [8, 16, 32, 64];

/// Of all looks at all rivals together.
const ERROR: f64 = 0.01;

/// Less than that makes no difference: the logarithm of a ratio.
const EQUAL: f64 = 0.02;

named! {
    /// What is known of one that was compared with another.
    #[cfg_attr(feature = "compiler", derive(Serialize, Deserialize), serde(rename_all = "snake_case"))]
    pub enum Verdict {
        /// It is faster by more than 2%.
        Wins = "wins",
        /// It is slower by more than 2%, or fails.
        Loses = "loses",
        /// It is not faster by more than 2%, or that could not be told with 64 pairs, of which each may be the mean of several settings'.
        Equal = "equal",
        /// Others took the cores too often.
        Unknown = "unknown",
    }
}

/// The gains of one over another, by their samples in the same rounds.
pub fn gains(one: &[f64], other: &[f64]) -> Vec<f64> {
    let ratios: Vec<f64> = one.iter().zip(other).map(|(one, other)| (other / one).ln()).collect();
    ratios.chunks_exact(2).map(|pair| (pair[0] + pair[1]) / 2.0).collect()
}

/// What some gains say of one against one of so many rivals; nothing: more are needed.
pub fn look(gains: &[f64], rivals: usize) -> Option<Verdict> {
    let (low, high) = interval(gains, ERROR / (LOOKS.len() * rivals.max(1)) as f64);
    match () {
        () if low > EQUAL => Some(Verdict::Wins),
        () if high < -EQUAL => Some(Verdict::Loses),
        () if high <= EQUAL => Some(Verdict::Equal),
        () => None,
    }
}

/// The middle one; of an even number, the mean of the two; none of nothing.
pub fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let (low, high) = (values.len().checked_sub(1)? / 2, values.len() / 2);
    Some(values[low].midpoint(values[high]))
}

/// Encloses the median of what values come from, but for an error of at most this probability.
fn interval(values: &[f64], error: f64) -> (f64, f64) {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    // P(Binomial(n, ½) = k), from one k to the next.
    let n = sorted.len();
    let (mut term, mut sum, mut left_out) = (0.5f64.powi(n as i32), 0.0, None);
    for k in 0..n.div_ceil(2) {
        sum += term;
        if 2.0 * sum > error {
            break;
        }
        left_out = Some(k);
        term *= (n - k) as f64 / (k + 1) as f64;
    }
    left_out.map_or((f64::NEG_INFINITY, f64::INFINITY), |k| (sorted[k], sorted[n - 1 - k]))
}

#[cfg(test)]
mod tests {
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};

    use super::*;

    type NoiseOf = Box<dyn Fn(&mut StdRng) -> f64>;

    /// What one comes to that is faster by `gain` than each of three rivals, with noise of either kind.
    fn decided(gain: f64, noise: &dyn Fn(&mut StdRng) -> f64, rng: &mut StdRng) -> Option<Verdict> {
        let all: Vec<f64> = (0..LOOKS[3]).map(|_| gain + noise(rng)).collect();
        LOOKS.iter().find_map(|pairs| look(&all[..*pairs], 3))
    }

    /// Evenly within a tenth; and a third of the pairs far out, as where a sample of a pair was taken in another mode of the machine.
    fn noises() -> [NoiseOf; 2] {
        let modes = |rng: &mut StdRng| {
            let far = [-0.69, 0.0, 0.0, 0.0, 0.0, 0.69][rng.random_range(0..6)];
            far + rng.random_range(-0.02..0.02)
        };
        [Box::new(|rng| rng.random_range(-0.1..0.1)), Box::new(modes)]
    }

    #[test]
    fn errors_are_as_rare_as_promised() {
        let mut rng = StdRng::seed_from_u64(11);
        for noise in noises() {
            let mut wrong = 0;
            for _ in 0..1000 {
                // At the bound, where a win is easiest to claim and wrong; and the same for a loss.
                wrong += usize::from(decided(EQUAL, &noise, &mut rng) == Some(Verdict::Wins));
                wrong += usize::from(decided(-EQUAL, &noise, &mut rng) == Some(Verdict::Loses));
                wrong += usize::from(decided(1.5 * EQUAL, &noise, &mut rng) == Some(Verdict::Equal));
            }
            assert!(wrong <= 10, "{wrong} of 3000, of which each errs with a third of 1% at the most");
        }
    }

    #[test]
    fn what_is_far_enough_apart_is_told_and_near_copies_are_equal() {
        let mut rng = StdRng::seed_from_u64(12);
        let quiet = |rng: &mut StdRng| rng.random_range(-0.01..0.01);
        for (gain, verdict) in [(0.05, Verdict::Wins), (-0.05, Verdict::Loses), (0.003, Verdict::Equal)] {
            let right = (0..1000).filter(|_| decided(gain, &quiet, &mut rng) == Some(verdict)).count();
            assert_eq!(right, 1000, "{gain}");
        }
        // One that is somewhat slower is told as soon as it cannot win, though whether it loses is not known by then.
        let all = |rng: &mut StdRng| (0..LOOKS[1]).map(|_| -EQUAL + quiet(rng)).collect::<Vec<f64>>();
        let told = (0..1000).filter(|_| look(&all(&mut rng), 3) == Some(Verdict::Equal)).count();
        assert!(told > 900, "{told}");
        let modes = &noises()[1];
        let told = (0..1000).filter(|_| decided(0.15, modes, &mut rng) == Some(Verdict::Wins)).count();
        assert!(told > 900, "{told}");
    }

    #[test]
    fn intervals_are_those_of_the_binomial_distribution() {
        let values: Vec<f64> = (1..=16).map(f64::from).collect();
        // 2 · (1 + 16 + 120 + 560) / 2¹⁶ is 2.1%, and without the last term 0.4%.
        assert_eq!(interval(&values, 0.022), (4.0, 13.0));
        assert_eq!(interval(&values, 0.020), (3.0, 14.0));
        assert_eq!(interval(&values[..7], 0.01), (f64::NEG_INFINITY, f64::INFINITY));
        assert_eq!(interval(&values[..8], 0.01), (1.0, 8.0));
        assert_eq!(interval(&[], 0.5).0, f64::NEG_INFINITY);
    }

    #[test]
    fn an_even_drift_is_in_no_pair() {
        // Rounds a b, b a, …: at the time t a sample takes 1 + t / 100.
        let at = |t: usize| 1.0 + t as f64 / 1000.0;
        let (one, other) = ([at(0), at(3), at(4), at(7)], [at(1), at(2), at(5), at(6)]);
        assert!(gains(&one, &other).iter().all(|gain| gain.abs() < 1e-5), "{:?}", gains(&one, &other));
        assert_eq!(gains(&[1.0; 5], &[2.0; 5]).len(), 2, "a round that is left over is none");
    }
}
