//! `dietcode explain --sketches`: the space that a search draws from.

use dietcode::Result;
use dietcode::core::machine::cuda::DeviceLimits;
use dietcode::core::machine::{self, CpuTarget};
use dietcode::core::schedule::Trace;
use dietcode::core::sketch::rules::{CustomRules, Draft};
use dietcode::core::sketch::{Space, drafts};

use super::print;
use super::setup::Setup;
use super::target::Target;

/// The space of a config's instances on a target.
pub(crate) fn space(setup: &Setup, target: machine::Target) -> Result<Space> {
    let custom = setup.config.custom_rules(CustomRules::default(), &target)?;
    let shapes: Vec<Vec<i64>> = setup.points()?.into_iter().map(|point| point.instance.shape).collect();
    Space::generate(&setup.def, target, &shapes, &custom)
}

/// The sketches of that space, each with the rules that made it.
pub(crate) fn all(setup: &Setup, target: machine::Target) -> Result<Vec<Draft>> {
    let custom = setup.config.custom_rules(CustomRules::default(), &target)?;
    drafts(&setup.def, space(setup, target)?.bounds, &custom)
}

/// Prints every sketch as a trace, with `_` for what is open, and the rules that made it.
pub(crate) fn run(setup: &Setup, target: Target) -> Result<()> {
    let target = match target {
        Target::Cpu => machine::Target::Cpu(CpuTarget::detect(&setup.config.cpu.march)?),
        Target::Cuda(capability) => machine::Target::Cuda(*DeviceLimits::of(capability)?),
    };
    let drafts = all(setup, target)?;
    let count = drafts.len();
    let text = |(n, draft): (usize, Draft)| {
        let by =
            if draft.rules.is_empty() { "without a rule".into() } else { format!("by {}", draft.rules.join(", ")) };
        let structure = draft.structure.map_or_else(String::new, |structure| format!(" {structure},"));
        let trace = Trace::new(draft.instructions).with(draft.decisions);
        format!("sketch {} of {count},{structure} {by}\n{trace}", n + 1)
    };
    let texts: Vec<String> = drafts.into_iter().enumerate().map(text).collect();
    print(&texts.join("\n"))
}
