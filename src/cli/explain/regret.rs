//! `dietcode explain CONFIG --regret`: how far what is dispatched stays behind the best over the config's range, as the tuned file has it.

use dietcode::core::dispatch::{Tuned, Winners, cuda};
use dietcode::core::machine::CpuTarget;
use dietcode::core::machine::cuda::DeviceLimits;
use dietcode::{Error, Result};

use super::Arguments;
use crate::cli::regret::{regions, selection};
use crate::cli::setup::Setup;
use crate::cli::table::Legend;
use crate::cli::target::Target;

/// Prints it.
pub(super) fn run(arguments: &Arguments, setup: &Setup) -> Result<()> {
    let target = arguments.target.unwrap_or(Target::Cpu);
    let tuned = tuned(setup, target)?;
    let Some(regret) = &tuned.regret else {
        let (path, config) = (setup.config.tuned_path(&tuned.target), setup.config.path.display());
        let why = "found no `regret`, expected that of a range with other shapes than the tuned instances";
        let then = format!(
            "run `dietcode tune {config}`, which writes it where other shapes were measured: that takes a `range` beyond the instances, \
             more than one contestant, and time that is left behind the finals (`--seconds`)"
        );
        return Err(Error::unavailable(format!("{}: {why}; {then}", path.display())));
    };
    arguments.json.write(regret)?;
    let mut legend = Legend::default();
    let tables = selection(regret, &mut legend) + &regions(regret, &mut legend);
    arguments.json.print(&(tables.trim_start().to_owned() + &legend.text()))
}

/// The tuned file of a target, if it holds here.
fn tuned(setup: &Setup, target: Target) -> Result<Tuned> {
    let Setup { config, def, program, .. } = setup;
    let found = match target {
        Target::Cpu => {
            let cpu = CpuTarget::detect(&config.cpu.march)?;
            Winners::load(config, def, program, &cpu).map(|winners| winners.tuned)
        }
        Target::Cuda(capability) => {
            cuda::load(config, (def, program), DeviceLimits::of(capability)?, None).map(|(tuned, _)| Some(tuned))
        }
    };
    let found = found.map_err(|miss| Error::unavailable(miss.to_string()))?;
    Ok(found.expect("winners that were loaded are of a tuned file"))
}
