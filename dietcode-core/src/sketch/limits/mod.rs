//! What a kernel may take of its target: one table, for draws and for what was lowered.
//!
//! | limit                   | target | found                                           | allowed                            | hard |
//! |-------------------------|--------|-------------------------------------------------|------------------------------------|------|
//! | `tile`                  | both   | elements before the last vector or instruction  | none is behind the longest extent  |      |
//! | `parts of a sum`        | both   | tiles of the grid that share a sum              | multiprocessors, or [`axes::PARTS_OF_CORE`] of a core | |
//! | `overhang`              | cuda   | elements behind the end of a sum that is shared | [`axes::MOST_OVERHANG`]            | yes  |
//! | `grid`                  | cuda   | blocks at the largest workload instance         | along x                            | yes  |
//! | `lanes`                 | cpu    | lanes of a vector                               | of a register                      |      |
//! | `copies`                | both   | copies of the innermost statement, unrolled     | [`loops::most_copies`]             |      |
//! | `gathered elements`     | cpu    | elements that these copies take one by one for lanes | [`loops::MOST_GATHERED`]      |      |
//! | `vthreads`              | cuda   | parts of a thread                               | [`loops::MOST_VTHREADS`]           |      |
//! | `innermost factor`      | cuda   | iterations of the longest loop that is unrolled | [`loops::MOST_INNERMOST`]          |      |
//! | `threads`               | cuda   | threads of a block                              | of a block of the device           | yes  |
//! | `threads of a multiprocessor` | cuda | threads of as many blocks as it shall hold  | of a multiprocessor                | yes  |
//! | `registers of a thread` | cuda   | of its arrays, and the addresses and operands         | of a thread                        | yes  |
//! | `registers of a multiprocessor` | cuda | of the threads of as many blocks as it shall hold | of a multiprocessor        |      |
//! | `vector registers`      | cpu    | of the accumulators that live at once           | all but [`registers::OPERANDS`]    |      |
//! | `shared memory`         | cuda   | bytes of all tiles that live at once            | of a block whose launch opts in    | yes  |
//! | `shared memory of a multiprocessor` | cuda | of as many blocks as it shall hold     | of a multiprocessor                |      |
//! | `parts of tiles`        | cuda   | bytes of all parts that blocks leave            | [`memory::MOST_PARTS`]             |      |
//! | `second-level cache`    | cpu    | bytes of all panels that live at once           | of one core                        | yes  |
//! | `first-level cache`     | cpu    | bytes that one register tile leaves for the next | of one core                       |      |
//!
//! No kernel may be over a hard limit; the grid is verified where the instances are known. One that is over another is right, and
//! slow: draws keep to all of them, and so does [`Space::apply`](crate::sketch::Space::apply), while [`apply`](crate::sketch::apply())
//! takes traces of any origin.
//!
//! Each row measures twice. `found` reads the lowered kernel. `bound` reads an assignment of a sketch's variables before anything is
//! lowered: it is no less than what is found of the same values, and does not shrink when a variable grows. So the values of some
//! variables are possible if they keep all bounds with all others at their least, and a draw that takes one variable after the other
//! never has to go back. Two do shrink, with the threads that share the loads under way and with the tiles of a grid: where they are
//! broken, enough threads are drawn first.
//!
//! What a target has no instruction for is refused here too; draws keep to it by their rules.
//!
//! Source: MetaSchedule's `VerifyGPUCode`, which reads the IR as `found` does; DietCode (MLSys 2022, section 4.2) for draws.

mod axes;
mod instructions;
mod loops;
mod memory;
mod registers;

#[cfg(all(test, feature = "tuner"))]
mod tests;

use std::collections::BTreeMap;

use super::footprint::Assignment;
use crate::ir::{DType, ForKind, Name};
use crate::lower::LoopNest;
use crate::machine::Target;
use crate::schedule::{Schedule, Trace};
use crate::{Error, Result};

/// A row of the table.
pub(super) struct Limit {
    pub(super) name: &'static str,
    /// What is counted.
    unit: &'static str,
    /// Whether no kernel may be over it; else draws keep to it.
    pub(super) hard: bool,
    /// The most of it where a type is computed in; none: the target has no such limit.
    allowed: fn(&Target, DType) -> Option<i64>,
    /// At least what is found of a kernel with these values.
    #[cfg_attr(not(feature = "tuner"), expect(dead_code, reason = "only draws ask before anything is lowered"))]
    bound: fn(&Assignment<'_>) -> i64,
    /// What a lowered kernel takes.
    found: fn(&Kernel<'_>) -> i64,
}

/// A lowered kernel, and what for.
#[derive(Clone, Copy)]
pub(super) struct Kernel<'a> {
    /// The trace that led to it; none: one beside the main kernel, of which nothing was decided.
    pub(super) trace: Option<&'a Trace>,
    pub(super) schedule: &'a Schedule,
    pub(super) nest: &'a LoopNest,
    pub(super) target: &'a Target,
    /// The extents of the axes at the workload instances, ascending; an axis that has none is of any length.
    pub(super) extents: &'a BTreeMap<Name, Vec<i64>>,
}

impl Kernel<'_> {
    /// What as many blocks take as a multiprocessor shall hold.
    fn of_blocks(&self, of_block: i64) -> i64 {
        self.nest.min_blocks.saturating_mul(of_block)
    }
}

/// The same before anything is lowered.
fn of_blocks(assignment: &Assignment<'_>, of_block: i64) -> i64 {
    assignment.size(&assignment.footprint.min_blocks).saturating_mul(of_block)
}

/// The table; what is measured in no time stands in front.
#[rustfmt::skip]
static LIMITS: [Limit; 19] = [
    row(("tile", "elements behind the longest extent", DRAWN),
        |_, _| Some(0), axes::bound_of_tile, axes::tile),
    row(("parts of a sum", "parts", DRAWN),
        |target, _| Some(match target {
            Target::Cpu(target) => target.cores.max(1) * axes::PARTS_OF_CORE,
            Target::Cuda(device) => device.multiprocessors.into(),
        }), axes::bound_of_parts, axes::parts),
    row(("overhang", "elements behind the end", HARD),
        |target, _| target.cuda().map(|_| axes::MOST_OVERHANG), axes::bound_of_overhang, axes::overhang),
    row(("grid", "blocks", HARD),
        |target, _| Some(target.cuda()?.grid[0].into()), axes::bound_of_grid, axes::grid),
    row(("lanes", "lanes of a vector", DRAWN),
        |target, computes| Some(target.cpu()?.lanes(computes).max(2)),
        |assignment| assignment.of_kinds(&[ForKind::Vectorized]), |kernel| loops::of_kinds(kernel, &[ForKind::Vectorized])),
    row(("copies", "copies of the innermost statement", DRAWN),
        |target, _| Some(loops::most_copies(target)),
        |assignment| assignment.of_kinds(&loops::COPIED), |kernel| loops::of_kinds(kernel, &loops::COPIED)),
    row(("gathered elements", "elements for lanes of vectors", DRAWN),
        |target, _| target.cpu().map(|_| loops::MOST_GATHERED),
        |assignment| assignment.footprint.gathered.saturating_mul(assignment.of_kinds(&loops::ELEMENTS)), loops::gathered),
    row(("vthreads", "parts of a thread", DRAWN),
        |target, _| target.cuda().map(|_| loops::MOST_VTHREADS),
        |assignment| assignment.of_kinds(&[ForKind::VThread]), |kernel| loops::of_kinds(kernel, &[ForKind::VThread])),
    row(("innermost factor", "iterations", DRAWN),
        |target, _| target.cuda().map(|_| loops::MOST_INNERMOST),
        |assignment| assignment.longest(ForKind::Unrolled), |kernel| loops::longest(kernel, ForKind::Unrolled)),
    row(("threads", "threads", HARD),
        |target, _| Some(target.cuda()?.threads_per_block.into()),
        |assignment| assignment.threads(), |kernel| kernel.nest.threads()),
    row(("threads of a multiprocessor", "threads of blocks that it shall hold", HARD),
        |target, _| Some(target.cuda()?.threads_per_sm.into()),
        |assignment| of_blocks(assignment, assignment.threads()), |kernel| kernel.of_blocks(kernel.nest.threads())),
    row(("registers of a thread", "registers", HARD),
        |target, _| Some(target.cuda()?.registers_per_thread.into()),
        registers::bound_of_thread, registers::of_thread),
    row(("registers of a multiprocessor", "registers of blocks that it shall hold", DRAWN),
        |target, _| Some(target.cuda()?.registers_per_sm.into()),
        |assignment| of_blocks(assignment, registers::bound_of_thread(assignment).saturating_mul(assignment.threads())),
        |kernel| kernel.of_blocks(registers::of_thread(kernel).saturating_mul(kernel.nest.threads()))),
    row(("vector registers", "registers", DRAWN),
        |target, _| Some((target.cpu()?.vector_registers - registers::OPERANDS).max(1)),
        registers::bound_of_vectors, registers::of_vectors),
    row(("shared memory", "bytes", HARD),
        |target, _| Some(target.cuda()?.shared_per_block_opt_in.into()),
        memory::bound_of_shared, |kernel| kernel.nest.scratch_bytes(&kernel.nest.parameters)),
    row(("shared memory of a multiprocessor", "bytes of blocks that it shall hold", DRAWN),
        |target, _| Some(target.cuda()?.shared_per_sm.into()),
        |assignment| of_blocks(assignment, memory::bound_of_allocated(assignment)),
        |kernel| kernel.of_blocks(memory::allocated(kernel.target.cuda(), kernel.nest.scratch_bytes(&kernel.nest.parameters)))),
    row(("parts of tiles", "bytes", DRAWN),
        |target, _| target.cuda().map(|_| memory::MOST_PARTS),
        memory::bound_of_parts, memory::parts),
    row(("second-level cache", "bytes", HARD),
        |target, _| Some(target.cpu()?.l2_bytes),
        memory::bound_of_panels, |kernel| kernel.nest.scratch_bytes(&kernel.nest.parameters)),
    row(("first-level cache", "bytes", DRAWN),
        |target, _| Some(target.cpu()?.l1_bytes),
        memory::bound_of_strips, memory::strips),
];

/// The rows of a target that it limits, with what it allows where a type is computed in.
pub(super) fn limits(target: &Target, computes: DType) -> impl Iterator<Item = (&'static Limit, i64)> {
    LIMITS.iter().filter_map(move |limit| Some((limit, (limit.allowed)(target, computes)?)))
}

/// Refuses a kernel that is over one of some limits, or takes what the target has no instruction for.
///
/// # Errors
/// Each limit that it is over, with what was found and what is allowed.
pub(super) fn verify(kernel: &Kernel<'_>, of: impl Fn(&Limit) -> bool) -> Result<()> {
    let name = &kernel.schedule.block.name;
    instructions::check(kernel.schedule, kernel.target)?;
    let over = limits(kernel.target, kernel.nest.computes).filter(|(limit, _)| of(limit));
    let over: Vec<String> = over.filter_map(|(limit, allowed)| limit.over((limit.found)(kernel), allowed)).collect();
    match over.is_empty() {
        true => Ok(()),
        false => Err(Error::input(format!("a kernel of `{name}` is over the limits: {}", over.join("; ")))),
    }
}

impl Limit {
    /// Whether it is that of a CPU's accumulators, to which a family keeps that leaves it to the target how long vectors are.
    pub(super) fn is_of_vector_registers(&self) -> bool {
        self.name == "vector registers"
    }

    /// What is told if this is over what is allowed.
    pub(super) fn over(&self, found: i64, allowed: i64) -> Option<String> {
        let Limit { name, unit, .. } = self;
        (found > allowed).then(|| format!("{name}: it takes {found} {unit}, the target allows {allowed}"))
    }
}

/// A limit that draws keep to.
#[cfg(feature = "tuner")]
pub(super) struct Bound {
    pub(super) limit: &'static Limit,
    /// What values of variables take, at the most.
    pub(super) of: fn(&Assignment<'_>) -> i64,
    pub(super) allowed: i64,
}

/// Those of a target.
#[cfg(feature = "tuner")]
pub(super) fn bounds(target: &Target, computes: DType) -> Vec<Bound> {
    limits(target, computes).map(|(limit, allowed)| Bound { limit, of: limit.bound, allowed }).collect()
}

const HARD: bool = true;
const DRAWN: bool = false;

const fn row(
    (name, unit, hard): (&'static str, &'static str, bool),
    allowed: fn(&Target, DType) -> Option<i64>,
    bound: fn(&Assignment<'_>) -> i64,
    found: fn(&Kernel<'_>) -> i64,
) -> Limit {
    Limit { name, unit, hard, allowed, bound, found }
}
