//! `dietcode expand`

mod set;

use std::path::PathBuf;

use dietcode::Result;
use dietcode::core::config::{ConfigFile, Refused};
use dietcode::core::search::Space;
use dietcode::core::sketch::Tiled;
use dietcode::core::target::CpuTarget;
use serde::Serialize;

use super::print;
use super::setup::Setup;

/// Shows the schedules that a config stands for, and which of them are valid on this machine; or the valid configurations
/// of a set.
///
/// Without options: how many there are, how many are valid, and why the others are not.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  dietcode expand configs/bert_dense.json
  dietcode expand configs/bert_dense.json --list
  dietcode expand configs/bert_dense.json --json
  dietcode expand configs/cpu_avx2.json --count")]
pub(crate) struct Arguments {
    /// The config or the set.
    config: PathBuf,
    /// Print only how many schedules a config has, valid or not, or how many configurations a set.
    #[arg(long, group = "form")]
    count: bool,
    /// Print each schedule's name and whether it is valid, or each configuration's name.
    #[arg(long, group = "form")]
    list: bool,
    /// Print each schedule or configuration as a line of JSON.
    #[arg(long, group = "form")]
    json: bool,
}

/// How it is shown.
#[derive(Clone, Copy)]
enum Form {
    Summary,
    Count,
    List,
    Json,
}

impl Arguments {
    fn form(&self) -> Form {
        match (self.count, self.list, self.json) {
            (true, ..) => Form::Count,
            (_, true, _) => Form::List,
            (.., true) => Form::Json,
            _ => Form::Summary,
        }
    }
}

#[derive(Serialize)]
struct Expanded<'a> {
    name: String,
    /// None for a configuration of a family that is no schedule of this nest.
    schedule: Option<&'a Tiled>,
    valid: bool,
    violations: Vec<String>,
}

/// Runs it.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    match ConfigFile::read(&arguments.config)? {
        ConfigFile::Set(set) => set::show(&set, arguments.form()),
        ConfigFile::Kernel(config) => show(&Setup::of(*config)?, arguments.form()),
    }
}

fn show(setup: &Setup, form: Form) -> Result<()> {
    if let Form::Count = form {
        return print(&format!("{}\n", setup.config.cpu.count()));
    }
    let target = CpuTarget::detect(&setup.config.cpu.march)?;
    if let Form::Summary = form {
        return summary(setup, &target);
    }
    // One at a time: a config may stand for more than fit memory.
    for found in setup.config.cpu.candidates_on(&setup.def, &target) {
        print(&match found {
            Ok(tiled) => line(tiled.name(), Some(&tiled), tiled.violations(&setup.def, &target), form),
            Err(Refused { name, reason }) => line(name, None, vec![reason], form),
        })?;
    }
    Ok(())
}

fn line(name: String, schedule: Option<&Tiled>, violations: Vec<String>, form: Form) -> String {
    let valid = violations.is_empty();
    match form {
        Form::Json => {
            let expanded = Expanded { name, schedule, valid, violations };
            format!("{}\n", serde_json::to_string(&expanded).unwrap_or_default())
        }
        _ if valid => format!("{name}: valid\n"),
        _ => format!("{name}: {}\n", violations.join("; ")),
    }
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
