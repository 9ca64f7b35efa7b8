//! The results that are merged: of one kernel, on one machine, each shape once.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use dietcode::benchmark::results::{Machine, Results, Run};
use dietcode::core::config::WklInst;
use dietcode::core::measure::Instance;
use dietcode::core::search::WorkloadInstance;
use dietcode::{Error, Result};

use super::Target;
use crate::cli::setup::Setup;
use crate::cli::tell;

/// Results that fit together.
pub(super) struct Sources {
    /// The first file, for messages.
    pub(super) first: PathBuf,
    /// On what all of them were measured.
    pub(super) machine: Machine,
    /// The runs at each instance.
    pub(super) instances: Vec<(WorkloadInstance, Vec<Run>)>,
}

impl Sources {
    /// Reads the files and checks that they fit the kernel, the target, and each other.
    pub(super) fn read(paths: &[PathBuf], setup: &Setup, target: Target) -> Result<Sources> {
        let mut files = Vec::new();
        for path in paths {
            let results = Results::read(path)?;
            check_target(path, &results.machine, target)?;
            files.push((path, results));
        }
        let (first, machine) = (files[0].0.clone(), files[0].1.machine.clone());
        for (path, results) in &files[1..] {
            if let Some((what, there, here)) = difference(&machine, &results.machine) {
                return Err(Error::input(format!(
                    "{}: found results of the {what} `{here}`, expected `{there}` as in {}; merge what one machine measured",
                    path.display(),
                    first.display()
                )));
            }
        }
        let mut instances: Vec<(WorkloadInstance, Vec<Run>)> = Vec::new();
        let mut seen: BTreeMap<(Vec<i64>, usize), &Path> = BTreeMap::new();
        let mut scalars = None;
        for (path, results) in &files {
            for run in runs(path, results, setup)? {
                let odd = |message: String| Error::input(format!("{}: {message}", path.display()));
                let workload = workload(setup, run).map_err(odd)?;
                let known = *scalars.get_or_insert((run.alpha, run.beta));
                if known != (run.alpha, run.beta) {
                    let found = format!("found alpha = {}, beta = {}", run.alpha, run.beta);
                    return Err(odd(format!("{found}, expected {} and {} as in the others", known.0, known.1)));
                }
                if let Some(other) = seen.insert((workload.instance.shape.clone(), run.threads), path) {
                    let shape = super::wkl_text(&workload.wkl);
                    let other = other.display();
                    return Err(odd(format!(
                        "found {shape} on {} threads, which is in {other} too; give one of them",
                        run.threads
                    )));
                }
                if let Some(why) = &run.stopped {
                    tell(&format!("warning: {}: {why}", path.display()));
                }
                match instances.iter_mut().find(|(other, _)| other.instance.shape == workload.instance.shape) {
                    Some((_, runs)) => runs.push(run.clone()),
                    None => instances.push((workload, vec![run.clone()])),
                }
            }
        }
        Ok(Sources { first, machine, instances })
    }
}

fn check_target(path: &Path, machine: &Machine, target: Target) -> Result<()> {
    let found = match (machine, target) {
        (Machine::Cpu(_), Target::Cpu) => return Ok(()),
        (Machine::Cuda(gpu), Target::Cuda(capability)) => {
            if gpu.device.capability == (capability.major, capability.minor) {
                return Ok(());
            }
            format!("of sm_{}{}", gpu.device.capability.0, gpu.device.capability.1)
        }
        (Machine::Cpu(_), _) => "of a CPU".to_owned(),
        (Machine::Cuda(_), _) => "of a GPU".to_owned(),
        (Machine::CudaHost(_), _) => "of the emulated device, whose times mean nothing".to_owned(),
    };
    let expected = match target {
        Target::Cpu => "of a CPU".to_owned(),
        Target::Cuda(capability) => format!("of {capability}"),
    };
    Err(Error::input(format!(
        "{}: found results {found}, expected some {expected} for this tuned file",
        path.display()
    )))
}

/// What tells two machines apart, and what it is on each.
fn difference(one: &Machine, other: &Machine) -> Option<(&'static str, String, String)> {
    let facts = |machine: &Machine| match machine {
        Machine::Cpu(cpu) => vec![
            ("CPU", cpu.cpu.clone()),
            ("CPU features", cpu.features.join(" ")),
            ("compiler", cpu.compiler.clone()),
            ("-march", cpu.march.clone()),
        ],
        Machine::Cuda(gpu) | Machine::CudaHost(gpu) => {
            vec![("device", gpu.device.model.clone()), ("nvcc", gpu.nvcc.clone().unwrap_or_default())]
        }
    };
    let both = facts(one).into_iter().zip(facts(other));
    both.into_iter().find(|(a, b)| a != b).map(|((what, a), (_, b))| (what, a, b))
}

/// The runs of the kernel, of which there has to be one.
fn runs<'a>(path: &Path, results: &'a Results, setup: &Setup) -> Result<Vec<&'a Run>> {
    let (name, hash) = (&setup.def.name, format!("{:016x}", setup.def.source_hash()));
    let runs: Vec<&Run> = results.runs.iter().filter(|run| run.kernel == *name).collect();
    let odd = |message: String| Error::input(format!("{}: {message}", path.display()));
    if runs.is_empty() {
        let others: Vec<String> = results.runs.iter().map(|run| format!("`{}`", run.kernel)).collect();
        let found = if others.is_empty() { "nothing".to_owned() } else { others.join(", ") };
        return Err(odd(format!("found results of {found}, expected some of `{name}`, the kernel of the config")));
    }
    match runs.iter().find(|run| run.source_hash != hash) {
        Some(run) => Err(odd(format!(
            "found results of another version of `{name}` (its hash is {}), expected {hash}; measure again",
            run.source_hash
        ))),
        None => Ok(runs),
    }
}

/// The workload instance whose shape this is, and how much it counts; one that the config does not name counts once.
fn workload(setup: &Setup, run: &Run) -> Result<WorkloadInstance, String> {
    let Setup { config, def, vars, .. } = setup;
    let missing = |var: &String| format!("the value of `{var}` is missing in the shape of `{}`", run.kernel);
    let value = |var: &String| run.shape.get(var).copied().ok_or_else(|| missing(var));
    let shape: Vec<i64> = vars.iter().map(value).collect::<Result<_, _>>()?;
    let is_it = |wkl: &WklInst| config.shape_of(vars, wkl).is_ok_and(|of_wkl| of_wkl == shape);
    let known = config.wkl_insts.iter().zip(&config.weights).find(|(wkl, _)| is_it(wkl));
    // Where a shape variable is a workload variable, any shape is an instance.
    let own: WklInst = run.shape.iter().map(|(var, value)| (var.clone(), *value)).collect();
    let (wkl, weight) = match known {
        Some((wkl, weight)) => (wkl.clone(), *weight),
        None if is_it(&own) => (own, 1.0),
        None => return Err(format!("found the shape {shape:?}, expected one of the config's workload instances")),
    };
    let instance = Instance::of(def, &shape).map_err(|e| e.to_string())?;
    if instance.is_empty() {
        return Err(format!(
            "found the shape {shape:?}, expected one without empty tensors: nothing was measured there"
        ));
    }
    Ok(WorkloadInstance { wkl, weight, instance })
}
