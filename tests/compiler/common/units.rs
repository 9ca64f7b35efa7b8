//! From what tests have to translation units.

use dietcode_core::codegen::cuda::CudaUnit;
use dietcode_core::codegen::{TranslationUnit, c, cuda, reference};
use dietcode_core::machine::cuda::DeviceLimits;
use dietcode_core::machine::{CpuTarget, Target};
use dietcode_core::schedule::{Schedule, Trace};
use dietcode_core::sketch::{Blocked, Lowered, MicroKernel, Parametric, Sizes, Tiled, apply};
use dietcode_core::{Result, frontend};
use dietcode_syntax::KernelDef;

/// The oracle of a nest.
pub(crate) fn oracle(def: &KernelDef) -> TranslationUnit {
    reference::reference(def, &frontend::program(def))
}

/// Of parameters, for a CPU.
pub(crate) fn tiled(def: &KernelDef, tiled: &Tiled, target: &CpuTarget) -> Result<TranslationUnit> {
    let (micro_kernel, lowered) = tiled.micro_kernel(&frontend::program(def), target)?;
    c::translation_unit(def, &micro_kernel.name(), &lowered, &target.march)
}

/// Of parameters, for a GPU.
pub(crate) fn blocked(def: &KernelDef, blocked: &Blocked, device: &DeviceLimits) -> Result<CudaUnit> {
    let (micro_kernel, lowered) = blocked.micro_kernel(&frontend::program(def), device)?;
    cuda::translation_unit(def, &micro_kernel.name(), &lowered)
}

/// Of a trace, for a CPU.
pub(crate) fn traced(def: &KernelDef, trace: &Trace, target: &CpuTarget) -> Result<TranslationUnit> {
    let lowered = apply(&frontend::program(def), &Target::Cpu(target.clone()), trace)?;
    c::translation_unit(def, &MicroKernel::of(&lowered).name(), &lowered, &target.march)
}

/// Of a trace, for a CPU, with the sizes of outer blocks as parameters.
pub(crate) fn parametric(def: &KernelDef, trace: &Trace, target: &CpuTarget) -> Result<(TranslationUnit, Sizes)> {
    let (program, target) = (frontend::program(def), Target::Cpu(target.clone()));
    let micro_kernel = MicroKernel::of(&apply(&program, &target, trace)?);
    let Parametric { lowered, sizes } = match micro_kernel.parametric(&program, &target)? {
        Some(parametric) => parametric,
        None => {
            let lowered = micro_kernel.lowered(&program, &target)?;
            Parametric { sizes: Sizes::of(&lowered, Vec::new()), lowered }
        }
    };
    Ok((c::unit(def, "parametric", &lowered)?, sizes))
}

/// Of a trace, for a GPU.
pub(crate) fn traced_on_gpu(def: &KernelDef, trace: &Trace, device: &DeviceLimits) -> Result<CudaUnit> {
    let lowered = apply(&frontend::program(def), &Target::Cuda(*device), trace)?;
    cuda::translation_unit(def, &MicroKernel::of(&lowered).name(), &lowered)
}

/// Of a schedule as it is, whatever it takes, for a CPU.
pub(crate) fn scheduled(def: &KernelDef, name: &str, schedule: &Schedule) -> Result<TranslationUnit> {
    c::unit(def, name, &Lowered::of(schedule.clone())?)
}

/// Of two schedules on one output, for a CPU: whole multiples along a shape variable, and what remains.
pub(crate) fn cover(
    def: &KernelDef,
    [main, rest]: [&MicroKernel; 2],
    (along, multiple): (&str, i64),
    target: &CpuTarget,
) -> Result<TranslationUnit> {
    let cover = MicroKernel::cover(main, rest, along, multiple);
    let lowered = cover.lowered(&frontend::program(def), &Target::Cpu(target.clone()))?;
    c::translation_unit(def, &cover.name(), &lowered, &target.march)
}

/// The same for a GPU.
pub(crate) fn cover_on_gpu(
    def: &KernelDef,
    [main, rest]: [&MicroKernel; 2],
    (along, multiple): (&str, i64),
    device: &DeviceLimits,
) -> Result<CudaUnit> {
    let cover = MicroKernel::cover(main, rest, along, multiple);
    let lowered = cover.lowered(&frontend::program(def), &Target::Cuda(*device))?;
    cuda::translation_unit(def, &cover.name(), &lowered)
}

/// Of the nest as it stands.
pub(crate) fn naive(def: &KernelDef) -> TranslationUnit {
    let program = frontend::program(def);
    let trace = MicroKernel::nest(&program).trace;
    let schedule = trace.replay(&program, &program.blocks[0]).expect("the nest is its own trace");
    scheduled(def, "naive", &schedule).expect("it is printed")
}
