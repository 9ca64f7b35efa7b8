//! Evolution of a space's traces, guided by a cost model.
//!
//! ```text
//! best on record, templates, draws ► generation 0 ──► … ──► generation n
//!                                       │   children of parents that are chosen by what they gain:
//!                                       │   mutants, and mixtures of two
//!                                       ▼
//!                   all of them, each structure once, but what was measured ──► picks of the round
//! ```
//!
//! Generations take a few seconds, picks next to nothing: a search has the generations of a round ready when it comes to its picks, which
//! know all that was measured meanwhile.
//!
//! Source: `EvolutionarySearch` of TVM's MetaSchedule (`src/meta_schedule/search_strategy/evolutionary_search.cc`), with a
//! fitness over the instances of a dynamic shape (DietCode, MLSys 2022).
mod code;
mod objective;
mod pick;
mod population;
mod rated;
mod scale;
#[cfg(test)]
mod tests;

use std::collections::HashSet;

use rand::RngExt;
use rand::rngs::StdRng;

use self::objective::Goal;
use self::population::{Hash, Member, Population, distinct};
use self::scale::LEAST_ERROR;
use crate::Result;
use crate::config::Evolution;
use crate::schedule::Trace;
use crate::search::{Made, Proposal};
use crate::sketch::{Lowered, MicroKernel, Sampler, Space};

pub use self::objective::Objective;
pub use self::population::{Guidance, Known};
pub(super) use self::rated::{Measured, Rated};

/// The stages of random choices: the picks, the draws, the templates, which have none, then the generations.
const PICKS: u64 = 0;
const DRAWS: u64 = 1;
const TEMPLATES: u64 = 2;
const GENERATIONS: u64 = 3;

/// What a round asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    /// Where its random choices start.
    pub seed: u64,
    /// How many candidates, at the most.
    pub want: usize,
    /// How many of them are the space's templates, whatever promises more.
    pub templates: usize,
}

/// All candidates of an evolution.
#[derive(Debug)]
pub struct Generations {
    /// Those that were known before.
    known: Vec<Member>,
    /// The others, each structure once.
    raised: Vec<Member>,
}

impl Evolution {
    /// At most so many candidates as are asked for that are worth measuring, the most promising first; fewer where the space has no more.
    /// `known` are the best that were measured, the best first: they count as they were measured, whatever the model says of them,
    /// and are parents. What is in `taken` was measured or has failed, and is not returned. The same for a seed on any number of cores.
    ///
    /// # Errors
    /// A space in which nothing can be drawn: which limit says so.
    pub fn search(
        &self,
        by: Guidance<'_>,
        known: &[Known],
        taken: &HashSet<Hash>,
        asked: Asked,
    ) -> Result<Vec<Proposal>> {
        let generations = self.evolve(by, known, asked.seed)?;
        self.pick(by, generations, known, taken, asked)
    }

    /// The generations of a search that knows so much.
    ///
    /// # Errors
    /// As [`Evolution::search`].
    pub fn evolve(&self, by: Guidance<'_>, known: &[Known], seed: u64) -> Result<Generations> {
        let sampler = by.space.sampler()?;
        let (population, known) = Population::new(by, seed, self.parents(known), &[]);
        let mut seen: HashSet<Hash> = known.iter().map(|member| member.hash).collect();
        let of_families = population.raise(TEMPLATES, by.space.templates.len(), |at, _| {
            Some((Made::Template, by.space.apply(&by.space.templates[at]).ok()?))
        });
        let mut all = distinct(of_families, &mut seen);
        let drawn = self.drawn(&population, &sampler, self.population.saturating_sub(known.len() + all.len()));
        all.extend(distinct(drawn, &mut seen));
        if all.is_empty() && known.is_empty() {
            self.lowers(&population, &sampler)?;
        }
        let mut generation: Vec<Member> = known.iter().chain(&all).cloned().collect();
        for number in 0..self.generations {
            // Of what mutants are better than their parents, the model's error says nothing.
            let goal = goal(&population, LEAST_ERROR, &known, &all);
            let children = self.children(&population, &sampler, &generation, &goal, &seen, GENERATIONS + number as u64);
            let children = distinct(children, &mut seen);
            generation = survivors(generation, &children, &goal, (self.population, self.kept()));
            all.extend(children);
        }
        Ok(Generations { known, raised: all })
    }

    /// What is measured of the generations by a search that may have come to know more since they began.
    ///
    /// # Errors
    /// None, unless it could not carry out again what it has carried out.
    pub fn pick(
        &self,
        by: Guidance<'_>,
        generations: Generations,
        known: &[Known],
        taken: &HashSet<Hash>,
        Asked { seed, want, templates }: Asked,
    ) -> Result<Vec<Proposal>> {
        let (population, known) = Population::new(by, seed, self.parents(known), &generations.known);
        let left = generations.raised.into_iter().filter(|member| !taken.contains(&member.hash));
        let all: Vec<Member> = left.map(|member| member.on(&population.scale, &[])).collect();
        let random = (want as f64 * self.epsilon).round() as usize;
        let goal = goal(&population, population.scale.error, &known, &all);
        // A GPU's code has constants, and lowering may refuse that sizes are open.
        let Space { program, bounds, .. } = by.space;
        let parametric = |of: &Lowered| MicroKernel::of(of).parametric(program, &bounds.target);
        let is_open = |trace: &Trace| by.space.apply(trace).and_then(|of| parametric(&of)).is_ok_and(|of| of.is_some());
        let mut rng = population.rng(PICKS, 0);
        let selected = pick::pick(&all, &goal, Some(&is_open), want, (templates, random), &mut rng);
        let propose = |at: usize| all[at].proposal(by.space);
        by.cores.each(selected, by.stop, propose).into_iter().collect()
    }

    /// As many of the best that were measured as are parents.
    fn parents<'k>(&self, known: &'k [Known]) -> &'k [Known] {
        &known[..((self.population as f64 * self.from_database).round() as usize).min(known.len())]
    }

    /// How many parents live on among their children: what is not mutated, and at most a half, since what only crosses has to
    /// come in too.
    fn kept(&self) -> usize {
        (((1.0 - self.mutation) * self.population as f64).round() as usize).min(self.population / 2)
    }

    /// At most `want` random candidates that were not taken: what a search is worth without evolution and without a model.
    ///
    /// # Errors
    /// As [`Evolution::search`].
    pub fn random(&self, by: Guidance<'_>, taken: &HashSet<Hash>, seed: u64, want: usize) -> Result<Vec<Proposal>> {
        let sampler = by.space.sampler()?;
        let (population, _) = Population::new(by, seed, &[], &[]);
        let (mut seen, mut found) = (taken.clone(), Vec::new());
        for attempt in 0..self.retries as u64 {
            let left = want.saturating_sub(found.len());
            let drawn = population.raise(DRAWS + attempt, left, |_, rng| self.draw(&population, &sampler, rng));
            found.extend(distinct(drawn, &mut seen));
        }
        if found.is_empty() {
            self.lowers(&population, &sampler)?;
        }
        found.iter().map(|member| member.proposal(by.space)).collect()
    }

    /// Why nothing of a space can be lowered, if that is so: a user's own sketch may be none that holds.
    fn lowers(&self, population: &Population<'_>, sampler: &Sampler<'_>) -> Result<()> {
        let mut rng = population.rng(DRAWS, 0);
        let mut outcome = population.by.space.apply(&sampler.sample(&mut rng)).map(drop);
        for _ in 0..self.retries {
            outcome = outcome.or_else(|_| population.by.space.apply(&sampler.sample(&mut rng)).map(drop));
        }
        outcome
    }

    fn drawn(&self, population: &Population<'_>, sampler: &Sampler<'_>, count: usize) -> Vec<Member> {
        population.raise(DRAWS, count, |_, rng| self.draw(population, sampler, rng))
    }

    fn draw(&self, population: &Population<'_>, sampler: &Sampler<'_>, rng: &mut StdRng) -> Option<(Made, Lowered)> {
        let drawn = (0..self.retries).find_map(|_| population.by.space.apply(&sampler.sample(rng)).ok());
        drawn.map(|drawn| (Made::Drawn, drawn))
    }

    /// A child for each place of the population. A parent without a child that is new lives on by being a parent.
    fn children(
        &self,
        population: &Population<'_>,
        sampler: &Sampler<'_>,
        parents: &[Member],
        goal: &Goal,
        seen: &HashSet<Hash>,
        stage: u64,
    ) -> Vec<Member> {
        let mut whole = 0.0;
        let until: Vec<f64> = parents
            .iter()
            .map(|parent| {
                whole += goal.gain(&parent.expected);
                whole
            })
            .collect();
        let parent = |rng: &mut StdRng| {
            let at = rng.random::<f64>() * whole;
            parents.get(until.partition_point(|until| *until <= at)).or(parents.last())
        };
        let attempt = |rng: &mut StdRng| {
            let first = parent(rng)?;
            let (made, child) = if rng.random_bool(self.mutation) {
                let (mutator, mutant) = sampler.mutate(&first.trace, &self.mutators, rng)?;
                (Made::Mutant(mutator), mutant)
            } else {
                (Made::Crossover, sampler.crossover(&first.trace, &parent(rng)?.trace, rng)?)
            };
            let applied = population.by.space.apply(&child).ok().filter(|applied| !seen.contains(&applied.hash))?;
            Some((made, applied))
        };
        population.raise(stage, self.population, |_, rng| (0..self.retries).find_map(|_| attempt(rng)))
    }
}

fn goal<'a>(population: &Population<'_>, error: f64, known: &'a [Member], found: &'a [Member]) -> Goal {
    let rows = |members: &'a [Member]| members.iter().map(|member| &*member.expected);
    Goal::of(population.by.objective, error, &rows(known), &rows(found))
}

/// The next generation: the best parents, as many as are kept or as there are too few children for, and the best of the children.
fn survivors(
    mut parents: Vec<Member>,
    children: &[Member],
    goal: &Goal,
    (population, kept): (usize, usize),
) -> Vec<Member> {
    let by_gain = |a: &Member, b: &Member| goal.gain(&b.expected).total_cmp(&goal.gain(&a.expected));
    parents.sort_by(by_gain);
    parents.truncate(population.saturating_sub(children.len()).max(kept));
    let mut next = children.to_vec();
    next.sort_by(by_gain);
    next.truncate(population.saturating_sub(parents.len()));
    next.extend(parents);
    next
}
