//! GNU C with vector extensions, for GCC ≥ 11 and clang ≥ 14.

mod cover;
mod dialect;
mod function;
mod row;
mod vector;

use dietcode_syntax::{DType, Expr, Function, KernelDef, mangle};

pub(super) use dialect::C;
use dialect::GPU_ONLY;
pub(crate) use row::Row;

use super::TranslationUnit;
use super::printer::comment;
use crate::schedule::Schedule;
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
    unit_with(def, [name, stem], lowered, "")
}

/// The translation unit under no CPU's name: of a schedule that no table holds.
///
/// # Errors
/// As [`translation_unit`].
pub fn unit(def: &KernelDef, name: &str, lowered: &Lowered) -> Result<TranslationUnit> {
    unit_of(def, name, name, lowered)
}

/// A unit whose row has another name.
fn unit_of(def: &KernelDef, name: &str, stem: &str, lowered: &Lowered) -> Result<TranslationUnit> {
    unit_with(def, [name, stem], lowered, &(include([def]) + "\n\n"))
}

fn unit_with(def: &KernelDef, [name, stem]: [&str; 2], lowered: &Lowered, include: &str) -> Result<TranslationUnit> {
    let rest = lowered.cover.as_ref().map(|cover| &cover.rest);
    let schedules: Vec<&Schedule> = lowered.schedules.iter().chain(rest.iter().flat_map(|of| &of.schedules)).collect();
    if schedules.iter().any(|schedule| schedule.is_gpu()) {
        return Err(Error::input(format!("{GPU_ONLY}: `{name}` of `{}`", def.name)));
    }
    let symbol = mangle::row_symbol(&def.name, def.source_hash(), stem);
    let mut source = comment(def, name, &schedules) + include;
    let Functions { text, phases, scratch_bytes, workspace, parameters } = match &lowered.cover {
        Some(cover) => cover::functions(lowered, cover, &symbol),
        None => Functions::of(lowered, &symbol),
    };
    source += &text;
    source += &Row { symbol: &symbol, name, scratch_bytes, phases, workspace, parameters }.text();
    Ok(TranslationUnit { name: name.into(), symbol, source })
}

/// The functions of a micro-kernel, and what its row says of them.
struct Functions {
    text: String,
    phases: Vec<String>,
    scratch_bytes: i64,
    /// The function that counts the workspace's bytes.
    workspace: Option<String>,
    parameters: Vec<i64>,
}

impl Functions {
    /// Of kernels that are carried out one after the other, under names that begin with a symbol.
    fn of(lowered: &Lowered, symbol: &str) -> Functions {
        let (nests, workspace) = (&lowered.nests, lowered.workspace());
        let mut text = String::new();
        let phase = |(at, nest)| {
            let phase = if nests.len() == 1 { symbol.to_owned() } else { format!("{symbol}_{at}") };
            text += &function::phase(nest, (&lowered.schedule().program, workspace), &phase);
            phase
        };
        let phases = nests.iter().enumerate().map(phase).collect();
        let counted = workspace.map(|workspace| function::workspace_bytes(lowered.nest(), workspace, symbol));
        let workspace = counted.map(|[name, counts]| {
            text += &counts;
            name
        });
        let parameters = lowered.nest().parameters.clone();
        Functions { text, phases, scratch_bytes: lowered.scratch_bytes(&parameters), workspace, parameters }
    }
}

/// What makes the types and functions known that the C file of some kernels uses.
pub(super) fn include<'a>(defs: impl IntoIterator<Item = &'a KernelDef>) -> String {
    let (mut half, mut double, mut math, mut integers) = (false, false, false, false);
    for def in defs {
        half |= def.params.iter().any(|param| param.dtype.is_half());
        double |= def.computes_in() == DType::F64;
        integers |= def.params.iter().any(|param| param.dtype.is_integer());
        math |= def.values().any(|value| value.any(&needs_functions));
    }
    let define = |wanted, name| if wanted { format!("#define {name}\n") } else { String::new() };
    define(half, "DIETCODE_HALF")
        + &define(double, "DIETCODE_F64")
        + &define(math, "DIETCODE_MATH")
        + &define(integers, "DIETCODE_INTEGERS")
        + "#include \"dietcode.h\""
}

/// Whether it is a function, or a choice that each element of a vector makes for itself.
fn needs_functions(e: &Expr) -> bool {
    let varies = |e: &Expr| match e {
        Expr::Load { index, .. } => !index.is_empty(),
        Expr::Acc | Expr::Index(_) => true,
        _ => false,
    };
    match e {
        Expr::Call(function, _) => *function != Function::Neg,
        Expr::Select { lhs, rhs, .. } => lhs.any(&varies) || rhs.any(&varies),
        _ => false,
    }
}
