//! `dietcode expand`

mod set;

use std::collections::BTreeMap;
use std::path::PathBuf;

use dietcode::Result;
use dietcode::core::config::{ConfigFile, Refused, Strategy};
use dietcode::core::dispatch::cuda::Listed;
use dietcode::core::ir::Program;
use dietcode::core::machine::CpuTarget;
use dietcode::core::machine::Target;
use dietcode::core::machine::cuda::{ComputeCapability, DeviceLimits};
use dietcode::core::search::Candidates;
use dietcode::core::sketch::Tiled;
use dietcode::core::sketch::rules::PartialSketch;
use serde::Serialize;

use super::json::JsonArgument;
use super::setup::Setup;
use super::sketches;

/// Shows what a config stands for: the schedules of its generators, which of them are valid on this machine, and the space
/// that is searched; or the valid configurations of a set.
///
/// Without options: how many there are, how many are valid, and why the others are not. JSON is a line for each schedule or
/// configuration, or, of a config without generators for a CPU, one object with the sketches that a search draws from.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  dietcode expand configs/bert_dense.json
  dietcode expand configs/bert_dense.json --list
  dietcode expand configs/bert_dense.json --json -
  dietcode expand configs/cpu_avx2.json --count")]
pub(crate) struct Arguments {
    /// The config or the set.
    config: PathBuf,
    /// Print only how many schedules a config's generators list for a CPU, valid or not, or how many configurations a set.
    #[arg(long, group = "form")]
    count: bool,
    /// Print each schedule's name and whether it is valid, or each configuration's name.
    #[arg(long, group = "form")]
    list: bool,
    #[command(flatten)]
    json: JsonArgument,
}

#[derive(Serialize)]
struct Expanded {
    name: String,
    /// None for a configuration of a family that is no schedule of this nest.
    schedule: Option<Tiled>,
    valid: bool,
    violations: Vec<String>,
}

/// What a config without generators for a CPU stands for.
#[derive(Serialize)]
struct Summary<'a> {
    kernel: &'a str,
    /// Schedules of the generators for a CPU.
    schedules: u128,
    cuda: Option<CudaSummary<'a>>,
    strategy: String,
    /// None where no space is searched.
    sketches: Option<Vec<Sketch>>,
}

/// Its generators for CUDA devices.
#[derive(Serialize)]
struct CudaSummary<'a> {
    capabilities: &'a [ComputeCapability],
    schedules: u128,
}

#[derive(Serialize)]
struct Sketch {
    /// The rules that made it.
    rules: Vec<String>,
}

/// Runs it.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let file = ConfigFile::read(&arguments.config)?;
    arguments.json.check()?;
    match file {
        ConfigFile::Set(set) => set::show(&set, arguments),
        ConfigFile::Kernel(config) => show(&Setup::of(*config)?, arguments),
    }
}

fn show(setup: &Setup, arguments: &Arguments) -> Result<()> {
    let Setup { config, program, .. } = setup;
    if arguments.count && !arguments.json.is_given() {
        return arguments.json.print(&format!("{}\n", config.cpu.count()));
    }
    let target = CpuTarget::detect(&config.cpu.march)?;
    if config.cpu.count() == 0 {
        let searched = searched(setup, &target)?;
        arguments.json.write_lines(std::iter::once(Summary::of(setup, searched.as_deref())))?;
        let text = if arguments.count { "0\n".to_owned() } else { summary(setup, &target, searched.as_deref())? };
        return arguments.json.print(&text);
    }
    // One at a time: a config may stand for more than fit memory.
    let expanded = || config.cpu.candidates_on(program, &target).map(|found| Expanded::of(found, program, &target));
    arguments.json.write_lines(expanded())?;
    if arguments.count {
        return arguments.json.print(&format!("{}\n", config.cpu.count()));
    }
    if arguments.list {
        return expanded().try_for_each(|expanded| arguments.json.print(&expanded.line()));
    }
    arguments.json.print(&summary(setup, &target, searched(setup, &target)?.as_deref())?)
}

/// The sketches of the space that a search draws from, if the strategy searches one.
fn searched(setup: &Setup, target: &CpuTarget) -> Result<Option<Vec<PartialSketch>>> {
    let is_searched = setup.config.search.strategy != Strategy::Enumerate;
    is_searched.then(|| sketches::all(setup, Target::Cpu(target.clone()))).transpose()
}

impl<'a> Summary<'a> {
    fn of(setup: &'a Setup, sketches: Option<&[PartialSketch]>) -> Summary<'a> {
        let Setup { config, def, .. } = setup;
        let cuda = config.cuda.as_ref();
        let cuda = cuda.map(|cuda| CudaSummary { capabilities: &cuda.capabilities, schedules: cuda.count() });
        let sketch =
            |partial: &PartialSketch| Sketch { rules: partial.rules.iter().map(ToString::to_string).collect() };
        Summary {
            kernel: &def.name,
            schedules: config.cpu.count(),
            cuda,
            strategy: config.search.strategy.to_string(),
            sketches: sketches.map(|partial_sketches| partial_sketches.iter().map(sketch).collect()),
        }
    }
}

impl Expanded {
    fn of(found: Result<Tiled, Refused>, program: &Program, target: &CpuTarget) -> Expanded {
        let (name, schedule, violations) = match found {
            Ok(tiled) => {
                let refused = tiled.micro_kernel(program, target).err().map(|e| e.to_string());
                (tiled.name(), Some(tiled), refused.into_iter().collect())
            }
            Err(Refused { name, reason }) => (name, None, vec![reason]),
        };
        Expanded { name, schedule, valid: violations.is_empty(), violations }
    }

    fn line(&self) -> String {
        let verdict = if self.valid { "valid".to_owned() } else { self.violations.join("; ") };
        format!("{}: {verdict}\n", self.name)
    }
}

fn summary(setup: &Setup, target: &CpuTarget, searched: Option<&[PartialSketch]>) -> Result<String> {
    let Setup { config, def, .. } = setup;
    let mut text = match config.cpu.count() {
        0 => "no generators for a CPU\n".to_owned(),
        _ => listed(setup, target),
    };
    for capability in config.cuda.iter().flat_map(|cuda| &cuda.capabilities) {
        let device = DeviceLimits::of(*capability)?;
        text += &Listed::of(config, &setup.program, device)
            .map_or_else(String::new, |listed| listed_for(*capability, &listed));
    }
    let Some(sketches) = searched else {
        return Ok(text + "`dietcode tune` tries those of the generators, by the strategy enumerate, and the default\n");
    };
    let path = config.path.display();
    text += &format!(
        "`dietcode tune {path}` searches all schedules of `{}` that rules make of its nest, by the strategy {}: {}, \
         whose sizes are drawn, as `dietcode explain {path} --sketches` shows them\n",
        def.name,
        config.search.strategy,
        if sketches.len() == 1 { "1 sketch".to_owned() } else { format!("{} sketches", sketches.len()) }
    );
    Ok(text)
}

/// How many schedules the generators list, and how many of them are valid.
fn listed(setup: &Setup, target: &CpuTarget) -> String {
    let space = Candidates::of(&setup.config.cpu, &setup.program, target, None, setup.config.search.seed);
    let invalid: usize = space.invalid.values().sum();
    let seen = space.candidates.len() + invalid;
    let mut text = format!("{} schedules", space.total);
    if u128::try_from(seen) != Ok(space.total) {
        text += &format!(", of which {seen} were drawn or are different");
    }
    text + &format!(": {} valid, {invalid} not\n", space.candidates.len()) + &reasons(&space.invalid)
}

/// The same of those for a device.
fn listed_for(capability: ComputeCapability, listed: &Listed) -> String {
    let (valid, invalid) = (listed.valid.len(), listed.invalid.values().sum::<usize>());
    let mut text = format!("{} schedules for {capability}, of which a build takes a few", listed.total);
    if u128::try_from(valid + invalid) != Ok(listed.total) {
        text += &format!(", and looks at {}", valid + invalid);
    }
    text + &format!(": {valid} valid, {invalid} not\n") + &reasons(&listed.invalid)
}

fn reasons(invalid: &BTreeMap<String, usize>) -> String {
    invalid.iter().map(|(reason, count)| format!("  {count}  {reason}\n")).collect()
}
