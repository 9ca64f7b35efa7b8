//! `dietcode features`
use std::path::PathBuf;

use dietcode::core::config::Shapes;
use dietcode::core::cost_model::features::{self, LoopFeatures, tvm};
use dietcode::core::dispatch::Winners;
use dietcode::core::machine::CpuTarget;
use dietcode::core::machine::cuda::DeviceLimits;
use dietcode::core::sketch::{Blocked, Lowered};
use dietcode::{Error, Result};

use super::setup::{Setup, wkl_text};
use super::table::grid;
use super::target::Target;
use super::{counted, print, tell};

/// Prints what a cost model is told of a kernel's loops, or compares features with those that TVM has of its programs.
///
/// The kernel is the default micro-kernel, as it serves the shape where nothing was tuned. With --loops there is a row for each
/// number of each loop, without it a row for each of the 164 numbers of a stored buffer.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  dietcode features configs/bert_dense.json --loops --wkl T=43         what each loop does to the data inside of it
  dietcode features configs/bert_dense.json --target sm_80             what each store does
  dietcode features --check tests/oracles/tvm_per_store_features.json  features of TVM's programs against TVM's own")]
pub(crate) struct Arguments {
    /// The config.
    #[arg(required_unless_present = "check")]
    config: Option<PathBuf>,
    /// Loop-context features: length, place and kind of each loop, and how each access moves with it.
    #[arg(long)]
    loops: bool,
    /// sign(x) · log2(1 + |x|) of each number that counts; those of stores always are.
    #[arg(long, requires = "loops")]
    log: bool,
    /// The shape, by the config's workload variables: T=37. Default: the config's first instance.
    #[arg(long, value_name = "VARS")]
    wkl: Option<Shapes>,
    /// Where: `cpu`, or a compute capability such as sm_80. Default: the CPU.
    #[arg(long, value_name = "TARGET")]
    target: Option<Target>,
    /// A list of TVM's programs as JSON, each with `tir` (its lines) and `features` (a row of 164 numbers for each stored buffer).
    /// Exit status 1 if one is off by more than 0.001, relative; those of integers (int_*) may be by 0.2.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["config", "loops", "log", "wkl", "target"])]
    check: Option<PathBuf>,
}

/// Runs it.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    match (&arguments.check, &arguments.config) {
        (Some(file), _) => check(file),
        (None, Some(config)) => show(arguments, &Setup::read(config)?),
        (None, None) => Err(Error::input("expected a config, or --check with a file")),
    }
}

fn check(file: &std::path::Path) -> Result<()> {
    let tvm::Comparison { records, rows, off, largest } = tvm::check(file)?;
    let names = features::names();
    let row =
        |((name, off), largest): ((&String, &usize), &f64)| [name.clone(), off.to_string(), format!("{largest:.1e}")];
    let table = grid(["feature", "records off", "largest difference"], names.iter().zip(&off).zip(&largest).map(row));
    print(&format!("{table}\n{}, {}\n", counted(records, "record"), counted(rows, "row")))?;
    let tolerance = |name: &str| if name.starts_with("int_") { tvm::INTEGER_TOLERANCE } else { tvm::TOLERANCE };
    let beyond = names.iter().zip(&largest).filter(|(name, largest)| **largest > tolerance(name));
    let beyond: Vec<&str> = beyond.map(|(name, _)| name.as_str()).collect();
    if beyond.is_empty() {
        return Ok(());
    }
    Err(Error::check(format!("{}: off beyond the tolerance: {}", file.display(), beyond.join(", "))))
}

fn show(arguments: &Arguments, setup: &Setup) -> Result<()> {
    let workloads = setup.asked(arguments.wkl.as_slice())?;
    let workload = workloads.first().ok_or_else(|| Error::input("--wkl: found no shape, expected one"))?;
    let shape = &workload.instance.shape;
    if let [_, more @ ..] = &*workloads
        && arguments.wkl.is_some()
        && !more.is_empty()
    {
        return Err(Error::input(format!("--wkl: found {}, expected one", counted(workloads.len(), "shape"))));
    }
    let (name, lowered) = kernel(setup, arguments.target.unwrap_or(Target::Cpu), shape)?;
    tell(&format!("{name} at {}", wkl_text(&workload.wkl)));
    for nest in &lowered.nests {
        let table = if arguments.loops {
            let rows = features::loops(nest, shape, arguments.log);
            let values = LoopFeatures::flat(&rows);
            grid(["feature", "value"], LoopFeatures::names(&rows).into_iter().zip(values).map(|(n, x)| [n, number(x)]))
        } else {
            let stores = features::stores(nest, shape, None);
            let head: Vec<String> =
                std::iter::once("feature".into()).chain(stores.iter().map(|(name, _)| name.to_string())).collect();
            let row = |(at, name): (usize, String)| {
                std::iter::once(name)
                    .chain(stores.iter().map(move |(_, row)| number(f64::from(row[at]))))
                    .collect::<Vec<String>>()
            };
            grid(head, features::names().into_iter().enumerate().map(row))
        };
        print(&format!("{}\n{table}\n", nest.name))?;
    }
    Ok(())
}

/// Whole numbers as such.
fn number(x: f64) -> String {
    if x.fract() == 0.0 { format!("{x:.0}") } else { format!("{x:.4}") }
}

/// The micro-kernel that serves a shape where nothing was tuned.
fn kernel(setup: &Setup, target: Target, shape: &[i64]) -> Result<(String, Lowered)> {
    match target {
        Target::Cpu => {
            let mut winners = Winners::default_for(&setup.program, &CpuTarget::detect(&setup.config.cpu.march)?);
            let row = winners.decision.pick(shape);
            Ok((winners.schedules[row].name(), winners.lowered.swap_remove(row)))
        }
        Target::Cuda(capability) => {
            let device = DeviceLimits::of(capability)?;
            let blocked = Blocked::default_for(&setup.program, device);
            let blocked =
                blocked.ok_or_else(|| Error::input(format!("{}: has no default for {capability}", setup.def.name)))?;
            let (micro_kernel, lowered) = blocked.micro_kernel(&setup.program, device)?;
            Ok((micro_kernel.name(), lowered))
        }
    }
}
