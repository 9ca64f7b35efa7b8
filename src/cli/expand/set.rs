//! `dietcode expand` of a set: configurations, without a kernel that they would be schedules of.

use dietcode::Result;
use dietcode::core::config::{Expansion, KernelSet, Removed};
use dietcode::core::sketch::Family;
use serde::Serialize;

use super::Arguments;

/// A configuration as a line of JSON.
#[derive(Serialize)]
struct Line<'a> {
    name: String,
    configuration: &'a Family,
}

/// Shows what a set stands for.
pub(super) fn show(set: &KernelSet, arguments: &Arguments) -> Result<()> {
    let expansion = set.expand()?;
    let families = expansion.families.iter();
    arguments.json.write_lines(families.clone().map(|family| Line { name: family.name(), configuration: family }))?;
    arguments.json.print(&match (arguments.count, arguments.list) {
        (true, _) => format!("{}\n", expansion.families.len()),
        (_, true) => families.map(|family| family.name() + "\n").collect(),
        _ => summary(set, &expansion),
    })
}

fn summary(set: &KernelSet, expansion: &Expansion) -> String {
    let Expansion { families, combinations, repeated, removed } = expansion;
    let mut text = format!("{} configurations, of {combinations} combinations\n", families.len());
    // They stand family by family.
    for of_family in families.chunk_by(|a, b| a.family() == b.family()) {
        text += &format!("  {}  {}\n", of_family.len(), of_family[0].family());
    }
    if *repeated > 0 {
        text += &format!("  {repeated}  there already\n");
    }
    for Removed { family, condition, count } in removed {
        text += &format!("  {count}  {family} without {} ({}): {}\n", condition.name, condition.text, condition.why);
    }
    if !set.kernels.is_empty() {
        let schedules: u128 = set.generators.iter().map(|generator| generator.generator.count()).sum();
        text += &format!("{schedules} schedules for the set's own {} kernels\n", set.kernels.len());
    }
    text
}
