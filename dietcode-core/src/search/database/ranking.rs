//! What records say of micro-kernels: how good each is.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use super::filter::Filter;
use super::record::Record;
use super::scan::scan;
use crate::Result;
use crate::measure::Device;
use crate::sketch::MicroKernel;

/// A micro-kernel with its place among those on record.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::search) struct Ranked<'a> {
    /// Its name.
    pub(in crate::search) name: &'a str,
    /// Its schedule.
    pub(in crate::search) schedule: &'a MicroKernel,
    /// The largest share that it reaches of the highest throughput on record of an instance and a number of threads: 1 for one
    /// that is the best somewhere.
    pub(in crate::search) share: f64,
}

/// An instance of a kernel on a target, at a number of threads.
type Series<'a> = (&'a super::Workload, &'a super::Target, usize);

/// The micro-kernels of a device's kernel that were measured there, by a file of records: the best first, and none that failed.
///
/// # Errors
/// [`crate::ErrorKind::Input`] if the file cannot be read.
pub fn best_on_record(path: &Path, device: &dyn Device) -> Result<Vec<MicroKernel>> {
    let def = device.def();
    let filter = Filter::of(&def.name, &format!("{:016x}", def.source_hash()), device.machine());
    let mut records = Vec::new();
    scan(path, |record, _| {
        records.extend(Some(record).filter(|record| filter.matches(record)));
        Ok(())
    })?;
    Ok(ranked(records.iter()).into_iter().map(|ranked| ranked.schedule.clone()).collect())
}

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
            ranked.push(Ranked { name: &record.name, schedule: &record.schedule, share });
            ranked.len() - 1
        });
        ranked[place].share = ranked[place].share.max(share);
    }
    ranked.sort_by(|a, b| b.share.total_cmp(&a.share));
    ranked
}

fn best_of_points<'a>(records: impl Iterator<Item = &'a Record>) -> BTreeMap<Series<'a>, f64> {
    let mut best: BTreeMap<Series<'a>, f64> = BTreeMap::new();
    for record in records {
        let Some((threads, gflops)) = record.figure() else { continue };
        let entry = best.entry((&record.workload, &record.target, threads)).or_insert(gflops);
        *entry = entry.max(gflops);
    }
    best
}
