//! `dietcode explore`

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;

use dietcode::core::codegen::TranslationUnit;
use dietcode::core::codegen::c::translation_unit;
use dietcode::core::config::{ShapeList, Shapes, WklInst};
use dietcode::core::dispatch::{PICK, Winners};
use dietcode::core::measure::{
    Baselines, Comparison, CpuHarness, Device, Failure, Finalist, Implementation, Instance, Nearest, Standing, Summary,
    Timing, Unit, compare,
};
use dietcode::core::search::Candidates;
use dietcode::core::sketch::MicroKernel;
use dietcode::heartbeat::Heartbeat;
use dietcode::tuning::resolve_threads;
use dietcode::{Error, Result};
use serde::Serialize;

use super::files::each_once;
use super::json::JsonArgument;
use super::report::Place;
use super::setup::{BlasArguments, Setup, wkl_text};
use super::table::{gflops, grid, place};
use super::tune::{thread_count, threads_once};
use super::{counted, tell};

/// Checks and times every candidate of a kernel, each for itself, at the shapes of a list.
///
/// Candidates are the kernel as a program runs it, which is `dietcode`; each micro-kernel of the tuned file, if it holds here, of the
/// config's generators and of the default; the nest as it stands; and, of a product of matrices, the crate matrixmultiply and the system's
/// BLAS. Beside each stands the element of its result that comes nearest to its bound: how far it is off, and how far it may be, which
/// follows from the element types and the length of the reduction. Exit status 1 says that a candidate failed at some shape.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  dietcode explore configs/bert_dense.json --shapes configs/shapes/bert.json
  dietcode explore configs/bert_q_k.json --shapes configs/shapes/bert.json --shapes configs/shapes/llama.json --check
  dietcode explore configs/bert_dense.json --wkl T=37 --threads 1 --listed 8 --json out.json")]
pub(crate) struct Arguments {
    /// The config.
    config: PathBuf,
    /// A list of shapes, such as those in configs/shapes; may be given more than once. Default: all instances of the config.
    #[arg(long, value_name = "FILE")]
    shapes: Vec<PathBuf>,
    /// Shapes, by the config's workload variables, as `dietcode bench` takes them; may be given more than once.
    #[arg(long, value_name = "VARS")]
    wkl: Vec<Shapes>,
    /// Leave out shapes at which a call has more arithmetic operations.
    #[arg(long, value_name = "N", value_parser = operations)]
    most_operations: Option<f64>,
    /// Check only, and time nothing.
    #[arg(long)]
    check: bool,
    /// At most so many of the schedules that the config's generators list, drawn by `--seed` (else 0). Default: all.
    #[arg(long, value_name = "N")]
    listed: Option<u64>,
    /// A number of threads, 0 for all cores; may be given more than once.
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [1, 0], value_parser = thread_count)]
    threads: Vec<usize>,
    #[command(flatten)]
    blas: BlasArguments,
    /// Inputs are made from this. Default: new ones each time.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    #[command(flatten)]
    json: JsonArgument,
}

/// Enough to see who is ahead; `dietcode bench` measures longer.
const TIMING: Timing = Timing::warm(5, 0.05, 0.1);

pub(super) fn operations(text: &str) -> Result<f64, &'static str> {
    let number = text.parse().ok().filter(|number: &f64| *number >= 1.0);
    number.ok_or("expected a number of at least 1, such as 1e9")
}

/// A shape at which candidates are called.
struct At {
    /// Of a list.
    layer: Option<String>,
    values: WklInst,
    instance: Instance,
}

/// What is written as JSON.
#[derive(Serialize)]
struct Explored {
    machine: Place,
    shapes: Vec<AtShape>,
}

/// A shape on a number of threads.
#[derive(Serialize)]
struct AtShape {
    layer: Option<String>,
    shape: WklInst,
    threads: usize,
    /// Arithmetic operations of a call.
    operations: f64,
    candidates: Vec<Row>,
}

/// A candidate there.
#[derive(Serialize)]
struct Row {
    name: String,
    /// Of a call; none of one that was not timed.
    seconds: Option<Summary>,
    gflops: Option<Summary>,
    nearest: Option<Nearest>,
    failure: Option<Failure>,
}

/// Runs it.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let setup = Setup::read(&arguments.config)?;
    let shapes = shapes(arguments, &setup)?;
    arguments.json.check()?;
    threads_once(&arguments.threads)?;
    let _heartbeat = Heartbeat::start();
    let mut harness = setup.harness(arguments.seed)?;
    let (own, mut failed) = own(arguments, &setup, &harness)?;
    let blas = arguments.blas.find(&mut harness)?;
    let baselines = Baselines::new(&harness, blas)?;
    let cache = setup.config.search.cache;
    let timing = if arguments.check { Timing::CHECK } else { Timing { cache, ..TIMING } };
    let mut explored = Explored { machine: Place::of_cpu(harness.cpu(), cache), shapes: Vec::new() };
    let mut results = 0;
    for threads in resolve_threads(&arguments.threads, harness.cpu().cores) {
        for at in &shapes {
            let mut candidates = own.clone();
            candidates.extend(baselines.finalists(harness.def(), &at.instance));
            let comparison = compare(&mut harness, &at.instance, &candidates, threads, timing)?;
            let rows = rows(&at.instance, &comparison);
            let title = format!("{} on {}", at.title(), place(threads));
            arguments.json.print(&text(&title, &rows, arguments.check))?;
            for row in &rows {
                results += 1;
                if let Some(failure) = row.failure.as_ref().filter(|failure| failure.is_its_own()) {
                    tell(&format!("{} at {title} {failure}", row.name));
                    failed.push(row.name.clone());
                }
            }
            explored.shapes.push(AtShape {
                layer: at.layer.clone(),
                shape: at.values.clone(),
                threads,
                operations: at.instance.flops,
                candidates: rows,
            });
        }
    }
    arguments.json.write(&explored)?;
    let count = failed.len();
    let failed: BTreeSet<String> = failed.into_iter().collect();
    if failed.is_empty() {
        let (results, shapes) = (counted(results, "result"), counted(shapes.len(), "shape"));
        return arguments.json.print(&format!("\n{results} at {shapes}: each is within its bound\n"));
    }
    let names: Vec<String> = failed.into_iter().map(|name| format!("`{name}`")).collect();
    Err(Error::check(format!("{} failed, of {}", counted(count, "result"), names.join(", "))))
}

/// All that were asked for and have as few operations as were asked for.
fn shapes(arguments: &Arguments, setup: &Setup) -> Result<Vec<At>> {
    each_once(&arguments.shapes, "list")?;
    let mut shapes = Vec::new();
    for path in &arguments.shapes {
        let listed = ShapeList::read(path)?.shapes_of(&setup.def)?;
        shapes.extend(listed.into_iter().map(|listed| At {
            layer: Some(listed.layer),
            values: listed.values,
            instance: listed.instance,
        }));
    }
    if shapes.is_empty() || !arguments.wkl.is_empty() {
        let asked = setup.asked(&arguments.wkl)?.into_iter();
        shapes.extend(asked.map(|asked| At { layer: None, values: asked.wkl, instance: asked.instance }));
    }
    if let Some(nothing) = shapes.iter().find(|at| at.instance.computes_nothing()) {
        let expected = "expected a shape at which something is computed";
        return Err(Error::input(format!("{}: a call computes nothing, {expected}", nothing.title())));
    }
    let Some(most) = arguments.most_operations else { return Ok(shapes) };
    let (all, least) = (shapes.len(), shapes.iter().map(|at| at.instance.flops).fold(f64::MAX, f64::min));
    shapes.retain(|at| at.instance.flops <= most);
    match all - shapes.len() {
        left_out if left_out == all => {
            return Err(Error::input(format!("--most-operations {most:e}: found {least:e} or more at each shape")));
        }
        0 => {}
        left_out => tell(&format!("{} of more than {most:e} operations left out", counted(left_out, "shape"))),
    }
    Ok(shapes)
}

impl At {
    fn title(&self) -> String {
        let shape = wkl_text(&self.values);
        self.layer.as_ref().map_or_else(|| shape.clone(), |layer| format!("{layer}, {shape}"))
    }
}

/// The kernel's own candidates, but for the nest, which is one of the baselines; and the names of those that have no code.
fn own(arguments: &Arguments, setup: &Setup, harness: &CpuHarness) -> Result<(Vec<Finalist>, Vec<String>)> {
    let Setup { config, def, program, .. } = setup;
    let cpu = harness.cpu();
    let default = Winners::default_for(program, cpu);
    let dispatched = setup.winners(cpu, &format!("`{PICK}` runs the default micro-kernel"), tell);
    let listed = Candidates::of(&config.cpu, program, cpu, arguments.listed, arguments.seed.unwrap_or(0));
    let (mut units, mut positions): (Vec<TranslationUnit>, HashMap<String, usize>) = Default::default();
    for micro_kernel in [&dispatched.schedules, &listed.candidates, &default.schedules].into_iter().flatten() {
        let name = micro_kernel.name();
        if !positions.contains_key(&name) {
            let lowered = micro_kernel.lowered(program, harness.target())?;
            positions.insert(name.clone(), units.len());
            units.push(translation_unit(def, &name, &lowered, &cpu.march)?);
        }
    }
    let built = harness.build(&units);
    let mut failed = Vec::new();
    for (unit, built) in units.iter().zip(&built) {
        if let Err(failure) = built {
            tell(&format!("{} {failure}", unit.name));
            failed.push(unit.name.clone());
        }
    }
    let of_dispatcher = dispatched.schedules.iter().map(|row| built[positions[&row.name()]].as_ref().ok().cloned());
    let whole: Option<Vec<Unit>> = of_dispatcher.collect();
    let whole = whole.map(|units| harness.dispatched(units, &dispatched.decision)).transpose()?;
    let mut own: Vec<Finalist> =
        whole.map(|implementation| Finalist { name: PICK.to_owned(), implementation }).into_iter().collect();
    let nest = MicroKernel::nest(program).name();
    let alone = units.iter().zip(built).filter(|(unit, _)| unit.name != nest);
    own.extend(alone.filter_map(|(unit, built)| {
        Some(Finalist { name: unit.name.clone(), implementation: Implementation::MicroKernel(built.ok()?) })
    }));
    Ok((own, failed))
}

/// Those that were timed by their speed, then the others.
fn rows(instance: &Instance, comparison: &Comparison) -> Vec<Row> {
    let row = |standing: &Standing| {
        let sample = standing.outcome.as_ref().ok();
        let timed = sample.filter(|sample| !sample.seconds.is_empty());
        Row {
            name: standing.name.clone(),
            seconds: timed.map(|sample| sample.seconds()),
            gflops: timed.map(|sample| sample.gflops(instance.flops)),
            nearest: sample.and_then(|sample| sample.nearest),
            failure: standing.outcome.as_ref().err().cloned(),
        }
    };
    let mut rows: Vec<Row> = comparison.standings.iter().map(row).collect();
    let rate = |row: &Row| row.gflops.map_or(0.0, |gflops| gflops.median);
    rows.sort_by(|a, b| rate(b).total_cmp(&rate(a)));
    rows
}

fn text(title: &str, rows: &[Row], is_check: bool) -> String {
    let number = |number: f64| format!("{number:.1e}");
    let cells = |row: &Row| {
        let (error, bound) = match (&row.failure, row.nearest) {
            (Some(Failure::Wrong { bound, .. }), _) => ("wrong".to_owned(), number(*bound)),
            (Some(failure), _) if failure.is_its_own() => (failure.kind().to_owned(), "–".to_owned()),
            (_, Some(nearest)) => (number(nearest.error), number(nearest.bound)),
            (_, None) => ("–".to_owned(), "–".to_owned()),
        };
        let rate = match &row.failure {
            Some(failure) if !failure.is_its_own() => failure.kind().to_owned(),
            _ => gflops(row.gflops.map(|it| it.median)),
        };
        let time = [rate, gflops(row.gflops.map(|it| it.iqr))];
        let timed = time.into_iter().filter(|_| !is_check);
        [row.name.clone()].into_iter().chain(timed).chain([error, bound]).collect::<Vec<String>>()
    };
    let timed = ["GFLOP/s", "± IQR"].into_iter().filter(|_| !is_check);
    let head: Vec<&str> = ["candidate"].into_iter().chain(timed).chain(["error", "bound"]).collect();
    format!("\n{title}\n{}\n", grid(head, rows.iter().map(cells)))
}
