//! CUDA C++: one translation unit per micro-kernel, which nvcc, NVRTC and, with the emulator's headers, any C++ compiler take.
mod dialect;
pub mod headers;
mod hoist;
mod intrinsic;
mod kernel;

use std::sync::Arc;

use dialect::Cuda;
use dietcode_syntax::{KernelDef, mangle};
use kernel::Part;

use super::printer::comment;
use crate::ir::{Buffer, Expr, ForKind, Stmt};
use crate::machine::cuda::ComputeCapability;
use crate::reference::Arithmetic;
use crate::schedule::{MatrixUnit, Pipeline, Schedule, StreamK};
use crate::sketch::Lowered;
use crate::{Error, Result};

/// One micro-kernel's source file and what launching it takes.
#[derive(Clone, Debug, PartialEq)]
pub struct CudaUnit {
    /// The micro-kernel's name: its schedule's, a C identifier.
    pub name: String,
    /// The kernels in it, in the order of their launches.
    pub launches: Vec<CudaLaunch>,
    /// Bytes of global memory that the launches share, in terms of the shape variables; none: no such parameter.
    pub workspace_bytes: Option<Expr>,
    /// The oldest device that has the instructions.
    pub needs: ComputeCapability,
    /// With which arithmetic it sums.
    pub arithmetic: Arithmetic,
    /// The source text; it includes `dietcode.cuh`.
    pub source: String,
}

/// One kernel of a translation unit. Its parameters: a pointer for each tensor and the value of each scalar, a pointer for the workspace if
/// the unit has one, the strides (`long long`) of each tensor but for the last of each, the shape variables (`int`).
#[derive(Clone, Debug, PartialEq)]
pub struct CudaLaunch {
    /// The `extern "C"` name; on the emulated device the entry is `<symbol>_host`.
    pub symbol: String,
    /// Threads of a block.
    pub threads: i64,
    /// Bytes of dynamic shared memory of a block.
    pub shared_bytes: i64,
    /// How many tiles there are, in terms of the shape variables: blocks of the grid, unless it is persistent.
    pub blocks: Expr,
    /// Whether blocks go on to further tiles, so that any grid will do.
    pub persistent: bool,
}

/// The translation unit of one micro-kernel.
///
/// # Errors
/// A schedule for a CPU.
pub fn translation_unit(def: &KernelDef, name: &str, lowered: &Lowered) -> Result<CudaUnit> {
    let (comment, unit) = part(def, [name, name], lowered)?;
    let source = format!("{comment}{INCLUDE}\n\n{}", unit.source);
    Ok(CudaUnit { source, ..unit })
}

/// What every translation unit includes.
pub(super) const INCLUDE: &str = "#include \"dietcode.cuh\"";

/// A micro-kernel as one of several in a translation unit: a comment that says what it is made of, and the unit of a name with
/// the text of its kernels, whose own names end in `stem`. Who calls it writes the include.
///
/// # Errors
/// As [`translation_unit`].
pub(super) fn part(def: &KernelDef, [name, stem]: [&str; 2], lowered: &Lowered) -> Result<(String, CudaUnit)> {
    let cover = lowered.cover.as_deref();
    let schedules: Vec<&Schedule> =
        lowered.schedules.iter().chain(cover.iter().flat_map(|cover| &cover.rest.schedules)).collect();
    if !schedules.iter().all(|schedule| schedule.is_gpu()) {
        return Err(Error::input(format!("a schedule for a CPU is not printed as CUDA: `{name}` of `{}`", def.name)));
    }
    let parts: Vec<(String, &Lowered, Option<Part<'_>>)> = match cover {
        None => vec![(stem.to_owned(), lowered, None)],
        Some(cover) => vec![
            (format!("{stem}_main"), lowered, Some(Part { cover, is_rest: false })),
            (format!("{stem}_rest"), &cover.rest, Some(Part { cover, is_rest: true })),
        ],
    };
    let workspace = parts.iter().find_map(|(_, part, _)| part.workspace());
    let mut unit = CudaUnit {
        name: name.to_owned(),
        launches: Vec::new(),
        workspace_bytes: None,
        needs: schedules.iter().map(|schedule| needs(schedule)).max().unwrap_or(ComputeCapability::OLDEST),
        arithmetic: arithmetic(&schedules),
        source: String::new(),
    };
    for (stem, lowered, part) in parts {
        add_launches(&mut unit, def, (&stem, lowered, part), workspace);
        let of_part = |extent: Expr| part.map_or_else(|| extent.clone(), |part| part.of(&extent));
        let bytes = lowered.workspace().map(|buffer| {
            let elements = buffer.shape.iter().cloned().fold(Expr::Int(1), std::ops::Mul::mul);
            of_part(elements * Expr::Int(buffer.dtype.bytes()))
        });
        // The parts are carried out one after the other.
        unit.workspace_bytes = match (unit.workspace_bytes.take(), bytes) {
            (Some(before), Some(bytes)) => Some(before.max(bytes)),
            (before, bytes) => before.or(bytes),
        };
    }
    Ok((comment(def, name, &schedules), unit))
}

/// Adds the kernels of a micro-kernel, or of a part of a cover, whose names end in `stem`, to a unit; all of that unit take the workspace.
fn add_launches(
    unit: &mut CudaUnit,
    def: &KernelDef,
    (stem, lowered, part): (&str, &Lowered, Option<Part<'_>>),
    workspace: Option<&Arc<Buffer>>,
) {
    let own = lowered.schedule();
    for (at, (nest, schedule)) in lowered.nests.iter().zip(&lowered.schedules).enumerate() {
        let kernel = if at == lowered.main() { stem.to_owned() } else { format!("{stem}_finish") };
        let symbol = mangle::run_symbol(&def.name, def.source_hash(), &kernel);
        let form = kernel::Form {
            params: &own.program.params,
            output: &own.block.output,
            workspace: lowered.workspace().or(workspace),
            symbol: &symbol,
            part,
        };
        unit.source += &kernel::text(nest, &form);
        let blocks = grid(&nest.body).into_iter().map(|(_, extent)| extent).fold(Expr::Int(1), std::ops::Mul::mul);
        let of_shape = |e: &Expr| schedule.program.taken(&schedule.unsplit(e));
        let counted = |stream: &StreamK| stream.counted(blocks.clone(), &of_shape);
        let blocks = schedule.stream().map_or_else(|| blocks.clone(), counted);
        unit.launches.push(CudaLaunch {
            threads: nest.threads(),
            shared_bytes: nest.scratch_bytes(&nest.parameters),
            blocks: part.map_or_else(|| blocks.clone(), |part| part.of(&blocks)),
            persistent: nest.persistent,
            symbol,
        });
    }
}

/// The oldest device that has a schedule's instructions.
fn needs(schedule: &Schedule) -> ComputeCapability {
    let asynchronous = matches!(schedule.pipeline, Some(Pipeline::Async(_)));
    match asynchronous || schedule.matrix_unit.is_some() {
        true => ComputeCapability { major: 8, minor: 0 },
        false => ComputeCapability::OLDEST,
    }
}

/// A sum in a matrix unit has that unit's arithmetic; of the two of a cover, that which is further off.
fn arithmetic(schedules: &[&Schedule]) -> Arithmetic {
    let of = |unit: &MatrixUnit| match unit {
        MatrixUnit::Half => (1, Arithmetic::MatrixUnit),
        MatrixUnit::Tf32x3 => (2, Arithmetic::Tf32x3),
        MatrixUnit::Tf32 => (3, Arithmetic::Tf32),
    };
    let units = schedules.iter().filter_map(|schedule| schedule.matrix_unit.as_ref()).map(of);
    units.max_by_key(|(rank, _)| *rank).map_or(Arithmetic::F32, |(_, arithmetic)| arithmetic)
}

/// The loops of the grid, the one that counts slowest first.
fn grid(body: &Stmt) -> Vec<(&str, Expr)> {
    match body {
        Stmt::For { var, extent, kind: ForKind::BlockIdx, body } => {
            let mut loops = vec![(&**var, extent.clone())];
            loops.extend(grid(body));
            loops
        }
        Stmt::Let { body, .. } => grid(body),
        _ => Vec::new(),
    }
}
