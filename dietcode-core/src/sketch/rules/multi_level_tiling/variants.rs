//! Which structures of a CPU's tiles a sum has: where vectors lie, what is packed, which tile of a block comes first, which instruction sums.

use dietcode_syntax::Role;

use crate::ir::{Block, Dot, IterVar, Name, Program};
use crate::machine::CpuTarget;
use crate::sketch::dot::Products;
use crate::sketch::reads::Reads;

/// The most steps of windows that are unrolled as a whole.
const MOST_STEPS: i64 = 16;

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

    /// Whether a tensor is read where it lies, its last row again where tiles hang over the edge: all lanes share what is read of it. No padding
    /// of a sum holds in it, so that steps of a sum along it are not unrolled.
    pub(super) fn reads_in_place(&self, reads: &Reads<'_>, tensor: &Name) -> bool {
        let shares = |axis: &Name| reads.spatial().any(|other| other == axis) && !reads.moves(tensor, axis);
        let copied = self.packed.contains(tensor) || reads.is_prepared(tensor);
        self.vector.as_ref().is_some_and(shares) && self.dot.is_none() && !copied
    }

    /// Whether nothing is packed, and lanes read a window of a tensor as it lies, by masks where it hangs over the edge.
    pub(super) fn reads_window(&self, reads: &Reads<'_>, tensor: &Name) -> bool {
        let along = |axis: &Name| {
            let sums = || reads.block.iters_of(Role::Reduce);
            let is_spatial = reads.spatial().any(|other| other == axis);
            is_spatial
                && reads.is_contiguous(tensor, axis)
                && sums().any(|sum| reads.is_window(tensor, axis, &sum.name))
        };
        let is_served = self.dot.is_none() && self.packed.is_empty() && reads.can_be_masked(tensor);
        is_served && !reads.is_prepared(tensor) && self.vector.as_ref().is_some_and(along)
    }

    /// The axes of a sum that are unrolled as a whole where a window is read as it lies: those of the window, of which there are few steps at any
    /// shape. The ones along the vectors are first, so that rows that others of them share are read next to each other.
    pub(super) fn unrolled(&self, reads: &Reads<'_>) -> Vec<Name> {
        if !reads.names().any(|tensor| self.reads_window(reads, tensor)) {
            return Vec::new();
        }
        let moves = |axis: &Name| {
            let of_window = |tensor: &&Name| reads.spatial().any(|other| reads.is_window(tensor, other, axis));
            reads.names().any(|tensor| of_window(&tensor))
        };
        let (mut axes, mut steps) = (Vec::new(), 1);
        for iter in reads.block.iters_of(Role::Reduce).collect::<Vec<&IterVar>>().into_iter().rev() {
            let extent =
                iter.extent.as_int().filter(|extent| moves(&iter.name) && (1..=MOST_STEPS / steps).contains(extent));
            if let Some(extent) = extent {
                steps *= extent;
                axes.push(iter.name.clone());
            }
        }
        axes.reverse();
        let across = |axis: &Name| {
            let vector = self.vector.as_ref();
            !vector.is_some_and(|vector| reads.names().any(|tensor| reads.is_window(tensor, vector, axis)))
        };
        axes.sort_by_key(across);
        axes
    }

    /// How much of an axis the instruction takes, if it takes some.
    pub(super) fn piece(&self, axis: &Name) -> Option<i64> {
        let (dot, step) = self.dot.as_ref()?;
        let lanes = (self.vector.as_ref() == Some(axis)).then_some(dot.row().lanes);
        lanes.or((step == axis).then_some(dot.row().steps))
    }
}

impl Reads<'_> {
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
