//! Shapes of a config's range that stand for all of it: what is predicted at them decides which micro-kernels there are, and where the
//! tree between them splits.

use std::collections::BTreeSet;

#[cfg(feature = "tuner")]
use rand::rngs::StdRng;
#[cfg(feature = "tuner")]
use rand::{RngExt, SeedableRng};

use super::InRange;
use crate::config::{Config, WklInst};

/// The most shapes.
const MOST: usize = 256;

/// So many times as many points are drawn at the most: some have the shape of another.
const DRAWS: usize = 16;

/// Bases of Halton's sequences, one for each variable that a nest may have.
const PRIMES: [usize; 12] = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37];

/// Shapes in the range of some instances of a config, at most 256, none of them an instance's and always the same: all combinations
/// of the values of its workload variables, or, where these are too many, the corners and points that fill it evenly. `accept` says of
/// a shape whether the nest can have it: some extent may be negative there, or a tensor too large.
pub(super) fn sampled(
    config: &Config,
    vars: &[String],
    instances: &[WklInst],
    accept: impl Fn(&[i64]) -> bool,
) -> InRange {
    let is_accepted = |shape: &Vec<i64>| shape.iter().all(|extent| *extent > 0) && accept(shape);
    let shape_of = |wkl: &WklInst| config.shape_of(vars, wkl).ok().filter(is_accepted);
    let measured: BTreeSet<Vec<i64>> = instances.iter().filter_map(shape_of).collect();
    let axes: Vec<(String, Vec<i64>)> = config
        .range_of(instances)
        .into_iter()
        .map(|(name, range)| {
            let known = instances.iter().filter_map(|wkl| wkl.get(&name).copied());
            let values = values(range, known);
            (name, values)
        })
        .collect();
    let count = axes.iter().fold(1usize, |product, (_, values)| product.saturating_mul(values.len()));
    let at = |place: &dyn Fn(usize, usize) -> usize| -> WklInst {
        axes.iter().enumerate().map(|(n, (name, values))| (name.clone(), values[place(n, values.len())])).collect()
    };
    let is_new = |shape: &Vec<i64>| !measured.contains(shape);
    if count <= MOST {
        // The digits of a number, each to the base of its axis.
        let below = |axis: usize| axes[..axis].iter().map(|(_, values)| values.len()).product::<usize>();
        let all = (0..count).map(|n| at(&|axis, length| n / below(axis) % length));
        let with_shape = |wkl: WklInst| Some((shape_of(&wkl).filter(is_new)?, wkl));
        return all.filter_map(with_shape).collect();
    }
    let corners = (0..1usize << axes.len().min(MOST.ilog2() as usize - 1))
        .map(|corner| at(&|axis, length| if corner >> axis.min(63) & 1 == 1 { length - 1 } else { 0 }));
    let inside = (1..=DRAWS * MOST).map(|n| at(&|axis, length| (halton(n, axis) * length as f64) as usize));
    let mut shapes = InRange::new();
    for wkl in corners.chain(inside) {
        if shapes.len() == MOST {
            break;
        }
        shapes.extend(shape_of(&wkl).filter(is_new).map(|shape| (shape, wkl)));
    }
    shapes
}

/// So many draws make a shape that is accepted, or there are too few of those.
#[cfg(feature = "tuner")]
const TRIES: usize = 64;

/// Workload instances in the range of a config's instances that are accepted by their shapes: all of the range, or, where it has more than
/// `count`, so many that are drawn evenly by the logarithms of the values.
#[cfg(feature = "tuner")]
pub fn drawn(
    config: &Config,
    vars: &[String],
    (count, seed): (usize, u64),
    mut accept: impl FnMut(&[i64]) -> bool,
) -> Vec<WklInst> {
    let range = config.range_of(&config.wkl_insts);
    let mut is_accepted = |wkl: &WklInst| config.shape_of(vars, wkl).is_ok_and(|shape| accept(&shape));
    let width = |[least, most]: &[i64; 2]| usize::try_from(most - least + 1).unwrap_or(usize::MAX);
    let all = range.values().map(width).fold(1usize, usize::saturating_mul);
    if all <= count {
        let mut wkl_insts = vec![WklInst::new()];
        for (name, [least, most]) in &range {
            let with = |wkl: &WklInst, value| wkl.clone().into_iter().chain([(name.clone(), value)]).collect();
            wkl_insts = wkl_insts.iter().flat_map(|wkl| (*least..=*most).map(move |value| with(wkl, value))).collect();
        }
        wkl_insts.retain(is_accepted);
        return wkl_insts;
    }
    let mut random = StdRng::seed_from_u64(seed);
    let mut value = |[least, most]: [i64; 2]| {
        let logarithm = random.random_range((least as f64 + 0.5).ln()..(most as f64 + 1.0).ln().max(1e-9));
        (logarithm.exp() as i64).clamp(least, most)
    };
    let mut wkl_insts = BTreeSet::new();
    for _ in 0..TRIES * count {
        if wkl_insts.len() == count {
            break;
        }
        let wkl: WklInst = range.iter().map(|(name, range)| (name.clone(), value(*range))).collect();
        wkl_insts.extend(Some(wkl).filter(&mut is_accepted));
    }
    wkl_insts.into_iter().collect()
}

/// Values of a range in ascending order: its ends, known values, powers of two and what lies beside them, and between two powers a prime.
fn values([least, most]: [i64; 2], known: impl Iterator<Item = i64>) -> Vec<i64> {
    let powers = (0..i64::BITS - 2).map(|n| 1i64 << n);
    let of_power = powers.flat_map(|power| [power - 1, power, power + 1, prime_up_to(power + power / 2)]);
    let all =
        [least, most].into_iter().chain(known).chain(of_power.take_while(|value| *value <= most.saturating_mul(2)));
    let all: BTreeSet<i64> = all.filter(|value| (least..=most).contains(value)).collect();
    all.into_iter().collect()
}

/// The largest prime up to a number; 1 below 2.
fn prime_up_to(number: i64) -> i64 {
    let is_prime = |n: &i64| (2..).take_while(|divisor| divisor * divisor <= *n).all(|divisor| n % divisor != 0);
    (2..=number).rev().find(is_prime).unwrap_or(1)
}

/// The n-th number of Halton's sequence of an axis, in 0..1.
pub(super) fn halton(mut n: usize, axis: usize) -> f64 {
    let base = PRIMES[axis % PRIMES.len()];
    let (mut value, mut digit) = (0.0, 1.0);
    while n > 0 {
        digit /= base as f64;
        value += digit * (n % base) as f64;
        n /= base;
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(range: &str, instances: &str) -> Config {
        let text = format!(
            r#"{{"kernel": {{"source": "ops.rs", "function": "f"}}, "shape": {{"M": "16*T", "N": "B"}},
                "wkl_insts": {instances}, "range": {range}}}"#
        );
        Config::parse("c.json", text).unwrap()
    }

    fn accepted(range: &str, instances: &str, accept: impl Fn(&[i64]) -> bool) -> Vec<Vec<i64>> {
        let config = config(range, instances);
        sampled(&config, &["M".to_owned(), "N".to_owned()], &config.wkl_insts, accept).into_keys().collect()
    }

    fn shapes(range: &str, instances: &str) -> Vec<Vec<i64>> {
        accepted(range, instances, |_| true)
    }

    #[test]
    fn what_the_nest_cannot_have_is_left_out() {
        for range in [r#"{"B": [1, 40]}"#, r#"{"T": [1, 2048], "B": [1, 4096]}"#] {
            let all = accepted(range, r#"[{"T": 3, "B": 3}, {"T": 5, "B": 40}]"#, |shape| shape[1] >= 2);
            assert!(all.len() > 16 && all.iter().all(|shape| shape[1] >= 2), "{all:?}");
        }
    }

    #[test]
    fn values_are_ends_powers_their_neighbours_and_primes() {
        assert_eq!(values([1, 40], [10].into_iter()), [1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 15, 16, 17, 23, 31, 32, 33, 40]);
        assert_eq!((values([0, 0], [].into_iter()), values([24, 27], [24, 27].into_iter())), (vec![0], vec![24, 27]));
        let last = values([1, 1 << 31], [].into_iter());
        assert!(last.len() < 130 && last.last() == Some(&(1 << 31)), "{last:?}");
    }

    #[test]
    fn a_short_range_is_taken_whole_without_its_instances() {
        let rows = |range: &str| {
            let all = shapes(range, r#"[{"T": 3, "B": 7}, {"T": 5, "B": 7}]"#);
            assert!(all.iter().all(|shape| shape[1] == 7), "{all:?}");
            all.iter().map(|shape| shape[0] / 16).collect::<Vec<_>>()
        };
        assert_eq!(rows(r#"{"T": [2, 9]}"#), [2, 4, 7, 8, 9]);
        // Undeclared: a factor of two around.
        assert_eq!(rows("{}"), [1, 2, 4, 7, 8, 9, 10]);
    }

    #[test]
    fn a_long_range_has_its_corners_and_is_filled_evenly() {
        let range = r#"{"T": [1, 2048], "B": [1, 4096]}"#;
        let all = shapes(range, r#"[{"T": 3, "B": 7}, {"T": 5, "B": 9}]"#);
        assert_eq!(all.len(), MOST);
        for corner in [[16, 1], [16, 4096], [32768, 1], [32768, 4096]] {
            assert!(all.contains(&corner.to_vec()), "{corner:?}");
        }
        assert!(!all.contains(&vec![48, 7]));
        let small = all.iter().filter(|shape| shape[1] < 64).count();
        assert!((MOST / 3..2 * MOST / 3).contains(&small), "{small}");
        assert_eq!(all, shapes(range, r#"[{"T": 5, "B": 9}, {"T": 3, "B": 7}]"#));
    }

    #[cfg(feature = "tuner")]
    #[test]
    fn shapes_are_drawn_from_the_range_or_are_all_of_it() {
        let vars = ["M".to_owned(), "N".to_owned()];
        let of = |range: &str, count| {
            let config = config(range, r#"[{"T": 3, "B": 7}, {"T": 5, "B": 8}]"#);
            let small = |shape: &[i64]| shape[0] * shape[1] < 1 << 20;
            drawn(&config, &vars, (count, 1), small).iter().map(|wkl| (wkl["T"], wkl["B"])).collect::<Vec<_>>()
        };
        assert_eq!(of(r#"{"T": [3, 5], "B": [7, 8]}"#, 6), [(3, 7), (4, 7), (5, 7), (3, 8), (4, 8), (5, 8)]);
        let many = of(r#"{"T": [1, 4096], "B": [1, 4096]}"#, 100);
        assert!(many.len() == 100 && many.iter().all(|(t, b)| 16 * t * b < 1 << 20), "{many:?}");
        let small = many.iter().filter(|(_, b)| *b < 64).count();
        assert!((40..90).contains(&small) && many.iter().any(|(t, _)| *t > 1024), "{small}");
        assert_eq!(of(r#"{"T": [1, 4096], "B": [1, 4096]}"#, 100), many);
    }

    #[test]
    fn a_sequence_fills_its_range() {
        let mut values: Vec<f64> = (1..=64).map(|n| halton(n, 0)).collect();
        values.sort_by(f64::total_cmp);
        assert!(values.windows(2).all(|pair| pair[1] - pair[0] <= 1.0 / 32.0) && values[0] < 0.02 && values[63] > 0.98);
    }
}
