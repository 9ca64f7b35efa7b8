//! What the cost model says of micro-kernels on record, and what it has learned of them.
//!
//! A figure is compared with what was predicted before it was measured: trials are cut into parts, and each part is predicted by the
//! model that has learned from those before it. The first part has the analytic model's word alone.

use std::collections::{BTreeMap, BTreeSet};

use dietcode::core::cost_model::{CostModel, Learned, Observed, features};
use dietcode::core::parallel::{cores, each};
use dietcode::core::search::Record;
use dietcode::core::sketch::Lowered;

use super::subject::{Nest, Subject};

/// So many micro-kernels are lowered at the most: a page is made in seconds.
const MOST: usize = 2000;

/// Parts of the trials.
const PARTS: usize = 4;

/// Shapes between the instances for which a curve is predicted.
const BETWEEN: usize = 33;

/// What a model says.
pub(super) struct Predictions {
    /// Figures with what was predicted of them.
    pub(super) points: Vec<Predicted>,
    /// What the model that has learned from all says of micro-kernels that are told apart, by name and number of threads: the values of the
    /// only varying shape variable with GFLOP/s.
    pub(super) curves: BTreeMap<(String, usize), Vec<(f64, f64)>>,
    /// The features that trees ask for, with the number of splits, the most first; empty where nothing was learned.
    pub(super) importance: Vec<(String, usize)>,
    /// How many micro-kernels on record were left out.
    pub(super) left_out: usize,
}

/// A figure, and what was predicted of it.
pub(super) struct Predicted {
    pub(super) name: String,
    pub(super) instance: usize,
    pub(super) threads: usize,
    /// Both in GFLOP/s.
    pub(super) predicted: f64,
    pub(super) measured: f64,
}

/// What is on record of a micro-kernel that can be lowered.
struct Candidate<'a> {
    name: &'a str,
    lowered: Lowered,
    /// By instance and number of threads; none: it failed.
    seen: Vec<(usize, usize, Option<f64>)>,
}

impl Predictions {
    /// Of a kernel whose nest is there.
    pub(super) fn of(subject: &Subject, nest: &Nest) -> Predictions {
        let (candidates, left_out) = candidates(subject, nest);
        let instances: Vec<Vec<i64>> = (0..subject.instances.len()).filter_map(|at| subject.extents(at)).collect();
        let mut predictions =
            Predictions { points: Vec::new(), curves: BTreeMap::new(), importance: Vec::new(), left_out };
        if instances.len() != subject.instances.len() || candidates.is_empty() {
            return predictions;
        }
        let mut model = Learned::new(nest.machine.clone(), None);
        for here in candidates.chunks(candidates.len().div_ceil(PARTS)) {
            let here: Vec<&Candidate<'_>> = here.iter().collect();
            predictions.compare(subject, nest, &model, &here, &instances);
            let observed: Vec<Observed<'_>> = here.iter().flat_map(|c| c.observed(nest, &instances)).collect();
            model.update(&observed);
        }
        predictions.curves = curves(subject, nest, &model, &candidates);
        predictions.importance = importance(&model);
        predictions
    }

    fn compare(
        &mut self,
        subject: &Subject,
        nest: &Nest,
        model: &Learned,
        here: &[&Candidate<'_>],
        instances: &[Vec<i64>],
    ) {
        let lowered: Vec<&Lowered> = here.iter().map(|candidate| &candidate.lowered).collect();
        for threads in &subject.threads {
            let rows = model.predict(&nest.setup.def, &lowered, instances, nest.units(*threads));
            for (candidate, row) in here.iter().zip(rows) {
                let of_threads = candidate.seen.iter().filter(|(_, n, _)| n == threads);
                self.points.extend(of_threads.filter_map(|(instance, threads, measured)| {
                    let (predicted, measured) = (row[*instance], (*measured)?);
                    let name = candidate.name.to_owned();
                    (predicted > 0.0 && predicted.is_finite()).then_some(Predicted {
                        name,
                        instance: *instance,
                        threads: *threads,
                        predicted,
                        measured,
                    })
                }));
            }
        }
    }
}

impl Candidate<'_> {
    fn observed<'c>(&'c self, nest: &'c Nest, instances: &'c [Vec<i64>]) -> impl Iterator<Item = Observed<'c>> {
        self.seen.iter().map(move |(instance, threads, gflops)| Observed {
            def: &nest.setup.def,
            candidate: &self.lowered,
            instance: &instances[*instance],
            units: nest.units(*threads),
            gflops: *gflops,
        })
    }
}

/// Those that can be lowered, in the order of their trials, and how many were left out.
fn candidates<'a>(subject: &'a Subject, nest: &'a Nest) -> (Vec<Candidate<'a>>, usize) {
    let failed: BTreeSet<&str> = subject
        .records
        .iter()
        .filter(|record| record.failure().is_some())
        .map(|record: &Record| &*record.name)
        .collect();
    let mut names: Vec<&String> = subject.kernels.keys().collect();
    names.sort_by_key(|name| (subject.series(name).is_none(), subject.kernels[*name].trial));
    let left_out = names.len().saturating_sub(MOST);
    names.truncate(MOST);
    names.sort_by_key(|name| subject.kernels[*name].trial);
    let candidate = |name: &'a String| {
        let kernel = &subject.kernels[name];
        // A cover's figures are not those of its main part, of which the features would be.
        if kernel.schedule.cover.is_some() {
            return None;
        }
        let lowered = nest.lowered(kernel).ok()?;
        let mut seen: Vec<(usize, usize, Option<f64>)> =
            kernel.figures.iter().map(|((threads, at), summary)| (*at, *threads, Some(summary.median))).collect();
        // The model keeps the points that it meets first, which are the search's if they come as they came there.
        seen.sort_by_key(|(at, threads, _)| subject.points.iter().position(|point| *point == (*threads, *at)));
        if let (true, true, Some(threads)) = (seen.is_empty(), failed.contains(&**name), subject.threads.first()) {
            seen.push((0, *threads, None));
        }
        Some(Candidate { name, lowered, seen })
    };
    (each(names, cores(), candidate).into_iter().flatten().collect(), left_out)
}

/// Along the only shape variable that varies; where there are more, or none, there is no curve.
fn curves(
    subject: &Subject,
    nest: &Nest,
    model: &Learned,
    candidates: &[Candidate<'_>],
) -> BTreeMap<(String, usize), Vec<(f64, f64)>> {
    let mut curves = BTreeMap::new();
    let (&[var], Some(first), Some(shape)) = (&*subject.varying(), subject.instances.first(), subject.extents(0))
    else {
        return curves;
    };
    let Some(position) = nest.setup.vars.iter().position(|known| known == var) else { return curves };
    let (least, most) = (first[var], subject.instances.iter().map(|shape| shape[var]).max().unwrap_or(first[var]));
    let ratio = most as f64 / least.max(1) as f64;
    let at = |n: usize| (least.max(1) as f64 * ratio.powf(n as f64 / (BETWEEN - 1) as f64)).round() as i64;
    let mut values: Vec<i64> = (0..BETWEEN).map(at).chain(subject.instances.iter().map(|shape| shape[var])).collect();
    values.sort_unstable();
    values.dedup();
    let with = |value: &i64| {
        let mut shape = shape.clone();
        shape[position] = *value;
        shape
    };
    let shapes: Vec<Vec<i64>> = values.iter().map(with).collect();
    let shown: Vec<&Candidate<'_>> = candidates.iter().filter(|c| subject.series(c.name).is_some()).collect();
    let lowered: Vec<&Lowered> = shown.iter().map(|candidate| &candidate.lowered).collect();
    for threads in &subject.threads {
        let rows = model.predict(&nest.setup.def, &lowered, &shapes, nest.units(*threads));
        for (candidate, row) in shown.iter().zip(rows) {
            let points = values
                .iter()
                .map(|value| *value as f64)
                .zip(row)
                .filter(|(_, gflops)| *gflops > 0.0 && gflops.is_finite());
            curves.insert((candidate.name.to_owned(), *threads), points.collect());
        }
    }
    curves
}

fn importance(model: &Learned) -> Vec<(String, usize)> {
    let uses = model.trees().map_or_else(Vec::new, |trees| trees.uses());
    let mut importance: Vec<(String, usize)> =
        features::names().into_iter().zip(uses).filter(|(_, uses)| *uses > 0).collect();
    importance.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    importance
}
