//! A run in the records: what it does is written there at once, and a run that is continued reads there what it did.
//!
//! The proposals of a search depend on its seed, on what was on record when it began, and on what it measured since. So a
//! run that was ended is continued by beginning it again: what it would measure and is on record is not measured.

use std::collections::{HashMap, HashSet};
use std::fmt::Debug;

use super::Candidate;
use super::database::{Database, Filter, Outcome, Record, Replay, Shape, Structure, Target, Workload, new_run, ranked};
use crate::Result;
use crate::config::Cache;
use crate::cost_model::cuda::LaunchReport;
use crate::measure::{Device, Failure, Purpose};
use crate::paired::Verdict;
use crate::sketch::MicroKernel;

/// The records of one run, and those from before it.
#[derive(Debug)]
pub struct Journal {
    pub(super) database: Database,
    workload: Workload,
    target: Target,
    /// Whether figures are a model's.
    estimated: bool,
    run: String,
    seed: u64,
    space_hash: String,
    /// How many records were there when the run began.
    earlier: usize,
    /// What the run that is continued saw, and was not replayed yet.
    pub(super) replay: Replay,
    /// The micro-kernels that are on record in the run that is continued, by their names.
    begun: HashSet<String>,
}

/// What a run is: two with the same of all this propose the same, if their kernels that are alike do, too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Where its random choices start.
    pub seed: u64,
    /// A hash of what it chooses from and of how, sixteen hexadecimal digits.
    pub space_hash: String,
}

impl Identity {
    /// The hash of what a run chooses from and of how, as it prints for programmers.
    pub fn hash(chosen: &impl Debug) -> String {
        blake3::hash(format!("{chosen:?}").as_bytes()).to_hex()[..16].to_owned()
    }
}

impl Journal {
    /// Begins a run.
    pub fn begin(database: Database, device: &dyn Device, identity: Identity) -> Journal {
        let def = device.def();
        let source_hash = format!("{:016x}", def.source_hash());
        Journal {
            earlier: database.records.len(),
            workload: Workload { kernel: def.name.clone(), source_hash, shape: None },
            target: device.machine().clone(),
            estimated: device.is_estimating(),
            run: new_run(),
            seed: identity.seed,
            space_hash: identity.space_hash,
            replay: Replay::default(),
            begun: HashSet::new(),
            database,
        }
    }

    /// Continues the last run that was the same; begins one where there is none.
    pub fn resume(database: Database, device: &dyn Device, identity: Identity) -> Journal {
        let mut journal = Journal::begin(database, device, identity);
        let last = journal.database.last_run(&journal.of_workload(), journal.seed, &journal.space_hash);
        let Some(run) = last.map(str::to_owned) else { return journal };
        let of_run = |record: &&Record| record.run == run;
        journal.earlier = journal.database.records.iter().position(|record| of_run(&record)).unwrap_or_default();
        journal.replay = Replay::of(journal.database.records.iter().filter(of_run));
        journal.begun = journal.database.records.iter().filter(of_run).map(|record| record.name.clone()).collect();
        journal.run = run;
        journal
    }

    /// What is on record, of this run and of those before it.
    #[cfg(test)]
    pub(crate) fn records(&self) -> &[Record] {
        &self.database.records
    }

    /// How many micro-kernels are on record of the run that is continued; 0 for one that begins.
    pub fn resumed(&self) -> usize {
        self.begun.len()
    }

    /// Whether a micro-kernel is on record in the run that is continued.
    pub(super) fn has(&self, name: &str) -> bool {
        self.begun.contains(name)
    }

    /// What came of it when the run let one micro-kernel challenge another at some shapes, if that is on record: no duel takes place
    /// twice.
    pub(crate) fn verdict(&self, name: &str, against: &str, shapes: &[Shape]) -> Option<Verdict> {
        self.replay.verdict(name, against, shapes)
    }

    /// Writes down what came of a candidate, as it was compiled for a purpose.
    pub(crate) fn write(
        &mut self,
        candidate: &Candidate,
        purpose: Purpose,
        report: Vec<LaunchReport>,
        shape: Option<Shape>,
        outcome: Outcome,
    ) -> Result<()> {
        let workload = Workload { shape, ..self.workload.clone() };
        self.replay.decide(&candidate.micro_kernel.name(), &outcome);
        self.database.append(&Record {
            structure: Some(candidate.structure),
            report,
            form: candidate.form(purpose),
            estimated: self.estimated,
            trial: candidate.trial,
            made: candidate.made,
            run: self.run.clone(),
            seed: self.seed,
            space_hash: self.space_hash.clone(),
            ..Record::new(workload, self.target.clone(), candidate.micro_kernel.clone(), outcome)
        })
    }

    /// Makes durable what was written down.
    pub(crate) fn sync(&mut self) -> Result<()> {
        self.database.sync()
    }

    /// The micro-kernels that were measured before the run began, with such caches, and never failed, the best first.
    pub(super) fn ranked(&self, cache: Cache) -> Vec<&MicroKernel> {
        let of_caches = self.before().filter(move |record| is_of_caches(record, cache));
        ranked(of_caches).into_iter().map(|ranked| ranked.schedule).collect()
    }

    /// The last figures from before the run began, GFLOP/s at a number of threads with such caches, by names and shapes.
    pub(super) fn figures(&self, threads: usize, cache: Cache) -> HashMap<(&str, &Shape), f64> {
        let figure = |record: &'_ Record| {
            record.figure().filter(|(its, _)| *its == threads && is_of_caches(record, cache)).map(|(_, gflops)| gflops)
        };
        let before = self.before();
        before.filter_map(|r| Some(((&*r.name, r.workload.shape.as_ref()?), figure(r)?))).collect()
    }

    /// Those that failed before the run began, by names and by structures: they are not tried again, whatever the shape was. A compiler may
    /// have more time in another run.
    pub(super) fn failed(&self) -> (HashSet<&str>, HashSet<Structure>) {
        let is_final = |failure: &Failure| !matches!(failure, Failure::CompileTimeout { .. });
        let failed = || self.before().filter(|record| record.failure().is_some_and(is_final));
        (failed().map(|record| &*record.name).collect(), failed().filter_map(|record| record.structure).collect())
    }

    /// The structures that were measured before the run began, with such caches at one of these shapes: of others, nothing is known
    /// here.
    pub(super) fn measured(&self, shapes: &[Shape], cache: Cache) -> HashSet<Structure> {
        let here = |record: &&Record| record.workload.shape.as_ref().is_some_and(|shape| shapes.contains(shape));
        let alike = |record: &&Record| is_of_caches(record, cache);
        let measured = self.before().filter(|record| record.figure().is_some()).filter(alike).filter(here);
        measured.filter_map(|record| record.structure).collect()
    }

    fn before(&self) -> impl Iterator<Item = &Record> + Clone {
        let filter = self.of_workload();
        self.database.records[..self.earlier].iter().filter(move |record| filter.matches(record))
    }

    fn of_workload(&self) -> Filter {
        Filter::of(&self.workload.kernel, &self.workload.source_hash, &self.target)
    }
}

/// Whether a record has no figure, or one that was measured with such caches.
fn is_of_caches(record: &Record, cache: Cache) -> bool {
    !matches!(record.outcome, Outcome::Measured { cache: its, .. } if its != cache)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::{SimulatedDevice, Summary};
    use crate::search::testing::{dense, target};
    use crate::sketch::Tiled;

    /// One whose register tile has so many rows.
    fn kernel(device: &dyn Device, rows: i64) -> MicroKernel {
        let tile = [("i".to_owned(), rows), ("j".to_owned(), 16)].into();
        let tiled = Tiled { vector: Some("j".to_owned()), register_tile: tile, ..Tiled::default() };
        tiled.micro_kernel(device.program(), device.cpu().unwrap()).unwrap().0
    }

    /// One is the best of warm caches, another of cold ones; one has figures of cold caches alone.
    #[test]
    fn what_caches_hold_says_which_records_lead_a_search() {
        let device: &dyn Device = &SimulatedDevice::new(dense(96, 64), target(), Box::new(|_, _, _| Ok(1.0)));
        let begin = |database| Journal::begin(database, device, Identity { seed: 0, space_hash: String::new() });
        let mut journal = begin(Database::in_memory());
        let kernel = |rows: i64| kernel(device, rows);
        for (rows, cache, median) in [
            (1, Cache::Warm, 9.0),
            (2, Cache::Warm, 5.0),
            (1, Cache::Cold, 5.0),
            (2, Cache::Cold, 9.0),
            (4, Cache::Cold, 7.0),
        ] {
            let gflops = Summary { median, iqr: 0.0, repeats: 3 };
            let outcome = Outcome::Measured { threads: 1, gflops, rel_err: 0.0, cache };
            let workload = Workload { shape: Some([("M".to_owned(), 8)].into()), ..journal.workload.clone() };
            let record = Record::new(workload, journal.target.clone(), kernel(rows), outcome);
            journal.database.append(&record).unwrap();
        }
        let journal = begin(journal.database);
        let order = |cache| journal.ranked(cache).into_iter().map(MicroKernel::name).collect::<Vec<_>>();
        assert_eq!(order(Cache::Warm), [1, 2].map(|rows| kernel(rows).name()));
        assert_eq!(order(Cache::Cold), [2, 4, 1].map(|rows| kernel(rows).name()));
    }

    /// What a compiler was given too little time for may be tried by the next run; what failed otherwise is not.
    #[test]
    fn what_took_too_long_to_compile_is_tried_again_by_a_later_run() {
        let device: &dyn Device = &SimulatedDevice::new(dense(96, 64), target(), Box::new(|_, _, _| Ok(1.0)));
        let begin = |database| Journal::begin(database, device, Identity { seed: 0, space_hash: String::new() });
        let mut journal = begin(Database::in_memory());
        let kernel = |rows: i64| kernel(device, rows);
        let [slow, refused] = [(1, [1; 32]), (2, [2; 32])];
        for ((rows, structure), failure) in [
            (slow, Failure::CompileTimeout { seconds: 30.0 }),
            (refused, Failure::Compile { message: "no".to_owned() }),
        ] {
            let (workload, target) = (journal.workload.clone(), journal.target.clone());
            let record = Record::new(workload, target, kernel(rows), Outcome::Failed(failure));
            journal.database.append(&Record { structure: Some(structure), ..record }).unwrap();
        }
        assert_eq!(journal.failed(), (HashSet::new(), HashSet::new()), "they are of this run");
        let journal = begin(journal.database);
        assert_eq!(journal.failed(), (HashSet::from([&*kernel(refused.0).name()]), HashSet::from([refused.1])));
    }
}
