//! One kernel of a run on one device: from its config to a task of the search, and from what was found to its tuned file.

use std::cell::RefCell;
use std::path::PathBuf;

use dietcode::core::config::Shapes;
use dietcode::core::measure::{Baselines, Device, Timing, compare};
use dietcode::core::search::{Budget, Database, Event, Found, Identity, Journal, Roofline, Task, WorkloadInstance};
use dietcode::core::sketch::rules::CustomRules;
use dietcode::tuning::{self, Opened};
use dietcode::{Error, Result};

use super::Arguments;
use super::show::show;
use crate::cli::progress::Progress;
use crate::cli::report::{Effort, SearchTime};
use crate::cli::setup::{Setup, wkl_text};

/// A kernel whose search on a device is a [`Task`].
pub(super) struct Kernel<'a> {
    setup: &'a Setup,
    /// Where its winners go.
    output: PathBuf,
    baselines: Baselines,
}

/// The BLAS is only shown beside the best: no finer than that.
const ROUGH: Timing = Timing::warm(3, 0.01, 1.0);

impl<'a> Kernel<'a> {
    /// Opens the records, and says what there is.
    pub(super) fn prepare(
        arguments: &Arguments,
        (setup, output): (&'a Setup, PathBuf),
        opened: Opened,
        budget: &Budget<'a>,
        progress: &RefCell<Progress>,
        watch: &'a dyn Fn(Event),
    ) -> Result<(Kernel<'a>, Task<'a>)> {
        let Opened { mut device, baselines } = opened;
        let workloads = workloads(arguments, setup)?;
        let threads = tuning::settings(&setup.config, &*device);
        let rivals = rivals(&mut *device, &baselines, &workloads, threads[0])?;
        progress.borrow_mut().expect_kernel(&setup.def.name, &workloads, &rivals);
        let roofline = arguments.until.map(|_| Roofline::measure(&mut *device, &workloads, &threads)).transpose()?;
        let database = open_database(arguments, setup, &*device, progress)?;
        let journal =
            |device: &dyn Device, identity| journal(arguments, database, device, identity, &progress.borrow());
        let kernel = tuning::Kernel { config: &setup.config, rules: &CustomRules::default(), workloads: &workloads };
        let mut task = kernel.task(device, budget, watch, journal)?;
        task.tuning.roofline = roofline;
        Ok((Kernel { setup, output, baselines }, task))
    }

    /// Verifies and writes the winners, and shows them.
    pub(super) fn finish(
        &self,
        arguments: &Arguments,
        task: &mut Task<'_>,
        found: &Found,
        time: &SearchTime,
        progress: &RefCell<Progress>,
    ) -> Result<()> {
        let (config, count) = (&self.setup.config, task.tuning.workloads.len());
        let compared = |done| progress.borrow_mut().compared(done, count);
        let finalized = tuning::finish(config, task, found, &self.baselines, compared)?;
        progress.borrow().finish();
        let device = (&*task.tuning.device, config.search.cache);
        finalized.tuned.save(&self.output)?;
        let effort = Effort::of(found, time);
        arguments.files.print(&effort.text())?;
        show(&finalized, &task.tuning.workloads, device, &self.baselines, effort, &arguments.files)?;
        arguments.files.print(&format!("Written: {}\n", self.output.display()))
    }
}

/// The config's instances, or those of them that were asked for.
pub(super) fn workloads(arguments: &Arguments, setup: &Setup) -> Result<Vec<WorkloadInstance>> {
    let all = setup.workloads()?;
    if arguments.wkl.is_empty() {
        return Ok(all);
    }
    let chosen = |shapes: &Shapes| {
        let chosen: Vec<WorkloadInstance> =
            all.iter().filter(|workload| shapes.contains(&workload.wkl)).cloned().collect();
        if chosen.is_empty() {
            let there: Vec<String> = all.iter().map(|workload| wkl_text(&workload.wkl)).collect();
            return Err(Error::input(format!(
                "--wkl {shapes}: expected an instance of the config: {}",
                there.join(" ")
            )));
        }
        Ok(chosen)
    };
    let workloads = arguments.wkl.iter().map(chosen).collect::<Result<Vec<_>>>()?.concat();
    let again = |(at, workload): &(usize, &WorkloadInstance)| {
        workloads[..*at].iter().any(|earlier| earlier.wkl == workload.wkl)
    };
    match workloads.iter().enumerate().find(again) {
        None => Ok(workloads),
        Some((_, workload)) => {
            let message =
                format!("--wkl {}: found a second time, expected each instance once", wkl_text(&workload.wkl));
            Err(Error::input(message))
        }
    }
}

fn open_database(
    arguments: &Arguments,
    setup: &Setup,
    device: &dyn Device,
    progress: &RefCell<Progress>,
) -> Result<Database> {
    let beside = || tuning::records_path(&setup.config, device);
    let database = Database::open(&arguments.records.clone().unwrap_or_else(beside))?;
    database.notices.iter().for_each(|notice| progress.borrow().say(notice));
    Ok(database)
}

/// The library's GFLOP/s on each instance, if there is one and it can.
fn rivals(
    device: &mut dyn Device,
    baselines: &Baselines,
    workloads: &[WorkloadInstance],
    threads: usize,
) -> Result<Vec<Option<f64>>> {
    let mut rivals = Vec::new();
    for WorkloadInstance { instance, .. } in workloads {
        let mut finalists = baselines.finalists(device.def(), instance);
        finalists.retain(|finalist| finalist.name.starts_with("blas") || finalist.name.starts_with("cublas"));
        if finalists.is_empty() {
            rivals.push(None);
            continue;
        }
        let comparison = compare(device, instance, &finalists, threads, ROUGH)?;
        let sample = comparison.standings.first().and_then(|standing| standing.outcome.as_ref().ok());
        rivals.push(sample.map(|sample| sample.gflops(instance.flops).median));
    }
    Ok(rivals)
}

fn journal(
    arguments: &Arguments,
    database: Database,
    device: &dyn Device,
    identity: Identity,
    progress: &Progress,
) -> Journal {
    if !arguments.resume {
        return Journal::begin(database, device, identity);
    }
    let journal = Journal::resume(database, device, identity);
    progress.say(&match journal.resumed() {
        0 => "no run with this config, seed, threads and instances is on record: beginning one".to_owned(),
        count => format!("continuing a run of which {count} candidates are on record"),
    });
    journal
}
