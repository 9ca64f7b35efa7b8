//! A sum on a CPU becomes tiles: of a task, of the caches, of the registers.
//!
//! It applies to every block that sums. The structure, unless another one is named, is SSRSRS with packed panels: what threads share out │ blocks of a task │
//! cache blocks of the sum │ register tiles of a block │ steps │ steps that are unrolled │ the register tile, of vectors.
//!
//! ```text
//! for i, j, k                   parallel for i_0·j_0, for i_1, j_1
//!   y[i][j] += x · w     →        for k_0: pack w_panel                        here, or further inside
//!                                   for i_2, j_2: allocate y_tile
//!                                     for k_1, i_3, j_3, vector j_4
//!                                       y_tile += x · w_panel
//! ```
//!
//! Where an input is used a few times only, lanes may share the sum: it is read once as it lies, nothing is packed, and each copy of an
//! unrolled step has sums of its own.
//!
//! ```text
//! for i, j, k                   parallel for i_0·j_0, for i_1, j_1: allocate y_tile
//!   y[i][j] += x · w     →        for k_0, for k_1, unrolled k_2, i_2, j_2, vector k_3
//!                                   y_tile[i_2][j_2][k_2][k_3] += x_view · w_view
//! ```
//!
//! Where the CPU has an instruction that takes several steps of a sum in each lane (`ir/dot.rs`), and the factors are of its types, it is
//! one of the structures: its lanes and steps are the innermost loops, of constant extents.
//!
//! The axis of vectors, what is packed, the order of the register tiles and whether panels are doubled make the sketches
//! (`variants.rs`). The register tile is the split that hangs over the edge; of what is not packed and shared by all lanes, the last row is read
//! again there, and all else is read through a view, which is a padded copy there. Where nothing is packed, a window along the vectors is read in
//! place, too, by masks at the edge, and windows of a few steps are unrolled as a whole (`variants.rs`). Other steps of a sum that cannot be padded, since its terms are
//! not zero where its inputs are or an input is read where it lies, are not unrolled. Along a batch nothing is used again, so that it has
//! no register tile but its vectors.
//!
//! What `Tiled` has beside this: `load` is a panel whose place is the last loop of steps, and `raster` an order of the blocks
//! that uses caches as blocks of a task do.
//!
//! Source: `MultiLevelTiling` of MetaSchedule; Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication" (TOMS 2008).

use dietcode_syntax::Role;

use super::super::cpu::{axis, is_of_tile, split};
use super::super::{Applied, NO_SUM, PartialSketch, Rule, SketchLoop, SketchStage, Structure, TILED, unmet};
use super::variants::{Variant, with_dots};
use crate::Result;
use crate::ir::{Block, IterVar, Name};
use crate::lower::{can_be_padded, serves_lanes};
use crate::schedule::{Axis, Instruction, Level, Part, Pipeline, Size, Staging};
use crate::sketch::reads::Reads;

/// Elements between the runs of a panel: none, or as many as move them to another set of a cache.
const PADS: [i64; 2] = [0, 16];
/// How likely each is.
const WEIGHTS: [f64; 2] = [3.0, 1.0];
/// Uses of an element from which on packing pays, so that lanes share no sum.
const USES: i64 = 16;

/// The rule, for tiles of a structure.
#[derive(Clone, Copy, Debug)]
pub struct MultiLevelTilingCpu(pub &'static Structure);

impl Rule for MultiLevelTilingCpu {
    fn name(&self) -> &'static str {
        "MultiLevelTiling"
    }

    fn apply(&self, partial: PartialSketch, block: usize) -> Result<Applied> {
        let own = partial.block(block).clone();
        if partial.is_tiled() {
            return unmet(TILED);
        }
        if own.reduction.is_none() {
            return unmet(NO_SUM);
        }
        let program = partial.program.clone();
        let reads = Reads::of(&program, &own);
        // What is packed ahead is a tile of the sum, which a structure without steps does not have.
        let has_steps = self.0.levels_of('R').next().is_some();
        let streams = has_steps && reads.fewest_uses(|axis| partial.least(axis)) <= USES;
        let by_lanes = streams.then(|| reads.by_lanes()).into_iter().flatten();
        // What threads share a sum of has few outputs, so that little is read again.
        let shared = partial.combine.is_some();
        let unpacked =
            |variant: &Variant| !variant.doubled && reads.packs_least(variant.vector.as_ref(), &variant.packed);
        let fits = |variant: &Variant| (has_steps || !variant.doubled) && (!shared || unpacked(variant));
        let all = with_dots(&program, &own, partial.bounds.target.cpu(), reads.variants());
        let variants = all.into_iter().filter(fits).chain(by_lanes);
        let mut made: Vec<PartialSketch> = Vec::new();
        for variant in variants {
            let new = tiled(partial.clone(), &own, &reads, (self.0, &variant));
            // Without a loop over register tiles their orders are the same.
            if !made.contains(&new) {
                made.push(new);
            }
        }
        Ok(Applied::Made(made))
    }
}

fn tiled(
    mut partial: PartialSketch,
    block: &Block,
    reads: &Reads<'_>,
    (structure, variant): (&Structure, &Variant),
) -> PartialSketch {
    partial.structure = Some(structure.text);
    let whole =
        if structure.levels_of('R').any(|level| level == Level::Unroll) { variant.unrolled(reads) } else { Vec::new() };
    let levels = |iter: &IterVar| match whole.contains(&iter.name) {
        true => Vec::new(),
        false => levels(&partial, structure, block, iter, reads, variant),
    };
    let axes: Vec<(&IterVar, Vec<Level>)> = block.iters.iter().map(|iter| (iter, levels(iter))).collect();
    let tiled = axes.iter().filter(|(_, levels)| !levels.is_empty());
    let sampled = tiled.map(|(iter, levels)| axis(&iter.name, levels)).collect::<Vec<Axis>>();
    if !sampled.is_empty() {
        partial.instructions.push(Instruction::SampleTiles(sampled));
    }
    let mut loops: Vec<SketchLoop> =
        axes.iter().flat_map(|(iter, levels)| split(&mut partial, iter, levels, variant.piece(&iter.name))).collect();
    for l in loops.iter_mut().filter(|l| whole.contains(&l.axis)) {
        l.level = Some(Level::Unroll);
    }
    reorder(&mut partial, loops, (structure, &whole), variant);
    partial.instructions.extend(variant.dot.iter().map(|(dot, _)| Instruction::Tensorize((*dot).into())));
    accumulate(&mut partial, block);
    // Where lanes share a sum nothing is packed.
    let serves = |axis: &Name| serves_lanes(block, axis, |_| false);
    let in_place = variant.shares_sum(block) && variant.vector.iter().any(serves);
    for tensor in reads.names() {
        let padded = |(iter, levels): &(&IterVar, Vec<Level>)| {
            let is_padded = |level: &Level| is_of_tile(*level) || *level == Level::Split;
            let is_ragged = levels.iter().any(is_padded) || variant.piece(&iter.name).is_some();
            is_ragged && reads.moves(tensor, &iter.name)
        };
        let in_place = in_place || variant.reads_in_place(reads, tensor) || variant.reads_window(reads, tensor);
        if variant.packed.contains(tensor) {
            pack(&mut partial, block, reads, tensor, variant.doubled);
        } else if !in_place && !reads.is_prepared(tensor) && axes.iter().any(padded) {
            let names = partial.cache_read(block, tensor, Staging::Edge);
            // Tiles along which it does not move read one copy at an edge.
            let is_along = |l: &&SketchLoop| l.level == Some(Level::Block) && reads.moves(tensor, &l.axis);
            let along = partial.loops.iter().rfind(is_along).map(|l| l.name.clone());
            let place = along.or_else(|| cache_block(&partial)).or_else(|| last_of(&partial, Level::Block));
            partial.stages.push(SketchStage { what: tensor.clone(), names, places: place.into_iter().collect() });
        }
    }
    partial.instructions.extend(variant.doubled.then_some(Instruction::Pipeline(Pipeline::Panels)));
    partial
}

/// The levels of an axis, outermost first.
fn levels(
    partial: &PartialSketch,
    structure: &Structure,
    block: &Block,
    iter: &IterVar,
    reads: &Reads<'_>,
    variant: &Variant,
) -> Vec<Level> {
    let shared = partial.shared_sum(block);
    let is_vector = variant.vector.as_ref() == Some(&iter.name);
    let by_lanes = variant.shares_sum(block);
    let has = |level: &Level| match level {
        Level::Lanes => is_vector && variant.dot.is_none(),
        Level::Register => by_lanes || is_vector || !reads.is_batch(&iter.name),
        Level::Unroll => {
            let is_padded =
                can_be_padded(block, &iter.name) && !partial.program.reads_prepared_along(block, &iter.name);
            let in_place = reads.names().any(|tensor| {
                let in_place = variant.reads_in_place(reads, tensor) || variant.reads_window(reads, tensor);
                in_place && reads.moves(tensor, &iter.name)
            });
            is_padded && !in_place && (is_vector || !by_lanes)
        }
        Level::Block => !by_lanes && shared.is_none(),
        Level::Task => shared.is_none(),
        _ => true,
    };
    let split = (shared.as_ref() == Some(&iter.name)).then_some(Level::Split);
    let lanes = (is_vector && by_lanes).then_some(Level::Lanes);
    split.into_iter().chain(structure.levels_of(letter(iter.role)).filter(has)).chain(lanes).collect()
}

/// The letter of a role in a structure.
fn letter(role: Role) -> char {
    match role {
        Role::Spatial => 'S',
        Role::Reduce => 'R',
    }
}

/// The last loop of a level: accumulators stand in that of register tiles or, without such, in that of a task; of a part of a sum in the
/// last loop over tiles, or in that of the parts.
fn last_of(partial: &PartialSketch, level: Level) -> Option<Name> {
    partial.loops.iter().rfind(|l| l.level == Some(level)).map(|l| l.name.clone())
}

/// The last loop over cache blocks of the sum, inside of which steps are of constant extents.
fn cache_block(partial: &PartialSketch) -> Option<Name> {
    partial.loops_of(Role::Reduce, None).last().map(|l| l.name.clone())
}

fn accumulate(partial: &mut PartialSketch, block: &Block) {
    let name = partial.fresh(&format!("{}_tile", block.output.name));
    partial.instructions.push(Instruction::CacheWrite(name.clone()));
    let place = last_of(partial, Level::Block).or_else(|| last_of(partial, Level::Task)).or_else(|| {
        let part = partial.loops_of(Role::Reduce, Some(Level::Split)).next();
        part.and(partial.loops_of(Role::Spatial, None).last().or(part)).map(|l| l.name.clone())
    });
    let places = place.into_iter().collect();
    partial.stages.push(SketchStage { what: block.output.name.clone(), names: vec![name], places });
}

/// A panel. Twice of it is packed ahead, which the loop of cache blocks does; one may stand further inside, in loops along which
/// it moves: in others it would be packed again and again.
fn pack(partial: &mut PartialSketch, block: &Block, reads: &Reads<'_>, tensor: &Name, doubled: bool) {
    let names = partial.cache_read(block, tensor, Staging::Always);
    let pad = Name::from(format!("{tensor}_pad"));
    let (candidates, weights) = (PADS.to_vec(), WEIGHTS.to_vec());
    partial.instructions.push(Instruction::SampleCategorical { into: pad.clone(), candidates, weights });
    let pad = Size(vec![Part::Var(pad)]);
    let align = |stage: &Name| Instruction::StorageAlign { stage: stage.clone(), pad: pad.clone() };
    partial.instructions.extend(names.iter().map(align));
    let is_tile = |l: &SketchLoop| l.level.is_some_and(is_of_tile);
    let around = partial.loops.iter().rposition(|l| l.level.is_none() && l.role == Role::Reduce);
    let around = around.or_else(|| partial.loops.iter().rposition(|l| l.level == Some(Level::Task)));
    let from = around.map_or(0, |at| at + 1);
    let further = partial.loops[from..].iter().filter(|l| !doubled && !is_tile(l) && reads.moves(tensor, &l.axis));
    let places = around.map(|at| &partial.loops[at]).into_iter().chain(further).map(|l| l.name.clone()).collect();
    partial.stages.push(SketchStage { what: tensor.clone(), names, places });
}

/// Puts the loops into the order of the structure.
fn reorder(
    partial: &mut PartialSketch,
    loops: Vec<SketchLoop>,
    (structure, whole): (&Structure, &[Name]),
    variant: &Variant,
) {
    let in_window = |l: &SketchLoop| whole.iter().position(|axis| *axis == l.axis);
    let in_block = |l: &SketchLoop| variant.order.iter().position(|axis| *axis == l.axis);
    let is_vector = |l: &SketchLoop| variant.vector.as_ref() == Some(&l.axis);
    partial.loops = loops;
    partial.loops.sort_by_key(|l| {
        let inside = match l.level {
            Some(Level::Block) => in_block(l),
            Some(Level::Unroll) => in_window(l),
            // Vectors innermost: a broadcast operand is used by all of them at once and then is dead.
            Some(Level::Register) => Some(usize::from(is_vector(l))),
            Some(Level::Lanes) => Some(2 + usize::from(l.role == Role::Reduce)),
            _ => None,
        };
        let letter = if l.level == Some(Level::Lanes) { 'S' } else { letter(l.role) };
        (structure.place(letter, l.level), inside)
    });
    partial.instructions.push(Instruction::Reorder(partial.loops.iter().map(|l| l.name.clone()).collect()));
}
