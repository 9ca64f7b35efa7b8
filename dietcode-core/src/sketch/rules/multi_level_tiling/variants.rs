//! Which structures of a CPU's tiles a sum has: where vectors lie, what is packed, which tile of a block comes first, which instruction sums.

use std::sync::Arc;

use dietcode_syntax::Role;

use crate::ir::{Block, Buffer, Dot, Expr, Name, Program, affine};
use crate::lower::can_be_padded;
use crate::machine::CpuTarget;
use crate::sketch::dot::Products;

/// One structure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Variant {
    /// The axis along which vectors lie, one of a sum if their lanes share it; none: scalar code.
    pub(super) vector: Option<Name>,
    /// The tensors that are packed into panels.
    pub(super) packed: Vec<Name>,
    /// The spatial axes in the order of the register tiles of a block, outermost first.
    pub(super) order: Vec<Name>,
    /// Whether there are two of each panel.
    pub(super) doubled: bool,
    /// The instruction that takes several steps of the sum at once, and the axis of these.
    pub(super) dot: Option<(Dot, Name)>,
}

impl Variant {
    /// Whether the lanes of a vector share the sum.
    pub(super) fn shares_sum(&self, block: &Block) -> bool {
        block.iters_of(Role::Reduce).any(|iter| self.vector.as_ref() == Some(&iter.name))
    }

    /// How much of an axis the instruction takes, if it takes some.
    pub(super) fn piece(&self, axis: &Name) -> Option<i64> {
        let (dot, step) = self.dot.as_ref()?;
        let lanes = (self.vector.as_ref() == Some(axis)).then_some(dot.row().lanes);
        lanes.or((step == axis).then_some(dot.row().steps))
    }
}

/// How a sum reads its inputs.
pub(super) struct Reads<'b> {
    program: &'b Program,
    block: &'b Block,
    /// Each tensor once, with all its indices.
    tensors: Vec<(Arc<Buffer>, Vec<Vec<Expr>>)>,
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

    /// Whether all inputs move along an axis, so that nothing is used again: a batch.
    pub(super) fn is_batch(&self, axis: &Name) -> bool {
        self.names().all(|tensor| self.moves(tensor, axis))
    }

    fn spatial(&self) -> impl Iterator<Item = &'b Name> {
        self.block.iters_of(Role::Spatial).map(|iter| &iter.name)
    }

    fn indices(&self, tensor: &Name) -> impl Iterator<Item = &Vec<Expr>> {
        self.tensors.iter().filter(move |(buffer, _)| buffer.name == *tensor).flat_map(|(_, indices)| indices)
    }

    /// Whether a tensor was laid out before the call.
    pub(super) fn is_prepared(&self, tensor: &Name) -> bool {
        self.program.prepared(tensor).is_some()
    }

    /// Whether a tensor's neighbours along an axis are neighbours in memory.
    fn is_contiguous(&self, tensor: &Name, axis: &Name) -> bool {
        if let Some(prepared) = self.program.prepared(tensor) {
            return *prepared.layout.axis == **axis;
        }
        let coefficient = |e: &Expr| affine(e).map(|form| form.coefficient(axis));
        self.indices(tensor).all(|index| {
            let Some((last, outer)) = index.split_last() else { return true };
            coefficient(last) == Some(1) && outer.iter().all(|e| coefficient(e) == Some(0))
        })
    }

    /// Whether vectors along an axis are read as they lie, or each lane from elsewhere, but once.
    fn serves_in_place(&self, tensor: &Name, axis: &Name) -> bool {
        self.is_contiguous(tensor, axis) || self.spatial().all(|other| self.moves(tensor, other))
    }

    /// Whether lanes may share the sum along an axis: all that moves along it lies contiguous there, and terms behind its end change
    /// nothing.
    fn is_shared_by_lanes(&self, axis: &Name) -> bool {
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
    fn vectors(&self) -> Vec<Option<Name>> {
        let Some(contiguous) = self.block.contiguous().or_else(|| self.spatial().last()) else { return vec![None] };
        let across = |axis: &&Name| {
            let own = |tensor: &&Name| self.moves(tensor, axis);
            *axis != contiguous
                && self.names().any(|t| own(&t))
                && self.names().filter(own).all(|t| !self.moves(t, contiguous))
        };
        std::iter::once(contiguous).chain(self.spatial().filter(across)).cloned().map(Some).collect()
    }

    /// What is worth a panel: what vectors are made of; each of two such inputs alone, or none, if the others serve in place;
    /// and all inputs, but for those that lie in panels already.
    fn packed(&self, vector: Option<&Name>) -> Vec<Vec<Name>> {
        let all: Vec<Name> = self.names().filter(|tensor| !self.is_prepared(tensor)).cloned().collect();
        let Some(vector) = vector else { return distinct(vec![Vec::new(), all]) };
        let along: Vec<Name> = all.iter().filter(|tensor| self.moves(tensor, vector)).cloned().collect();
        let alone =
            if along.len() == 2 { along.iter().map(|tensor| vec![tensor.clone()]).collect() } else { Vec::new() };
        let sets = [vec![Vec::new()], alone]
            .concat()
            .into_iter()
            .filter(|set| along.iter().all(|tensor| set.contains(tensor) || self.serves_in_place(tensor, vector)));
        distinct(sets.chain([along.clone(), all]).collect())
    }

    /// Whether a structure packs as little as one with its vectors can.
    pub(super) fn packs_least(&self, variant: &Variant) -> bool {
        self.packed(variant.vector.as_ref()).first() == Some(&variant.packed)
    }

    /// Batches outermost; of the others, each once innermost, where the panel is that is read again first.
    fn orders(&self) -> Vec<Vec<Name>> {
        let (batch, used): (Vec<&Name>, Vec<&Name>) = self.spatial().partition(|axis| self.is_batch(axis));
        let ending = |last: &Name| {
            let others = used.iter().filter(|axis| ***axis != *last);
            batch.iter().chain(others).copied().chain([last]).cloned().collect()
        };
        let orders: Vec<Vec<Name>> = used.iter().rev().map(|last| ending(last)).collect();
        if orders.is_empty() { vec![batch.into_iter().cloned().collect()] } else { orders }
    }

    /// The structures in which lanes share the sum. Nothing is packed: it is for what is used too seldom to be worth a copy.
    pub(super) fn by_lanes(&self) -> impl Iterator<Item = Variant> {
        let order = self.orders().swap_remove(0);
        let axes =
            self.block.iters_of(Role::Reduce).map(|iter| &iter.name).filter(|axis| self.is_shared_by_lanes(axis));
        axes.map(move |axis| Variant {
            vector: Some(axis.clone()),
            packed: Vec::new(),
            order: order.clone(),
            doubled: false,
            dot: None,
        })
    }

    /// All other structures. Panels are doubled in the order of the source only: what is gained is time of packing, which the order of
    /// the tiles that read them does not change.
    pub(super) fn variants(&self) -> Vec<Variant> {
        let orders = self.orders();
        let summed = self.block.iters_of(Role::Reduce).next().is_some();
        let mut variants = Vec::new();
        for vector in self.vectors() {
            for packed in self.packed(vector.as_ref()) {
                let of = |order: &Vec<Name>, doubled| Variant {
                    vector: vector.clone(),
                    packed: packed.clone(),
                    order: order.clone(),
                    doubled,
                    dot: None,
                };
                variants.extend(orders.iter().map(|order| of(order, false)));
                variants.extend(orders.first().filter(|_| summed && !packed.is_empty()).map(|order| of(order, true)));
            }
        }
        variants
    }
}

/// Each structure, and again by an instruction of the CPU that takes several steps of the sum at once, where it packs what that demands.
pub(super) fn with_dots(
    program: &Program,
    block: &Block,
    target: Option<&CpuTarget>,
    variants: Vec<Variant>,
) -> Vec<Variant> {
    let tensorized = |variant: &Variant| {
        let Products { dot, step, pack } = Products::of(program, block, target?, variant.vector.as_ref()?)?;
        let packs = pack.iter().all(|tensor| variant.packed.contains(tensor));
        packs.then(|| Variant { dot: Some((dot, step)), ..variant.clone() })
    };
    let dots: Vec<Variant> = variants.iter().filter_map(tensorized).collect();
    [variants, dots].concat()
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
