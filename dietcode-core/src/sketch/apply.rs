//! A trace carried out: replayed, postprocessed, lowered, checked against the limits, hashed. This is the only way to loops.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::limits::{self, Kernel, Limit};
use super::{Remainder, finish, postproc};
use crate::ir::{Buffer, Name, Prepared, Program, Stmt};
use crate::lower::{LoopNest, lower_observed, structure_hash};
use crate::machine::Target;
use crate::schedule::{Schedule, Trace};
use crate::{Error, Result};

/// A trace carried out on a program and a target.
#[derive(Clone, Debug)]
pub struct Lowered {
    /// The trace, as it was given.
    pub trace: Trace,
    /// The kernels in the order in which they are carried out: the phases of a micro-kernel.
    pub schedules: Vec<Schedule>,
    /// The same, lowered.
    pub nests: Vec<LoopNest>,
    /// A hash of the structure of the lowered program: equal for traces that come to the same code.
    pub hash: [u8; 32],
    /// What covers the remainder along an axis, all of the above being for what lies before it.
    pub cover: Option<Box<Remainder>>,
    main: usize,
}

/// Called after each pass with the kernel, the pass's name and what it made.
pub(super) type Observer<'a> = &'a mut dyn FnMut(&Schedule, &'static str, &Stmt);

/// Carries a trace out. Postprocessors run unless the trace is [final](Trace::is_final).
///
/// # Errors
/// A decision that is open, an instruction that does not hold, what lowering refuses, a limit of the target with what was found
/// and what is allowed.
pub fn apply(program: &Program, target: &Target, trace: &Trace) -> Result<Lowered> {
    let lowered = unlimited(program, target, trace)?;
    lowered.check(target, &BTreeMap::new(), |limit| limit.hard)?;
    Ok(lowered)
}

/// The same whatever it takes of the target.
pub(super) fn unlimited(program: &Program, target: &Target, trace: &Trace) -> Result<Lowered> {
    check_target(program, target)?;
    let mut schedule = trace.replay(program, &program.blocks[0])?.made_for(target.clone());
    if !trace.is_final() {
        schedule.enter_postproc();
        postproc::rewrite(&mut schedule, target)?;
    }
    match (target, schedule.is_gpu()) {
        (Target::Cpu(_), true) => Err(Error::input("it is one for a GPU")),
        (Target::Cuda(_), false) => Err(Error::input("it is one for a CPU")),
        _ => Ok(Lowered { trace: trace.clone(), ..Lowered::of(schedule)? }),
    }
}

/// Whether a target can have schedules of a program at all.
///
/// # Errors
/// Operands that are laid out before calls, for a GPU.
pub(super) fn check_target(program: &Program, target: &Target) -> Result<()> {
    match (target, program.prepared.first()) {
        (Target::Cuda(_), Some(Prepared { tensor, .. })) => {
            let (name, kernel) = (&tensor.name, &program.name);
            Err(Error::input(format!(
                "`{kernel}` reads `{name}` as it is laid out before calls, which is for CPUs only"
            )))
        }
        _ => Ok(()),
    }
}

impl Lowered {
    /// Lowers a schedule as it is, with the kernels that it needs beside its own.
    ///
    /// # Errors
    /// What lowering refuses.
    pub fn of(schedule: Schedule) -> Result<Lowered> {
        Lowered::observed(schedule, &mut |_, _, _| {})
    }

    /// The same, and shows what each pass makes of each kernel.
    pub(super) fn observed(schedule: Schedule, observe: Observer<'_>) -> Result<Lowered> {
        let trace = Trace::new(schedule.trace());
        let (schedules, main) = finish::launches(schedule)?;
        let lower = |kernel: &Schedule| lower_observed(kernel, &mut |pass, body| observe(kernel, pass, body));
        let nests = schedules.iter().map(lower).collect::<Result<Vec<LoopNest>>>()?;
        let hash = structure_hash(&nests);
        Ok(Lowered { trace, schedules, nests, hash, cover: None, main })
    }

    /// Refuses kernels that are over some of the limits, at workload instances where axes are so long.
    pub(super) fn check(
        &self,
        target: &Target,
        extents: &BTreeMap<Name, Vec<i64>>,
        of: fn(&Limit) -> bool,
    ) -> Result<()> {
        self.kernels(target, extents).try_for_each(|kernel| limits::verify(&kernel, of))
    }

    /// The kernels as limits see them.
    pub(super) fn kernels<'a>(
        &'a self,
        target: &'a Target,
        extents: &'a BTreeMap<Name, Vec<i64>>,
    ) -> impl Iterator<Item = Kernel<'a>> {
        let kernels = self.schedules.iter().zip(&self.nests).enumerate();
        kernels.map(move |(at, (schedule, nest))| {
            let trace = (at == self.main).then_some(&self.trace);
            Kernel { trace, schedule, nest, target, extents }
        })
    }

    /// Which of the kernels computes the tiles; another one begins or ends what its blocks share.
    pub fn main(&self) -> usize {
        self.main
    }

    /// The schedule of that kernel.
    pub fn schedule(&self) -> &Schedule {
        &self.schedules[self.main]
    }

    /// Its loops.
    pub fn nest(&self) -> &LoopNest {
        &self.nests[self.main]
    }

    /// The memory that the kernels share, if one leaves parts of sums for another.
    pub fn workspace(&self) -> Option<&Arc<Buffer>> {
        self.nests.iter().find_map(|nest| nest.workspace.as_ref())
    }

    /// Bytes of scratch memory that a thread needs, or of shared memory that a block needs, where the parameters have these values.
    pub fn scratch_bytes(&self, parameters: &[i64]) -> i64 {
        self.nests.iter().map(|nest| nest.scratch_bytes(parameters)).max().unwrap_or(0)
    }

    /// The trace with what postprocessors added: what is kept, and replays to the same schedule without them.
    pub fn final_trace(&self) -> Trace {
        if self.trace.is_final() {
            return self.trace.clone();
        }
        let made = self.schedule().postprocessed().iter();
        Trace {
            instructions: self.trace.instructions.iter().chain(made).cloned().collect(),
            decisions: self.trace.decisions.clone(),
        }
    }
}
