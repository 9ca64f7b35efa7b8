//! The record of what a schedule is made of: primitives, and the decisions in them.
//!
//! A [`Trace`] is a list of instructions and the values of the variables that its sampling instructions declare. Without
//! values it is a *sketch*, and prints with `_` in their place; with some of them it can be completed; with all of them
//! [`Trace::replay`] gives the same schedule on the same program, bit for bit.
//!
//! ```text
//! i_block, i_tile, j_block, j_vectors, j_lanes, k_steps, k_unroll = sample_target_constrained_tiles() = _, 8, …
//! i_o, i_t = split(i, i_tile, pad)
//! …
//! ```
//!
//! Source: `Trace` of TVM's MetaSchedule (`src/tir/schedule/trace.cc`), with the joint tiles of DietCode (MLSys 2022).
mod argument;
mod instruction;
mod parametric;
mod replay;
mod sampling;
mod size;

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use argument::{Combine, MatrixUnit, Pipeline, SharedTile, Staging, Tail, Unit};
pub use instruction::{Instruction, Place};
pub use sampling::{Axis, Factor, Level};
pub use size::{Part, Size};

use crate::ir::Name;

/// Instructions with decisions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trace {
    /// What is done, in order. Candidates of one sketch share it.
    pub instructions: Arc<[Instruction]>,
    /// The values of sampled variables; those that are missing are open.
    #[serde(default)]
    pub decisions: BTreeMap<Name, i64>,
}

impl Trace {
    /// A sketch: all decisions open.
    pub fn new(instructions: impl Into<Arc<[Instruction]>>) -> Trace {
        Trace { instructions: instructions.into(), decisions: BTreeMap::new() }
    }

    /// The same sketch with other decisions.
    pub fn with(&self, decisions: BTreeMap<Name, i64>) -> Trace {
        Trace { instructions: self.instructions.clone(), decisions }
    }

    /// The variables that sampling instructions declare, in order.
    pub fn variables(&self) -> impl Iterator<Item = &Name> {
        self.instructions.iter().flat_map(Instruction::variables)
    }

    /// The trace with each open decision at its least: factors of 1, vectors of 2 lanes, the smallest number, the first place.
    pub fn least(&self) -> Trace {
        let mut trace = self.clone();
        let mut decide = |var: &Name, value: i64| {
            trace.decisions.entry(var.clone()).or_insert(value);
        };
        for instruction in self.instructions.iter() {
            match instruction {
                Instruction::SampleTiles(axes) => axes.iter().flat_map(|axis| &axis.factors).for_each(|factor| {
                    decide(&factor.var, if factor.level == Level::Lanes { 2 } else { 1 });
                }),
                Instruction::SampleCategorical { into, candidates, .. } => {
                    candidates.iter().min().into_iter().for_each(|value| decide(into, *value));
                }
                Instruction::SampleComputeLocation { into, .. } => decide(into, 0),
                _ => {}
            }
        }
        trace
    }

    /// Where the instructions of postprocessors begin; none: the trace has none of them yet.
    fn postprocessed(&self) -> Option<usize> {
        self.instructions.iter().position(|instruction| *instruction == Instruction::EnterPostproc)
    }

    /// Whether postprocessors have added what they make, so that a replay gives the schedule as it is lowered.
    pub fn is_final(&self) -> bool {
        self.postprocessed().is_some()
    }

    /// The trace without what postprocessors made: what a mutation starts from.
    pub fn before_postproc(&self) -> Trace {
        match self.postprocessed() {
            Some(at) => Trace { instructions: self.instructions[..at].into(), decisions: self.decisions.clone() },
            None => self.clone(),
        }
    }

    /// The drawn sizes of what a thread holds in registers; none where nothing is drawn.
    pub fn register_tile(&self) -> Vec<(Name, i64)> {
        let factors = self.instructions.iter().flat_map(|instruction| match instruction {
            Instruction::SampleTiles(axes) => axes.iter().flat_map(|axis| &axis.factors).collect(),
            _ => Vec::new(),
        });
        let held = factors.filter(|factor| factor.level.is_held());
        held.filter_map(|factor| Some((factor.var.clone(), *self.decisions.get(&factor.var)?))).collect()
    }

    /// Those without a value.
    pub fn open(&self) -> impl Iterator<Item = &Name> {
        self.variables().filter(|var| !self.decisions.contains_key(*var))
    }
}

impl Display for Trace {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for instruction in self.instructions.iter() {
            write!(f, "{instruction}")?;
            let mut values = instruction.variables().into_iter().map(|var| self.decisions.get(var)).peekable();
            if values.peek().is_some() {
                let texts: Vec<String> = values.map(|v| v.map_or_else(|| "_".into(), i64::to_string)).collect();
                write!(f, " = {}", texts.join(", "))?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}
