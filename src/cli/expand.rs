//! `dietcode expand`

use std::path::PathBuf;

use dietcode::Result;
use dietcode::core::search::Space;
use dietcode::core::target::CpuTarget;
use serde::Serialize;

use super::print;
use super::setup::Setup;

/// Shows the schedules that a config stands for, and which of them are valid on this machine.
///
/// Without options: how many there are, how many are valid, and why the others are not.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  dietcode expand configs/bert_dense.json
  dietcode expand configs/bert_dense.json --list
  dietcode expand configs/bert_dense.json --json")]
pub(crate) struct Arguments {
    /// The config.
    config: PathBuf,
    /// Print only how many schedules there are, valid or not.
    #[arg(long, group = "form")]
    count: bool,
    /// Print each schedule's name and whether it is valid.
    #[arg(long, group = "form")]
    list: bool,
    /// Print each schedule as a line of JSON.
    #[arg(long, group = "form")]
    json: bool,
}

#[derive(Serialize)]
struct Expanded<'a> {
    name: String,
    schedule: &'a dietcode::core::sketch::Tiled,
    valid: bool,
    violations: Vec<String>,
}

/// Runs it.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let setup = Setup::read(&arguments.config)?;
    if arguments.count {
        return print(&format!("{}\n", setup.config.cpu.count()));
    }
    let target = CpuTarget::detect(&setup.config.cpu.march)?;
    if !arguments.list && !arguments.json {
        return summary(&setup, &target);
    }
    // One at a time: a config may stand for more than fit memory.
    for tiled in setup.config.cpu.candidates() {
        let violations = tiled.violations(&setup.def, &target);
        let name = tiled.name();
        print(&match arguments.json {
            true => {
                let valid = violations.is_empty();
                let expanded = Expanded { name, schedule: &tiled, valid, violations };
                format!("{}\n", serde_json::to_string(&expanded).unwrap_or_default())
            }
            false if violations.is_empty() => format!("{name}: valid\n"),
            false => format!("{name}: {}\n", violations.join("; ")),
        })?;
    }
    Ok(())
}

fn summary(setup: &Setup, target: &CpuTarget) -> Result<()> {
    let space = Space::of(&setup.config.cpu, &setup.def, target, None, setup.config.search.seed);
    let invalid: usize = space.invalid.values().sum();
    let seen = space.candidates.len() + invalid;
    let mut text = format!("{} schedules", space.total);
    if u128::try_from(seen) != Ok(space.total) {
        text += &format!(", of which {seen} were drawn or are different");
    }
    text += &format!(": {} valid, {invalid} not\n", space.candidates.len());
    for (reason, count) in &space.invalid {
        text += &format!("  {count}  {reason}\n");
    }
    print(&text)
}
