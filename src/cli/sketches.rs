//! `dietcode explain --sketches`: the space that a search draws from.

use dietcode::Result;
use dietcode::core::schedule::Trace;
use dietcode::core::sketch::rules::{CustomRules, Draft};
use dietcode::core::sketch::{Hardware, Space, drafts};
use dietcode::core::target::CpuTarget;
use dietcode::core::target::cuda::DeviceLimits;

use super::print;
use super::setup::Setup;

/// Prints every sketch as a trace, with `_` for what is open, and the rules that made it. The target is `cpu`, this one, or a
/// compute capability.
pub(crate) fn run(setup: &Setup, target: &str) -> Result<()> {
    let hardware = match target {
        "cpu" => Hardware::Cpu(CpuTarget::detect(&setup.config.cpu.march)?),
        capability => Hardware::Cuda(*DeviceLimits::of(capability.parse()?)?),
    };
    let custom = setup.config.custom_rules(CustomRules::default())?;
    let shapes: Vec<Vec<i64>> = setup.points()?.into_iter().map(|point| point.instance.shape).collect();
    let space = Space::generate(&setup.def, hardware, &shapes, &custom)?;
    let drafts = drafts(&setup.def, space.bounds, &custom)?;
    let count = drafts.len();
    let text = |(n, draft): (usize, Draft)| {
        let by =
            if draft.rules.is_empty() { "without a rule".into() } else { format!("by {}", draft.rules.join(", ")) };
        let trace = Trace::new(draft.instructions).with(draft.decisions);
        format!("sketch {} of {count}, {by}\n{trace}", n + 1)
    };
    let texts: Vec<String> = drafts.into_iter().enumerate().map(text).collect();
    print(&texts.join("\n"))
}
