//! `dietcode explain --sketches`: the space that a search draws from.

use dietcode::Result;
use dietcode::core::machine::cuda::DeviceLimits;
use dietcode::core::machine::{self, CpuTarget};
use dietcode::core::schedule::Trace;
use dietcode::core::sketch::rules::{CustomRules, PartialSketch};
use dietcode::core::sketch::{Space, WithoutEffect, partial_sketches, rules_without_effect};

use super::print;
use super::setup::Setup;
use super::target::Target;

/// The space of a config's instances on a target.
pub(crate) fn space(setup: &Setup, target: machine::Target) -> Result<Space> {
    let custom = setup.config.custom_rules(CustomRules::default(), &target)?;
    let shapes: Vec<Vec<i64>> = setup.workloads()?.into_iter().map(|workload| workload.instance.shape).collect();
    Space::generate(&setup.def, target, &shapes, &custom)
}

/// The sketches of that space, each with the rules that made it.
pub(crate) fn all(setup: &Setup, target: machine::Target) -> Result<Vec<PartialSketch>> {
    let custom = setup.config.custom_rules(CustomRules::default(), &target)?;
    partial_sketches(&setup.def, space(setup, target)?.bounds, &custom)
}

/// Prints every sketch as a trace, with `_` for what is open, and the rules that made it; then the rules that have no effect,
/// and the mutators of an evolution.
pub(crate) fn run(setup: &Setup, target: Target) -> Result<()> {
    let target = match target {
        Target::Cpu => machine::Target::Cpu(CpuTarget::detect(&setup.config.cpu.march)?),
        Target::Cuda(capability) => machine::Target::Cuda(*DeviceLimits::of(capability)?),
    };
    let partial_sketches = all(setup, target.clone())?;
    let custom = setup.config.custom_rules(CustomRules::default(), &target)?;
    let without_effect = rules_without_effect(&setup.def, space(setup, target)?.bounds, &custom)?;
    let count = partial_sketches.len();
    let text = |(n, partial): (usize, PartialSketch)| {
        let by =
            if partial.rules.is_empty() { "without a rule".into() } else { format!("by {}", partial.rules.join(", ")) };
        let structure = partial.structure.map_or_else(String::new, |structure| format!(" {structure},"));
        let trace = Trace::new(partial.instructions).with(partial.decisions);
        format!("sketch {} of {count},{structure} {by}\n{trace}", n + 1)
    };
    let mut texts: Vec<String> = partial_sketches.into_iter().enumerate().map(text).collect();
    if !without_effect.is_empty() {
        let reason = |WithoutEffect { rule, block, why }: WithoutEffect| format!("{rule} on `{block}`: {why}\n");
        texts.push(format!("without effect\n{}", without_effect.into_iter().map(reason).collect::<String>()));
    }
    texts.push(format!("mutators, by how often each is chosen: {}\n", setup.config.search.evolution.mutators));
    print(&texts.join("\n"))
}
