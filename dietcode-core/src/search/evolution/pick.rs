//! Which of the candidates of an evolution are measured: most of them by what they promise, some of each sketch, some at random.

use std::collections::{BTreeMap, HashSet};

use rand::rngs::StdRng;
use rand::seq::SliceRandom;

use super::code::{Codes, IsOpen, Shared};
use super::objective::Goal;
use super::population::Member;
use crate::ir::Name;
use crate::search::Made;

/// So many of one register tile are picked before another counts twice as much.
const OF_A_TILE: f64 = 4.0;

/// A candidate with the code of another pick counts so many times as much as one whose code is to be compiled, which takes longer than all that is
/// measured of it: what is gained in a second counts, not in a trial. What an earlier round has compiled is no better than what it was measured at.
const IS_COMPILED: f64 = 2.0;

/// Candidates are copies of each other if their features are no farther apart: the root of the sum of the squared differences of their
/// binary logarithms. Two that are no farther apart differ by 8% in measured speed, in the median of four recorded searches of the dense layer
/// and of a batched product, as do those with equal features; those that are 32 to 64 apart differ by 16%.
const NEAR: f32 = 2.0;

/// So many copies of a pick are picked too, as long as there is something else.
const COPIES: usize = 3;

/// The share of a round that is for sketches of which nothing was picked: the best of each.
const FOR_SKETCHES: f64 = 0.25;

/// Positions of at most `want` members, the most promising first. Of them `templates` are of families, first, as far as there are so many;
/// and `random` are drawn from all, last: what a model takes for bad is how it learns.
///
/// The others are a greedy cover of the instances: each is the one that gains most after those before it. Those of a register tile
/// that was picked n times count 1 / (1 + n / [`OF_A_TILE`]) of that: most of what a model is wrong about is the code of the tile, which
/// all of them share, so they would be wrong together. For the same reason copies are capped, and no sketch goes without a pick
/// as long as there is room for it in its share of a round. Where candidates share code, if sizes may be left open as `is_open` says, those of a
/// code that was picked count more.
pub(super) fn pick(
    members: &[Member],
    goal: &Goal,
    is_open: Option<&IsOpen<'_>>,
    want: usize,
    (templates, random): (usize, usize),
    rng: &mut StdRng,
) -> Vec<usize> {
    let mut picks = Picks::of(members, goal, is_open.map(|is_open| Shared::of(members, is_open)));
    let promising = want.saturating_sub(random);
    while picks.selected.len() < templates.min(promising) && picks.take(|at| members[at].made == Made::Template) {}
    let first = promising - ((want as f64 * FOR_SKETCHES) as usize).min(promising);
    while picks.selected.len() < first && picks.take(|_| true) {}
    while picks.selected.len() < promising {
        let sketches: HashSet<usize> = picks.selected.iter().map(|at| picks.sketches[*at]).collect();
        let of_others: Vec<bool> = picks.sketches.iter().map(|sketch| !sketches.contains(sketch)).collect();
        if !picks.take(|at| of_others[at]) && !picks.take(|_| true) {
            break;
        }
    }
    let Picks { mut selected, mut left, .. } = picks;
    left.shuffle(rng);
    left.truncate(want.saturating_sub(selected.len()));
    selected.extend(left);
    selected
}

/// A register tile.
type Tile = Vec<(Name, i64)>;

/// The picks of a round so far.
struct Picks<'a> {
    members: &'a [Member],
    goal: Goal,
    /// Positions, as are those below.
    left: Vec<usize>,
    selected: Vec<usize>,
    /// The number of the sketch of each.
    sketches: Vec<usize>,
    /// What code they share, if they do.
    code: Option<Shared<'a>>,
    /// The register tile of each, and how many of it are picked.
    tiles: Vec<Tile>,
    of_tile: BTreeMap<Tile, usize>,
    /// How many copies of each are picked.
    copies: Vec<usize>,
}

impl<'a> Picks<'a> {
    fn of(members: &'a [Member], goal: &Goal, code: Option<Shared<'a>>) -> Picks<'a> {
        let mut codes = Codes::default();
        Picks {
            members,
            goal: goal.clone(),
            left: (0..members.len()).collect(),
            selected: Vec::new(),
            sketches: members.iter().map(|member| codes.sketch(&member.trace)).collect(),
            code,
            tiles: members.iter().map(|member| member.trace.register_tile()).collect(),
            of_tile: BTreeMap::new(),
            copies: vec![0; members.len()],
        }
    }

    /// Picks the one of those that gains most, if there is any; one with too many copies only if all have.
    fn take(&mut self, of: impl Fn(usize) -> bool) -> bool {
        let gain = |at: usize| {
            let of_tile = self.of_tile.get(&self.tiles[at]).copied().unwrap_or(0) as f64;
            let is_compiled = self.code.as_ref().is_some_and(|shared| shared.has(at));
            let gain = self.goal.gain(&self.members[at].expected) / (1.0 + of_tile / OF_A_TILE);
            if is_compiled { IS_COMPILED * gain } else { gain }
        };
        let best = |is_capped: bool| {
            let open = self.left.iter().enumerate().filter(|(_, at)| of(**at));
            let open = open.filter(|(_, at)| (self.copies[**at] > COPIES) == is_capped);
            let gains = open.map(|(place, at)| (place, gain(*at)));
            gains.reduce(|best, found| if found.1 > best.1 { found } else { best })
        };
        let Some((place, _)) = best(false).or_else(|| best(true)) else { return false };
        let at = self.left.remove(place);
        let picked = &self.members[at];
        self.goal.take(&picked.expected);
        *self.of_tile.entry(self.tiles[at].clone()).or_default() += 1;
        self.code.iter_mut().for_each(|shared| shared.pick(at));
        for other in &self.left {
            self.copies[*other] += usize::from(picked.distance(&self.members[*other]) <= NEAR);
        }
        self.selected.push(at);
        true
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rand::SeedableRng;

    use super::*;
    use crate::schedule::{Axis, Factor, Instruction, Level, Part, Size, Tail, Trace};

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
        let (predicted, features) = (Vec::new(), Vec::new());
        Member { trace, hash: [0; 32], made: Made::Drawn, predicted, expected: row.to_vec(), features }
    }

    fn selected(rows: &[[f64; 2]], want: usize, random: usize) -> Vec<usize> {
        picked(&members(rows), want, random)
    }

    fn picked(members: &[Member], want: usize, random: usize) -> Vec<usize> {
        let goal = Goal::to_improve_on(&[100.0; 2]);
        pick(members, &goal, None, want, (0, random), &mut StdRng::seed_from_u64(1))
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

    #[test]
    fn copies_are_capped_as_long_as_there_is_something_else() {
        let mut members = members(&(0..40).map(|n| [200.0 - f64::from(n), 100.0]).collect::<Vec<_>>());
        members[..20].iter_mut().for_each(|member| member.features = vec![0.0]);
        let of_copies = |want: usize| picked(&members, want, 0).into_iter().filter(|at| *at < 20).count();
        assert_eq!(of_copies(20), COPIES + 1);
        assert_eq!(of_copies(30), 10, "what is left are copies");
    }

    #[test]
    fn a_share_of_a_round_is_for_sketches_without_a_pick() {
        let mut members = members(&(0..40).map(|n| [200.0 - f64::from(n), 100.0]).collect::<Vec<_>>());
        for (at, member) in members.iter_mut().enumerate().skip(37) {
            let unrolled = Instruction::Kind(crate::ir::ForKind::Unrolled, format!("i_{at}").as_str().into());
            member.trace.instructions = vec![unrolled].into();
        }
        let sketches = |want: usize| picked(&members, want, 0).into_iter().filter(|at| *at >= 37).collect::<Vec<_>>();
        assert_eq!(sketches(16), [37, 38, 39], "of each other one the best");
        assert_eq!(sketches(8), [37, 38], "as far as the share goes");
    }

    #[test]
    fn some_of_a_round_are_templates_first() {
        let mut members = members(&(0..40).map(|n| [200.0 - f64::from(n), 100.0]).collect::<Vec<_>>());
        members[30..].iter_mut().for_each(|member| member.made = Made::Template);
        let goal = Goal::to_improve_on(&[100.0; 2]);
        let picked = pick(&members, &goal, None, 8, (3, 0), &mut StdRng::seed_from_u64(1));
        assert_eq!((&picked[..4], picked.len()), (&[30, 31, 32, 0][..], 8));
    }

    #[test]
    fn of_candidates_that_promise_alike_those_count_more_that_share_code() {
        // Register tiles, each with a free size that differs.
        let factor = |var: &str, level| Factor { var: var.into(), level };
        let factors = vec![factor("i_block", Level::Block), factor("i_register", Level::Register)];
        let tiles = Instruction::SampleTiles(vec![Axis { name: "i".into(), factors }]);
        let split = |parent: &str, size: &str, tail, into: [&str; 2]| Instruction::Split {
            parent: parent.into(),
            factor: Size(vec![Part::Var(size.into())]),
            tail,
            into: into.map(Into::into),
        };
        let instructions: Arc<[Instruction]> = Arc::new([
            tiles,
            split("i", "i_register", Tail::Pad, ["i_tiles", "i_1"]),
            split("i_tiles", "i_block", Tail::Clip, ["i_0", "i_2"]),
        ]);
        let of = |tile: i64, block: i64| {
            let mut member = member(tile, &[100.0, 100.0]);
            member.trace.instructions = Arc::clone(&instructions);
            member.trace.decisions.insert("i_block".into(), block);
            member
        };
        let members: Vec<Member> = (0..32).map(|at| of(at % 8, at / 8)).collect();
        let tiles = |is_open: Option<&IsOpen<'_>>| {
            let goal = Goal::to_improve_on(&[100.0; 2]);
            let picks = pick(&members, &goal, is_open, 8, (0, 0), &mut StdRng::seed_from_u64(1));
            picks.into_iter().map(|at| at % 8).collect::<Vec<usize>>()
        };
        let all = |tiles: Vec<usize>| tiles.into_iter().collect::<HashSet<_>>().len() == 8;
        assert!(all(tiles(None)), "nobody shares code");
        assert!(all(tiles(Some(&|_: &Trace| false))), "sizes are not left open");
        assert_eq!(tiles(Some(&|_: &Trace| true)), [0, 0, 0, 0, 1, 1, 1, 1], "of one tile as many as there are");
    }
}
