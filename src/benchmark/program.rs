//! A program of the five: from its command line to its exit status.

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::{CommandFactory, FromArgMatches};
use dietcode_core::dispatch::today;
use dietcode_core::measure::cuda::CudaDevice;
use dietcode_core::measure::{Interrupt, leave, worker};
use dietcode_core::runtime::set::{Configuration, Set};
use dietcode_core::{Error, Result};

use crate::heartbeat::{Heartbeat, ended, print};
use crate::tuning::{WORKER, worker_command};

use super::arguments::{Arguments, Target};
use super::bench::{Bench, DISPATCHED};
use super::problem::{Problem, Product};
use super::progress::Progress;
use super::results::{Entry, FORMAT, Machine, Outcome, Results, Run};
use super::usage::shown;
use super::{cpu, device, output, rounds, table, winner};

/// What one of the programs is made of.
#[derive(Clone, Copy)]
pub struct Program {
    /// Its name, such as `tune_nt`.
    pub name: &'static str,
    /// What it tries, in turn.
    pub products: &'static [Product],
    /// The configurations that it tries.
    pub set: &'static Set,
}

/// Set by an interrupt.
static STOP: AtomicBool = AtomicBool::new(false);

/// Runs a program.
///
/// | status | meaning                                                        |
/// |--------|----------------------------------------------------------------|
/// | 0      | done, also where the run was ended early                       |
/// | 1      | the kernel or every configuration failed its check             |
/// | 2      | bad usage or input                                             |
/// | 3      | something needed is not there, such as a compiler or a device  |
pub fn main(program: &Program) -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let result = match words.first().and_then(|word| word.to_str()) {
        Some(WORKER) => serve(program, words.get(1)),
        _ => {
            // Wrong usage ends here with status 2, `--help` with 0.
            let matches = Arguments::command().name(program.name).try_get_matches();
            let arguments = matches.and_then(|matches| Arguments::from_arg_matches(&matches));
            tune(program, &arguments.unwrap_or_else(|error| shown(error).exit()))
        }
    };
    ended(program.name, result)
}

fn serve(program: &Program, device: Option<&OsString>) -> Result<()> {
    let device = device.map(|device| device.to_str().unwrap_or_default().parse()).transpose()?;
    worker::serve_linked(device, program, std::io::stdin().lock(), std::io::stdout().lock())
}

fn tune(program: &Program, arguments: &Arguments) -> Result<()> {
    output::check(arguments)?;
    check_target(program.set, arguments.target)?;
    check_filter(program.set, &arguments.filter)?;
    let problems: Vec<Problem> =
        program.products.iter().map(|product| Problem::new(product, arguments)).collect::<Result<_>>()?;
    stop_on_interrupt()?;
    let _heartbeat = Heartbeat::start();
    let mut results: Option<Results> = None;
    let ran = run_all(program, &problems, arguments, &mut results);
    // What was known before something went wrong is there.
    if let Some(results) = results.as_ref().filter(|_| arguments.prints_json()) {
        print(&results.json().map_err(|e| Error::failed("results are no JSON").caused_by(e))?)?;
    }
    ran?;
    let runs = results.map_or_else(Vec::new, |results| results.runs);
    if problems.len() > 1 {
        show(arguments, &table::summary(&runs))?;
    }
    let missed = &problems[runs.len()..];
    if !missed.is_empty() {
        let names: Vec<&str> = missed.iter().map(|problem| problem.kernel.name()).collect();
        show(arguments, &format!("Not reached before the run was ended: {}\n", names.join(", ")))?;
    }
    verdict(&runs)
}

/// Tries one product after the other, until the run is ended.
fn run_all(
    program: &Program,
    problems: &[Problem],
    arguments: &Arguments,
    results: &mut Option<Results>,
) -> Result<()> {
    let interrupt = Interrupt::new(&STOP, arguments.seconds);
    for problem in problems.iter().take_while(|_| !interrupt.is_due()) {
        let (machine, run) = match one(program, problem, arguments, interrupt) {
            // An interrupt from a terminal ends also the compiler that a product waits for, which is no fault of it.
            Err(_) if interrupt.is_asked_for() => break,
            measured => measured?,
        };
        show(arguments, &table::text(&run, arguments.top))?;
        let all = results.get_or_insert_with(|| empty(program, machine));
        all.runs.push(run);
        // What is known is saved after each product: the next one may not come to its end.
        output::write(all, arguments)?;
    }
    Ok(())
}

fn empty(program: &Program, machine: Machine) -> Results {
    let (name, set) = (program.name.to_owned(), program.set.config.to_owned());
    Results { format: FORMAT, program: name, date: today(), machine, set, runs: Vec::new() }
}

/// Measures one product.
fn one(program: &Program, problem: &Problem, arguments: &Arguments, interrupt: Interrupt) -> Result<(Machine, Run)> {
    let on_device = |device: CudaDevice| {
        let worker = worker_command(Some(device))?;
        device::open(problem, program.set, (device, worker), arguments.limit, interrupt)
    };
    let bench = match arguments.target {
        Target::Cpu => cpu::open(problem, program.set, worker_command(None)?, arguments, interrupt)?,
        Target::Cuda => on_device(CudaDevice::Cuda(0))?,
        Target::CudaHost => on_device(CudaDevice::Emulated)?,
    };
    measure(bench, arguments, interrupt)
}

fn measure(mut bench: Bench<'_>, arguments: &Arguments, interrupt: Interrupt) -> Result<(Machine, Run)> {
    let (set, problem) = (bench.set, bench.problem);
    let chosen = set.configurations.iter().filter(|configuration| is_wanted(configuration, &arguments.filter));
    let entries = chosen.map(|configuration| entry(configuration, problem, &bench)).collect::<Result<Vec<Entry>>>()?;
    let mut progress = Progress::new(problem.instance.flops);
    let rounds = rounds::run(&mut bench, entries, arguments.reps, interrupt, &mut progress)?;
    let run = Run {
        kernel: problem.kernel.name().to_owned(),
        source_hash: format!("{:016x}", problem.def.source_hash()),
        shape: problem.shape(),
        alpha: arguments.alpha,
        beta: arguments.beta,
        threads: bench.threads,
        reps: arguments.reps,
        flops: problem.instance.flops,
        stopped: rounds.stopped,
        baselines: rounds.baselines,
        configurations: rounds.configurations,
    };
    Ok((bench.machine, run))
}

/// A configuration of which nothing is known but whether it serves the product.
fn entry(configuration: &'static Configuration, problem: &Problem, bench: &Bench<'_>) -> Result<Entry> {
    let parameters = winner::family(configuration.parameters)?;
    let unserved = bench.unserved(configuration.entry(problem.kernel.name()), &parameters);
    let outcome = unserved.map_or(Outcome::NotReached, Outcome::Unserved);
    Ok(Entry { name: configuration.name.to_owned(), parameters, outcome, ratios: Default::default() })
}

fn is_wanted(configuration: &Configuration, filter: &[String]) -> bool {
    filter.is_empty() || filter.iter().any(|text| configuration.name.contains(text.as_str()))
}

/// A set that was not compiled for the target says why, and what to do.
fn check_target(set: &Set, target: Target) -> Result<()> {
    let (built, name) = match target {
        Target::Cpu => (set.cpu, "cpu"),
        Target::Cuda => (set.cuda, "cuda"),
        Target::CudaHost => (set.cuda_host, "cuda-host"),
    };
    built.map_err(|why| {
        let build = format!(
            "DIETCODE_TARGETS=cpu,{name} DIETCODE_CONFIG={} cargo build --release --features benchmark",
            set.config
        );
        Error::unavailable(format!("--target {name}: {why} (`{build}`)"))
    })
}

fn check_filter(set: &Set, filter: &[String]) -> Result<()> {
    if set.configurations.iter().any(|configuration| is_wanted(configuration, filter)) {
        return Ok(());
    }
    let Some(first) = set.configurations.first() else {
        let message =
            format!("no configuration of {} serves a product on what it was built for; build another set", set.config);
        return Err(Error::unavailable(message));
    };
    let (found, count) = (filter.join("`, `"), set.configurations.len());
    Err(Error::input(format!(
        "--filter: found `{}`, expected a part of a name; the set {} has {count} configurations, such as `{}`",
        found.escape_debug(),
        set.config,
        first.name
    )))
}

/// Whether a run says anything at all.
fn verdict(runs: &[Run]) -> Result<()> {
    for run in runs {
        let dispatched = run.baselines.iter().find(|baseline| baseline.name == DISPATCHED);
        let dispatched = dispatched.map(|baseline| &baseline.outcome);
        if let Some(Outcome::Failed(failure)) = dispatched.filter(|outcome| !outcome.is_unknown()) {
            return Err(Error::check(format!("`{}` as it is dispatched {failure}", run.kernel)));
        }
        if run.stopped.is_none() && run.ranking().is_empty() {
            if run.configurations.iter().any(|entry| entry.outcome.is_unknown()) {
                let kernel = &run.kernel;
                let message = format!("others took the cores while configurations of `{kernel}` were timed: try again");
                return Err(Error::unavailable(message));
            }
            let message = format!("no configuration serves `{}` and passed its check", run.kernel);
            return Err(Error::check(message));
        }
    }
    Ok(())
}

fn stop_on_interrupt() -> Result<()> {
    ctrlc::set_handler(|| {
        if STOP.swap(true, Ordering::Relaxed) {
            leave(130);
        }
    })
    .map_err(|e| Error::unavailable("interrupts cannot be caught").caused_by(e))
}

/// Prints what people read, beside JSON on standard error.
fn show(arguments: &Arguments, text: &str) -> Result<()> {
    if arguments.prints_json() {
        drop(std::io::stderr().write_all(text.as_bytes()));
        return Ok(());
    }
    print(text)
}

#[cfg(test)]
mod tests {
    use dietcode_core::ErrorKind;

    use super::*;

    #[test]
    fn a_set_without_configurations_is_no_fault_of_a_filter() {
        let set = Set { config: "configs/x.json", cpu: Ok(()), cuda: Ok(()), cuda_host: Ok(()), configurations: &[] };
        let error = check_filter(&set, &[]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        assert!(error.to_string().starts_with("no configuration of configs/x.json serves a product"), "{error}");
    }
}
