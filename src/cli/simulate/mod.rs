//! `dietcode simulate`

mod pool;
mod table;

use std::path::{Path, PathBuf};

use dietcode::Result;
use dietcode::core::search::simulation::{Curve, Pool, Random, Simulated, Strategy, simulate};
use serde::Serialize;

use super::plot::{self, Axis, Chart};
use super::print;
use super::report::{check_writable, write_json};
use super::setup::Setup;

/// Compares search strategies on recorded measurements, without measuring.
///
/// The space is what is on record: a strategy picks among the candidates of the records, and learns the figures of those that
/// it picks. The records should come of an exploration without preferences, `dietcode tune CONFIG --strategy random`: what a
/// strategy has chosen favours that strategy. The figure is the weighted geometric mean, over instances and numbers of threads,
/// of the best throughput so far.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  dietcode simulate configs/bert_dense.cpu.records.jsonl --config configs/bert_dense.json
  dietcode simulate a.jsonl --config configs/bert_dense.json --seeds 20 --json out.json --plot out.svg")]
pub(crate) struct Arguments {
    /// Files of records.
    #[arg(value_name = "RECORDS", required = true)]
    records: Vec<PathBuf>,
    /// The config, which names the kernel, the instances and their weights.
    #[arg(long, value_name = "CONFIG")]
    config: PathBuf,
    /// Only records of this target: cpu, cuda, or a part of what describes it. Needed where there are several.
    #[arg(long, value_name = "TEXT")]
    target: Option<String>,
    /// Which strategies, with commas between.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "random", value_parser = STRATEGIES)]
    strategies: Vec<String>,
    /// How often each is run, from seeds 0, 1, and so on.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=1000))]
    seeds: u64,
    /// How many candidates each run may try.
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    trials: u32,
    /// Also write the figures to this file, as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Also draw the means over the seeds, as an SVG.
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
}

const STRATEGIES: [&str; 1] = ["random"];

/// What a strategy picks between two looks at the figures, as a search does.
const PER_ROUND: usize = 64;

/// The file that `--json` names.
#[derive(Serialize)]
struct Report<'a> {
    kernel: &'a str,
    candidates: usize,
    goals: usize,
    /// Where every search begins, and where it ends with as many trials as there are candidates.
    start_gflops: f64,
    best_gflops: f64,
    strategies: &'a [Simulated],
}

/// Runs it.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    arguments.json.iter().chain(&arguments.plot).try_for_each(|path| check_writable(path))?;
    let setup = Setup::read(&arguments.config)?;
    let pool = pool::read(&arguments.records, &setup, arguments.target.as_deref())?;
    let simulated = (arguments.strategies.iter())
        .map(|name| run_strategy(name, &pool, arguments))
        .collect::<Result<Vec<Simulated>>>()?;
    print(&table::text(&pool, &simulated))?;
    arguments.json.iter().try_for_each(|path| write_report(&setup, &pool, &simulated, path))?;
    arguments.plot.iter().try_for_each(|path| plot::write(&[chart(&simulated)], path))
}

fn run_strategy(name: &str, pool: &Pool, arguments: &Arguments) -> Result<Simulated> {
    let trials = usize::try_from(arguments.trials).unwrap_or(usize::MAX);
    let curve = |seed: u64| {
        let mut strategy: Box<dyn Strategy> = Box::new(Random::new(seed));
        Ok(Curve { seed, gflops: simulate(pool, &mut *strategy, trials, PER_ROUND)? })
    };
    Ok(Simulated::of(name, (0..arguments.seeds).map(curve).collect::<Result<Vec<Curve>>>()?))
}

fn write_report(setup: &Setup, pool: &Pool, simulated: &[Simulated], path: &Path) -> Result<()> {
    let report = Report {
        kernel: &setup.def.name,
        candidates: pool.candidates.len(),
        goals: pool.goals.len(),
        start_gflops: pool.mean(&pool.start),
        best_gflops: pool.best(),
        strategies: simulated,
    };
    write_json(&report, path)
}

/// The means over the seeds after each trial that all of them came to.
fn chart(simulated: &[Simulated]) -> Chart {
    let line = |simulated: &Simulated| {
        let (curves, count) = (&simulated.curves, simulated.curves.len() as f64);
        let shortest = curves.iter().map(|curve| curve.gflops.len()).min().unwrap_or(0);
        let mean = |at: usize| curves.iter().map(|curve| curve.gflops[at]).sum::<f64>() / count;
        (simulated.strategy.clone(), (0..shortest).map(|at| (at, mean(at))).collect::<Vec<_>>())
    };
    let lines: std::collections::BTreeMap<_, _> = simulated.iter().map(line).collect();
    let last = lines.values().map(|line| line.len().saturating_sub(1)).max().unwrap_or(0);
    let caption = "Best so far, geometric mean of GFLOP/s, mean over seeds".to_owned();
    Chart { caption, peak: None, axis: Axis::Trials(last), lines }
}
