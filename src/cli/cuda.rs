//! What the subcommands have in common about CUDA: the micro-kernels that a build would choose on this machine.

use dietcode::Result;
use dietcode::core::codegen::cuda::headers::DEVICE_HEADERS;
use dietcode::core::dispatch::cuda::{Candidate, Choice, Selection};
use dietcode::core::machine::cuda::{ComputeCapability, Nvcc};

use super::setup::Setup;
use super::tell;

/// Where a config names no device: what the emulated one is dispatched as.
const EMULATED: ComputeCapability = ComputeCapability { major: 9, minor: 0 };

/// The config's devices.
pub(crate) fn capabilities(setup: &Setup) -> Vec<ComputeCapability> {
    setup.config.cuda.as_ref().map_or_else(|| vec![EMULATED], |cuda| cuda.capabilities.clone())
}

/// Chooses for devices. With nvcc, by what it reports of the chosen ones; without, by estimates.
pub(crate) fn choice(setup: &Setup, capabilities: &[ComputeCapability]) -> Result<Choice> {
    let nvcc = Nvcc::find();
    let mut selection = selection(setup, capabilities, nvcc.as_ref().ok())?;
    match &nvcc {
        Ok(nvcc) => compile(&mut selection, nvcc)?,
        Err(error) => tell(&format!("warning: choosing by estimates: {error}")),
    }
    Ok(selection.finalize())
}

/// What a choice begins with; says which tuned files and schedules of the config are not used.
///
/// # Errors
/// Those of [`Selection::new`].
pub(crate) fn selection(setup: &Setup, capabilities: &[ComputeCapability], nvcc: Option<&Nvcc>) -> Result<Selection> {
    let version = nvcc.map(Nvcc::version);
    let selection = Selection::new(&setup.def, &setup.program, Some(&setup.config), capabilities, version)?;
    for miss in selection.misses.iter().filter(|miss| !miss.is_absent()) {
        tell(&format!("warning: choosing by the model: {miss}"));
    }
    selection.gaps.iter().for_each(|gap| tell(&format!("warning: {gap}")));
    selection.unusable.iter().for_each(|listed| tell(&format!("warning: {listed}")));
    Ok(selection)
}

fn compile(selection: &mut Selection, nvcc: &Nvcc) -> Result<()> {
    loop {
        let wanted: Vec<Candidate> = selection.wanted().into_iter().cloned().collect();
        if wanted.is_empty() {
            return Ok(());
        }
        for candidate in wanted {
            let compiled = nvcc.compile(&candidate.unit.source, &candidate.capabilities(), DEVICE_HEADERS)?;
            selection.learn(candidate.name(), compiled.report);
        }
    }
}
