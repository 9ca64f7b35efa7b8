//! Schedules: a block's loops, transformed by primitives.
//!
//! A [`Schedule`] starts as the nest the user wrote and is changed by one primitive after the other. Each primitive
//! lives in its own file, documents before → after, and checks its legality (`legality.rs`) before it rewrites
//! anything. What was applied is kept as a trace, which prints.

mod add_unit_loop;
mod buffer_fragments;
mod cache_read;
mod cache_write;
mod compute_at;
mod decompose_reduction;
mod enter_postproc;
mod fuse;
mod kind;
mod launch_bounds;
mod legality;
mod parameter;
mod partition;
mod pipeline;
mod prefetch;
mod rasterize;
mod reorder;
mod rfactor;
mod split;
mod split_into;
mod stage_store;
mod storage_align;
mod stream_k;
mod tensorize;
mod trace;
mod vectorize_fetch;
mod vectorize_store;

use dietcode_syntax::Role;
use std::ops::{Add, Div, Mul, Rem};

pub(crate) use legality::MOST_COPIES;
pub use parameter::Parameter;
pub(crate) use partition::HALVINGS;
pub(crate) use prefetch::{AHEAD, Prefetch};
pub(crate) use stage_store::{StoreRun, StoreTile};
pub(crate) use stream_k::StreamK;
pub(crate) use tensorize::{ElementRead, factors};
pub use trace::{
    Axis, Combine, Factor, Instruction, Level, MatrixUnit, Part, Pipeline, Place, SharedTile, Size, Staging, Tail,
    Trace, Unit,
};

use crate::Error;
use crate::ir::{Block, DType, Dot, Expr, ForKind, Name, Program};
use crate::machine::Target;

/// A block on its way to loops.
#[derive(Clone, Debug)]
pub struct Schedule {
    pub(crate) program: Program,
    pub(crate) block: Block,
    /// Sizes that the code takes when it is called; the program has them as variables of the shape, behind its own.
    pub(crate) parameters: Vec<Parameter>,
    /// The loops as they stand, outermost first.
    pub(crate) loops: Vec<Loop>,
    /// How variables that are no longer loops are computed from those that are, in the order of the primitives.
    pub(crate) relations: Vec<Relation>,
    pub(crate) cache_reads: Vec<CacheRead>,
    pub(crate) cache_write: Option<CacheWrite>,
    /// The loops of the register tile that are shorter at an edge, and how often their extents are halved there.
    pub(crate) partitions: Vec<(Name, i64)>,
    /// What is asked for ahead of the iterations that read it.
    pub(crate) prefetches: Vec<Prefetch>,
    pub(crate) decomposed: bool,
    /// How the copies into shared memory overlap with the computation.
    pub(crate) pipeline: Option<Pipeline>,
    /// How many sets of registers hold what a thread multiplies.
    pub(crate) fragment_sets: i64,
    /// The matrix unit that carries out the innermost loops.
    pub(crate) matrix_unit: Option<MatrixUnit>,
    /// The instruction of a CPU that carries out the two innermost loops.
    pub(crate) dot: Option<Dot>,
    /// How the parts of a sum meet that different blocks of the grid compute.
    pub(crate) rfactor: Option<Combine>,
    /// How many neighbours a thread stores at once.
    pub(crate) store_lanes: i64,
    /// Unused elements behind each row of the sums that are stored through shared memory; none: they are not.
    pub(crate) store_pad: Option<i64>,
    /// Whether the grid is as large as the device holds at once, and its blocks go on to further tiles.
    pub(crate) persistent: bool,
    /// How many blocks a multiprocessor shall hold.
    pub(crate) min_blocks: i64,
    /// Loops of one iteration that lowering does without; their variables are 0.
    pub(crate) dropped: Vec<Name>,
    trace: Vec<Instruction>,
    /// The target that it is made for, where that is known: primitives do not depend on it.
    pub(crate) target: Option<Target>,
    /// Of a kernel beside the main one of a split sum, the main one's trace, from which both follow.
    pub(crate) beside: Option<Vec<Instruction>>,
}

/// A loop of a schedule.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Loop {
    pub(crate) name: Name,
    /// How many iterations; may name outer loops where a split clipped it.
    pub(crate) extent: Expr,
    /// The most iterations it can have, if that is a constant, or follows from parameters.
    pub(crate) limit: Option<Expr>,
    pub(crate) kind: ForKind,
    pub(crate) role: Role,
}

/// Where a variable that no longer is a loop comes from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Relation {
    /// `parent = outer · factor + inner`; if `guard`, only where `parent < extent`. A factor that is known at run time only has a
    /// name for `outer · factor`, so that indices stay affine; lowering binds it by a `let`.
    Split { parent: Name, outer: Name, inner: Name, factor: Expr, start: Option<Name>, extent: Expr, guard: bool },
    /// `outer = fused / extents[1]`, `inner = fused % extents[1]`, or, if `raster`, in tiles of that size; extents and limits
    /// are those of outer and inner.
    Fuse {
        fused: Name,
        outer: Name,
        inner: Name,
        extents: [Expr; 2],
        limits: [Option<Expr>; 2],
        raster: Option<[i64; 2]>,
    },
    /// Tiles and their steps, which blocks have shares of.
    Stream(StreamK),
}

/// A staged copy of one read.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CacheRead {
    /// The copy's name.
    pub(crate) name: Name,
    /// The tensor that is read, and the index that this copy serves.
    pub(crate) buffer: Name,
    pub(crate) index: Vec<Expr>,
    pub(crate) staging: Staging,
    /// Unused elements between the runs of a panel.
    pub(crate) pad: i64,
    /// How many loops stand around the copy; until `compute_at` says so, all of them.
    pub(crate) depth: Option<usize>,
}

/// The accumulators' tile.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CacheWrite {
    pub(crate) name: Name,
    /// How many loops stand around it.
    pub(crate) depth: Option<usize>,
}

impl Loop {
    /// Whether its iterations are tiles of a grid or threads of a block.
    pub(crate) fn is_bound(&self) -> bool {
        self.kind.is_grid() || self.kind == ForKind::ThreadIdx
    }

    /// Whether its iterations are parts of a sum that tiles of the grid compute.
    pub(crate) fn is_shared_sum(&self) -> bool {
        self.role == Role::Reduce && self.kind.is_grid()
    }

    /// Whether its iterations are steps of a sum, one after the other.
    pub(crate) fn is_step(&self) -> bool {
        self.role == Role::Reduce && !self.is_bound()
    }

    /// The number of an iteration among those of all these loops, the last of which counts fastest, and how many there are.
    /// None: an extent is no constant.
    pub(crate) fn number<'a>(loops: impl IntoIterator<Item = &'a Loop>) -> Option<(Expr, i64)> {
        loops.into_iter().try_fold((Expr::Int(0), 1), |(number, count), l| {
            let extent = l.extent.as_int()?;
            Some((number.mul(Expr::Int(extent)).add(Expr::Var(l.name.clone())), extent.checked_mul(count)?))
        })
    }
}

impl Relation {
    /// The names that it binds or replaces.
    pub(crate) fn names(&self) -> Vec<&Name> {
        match self {
            Relation::Split { parent, outer, inner, start, .. } => {
                [parent, outer, inner].into_iter().chain(start).collect()
            }
            Relation::Fuse { fused, outer, inner, .. } => vec![fused, outer, inner],
            Relation::Stream(stream) => stream.names(),
        }
    }
}

impl Schedule {
    /// The nest as it stands: spatial loops, then reductions, all serial.
    pub fn new(program: &Program, block: &Block) -> Schedule {
        let loops = block.iters.iter().map(|iter| Loop {
            name: iter.name.clone(),
            extent: iter.extent.clone(),
            limit: iter.extent.as_int().map(Expr::Int),
            kind: ForKind::Serial,
            role: iter.role,
        });
        Schedule {
            program: program.clone(),
            block: block.clone(),
            parameters: Vec::new(),
            loops: loops.collect(),
            relations: Vec::new(),
            cache_reads: Vec::new(),
            cache_write: None,
            partitions: Vec::new(),
            prefetches: Vec::new(),
            decomposed: false,
            pipeline: None,
            fragment_sets: 1,
            matrix_unit: None,
            dot: None,
            rfactor: None,
            store_lanes: 1,
            store_pad: None,
            persistent: false,
            min_blocks: 1,
            dropped: Vec::new(),
            trace: Vec::new(),
            target: None,
            beside: None,
        }
    }

    /// The same schedule, as one for a target.
    #[must_use]
    pub(crate) fn made_for(mut self, target: Target) -> Schedule {
        self.target = Some(target);
        self
    }

    /// The names of the loops, outermost first.
    pub fn loop_names(&self) -> Vec<Name> {
        self.loops.iter().map(|l| l.name.clone()).collect()
    }

    /// The primitives that were applied, in order.
    pub fn trace(&self) -> &[Instruction] {
        &self.trace
    }

    /// What postprocessors made, with the marker in front of it.
    pub(crate) fn postprocessed(&self) -> &[Instruction] {
        let at = self.trace.iter().position(|instruction| *instruction == Instruction::EnterPostproc);
        &self.trace[at.unwrap_or(self.trace.len())..]
    }

    /// An expression over the block's iteration variables, in terms of the loops. What a fused loop stands for stays a
    /// variable; lowering binds it by a `let`.
    pub(crate) fn unsplit(&self, e: &Expr) -> Expr {
        self.without_dropped(self.resolve(e, false))
    }

    /// The same, down to the loops themselves: for asking what depends on what.
    pub(crate) fn in_loops(&self, e: &Expr) -> Expr {
        self.without_dropped(self.resolve(e, true))
    }

    fn without_dropped(&self, e: Expr) -> Expr {
        let zero = |e: &Expr| matches!(e, Expr::Var(name) if self.dropped.contains(name)).then_some(Expr::Int(0));
        if self.dropped.is_empty() { e } else { e.map(&mut { zero }) }
    }

    fn resolve(&self, e: &Expr, through_lets: bool) -> Expr {
        e.map(&mut |e| match e {
            Expr::Var(name) => self.became(name, through_lets),
            _ => None,
        })
    }

    /// What became of a loop that was split or fused.
    fn became(&self, name: &Name, through_lets: bool) -> Option<Expr> {
        let of = |part: &Name| self.resolve(&Expr::Var(part.clone()), through_lets);
        self.relations.iter().find_map(|relation| match relation {
            Relation::Split { parent, outer, inner, factor, start, .. } if parent == name => {
                let start = start.as_ref().filter(|_| !through_lets).map(|start| Expr::Var(start.clone()));
                Some(start.unwrap_or_else(|| of(outer).mul(factor.clone())).add(of(inner)))
            }
            Relation::Split { outer, factor, start: Some(start), .. } if through_lets && start == name => {
                Some(of(outer).mul(factor.clone()))
            }
            Relation::Fuse { fused, outer, inner, extents: [_, inner_extent], .. } if through_lets => {
                let inner_extent = || self.resolve(inner_extent, through_lets);
                match name {
                    _ if name == outer => Some(of(fused).div(inner_extent())),
                    _ if name == inner => Some(of(fused).rem(inner_extent())),
                    _ => None,
                }
            }
            Relation::Stream(stream) => stream.became(name, through_lets),
            _ => None,
        })
    }

    /// The block's iteration variables of which a loop is a part.
    pub(crate) fn roots(&self, name: &str) -> Vec<Name> {
        let from = self.relations.iter().rev().find_map(|relation| match relation {
            Relation::Split { parent, outer, inner, .. } if [outer, inner].iter().any(|n| &***n == name) => {
                Some(self.roots(parent))
            }
            Relation::Fuse { fused, outer, inner, .. } if &**fused == name => {
                Some([self.roots(outer), self.roots(inner)].concat())
            }
            Relation::Stream(stream) => stream.parent(name).map(|parent| self.roots(parent)),
            _ => None,
        });
        from.unwrap_or_else(|| vec![name.into()])
    }

    /// The block's iteration variables whose tile hangs over the edge of some shapes.
    pub(crate) fn ragged(&self) -> Vec<Name> {
        let padded = self.relations.iter().filter_map(|relation| match relation {
            Relation::Split { parent, guard: true, .. } => Some(self.roots(parent)),
            _ => None,
        });
        padded.flatten().collect()
    }

    /// The elements of panels of a tensor: copies of what is summed have the type of sums, unless an instruction takes the elements as
    /// they are.
    pub(crate) fn panel_dtype(&self, of: DType) -> DType {
        if self.dot.is_some() { of } else { self.program.sums_in() }
    }

    /// Whether an operand was laid out before the call.
    pub(crate) fn is_prepared(&self, tensor: &str) -> bool {
        self.program.prepared(tensor).is_some()
    }

    /// Whether the loops are those of a GPU's kernel.
    pub(crate) fn is_gpu(&self) -> bool {
        self.thread_loops().next().is_some()
    }

    /// The loops over a block's threads, the one that counts slowest first.
    pub(crate) fn thread_loops(&self) -> impl Iterator<Item = &Loop> {
        self.loops.iter().filter(|l| l.kind == ForKind::ThreadIdx)
    }

    /// What the loops over a block's threads were fused of, the part that counts slowest first.
    pub(crate) fn thread_parts(&self) -> Vec<Name> {
        self.thread_loops().flat_map(|l| self.parts(&l.name)).collect()
    }

    /// The loops of which a loop was fused, the outermost first; of one that was not, itself.
    pub(crate) fn parts(&self, name: &Name) -> Vec<Name> {
        let fused = self.relations.iter().find_map(|relation| match relation {
            Relation::Fuse { fused, outer, inner, .. } if fused == name => Some((outer, inner)),
            _ => None,
        });
        fused.map_or_else(|| vec![name.clone()], |(outer, inner)| [self.parts(outer), self.parts(inner)].concat())
    }

    /// The extent of a part of a fused loop.
    pub(crate) fn fused_extent(&self, part: &Name) -> Option<&Expr> {
        self.relations.iter().find_map(|relation| match relation {
            Relation::Fuse { outer, extents, .. } if outer == part => Some(&extents[0]),
            Relation::Fuse { inner, extents, .. } if inner == part => Some(&extents[1]),
            _ => None,
        })
    }

    /// How many values a part of a fused loop takes, if that is a constant.
    pub(crate) fn fused_limit(&self, part: &Name) -> Option<i64> {
        let limit = self.relations.iter().find_map(|relation| match relation {
            Relation::Fuse { outer, limits, .. } if outer == part => limits[0].as_ref(),
            Relation::Fuse { inner, limits, .. } if inner == part => limits[1].as_ref(),
            _ => None,
        });
        limit?.as_int()
    }

    pub(crate) fn record(&mut self, instruction: Instruction) {
        self.trace.push(instruction);
    }

    /// The position of a loop.
    pub(crate) fn find(&self, name: &str) -> Result<usize, Error> {
        self.loops.iter().position(|l| &*l.name == name).ok_or_else(|| {
            let names: Vec<&str> = self.loops.iter().map(|l| &*l.name).collect();
            Error::input(format!(
                "no loop `{name}` in the schedule of `{}`; there are: {}",
                self.block.name,
                names.join(", ")
            ))
        })
    }
}
