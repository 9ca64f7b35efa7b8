//! Mutators: from a trace to one nearby, with other decisions of the same sketch.
//!
//! A mutator lists moves, each a few variables with new values. One that keeps all limits is taken, so that no mutant is
//! thrown away; a trace that no move of any mutator leads away from has none.
//!
//! Source: `Mutator` of TVM's MetaSchedule (`src/meta_schedule/mutator`). Its probabilities for CPUs are those of tile size, compute
//! location, unroll and parallel. On GPUs it has 0.02 for thread binding beside 0.08 for unroll; here nothing is free to be unrolled
//! there, so that threads change more often. Split-K and choice are not among its own.

mod choice;
mod compute_location;
mod crossover;
mod parallel;
mod split_k;
mod steps;
#[cfg(test)]
mod tests;
mod thread_binding;
mod tile_size;
mod unroll;

use rand::rngs::StdRng;
use rand::seq::SliceRandom;

use super::Space;
use super::footprint::Footprint;
use super::sample::{Bounded, Sampler, pick};
use crate::schedule::Trace;

/// New values of some variables.
type Move = Vec<(usize, i64)>;

/// A kind of moves.
struct Mutator {
    /// How often it is chosen, relative to the others that have moves.
    probability: f64,
    /// The moves from given values; some may break limits.
    moves: fn(&Footprint, &[i64]) -> Vec<Move>,
}

/// | mutator          | changes                                              | probability |
/// |------------------|------------------------------------------------------|-------------|
/// | tile size        | sizes of tiles, but for threads and orders of a grid | 0.9         |
/// | compute location | where a panel is filled                              | 0.05        |
/// | split-K          | blocks that share a sum                              | 0.05        |
/// | thread binding   | along which axes the threads of a block lie          | 0.05        |
/// | unroll           | how much is unrolled, where that is free             | 0.03        |
/// | choice           | widths of copies, padding                            | 0.03        |
/// | parallel         | what a parallel iteration carries out, their order   | 0.02        |
const MUTATORS: [Mutator; 7] = [
    Mutator { probability: 0.9, moves: tile_size::moves },
    Mutator { probability: 0.05, moves: compute_location::moves },
    Mutator { probability: 0.05, moves: split_k::moves },
    Mutator { probability: 0.05, moves: thread_binding::moves },
    Mutator { probability: 0.03, moves: unroll::moves },
    Mutator { probability: 0.03, moves: choice::moves },
    Mutator { probability: 0.02, moves: parallel::moves },
];

impl Space {
    /// A trace nearby, of the same sketch, that keeps all limits; none: there is none, or the trace has open decisions or breaks a
    /// limit itself.
    pub fn mutate(&self, trace: &Trace, rng: &mut StdRng) -> Option<Trace> {
        mutate(&Bounded::of(self, trace).ok()?, trace, rng)
    }

    /// A trace with some decisions of one parent and some of the other, each tile as a whole from one of them. None: they are not
    /// of one sketch, or no mixture keeps all limits and differs from both.
    pub fn crossover(&self, a: &Trace, b: &Trace, rng: &mut StdRng) -> Option<Trace> {
        crossover::crossover(&Bounded::of(self, a).ok()?, a, b, rng)
    }
}

impl Sampler<'_> {
    /// As [`Space::mutate`].
    pub fn mutate(&self, trace: &Trace, rng: &mut StdRng) -> Option<Trace> {
        self.with(trace, |bounded| Ok(mutate(bounded, trace, rng))).ok().flatten()
    }

    /// As [`Space::crossover`].
    pub fn crossover(&self, a: &Trace, b: &Trace, rng: &mut StdRng) -> Option<Trace> {
        self.with(a, |bounded| Ok(crossover::crossover(bounded, a, b, rng))).ok().flatten()
    }
}

fn mutate(bounded: &Bounded, trace: &Trace, rng: &mut StdRng) -> Option<Trace> {
    let values = bounded.values(trace).filter(|values| bounded.holds(values))?;
    let mut moves: Vec<Vec<Move>> =
        MUTATORS.iter().map(|mutator| (mutator.moves)(&bounded.footprint, &values)).collect();
    let probability =
        |(mutator, moves): (&Mutator, &Vec<Move>)| if moves.is_empty() { 0.0 } else { mutator.probability };
    let mut weights: Vec<f64> = MUTATORS.iter().zip(&moves).map(probability).collect();
    while let Some(n) = pick(&weights, rng) {
        moves[n].shuffle(rng);
        if let Some(values) = moves[n].iter().find_map(|step| carried_out(bounded, &values, step)) {
            return Some(bounded.trace(&values));
        }
        weights[n] = 0.0;
    }
    None
}

/// The values after a move, if they are others and keep all limits.
fn carried_out(bounded: &Bounded, values: &[i64], step: &Move) -> Option<Vec<i64>> {
    let mut new = values.to_vec();
    for (var, value) in step {
        let free = *value == values[*var] || !bounded.is_fixed(*var);
        (free && bounded.footprint.vars[*var].admits(*value)).then(|| new[*var] = *value)?;
    }
    (new != values && bounded.holds(&new)).then_some(new)
}
