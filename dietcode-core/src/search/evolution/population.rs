//! The candidates of an evolution: made on many threads, the same on any number of them.

use std::collections::HashSet;

use rand::SeedableRng;
use rand::rngs::StdRng;
use rayon::prelude::*;

use super::Objective;
use super::scale::Scale;
use crate::Result;
use crate::cost_model::features::COUNT;
use crate::cost_model::{CostModel, rows};
use crate::schedule::Trace;
use crate::search::{Made, Proposal};
use crate::sketch::{Lowered, Space};

/// The structure of a lowered program.
pub(super) type Hash = [u8; 32];

/// A candidate, without its loops: those of all generations together would not fit memory.
#[derive(Clone, Debug)]
pub(super) struct Member {
    pub(super) trace: Trace,
    pub(super) hash: Hash,
    pub(super) made: Made,
    /// GFLOP/s that are expected on each instance: what was measured, or else what the model says on the scale of that.
    pub(super) expected: Vec<f64>,
    /// Sums over its stores of their features, which are logarithms, at the last instance; none where there is no instance.
    pub(super) features: Vec<f32>,
}

impl Member {
    /// How far the features of two are apart; infinite where there are none.
    pub(super) fn distance(&self, other: &Member) -> f32 {
        let apart = self.features.iter().zip(&other.features).map(|(a, b)| (a - b).powi(2));
        let is_known = !self.features.is_empty() && !other.features.is_empty();
        if is_known { apart.sum::<f32>().sqrt() } else { f32::INFINITY }
    }

    /// The member with its loops, to be measured.
    pub(super) fn proposal(&self, space: &Space) -> Result<Proposal> {
        Ok(Proposal::of_space(space.apply(&self.trace)?, self.made))
    }
}

/// A candidate that was measured, or is on record.
#[derive(Clone, Debug)]
pub struct Known {
    /// Its loops.
    pub lowered: Lowered,
    /// GFLOP/s on each instance of the objective, where it was measured.
    pub gflops: Vec<Option<f64>>,
}

/// What makes members of traces.
pub(super) struct Population<'a> {
    pub(super) space: &'a Space,
    pub(super) model: &'a dyn CostModel,
    pub(super) objective: &'a Objective,
    pub(super) seed: u64,
    pub(super) scale: Scale,
}

/// Candidates whose figures are predicted at once.
const BATCH: usize = 16;

impl<'a> Population<'a> {
    /// With the members that were measured.
    pub(super) fn new(
        space: &'a Space,
        model: &'a dyn CostModel,
        objective: &'a Objective,
        seed: u64,
        known: &[Known],
    ) -> (Population<'a>, Vec<Member>) {
        let all: Vec<&Lowered> = known.iter().map(|known| &known.lowered).collect();
        let predicted = model.predict(&space.def, &all, &objective.instances, objective.units);
        let measured: Vec<&[Option<f64>]> = known.iter().map(|known| &*known.gflops).collect();
        let scale = Scale::of(&predicted, &measured, objective.instances.len());
        let member = |(known, predicted): (&Known, &Vec<f64>)| Member {
            trace: known.lowered.trace.clone(),
            hash: known.lowered.hash,
            made: Made::Recorded,
            expected: scale.expected(predicted, &known.gflops),
            features: features(&known.lowered, objective),
        };
        let members = known.iter().zip(&predicted).map(member).collect();
        (Population { space, model, objective, seed, scale }, members)
    }

    /// What `make` gives for each of `count` numbers, each with random choices of its own, so that it does not matter who comes
    /// first. `make` tries as often as it likes to find a trace that can be carried out and returns that with its loops.
    pub(super) fn raise(
        &self,
        stage: u64,
        count: usize,
        make: impl Fn(usize, &mut StdRng) -> Option<(Made, Lowered)> + Sync,
    ) -> Vec<Member> {
        let numbers: Vec<usize> = (0..count).collect();
        let batch = |numbers: &[usize]| {
            let raised = numbers.iter().filter_map(|number| make(*number, &mut self.rng(stage, *number as u64)));
            self.members(&raised.collect::<Vec<_>>())
        };
        numbers.par_chunks(BATCH).flat_map_iter(batch).collect()
    }

    /// What is expected of candidates that were not measured.
    pub(super) fn members(&self, applied: &[(Made, Lowered)]) -> Vec<Member> {
        let all: Vec<&Lowered> = applied.iter().map(|(_, applied)| applied).collect();
        let Objective { instances, units, .. } = self.objective;
        let predicted = self.model.predict(&self.space.def, &all, instances, *units);
        let member = |((made, applied), predicted): (&(Made, Lowered), Vec<f64>)| Member {
            trace: applied.trace.clone(),
            hash: applied.hash,
            made: *made,
            expected: self.scale.expected(&predicted, &[]),
            features: features(applied, self.objective),
        };
        applied.iter().zip(predicted).map(member).collect()
    }

    /// The random choices of one number in one stage.
    pub(super) fn rng(&self, stage: u64, number: u64) -> StdRng {
        let mut hasher = blake3::Hasher::new();
        [self.seed, stage, number].iter().for_each(|part| {
            hasher.update(&part.to_le_bytes());
        });
        StdRng::from_seed(*hasher.finalize().as_bytes())
    }
}

fn features(lowered: &Lowered, objective: &Objective) -> Vec<f32> {
    let Some(shape) = objective.instances.last() else { return Vec::new() };
    let rows = rows(lowered, shape, objective.units);
    let sum = |at: usize| rows.iter().map(|row| row[at]).sum();
    (0..COUNT).map(sum).collect()
}

/// The first of each structure.
pub(super) fn distinct(members: Vec<Member>, seen: &mut HashSet<Hash>) -> Vec<Member> {
    members.into_iter().filter(|member| seen.insert(member.hash)).collect()
}
