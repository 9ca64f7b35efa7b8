//! Lowering: from a schedule to the loops that are printed as source text.
//!
//! `nest` builds the loops, and `passes` has the pipeline, one named line a pass; each pass is one file whose header says what it
//! does and why it stands where it stands. After each pass (in a release build: after the last that matters) the invariants of
//! [`crate::ir::verify`] are checked: a pass that breaks one is an error with a dump of all passes ([`Dump`]), not wrong code.

mod dump;
pub(crate) mod guard;
pub(crate) mod lanes;
mod nest;
mod passes;
mod structure;

use std::collections::BTreeMap;
use std::sync::Arc;

use dietcode_syntax::Role;

pub(crate) use dump::{AFTER, KERNELS, SECTION};
pub use dump::{DUMP_IR, Dump, dump_folder};
pub(crate) use nest::{Corner, Inside, across_lanes, parts_of_tiles, serves_lanes, widest_fetch, workspace};
pub(crate) use passes::{MOST_VECTORS, can_be_padded};
pub use structure::structure_hash;

use crate::ir::{Buffer, DType, Expr, ForKind, Name, Stmt, verify};
use crate::schedule::{Combine, Schedule};
use crate::{Error, ErrorKind, Result};

/// A lowered kernel: what one thread does for each of the parallel tiles; on a GPU the grid's loops stand in the body.
#[derive(Clone, Debug)]
pub struct LoopNest {
    /// The kernel's name.
    pub name: Name,
    /// The shape variables, in the order of the ABI; the parameters are the last of them.
    pub shape_vars: Vec<Name>,
    /// The values of the parameters.
    pub parameters: Vec<i64>,
    /// What is computed once before the loops, of those that occur in them.
    pub derived: Vec<(Name, Expr)>,
    /// What is expected of variables in the loops that differ from block to block, on the average: for cost models.
    pub expected: Vec<(Name, Expr)>,
    /// The type that sums, temporaries and tiles have.
    pub computes: DType,
    /// The tensors, in the order of the ABI.
    pub params: Vec<Arc<Buffer>>,
    /// The tensor that is written; parts of split sums go to the workspace instead, those of streamed tiles there besides.
    pub output: Arc<Buffer>,
    /// Global memory for the parts of split sums, which the caller provides behind the tensors.
    pub workspace: Option<Arc<Buffer>>,
    /// The parallel loop's variable and extent; the extent names shape variables only.
    pub grid: Option<(Name, Expr)>,
    /// What stands in the parallel loop. Unrolled loops are still loops: the printer unrolls them.
    pub body: Stmt,
    /// Offsets of the panels in a thread's scratch memory, or of the tiles in a block's shared memory, in bytes.
    pub panels: Vec<(Arc<Buffer>, Expr)>,
    /// Bytes of scratch memory that a thread needs, or of shared memory that a block needs; names parameters only.
    pub scratch: Expr,
    /// Whether a GPU's grid is as large as the device holds at once, and its blocks go on to further tiles.
    pub persistent: bool,
    /// How many blocks a multiprocessor shall hold.
    pub min_blocks: i64,
    /// Which blocks of a GPU's grid have a body of their own.
    pub(crate) inside: Option<Inside>,
}

impl LoopNest {
    /// Bytes of scratch memory that a thread needs, or of shared memory that a block needs, where the parameters have these values;
    /// the largest number where it is more.
    pub fn scratch_bytes(&self, parameters: &[i64]) -> i64 {
        let names = &self.shape_vars[self.shape_vars.len() - self.parameters.len()..];
        let values = names.iter().zip(parameters);
        let bytes = values.fold(self.scratch.clone(), |e, (name, value)| e.substitute(name, &Expr::Int(*value)));
        bytes.as_int().unwrap_or(i64::MAX)
    }

    /// The loops over a block's threads and their extents, the one that counts slowest first; none on a CPU.
    pub fn thread_loops(&self) -> Vec<(Name, i64)> {
        let mut loops: Vec<(Name, i64)> = Vec::new();
        self.body.visit(&mut |stmt| match stmt {
            Stmt::For { var, extent, kind: ForKind::ThreadIdx, .. } if loops.iter().all(|(name, _)| name != var) => {
                loops.push((var.clone(), extent.as_int().unwrap_or(1)));
            }
            _ => {}
        });
        loops
    }

    /// The threads of a block.
    pub fn threads(&self) -> i64 {
        self.thread_loops().iter().map(|(_, extent)| extent).product()
    }
}

/// Called after each pass with its name and what it made.
pub type Observer<'a> = &'a mut dyn FnMut(&'static str, &Stmt);

/// Lowers a schedule; where [`DUMP_IR`] names a folder, a file there shows every pass.
///
/// # Errors
/// [`ErrorKind::Input`] for a schedule whose primitives do not fit together, or whose stages or tile have no extents that are known before a call;
/// [`ErrorKind::Internal`] for a pass that breaks an invariant of the IR, with the file that shows it;
/// [`ErrorKind::Unavailable`] if the folder cannot be written.
pub fn lower(schedule: &Schedule) -> Result<LoopNest> {
    lower_observed(schedule, &mut |_, _| {})
}

/// Lowers a schedule and shows what each pass makes.
///
/// # Errors
/// As [`lower`].
pub fn lower_observed(schedule: &Schedule, observe: Observer<'_>) -> Result<LoopNest> {
    let body = loops(schedule, observe)?;
    let (panels, scratch) = passes::storage(&body);
    let (grid, body) = grid(body);
    let Writes { workspace, output } = Writes::of(schedule);
    Ok(LoopNest {
        name: schedule.program.name.clone(),
        shape_vars: schedule.program.shape_vars.clone(),
        parameters: schedule.parameters.iter().map(|parameter| parameter.value).collect(),
        derived: derived(schedule, &body),
        expected: schedule.stream().map(|stream| stream.expected(&|e| schedule.unsplit(e))).unwrap_or_default(),
        computes: schedule.program.computes_in(),
        params: schedule.program.operands(),
        output,
        workspace,
        grid,
        body,
        panels,
        scratch,
        persistent: schedule.persistent,
        min_blocks: schedule.min_blocks,
        inside: passes::inside(schedule)?,
    })
}

/// The guards that stay in the compute part of a schedule, by variable: for messages.
pub(crate) fn guards_that_stay(schedule: &Schedule) -> BTreeMap<Name, Role> {
    let Some(reduction) = &schedule.block.reduction else { return BTreeMap::new() };
    let guards = guard::of(schedule);
    let left = nest::in_place(schedule, &guards, &reduction.update).1.into_iter();
    left.filter(|g| !passes::may_go(g, reduction, schedule)).map(|g| (g.root.clone(), g.role)).collect()
}

/// All loops, with those of the grid: what a cost model counts.
///
/// # Errors
/// As [`lower`].
pub(crate) fn loops(schedule: &Schedule, observe: Observer<'_>) -> Result<Stmt> {
    dump::dumped(schedule, observe, passes::run)
}

/// What of the program's derived values the loops name: a kernel that only adds parts of sums has no other use for them.
fn derived(schedule: &Schedule, body: &Stmt) -> Vec<(Name, Expr)> {
    let named = |(name, _): &&(Name, Expr)| body.uses(name);
    schedule.program.derived.iter().filter(named).cloned().collect()
}

/// Where a kernel writes.
struct Writes {
    workspace: Option<Arc<Buffer>>,
    output: Arc<Buffer>,
}

impl Writes {
    fn of(schedule: &Schedule) -> Writes {
        let own = || schedule.block.output.clone();
        let stream = schedule.stream().filter(|stream| !stream.meets());
        match (stream, schedule.rfactor) {
            (Some(stream), _) => Writes { workspace: Some(parts_of_tiles(schedule, stream).0), output: own() },
            (None, Some(Combine::Workspace)) => {
                let parts = workspace(schedule).0;
                Writes { workspace: Some(parts.clone()), output: parts }
            }
            (None, _) => Writes { workspace: None, output: own() },
        }
    }
}

/// Takes the parallel loop off.
fn grid(body: Stmt) -> (Option<(Name, Expr)>, Stmt) {
    match body {
        Stmt::For { var, extent, kind: ForKind::Parallel, body } => (Some((var, extent)), *body),
        body => (None, body),
    }
}

/// The body, if the invariants hold.
fn checked(schedule: &Schedule, pass: &str, body: Stmt) -> Result<Stmt> {
    let program = &schedule.program;
    let Writes { workspace, output } = Writes::of(schedule);
    let names: Vec<Name> = schedule.parameters.iter().map(|parameter| parameter.name.clone()).collect();
    let buffers: Vec<Arc<Buffer>> = program.operands().into_iter().chain(workspace.clone()).collect();
    let written: Vec<Arc<Buffer>> = workspace.into_iter().chain([output]).collect();
    match verify(&body, &program.variables(), &names, &buffers, &written) {
        Ok(()) => Ok(body),
        Err(why) => Err(Error::new(ErrorKind::Internal, format!("after pass `{pass}`: {why}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::program;

    /// A pass whose result is broken, here since the schedule forgot a tensor, is a defect of the compiler, not of its input.
    #[test]
    fn a_broken_invariant_is_a_defect_with_a_dump() {
        let nest = "#[dynamic_kernel] fn copy(x: &[f32; M], y: &mut [f32; M]) { for i in 0..M { y[i] = x[i]; } }";
        let program = program(nest);
        let mut schedule = Schedule::new(&program, &program.blocks[0]);
        schedule.program.params.remove(0);
        let error = lower(&schedule).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Internal, "{error}");
        let text = error.to_string();
        assert!(text.contains("after pass `nest`") && text.contains("this is a defect of dietcode"), "{text}");
        let path = text.split_once("with the file ").unwrap().1.split_once(", which").unwrap().0;
        let dump = std::fs::read_to_string(path).unwrap();
        assert!(dump.contains("fn copy(") && dump.contains("== after nest\n"), "{dump}");
        std::fs::remove_file(path).unwrap();
    }
}
