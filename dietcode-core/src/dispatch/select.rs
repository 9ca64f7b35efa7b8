//! Picks the smallest set of micro-kernels that keeps every instance close to its best.

/// Subsets are tried one by one up to this many; beyond, the set is found greedily.
const MOST_SUBSETS: usize = 1 << 20;

/// Throughput of micro-kernels on instances, `[micro-kernel][instance]`; 0 where a micro-kernel was not measured.
#[derive(Clone, Copy, Debug)]
pub struct Scores<'a> {
    /// The matrix.
    pub scores: &'a [Vec<f64>],
    /// How much each instance counts.
    pub weights: &'a [f64],
    /// How far below the best of an instance its pick may be, as a fraction.
    pub tolerance: f64,
}

/// The micro-kernel (its row) for each instance, `None` for one that no micro-kernel was measured on.
///
/// As few different ones as possible so that each pick is within the tolerance of the best of its instance; among
/// equally small sets the one with the highest weighted throughput relative to the best.
pub fn select(scores: Scores<'_>) -> Vec<Option<usize>> {
    let cover = Cover::of(&scores);
    let greedy = cover.greedy();
    // No larger set is smaller, though there may be few of those again.
    let chosen = (1..=greedy.len()).find_map(|size| cover.smallest(size)).unwrap_or(greedy);
    let best_of = |instance: usize| {
        let chosen = chosen.iter().copied().filter(|row| cover.relative[*row][instance] > 0.0);
        chosen.max_by(|a, b| cover.relative[*a][instance].total_cmp(&cover.relative[*b][instance]))
    };
    (0..scores.weights.len()).map(best_of).collect()
}

/// Which micro-kernels are within the tolerance of the best of which instances.
struct Cover<'a> {
    /// Scores relative to the best of the instance.
    relative: Vec<Vec<f64>>,
    /// The rows that are good enough somewhere.
    rows: Vec<usize>,
    /// The instances on which at least one was measured.
    instances: Vec<usize>,
    weights: &'a [f64],
    enough: f64,
}

impl Cover<'_> {
    fn of<'a>(scores: &Scores<'a>) -> Cover<'a> {
        let best = |instance: usize| scores.scores.iter().map(|row| row[instance]).fold(0.0, f64::max);
        let bests: Vec<f64> = (0..scores.weights.len()).map(best).collect();
        let relative =
            |row: &Vec<f64>| row.iter().zip(&bests).map(|(s, b)| if *b > 0.0 { s / b } else { 0.0 }).collect();
        let instances: Vec<usize> = (0..bests.len()).filter(|instance| bests[*instance] > 0.0).collect();
        let mut cover = Cover {
            relative: scores.scores.iter().map(relative).collect(),
            rows: Vec::new(),
            instances,
            weights: scores.weights,
            enough: 1.0 - scores.tolerance,
        };
        let useful = |row: &usize| cover.instances.iter().any(|instance| cover.serves(*row, *instance));
        cover.rows = (0..cover.relative.len()).filter(useful).collect();
        cover
    }

    fn serves(&self, row: usize, instance: usize) -> bool {
        self.relative[row][instance] >= self.enough
    }

    /// The best of all sets of this size that serve every instance; `None` if none does, or there are too many to try.
    fn smallest(&self, size: usize) -> Option<Vec<usize>> {
        if subsets(self.rows.len(), size) > MOST_SUBSETS {
            return None;
        }
        let mut best: Option<(f64, Vec<usize>)> = None;
        for_each_subset(&self.rows, size, &mut |set| {
            let complete = self.instances.iter().all(|i| set.iter().any(|row| self.serves(*row, *i)));
            if complete && best.as_ref().is_none_or(|(value, _)| self.value(set) > *value) {
                best = Some((self.value(set), set.to_vec()));
            }
        });
        best.map(|(_, set)| set)
    }

    /// Adds the row that serves most of the instances that are left, until none is left.
    fn greedy(&self) -> Vec<usize> {
        let mut left = self.instances.clone();
        let mut set = Vec::new();
        while !left.is_empty() {
            let served =
                |row: usize| left.iter().filter(|i| self.serves(row, **i)).map(|i| self.weights[*i]).sum::<f64>();
            let next = self.rows.iter().copied().max_by(|a, b| served(*a).total_cmp(&served(*b)));
            let Some(next) = next.filter(|row| served(*row) > 0.0) else { break };
            left.retain(|i| !self.serves(next, *i));
            set.push(next);
        }
        set
    }

    fn value(&self, set: &[usize]) -> f64 {
        let of = |i: &usize| self.weights[*i] * set.iter().map(|row| self.relative[*row][*i]).fold(0.0, f64::max);
        self.instances.iter().map(of).sum()
    }
}

/// How many subsets of `size` there are, or `usize::MAX`.
fn subsets(of: usize, size: usize) -> usize {
    (0..size).try_fold(1usize, |n, i| Some(n.checked_mul(of - i)? / (i + 1))).unwrap_or(usize::MAX)
}

fn for_each_subset(rows: &[usize], size: usize, visit: &mut impl FnMut(&[usize])) {
    fn extend(rows: &[usize], size: usize, set: &mut Vec<usize>, visit: &mut impl FnMut(&[usize])) {
        if set.len() == size {
            return visit(set);
        }
        // Those behind the last place at which enough are left end nowhere.
        for (at, row) in rows.iter().enumerate().take((rows.len() + set.len() + 1).saturating_sub(size)) {
            set.push(*row);
            extend(&rows[at + 1..], size, set, visit);
            set.pop();
        }
    }
    extend(rows, size, &mut Vec::new(), visit);
}

#[cfg(test)]
mod tests {
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};

    use super::*;

    fn picks(scores: &[Vec<f64>], tolerance: f64) -> Vec<Option<usize>> {
        let weights = vec![1.0; scores[0].len()];
        select(Scores { scores, weights: &weights, tolerance })
    }

    #[test]
    fn one_that_is_good_enough_everywhere_is_enough() {
        let scores = [vec![100.0, 50.0, 0.0], vec![99.0, 99.0, 99.0], vec![50.0, 100.0, 100.0]];
        assert_eq!(picks(&scores, 0.02), [Some(1); 3]);
        assert_eq!(picks(&scores, 0.0), [Some(0), Some(2), Some(2)]);
    }

    #[test]
    fn an_instance_without_any_figure_has_no_pick() {
        assert_eq!(picks(&[vec![0.0, 10.0], vec![0.0, 20.0]], 0.02), [None, Some(1)]);
        assert_eq!(picks(&[vec![0.0]], 0.02), [None]);
    }

    #[test]
    fn every_pick_is_within_the_tolerance_and_the_set_is_no_larger_than_the_greedy_one() {
        let mut rng = StdRng::seed_from_u64(1);
        for _ in 0..200 {
            let (rows, instances) = (rng.random_range(1..12), rng.random_range(1..9));
            let row = |rng: &mut StdRng| (0..instances).map(|_| rng.random_range(90.0..100.0)).collect::<Vec<f64>>();
            let scores: Vec<Vec<f64>> = (0..rows).map(|_| row(&mut rng)).collect();
            let weights = vec![1.0; instances];
            let scores = Scores { scores: &scores, weights: &weights, tolerance: 0.02 };
            let picks = select(scores);
            let cover = Cover::of(&scores);
            for (instance, pick) in picks.iter().enumerate() {
                assert!(cover.serves(pick.unwrap(), instance), "{scores:?} {picks:?}");
            }
            let mut used: Vec<usize> = picks.iter().flatten().copied().collect();
            used.sort_unstable();
            used.dedup();
            assert!(used.len() <= cover.greedy().len());
        }
    }

    /// Of 36, subsets of 30 are few, and those of 1 to 30 that begin them are not.
    #[test]
    fn sets_that_are_larger_than_what_was_found_are_not_tried() {
        let row = |row: usize| (0..6).map(|i| if row % 6 == i { 100.0 + row as f64 / 100.0 } else { 1.0 }).collect();
        let scores: Vec<Vec<f64>> = (0..36).map(row).collect();
        assert_eq!(picks(&scores, 0.02).len(), 6);
        let mut seen = 0;
        for_each_subset(&(0..36).collect::<Vec<_>>(), 34, &mut |_| seen += 1);
        assert_eq!(seen, subsets(36, 34));
    }

    #[test]
    fn many_candidates_are_covered_greedily() {
        // 64 candidates, each good at one of 64 instances: no subset that is small enough to be listed will do.
        let scores: Vec<Vec<f64>> =
            (0..64).map(|row| (0..64).map(|i| if i == row { 100.0 } else { 1.0 }).collect()).collect();
        assert_eq!(picks(&scores, 0.02), (0..64).map(Some).collect::<Vec<_>>());
    }
}
