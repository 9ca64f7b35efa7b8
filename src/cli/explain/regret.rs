//! `dietcode explain CONFIG --regret`: how far what is dispatched stays behind the best over the config's range, as the tuned file has it.

use dietcode::{Error, Result};

use super::Arguments;
use crate::cli::regret::{regions, selection};
use crate::cli::setup::Setup;
use crate::cli::table::Legend;
use crate::cli::target::Target;

/// Prints it.
pub(super) fn run(arguments: &Arguments, setup: &Setup) -> Result<()> {
    let target = arguments.target.unwrap_or(Target::Cpu);
    let tuned = setup.tuned(target)?;
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
