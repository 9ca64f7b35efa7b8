//! `dietcode simulate`

mod pool;
mod table;

use std::path::PathBuf;

use dietcode::core::config::Model;
use dietcode::core::machine::Target;
use dietcode::core::search::simulation::{
    Curve, Evolved, Guide, Pool, Proposed, Random, Simulated, Strategy, simulate,
};
use dietcode::tuning::cost_model;
use dietcode::{Error, Result};
use serde::Serialize;

use super::files::each_once;
use super::plot::{Chart, PlotAxis};
use super::report::ReportFiles;
use super::setup::Setup;
use super::sketches;

/// Compares search strategies on recorded measurements, without measuring.
///
/// The space is what is on record: a strategy picks among the candidates of the records, and learns the figures of those that
/// it picks. The records should come of an exploration without preferences, `dietcode tune CONFIG --strategy random`: what a
/// strategy has chosen favours that strategy. The figure is the weighted geometric mean, over instances and numbers of threads,
/// of the best throughput so far. What is drawn are its means over the seeds.
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
    /// Which strategies, with commas between: random; evolution, which picks what the cost model promises most of among all
    /// that is on record; nearest, which proposes as a search does, and is answered by what is nearest on record.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "random,evolution",
        value_parser = ["random", "evolution", "nearest"])]
    strategies: Vec<String>,
    /// What guides them: analytic or random, of which each run has numbers of its own. Default: the config's `search.model`, or
    /// analytic.
    #[arg(long, value_name = "MODEL")]
    model: Option<Model>,
    /// How often each is run, from seeds 0, 1, and so on.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=1000))]
    seeds: u64,
    /// How many candidates each run may try.
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    trials: u32,
    #[command(flatten)]
    files: ReportFiles,
}

/// What `--json` writes.
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
    arguments.files.check()?;
    each_once(&arguments.records, "file")?;
    let setup = Setup::read(&arguments.config)?;
    let (pool, target) = pool::read(&arguments.records, &setup, arguments.target.as_deref())?;
    let simulated = run_all(arguments, &setup, &pool, &target)?;
    arguments.files.print(&table::text(&pool, &simulated))?;
    arguments.files.write(&report(&setup, &pool, &simulated), || vec![chart(&simulated)])
}

/// Runs the strategies from all seeds. The space and what the model says of it are needed only by those that are guided.
fn run_all(arguments: &Arguments, setup: &Setup, pool: &Pool, target: &Target) -> Result<Vec<Simulated>> {
    let settings = &setup.config.search.evolution;
    let run = |name: &str, strategy: &dyn Fn(u64) -> Box<dyn Strategy>| {
        let trials = usize::try_from(arguments.trials).unwrap_or(usize::MAX);
        let curve = |seed| {
            let mut device = pool.device(&setup.def, target.clone())?;
            Ok(Curve { seed, gflops: simulate(pool, &mut device, &mut *strategy(seed), trials, settings.per_round)? })
        };
        Ok(Simulated::of(name, (0..arguments.seeds).map(curve).collect::<Result<Vec<Curve>>>()?))
    };
    if arguments.strategies.iter().all(|name| name == "random") {
        if arguments.model.is_some() {
            return Err(Error::input("--model: expected a strategy that a model guides, found random alone"));
        }
        return Ok(vec![run("random", &|seed| Box::new(Random::new(seed)))?]);
    }
    let space = sketches::space(setup, target.clone())?;
    let model = arguments.model.unwrap_or(setup.config.search.model);
    if model == Model::Learned {
        let why = "a simulation asks a model before anything was measured, and this one is the analytic model then";
        return Err(Error::input(format!("the model learned: {why}: expected analytic or random")));
    }
    // Only random numbers depend on the seed.
    let count = if model == Model::Random { arguments.seeds } else { 1 };
    let models: Vec<_> = (0..count).map(|seed| cost_model(model, target.clone(), seed)).collect();
    let guides = models.iter().map(|model| Guide::of(pool, &space, &**model, settings)).collect::<Result<Vec<_>>>()?;
    let guide = |seed: u64| &guides[(seed % count) as usize];
    let strategies = arguments.strategies.iter().map(|name| match &**name {
        "random" => run(name, &|seed| Box::new(Random::new(seed))),
        "evolution" => run(name, &|seed| Box::new(Evolved::new(guide(seed), seed))),
        _ => run(name, &|seed| Box::new(Proposed::new(guide(seed), seed))),
    });
    strategies.collect()
}

fn report<'a>(setup: &'a Setup, pool: &Pool, simulated: &'a [Simulated]) -> Report<'a> {
    Report {
        kernel: &setup.def.name,
        candidates: pool.candidates.len(),
        goals: pool.goals.len(),
        start_gflops: pool.mean(&pool.start),
        best_gflops: pool.best(),
        strategies: simulated,
    }
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
    Chart { caption, peak: None, axis: PlotAxis::Trials(last), lines }
}
