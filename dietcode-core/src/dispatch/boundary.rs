//! Shapes between neighbours at which different micro-kernels are the fastest: measured, they say where one ends and the other begins.

use std::collections::BTreeSet;

use super::InRange;
use super::grow;
use super::members::Matrix;
use crate::config::{Config, WklInst};

/// At most so many shapes at a time, those first between which most is at stake.
const MOST: usize = 32;

/// What is at stake where the one or the other loses no more than that, as a natural logarithm, is not worth a measurement.
const STAKE: f64 = 0.02;

/// Shapes half way between neighbours of a matrix at which different ones of some micro-kernels, by their positions among what was found,
/// are the fastest. Neighbours are two to both of which no third is nearer. `accept` says of a shape whether the nest can have it.
pub(super) fn between(
    config: &Config,
    vars: &[String],
    (matrix, members): (&Matrix, &[usize]),
    range: &InRange,
    accept: impl Fn(&[i64]) -> bool,
) -> InRange {
    let scores = |column: usize| members.iter().map(move |member| matrix.score_at(*member, column));
    let scores: Vec<Vec<f64>> = (0..matrix.shapes.len()).map(|column| scores(column).collect()).collect();
    let best = |at: usize| {
        let all = scores[at].iter().enumerate();
        all.max_by(|a, b| a.1.total_cmp(b.1)).map_or(0, |(member, _)| member)
    };
    let bests: Vec<usize> = (0..scores.len()).map(best).collect();
    let stake = |at: usize, other: usize| (scores[at][bests[at]] / scores[at][bests[other]]).ln();
    let distance = |a: usize, b: usize| -> f64 {
        let both = matrix.shapes[a].iter().zip(&matrix.shapes[b]);
        both.map(|(a, b)| ((*a).max(1) as f64 / (*b).max(1) as f64).ln().powi(2)).sum()
    };
    let all = 0..scores.len();
    let mut pairs = Vec::new();
    for one in all.clone() {
        for other in one + 1..scores.len() {
            let at_stake = if bests[one] == bests[other] { 0.0 } else { stake(one, other).min(stake(other, one)) };
            let own = distance(one, other);
            let is_between =
                |third: usize| third != one && third != other && distance(one, third).max(distance(other, third)) < own;
            if at_stake > STAKE && !all.clone().any(is_between) {
                pairs.push((at_stake, one, other));
            }
        }
    }
    pairs.sort_by(|a, b| b.0.total_cmp(&a.0));
    let known: BTreeSet<&Vec<i64>> = matrix.shapes.iter().collect();
    let half_way = |(_, one, other): &(f64, usize, usize)| {
        let (one, other) = (range.get(&matrix.shapes[*one])?, range.get(&matrix.shapes[*other])?);
        let value = |(name, value): (&String, &i64)| Some((name.clone(), middle(*value, *other.get(name)?)));
        let wkl: WklInst = one.iter().map(value).collect::<Option<_>>()?;
        let shape = config.shape_of(vars, &wkl).ok()?;
        (!known.contains(&shape) && accept(&shape)).then_some((shape, wkl))
    };
    pairs.iter().filter_map(half_way).take(MOST).collect()
}

/// Half way, as splits of a tree lie, and between them if something is.
fn middle(one: i64, other: i64) -> i64 {
    let [low, high] = [one.min(other), one.max(other)];
    if high - low < 2 { low } else { grow::middle(low, high).max(low + 1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_with_different_winners_are_bisected_where_it_matters() {
        let text = r#"{"kernel": {"source": "ops.rs", "function": "f"}, "shape": {"M": "16*T"}, "wkl_insts": [{"T": 1}, {"T": 64}]}"#;
        let config = Config::parse("c.json", text.to_owned()).unwrap();
        let vars = ["M".to_owned()];
        // The first is the best up to T = 20, but only a little so at T = 1; then the second is.
        let scores = |t: i64| if t <= 20 { [100.0, if t == 1 { 99.0 } else { 50.0 }] } else { [50.0, 100.0] };
        let mut matrix = Matrix::of_rows(vec![0, 1]);
        let mut range = InRange::new();
        for t in [1, 4, 16, 64, 100] {
            range.insert(vec![16 * t], [("T".to_owned(), t)].into());
            matrix.add(&[16 * t], &scores(t).map(Some), &[], true);
        }
        let mut found = Vec::new();
        for _ in 0..8 {
            let between = between(&config, &vars, (&matrix, &[0, 1]), &range, |_| true);
            for (shape, wkl) in between {
                found.push(wkl["T"]);
                matrix.add(&shape, &scores(wkl["T"]).map(Some), &[], true);
                range.insert(shape, wkl);
            }
        }
        assert_eq!(found, [32, 22, 18, 19, 20, 21]);
    }
}
