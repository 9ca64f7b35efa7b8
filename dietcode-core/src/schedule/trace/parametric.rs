//! The sizes of outer blocks as parameters, so that traces that differ in nothing else share code.
//!
//! ```text
//! i_task, i_register, j_block, … = sample_target_constrained_tiles() = 2, 8, 24, …
//! i_tiles, i_tile = split(i, i_register, pad)
//! i_0, i_1 = split(i_tiles, i_task, clip)
//!                                        ▼
//! i_task = parameter(1)
//! j_block = parameter(1)
//! i_register, … = sample_target_constrained_tiles() = 8, …
//! i_tiles, i_tile = split(i, i_register, pad)
//! i_0, i_1 = split(i_tiles, i_task, clip)              called with i_task = 2, j_block = 24
//! ```
//!
//! What such a size decides is how often a loop runs and how large a panel is. All else of a draw (register tiles, lanes, what is
//! unrolled, the places of stages) decides what the code is, and stays a constant. So do steps of the innermost sum that are so few that
//! the compiler makes code of each: with a window's as a parameter, a convolution ran at 0.63 to 0.72 of the speed that a build has.

use std::collections::BTreeMap;

use super::{Axis, Factor, Instruction, Level, Part, Size, Tail, Trace};
use crate::abi::MOST_PARAMETERS;
use crate::ir::{ForKind, Name};

/// Iterations of a loop that GCC peels off whole: the first, and as many as `max-completely-peel-times` says behind it.
const PEELED: i64 = 5;

impl Trace {
    /// The trace with its free sizes as parameters, and their values, in order; none where it has no such sizes. In the trace all of
    /// them are 1: traces with the same code have the same.
    pub(crate) fn parametric(&self) -> Option<(Trace, Vec<i64>)> {
        let free: Vec<(Name, i64)> = self.free_sizes();
        if free.is_empty() {
            return None;
        }
        let is_free = |var: &Name| free.iter().any(|(name, _)| name == var);
        let mut declared: Vec<Instruction> = free.iter().map(|(name, _)| parameter(name)).collect();
        let instructions = self.instructions.iter().flat_map(|instruction| match instruction {
            Instruction::SampleTiles(axes) => {
                // All of them, in front of the first split that may name one.
                let mut instructions = std::mem::take(&mut declared);
                instructions.push(Instruction::SampleTiles(axes.iter().map(|axis| without(axis, is_free)).collect()));
                instructions
            }
            other => vec![other.clone()],
        });
        let instructions: Vec<Instruction> = instructions.collect();
        let decisions = self.decisions.iter().filter(|(var, _)| !is_free(var));
        let decisions: BTreeMap<Name, i64> = decisions.map(|(var, value)| (var.clone(), *value)).collect();
        Some((Trace::new(instructions).with(decisions), free.into_iter().map(|(_, value)| value).collect()))
    }

    /// The trace with whole tiles at edges, where it has smaller ones there; those that differ in nothing else have the same. Tiles of a GPU
    /// are whole everywhere.
    pub(crate) fn with_whole_edges(&self) -> Option<Trace> {
        let is_of_grid = |name: &Name| {
            self.instructions.iter().any(|instruction| match instruction {
                Instruction::Kind(kind, bound) => *kind == ForKind::BlockIdx && bound == name,
                Instruction::StreamK { into: [share, ..], .. } => share == name,
                _ => false,
            })
        };
        let halvings = |instruction: &Instruction| match instruction {
            Instruction::Partition { name, halvings } if *halvings != Size::int(0) && !is_of_grid(name) => {
                Some(halvings.clone())
            }
            _ => None,
        };
        let halved: Vec<Size> = self.instructions.iter().filter_map(halvings).collect();
        let is_open = |var: &Name| {
            let others = self.instructions.iter().filter(|instruction| halvings(instruction).is_none());
            names(&halved, var) && !others.flat_map(Instruction::sizes).any(|size| names([size], var))
        };
        let whole = |instruction: &Instruction| match instruction {
            Instruction::Partition { name, .. } => {
                Some(Instruction::Partition { name: name.clone(), halvings: Size::int(0) })
            }
            Instruction::SampleCategorical { into, .. } if is_open(into) => None,
            other => Some(other.clone()),
        };
        let instructions: Vec<Instruction> = self.instructions.iter().filter_map(whole).collect();
        let decisions = self.decisions.iter().filter(|(var, _)| !is_open(var));
        let decisions = decisions.map(|(var, value)| (var.clone(), *value)).collect();
        (!halved.is_empty()).then(|| Trace::new(instructions).with(decisions))
    }

    /// Whether the steps of the innermost sum are so few that code has them as a constant. Of traces of one sketch that are alike in this, the same
    /// decisions are constants of the code.
    pub(crate) fn has_few_steps(&self) -> bool {
        let steps = self.drawn().filter(|factor| factor.level == Level::Steps).last();
        steps.and_then(|factor| self.decisions.get(&factor.var)).is_some_and(|steps| *steps <= PEELED)
    }

    /// The factors that sampling instructions declare.
    fn drawn(&self) -> impl Iterator<Item = &Factor> {
        let axes = self.instructions.iter().flat_map(|instruction| match instruction {
            Instruction::SampleTiles(axes) => axes.as_slice(),
            _ => &[],
        });
        axes.flat_map(|axis| &axis.factors)
    }

    /// The drawn factors of clipped splits that nothing else names, with their values, but for a few steps of the innermost sum: as many
    /// as code can take.
    fn free_sizes(&self) -> Vec<(Name, i64)> {
        let clips = |instruction: &Instruction| matches!(instruction, Instruction::Split { tail: Tail::Clip, .. });
        let is_free = |var: &Name| {
            let naming = self.instructions.iter().filter(|i| names(i.sizes(), var));
            let (clipping, others): (Vec<&Instruction>, Vec<&Instruction>) = naming.partition(|i| clips(i));
            !clipping.is_empty() && others.is_empty()
        };
        let drawn: Vec<_> = self.drawn().collect();
        let innermost = drawn.iter().rfind(|factor| factor.level == Level::Steps).map(|factor| &factor.var);
        let free = drawn.iter().map(|factor| &factor.var).filter(|var| is_free(var));
        let valued = free.filter_map(|var| Some((var.clone(), *self.decisions.get(var)?)));
        valued.filter(|(var, size)| Some(var) != innermost || *size > PEELED).take(MOST_PARAMETERS).collect()
    }
}

/// Whether one of the sizes names a variable.
fn names<'a>(sizes: impl IntoIterator<Item = &'a Size>, var: &Name) -> bool {
    let parts = sizes.into_iter().flat_map(|size| &size.0);
    parts.into_iter().any(|part| matches!(part, Part::Var(name) if name == var))
}

fn parameter(name: &Name) -> Instruction {
    Instruction::Parameter { into: name.clone(), value: Size::int(1) }
}

fn without(axis: &Axis, is_free: impl Fn(&Name) -> bool) -> Axis {
    let factors = axis.factors.iter().filter(|factor| !is_free(&factor.var));
    Axis { name: axis.name.clone(), factors: factors.cloned().collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_of_a_gpu_are_whole_at_edges_too() {
        let name = || Name::from("i_0");
        let partition = |made| {
            let partition = Instruction::Partition { name: name(), halvings: Size::int(1) };
            Trace::new([made, partition]).with_whole_edges()
        };
        assert_eq!(partition(Instruction::Kind(ForKind::BlockIdx, name())), None);
        let (loops, into) = (["i", "k"].map(Name::from), ["i_0", "piece", "step"].map(Name::from));
        let stream = Instruction::StreamK { loops, shares: Size::int(8), waves: Size::int(1), into };
        assert_eq!(partition(stream), None);
        let whole = partition(Instruction::Kind(ForKind::Unrolled, name())).expect("it has a smaller tile there");
        assert!(whole.to_string().contains("partition(i_0, 0)"), "{whole}");
    }
}
