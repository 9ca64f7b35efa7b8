//! Covers of what was found: after the last round, where padding costs something at an instance, what is fast there may compute as much of
//! the output as it has whole tiles for, and another candidate the rest.
//!
//! Both parts are candidates, of which is known how fast they are. What a part takes is what is expected of its candidate at the part's
//! shape, and the whole the sum. Covers that are expected to be ahead are candidates then: they are checked and measured as others are, and
//! win an instance in the finals or not.

use std::collections::{BTreeMap, BTreeSet};

use super::candidate::geometric_mean;
use super::proposal::Proposal;
use super::{Part, Tuning, full};
use crate::Result;
use crate::doing::doing;
use crate::ir::Cut;
use crate::measure::Instance;
use crate::sketch::{Lowered, MicroKernel, tiles};

/// What padding has to cost at an instance, and what a cover has to be ahead there of the best that was measured, to be tried.
const WORTH: f64 = 1.03;

/// The most covers that are tried.
const MOST: usize = 4;

/// The candidates that may have the main part of an instance: the best there.
const MAINS: usize = 2;

/// Those that may have the rest.
const RESTS: usize = 8;

/// How many covers may pay: one at each instance at which something hangs over the edge of one of the best, and no more than are tried.
pub(super) fn wanted(tuning: &Tuning<'_>) -> usize {
    let cuts = cuts(tuning);
    let may_pay = |workload: &usize| !mains(tuning, &cuts, *workload).is_empty();
    (0..tuning.workloads.len()).filter(may_pay).take(MOST).count()
}

/// Measures the covers that are expected to be ahead at an instance, where they are, and those that were measured before the run, as long as
/// there is time, and no more than there are trials left.
pub(super) fn measure(tuning: &mut Tuning<'_>, left: Option<usize>) -> Result<()> {
    let cuts = cuts(tuning);
    if cuts.is_empty() || left == Some(0) || tuning.budget.is_over(Part::Finalists) {
        return Ok(());
    }
    let planning = doing(format!("looking for covers of `{}`", tuning.device.def().name));
    let mut known = tuning.tried();
    known.extend(tuning.journal.failed().0.into_iter().map(str::to_owned));
    let mut chosen: Vec<(MicroKernel, Plan)> =
        recorded(tuning).into_iter().filter(|(cover, _)| known.insert(cover.name())).take(MOST).collect();
    chosen.extend(Planning::of(tuning, &cuts).covers().filter(|(cover, _)| known.insert(cover.name())).take(MOST));
    chosen.truncate(left.unwrap_or(usize::MAX));
    drop(planning);
    let mut on_instances = Vec::new();
    for (cover, plan) in chosen {
        let Ok(proposal) = Proposal::of_family(cover, &*tuning.device) else { continue };
        let at = tuning.admit(proposal);
        tuning.candidates[at].predicted = plan.expected;
        on_instances.extend(plan.workloads.into_iter().map(|workload| (at, workload)));
    }
    full::on_instances(tuning, &on_instances)
}

/// What is expected of a cover, `[threads][instance]` in GFLOP/s, and the instances on which it is measured.
struct Plan {
    expected: Vec<Vec<f64>>,
    workloads: Vec<usize>,
}

/// The covers on record from before the run, the best first, with the instances that they have figures at.
fn recorded(tuning: &Tuning<'_>) -> Vec<(MicroKernel, Plan)> {
    let figures: Vec<_> = tuning.threads.iter().map(|threads| tuning.journal.figures(*threads, tuning.cache)).collect();
    let plan = |cover: &MicroKernel| {
        let of_cover = |workload: usize| {
            let shape = tuning.shape(workload);
            let of_threads = figures.iter().map(move |figures| figures.get(&(&*cover.origin.name, &shape)).copied());
            of_threads.collect::<Option<Vec<f64>>>()
        };
        let seen: Vec<Option<Vec<f64>>> = (0..tuning.workloads.len()).map(of_cover).collect();
        let expected =
            |threads: usize| seen.iter().map(|seen| seen.as_ref().map_or(0.0, |seen| seen[threads])).collect();
        Plan {
            expected: (0..tuning.threads.len()).map(expected).collect(),
            workloads: (0..seen.len()).filter(|workload| seen[*workload].is_some()).collect(),
        }
    };
    let covers = tuning.journal.ranked(tuning.cache).into_iter().filter(|micro_kernel| micro_kernel.cover.is_some());
    covers.map(|cover| (cover.clone(), plan(cover))).filter(|(_, plan)| !plan.workloads.is_empty()).collect()
}

/// What the best of an instance reached.
fn best(tuning: &Tuning<'_>, workload: usize) -> f64 {
    tuning.candidates.iter().map(|candidate| candidate.score(workload)).fold(0.0, f64::max)
}

/// What a candidate reaches at an instance at a number of threads (a position), as it was measured or as its points let expect.
fn figure(tuning: &Tuning<'_>, at: usize, threads: usize, workload: usize) -> f64 {
    let candidate = &tuning.candidates[at];
    candidate.gflops[threads][workload].unwrap_or(candidate.predicted[threads][workload])
}

/// The candidates that may be a part of a cover, with what they reach at an instance, the best first.
fn best_first(tuning: &Tuning<'_>, workload: usize) -> Vec<(f64, usize)> {
    let is_part = |at: &usize| {
        let candidate = &tuning.candidates[*at];
        !candidate.failed && candidate.micro_kernel.cover.is_none()
    };
    let figures = |at: usize| (0..tuning.threads.len()).map(move |threads| figure(tuning, at, threads, workload));
    let parts = (0..tuning.candidates.len()).filter(is_part).map(|at| (geometric_mean(figures(at)), at));
    let mut all: Vec<(f64, usize)> = parts.filter(|(figure, _)| *figure > 0.0).collect();
    all.sort_by(|a, b| b.0.total_cmp(&a.0));
    all
}

/// The candidates that may have what remains: of each size of the smallest tile along the axis the one that comes nearest to the best of
/// an instance.
fn rests(tuning: &Tuning<'_>, cut: &Cut) -> Vec<usize> {
    let mut of_tile: BTreeMap<i64, (f64, usize)> = BTreeMap::new();
    for workload in 0..tuning.workloads.len() {
        let all = best_first(tuning, workload);
        for (figure, at) in &all {
            let tile = tiles(&tuning.candidates[*at].schedule, &cut.along).first().copied().unwrap_or(1);
            let share = figure / all[0].0;
            let first = of_tile.entry(tile).or_insert((share, *at));
            if share > first.0 {
                *first = (share, *at);
            }
        }
    }
    let mut rests: Vec<(f64, usize)> = of_tile.into_values().collect();
    rests.sort_by(|a, b| b.0.total_cmp(&a.0));
    rests.into_iter().take(RESTS).map(|(_, at)| at).collect()
}

/// A candidate that may have the main part of an instance along a cut, both as positions.
struct Main {
    at: usize,
    cut: usize,
    /// In which multiples it leaves something.
    multiples: Vec<i64>,
}

/// How the nest can be cut.
fn cuts(tuning: &Tuning<'_>) -> Vec<Cut> {
    let program = tuning.device.program();
    program.shape_vars.iter().filter_map(|var| Cut::of(program, var).ok()).collect()
}

/// The best of an instance, as far as something hangs over their edges there.
fn mains(tuning: &Tuning<'_>, cuts: &[Cut], workload: usize) -> Vec<Main> {
    let shape = &tuning.workloads[workload].instance.shape;
    let is_padded = |at: &usize| tuning.candidates[*at].adaptations[0][workload].padding_ratio >= WORTH;
    let best = best_first(tuning, workload).into_iter().map(|(_, at)| at).take(MAINS).filter(is_padded);
    let mains = best.flat_map(|at| {
        cuts.iter().enumerate().map(move |(n, cut)| {
            let size = shape[cut.position];
            let is_ragged = |multiple: &i64| *multiple < size && size % multiple != 0;
            let multiples = tiles(&tuning.candidates[at].schedule, &cut.along).into_iter().filter(is_ragged);
            Main { at, cut: n, multiples: multiples.collect() }
        })
    });
    mains.filter(|main| !main.multiples.is_empty()).collect()
}

/// Two candidates, by their positions, along a shape variable.
#[derive(Clone, Copy)]
struct Pair<'p> {
    main: usize,
    rest: usize,
    cut: &'p Cut,
    multiple: i64,
}

/// What covers are thought of, and what is expected of them.
struct Planning<'p, 't> {
    tuning: &'p Tuning<'t>,
    cuts: &'p [Cut],
    /// Of each instance.
    mains: Vec<Vec<Main>>,
    /// The candidates that may have the rest along each cut.
    rests: Vec<Vec<usize>>,
    /// All of them, each lowered once.
    lowered: BTreeMap<usize, Lowered>,
}

impl<'p, 't> Planning<'p, 't> {
    fn of(tuning: &'p Tuning<'t>, cuts: &'p [Cut]) -> Planning<'p, 't> {
        let mains: Vec<Vec<Main>> = (0..tuning.workloads.len()).map(|at| mains(tuning, cuts, at)).collect();
        let is_cut: BTreeSet<usize> = mains.iter().flatten().map(|main| main.cut).collect();
        let rests = |(n, cut)| if is_cut.contains(&n) { rests(tuning, cut) } else { Vec::new() };
        let rests: Vec<Vec<usize>> = cuts.iter().enumerate().map(rests).collect();
        let parts: BTreeSet<usize> =
            mains.iter().flatten().map(|main| main.at).chain(rests.iter().flatten().copied()).collect();
        let (program, target) = (tuning.device.program(), tuning.device.target());
        let in_time = parts.into_iter().take_while(|_| !tuning.budget.is_over(Part::Finalists));
        let lowered = in_time.filter_map(|at| {
            let lowered = tuning.candidates[at].micro_kernel.lowered(program, target);
            Some((at, lowered.ok()?))
        });
        Planning { tuning, cuts, mains, rests, lowered: lowered.collect() }
    }

    /// The covers that are expected to be ahead at an instance, those first that are furthest.
    fn covers(&self) -> impl Iterator<Item = (MicroKernel, Plan)> {
        let instances = (0..self.mains.len()).take_while(|_| !self.tuning.budget.is_over(Part::Finalists));
        let mut planned: Vec<(f64, usize, Pair<'_>)> =
            instances.filter_map(|at| self.best(at).map(|(ahead, pair)| (ahead, at, pair))).collect();
        planned.sort_by(|a, b| b.0.total_cmp(&a.0));
        planned.into_iter().map(|(_, at, pair)| (pair.cover(self.tuning), self.plan(pair, at)))
    }

    /// The two that are expected to be furthest ahead at an instance, and by how much, if that is enough.
    fn best(&self, workload: usize) -> Option<(f64, Pair<'_>)> {
        let tuning = self.tuning;
        let Instance { shape, flops, .. } = &tuning.workloads[workload].instance;
        let mut first: Option<(f64, Pair<'_>)> = None;
        for Main { at: main, cut, multiples } in &self.mains[workload] {
            let (cut, rests) = (&self.cuts[*cut], &self.rests[*cut]);
            let size = shape[cut.position];
            let remain: Vec<Vec<i64>> = multiples.iter().map(|multiple| cut.at(shape, size % multiple)).collect();
            let whole = multiples.iter().map(|multiple| cut.at(shape, size - size % multiple));
            let of_main = self.seconds(*main, &whole.chain([shape.clone()]).collect::<Vec<_>>());
            for rest in rests.iter().filter(|rest| *rest != main) {
                let of_rest = self.seconds(*rest, &remain);
                for (n, multiple) in multiples.iter().enumerate() {
                    // At this instance the main candidate is known better than its expectation.
                    let time = |threads: usize| {
                        let known = flops * 1e-9 / figure(tuning, *main, threads, workload);
                        let expected = of_main[threads][multiples.len()];
                        of_main[threads][n] * known / expected + of_rest[threads][n]
                    };
                    let gflops = flops * 1e-9 / geometric_mean((0..tuning.threads.len()).map(time));
                    let ahead = gflops / best(tuning, workload);
                    if ahead >= first.map_or(WORTH, |(ahead, _)| ahead) && ahead.is_finite() {
                        first = Some((ahead, Pair { main: *main, rest: *rest, cut, multiple: *multiple }));
                    }
                }
            }
        }
        first
    }

    /// What is expected of a cover, and where it is ahead; it was thought of at an instance.
    fn plan(&self, pair: Pair<'_>, of: usize) -> Plan {
        let expected = self.expected(pair);
        let is_ahead = |workload: &usize| {
            *workload == of || geometric_mean(expected.iter().map(|row| row[*workload])) > best(self.tuning, *workload)
        };
        let workloads = (0..self.tuning.workloads.len()).filter(is_ahead).collect();
        Plan { expected, workloads }
    }

    /// GFLOP/s that are expected on all instances: `[threads][instance]`. Where the main candidate was measured, its part is as much slower or
    /// faster than expected as the whole.
    fn expected(&self, Pair { main, rest, cut, multiple }: Pair<'_>) -> Vec<Vec<f64>> {
        let instances = || self.tuning.workloads.iter().map(|workload| &workload.instance);
        let size = |of: &Instance| of.shape[cut.position];
        let remain = |of: &Instance| size(of) % multiple;
        let shapes = |size: &dyn Fn(&Instance) -> i64| -> Vec<Vec<i64>> {
            instances().map(|of| cut.at(&of.shape, size(of).max(1))).collect()
        };
        let mains = self.seconds(main, &shapes(&|of| size(of) - remain(of)));
        let wholes = self.seconds(main, &shapes(&size));
        let rests = self.seconds(rest, &shapes(&remain));
        let row = |threads: usize| {
            let gflops = |(n, of): (usize, &Instance)| {
                let known = of.flops * 1e-9 / figure(self.tuning, main, threads, n);
                let of_main = mains[threads][n] * known / wholes[threads][n];
                let of_main = if size(of) > remain(of) { of_main } else { 0.0 };
                let of_rest = if remain(of) > 0 { rests[threads][n] } else { 0.0 };
                of.flops * 1e-9 / (of_main + of_rest)
            };
            instances().enumerate().map(gflops).collect()
        };
        (0..self.tuning.threads.len()).map(row).collect()
    }

    /// Seconds that are expected of a candidate at shapes: `[threads][shape]`.
    fn seconds(&self, at: usize, shapes: &[Vec<i64>]) -> Vec<Vec<f64>> {
        let tuning = self.tuning;
        let flops = |shape: &Vec<i64>| Instance::of(tuning.device.def(), shape).map_or(f64::INFINITY, |of| of.flops);
        let candidate = (&tuning.candidates[at], self.lowered.get(&at));
        let row = |(threads, setting): (usize, &usize)| {
            let expected = tuning.expected_on(candidate, shapes, threads, tuning.device.units(*setting));
            shapes.iter().zip(expected).map(|(shape, gflops)| flops(shape) * 1e-9 / gflops).collect()
        };
        tuning.threads.iter().enumerate().map(row).collect()
    }
}

impl Pair<'_> {
    fn cover(&self, tuning: &Tuning<'_>) -> MicroKernel {
        let [main, rest] = [self.main, self.rest].map(|at| &tuning.candidates[at].micro_kernel);
        MicroKernel::cover(main, rest, &self.cut.along, self.multiple)
    }
}
