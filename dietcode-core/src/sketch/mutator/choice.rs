//! The mutator of the other numbers: how many elements a copy moves at once, how far the runs of a panel lie apart, what is asked
//! for ahead, what tiles at an edge do, how many blocks have shares of the steps of tiles or are held by a multiprocessor, whether they go on to
//! further tiles.
//!
//! ```text
//! w_pad = sample_categorical(0, 16) = 0  →  16
//! ```

use super::Move;
use crate::ir::{ForKind, Name};
use crate::schedule::{Instruction, Part, Size};
use crate::sketch::footprint::{Domain, Footprint};

/// What a number that is drawn for itself is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// The iterations of a loop that is bound to threads.
    Threads,
    /// Those of one that is unrolled.
    Unroll,
    /// The order of blocks.
    Order,
    /// All else.
    Other,
}

pub(super) fn moves(footprint: &Footprint, values: &[i64]) -> Vec<Move> {
    numbers(footprint, values, Use::Other)
}

/// The other values of numbers with a use.
pub(super) fn numbers(footprint: &Footprint, values: &[i64], of: Use) -> Vec<Move> {
    let mut moves = Vec::new();
    for (var, declared) in footprint.vars.iter().enumerate() {
        let Domain::Number { candidates, .. } = &declared.domain else { continue };
        if used(footprint, &declared.name) == of {
            let others = candidates.iter().filter(|value| **value != values[var]);
            moves.extend(others.map(|value| vec![(var, *value)]));
        }
    }
    moves
}

/// What a number is for: by the first instruction that says so.
fn used(footprint: &Footprint, var: &Name) -> Use {
    let instructions = &footprint.sketch.instructions;
    let found = instructions.iter().find_map(|instruction| match instruction {
        Instruction::Split { factor, into: [_, inner], .. } if names(factor, var) => kind(instructions, inner, var),
        Instruction::Rasterize { tile, .. } if tile.iter().any(|size| names(size, var)) => Some(Use::Order),
        _ => None,
    });
    found.unwrap_or(Use::Other)
}

fn names(size: &Size, var: &Name) -> bool {
    size.0.iter().any(|part| matches!(part, Part::Var(name) if name == var))
}

/// What becomes of a loop that has the number of iterations, also as a part of others.
fn kind(instructions: &[Instruction], name: &Name, var: &Name) -> Option<Use> {
    instructions.iter().find_map(|instruction| match instruction {
        Instruction::Kind(ForKind::ThreadIdx, of) if of == name => Some(Use::Threads),
        Instruction::Kind(ForKind::Unrolled | ForKind::VThread, of) if of == name => Some(Use::Unroll),
        Instruction::Fuse { loops, into } if loops.contains(name) => kind(instructions, into, var),
        Instruction::Split { parent, factor, into: [outer, inner], .. } if parent == name => {
            kind(instructions, if names(factor, var) { inner } else { outer }, var)
        }
        _ => None,
    })
}
