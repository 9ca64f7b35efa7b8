//! The micro-kernel that is used where nothing was tuned.

use std::collections::{BTreeMap, BTreeSet};

use dietcode_syntax::Role;

use super::Tiled;
use crate::ErrorKind;
use crate::ir::{Affine, Expr, Name, Program, affine};
use crate::lower::{across_lanes, serves_lanes};
use crate::machine::CpuTarget;
use crate::sketch::dot::Products;
use crate::sketch::reads::Reads;
use crate::sketch::{Lowered, MicroKernel};

/// Steps of all reductions together in a cache block, at the least.
const REDUCTION_BLOCK: i64 = 384;
/// Panels that the second level streams to the first as fast as they are used: bytes of a vector, the smallest second level, bytes of a panel.
/// With more steps sums are added to the output less often. Of two vectors of AVX2, 768 steps against 384: dense layers of 384 and 2048 rows take
/// 0.91 to 0.96 of the time (Zen 3). Of three vectors of AVX-512, 1024 steps against 384: layers of 384 to 3000 rows take 0.88 to 0.95 of the
/// time, those of 80 and 100 rows 0.98 to 1.03 (an Intel Xeon with 2 MiB); with a second level of 1 MiB it was not measured.
const PANELS: [(i64, i64, i64); 2] = [(32, 0, 48 << 10), (64, 2 << 20, 192 << 10)];
/// The same where a block has 48 rows and 48 columns of each of a vector's matrices.
const BATCH_REDUCTION_BLOCK: i64 = 64;
/// Steps of a sum that lanes share, between which its parts are added to the output.
const STREAMED: i64 = 1024;
/// Register tiles of a block along an axis, the first that fit.
const BLOCKS: [i64; 5] = [64, 32, 16, 8, 4];

impl Tiled {
    /// A micro-kernel that is valid for any nest, and reasonable for those in which inputs are used again and again:
    /// vectors along the output's contiguous loop, a register tile that fills the registers, panels for what would
    /// otherwise be read with a stride or many times. Sums of integers are carried out by an instruction for them, where the target has one.
    pub fn default_for(program: &Program, target: &CpuTarget) -> Tiled {
        let full = full_tile(program, target);
        // Of a tensor that is both operands, all reads are packed or none: also the rows of a block, which have to fit.
        let blocks = BLOCKS.map(|most| full.with_blocks(most));
        let candidates = blocks.into_iter().flat_map(|tiled| [tiled.clone(), Tiled { pack: Vec::new(), ..tiled }]);
        let by_dot = full.by_exact_instruction(program, target);
        let valid = by_dot.into_iter().chain(candidates).find(|tiled| tiled.unless_refused(program, target).is_some());
        // The nest as the user wrote it, one iteration of the output at a time, is always valid.
        valid.unwrap_or_default()
    }

    /// A micro-kernel for nests of which an input is contiguous along the innermost sum and used a few times: its lanes share the sum, so
    /// that it is read once as it lies. Others, of which there is little then, are packed. None where none lies so.
    pub fn streaming_for(program: &Program, target: &CpuTarget) -> Option<(MicroKernel, Lowered)> {
        streaming(program, target)?.unless_refused(program, target)
    }

    /// A micro-kernel with vectors along an axis across that of the output's neighbours, for nests of three axes and more beside batches, whose
    /// innermost one tends to be short: what moves along the vectors is packed. None for others.
    pub fn across_for(program: &Program, target: &CpuTarget) -> Option<(MicroKernel, Lowered)> {
        let contiguous = program.blocks[0].contiguous().filter(|_| has_many_axes(program))?;
        let starts = Tiled::starts(program, target, &BTreeMap::new());
        let across = starts.into_iter().filter(|tiled| tiled.vector.as_deref() != Some(&**contiguous));
        across.filter(Tiled::has_narrow_panels).find_map(|tiled| tiled.unless_refused(program, target))
    }

    /// The default where the rows that vectors are loaded from are no longer than a tile, so that they lie as in a panel, or where few rows of
    /// the output use longer ones: nothing is packed. A tile has four vectors of 16 lanes, or two of fewer registers. None where the default
    /// packs nothing, where a vector's elements do not adjoin, where a batch lies innermost, with prepared operands, and for nests of three
    /// axes and more beside batches.
    pub fn in_place_for(program: &Program, target: &CpuTarget) -> Option<Tiled> {
        let full = Tiled::default_for(program, target);
        let reads = Reads::of(program, &program.blocks[0]);
        let vector = full.vector.clone()?;
        let adjoins = |packed: &String| reads.is_contiguous(&packed.as_str().into(), &vector.as_str().into());
        if full.pack.is_empty() || has_many_axes(program) || !full.pack.iter().all(adjoins) {
            return None;
        }
        // Of a batch that lies innermost a tile has two axes beside it, and rows prepared in panels come by whole ones.
        if full.register_tile.len() > 2 || !program.prepared.is_empty() {
            return None;
        }
        let vectors = if target.vector_registers >= 32 { 4 } else { 2 };
        let (mut register_tile, mut block_tile) = (full.register_tile.clone(), full.block_tile.clone());
        for (axis, size) in &mut register_tile {
            let is_vector = *axis == vector;
            *size = if is_vector { vectors * target.lanes(program.computes_in()) } else { 6 };
            block_tile.insert(axis.clone(), if is_vector { *size } else { 16 * *size });
        }
        let in_place = Tiled { register_tile, block_tile, pack: Vec::new(), ..full };
        in_place.unless_refused(program, target).is_some().then_some(in_place)
    }

    /// The same tile, of which blocks ask for what those of a batch's next iteration read and write: it comes from memory where all of the
    /// batch exceeds the caches. None without a batch.
    pub fn ahead(&self, program: &Program, target: &CpuTarget) -> Option<(MicroKernel, Lowered)> {
        let reads = Reads::of(program, &program.blocks[0]);
        self.asking_ahead(&reads)?.unless_refused(program, target)
    }

    /// The same tile, asking ahead along a batch that stands outside and has none.
    pub(super) fn asking_ahead(&self, reads: &Reads<'_>) -> Option<Tiled> {
        let sizes = [&self.register_tile, &self.block_tile];
        let axis = reads.batch(|axis| sizes.iter().any(|sizes| sizes.contains_key(&**axis)))?;
        Some(Tiled { ahead: Some(axis.to_string()), ..self.clone() })
    }

    /// The same tile by an instruction that takes several steps of a sum at once, if there is one whose sums are those of all other schedules, as
    /// they are of integers.
    fn by_exact_instruction(&self, program: &Program, target: &CpuTarget) -> Option<Tiled> {
        let vector = self.vector.as_ref()?.as_str().into();
        let Products { dot, step, pack } = Products::of(program, &program.blocks[0], target, &vector)?;
        let step = Some(step.to_string()).filter(|_| dot.row().accumulator.is_integer())?;
        Some(Tiled { tensorize: Some(step), pack: pack.iter().map(|name| name.to_string()).collect(), ..self.clone() })
    }

    /// The same with at most so many register tiles of a block along each axis.
    fn with_blocks(&self, most: i64) -> Tiled {
        let mut block_tile = self.block_tile.clone();
        for (axis, size) in &self.register_tile {
            block_tile.entry(axis.clone()).and_modify(|block| *block = (*block).min(most * size));
        }
        Tiled { block_tile, ..self.clone() }
    }

    /// Whether panels are as wide as a register tile, so that few blocks pack what they share.
    fn has_narrow_panels(&self) -> bool {
        self.vector.as_ref().is_some_and(|axis| self.block_tile.get(axis) == self.register_tile.get(axis))
    }

    /// None where a primitive or a limit refuses it. Another error is none of the nest's.
    fn unless_refused(&self, program: &Program, target: &CpuTarget) -> Option<(MicroKernel, Lowered)> {
        match self.micro_kernel(program, target) {
            Err(refused) if refused.kind() == ErrorKind::Input => None,
            carried_out => Some(carried_out.unwrap_or_else(|e| panic!("a default micro-kernel: {e}"))),
        }
    }
}

/// A few columns of the output, and as many rows as registers have room for their sums: what lies along the columns is read again for
/// each tile of rows, so that few rows read it once. What does not lie along the sum is packed, if it moves along one side of the tile only, and
/// is used again along the other.
fn streaming(program: &Program, target: &CpuTarget) -> Option<Tiled> {
    let block = &program.blocks[0];
    let sum = &block.iters_of(Role::Reduce).last()?.name;
    let across_lanes = across_lanes(block, sum);
    let reads = block.update_reads();
    let is_packed = |name: &Name| across_lanes.contains(name);
    if !serves_lanes(block, sum, is_packed) {
        return None;
    }
    reads.iter().find(|(buffer, index)| !is_packed(&buffer.name) && index.iter().any(|e| e.uses(sum)))?;
    if program.reads_prepared_along(block, sum) {
        return None;
    }
    let sides: Vec<&Name> = block.iters_of(Role::Spatial).map(|iter| &iter.name).collect();
    let moves_along = |index: &[Expr]| sides.iter().filter(|side| index.iter().any(|e| e.uses(side))).count();
    if reads.iter().any(|(buffer, index)| is_packed(&buffer.name) && moves_along(index) > 1) {
        return None;
    }
    let pack: Vec<String> =
        across_lanes.iter().map(|name| name.to_string()).collect::<BTreeSet<_>>().into_iter().collect();
    let lanes = target.lanes(program.computes_in());
    let columns = block.contiguous()?.clone();
    let rows = block.iters_of(Role::Spatial).map(|iter| &iter.name).filter(|name| **name != columns).last();
    let (down, across) = match rows {
        Some(_) if target.vector_registers >= 32 => (8, 3),
        _ => (2, 4),
    };
    let mut register_tile = BTreeMap::from([(sum.to_string(), lanes), (columns.to_string(), across)]);
    register_tile.extend(rows.map(|rows| (rows.to_string(), down)));
    let spatial = register_tile.iter().filter(|(name, _)| **name != **sum);
    let mut block_tile: BTreeMap<String, i64> = spatial.map(|(name, size)| (name.clone(), 16 * size)).collect();
    let partition = block_tile.keys().cloned().collect();
    let reductions: Vec<&Name> = block.iters_of(Role::Reduce).map(|iter| &iter.name).collect();
    let (inner, outer) = (reductions.len() - 1, reductions.iter());
    block_tile.extend(outer.take(inner).map(|name| (name.to_string(), 1)));
    block_tile.insert(sum.to_string(), STREAMED);
    Some(Tiled { vector: Some(sum.to_string()), register_tile, block_tile, pack, partition, ..Tiled::default() })
}

/// Whether there are three spatial loops or more beside batches, as of a convolution.
fn has_many_axes(program: &Program) -> bool {
    let reads = Reads::of(program, &program.blocks[0]);
    reads.spatial().filter(|axis| !reads.is_batch(axis)).count() > 2
}

/// Register tile, blocks and panels from how the block reads its inputs.
fn full_tile(program: &Program, target: &CpuTarget) -> Tiled {
    let block = &program.blocks[0];
    let lanes = target.lanes(program.computes_in());
    let Some(vector) = block.contiguous().cloned() else { return Tiled::default() };
    let reads: Vec<Vec<Affine>> = block.update_reads().iter().filter_map(|(_, index)| forms(index)).collect();
    let moves = |index: &[Affine], name: &str| index.iter().any(|form| form.coefficient(name) != 0);
    // A second loop is worth registers if what is read as vectors stays the same along it.
    let others = || block.iters_of(Role::Spatial).filter(|iter| iter.name != vector);
    let reused = |name: &Name| reads.iter().any(|index| moves(index, &vector) && !moves(index, name));
    let many = target.vector_registers >= 32;
    // Along a batch nothing is used again.
    let is_batch = |name: &Name| reads.iter().all(|index| moves(index, name));
    let tiled: Vec<&Name> = others().map(|iter| &iter.name).filter(|name| reused(name)).collect();
    if let ([.., outer, inner], true) = (tiled.as_slice(), is_batch(&vector)) {
        return batch_innermost(program, lanes, &vector, [outer, inner], if many { [4, 6] } else { [3, 4] });
    }
    let second = others().filter(|iter| reused(&iter.name)).last();
    // Where the innermost loop tends to be short, little may hang over.
    let (across, down) = match second {
        Some(_) if has_many_axes(program) => (1, 8),
        Some(_) if many => (3, 8),
        Some(_) => (2, 6),
        None => (4, 1),
    };
    // Tiles are whole panels of what was laid out before the call.
    let layouts = || program.prepared.iter().map(|prepared| &prepared.layout);
    let panel = |axis: &str| layouts().filter(|of| of.axis == axis).map(|of| of.panel).max().unwrap_or(1);
    let sums = if many { 24 } else { 12 };
    let rows = second.map_or(1, |second| panel(&second.name));
    let across = i64::max(across, panel(&vector) / lanes).min((sums / rows).max(1));
    let down = (down.min((sums / across).max(1)) as u64).next_multiple_of(rows as u64) as i64;
    let mut register_tile = BTreeMap::from([(vector.to_string(), across * lanes)]);
    let mut block_tile = register_tile.clone();
    if let Some(second) = second {
        register_tile.insert(second.name.to_string(), down);
        block_tile.insert(second.name.to_string(), down * BLOCKS[0]);
    }
    let reductions: Vec<&Name> = block.iters_of(Role::Reduce).map(|iter| &iter.name).collect();
    let of_step = across * lanes * program.computes_in().bytes();
    let is_long = |of: &&(i64, i64, i64)| target.vector_bytes == of.0 && target.l2_bytes >= of.1;
    let panel = PANELS.iter().find(is_long).filter(|_| across > 1 && !has_many_axes(program));
    let steps = panel.map_or(REDUCTION_BLOCK, |panel| (panel.2 / of_step).max(REDUCTION_BLOCK));
    let blocks = reduction_blocks(steps, reductions.len());
    block_tile.extend(reductions.iter().map(|name| name.to_string()).zip(blocks));
    let packed = block.update_reads().into_iter().filter(|(buffer, index)| {
        let reused = second.is_some_and(|second| !index.iter().any(|e| e.uses(&second.name)));
        let along = program.prepared(&buffer.name).is_none() && index.iter().any(|e| e.uses(&vector));
        let contiguous = index
            .split_last()
            .is_some_and(|(last, outer)| last.uses(&vector) && !outer.iter().any(|e| e.uses(&vector)));
        along && (reused || !contiguous)
    });
    let mut pack: Vec<String> = packed.map(|(buffer, _)| buffer.name.to_string()).collect();
    pack.sort();
    pack.dedup();
    let partition =
        second.map(|iter| iter.name.to_string()).into_iter().chain((across > 1).then(|| vector.to_string()));
    let (vector, partition) = (Some(vector.to_string()), partition.collect());
    Tiled { vector, register_tile, block_tile, pack, partition, ..Tiled::default() }
}

/// Vectors along a batch that lies innermost: each is used for a row or a column of the tile. Neighbours along all other loops
/// are a whole batch apart, so that everything is packed, also what is read a few times only; a block has as much of both
/// matrices as the second-level cache holds, so that it is packed once.
fn batch_innermost(program: &Program, lanes: i64, vector: &Name, tiled: [&Name; 2], tile: [i64; 2]) -> Tiled {
    let block = &program.blocks[0];
    let mut register_tile = BTreeMap::from([(vector.to_string(), lanes)]);
    let mut block_tile = register_tile.clone();
    for (name, size) in tiled.into_iter().zip(tile) {
        register_tile.insert(name.to_string(), size);
        block_tile.insert(name.to_string(), size * (48 / size));
    }
    let reductions: Vec<&Name> = block.iters_of(Role::Reduce).map(|iter| &iter.name).collect();
    let blocks = reduction_blocks(BATCH_REDUCTION_BLOCK, reductions.len());
    block_tile.extend(reductions.iter().map(|name| name.to_string()).zip(blocks));
    let unprepared = block.update_reads().into_iter().filter(|(buffer, _)| program.prepared(&buffer.name).is_none());
    let mut pack: Vec<String> = unprepared.map(|(buffer, _)| buffer.name.to_string()).collect();
    pack.sort();
    pack.dedup();
    Tiled { vector: Some(vector.to_string()), register_tile, block_tile, pack, ..Tiled::default() }
}

fn forms(index: &[Expr]) -> Option<Vec<Affine>> {
    index.iter().map(affine).collect()
}

/// The whole budget for one reduction; for several, small windows inside and the rest outermost.
fn reduction_blocks(budget: i64, reductions: usize) -> impl Iterator<Item = i64> {
    let inner = 4i64;
    let outer = (budget / inner.pow(reductions.saturating_sub(1).min(4) as u32)).max(1);
    std::iter::once(outer).chain(std::iter::repeat(inner)).take(reductions)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::avx512;
    use crate::testing::{DENSE, program};

    #[test]
    fn panels_are_longer_where_the_second_level_streams_them() {
        let steps = |target: &CpuTarget| Tiled::default_for(&program(DENSE), target).block_tile["k"];
        let of_l2 = |l2_bytes: i64| CpuTarget { l2_bytes, ..avx512() };
        let avx2 = CpuTarget { vector_bytes: 32, vector_registers: 16, ..avx512() };
        assert_eq!([steps(&avx2), steps(&of_l2(1 << 20)), steps(&of_l2(2 << 20))], [768, 384, 1024]);
    }

    /// Panels of both sides are in the second-level cache, whatever it holds.
    #[test]
    fn a_product_of_a_tensor_with_itself_has_the_tile_of_any_other_in_blocks_that_fit() {
        let nest = "fn gram(x: &[[f32; K]; M], c: &mut [[f32; M]; M]) {
            for i in 0..M { for j in 0..M { for k in 0..K { c[i][j] += x[i][k] * x[j][k]; } } } }";
        let of_two =
            nest.replacen("x: &[[f32; K]; M]", "x: &[[f32; K]; M], w: &[[f32; K]; M]", 1).replace("x[j]", "w[j]");
        for l2_bytes in [256 << 10, 512 << 10, 1 << 20, 2 << 20] {
            let target = CpuTarget { l2_bytes, ..avx512() };
            let [one, two] = [nest, &of_two].map(|nest| Tiled::default_for(&program(nest), &target));
            assert_eq!((one.vector, one.register_tile), (two.vector, two.register_tile), "{l2_bytes}");
            assert_eq!((one.pack, two.pack), (vec!["x".to_owned()], vec!["w".to_owned()]));
            let rows = one.block_tile["i"] * one.block_tile["k"] * 4;
            assert!(l2_bytes / 8 <= rows && rows < l2_bytes, "{rows} of {l2_bytes}");
        }
    }
}
