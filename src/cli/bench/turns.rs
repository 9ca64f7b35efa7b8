//! `dietcode bench --turns`: the kernel takes turns with what another program measures.
//!
//! ```text
//! >  2 T=37
//! <  {"wkl":{"T":37},"shape":{"M":592,"N":2304,"K":768},"threads":2,"cache":"warm","flops":2.09e9,"peak":230.1,"seconds":{"dietcode":[…]}}
//! ```
//!
//! What is timed at a shape is checked the first time, and stays prepared, so that a turn takes little longer than its samples.

use std::collections::BTreeMap;
use std::io::BufRead;

use dietcode::core::config::{Cache, Shapes, WklInst};
use dietcode::core::dispatch::PICK;
use dietcode::core::measure::{Baselines, Comparison, CpuHarness, Finalist, Timing, compare};
use dietcode::core::search::{Shape, WorkloadInstance};
use dietcode::tuning::resolve_threads;
use dietcode::{Error, Result};
use serde::Serialize;

use super::{Arguments, finalists};
use crate::cli::report::Place;
use crate::cli::setup::{Setup, wkl_text};
use crate::cli::table::place;
use crate::cli::tune::thread_count;
use crate::cli::{print, tell};

/// Three samples, whose median stands for the turn.
const TIMING: Timing = Timing::warm(3, 0.0, 0.5);

/// The first line.
#[derive(Serialize)]
struct Hello<'a> {
    machine: &'a Place,
    /// Whether a tuned file holds here.
    tuned: bool,
}

/// A turn.
#[derive(Serialize)]
struct Turn<'a> {
    wkl: &'a WklInst,
    /// The kernel's shape variables.
    shape: Shape,
    threads: usize,
    /// What caches held before each call.
    cache: Cache,
    /// Operations of a call.
    flops: f64,
    /// GFLOP/s of multiply-adds, measured in the same rounds.
    peak: Option<f64>,
    /// Per call, clean samples only; without those that have too few of them.
    seconds: BTreeMap<&'a str, &'a [f64]>,
}

/// Answers each line of standard input, until there is none.
pub(super) fn run(
    arguments: &Arguments,
    setup: &Setup,
    harness: &mut CpuHarness,
    all: (&[Finalist], &Baselines),
    tuned: bool,
) -> Result<()> {
    let cache = setup.config.search.cache;
    let timing = Timing { cache, ..TIMING };
    answer(&Hello { machine: &Place::of_cpu(harness.cpu(), cache), tuned })?;
    // Those that have passed their check.
    let mut passed: BTreeMap<(WklInst, usize), Vec<Finalist>> = BTreeMap::new();
    for line in std::io::stdin().lock().lines() {
        let line = line.map_err(|e| Error::unavailable("standard input cannot be read").caused_by(e))?;
        let (threads, workloads) = asked(&line, setup)?;
        let threads = resolve_threads(&[threads], harness.cpu().cores)[0];
        for workload in workloads {
            let key = (workload.wkl.clone(), threads);
            let (entered, timing) = match passed.remove(&key) {
                Some(known) => (known, timing.unchecked()),
                None => (finalists(arguments, harness, all, &workload)?, timing),
            };
            let comparison = compare(harness, &workload.instance, &entered, threads, timing)?;
            answer(&Turn::of(setup, &workload, &comparison))?;
            passed.insert(key, without_failures(entered, &workload, &comparison)?);
        }
    }
    Ok(())
}

/// What a line of standard input asks for.
///
/// # Errors
///
/// With the line, and what is expected: of the line, or of the shape.
fn asked(line: &str, setup: &Setup) -> Result<(usize, Vec<WorkloadInstance>)> {
    let (threads, shapes) = line.trim().split_once(' ').unwrap_or((line.trim(), ""));
    let workloads = || {
        let threads = thread_count(threads).map_err(Error::input)?;
        let instances = shapes.parse::<Shapes>()?.instances()?;
        let workloads: Result<Vec<_>> = instances.iter().map(|wkl| setup.workload(wkl, 1.0)).collect();
        Ok((threads, workloads?))
    };
    let found = format!("--turns: found `{}`, expected", line.escape_debug());
    let (threads, workloads) = workloads().map_err(|error: Error| {
        let expected = "a number of threads and a shape, such as `2 T=37`";
        Error::new(error.kind(), format!("{found} {expected}: {error}"))
    })?;
    if let Some(empty) = workloads.iter().find(|workload| workload.instance.computes_nothing()) {
        let why = format!("{}: a call computes nothing", wkl_text(&empty.wkl));
        return Err(Error::input(format!("{found} a shape that can be timed: {why}")));
    }
    Ok((threads, workloads))
}

/// Those that may be timed again without a check.
///
/// # Errors
///
/// If the kernel itself failed.
fn without_failures(
    mut entered: Vec<Finalist>,
    workload: &WorkloadInstance,
    comparison: &Comparison,
) -> Result<Vec<Finalist>> {
    for standing in comparison.standings.iter().filter(|standing| standing.has_failed()) {
        let Err(failure) = &standing.outcome else { continue };
        let on = place(comparison.threads);
        let why = format!("{} at {} on {on} {failure}", standing.name, wkl_text(&workload.wkl));
        if standing.name == PICK {
            return Err(Error::check(why));
        }
        tell(&why);
        entered.retain(|finalist| finalist.name != standing.name);
    }
    Ok(entered)
}

impl<'a> Turn<'a> {
    fn of(setup: &Setup, workload: &'a WorkloadInstance, comparison: &'a Comparison) -> Turn<'a> {
        let timed = comparison.standings.iter().filter_map(|standing| {
            let sample = standing.outcome.as_ref().ok()?;
            Some((standing.name.as_str(), sample.seconds.as_slice()))
        });
        Turn {
            wkl: &workload.wkl,
            shape: setup.named(&workload.instance.shape),
            threads: comparison.threads,
            cache: comparison.cache,
            flops: workload.instance.flops,
            peak: comparison.peak,
            seconds: timed.collect(),
        }
    }
}

fn answer(line: &impl Serialize) -> Result<()> {
    let text = serde_json::to_string(line).map_err(|e| Error::unavailable("an answer is no JSON").caused_by(e))?;
    print(&(text + "\n"))
}
