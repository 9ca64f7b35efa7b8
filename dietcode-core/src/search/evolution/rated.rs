//! Candidates that are all there is, with what a model says of them: what evolution would come to if its generations had gone
//! through the whole of a small space.

use std::sync::atomic::AtomicBool;

use rand::SeedableRng;
use rand::rngs::StdRng;

use super::objective::{Goal, Objective};
use super::pick;
use super::population::{Guidance, Hash, Member, Population};
use super::scale::Scale;
use crate::Result;
use crate::config::Evolution;
use crate::cost_model::CostModel;
use crate::measure::Cores;
use crate::schedule::Trace;
use crate::search::Made;
use crate::sketch::Space;

/// A candidate (its position), with its GFLOP/s on each instance where it was measured.
pub(in crate::search) type Measured = (usize, Vec<Option<f64>>);

/// Candidates, by their positions.
#[derive(Clone, Debug)]
pub struct Rated {
    members: Vec<Member>,
}

/// Candidates that are lowered at once: their loops take memory.
const BATCH: usize = 16;

impl Rated {
    /// Carries traces out and predicts what they reach at the instances of an objective.
    ///
    /// # Errors
    /// A trace that the space does not carry out: the reason.
    pub fn of(space: &Space, model: &dyn CostModel, objective: &Objective, traces: &[&Trace]) -> Result<Rated> {
        let (cores, stop) = (Cores::of_process(), AtomicBool::new(false));
        let (population, _) =
            Population::new(Guidance { space, model, objective, cores: &cores, stop: &stop }, 0, &[], &[]);
        let batch = |traces: &[&Trace]| {
            let applied =
                traces.iter().map(|trace| Ok((Made::Recorded, space.apply(trace)?))).collect::<Result<Vec<_>>>()?;
            Ok(population.members(&applied))
        };
        let members = cores.each(traces.chunks(BATCH).collect(), &stop, batch);
        Ok(Rated { members: members.into_iter().collect::<Result<Vec<Vec<Member>>>>()?.concat() })
    }

    /// The structure of a candidate.
    pub fn structure(&self, at: usize) -> Hash {
        self.members[at].hash
    }
}

impl Evolution {
    /// The picks of a round among candidates (positions) that were not measured, as [`Evolution::search`] picks from its
    /// generations. `known` are the best that were measured.
    pub fn pick_among(
        &self,
        rated: &Rated,
        (left, known): (&[usize], &[Measured]),
        objective: &Objective,
        seed: u64,
        want: usize,
    ) -> Vec<usize> {
        let of = |at: usize| rated.members[at].clone();
        let predicted: Vec<&[f64]> = known.iter().map(|(at, _)| &*rated.members[*at].predicted).collect();
        let measured: Vec<&[Option<f64>]> = known.iter().map(|(_, gflops)| &**gflops).collect();
        let scale = Scale::of(&predicted, &measured, objective.instances.len());
        let known: Vec<Member> = known.iter().map(|(at, gflops)| of(*at).on(&scale, gflops)).collect();
        let scaled = |at: &usize| of(*at).on(&scale, &[]);
        let members: Vec<Member> = left.iter().map(scaled).collect();
        let found = members.iter().map(|member| &*member.expected);
        let goal = Goal::of(objective, scale.error, &known.iter().map(|member| &*member.expected), &found);
        let random = (want as f64 * self.epsilon).round() as usize;
        let selected = pick::pick(&members, &goal, None, want, (0, random), &mut StdRng::seed_from_u64(seed));
        selected.into_iter().map(|at| left[at]).collect()
    }
}
