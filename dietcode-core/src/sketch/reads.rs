//! How a sum reads its inputs, and what follows from that for a CPU's tiles: which axes may be vectors, what may be packed, which tile of a
//! block comes first.

use std::sync::Arc;

use dietcode_syntax::Role;

use crate::ir::{Block, Buffer, Expr, ForKind, Name, Program, coefficient};
use crate::lower::can_be_padded;
use crate::lower::lanes::is_contiguous;
use crate::schedule::{Schedule, Staging};

/// How a sum reads its inputs.
pub(super) struct Reads<'b> {
    program: &'b Program,
    pub(super) block: &'b Block,
    /// Each tensor once, with all its indices.
    tensors: Vec<(Arc<Buffer>, Vec<Vec<Expr>>)>,
}

/// Whether a shape variable is the extent of batches alone, of one at least: calls with other values of it differ in how much there is of the
/// same.
#[cfg(feature = "tuner")]
pub(crate) fn is_of_batches(program: &Program, var: &str) -> bool {
    let axes = program.blocks.iter().flat_map(|block| block.iters.iter().map(move |iter| (block, iter)));
    let mut of_var = axes.filter(|(_, iter)| iter.extent.uses(var)).peekable();
    of_var.peek().is_some()
        && of_var.all(|(block, iter)| iter.role == Role::Spatial && Reads::of(program, block).is_batch(&iter.name))
}

/// How many operands of the innermost statement every lane of a vector takes from, or leaves in, a place of its own: where they lie, they are
/// no neighbours along the vector.
pub(super) fn gathered(schedule: &Schedule) -> i64 {
    let block = &schedule.block;
    let lanes = schedule.loops.iter().filter(|l| l.kind == ForKind::Vectorized);
    let axes: Vec<Name> = lanes.flat_map(|l| schedule.roots(&l.name)).collect();
    let in_panel = |tensor: &Name| {
        let mut panels = schedule.cache_reads.iter().filter(|read| read.staging == Staging::Always);
        schedule.is_prepared(tensor) || panels.any(|read| read.buffer == *tensor)
    };
    let apart = |tensor: &Name, index: &[Expr]| {
        let moves = |axis: &&Name| index.iter().any(|e| e.uses(axis));
        !in_panel(tensor) && axes.iter().filter(moves).any(|axis| !is_contiguous(index, axis))
    };
    let (reads, stored) = match block.reduction {
        Some(_) => (block.update_reads(), false),
        None => (block.final_reads(), apart(&block.output.name, &block.output_index)),
    };
    reads.iter().filter(|(tensor, index)| apart(&tensor.name, index)).count() as i64 + i64::from(stored)
}

impl<'b> Reads<'b> {
    pub(super) fn of(program: &'b Program, block: &'b Block) -> Reads<'b> {
        let mut tensors: Vec<(Arc<Buffer>, Vec<Vec<Expr>>)> = Vec::new();
        for (buffer, index) in block.update_reads() {
            match tensors.iter_mut().find(|(known, _)| *known == buffer) {
                Some((_, indices)) => indices.push(index),
                None => tensors.push((buffer, vec![index])),
            }
        }
        Reads { program, block, tensors }
    }

    /// The tensors.
    pub(super) fn names(&self) -> impl Iterator<Item = &Name> {
        self.tensors.iter().map(|(buffer, _)| &buffer.name)
    }

    /// Whether another place of a tensor is read for another value of an axis.
    pub(super) fn moves(&self, tensor: &Name, axis: &Name) -> bool {
        self.indices(tensor).any(|index| index.iter().any(|e| e.uses(axis)))
    }

    /// Whether neighbours along an axis are read again one step of a sum later: a window without stride or dilation.
    pub(super) fn is_window(&self, tensor: &Name, axis: &Name, sum: &Name) -> bool {
        let again = |e: &Expr| {
            let step = |name| coefficient(e, name).unwrap_or(0).abs();
            step(axis) != 0 && step(axis) == step(sum)
        };
        self.indices(tensor).flatten().any(again)
    }

    /// Whether all inputs move along an axis, so that nothing is used again: a batch.
    pub(super) fn is_batch(&self, axis: &Name) -> bool {
        self.names().all(|tensor| self.moves(tensor, axis))
    }

    /// The innermost of the batches that stand outside of all else and in no tile.
    pub(super) fn batch(&self, is_in_tile: impl Fn(&Name) -> bool) -> Option<&'b Name> {
        self.spatial().take_while(|axis| self.is_batch(axis)).filter(|axis| !is_in_tile(axis)).last()
    }

    pub(super) fn spatial(&self) -> impl Iterator<Item = &'b Name> {
        self.block.iters_of(Role::Spatial).map(|iter| &iter.name)
    }

    fn indices(&self, tensor: &Name) -> impl Iterator<Item = &Vec<Expr>> {
        self.tensors.iter().filter(move |(buffer, _)| buffer.name == *tensor).flat_map(|(_, indices)| indices)
    }

    /// Whether a tensor was laid out before the call.
    pub(super) fn is_prepared(&self, tensor: &Name) -> bool {
        self.program.prepared(tensor).is_some()
    }

    /// Whether masks load the first lanes of vectors of a tensor as they lie.
    pub(super) fn can_be_masked(&self, tensor: &Name) -> bool {
        self.tensors.iter().any(|(buffer, _)| buffer.name == *tensor && buffer.dtype.is_computed_in())
    }

    /// Whether a tensor's neighbours along an axis are neighbours in memory.
    pub(super) fn is_contiguous(&self, tensor: &Name, axis: &Name) -> bool {
        if let Some(prepared) = self.program.prepared(tensor) {
            return *prepared.layout.axis == **axis;
        }
        self.indices(tensor).all(|index| index.is_empty() || is_contiguous(index, axis))
    }

    /// Whether vectors along an axis are read as they lie, or each lane from elsewhere, but once.
    fn serves_in_place(&self, tensor: &Name, axis: &Name) -> bool {
        self.is_contiguous(tensor, axis) || self.spatial().all(|other| self.moves(tensor, other))
    }

    /// Whether lanes may share the sum along an axis: all that moves along it lies contiguous there, and terms behind its end change
    /// nothing.
    pub(super) fn is_shared_by_lanes(&self, axis: &Name) -> bool {
        let mut moving = self.names().filter(|tensor| self.moves(tensor, axis)).peekable();
        let moves = moving.peek().is_some();
        moves && moving.all(|tensor| self.is_contiguous(tensor, axis)) && can_be_padded(self.block, axis)
    }

    /// How often an element of the input that is used the least is used where spatial axes have these extents.
    pub(super) fn fewest_uses(&self, extent: impl Fn(&Name) -> i64) -> i64 {
        let uses = |tensor: &Name| {
            let still = self.spatial().filter(|axis| !self.moves(tensor, axis));
            still.map(&extent).fold(1, i64::saturating_mul)
        };
        self.names().map(uses).min().unwrap_or(1)
    }

    /// The axes for vectors: the one along which the output is contiguous, and others along which only inputs move that stay
    /// the same along that one.
    pub(super) fn vectors(&self) -> Vec<Option<Name>> {
        let Some(contiguous) = self.block.contiguous().or_else(|| self.spatial().last()) else { return vec![None] };
        let across = |axis: &&Name| {
            let own = |tensor: &&Name| self.moves(tensor, axis);
            *axis != contiguous
                && self.names().any(|t| own(&t))
                && self.names().filter(own).all(|t| !self.moves(t, contiguous))
        };
        std::iter::once(contiguous).chain(self.spatial().filter(across)).cloned().map(Some).collect()
    }

    /// What is worth a panel: what vectors are made of; each of two such inputs alone, or none, if the others serve in place; then also
    /// the others alone, whose elements all lanes share; and all inputs, but for those that lie in panels already.
    pub(super) fn packed(&self, vector: Option<&Name>) -> Vec<Vec<Name>> {
        let all: Vec<Name> = self.names().filter(|tensor| !self.is_prepared(tensor)).cloned().collect();
        let Some(vector) = vector else { return distinct(vec![Vec::new(), all]) };
        let (along, others): (Vec<Name>, Vec<Name>) =
            all.iter().cloned().partition(|tensor| self.moves(tensor, vector));
        let alone =
            if along.len() == 2 { along.iter().map(|tensor| vec![tensor.clone()]).collect() } else { Vec::new() };
        let sets = [vec![Vec::new()], alone, vec![others]]
            .concat()
            .into_iter()
            .filter(|set| along.iter().all(|tensor| set.contains(tensor) || self.serves_in_place(tensor, vector)));
        distinct(sets.chain([along.clone(), all]).collect())
    }

    /// Whether vectors along an axis can do with no more copies than these.
    pub(super) fn packs_least(&self, vector: Option<&Name>, packed: &[Name]) -> bool {
        self.packed(vector).first().is_some_and(|least| least == packed)
    }

    /// Batches outermost; of the others, each once innermost, where the panel is that is read again first.
    pub(super) fn orders(&self) -> Vec<Vec<Name>> {
        let (batch, used): (Vec<&Name>, Vec<&Name>) = self.spatial().partition(|axis| self.is_batch(axis));
        let ending = |last: &Name| {
            let others = used.iter().filter(|axis| ***axis != *last);
            batch.iter().chain(others).copied().chain([last]).cloned().collect()
        };
        let orders: Vec<Vec<Name>> = used.iter().rev().map(|last| ending(last)).collect();
        if orders.is_empty() { vec![batch.into_iter().cloned().collect()] } else { orders }
    }
}

/// Each once.
fn distinct(sets: Vec<Vec<Name>>) -> Vec<Vec<Name>> {
    let mut seen: Vec<Vec<Name>> = Vec::new();
    for set in sets {
        if !seen.contains(&set) {
            seen.push(set);
        }
    }
    seen
}
