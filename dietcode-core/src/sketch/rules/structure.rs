//! The structures of tiles that a search may choose from: S for a level of spatial loops, R for one of reductions, the outermost
//! first.
//!
//! ```text
//! cpu     S  what threads share out      S  blocks of a task
//!         R  cache blocks of the sum     S  register tiles of a block     R  steps, then unrolled ones     S  the register tile
//! cuda    S  blocks     S  virtual threads, where there are three     S  threads
//!         R  tiles in shared memory      R  steps in them                 S  outer part of a thread's tile
//!         R  unrolled steps              S  inner part of it
//! ```
//!
//! A structure that lacks a level has one loop less of each axis. Source: `MultiLevelTiling` of MetaSchedule takes such a string.

use crate::machine::Target;
use crate::schedule::Level;

/// A structure of tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Structure {
    /// How it is written.
    pub text: &'static str,
    /// For each letter the levels of its loops, outermost first; none: the loops that have what the others leave of an extent.
    pub(super) levels: &'static [&'static [Level]],
}

use Level::{Block, Inner, Lanes, Outer, Register, Steps, Task, Thread, Unroll, Vthread};

/// Those of a CPU, the default first.
static CPU: [Structure; 3] = [
    Structure { text: "SSRSRS", levels: &[&[], &[Task], &[], &[Block], &[Steps, Unroll], &[Register, Lanes]] },
    Structure { text: "SSRRS", levels: &[&[], &[Task], &[], &[Steps, Unroll], &[Register, Lanes]] },
    Structure { text: "SSRS", levels: &[&[], &[Task], &[], &[Register, Lanes]] },
];

/// Those of threads of a GPU that multiply, the default first.
static CUDA: [Structure; 6] = [
    Structure { text: "SSSRRSRS", levels: &[&[], &[Vthread], &[Thread], &[], &[Steps], &[Outer], &[Unroll], &[Inner]] },
    Structure { text: "SSRRSRS", levels: &[&[], &[Thread], &[], &[Steps], &[Outer], &[Unroll], &[Inner]] },
    Structure { text: "SSSRSRS", levels: &[&[], &[Vthread], &[Thread], &[], &[Outer], &[Unroll], &[Inner]] },
    Structure { text: "SSRSRS", levels: &[&[], &[Thread], &[], &[Outer], &[Unroll], &[Inner]] },
    Structure { text: "SSSRRS", levels: &[&[], &[Vthread], &[Thread], &[], &[Steps], &[Inner]] },
    Structure { text: "SSRRS", levels: &[&[], &[Thread], &[], &[Steps], &[Inner]] },
];

impl Structure {
    /// All of a kind of targets, `cpu` or `cuda`, the default first.
    pub fn all(kind: &str) -> &'static [Structure] {
        if kind == "cpu" { &CPU } else { &CUDA }
    }

    /// The one of a kind of targets that is written like this.
    pub fn of(kind: &str, text: &str) -> Option<&'static Structure> {
        Structure::all(kind).iter().find(|structure| structure.text == text)
    }

    /// The one that a target has where none is named.
    pub fn default_of(target: &Target) -> &'static Structure {
        &Structure::all(target.kind())[0]
    }

    /// The levels of an axis whose letter this is, outermost first, but for the outermost.
    pub(super) fn levels_of(&self, letter: char) -> impl Iterator<Item = Level> {
        let ours = self.text.chars().zip(self.levels).filter(move |(c, _)| *c == letter);
        ours.flat_map(|(_, levels)| levels.iter().copied())
    }

    /// The place of a level in the structure; that of the outermost loops of a letter for none.
    pub(super) fn place(&self, letter: char, level: Option<Level>) -> Option<usize> {
        let is_it = |levels: &&[Level]| level.map_or(levels.is_empty(), |level| levels.contains(&level));
        self.text.chars().zip(self.levels).position(|(c, levels)| c == letter && is_it(levels))
    }
}
