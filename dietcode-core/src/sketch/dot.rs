//! How an instruction of a CPU that takes several steps of a sum at once carries out a block's sum, if one does.

use dietcode_syntax::Role;

use crate::ir::{Block, DType, Dot, IterVar, Name, Program};
use crate::lower::can_be_padded;
use crate::lower::lanes::is_contiguous;
use crate::machine::CpuTarget;
use crate::schedule::{ElementRead, factors};

/// The fewest iterations of a loop of the sum of which little is lost where the last step is half a one.
const MANY: i64 = 16;

/// The loops and inputs that an instruction takes.
pub(in crate::sketch) struct Products {
    pub(in crate::sketch) dot: Dot,
    /// The axis of the sum of which it takes steps.
    pub(in crate::sketch) step: Name,
    /// The inputs whose elements do not lie as it takes them.
    pub(in crate::sketch) pack: Vec<Name>,
}

impl Products {
    /// Those of a block with vectors along an axis, on a CPU. The steps are those of an axis of which none is half empty, and along
    /// which the factor lies contiguous that need not be packed, as far as there is one.
    pub(in crate::sketch) fn of(
        program: &Program,
        block: &Block,
        target: &CpuTarget,
        lanes: &Name,
    ) -> Option<Products> {
        let computes = program.sums_in();
        let dot = of_block(block, computes, lanes, target).ok().filter(|dot| is_there(*dot, target))?;
        let [of_lanes, of_all] = factors(block, computes, dot.row(), lanes).ok()?;
        let is_prepared = |factor: &ElementRead<'_>| program.prepared(&factor.0.name).is_some();
        let moves = |factor: &ElementRead<'_>, name: &Name| factor.1.iter().any(|e| e.uses(name));
        let both = |iter: &&IterVar| moves(&of_lanes, &iter.name) && moves(&of_all, &iter.name);
        let lies = |name: &Name| is_contiguous(of_all.1, name);
        let is_whole =
            |iter: &IterVar| iter.extent.as_int().is_none_or(|extent| extent % dot.row().steps == 0 || extent >= MANY);
        let axes = block.iters_of(Role::Reduce).filter(|iter| can_be_padded(block, &iter.name)).filter(both);
        let step = axes.max_by_key(|iter| (is_whole(iter), lies(&iter.name)))?.name.clone();
        let pack = [Some(of_lanes), (!lies(&step)).then_some(of_all)].into_iter().flatten();
        let pack = pack.map(|(buffer, _)| buffer.name.clone()).collect();
        (![of_lanes, of_all].iter().any(is_prepared)).then_some(Products { dot, step, pack })
    }
}

/// Whether a CPU has an instruction, and code for it may have vectors of that width.
fn is_there(dot: Dot, target: &CpuTarget) -> bool {
    target.has(dot.row().feature) && dot.row().lanes <= target.lanes(dot.row().accumulator)
}

/// The instruction that multiplies the factors of a block's sum, with lanes along an axis: the first one that the CPU has, or else the first of
/// all.
///
/// # Errors
/// What the block lacks for the first one that adds in its type, or for the first of all.
pub(super) fn of_block(block: &Block, computes: DType, lanes: &str, target: &CpuTarget) -> Result<Dot, String> {
    let fits = |dot: Dot| factors(block, computes, dot.row(), lanes).map(|_| dot);
    let adding = Dot::ALL.into_iter().filter(|dot| dot.row().accumulator == computes);
    let (own, others): (Vec<Dot>, Vec<Dot>) = adding.partition(|dot| is_there(*dot, target));
    let first = |found: Result<Dot, String>, other: Result<Dot, String>| found.or_else(|why| other.map_err(|_| why));
    own.into_iter().chain(others).map(fits).reduce(first).unwrap_or_else(|| fits(Dot::ALL[0]))
}
