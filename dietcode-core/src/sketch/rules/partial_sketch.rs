//! A sketch in the making.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dietcode_syntax::Role;

use crate::ir::{Block, ForKind, Name, Program};
use crate::schedule::{Combine, Instruction, Level, Size, Staging};
use crate::sketch::Bounds;

/// What rules have made so far, and what the rules after them need to know.
#[derive(Clone, Debug, PartialEq)]
pub struct PartialSketch {
    /// The program: the blocks as the user wrote them, until they are inlined into one.
    pub program: Program,
    /// What limits the space.
    pub bounds: Arc<Bounds>,
    /// The instructions so far. Stages are made here, and placed at the end, since loops are transformed before.
    pub instructions: Vec<Instruction>,
    /// The decisions that are made already: by a user's own rule only.
    pub decisions: BTreeMap<Name, i64>,
    /// The loops as the instructions leave them, outermost first. Empty: the block is not tiled yet, and has the loops that
    /// its iteration variables are.
    pub loops: Vec<SketchLoop>,
    /// Stages that have no place yet.
    pub stages: Vec<SketchStage>,
    /// How parts of the sum meet that tiles of the grid share: asked for by `AddRFactor`, carried out with the tiles.
    pub combine: Option<Combine>,
    /// Whether parts of the sum are contiguous ranges of it; else each has every n-th tile of its steps.
    pub ranges: bool,
    /// Whether blocks of the grid have equal shares of the steps of its tiles: asked for by `AddStreamK`, carried out with the tiles.
    pub stream: bool,
    /// The structure of its tiles: S for a level of spatial loops, R for one of a sum, the outermost first; none without tiles.
    pub structure: Option<&'static str>,
    /// Whether a user's own rule made the whole of it, so that the others leave its schedule alone.
    pub custom: bool,
    /// The names of the rules that made it, in order.
    pub rules: Vec<&'static str>,
}

/// A loop of a partial sketch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SketchLoop {
    /// Its name: `{axis}_{n}`, counted from the outside in; or that of a fused loop.
    pub name: Name,
    /// The iteration variable that it is a part of; of a fused loop, the outermost one.
    pub axis: Name,
    /// What its iterations are; none for the outermost loop of an axis, which has what the factors leave of the extent.
    pub level: Option<Level>,
    /// Spatial or reduce.
    pub role: Role,
    /// How it is carried out.
    pub kind: ForKind,
}

/// A stage whose place is still to be chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SketchStage {
    /// What is staged: the variable that holds its place is `{what}_place`.
    pub what: Name,
    /// The accumulators' tile, or the copies that `cache_read` made of one tensor, which stand together.
    pub names: Vec<Name>,
    /// The loops inside of which they may stand, outermost first; none: outside of all loops.
    pub places: Vec<Name>,
}

impl PartialSketch {
    /// The beginning: a program and its limits.
    pub fn new(program: Program, bounds: Arc<Bounds>) -> PartialSketch {
        PartialSketch {
            program,
            bounds,
            instructions: Vec::new(),
            decisions: BTreeMap::new(),
            loops: Vec::new(),
            stages: Vec::new(),
            combine: None,
            ranges: false,
            stream: false,
            structure: None,
            custom: false,
            rules: Vec::new(),
        }
    }

    /// A block of the program.
    pub fn block(&self, at: usize) -> &Block {
        &self.program.blocks[at]
    }

    /// Whether a rule has made loops of the iteration variables already, or a user's rule all of it.
    pub fn is_tiled(&self) -> bool {
        self.custom || !self.loops.is_empty()
    }

    /// The loops of a role and a level, outermost first; those without a level stand outermost of their axis.
    pub fn loops_of(&self, role: Role, level: Option<Level>) -> impl Iterator<Item = &SketchLoop> {
        self.loops.iter().filter(move |l| l.role == role && l.level == level)
    }

    /// The largest extent of an axis at the workload instances; without any, axes are unbounded.
    pub fn most(&self, axis: &Name) -> i64 {
        self.bounds.extents.get(axis).and_then(|extents| extents.last()).copied().unwrap_or(i64::MAX)
    }

    /// The smallest one.
    pub fn least(&self, axis: &Name) -> i64 {
        self.bounds.extents.get(axis).and_then(|extents| extents.first()).copied().unwrap_or(1)
    }

    /// The reduction of a block that is the longest at the workload instances, of equal ones the last.
    pub fn longest(&self, block: &Block) -> Option<Name> {
        block.iters_of(Role::Reduce).map(|iter| iter.name.clone()).max_by_key(|name| self.most(name))
    }

    /// The reduction of a block that tiles of the grid share, if they share one.
    pub fn shared_sum(&self, block: &Block) -> Option<Name> {
        self.combine.and_then(|_| self.longest(block))
    }

    /// The output's elements at the smallest workload instance, or fewer: extents are known axis by axis.
    pub fn fewest_outputs(&self, block: &Block) -> i64 {
        block.iters_of(Role::Spatial).map(|iter| self.least(&iter.name)).fold(1, i64::saturating_mul)
    }

    /// A name like `wish` that nothing has yet; the same that `Schedule::cache_read` and `cache_write` find for a stage, if all
    /// instructions so far are in the partial sketch.
    pub fn fresh(&self, wish: &str) -> Name {
        let params = self.program.params.iter().map(|param| &param.name);
        let axes = self.program.blocks.iter().flat_map(|block| &block.iters).map(|iter| &iter.name);
        let made = self.instructions.iter().flat_map(made);
        let variables = self.program.variables();
        let taken: BTreeSet<&Name> = params.chain(axes).chain(made).chain(&variables).collect();
        let wishes = std::iter::once(wish.to_owned()).chain((2..).map(|n| format!("{wish}{n}")));
        wishes.map(Name::from).find(|name| !taken.contains(name)).expect("there are more names than are taken")
    }

    /// Stages a tensor: one copy for each of its distinct indices in the sum. Returns their names.
    pub fn cache_read(&mut self, block: &Block, buffer: &Name, staging: Staging) -> Vec<Name> {
        let at = self.instructions.len();
        let mut into = Vec::new();
        for _ in block.update_reads().iter().filter(|(read, _)| read.name == *buffer) {
            // What is named already is taken for the next copy of the same tensor.
            into.push(self.fresh(&staging.name_of(buffer)));
            self.instructions.truncate(at);
            self.instructions.push(Instruction::CacheRead { buffer: buffer.clone(), staging, into: into.clone() });
        }
        into
    }

    /// Fuses neighbouring loops, the outermost first, to one of a name like `into`; one loop alone keeps its own. Returns its
    /// name, or none where there is no loop.
    pub fn fuse_all(&mut self, names: &[Name], into: &str) -> Option<Name> {
        let (first, rest) = names.split_first()?;
        let fused = rest.iter().fold(first.clone(), |so_far, next| {
            let both = self.fresh(into);
            self.instructions.push(Instruction::Fuse { loops: [so_far, next.clone()], into: both.clone() });
            both
        });
        self.loops.retain(|l| !rest.contains(&l.name));
        self.loops.iter_mut().filter(|l| l.name == *first).for_each(|l| l.name = fused.clone());
        Some(fused)
    }

    /// Says how a loop is carried out.
    pub fn set_kind(&mut self, name: &Name, kind: ForKind) {
        self.loops.iter_mut().filter(|l| l.name == *name).for_each(|l| l.kind = kind);
        self.instructions.push(Instruction::Kind(kind, name.clone()));
    }
}

/// The loops and stages that an instruction makes.
fn made(instruction: &Instruction) -> &[Name] {
    match instruction {
        Instruction::Split { into, .. } | Instruction::SplitInto { into, .. } => into,
        Instruction::CacheRead { into, .. } => into,
        Instruction::StreamK { into, .. } => into,
        Instruction::AddUnitLoop(into) | Instruction::Fuse { into, .. } | Instruction::CacheWrite(into) => {
            std::slice::from_ref(into)
        }
        _ => &[],
    }
}

/// The variable that holds a factor: `{axis}_{level}`.
pub fn variable(axis: &str, level: Level) -> Name {
    format!("{axis}_{}", level.name()).into()
}

/// The product of an axis' factors of these levels.
pub fn product(axis: &str, levels: &[Level]) -> Size {
    Size::product(levels.iter().map(|level| variable(axis, *level)))
}
