//! The whole space of a program's schedules: its sketches, and the traces that are drawn from them.
//!
//! ```text
//! program ── rules ──► sketches ── sample ──► traces ── replay, postprocs, lower ──► applied
//!                                     ▲          │
//!                                     └─ mutate ─┴─ crossover
//! ```

mod generate;

pub use generate::{WithoutEffect, partial_sketches, rules_without_effect};

use dietcode_syntax::KernelDef;

use super::apply::unlimited;
use super::{Bounds, Lowered, Tiled};
use crate::Result;
use crate::ir::Program;
use crate::machine::Target;
use crate::schedule::Trace;

/// The sketches of a kernel on a target, for a set of workload instances.
#[derive(Clone, Debug)]
pub struct Space {
    /// The kernel.
    pub def: KernelDef,
    /// Its program, one block.
    pub program: Program,
    /// What limits it.
    pub bounds: Bounds,
    /// Traces with open decisions.
    pub sketches: Vec<Trace>,
    /// Traces of families, whose decisions are made, which an evolution begins with; those that break limits are left out there.
    pub templates: Vec<Trace>,
    /// The user's own rule that made them, if one did, as errors about them begin.
    pub rule: Option<String>,
}

impl Space {
    /// Carries a trace out on the space's program, within all that draws keep to, at the largest of its instances.
    ///
    /// # Errors
    /// As [`apply`](super::apply()); a limit that draws keep to, a grid that is larger than the device's.
    pub fn apply(&self, trace: &Trace) -> Result<Lowered> {
        let lowered = unlimited(&self.program, &self.bounds.target, trace)?;
        lowered.check(&self.bounds.target, &self.bounds.extents, |_| true)?;
        Ok(lowered)
    }

    /// At most so many tiles of a CPU that follow from how the nest reads its inputs, and from the sizes of registers and caches, the most
    /// promising first, as far as they hold; none where a user's own rule says what there is.
    pub fn starts(&self, most: usize) -> Vec<Trace> {
        let Target::Cpu(cpu) = &self.bounds.target else { return Vec::new() };
        if self.rule.is_some() {
            return Vec::new();
        }
        let traces = Tiled::starts(&self.program, cpu, &self.bounds.extents).into_iter();
        let traces = traces.filter_map(|tiled| tiled.trace(&self.program, cpu).ok());
        traces.filter(|trace| self.apply(trace).is_ok()).take(most).collect()
    }
}
