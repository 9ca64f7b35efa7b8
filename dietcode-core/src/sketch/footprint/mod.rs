//! The symbolic footprint of a sketch, as limits see it: which variables it has, and how the iterations of its loops and the places
//! of its stages follow from them. With values of the variables it is an [`Assignment`], which has the numbers.
//!
//! ```text
//! i_block, i_register = sample…           vars     i_block, i_register
//! i_0, i_t = split(i, i_register, pad)    chain    [i_0] = ⌈[i] / i_register⌉, [i_t] = i_register
//! reorder(…); x_panel = cache_read(x)     loops    i_0, …, i_t with their kinds
//! compute_at(x_panel, k_0)                stages   x_panel: what it reads, how deep it stands
//! ```
//!
//! What the primitives do is not repeated here: the sketch is replayed once with its least decisions, and the schedule
//! has the loops in their order, their kinds and roots. Only numbers change with the decisions, and those the chain computes.

mod assignment;
mod variable;

use dietcode_syntax::Role;

pub(crate) use assignment::{Assignment, aligned};
pub(crate) use variable::{Domain, Product, SampledAxis, Var};
#[cfg(feature = "tuner")]
pub(crate) use variable::{LANES, divisors};

use self::variable::{tile_of, variables};
use crate::Result;
use crate::ir::{Affine, Block, DType, Expr, ForKind, Name, Program, affine};
use crate::machine::Target;
use crate::machine::cuda::DeviceLimits;
use crate::schedule::{
    CacheRead, Instruction, Level, MatrixUnit, Pipeline, Place, Relation, Schedule, Size, Staging, Tail, Trace,
};
use crate::sketch::Bounds;
use crate::sketch::reads::gathered;

/// What one split or fusion does to numbers of iterations, by the slots that hold them.
#[derive(Debug)]
pub(crate) enum Link {
    /// The outer loop has what the factor leaves; a clipped inner one no more iterations than its parent.
    Split { parent: usize, outer: usize, inner: usize, factor: Product, clip: bool },
    /// Ranges of equal length.
    SplitInto { parent: usize, outer: usize, inner: usize, ranges: Product },
    /// All pairs.
    Fuse { outer: usize, inner: usize, fused: usize },
    /// A block has as many steps of a tile as there are, at the most.
    Stream { step: usize, own: usize },
}

/// A loop of the schedule, outermost first.
#[derive(Debug)]
pub(crate) struct FootprintLoop {
    pub(crate) slot: usize,
    pub(crate) kind: ForKind,
    pub(crate) role: Role,
    /// The iteration variables that it is a part of.
    pub(crate) roots: Vec<usize>,
}

/// How many loops stand around a stage.
#[derive(Debug)]
pub(crate) enum Depth {
    /// So many.
    Fixed(usize),
    /// As the variable says.
    Sampled { var: usize, depths: Vec<usize> },
}

/// A staged copy.
#[derive(Debug)]
pub(crate) struct Stage {
    pub(crate) staging: Staging,
    pub(crate) read: Read,
    pub(crate) depth: Depth,
    /// Elements between a panel's runs, or behind the rows of a tile in shared memory.
    pub(crate) pad: Product,
}

/// A read of the accumulating part.
#[derive(Debug)]
pub(crate) struct Read {
    pub(crate) buffer: Name,
    pub(crate) dtype: DType,
    /// The iteration variables over which it moves, in the order in which neighbours lie in memory, those of sums first of two in
    /// the same dimension; and their roles.
    pub(crate) roots: Vec<(usize, Role)>,
    /// For each dimension of the tensor the coefficients of iteration variables; none: not affine.
    pub(crate) index: Option<Vec<Vec<(usize, i64)>>>,
}

/// Sums that are stored through shared memory.
#[derive(Debug)]
pub(crate) struct StagedStore {
    /// The iteration variables that the output has, and the one along its rows.
    pub(crate) spatial: Vec<usize>,
    pub(crate) row: usize,
    /// Elements behind each row.
    pub(crate) pad: Product,
}

/// What limits are measured on.
#[derive(Debug)]
pub(crate) struct Footprint {
    pub(crate) sketch: Trace,
    pub(crate) vars: Vec<Var>,
    pub(crate) axes: Vec<SampledAxis>,
    /// Iterations of the iteration variables; [`UNBOUNDED`] where a shape variable decides.
    pub(crate) start: Vec<i64>,
    pub(crate) chain: Vec<Link>,
    pub(crate) loops: Vec<FootprintLoop>,
    pub(crate) stages: Vec<Stage>,
    pub(crate) reads: Vec<Read>,
    /// Where the accumulators stand; none: nothing is summed.
    pub(crate) tile: Option<Depth>,
    /// How long each spatial axis becomes, 1 where that is not known, and how much of it is a block's.
    pub(crate) grid: Vec<(i64, Product)>,
    pub(crate) pipeline: Option<Pipeline>,
    /// How many sets of registers hold what a thread multiplies.
    pub(crate) fragment_sets: Product,
    /// How many operands of the innermost statement are taken element by element, [`gathered`].
    pub(crate) gathered: i64,
    /// The type that is computed in.
    pub(crate) computes: DType,
    /// What it is for, if that is a GPU.
    pub(crate) device: Option<DeviceLimits>,
    /// How many accumulators a register holds.
    pub(crate) lanes_of_register: i64,
    /// How many neighbours a thread stores at once.
    pub(crate) store_lanes: Product,
    /// How many vectors a thread has while it stores one: that, and what the epilogue reads.
    pub(crate) store_vectors: i64,
    /// The sums that are stored through shared memory, if they are.
    pub(crate) staged_store: Option<StagedStore>,
    /// Blocks that a multiprocessor shall hold.
    pub(crate) min_blocks: Product,
    /// Places for parts of tiles of whose steps blocks have shares.
    pub(crate) places: Product,
    /// Whether sums that wait for the next block of a reduction do so in a panel.
    pub(crate) sums_in_panel: bool,
    /// Whether panels hold elements as they are in their tensors.
    pub(crate) packs_as_is: bool,
    /// The tensor of which there are sums for zeros in place of an operand that an instruction shifts.
    pub(crate) beside_shifted: Option<Name>,
    /// In how many parts a matrix unit takes its operands.
    pub(crate) parts: i64,
}

/// As many iterations as a shape says.
pub(crate) const UNBOUNDED: i64 = i64::MAX;

impl Footprint {
    /// Reads a sketch.
    ///
    /// # Errors
    /// A sketch that does not replay with its least decisions, or one with an axis whose extents are not known.
    pub(crate) fn of(program: &Program, bounds: &Bounds, sketch: &Trace) -> Result<Footprint> {
        let (vars, axes) = variables(sketch, &bounds.extents)?;
        let least = vars.iter().map(|var| (var.name.clone(), var.least())).collect();
        let block = &program.blocks[0];
        let schedule = sketch.with(least).replay(program, block)?;
        let reader = Reader { sketch, vars: &vars, schedule: &schedule, slots: slots(&schedule) };
        let (start, chain) = (reader.start(), reader.chain());
        let (loops, stages, reads) = (reader.loops(), reader.stages(), reader.reads());
        let tile = block.reduction.is_some().then(|| reader.tile());
        let (pipeline, sums_in_panel) = (schedule.pipeline, sums_wait_in_panel(program, block));
        let (store_lanes, min_blocks, grid) = (reader.store_lanes(), reader.min_blocks(), reader.grid(bounds));
        let (staged_store, places, fragment_sets) = (reader.staged_store(), reader.places(), reader.fragment_sets());
        let parts = schedule.matrix_unit.map_or(1, MatrixUnit::parts);
        let computes = program.computes_in();
        let lanes_of_register = match &bounds.target {
            Target::Cpu(target) => target.lanes(computes).max(1),
            Target::Cuda(_) => 1,
        };
        let sketch = Trace::new(sketch.instructions.clone());
        Ok(Footprint {
            sketch,
            vars,
            axes,
            start,
            chain,
            loops,
            stages,
            reads,
            tile,
            grid,
            pipeline,
            fragment_sets,
            gathered: gathered(&schedule),
            computes,
            device: bounds.target.cuda().copied(),
            lanes_of_register,
            store_lanes,
            store_vectors: 1 + block.final_reads().len() as i64,
            staged_store,
            min_blocks,
            places,
            sums_in_panel,
            packs_as_is: schedule.dot.is_some(),
            beside_shifted: schedule.beside_shifted(),
            parts,
        })
    }
}

impl Footprint {
    /// The factors of a level.
    pub(crate) fn of_level(&self, level: Level) -> impl Iterator<Item = usize> {
        (0..self.vars.len()).filter(move |var| self.vars[*var].level() == Some(level))
    }

    /// The axis of a factor; what is none has none, and gets a number that no axis has.
    pub(crate) fn axis_of(&self, var: usize) -> usize {
        match self.vars[var].domain {
            Domain::Factor { axis, .. } => axis,
            _ => self.axes.len(),
        }
    }
}

/// The names whose iterations are numbers: iteration variables first, then what the chain makes.
fn slots(schedule: &Schedule) -> Vec<Name> {
    let made = schedule.relations.iter().flat_map(|relation| match relation {
        Relation::Split { outer, inner, .. } => vec![outer.clone(), inner.clone()],
        Relation::Fuse { fused, .. } => vec![fused.clone()],
        Relation::Stream(stream) => stream.loops().into_iter().cloned().collect(),
    });
    schedule.block.iters.iter().map(|iter| iter.name.clone()).chain(made).collect()
}

/// Whether the output cannot hold sums that wait: its elements are too short, or the epilogue reads what it held before.
fn sums_wait_in_panel(program: &Program, block: &Block) -> bool {
    let mut read = false;
    block.epilogue.visit(&mut |e| read |= matches!(e, Expr::Load(buffer, _) if *buffer == block.output));
    read || block.output.dtype != program.sums_in()
}

struct Reader<'a> {
    sketch: &'a Trace,
    vars: &'a [Var],
    schedule: &'a Schedule,
    slots: Vec<Name>,
}

impl Reader<'_> {
    fn slot(&self, name: &str) -> usize {
        // A name that is used again is that of the last loop that got it.
        self.slots.iter().rposition(|slot| **slot == *name).expect("loops are iteration variables or made by the chain")
    }

    fn var(&self, name: &str) -> Option<usize> {
        self.vars.iter().position(|var| *var.name == *name)
    }

    fn product(&self, size: &Size) -> Product {
        Product::of(size, self.vars)
    }

    fn start(&self) -> Vec<i64> {
        self.schedule.block.iters.iter().map(|iter| iter.extent.as_int().unwrap_or(UNBOUNDED)).collect()
    }

    fn chain(&self) -> Vec<Link> {
        let link = |relation: &Relation| match relation {
            Relation::Split { parent, outer, inner, .. } => self.split(parent, outer, inner),
            Relation::Fuse { fused, outer, inner, .. } => {
                let [outer, inner, fused] = [outer, inner, fused].map(|name| self.slot(name));
                Link::Fuse { outer, inner, fused }
            }
            Relation::Stream(stream) => {
                let own = stream.innermost(&stream.step).expect("a sketch is of the kernel that sums");
                let [step, own] = [&stream.step, own].map(|name| self.slot(name));
                Link::Stream { step, own }
            }
        };
        self.schedule.relations.iter().map(link).collect()
    }

    /// What the instruction does that made two loops.
    fn split(&self, parent: &Name, outer: &Name, inner: &Name) -> Link {
        let made = [outer.clone(), inner.clone()];
        let [parent, outer, inner] = [parent, outer, inner].map(|name| self.slot(name));
        let found = self.sketch.instructions.iter().find_map(|instruction| match instruction {
            Instruction::Split { factor, tail, into, .. } if *into == made => {
                let (factor, clip) = (self.product(factor), *tail == Tail::Clip);
                Some(Link::Split { parent, outer, inner, factor, clip })
            }
            Instruction::SplitInto { ranges, into, .. } if *into == made => {
                Some(Link::SplitInto { parent, outer, inner, ranges: self.product(ranges) })
            }
            _ => None,
        });
        found.expect("a relation is that of an instruction")
    }

    fn loops(&self) -> Vec<FootprintLoop> {
        let of = |l: &crate::schedule::Loop| FootprintLoop {
            slot: self.slot(&l.name),
            kind: l.kind,
            role: l.role,
            roots: self.schedule.roots(&l.name).iter().map(|root| self.slot(root)).collect(),
        };
        self.schedule.loops.iter().map(of).collect()
    }

    fn stages(&self) -> Vec<Stage> {
        let of = |read: &CacheRead| Stage {
            staging: read.staging,
            read: self.read(&read.buffer, &read.index),
            depth: self.depth(&read.name, read.depth.unwrap_or(self.schedule.loops.len())),
            pad: self.pad(read),
        };
        self.schedule.cache_reads.iter().map(of).collect()
    }

    fn reads(&self) -> Vec<Read> {
        let reads = self.schedule.block.update_reads();
        reads.iter().map(|(buffer, index)| self.read(&buffer.name, index)).collect()
    }

    fn tile(&self) -> Depth {
        let depth = self.schedule.tile_depth();
        self.schedule.cache_write.as_ref().map_or(Depth::Fixed(depth), |tile| self.depth(&tile.name, depth))
    }

    fn grid(&self, bounds: &Bounds) -> Vec<(i64, Product)> {
        let along = |axis: &Name| {
            let most = bounds.extents.get(axis).and_then(|extents| extents.last()).copied();
            (most.unwrap_or(1), tile_of(self.sketch, self.vars, axis))
        };
        self.schedule.block.iters_of(Role::Spatial).map(|iter| along(&iter.name)).collect()
    }

    /// Where a stage stands: in the schedule as replayed, or where a variable says.
    fn depth(&self, stage: &str, replayed: usize) -> Depth {
        let sampled = self.sketch.instructions.iter().find_map(|instruction| match instruction {
            Instruction::ComputeAt { stage: of, at: Place::Sampled(var) } if **of == *stage => Some(var),
            _ => None,
        });
        let candidates = sampled.and_then(|var| {
            let places = self.sketch.instructions.iter().find_map(|instruction| match instruction {
                Instruction::SampleComputeLocation { into, candidates } if into == var => Some(candidates),
                _ => None,
            })?;
            Some((self.var(var)?, places))
        });
        match candidates {
            Some((var, places)) => {
                let depth =
                    |name: &Name| self.schedule.loops.iter().position(|l| l.name == *name).map_or(0, |at| at + 1);
                Depth::Sampled { var, depths: places.iter().map(depth).collect() }
            }
            None => Depth::Fixed(replayed),
        }
    }

    /// The size that an instruction says, if there is one, or else this.
    fn said<'a>(&'a self, of: impl Fn(&'a Instruction) -> Option<&'a Size>, absent: i64) -> Product {
        let size = self.sketch.instructions.iter().find_map(of);
        size.map_or(Product { constant: absent, vars: Vec::new() }, |size| self.product(size))
    }

    fn store_lanes(&self) -> Product {
        self.said(
            |instruction| if let Instruction::VectorizeStore(lanes) = instruction { Some(lanes) } else { None },
            1,
        )
    }

    fn fragment_sets(&self) -> Product {
        self.said(|instruction| if let Instruction::BufferFragments(sets) = instruction { Some(sets) } else { None }, 1)
    }

    fn staged_store(&self) -> Option<StagedStore> {
        let pad = self.sketch.instructions.iter().find_map(|instruction| match instruction {
            Instruction::StageStore(pad) => Some(self.product(pad)),
            _ => None,
        })?;
        let block = &self.schedule.block;
        let spatial = block.iters_of(Role::Spatial).map(|iter| self.slot(&iter.name)).collect();
        Some(StagedStore { spatial, row: self.slot(block.contiguous()?), pad })
    }

    fn min_blocks(&self) -> Product {
        self.said(|instruction| if let Instruction::MinBlocks(blocks) = instruction { Some(blocks) } else { None }, 1)
    }

    fn places(&self) -> Product {
        let shares = self.said(
            |instruction| if let Instruction::StreamK { shares, .. } = instruction { Some(shares) } else { None },
            0,
        );
        Product { constant: 2 * shares.constant, ..shares }
    }

    fn pad(&self, read: &CacheRead) -> Product {
        let own = if let Staging::Shared(tile) = read.staging { tile.pad } else { 0 };
        self.said(
            |instruction| match instruction {
                Instruction::StorageAlign { stage, pad } if *stage == read.name => Some(pad),
                _ => None,
            },
            own,
        )
    }

    fn read(&self, buffer: &Name, index: &[Expr]) -> Read {
        let params = &self.schedule.program.params;
        let dtype = params
            .iter()
            .find(|param| param.name == *buffer)
            .map_or_else(|| self.schedule.program.computes_in(), |param| param.dtype);
        let moves = self.schedule.block.iters.iter().filter(|iter| index.iter().any(|e| e.uses(&iter.name)));
        let mut iters: Vec<_> = moves.collect();
        iters.sort_by_key(|iter| (index.iter().rposition(|e| e.uses(&iter.name)), iter.role == Role::Spatial));
        let roots = iters.iter().map(|iter| (self.slot(&iter.name), iter.role)).collect();
        let forms: Option<Vec<Affine>> = index.iter().map(affine).collect();
        let along = |form: &Affine| {
            iters
                .iter()
                .map(|iter| (self.slot(&iter.name), form.coefficient(&iter.name)))
                .filter(|(_, c)| *c != 0)
                .collect()
        };
        let index = forms.map(|forms| forms.iter().map(along).collect());
        Read { buffer: buffer.clone(), dtype, roots, index }
    }
}
