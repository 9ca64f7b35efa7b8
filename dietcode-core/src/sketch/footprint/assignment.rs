//! The numbers that follow from values of a sketch's variables: iterations of loops, elements of copies.
//!
//! They are those that lowering comes to, without lowering: panels span loops, tiles in shared memory are boxes of iteration
//! variables (`lower/nest/stage.rs`, `lower/nest/shared.rs`), so that a sliding window counts as often as it is copied.

use dietcode_syntax::Role;

use super::variable::Product;
use super::{Depth, Footprint, FootprintLoop, Link, Read, Stage, UNBOUNDED};
use crate::ir::ForKind;
use crate::schedule::{Pipeline, Staging};

/// Values of a sketch's variables, with the iterations of its loops.
pub(crate) struct Assignment<'a> {
    pub(crate) footprint: &'a Footprint,
    pub(crate) values: &'a [i64],
    /// Iterations by slot.
    iterations: Vec<i64>,
}

/// Bytes of a cache line, to which copies are aligned.
const ALIGNMENT: i64 = 64;

impl<'a> Assignment<'a> {
    pub(crate) fn new(footprint: &'a Footprint, values: &'a [i64]) -> Assignment<'a> {
        let made = footprint.chain.iter().map(|link| match link {
            Link::Split { .. } | Link::SplitInto { .. } => 2,
            Link::Fuse { .. } => 1,
            Link::Stream { .. } => 3,
        });
        let mut iterations = footprint.start.clone();
        iterations.resize(footprint.start.len() + made.sum::<usize>(), 1);
        let mut assignment = Assignment { footprint, values, iterations };
        footprint.chain.iter().for_each(|link| assignment.follow(link));
        assignment
    }

    fn follow(&mut self, link: &Link) {
        match link {
            Link::Split { parent, outer, inner, factor, clip } => {
                let (whole, factor) = (self.iterations[*parent], self.size(factor));
                self.iterations[*outer] = in_steps(whole, factor);
                self.iterations[*inner] = if *clip { whole.min(factor) } else { factor };
            }
            Link::SplitInto { parent, outer, inner, ranges } => {
                let (whole, ranges) = (self.iterations[*parent], self.size(ranges));
                self.iterations[*outer] = ranges;
                self.iterations[*inner] = in_steps(whole, ranges);
            }
            Link::Fuse { outer, inner, fused } => {
                self.iterations[*fused] = self.iterations[*outer].saturating_mul(self.iterations[*inner]);
            }
            Link::Stream { step, own } => self.iterations[*own] = self.iterations[*step],
        }
    }

    /// The value of a product.
    pub(crate) fn size(&self, product: &Product) -> i64 {
        product.value(self.values)
    }

    /// How many loops stand around a stage.
    pub(crate) fn depth(&self, depth: &Depth) -> usize {
        match depth {
            Depth::Fixed(depth) => *depth,
            Depth::Sampled { var, depths } => {
                usize::try_from(self.values[*var]).ok().and_then(|at| depths.get(at)).copied().unwrap_or(0)
            }
        }
    }

    /// How many loops stand around the accumulators.
    pub(crate) fn tile_depth(&self) -> usize {
        self.footprint.tile.as_ref().map_or(self.footprint.loops.len(), |tile| self.depth(tile))
    }

    /// The iterations of the loops of some kinds together.
    pub(crate) fn of_kinds(&self, kinds: &[ForKind]) -> i64 {
        let loops = self.footprint.loops.iter().filter(|l| kinds.contains(&l.kind));
        loops.fold(1, |all, l| all.saturating_mul(self.iterations[l.slot]))
    }

    /// The iterations of the longest loop of a kind.
    pub(crate) fn longest(&self, kind: ForKind) -> i64 {
        let loops = self.footprint.loops.iter().filter(|l| l.kind == kind);
        loops.map(|l| self.iterations[l.slot]).max().unwrap_or(1)
    }

    /// Threads of a block.
    pub(crate) fn threads(&self) -> i64 {
        self.of_kinds(&[ForKind::ThreadIdx])
    }

    /// Threads of a block that share a sum.
    pub(crate) fn threads_of_a_sum(&self) -> i64 {
        let loops = self.footprint.loops.iter().filter(|l| l.kind == ForKind::ThreadIdx && l.role == Role::Reduce);
        loops.fold(1, |all, l| all.saturating_mul(self.iterations[l.slot]))
    }

    /// The elements of a thread's tile of accumulators that are unrolled, vectors counted by the registers that they take.
    pub(crate) fn accumulators(&self) -> i64 {
        let lanes_of_register = self.footprint.lanes_of_register;
        let Some(tile) = &self.footprint.tile else { return 0 };
        let loops = &self.footprint.loops;
        // Where lanes share a sum, they have accumulators of their own, as what is unrolled has.
        let shared = loops.iter().any(|l| l.kind == ForKind::Vectorized && l.role == Role::Reduce);
        let of_sum = |l: &FootprintLoop| shared && matches!(l.kind, ForKind::Vectorized | ForKind::Unrolled);
        let loops = loops.iter().skip(self.depth(tile)).filter(|l| l.role == Role::Spatial || of_sum(l));
        loops.fold(1, |all, l| {
            let count = self.iterations[l.slot];
            let vector = l.kind == ForKind::Vectorized;
            all.saturating_mul(if vector {
                count.saturating_add(lanes_of_register - 1) / lanes_of_register
            } else {
                count
            })
        })
    }

    /// The elements that the loops inside of a depth run over along which a read moves.
    pub(crate) fn spanned(&self, read: &Read, depth: usize) -> Vec<i64> {
        let moves = |roots: &[usize]| roots.iter().any(|root| read.roots.iter().any(|(moved, _)| moved == root));
        let loops = self.footprint.loops.iter().skip(depth).filter(|l| moves(&l.roots));
        loops.map(|l| self.iterations[l.slot]).collect()
    }

    /// The elements of a tile in shared memory that a thread reads in a step: those of the loops inside of the ones over steps.
    pub(crate) fn read_in_step(&self, stage: &Stage) -> i64 {
        let depth = self.depth(&stage.depth);
        let steps = self.footprint.loops.iter().skip(depth).take_while(|l| l.role == Role::Reduce).count();
        self.spanned(&stage.read, depth + steps).into_iter().fold(1, i64::saturating_mul)
    }

    /// For each slot how many values it takes inside of a depth; the threads of a block are, wherever their loops stand.
    pub(crate) fn inside(&self, depth: usize, with_threads: bool) -> Vec<i64> {
        let mut inside = vec![1; self.iterations.len()];
        for (at, l) in self.footprint.loops.iter().enumerate() {
            if at >= depth || (with_threads && l.kind == ForKind::ThreadIdx) {
                inside[l.slot] = self.iterations[l.slot];
            }
        }
        for link in self.footprint.chain.iter().rev() {
            match link {
                Link::Split { parent, outer, inner, factor, .. } => {
                    let steps = (inside[*outer] - 1).saturating_mul(self.size(factor));
                    inside[*parent] = steps.saturating_add(inside[*inner]);
                }
                Link::SplitInto { parent, outer, inner, .. } => {
                    let steps = (inside[*outer] - 1).saturating_mul(self.iterations[*inner]);
                    inside[*parent] = steps.saturating_add(inside[*inner]);
                }
                Link::Fuse { outer, inner, fused } if inside[*fused] > 1 => {
                    [outer, inner].into_iter().for_each(|part| inside[*part] = self.iterations[*part]);
                }
                Link::Fuse { .. } => {}
                Link::Stream { step, own } => inside[*step] = inside[*own],
            }
        }
        inside
    }

    /// Elements of a tile in shared memory: rows along the last dimension that it extends over, with what follows each.
    pub(crate) fn shared_elements(&self, stage: &Stage, pad: i64, reduce_outside: bool) -> i64 {
        let inside = self.inside(self.depth(&stage.depth), true);
        let mut roots: Vec<_> = stage.read.roots.iter().filter(|(root, _)| inside[*root] > 1).collect();
        if reduce_outside {
            roots.sort_by_key(|(_, role)| *role == Role::Spatial);
        }
        let Some(((row, _), rows)) = roots.split_last() else { return 1 };
        let rows = rows.iter().fold(1i64, |all, (root, _)| all.saturating_mul(inside[*root]));
        rows.saturating_mul(inside[*row].saturating_add(pad))
    }

    /// Elements of the sums that lie in shared memory at the same time on their way to the output: the iterations of a thread's
    /// outermost loop that is not along the rows follow each other.
    pub(crate) fn staged_elements(&self) -> i64 {
        let Some(staged) = &self.footprint.staged_store else { return 0 };
        let depth = self.tile_depth();
        let inside = self.inside(depth, true);
        let mut of_thread = self.footprint.loops.iter().skip(depth).filter(|l| l.role == Role::Spatial);
        let is_part = |l: &&FootprintLoop| !l.roots.contains(&staged.row) && self.iterations[l.slot] > 1;
        let part = of_thread.find(is_part).map_or(1, |l| self.iterations[l.slot]);
        let rows = staged.spatial.iter().filter(|slot| **slot != staged.row);
        let rows = rows.fold(1i64, |all, slot| all.saturating_mul(inside[*slot])).saturating_add(part - 1) / part;
        rows.saturating_mul(inside[staged.row].saturating_add(self.size(&staged.pad)))
    }

    /// Bytes of a CPU's scratch memory that a copy takes.
    pub(crate) fn panel_bytes(&self, stage: &Stage) -> i64 {
        let dims = self.spanned(&stage.read, self.depth(&stage.depth));
        // Most loops of one iteration go before a panel has dimensions; which do, decides between what its padding lies.
        let fewer: Vec<i64> = dims.iter().copied().filter(|dim| *dim != 1).collect();
        let pad = if self.footprint.packs_as_is && dims.len() < 3 { 0 } else { self.size(&stage.pad) };
        let elements = set_apart(dims, pad).max(set_apart(fewer, pad));
        let doubled = self.footprint.pipeline == Some(Pipeline::Panels) && stage.staging == Staging::Always;
        let is_panel = stage.staging == Staging::Always;
        let bytes = if is_panel { self.panel_element(&stage.read) } else { stage.read.dtype.bytes() };
        aligned(elements.saturating_mul(if doubled { 2 * bytes } else { bytes }))
    }

    /// The loops over which the sums move that there are of a copy for zeros in place of an operand that is shifted: those of its panel that are
    /// not along the sum where it is used (`lower/passes/shifted.rs`).
    fn sums_for_zeros(&self, stage: &Stage) -> impl Iterator<Item = (usize, &FootprintLoop)> {
        let has_sums = self.footprint.beside_shifted.as_ref() == Some(&stage.read.buffer);
        let (depth, moved) = (self.depth(&stage.depth), &stage.read.roots);
        // A copy in between ends the loops that do nothing but add.
        let copies = self.footprint.stages.iter().map(|stage| self.depth(&stage.depth));
        let used = copies.fold(self.tile_depth(), usize::max);
        let moves = move |l: &FootprintLoop| l.roots.iter().any(|root| moved.iter().any(|(moved, _)| moved == root));
        let loops = self.footprint.loops.iter().enumerate().skip(depth);
        loops.filter(move |(at, l)| has_sums && moves(l) && (l.role == Role::Spatial || *at < used))
    }

    /// Bytes of these.
    pub(crate) fn bytes_for_zeros(&self, stage: &Stage) -> i64 {
        let elements = |all: i64, (_, l): (usize, &FootprintLoop)| all.saturating_mul(self.iterations[l.slot]);
        let halves = if self.footprint.pipeline == Some(Pipeline::Panels) { 2 } else { 1 };
        let mut loops = self.sums_for_zeros(stage).peekable();
        match loops.peek() {
            Some(_) => aligned(loops.fold(halves * self.footprint.computes.bytes(), elements)),
            None => 0,
        }
    }

    /// Registers of those of a panel that is filled while the accumulators are there.
    pub(crate) fn registers_for_zeros(&self) -> i64 {
        let inside = |stage: &&Stage| self.depth(&stage.depth) > self.tile_depth();
        let count = |stage: &Stage| {
            let mut loops = self.sums_for_zeros(stage).filter(|(_, l)| l.role == Role::Spatial).peekable();
            let some = i64::from(loops.peek().is_some());
            loops
                .filter(|(_, l)| l.kind != ForKind::Vectorized)
                .fold(some, |all, (_, l)| all.saturating_mul(self.iterations[l.slot]))
        };
        self.footprint.stages.iter().filter(inside).map(count).fold(0, i64::saturating_add)
    }

    /// Bytes of an element in a panel.
    pub(crate) fn panel_element(&self, read: &Read) -> i64 {
        if self.footprint.packs_as_is { read.dtype.bytes() } else { self.footprint.computes.bytes() }
    }

    /// Bytes of sums that wait in a panel for the next block of a reduction.
    pub(crate) fn waiting_bytes(&self) -> i64 {
        let loops = &self.footprint.loops;
        let waits = |at: &usize| loops[*at].role == Role::Reduce && !loops[*at].kind.is_grid();
        let Some(depth) = (0..self.tile_depth()).find(waits).filter(|_| self.footprint.sums_in_panel) else { return 0 };
        let spatial = loops.iter().skip(depth).filter(|l| l.role == Role::Spatial);
        aligned(spatial.fold(self.footprint.computes.bytes(), |bytes, l| bytes.saturating_mul(self.iterations[l.slot])))
    }

    /// Bytes of a tensor that a register tile reads in place: distinct elements, so that a sliding window counts once.
    pub(crate) fn touched_bytes(&self, read: &Read, inside: &[i64]) -> i64 {
        let span = |form: &Vec<(usize, i64)>| {
            form.iter().fold(1i64, |span, (root, c)| span.saturating_add(c.abs().saturating_mul(inside[*root] - 1)))
        };
        let dims = read.index.iter().flatten().map(span);
        dims.fold(read.dtype.bytes(), i64::saturating_mul)
    }
}

/// How many steps there are of so many iterations.
fn in_steps(whole: i64, step: i64) -> i64 {
    if whole == UNBOUNDED { UNBOUNDED } else { whole.div_euclid(step) + i64::from(whole % step > 0) }
}

/// Elements of a panel whose runs are padded, as `lower` lays it out.
fn set_apart(mut dims: Vec<i64>, pad: i64) -> i64 {
    if pad > 0 && dims.len() > 1 {
        let row = dims[2..].iter().fold(1i64, |row, dim| row.saturating_mul(*dim));
        dims[1] = dims[1].saturating_add((pad - 1) / row + 1);
    }
    dims.into_iter().fold(1, i64::saturating_mul)
}

/// Bytes up to the next line.
pub(crate) fn aligned(bytes: i64) -> i64 {
    bytes.saturating_add(ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT
}
