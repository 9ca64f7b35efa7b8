//! What records say of micro-kernels: how good each is, and which are known.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::record::{Record, Shape, Structure};
use crate::measure::Failure;
use crate::sketch::MicroKernel;

/// A micro-kernel with its place among those on record.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranked<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its schedule.
    pub schedule: &'a MicroKernel,
    /// Its structure, where that is on record.
    pub structure: Option<Structure>,
    /// The largest share that it reaches of the highest throughput on record of an instance and a number of threads: 1 for one
    /// that is the best somewhere.
    pub share: f64,
}

/// An instance of a kernel on a target, at a number of threads.
type Point<'a> = (&'a super::Workload, &'a super::Target, usize);

/// Those that were measured, the best first, of equal ones the one that was on record first. What failed somewhere is left out.
pub(in crate::search) fn ranked<'a>(records: impl Iterator<Item = &'a Record> + Clone) -> Vec<Ranked<'a>> {
    let best = best_of_points(records.clone());
    let failed: HashSet<&str> = records.clone().filter(|r| r.failure().is_some()).map(|r| &*r.name).collect();
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut ranked: Vec<Ranked<'a>> = Vec::new();
    for record in records.filter(|record| !failed.contains(&*record.name)) {
        let Some((threads, gflops)) = record.figure() else { continue };
        let share = gflops / best[&(&record.workload, &record.target, threads)];
        let place = *places.entry(&record.name).or_insert_with(|| {
            let Record { name, schedule, structure, .. } = record;
            ranked.push(Ranked { name, schedule, structure: *structure, share });
            ranked.len() - 1
        });
        ranked[place].share = ranked[place].share.max(share);
    }
    ranked.sort_by(|a, b| b.share.total_cmp(&a.share));
    ranked
}

fn best_of_points<'a>(records: impl Iterator<Item = &'a Record>) -> BTreeMap<Point<'a>, f64> {
    let mut best: BTreeMap<Point<'a>, f64> = BTreeMap::new();
    for record in records {
        let Some((threads, gflops)) = record.figure() else { continue };
        let entry = best.entry((&record.workload, &record.target, threads)).or_insert(gflops);
        *entry = entry.max(gflops);
    }
    best
}

/// What is known of a structure.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Known<'a> {
    /// The figures: at a shape and a number of threads, the median GFLOP/s of the last measurement.
    pub gflops: HashMap<(&'a Shape, usize), f64>,
    /// Why it is never tried again.
    pub failure: Option<&'a Failure>,
}

/// All structures that were measured or have failed.
pub(super) fn known<'a>(records: impl Iterator<Item = &'a Record>) -> HashMap<Structure, Known<'a>> {
    let mut known: HashMap<Structure, Known<'a>> = HashMap::new();
    for record in records {
        let Some(structure) = record.structure else { continue };
        if let Some(failure) = record.failure() {
            known.entry(structure).or_default().failure.get_or_insert(failure);
        }
        if let (Some((threads, gflops)), Some(shape)) = (record.figure(), &record.workload.shape) {
            known.entry(structure).or_default().gflops.insert((shape, threads), gflops);
        }
    }
    known
}
