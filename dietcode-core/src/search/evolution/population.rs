//! The candidates of an evolution: made on all cores, the same on any number of them.

use std::collections::HashSet;
use std::sync::atomic::AtomicBool;

use rand::SeedableRng;
use rand::rngs::StdRng;

use super::Objective;
use super::scale::Scale;
use crate::Result;
use crate::cost_model::features::COUNT;
use crate::cost_model::{CostModel, rows};
use crate::measure::Cores;
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
    /// GFLOP/s that the model says of each instance.
    pub(super) predicted: Vec<f64>,
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

    /// With what is expected of it on a scale, if so much of it was measured.
    pub(super) fn on(self, scale: &Scale, measured: &[Option<f64>]) -> Member {
        Member { expected: scale.expected(&self.predicted, measured), ..self }
    }

    /// The member with its loops, to be measured.
    pub(super) fn proposal(&self, space: &Space) -> Result<Proposal> {
        Ok(Proposal::of_space(space.apply(&self.trace)?, self.made))
    }
}

/// A candidate that was measured, or is on record.
#[derive(Clone, Debug)]
pub struct Known {
    /// Its trace.
    pub trace: Trace,
    /// GFLOP/s on each instance of the objective, where it was measured.
    pub gflops: Vec<Option<f64>>,
}

/// What an evolution goes by, and who carries its candidates out.
#[derive(Clone, Copy)]
pub struct Guidance<'a> {
    /// Where candidates come from.
    pub space: &'a Space,
    /// What says how fast they are.
    pub model: &'a dyn CostModel,
    /// What counts.
    pub objective: &'a Objective,
    /// Where they are carried out, as long as neither a measurement nor a compiler wants them.
    pub cores: &'a Cores,
    /// No further one is carried out once this is set.
    pub stop: &'a AtomicBool,
}

/// What makes members of traces.
pub(super) struct Population<'a> {
    pub(super) by: Guidance<'a>,
    pub(super) seed: u64,
    pub(super) scale: Scale,
}

/// Candidates that are made in one piece of work: what waits for the core waits for that long.
const BATCH: usize = 4;

/// The stage of what is known, which makes no random choices.
const KNOWN: u64 = u64::MAX;

impl<'a> Population<'a> {
    /// With the members that were measured, of which some are `members` already.
    pub(super) fn new(
        by: Guidance<'a>,
        seed: u64,
        known: &[Known],
        members: &[Member],
    ) -> (Population<'a>, Vec<Member>) {
        let instances = by.objective.instances.len();
        let mut population = Population { by, seed, scale: Scale::of(&[], &[], instances) };
        let is_of = |known: &Known| members.iter().find(|member| member.trace == known.trace);
        let found: Vec<Option<&Member>> = known.iter().map(is_of).collect();
        let fresh: Vec<&Known> =
            known.iter().zip(&found).filter(|(_, found)| found.is_none()).map(|(of, _)| of).collect();
        let apply = |at: usize, _: &mut StdRng| Some((Made::Recorded, by.space.apply(&fresh[at].trace).ok()?));
        let mut raised = population.raise(KNOWN, fresh.len(), apply).into_iter().peekable();
        let mut rows: Vec<(Member, &Known)> = Vec::new();
        for (known, found) in known.iter().zip(found) {
            let raised = || raised.next_if(|member| member.trace == known.trace);
            rows.extend(found.cloned().or_else(raised).map(|member| (member, known)));
        }
        let predicted: Vec<&[f64]> = rows.iter().map(|(member, _)| &*member.predicted).collect();
        let measured: Vec<&[Option<f64>]> = rows.iter().map(|(_, known)| &*known.gflops).collect();
        population.scale = Scale::of(&predicted, &measured, instances);
        let expect = |(member, known): (Member, &Known)| member.on(&population.scale, &known.gflops);
        let members = rows.into_iter().map(expect).collect();
        (population, members)
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
        self.by.cores.each(numbers.chunks(BATCH).collect(), self.by.stop, batch).concat()
    }

    /// What is expected of candidates that were not measured.
    pub(super) fn members(&self, applied: &[(Made, Lowered)]) -> Vec<Member> {
        let all: Vec<&Lowered> = applied.iter().map(|(_, applied)| applied).collect();
        let Guidance { space, model, objective, .. } = self.by;
        let predicted = model.predict(&space.def, &all, &objective.instances, objective.units);
        let member = |((made, applied), predicted): (&(Made, Lowered), Vec<f64>)| Member {
            trace: applied.trace.clone(),
            hash: applied.hash,
            made: *made,
            expected: self.scale.expected(&predicted, &[]),
            predicted,
            features: features(applied, objective),
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
