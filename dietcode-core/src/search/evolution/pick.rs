//! Which of the candidates of an evolution are measured: most of them by what they promise, some at random.

use rand::rngs::StdRng;
use rand::seq::SliceRandom;

use super::objective::Goal;
use super::population::Member;

/// Positions of at most `want` members, the most promising first. Of them `random` are drawn from all, last: what a model takes
/// for bad is how it learns.
///
/// The others are a greedy cover of the instances: each is the one that gains most after those before it.
pub(super) fn pick(members: &[Member], goal: &Goal, want: usize, random: usize, rng: &mut StdRng) -> Vec<usize> {
    let mut goal = goal.clone();
    let mut left: Vec<usize> = (0..members.len()).collect();
    let mut selected = Vec::new();
    while selected.len() + random < want && !left.is_empty() {
        let gains = left.iter().map(|at| goal.gain(&members[*at].predicted));
        let best =
            gains.enumerate().fold((0, f64::NEG_INFINITY), |best, found| if found.1 > best.1 { found } else { best });
        let at = left.remove(best.0);
        goal.take(&members[at].predicted);
        selected.push(at);
    }
    left.shuffle(rng);
    left.truncate(want.saturating_sub(selected.len()));
    selected.extend(left);
    selected
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;
    use crate::schedule::Trace;
    use crate::search::evolution::Objective;

    fn members(rows: &[[f64; 2]]) -> Vec<Member> {
        let member = |row: &[f64; 2]| Member { trace: Trace::default(), hash: [0; 32], predicted: row.to_vec() };
        rows.iter().map(member).collect()
    }

    fn selected(rows: &[[f64; 2]], want: usize, random: usize) -> Vec<usize> {
        let members = members(rows);
        let objective =
            Objective { instances: vec![vec![1]; 2], weights: vec![1.0; 2], units: 1, best: vec![100.0; 2] };
        let goal = Goal::of(&objective, &std::iter::empty(), &std::iter::empty());
        pick(&members, &goal, want, random, &mut StdRng::seed_from_u64(1))
    }

    #[test]
    fn the_picks_of_a_round_serve_all_instances() {
        // Five are good at the first instance; the second would have to wait for all of them.
        let rows = [[200.0, 10.0], [199.0, 10.0], [198.0, 10.0], [197.0, 10.0], [196.0, 10.0], [10.0, 150.0]];
        assert_eq!(selected(&rows, 2, 0), [0, 5]);
    }

    #[test]
    fn a_small_pool_is_selected_whole() {
        let rows = [[1.0, 1.0], [3.0, 3.0], [2.0, 2.0]];
        assert_eq!(selected(&rows, 64, 3).len(), 3);
        assert_eq!(selected(&rows, 64, 0)[0], 1);
        assert_eq!(selected(&[], 64, 3), [0usize; 0]);
    }

    #[test]
    fn some_are_selected_at_random() {
        let rows: Vec<[f64; 2]> = (0..100).map(|n| [100.0 + f64::from(n), 100.0]).collect();
        let found = selected(&rows, 10, 4);
        assert_eq!((found.len(), &found[..2]), (10, &[99, 98][..]));
        assert!(found[6..].iter().any(|at| *at < 80), "{found:?}");
    }
}
