//! Mutators: from a trace to one nearby, with other decisions of the same sketch.
//!
//! A mutator lists moves, each a few variables with new values. One that keeps all limits is taken, so that no mutant is
//! thrown away; a trace that no move of any mutator leads away from has none. How often each is chosen stands in
//! [`Mutators`].

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

use super::footprint::Footprint;
use super::sample::{Bounded, Sampler, pick};
use super::{Mutator, Mutators, Space};
use crate::schedule::Trace;

/// New values of some variables.
type Move = Vec<(usize, i64)>;

impl Mutator {
    /// The moves from given values; some may break limits.
    fn moves(self) -> fn(&Footprint, &[i64]) -> Vec<Move> {
        match self {
            Mutator::TileSize => tile_size::moves,
            Mutator::ComputeLocation => compute_location::moves,
            Mutator::SplitK => split_k::moves,
            Mutator::ThreadBinding => thread_binding::moves,
            Mutator::Unroll => unroll::moves,
            Mutator::Choice => choice::moves,
            Mutator::Parallel => parallel::moves,
        }
    }
}

impl Space {
    /// A trace nearby, of the same sketch, that keeps all limits, and the mutator that leads there; none: there is none by mutators
    /// that are ever chosen, or the trace has open decisions or breaks a limit itself.
    pub fn mutate(&self, trace: &Trace, mutators: &Mutators, rng: &mut StdRng) -> Option<(Mutator, Trace)> {
        mutate(&Bounded::of(self, trace).ok()?, trace, mutators, rng)
    }

    /// A trace with some decisions of one parent and some of the other, each tile as a whole from one of them. None: they are not
    /// of one sketch, or no mixture keeps all limits and differs from both.
    pub fn crossover(&self, a: &Trace, b: &Trace, rng: &mut StdRng) -> Option<Trace> {
        crossover::crossover(&Bounded::of(self, a).ok()?, a, b, rng)
    }
}

impl Sampler<'_> {
    /// As [`Space::mutate`].
    pub fn mutate(&self, trace: &Trace, mutators: &Mutators, rng: &mut StdRng) -> Option<(Mutator, Trace)> {
        self.with(trace, |bounded| Ok(mutate(bounded, trace, mutators, rng))).ok().flatten()
    }

    /// As [`Space::crossover`].
    pub fn crossover(&self, a: &Trace, b: &Trace, rng: &mut StdRng) -> Option<Trace> {
        self.with(a, |bounded| Ok(crossover::crossover(bounded, a, b, rng))).ok().flatten()
    }
}

fn mutate(bounded: &Bounded, trace: &Trace, mutators: &Mutators, rng: &mut StdRng) -> Option<(Mutator, Trace)> {
    let values = bounded.values(trace).filter(|values| bounded.holds(values))?;
    let mut moves = Mutator::ALL.map(|mutator| (mutator.moves())(&bounded.footprint, &values));
    let probability =
        |(mutator, moves): (Mutator, &Vec<Move>)| if moves.is_empty() { 0.0 } else { mutators.probability(mutator) };
    let mut weights: Vec<f64> = Mutator::ALL.into_iter().zip(&moves).map(probability).collect();
    while let Some(n) = pick(&weights, rng) {
        moves[n].shuffle(rng);
        if let Some(values) = moves[n].iter().find_map(|step| carried_out(bounded, &values, step)) {
            return Some((Mutator::ALL[n], bounded.trace(&values)));
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
