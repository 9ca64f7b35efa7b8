//! Which of the candidates of an evolution are measured: most of them by what they promise, some at random.

use std::collections::BTreeMap;

use rand::rngs::StdRng;
use rand::seq::SliceRandom;

use super::objective::Goal;
use super::population::Member;

/// So many of one register tile are picked before another counts twice as much. Those that share a tile share its compilation, too.
const OF_A_TILE: f64 = 4.0;

/// Positions of at most `want` members, the most promising first. Of them `random` are drawn from all, last: what a model takes
/// for bad is how it learns.
///
/// The others are a greedy cover of the instances: each is the one that gains most after those before it. Those of a register tile
/// that was picked n times count 1 / (1 + n / [`OF_A_TILE`]) of that: most of what a model is wrong about is the code of the tile, which
/// all of them share, so they would be wrong together.
pub(super) fn pick(members: &[Member], goal: &Goal, want: usize, random: usize, rng: &mut StdRng) -> Vec<usize> {
    let mut goal = goal.clone();
    let mut left: Vec<usize> = (0..members.len()).collect();
    let tiles: Vec<_> = members.iter().map(|member| member.trace.register_tile()).collect();
    let mut picked: BTreeMap<_, usize> = BTreeMap::new();
    let mut selected = Vec::new();
    while selected.len() + random < want && !left.is_empty() {
        let of_tile = |at: usize| picked.get(&tiles[at]).copied().unwrap_or(0) as f64;
        let gains = left.iter().map(|at| goal.gain(&members[*at].expected) / (1.0 + of_tile(*at) / OF_A_TILE));
        let best =
            gains.enumerate().fold((0, f64::NEG_INFINITY), |best, found| if found.1 > best.1 { found } else { best });
        let at = left.remove(best.0);
        goal.take(&members[at].expected);
        *picked.entry(&tiles[at]).or_default() += 1;
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
    use crate::schedule::{Axis, Factor, Instruction, Level, Trace};
    use crate::search::Made;

    fn members(rows: &[[f64; 2]]) -> Vec<Member> {
        // Each has a register tile of its own.
        rows.iter().enumerate().map(|(at, row)| member(at as i64, row)).collect()
    }

    /// One of a register tile.
    fn member(tile: i64, row: &[f64; 2]) -> Member {
        let factor = Factor { var: "i_register".into(), level: Level::Register };
        let axes = vec![Axis { name: "i".into(), factors: vec![factor] }];
        let mut trace = Trace { instructions: vec![Instruction::SampleTiles(axes)].into(), ..Trace::default() };
        trace.decisions.insert("i_register".into(), tile);
        Member { trace, hash: [0; 32], made: Made::Drawn, expected: row.to_vec() }
    }

    fn selected(rows: &[[f64; 2]], want: usize, random: usize) -> Vec<usize> {
        picked(&members(rows), want, random)
    }

    fn picked(members: &[Member], want: usize, random: usize) -> Vec<usize> {
        let goal = Goal::to_improve_on(&[100.0; 2]);
        pick(members, &goal, want, random, &mut StdRng::seed_from_u64(1))
    }

    #[test]
    fn the_picks_of_a_round_serve_all_instances() {
        // Five are good at the first instance; the second would have to wait for all of them.
        let rows = [[200.0, 10.0], [199.0, 10.0], [198.0, 10.0], [197.0, 10.0], [196.0, 10.0], [10.0, 150.0]];
        assert_eq!(selected(&rows, 2, 0), [0, 5]);
    }

    #[test]
    fn register_tiles_that_promise_alike_are_picked_alike() {
        let of = |tile: i64, gflops: f64| (0..32).map(move |_| member(tile, &[gflops, gflops]));
        let of_second = |gflops: f64| {
            let members: Vec<Member> = of(1, 120.0).chain(of(2, gflops)).collect();
            picked(&members, 16, 0).into_iter().filter(|at| *at >= 32).count()
        };
        assert!((4..=8).contains(&of_second(115.0)), "{}", of_second(115.0));
        assert_eq!(of_second(60.0), 0, "what is half as fast is not worth a trial");
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
