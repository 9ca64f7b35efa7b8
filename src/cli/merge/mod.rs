//! `dietcode merge`

mod cpu;
mod cuda;
mod sources;
mod table;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use dietcode::core::dispatch::{FORMAT, Instance, Joined, Measurement, Provenance, Seen, Tuned, join};
use dietcode::{Error, Result};

use self::sources::Sources;
use self::table::Table;
use super::setup::{Setup, wkl_text};
use super::target::Target;
use super::{counted, print};

/// Makes of the results of `tune_nt` and its kind what the next build dispatches by.
///
/// The results are those of one kernel on one machine, at as many shapes as there are; files of `tune_all` may hold other
/// kernels besides. Winners are selected for each shape, as few as are close to the best everywhere, and the decision tree
/// between them is trained, as after a search. Nothing is measured.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tune_nt 688 768 2304 1 20 --json a.json
  tune_nt 80 768 2304 1 20 --json b.json
  dietcode merge a.json b.json -o configs/gemm_nt.cpu.tuned.json
  dietcode merge gpu.json -o configs/gemm_nt.sm_90.tuned.json")]
pub(crate) struct Arguments {
    /// Results, as `--json` of the five programs writes them.
    #[arg(value_name = "RESULT", required = true)]
    results: Vec<PathBuf>,
    /// The tuned file, beside its config: CONFIG.cpu.tuned.json, or CONFIG.sm_90.tuned.json for a GPU.
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
}

/// What was joined, with the names of its micro-kernels and of the configurations that they are of.
struct Merged {
    seen: Vec<Seen>,
    /// For each micro-kernel: its own name and the configuration's.
    names: Vec<(String, String)>,
    joined: Joined,
    tuned: Tuned,
}

/// Runs it.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let (config, target) = place(&arguments.output)?;
    let setup = Setup::read(&config)?;
    let sources = Sources::read(&arguments.results, &setup, target)?;
    let merged = match target {
        Target::Cpu => cpu::merge(&setup, &sources)?,
        Target::Cuda(capability) => cuda::merge(&setup, &sources, capability)?,
    };
    merged.tuned.save(&arguments.output)?;
    print(&text(&merged))?;
    print(&format!("Written: {}\n", arguments.output.display()))
}

/// The config beside an output file, and the target in its name.
fn place(output: &Path) -> Result<(PathBuf, Target)> {
    let expected = || {
        Error::input(format!(
            "-o: found `{}`, expected the config's name with its target, such as configs/gemm_nt.cpu.tuned.json or \
             configs/gemm_nt.sm_90.tuned.json",
            output.display()
        ))
    };
    let name = output.file_name().and_then(|name| name.to_str()).ok_or_else(expected)?;
    let (stem, target) =
        name.strip_suffix(".tuned.json").and_then(|name| name.rsplit_once('.')).ok_or_else(expected)?;
    Ok((output.with_file_name(format!("{stem}.json")), target.parse().map_err(|_| expected())?))
}

/// Picks winners and trains the tree; `today` is what the dispatcher ran at each instance, where that is known.
fn joined(setup: &Setup, names: &[(String, String)], seen: &[Seen], today: &[Option<usize>]) -> Result<Joined> {
    let names: Vec<String> = names.iter().map(|(name, _)| name.clone()).collect();
    join(&setup.vars, &names, seen, today, setup.config.search.tolerance)
}

/// The tuned file of what was joined, with what `measurements` says of a micro-kernel at an instance.
fn tuned(
    setup: &Setup,
    target: String,
    provenance: Provenance,
    (table, seen, joined): (&Table, &[Seen], &Joined),
    measurements: impl Fn(&Seen, usize) -> Result<Vec<Measurement>>,
) -> Result<Tuned> {
    let instance = |(of, pick): (&Seen, &usize)| {
        Ok(Instance {
            wkl: of.workload.wkl.clone(),
            shape: setup.named(&of.workload.instance.shape),
            micro_kernel: joined.tree.pick(&setup.vars, &of.workload.instance.shape).to_owned(),
            measurements: measurements(of, *pick)?,
        })
    };
    let used = table.schedules.iter().filter(|(used, _)| joined.tree.leaves().any(|leaf| leaf == used.name()));
    Ok(Tuned {
        format: FORMAT,
        kernel: setup.def.name.clone(),
        target,
        provenance,
        micro_kernels: used.map(|(used, _)| used.clone()).collect(),
        reports: BTreeMap::new(),
        tree: joined.tree.clone(),
        instances: seen.iter().zip(&joined.picks).map(instance).collect::<Result<_>>()?,
        regret: None,
        asked: None,
    })
}

/// A line for each instance.
fn text(merged: &Merged) -> String {
    let line = |(seen, pick): (&Seen, &usize)| {
        let (name, configuration) = &merged.names[*pick];
        let rates = seen.gflops.iter().filter_map(|(threads, row)| Some((threads, row[*pick]?)));
        let rates: Vec<String> = rates.map(|(threads, gflops)| rate(*threads, gflops.median)).collect();
        format!("{}: {configuration} ({name}), {}\n", wkl_text(&seen.workload.wkl), rates.join(", "))
    };
    merged.seen.iter().zip(&merged.joined.picks).map(line).collect()
}

fn rate(threads: usize, gflops: f64) -> String {
    match threads {
        0 => format!("{gflops:.1} GFLOP/s"),
        n => format!("{gflops:.1} GFLOP/s on {}", counted(n, "thread")),
    }
}
