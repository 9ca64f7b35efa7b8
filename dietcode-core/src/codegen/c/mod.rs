//! GNU C with vector extensions, for GCC ≥ 11 and clang ≥ 14.

mod dialect;
mod function;
mod vector;

use dietcode_syntax::{KernelDef, mangle};

pub(super) use dialect::C;
use dialect::GPU_ONLY;

use super::TranslationUnit;
use super::printer::comment;
use crate::frontend;
use crate::lower::{LoopNest, lower};
use crate::machine::CpuTarget;
use crate::schedule::Schedule;
use crate::sketch::{MicroKernel, Traced};
use crate::{Error, Result};

/// The translation unit of one micro-kernel.
///
/// # Errors
/// A schedule that is not valid for this nest or target: what [`MicroKernel::violations_on_cpu`] says.
pub fn translation_unit(
    def: &KernelDef,
    micro_kernel: impl Into<MicroKernel>,
    target: &CpuTarget,
) -> Result<TranslationUnit> {
    let micro_kernel = micro_kernel.into();
    let schedule = schedule_of(def, &micro_kernel, target)?;
    let march: String = target.march.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    let name = micro_kernel.name();
    unit_of(def, &name, &format!("{name}_{march}"), &schedule)
}

/// A micro-kernel as one of several in a translation unit, whose symbols end in `stem`. Who calls it writes the include.
///
/// # Errors
/// As [`translation_unit`].
pub(super) fn part(
    def: &KernelDef,
    micro_kernel: &MicroKernel,
    target: &CpuTarget,
    stem: &str,
) -> Result<TranslationUnit> {
    let schedule = schedule_of(def, micro_kernel, target)?;
    Ok(unit_with(def, [&micro_kernel.name(), stem], &schedule, &lower(&schedule)?, ""))
}

/// The schedule that a micro-kernel's parameters stand for, if they are valid.
fn schedule_of(def: &KernelDef, micro_kernel: &MicroKernel, target: &CpuTarget) -> Result<Schedule> {
    let violations = micro_kernel.violations_on_cpu(def, target);
    if !violations.is_empty() {
        let (name, why) = (micro_kernel.name(), violations.join("; "));
        return Err(Error::input(format!("micro-kernel `{name}` of `{}`: {why}", def.name)));
    }
    micro_kernel.schedule_on_cpu(&frontend::program(def), target)
}

/// The translation unit of the nest as it stands: the baseline `naive`.
///
/// # Errors
/// None for a nest that the front end accepts.
pub fn naive(def: &KernelDef) -> Result<TranslationUnit> {
    let program = frontend::program(def);
    unit(def, "naive", &Traced::nest(def).trace.replay(&program, &program.blocks[0])?)
}

/// Lowers and prints any schedule of a kernel.
///
/// # Errors
/// As [`lower`].
pub fn unit(def: &KernelDef, name: &str, schedule: &Schedule) -> Result<TranslationUnit> {
    unit_of(def, name, name, schedule)
}

/// Prints any schedule of a kernel that is lowered already.
///
/// # Errors
/// A schedule for a GPU.
pub fn printed(def: &KernelDef, name: &str, schedule: &Schedule, nest: &LoopNest) -> Result<TranslationUnit> {
    for_cpu(def, name, schedule)?;
    Ok(unit_with(def, [name, name], schedule, nest, &(include([def]) + "\n\n")))
}

fn for_cpu(def: &KernelDef, name: &str, schedule: &Schedule) -> Result<()> {
    match schedule.is_gpu() {
        true => Err(Error::input(format!("{GPU_ONLY}: `{name}` of `{}`", def.name))),
        false => Ok(()),
    }
}

/// A unit whose symbols have another name.
fn unit_of(def: &KernelDef, name: &str, symbol: &str, schedule: &Schedule) -> Result<TranslationUnit> {
    for_cpu(def, name, schedule)?;
    Ok(unit_with(def, [name, symbol], schedule, &lower(schedule)?, &(include([def]) + "\n\n")))
}

fn unit_with(
    def: &KernelDef,
    [name, symbol]: [&str; 2],
    schedule: &Schedule,
    nest: &LoopNest,
    include: &str,
) -> TranslationUnit {
    let hash = def.source_hash();
    let grid_symbol = mangle::grid_symbol(&def.name, hash, symbol);
    let run_symbol = mangle::run_symbol(&def.name, hash, symbol);
    let mut source = comment(def, name, std::slice::from_ref(schedule)) + include;
    source += &function::grid(nest, &grid_symbol);
    source += &function::run(nest, &run_symbol);
    TranslationUnit { name: name.into(), grid_symbol, run_symbol, scratch_bytes: nest.scratch_bytes, source }
}

/// What makes the types and functions known that the C file of some kernels uses.
pub(super) fn include<'a>(defs: impl IntoIterator<Item = &'a KernelDef>) -> String {
    let half = defs.into_iter().any(|def| def.params.iter().any(|param| param.dtype.is_half()));
    format!("{}#include \"dietcode.h\"", if half { "#define DIETCODE_HALF\n" } else { "" })
}
