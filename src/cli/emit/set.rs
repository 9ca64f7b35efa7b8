//! The files of a set: its configurations for the general products of BLAS, whose nests this binary carries.

use dietcode::core::codegen::set::{
    Availability, CUDA_FOLDER, DEFAULT_CAPABILITIES, GeneratedSet, Targets, registry_rs,
};
use dietcode::core::config::KernelSet;
use dietcode::core::machine::CpuTarget;
use dietcode::core::machine::cuda::DeviceLimits;
use dietcode::core::parallel::cores;
use dietcode::core::syntax::{KernelDef, scan};
use dietcode::{Error, Result};

use super::Target;

/// The source of the kernels.
const GEMM: &str = include_str!("../../ops/gemm.rs");

/// The targets that a set names; one that names none is for the CPU.
pub(super) fn targets(set: &KernelSet) -> Vec<Target> {
    let cuda = !set.capabilities.is_empty();
    let mut targets = Vec::new();
    targets.extend((set.march.is_some() || !cuda).then_some(Target::Cpu));
    targets.extend(cuda.then_some(Target::Cuda));
    targets
}

/// (name, text) of all files.
pub(super) fn files(set: &KernelSet, targets: &[Target]) -> Result<Vec<(String, String)>> {
    let defs = kernels()?;
    let [cpu, cuda, host] = [Target::Cpu, Target::Cuda, Target::CudaHost].map(|target| targets.contains(&target));
    let march = set.march.as_deref().unwrap_or("native");
    let target = cpu.then(|| CpuTarget::detect(march)).transpose()?;
    let named = if set.capabilities.is_empty() { DEFAULT_CAPABILITIES } else { &set.capabilities };
    let mut capabilities = if cuda || host { named.to_vec() } else { Vec::new() };
    capabilities.sort();
    let devices = capabilities.into_iter().map(DeviceLimits::of).collect::<Result<_>>()?;
    let targets = Targets { cpu: target.as_ref(), devices, host };
    let generated = GeneratedSet::new(&set.path.display().to_string(), &set.families()?, &defs, &targets, cores())?;
    let mut files = generated.cpu_files();
    files.extend(generated.cuda_files().into_iter().map(|(name, text)| (format!("{CUDA_FOLDER}/{name}"), text)));
    let there = |asked: bool| if asked { Ok(()) } else { Err("it is not among these files".to_owned()) };
    let availability = Availability { cpu: there(cpu), cuda: there(cuda), cuda_host: there(host) };
    files.push(("registry.rs".to_owned(), registry_rs(&generated, &availability)));
    Ok(files)
}

/// The nests.
fn kernels() -> Result<Vec<KernelDef>> {
    let broken = |problems| {
        let line = |(line, column, sentence)| format!("src/ops/gemm.rs:{line}:{column}: {sentence}");
        let problems: dietcode::core::syntax::Errors = problems;
        Error::input(problems.iter().map(line).collect::<Vec<_>>().join("\n"))
    };
    let annotated = scan(GEMM).map_err(broken)?;
    annotated.iter().map(|kernel| kernel.parse().map_err(broken)).collect()
}
