//! Instructions: what is sampled, and the primitives.

use std::fmt::{self, Display, Formatter};

use serde::{Deserialize, Serialize};

use super::{Axis, Combine, MatrixUnit, Pipeline, SharedTile, Size, Staging, Tail, Unit};
use crate::ir::{ForKind, Name};

/// A sampling instruction, which declares variables, or a primitive, which may name them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Instruction {
    /// The tiles of all axes, drawn together under the limits of the target.
    SampleTiles(Vec<Axis>),
    /// One of a few numbers.
    SampleCategorical {
        /// The variable; its value is one of the candidates.
        into: Name,
        /// The numbers.
        candidates: Vec<i64>,
        /// How likely each is, relative to the others.
        weights: Vec<f64>,
    },
    /// A place for a stage.
    SampleComputeLocation {
        /// The variable; its value is the position of one of the places.
        into: Name,
        /// The loops to choose from, outermost first.
        candidates: Vec<Name>,
    },
    /// See [`crate::schedule::Schedule::add_unit_loop`].
    AddUnitLoop(Name),
    /// See [`crate::schedule::Schedule::parameter`].
    Parameter {
        /// What it is called.
        into: Name,
        /// Its value.
        value: Size,
    },
    /// See [`crate::schedule::Schedule::split`].
    Split {
        /// The loop that was split.
        parent: Name,
        /// Iterations of the inner loop.
        factor: Size,
        /// What happens at the ragged end.
        tail: Tail,
        /// The new loops.
        into: [Name; 2],
    },
    /// See [`crate::schedule::Schedule::split_into`].
    SplitInto {
        /// The loop that was split.
        parent: Name,
        /// How many ranges it is split into.
        ranges: Size,
        /// The new loops.
        into: [Name; 2],
    },
    /// See [`crate::schedule::Schedule::reorder`].
    Reorder(Vec<Name>),
    /// See [`crate::schedule::Schedule::fuse`].
    Fuse {
        /// The two loops.
        loops: [Name; 2],
        /// The new one.
        into: Name,
    },
    /// See [`crate::schedule::Schedule::rasterize`].
    Rasterize {
        /// The fused loop.
        name: Name,
        /// Iterations of its outer and of its inner part that are taken together.
        tile: [Size; 2],
    },
    /// See [`crate::schedule::Schedule::parallel`], [`crate::schedule::Schedule::vectorize`], [`crate::schedule::Schedule::unroll`],
    /// [`crate::schedule::Schedule::bind_block`], [`crate::schedule::Schedule::bind_thread`], [`crate::schedule::Schedule::vthread`].
    Kind(ForKind, Name),
    /// See [`crate::schedule::Schedule::partition`].
    Partition {
        /// The loop.
        name: Name,
        /// How often its extent is halved; of a loop over blocks, whether tiles inside have a body of their own.
        halvings: Size,
    },
    /// See [`crate::schedule::Schedule::prefetch`].
    Prefetch {
        /// The tensor.
        buffer: Name,
        /// The loop.
        at: Name,
        /// How many iterations ahead.
        ahead: Size,
    },
    /// See [`crate::schedule::Schedule::cache_read`].
    CacheRead {
        /// The tensor.
        buffer: Name,
        /// When it is copied.
        staging: Staging,
        /// The copies, one for each distinct index.
        into: Vec<Name>,
    },
    /// See [`crate::schedule::Schedule::cache_write`].
    CacheWrite(Name),
    /// See [`crate::schedule::Schedule::compute_at`].
    ComputeAt {
        /// A staged copy or the accumulators' tile.
        stage: Name,
        /// Where.
        at: Place,
    },
    /// See [`crate::schedule::Schedule::storage_align`].
    StorageAlign {
        /// The panel.
        stage: Name,
        /// Elements between its runs.
        pad: Size,
    },
    /// See [`crate::schedule::Schedule::decompose_reduction`].
    DecomposeReduction,
    /// See [`crate::schedule::Schedule::pipeline`].
    Pipeline(Pipeline),
    /// See [`crate::schedule::Schedule::buffer_fragments`].
    BufferFragments(Size),
    /// See [`crate::schedule::Schedule::tensorize`].
    Tensorize(Unit),
    /// See [`crate::schedule::Schedule::rfactor`].
    Rfactor(Combine),
    /// See [`crate::schedule::Schedule::stream_k`].
    StreamK {
        /// The loop over tiles and the one over their steps.
        loops: [Name; 2],
        /// How many blocks share steps.
        shares: Size,
        /// How many waves of tiles they share the steps of.
        waves: Size,
        /// The new loops: blocks, tiles of a block, steps in one.
        into: [Name; 3],
    },
    /// See [`crate::schedule::Schedule::vectorize_store`].
    VectorizeStore(Size),
    /// See [`crate::schedule::Schedule::stage_store`].
    StageStore(Size),
    /// See [`crate::schedule::Schedule::vectorize_fetch`].
    VectorizeFetch {
        /// The tile in shared memory.
        stage: Name,
        /// Elements that a thread copies at once.
        lanes: Size,
    },
    /// See [`crate::schedule::Schedule::persistent`]: 1, or 0 where the grid covers the output.
    Persistent(Size),
    /// See [`crate::schedule::Schedule::min_blocks`].
    MinBlocks(Size),
    /// See [`crate::schedule::Schedule::enter_postproc`].
    EnterPostproc,
}

/// Where a stage stands.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// Outside of all loops.
    Root,
    /// In a loop.
    Loop(Name),
    /// Where a variable of [`Instruction::SampleComputeLocation`] says.
    Sampled(Name),
}

impl Instruction {
    /// The sizes that it names.
    pub(super) fn sizes(&self) -> Vec<&Size> {
        match self {
            Instruction::Parameter { value: size, .. }
            | Instruction::Split { factor: size, .. }
            | Instruction::SplitInto { ranges: size, .. }
            | Instruction::Partition { halvings: size, .. }
            | Instruction::Prefetch { ahead: size, .. }
            | Instruction::StorageAlign { pad: size, .. }
            | Instruction::BufferFragments(size)
            | Instruction::VectorizeStore(size)
            | Instruction::StageStore(size)
            | Instruction::VectorizeFetch { lanes: size, .. }
            | Instruction::Persistent(size)
            | Instruction::MinBlocks(size) => vec![size],
            Instruction::Rasterize { tile, .. } => tile.iter().collect(),
            Instruction::StreamK { shares, waves, .. } => vec![shares, waves],
            _ => Vec::new(),
        }
    }

    /// The variables that it declares.
    pub fn variables(&self) -> Vec<&Name> {
        match self {
            Instruction::SampleTiles(axes) => axes.iter().flat_map(|axis| &axis.factors).map(|f| &f.var).collect(),
            Instruction::SampleCategorical { into, .. } | Instruction::SampleComputeLocation { into, .. } => vec![into],
            _ => Vec::new(),
        }
    }
}

impl Display for Instruction {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Instruction::SampleTiles(_) => {
                let vars: Vec<&str> = self.variables().into_iter().map(|var| &**var).collect();
                write!(f, "{} = sample_target_constrained_tiles()", vars.join(", "))
            }
            Instruction::SampleCategorical { into, candidates, .. } => {
                let candidates: Vec<String> = candidates.iter().map(i64::to_string).collect();
                write!(f, "{into} = sample_categorical({})", candidates.join(", "))
            }
            Instruction::SampleComputeLocation { into, candidates } => {
                write!(f, "{into} = sample_compute_location({})", candidates.join(", "))
            }
            Instruction::AddUnitLoop(into) => write!(f, "{into} = add_unit_loop()"),
            Instruction::Parameter { into, value } => write!(f, "{into} = parameter({value})"),
            Instruction::Split { parent, factor, tail, into: [outer, inner] } => {
                let tail = match tail {
                    Tail::Pad => "pad",
                    Tail::Clip => "clip",
                };
                write!(f, "{outer}, {inner} = split({parent}, {factor}, {tail})")
            }
            Instruction::SplitInto { parent, ranges, into: [outer, inner] } => {
                write!(f, "{outer}, {inner} = split_into({parent}, {ranges} ranges)")
            }
            Instruction::Reorder(order) => write!(f, "reorder({})", order.join(", ")),
            Instruction::Fuse { loops: [outer, inner], into } => write!(f, "{into} = fuse({outer}, {inner})"),
            Instruction::Rasterize { name, tile: [rows, columns] } => {
                write!(f, "rasterize({name}, {rows} x {columns})")
            }
            Instruction::Kind(ForKind::Serial, name) => write!(f, "serial({name})"),
            Instruction::Kind(ForKind::Parallel, name) => write!(f, "parallel({name})"),
            Instruction::Kind(ForKind::Vectorized, name) => write!(f, "vectorize({name})"),
            Instruction::Kind(ForKind::Unrolled, name) => write!(f, "unroll({name})"),
            Instruction::Kind(ForKind::BlockIdx, name) => write!(f, "bind({name}, blockIdx.x)"),
            Instruction::Kind(ForKind::ThreadIdx, name) => write!(f, "bind({name}, threadIdx.x)"),
            Instruction::Kind(ForKind::VThread, name) => write!(f, "vthread({name})"),
            Instruction::Partition { name, halvings } => write!(f, "partition({name}, {halvings})"),
            Instruction::Prefetch { buffer, at, ahead } => write!(f, "prefetch({buffer}, {at}, {ahead})"),
            Instruction::CacheRead { buffer, staging, into } => {
                write!(f, "{} = cache_read({buffer}, {staging})", into.join(", "))
            }
            Instruction::CacheWrite(into) => write!(f, "{into} = cache_write()"),
            Instruction::ComputeAt { stage, at: Place::Loop(at) | Place::Sampled(at) } => {
                write!(f, "compute_at({stage}, {at})")
            }
            Instruction::ComputeAt { stage, at: Place::Root } => write!(f, "compute_at({stage})"),
            Instruction::StorageAlign { stage, pad } => write!(f, "storage_align({stage}, {pad})"),
            Instruction::DecomposeReduction => write!(f, "decompose_reduction()"),
            Instruction::Pipeline(Pipeline::Registers) => write!(f, "pipeline(registers)"),
            Instruction::Pipeline(Pipeline::Async(stages)) => write!(f, "pipeline(async, {stages})"),
            Instruction::Pipeline(Pipeline::Panels) => write!(f, "pipeline(panels)"),
            Instruction::BufferFragments(sets) => write!(f, "buffer_fragments({sets})"),
            Instruction::Tensorize(Unit::Matrix(MatrixUnit::Half)) => write!(f, "tensorize(m16n8k16)"),
            Instruction::Tensorize(Unit::Matrix(MatrixUnit::Tf32)) => write!(f, "tensorize(m16n8k8, tf32)"),
            Instruction::Tensorize(Unit::Matrix(MatrixUnit::Tf32x3)) => write!(f, "tensorize(m16n8k8, 3 x tf32)"),
            Instruction::Tensorize(Unit::Dot(dot)) => write!(f, "tensorize({})", dot.row().name),
            Instruction::Rfactor(Combine::Workspace) => write!(f, "rfactor(workspace)"),
            Instruction::Rfactor(Combine::Atomic) => write!(f, "rfactor(atomic)"),
            Instruction::StreamK { loops: [tile, step], shares, waves, into } => {
                write!(f, "{} = stream_k({tile}, {step}, {shares} shares, {waves} waves)", into.join(", "))
            }
            Instruction::VectorizeStore(lanes) => write!(f, "vectorize_store({lanes})"),
            Instruction::StageStore(pad) => write!(f, "stage_store({pad})"),
            Instruction::VectorizeFetch { stage, lanes } => write!(f, "vectorize_fetch({stage}, {lanes})"),
            Instruction::Persistent(is) => write!(f, "persistent({is})"),
            Instruction::MinBlocks(blocks) => write!(f, "min_blocks({blocks})"),
            Instruction::EnterPostproc => write!(f, "enter_postproc()"),
        }
    }
}

impl Display for Staging {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Staging::Always => f.write_str("always"),
            Staging::Edge => f.write_str("edge"),
            Staging::Registers(1) => f.write_str("registers"),
            Staging::Registers(vector) => write!(f, "registers, vector {vector}"),
            Staging::Shared(SharedTile { vector, pad, swizzle, reduce_outside }) => {
                let swizzle = if *swizzle == 0 { String::new() } else { format!(", swizzle {swizzle}") };
                let layout = if *reduce_outside { ", reduce_outside" } else { "" };
                write!(f, "shared, vector {vector}, pad {pad}{swizzle}{layout}")
            }
        }
    }
}
