//! GNU C with vector extensions, for GCC ≥ 11 and clang ≥ 14.

mod dialect;
mod function;
mod vector;

use dietcode_syntax::{KernelDef, mangle};

pub(super) use dialect::C;
use dialect::GPU_ONLY;

use super::TranslationUnit;
use super::printer::comment;
use crate::lower::LoopNest;
use crate::sketch::Lowered;
use crate::{Error, Result};

/// The translation unit of one micro-kernel; `march` tells its symbols from those of a unit for another CPU.
///
/// # Errors
/// A schedule for a GPU.
pub fn translation_unit(def: &KernelDef, name: &str, lowered: &Lowered, march: &str) -> Result<TranslationUnit> {
    let march: String = march.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    unit_of(def, name, &format!("{name}_{march}"), lowered)
}

/// A micro-kernel as one of several in a translation unit, whose symbols end in `stem`. Who calls it writes the include.
///
/// # Errors
/// As [`translation_unit`].
pub(super) fn part(def: &KernelDef, name: &str, lowered: &Lowered, stem: &str) -> Result<TranslationUnit> {
    Ok(unit_with(def, [name, stem], lowered, for_cpu(def, name, lowered)?, ""))
}

/// The translation unit under no CPU's name: of a schedule that no table holds.
///
/// # Errors
/// As [`translation_unit`].
pub fn unit(def: &KernelDef, name: &str, lowered: &Lowered) -> Result<TranslationUnit> {
    unit_of(def, name, name, lowered)
}

fn for_cpu<'l>(def: &KernelDef, name: &str, lowered: &'l Lowered) -> Result<&'l LoopNest> {
    match lowered.schedule().is_gpu() {
        true => Err(Error::input(format!("{GPU_ONLY}: `{name}` of `{}`", def.name))),
        false => Ok(lowered.nest()),
    }
}

/// A unit whose symbols have another name.
fn unit_of(def: &KernelDef, name: &str, symbol: &str, lowered: &Lowered) -> Result<TranslationUnit> {
    let nest = for_cpu(def, name, lowered)?;
    Ok(unit_with(def, [name, symbol], lowered, nest, &(include([def]) + "\n\n")))
}

fn unit_with(
    def: &KernelDef,
    [name, symbol]: [&str; 2],
    lowered: &Lowered,
    nest: &LoopNest,
    include: &str,
) -> TranslationUnit {
    let hash = def.source_hash();
    let grid_symbol = mangle::grid_symbol(&def.name, hash, symbol);
    let run_symbol = mangle::run_symbol(&def.name, hash, symbol);
    let mut source = comment(def, name, &lowered.schedules) + include;
    source += &function::grid(nest, &grid_symbol);
    source += &function::run(nest, &run_symbol);
    TranslationUnit { name: name.into(), grid_symbol, run_symbol, scratch_bytes: nest.scratch_bytes, source }
}

/// What makes the types and functions known that the C file of some kernels uses.
pub(super) fn include<'a>(defs: impl IntoIterator<Item = &'a KernelDef>) -> String {
    let half = defs.into_iter().any(|def| def.params.iter().any(|param| param.dtype.is_half()));
    format!("{}#include \"dietcode.h\"", if half { "#define DIETCODE_HALF\n" } else { "" })
}
