//! The tiles that an evolution begins with: what follows from how the nest reads its inputs, and from the sizes of registers and caches.
//!
//! ```text
//! an axis of vectors, what is packed for it      as sketches have them
//!   a register tile                              few loads for each multiply-add, sums that do not wait for themselves, little padding
//!     a cache block                              panels that the first or the second level holds
//! ```
//!
//! Draws seldom have all of that at once, and each part is worth little without the others. Source: T. Low et al., "Analytical Modeling Is
//! Enough for High-Performance BLIS" (ACM TOMS 43, 2016), for the sizes of blocks.

use std::collections::BTreeMap;

use dietcode_syntax::Role;

use super::Tiled;
use crate::ir::{DType, IterVar, Name, Program};
use crate::machine::CpuTarget;
use crate::sketch::reads::Reads;

/// Register tiles for each structure.
const TILES: usize = 6;

/// The most vectors in a row of a register tile.
const MOST_VECTORS: i64 = 4;

/// Sums under way that hide the time of a multiply-add: two a clock, each of which takes four, and something else now and then.
const UNDER_WAY: f64 = 10.0;

/// Registers of what is loaded, used, and dead: of a broadcast, and of what the compiler loads ahead.
const PASSING: f64 = 2.0;

/// Loads that a value without a register costs: it is stored, too.
const SPILL: f64 = 4.0;

/// Clocks in which a vector of a panel comes from the second level, where panels are that the first one does not keep.
const FROM_L2: f64 = 2.0;

/// How much more a multiply-add takes where rows lie apart: each is a stream of its own.
const APART: f64 = 0.03;

/// Steps of all sums in a block, at the least and at the most.
const STEPS: (i64, i64) = (32, 384);

/// The most of them in panels of one tile's width that the second level holds. Where the vectors of a tile are stored across the output's
/// neighbours, element by element, and added to what blocks before have stored there, that was a quarter of the time of blocks of 90 steps with
/// 64 by 6 sums (AVX-512).
const LONG: i64 = 1024;

/// Iterations of an inner loop of several sums in a block, where they are not known: most windows have three.
const WINDOW: i64 = 3;

/// The longest inner loop that a block has all of.
const SHORT: i64 = 8;

/// Register tiles of a block along an axis that is not that of vectors: where panels are used again by many, and where they leave work for
/// other cores.
const MANY: i64 = 64;
const SOME: i64 = 8;

impl Tiled {
    /// Tiles for the extents of an axis at workload instances (none: they are not known), the most promising first. Not all of them need
    /// be valid.
    pub(in crate::sketch) fn starts(
        program: &Program,
        target: &CpuTarget,
        extents: &BTreeMap<Name, Vec<i64>>,
    ) -> Vec<Tiled> {
        let block = &program.blocks[0];
        if block.iters_of(Role::Reduce).next().is_none() {
            return Vec::new();
        }
        let reads = Reads::of(program, block);
        let contiguous = block.contiguous();
        let computes = program.computes_in();
        let of_lanes =
            |lanes| Nest { iters: &block.iters, reads: &reads, target, computes, extents, contiguous, lanes };
        let mut starts: Vec<(usize, Tiled)> = Vec::new();
        // A vector that is carried out in parts leaves less idle at an edge where it has fewer of them.
        let widest = target.lanes(computes);
        for nest in (0..target.parts()).map(|halvings| of_lanes(widest >> halvings)) {
            for vector in reads.vectors().into_iter().flatten() {
                let tiles = nest.register_tiles(&vector);
                for packed in reads.packed(Some(&vector)) {
                    for (rank, tile) in tiles.iter().enumerate() {
                        for block_tile in nest.blocks(tile, &vector) {
                            let start = nest.tiled(tile, &vector, &packed, block_tile);
                            let asking = start.asking_ahead(&reads);
                            starts.extend([Some(start), asking].into_iter().flatten().map(|start| (rank, start)));
                        }
                    }
                }
            }
        }
        // All structures with their best tile stand before any with its second.
        starts.sort_by_key(|(rank, _)| *rank);
        starts.into_iter().map(|(_, tiled)| tiled).collect()
    }
}

/// The sizes of a register tile, vectors counted as one each.
type Sizes = BTreeMap<Name, i64>;

/// What a step of a sum takes beside its multiply-adds.
struct Registers {
    /// Loads, and those of them that are instructions of their own.
    loads: f64,
    separate: f64,
    /// Registers beside those of the sums.
    held: f64,
}

struct Nest<'a> {
    iters: &'a [IterVar],
    reads: &'a Reads<'a>,
    target: &'a CpuTarget,
    /// The type that is computed in.
    computes: DType,
    extents: &'a BTreeMap<Name, Vec<i64>>,
    /// Along which the output's neighbours are.
    contiguous: Option<&'a Name>,
    /// Of a vector.
    lanes: i64,
}

impl Nest<'_> {
    fn largest(&self, axis: &Name) -> Option<i64> {
        self.extents.get(axis)?.last().copied()
    }

    /// The axes but for that of vectors along which something is used again, which a tile may have several iterations of.
    fn rows(&self, vector: &Name) -> Vec<&Name> {
        self.reads.spatial().filter(|axis| *axis != vector && !self.reads.is_batch(axis)).collect()
    }

    /// Those that take least time for a multiply-add, none of which is nearly another one.
    fn register_tiles(&self, vector: &Name) -> Vec<Sizes> {
        let most = if self.target.vector_registers >= 32 { 24 } else { 12 };
        let mut tiles: Vec<Sizes> = Vec::new();
        for vectors in 1..=MOST_VECTORS.min(self.target.vector_registers / 4) {
            let mut of_vectors = vec![Sizes::from([(vector.clone(), vectors)])];
            for axis in self.rows(vector) {
                let wider = |tile: &Sizes| {
                    let room = most / tile.values().product::<i64>();
                    let room = room.min(self.largest(axis).unwrap_or(room));
                    (2..=room).map(|size| with(tile, axis, size)).collect::<Vec<_>>()
                };
                let all: Vec<Sizes> = of_vectors.iter().flat_map(wider).collect();
                of_vectors.extend(all);
            }
            // More than two axes beside each other leave no more loads out.
            tiles.extend(of_vectors.into_iter().filter(|tile| tile.len() <= 3));
        }
        let mut rated: Vec<(f64, Sizes)> = tiles.into_iter().map(|tile| (self.time(&tile, vector), tile)).collect();
        rated.sort_by(|a, b| a.0.total_cmp(&b.0).then_with(|| a.1.cmp(&b.1)));
        let mut taken: Vec<Sizes> = Vec::new();
        for (_, tile) in rated {
            if taken.len() < TILES && !taken.iter().any(|other| is_near(other, &tile)) {
                taken.push(tile);
            }
        }
        taken
    }

    /// Clocks of a multiply-add of a vector: two of them and two loads are carried out in each, a sum waits for itself, and what registers
    /// have no room for is stored and loaded again.
    fn time(&self, tile: &Sizes, vector: &Name) -> f64 {
        let sums = tile.values().product::<i64>() as f64;
        let loaded = |tensor: &&Name| {
            tile.iter().filter(|(axis, _)| self.reads.moves(tensor, axis)).map(|(_, size)| *size).product::<i64>()
                as f64
        };
        let Registers { loads, separate, held } = self.registers(tile, vector, loaded);
        let spilled = (sums + held - self.target.vector_registers as f64).max(0.0);
        let (loads, separate) = (loads + SPILL * spilled, separate + SPILL * spilled);
        let vectors = self.reads.names().filter(|tensor| self.reads.moves(tensor, vector));
        let vectors: f64 = vectors.map(|tensor| loaded(&tensor)).sum();
        // What is loaded by an instruction of its own takes a place in their queue, too.
        let bounds =
            [0.5 + 0.1 * separate / sums, loads / sums / 2.0, UNDER_WAY / sums / 2.0, FROM_L2 * vectors / sums];
        let clocks = bounds.into_iter().fold(0.0, f64::max);
        let clocks = clocks * (1.0 + APART * self.apart(tile, vector) as f64);
        clocks * tile.iter().map(|(axis, size)| self.padding(axis, self.elements(axis, *size, vector))).product::<f64>()
    }

    /// What the steps of a sum load and hold. What stays the same along the outermost unrolled loop is
    /// held for all of its iterations. Of windows along the innermost sum, whose steps compilers unroll, all elements are held for the
    /// next step, and the other input is an operand in memory of each multiply-add.
    fn registers(&self, tile: &Sizes, vector: &Name, loaded: impl Fn(&&Name) -> f64) -> Registers {
        let rows: Vec<&Name> = self.rows(vector).into_iter().filter(|axis| tile.contains_key(*axis)).collect();
        let innermost = self.iters.iter().rfind(|iter| iter.role == Role::Reduce).map(|iter| &iter.name);
        let along = |tensor: &&Name| {
            rows.iter().find(|axis| innermost.is_some_and(|sum| self.reads.is_window(tensor, axis, sum)))
        };
        let windows: Vec<(f64, i64)> =
            self.reads.names().filter_map(|tensor| Some((loaded(&tensor), tile[*along(&tensor)?]))).collect();
        if !windows.is_empty() {
            let fresh: f64 = windows.iter().map(|(elements, size)| elements / *size as f64).sum();
            let sums = tile.values().product::<i64>() as f64;
            let held = windows.iter().map(|(elements, _)| elements).sum::<f64>() + 1.0;
            return Registers { loads: sums + fresh, separate: fresh, held };
        }
        let stays = |tensor: &&Name| rows.first().is_some_and(|axis| !self.reads.moves(tensor, axis));
        let held = self.reads.names().filter(stays).map(|tensor| loaded(&tensor)).sum::<f64>() + PASSING;
        let loads = self.reads.names().map(|tensor| loaded(&tensor)).sum();
        Registers { loads, separate: loads, held }
    }

    /// How often rows of a tile are read that do not lie next to each other.
    fn apart(&self, tile: &Sizes, vector: &Name) -> usize {
        let is_apart =
            |tensor: &Name, axis: &Name| self.reads.moves(tensor, axis) && !self.reads.is_contiguous(tensor, axis);
        let rows = tile.keys().filter(|axis| *axis != vector);
        rows.map(|axis| self.reads.names().filter(|tensor| is_apart(tensor, axis)).count()).sum()
    }

    /// Iterations of a tile along an axis.
    fn elements(&self, axis: &Name, size: i64, vector: &Name) -> i64 {
        if axis == vector { size * self.lanes } else { size }
    }

    /// Half of what tiles compute beyond the extents of an axis, in the mean: smaller tiles at the edge leave out some of it.
    fn padding(&self, axis: &Name, size: i64) -> f64 {
        let extents = self.extents.get(axis).map(Vec::as_slice).unwrap_or_default();
        let of = |extent: &i64| (in_parts(*extent, size) * size) as f64 / *extent as f64;
        let whole = extents.iter().map(of).sum::<f64>() / extents.len().max(1) as f64;
        if extents.is_empty() { 1.0 } else { 1.0 + (whole - 1.0) / 2.0 }
    }

    /// Blocks with a register tile: panels in the second level, for many rows or for some; and panels of one tile's width.
    fn blocks(&self, tile: &Sizes, vector: &Name) -> Vec<BTreeMap<String, i64>> {
        let width = tile.get(vector).copied().unwrap_or(1) * self.lanes;
        let bytes = self.computes.bytes();
        let of_step: i64 =
            bytes * (width + tile.iter().filter(|(axis, _)| *axis != vector).map(|(_, size)| size).sum::<i64>());
        let steps = (self.target.l1_bytes / 2 / of_step).clamp(STEPS.0, STEPS.1);
        let panel = self.target.l2_bytes / 2 / (bytes * steps);
        let block = |steps: i64, across: i64, down: &dyn Fn(&Name) -> i64| {
            let mut block: BTreeMap<String, i64> = self.steps(steps);
            block.insert(vector.to_string(), self.whole_tiles(vector, width, across));
            for axis in self.rows(vector) {
                let size = tile.get(axis).copied().unwrap_or(1);
                block.insert(axis.to_string(), self.whole_tiles(axis, size, size * down(axis)));
            }
            block
        };
        // A panel of one tile's width is read again for each row of tiles. Where results are stored element by element, few blocks share a sum,
        // and panels are large enough to pay with some rows.
        let scattered = self.contiguous != Some(vector);
        let down = |axis: &Name| if scattered && self.contiguous != Some(axis) { SOME } else { MANY };
        let (room, most) =
            if scattered { (self.target.l2_bytes / 4, LONG) } else { (self.target.l1_bytes / 4 * 3, STEPS.1) };
        let narrow = block((room / (bytes * width)).clamp(STEPS.0, most), width, &down);
        // Longer panels come from the second level at each row of tiles, and the output is added to less often.
        let long = block((self.target.l2_bytes / 8 / (bytes * width)).clamp(STEPS.0, LONG), width, &down);
        let all = [block(steps, panel, &|_| MANY), narrow, block(steps, panel, &|_| SOME), long];
        let mut blocks: Vec<BTreeMap<String, i64>> = Vec::new();
        for block in all {
            if !blocks.contains(&block) {
                blocks.push(block);
            }
        }
        blocks
    }

    /// So many elements of an axis, or as many as there are, as whole tiles.
    fn whole_tiles(&self, axis: &Name, size: i64, most: i64) -> i64 {
        let most = self.largest(axis).map_or(most, |extent| most.min(in_parts(extent, size) * size));
        (most / size).max(1) * size
    }

    /// Steps of all sums together, the inner ones whole where they are short.
    fn steps(&self, all: i64) -> BTreeMap<String, i64> {
        let sums: Vec<&Name> =
            self.iters.iter().filter(|iter| iter.role == Role::Reduce).map(|iter| &iter.name).collect();
        let Some((outer, inner)) = sums.split_first() else { return BTreeMap::new() };
        let window = |axis: &&Name| self.largest(axis).filter(|extent| *extent <= SHORT).unwrap_or(WINDOW);
        let mut steps: BTreeMap<String, i64> = inner.iter().map(|axis| (axis.to_string(), window(axis))).collect();
        let left = (all / steps.values().fold(1i64, |all, steps| all.saturating_mul(*steps))).max(1);
        // Blocks of one size.
        let left = self.largest(outer).map_or(left, |extent| in_parts(extent, in_parts(extent, left)));
        steps.insert(outer.to_string(), left);
        steps
    }

    fn tiled(&self, tile: &Sizes, vector: &Name, packed: &[Name], block_tile: BTreeMap<String, i64>) -> Tiled {
        let size =
            |(axis, size): (&Name, &i64)| (axis.to_string(), if axis == vector { size * self.lanes } else { *size });
        let partition = tile.iter().filter(|(_, size)| **size > 1).map(|(axis, _)| axis.to_string()).collect();
        let mut pack: Vec<String> = packed.iter().map(|tensor| tensor.to_string()).collect();
        pack.sort();
        let register_tile = tile.iter().map(size).collect();
        let lanes = Some(self.lanes).filter(|lanes| *lanes < self.target.lanes(self.computes));
        let vector = Some(vector.to_string());
        Tiled { vector, lanes, register_tile, block_tile, pack, partition, ..Tiled::default() }
    }
}

/// How many parts of at most so many elements there are; or, of so many parts, the elements of the largest.
fn in_parts(extent: i64, of: i64) -> i64 {
    (extent + of - 1) / of
}

fn with(tile: &Sizes, axis: &Name, size: i64) -> Sizes {
    let mut tile = tile.clone();
    tile.insert(axis.clone(), size);
    tile
}

/// Whether two have the same axes, and sizes of which no two differ by more than one.
fn is_near(a: &Sizes, b: &Sizes) -> bool {
    a.keys().eq(b.keys()) && a.values().zip(b.values()).all(|(a, b)| (a - b).abs() <= 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::avx512;
    use crate::testing::{DENSE, DEPTHWISE, program};

    fn avx2() -> CpuTarget {
        CpuTarget { march: "x86-64-v3".into(), vector_bytes: 32, vector_registers: 16, ..avx512() }
    }

    fn extents<const N: usize>(of: [(&str, i64); N]) -> BTreeMap<Name, Vec<i64>> {
        of.into_iter().map(|(axis, extent)| (axis.into(), vec![extent])).collect()
    }

    fn sizes(of: &BTreeMap<String, i64>) -> Vec<(&str, i64)> {
        of.iter().map(|(axis, size)| (axis.as_str(), *size)).collect()
    }

    const CONV: &str =
        "fn conv(x: &[[[f32; Q + S - 1]; P + R - 1]; C], k: &[[[[f32; S]; R]; C]; O], y: &mut [[[f32; Q]; P]; O]) {
        for o in 0..O { for p in 0..P { for q in 0..Q {
            let mut acc = 0.0;
            for c in 0..C { for r in 0..R { for s in 0..S { acc += x[c][p + r][q + s] * k[o][c][r][s]; } } }
            y[o][p][q] = acc;
        } } }
    }";

    /// Ten sums and five elements of a window leave one of 16 registers: as measured, a row more is spilled at every step.
    #[test]
    fn sums_and_what_is_held_fit_into_registers() {
        let program = program(CONV);
        let starts = Tiled::starts(
            &program,
            &avx2(),
            &extents([("o", 64), ("p", 40), ("q", 40), ("c", 64), ("r", 3), ("s", 3)]),
        );
        let across: Vec<&Tiled> = starts.iter().filter(|tiled| tiled.vector.as_deref() == Some("o")).collect();
        assert_eq!(sizes(&across[0].register_tile), [("o", 16), ("q", 5)]);
        assert!(across.iter().all(|tiled| tiled.pack.iter().any(|tensor| tensor == "k")), "its lanes lie apart");
        let spilled = [("o", 16), ("q", 6)];
        assert!(!across.iter().any(|tiled| sizes(&tiled.register_tile) == spilled));
        // Windows are whole in a block. Its results are stored element by element: a panel of one tile's width has many steps, in the second level.
        let narrow = across.iter().find(|tiled| tiled.block_tile["o"] == 16).unwrap();
        assert_eq!([narrow.block_tile["r"], narrow.block_tile["s"]], [3, 3]);
        let steps = narrow.block_tile["c"] * 9;
        assert!(steps > STEPS.1 && 4 * 16 * steps <= avx2().l2_bytes / 4, "{steps}");
    }

    /// Of a batch, each tile is there with and without asking for what the next of the innermost batch reads and writes.
    #[test]
    fn tiles_of_a_batch_ask_for_the_next_one() {
        let heads =
            "fn heads(x: &[[[[f32; K]; M]; H]; B], w: &[[[[f32; K]; N]; H]; B], y: &mut [[[[f32; N]; M]; H]; B]) {
            for b in 0..B { for h in 0..H { for i in 0..M { for j in 0..N {
                let mut acc = 0.0; for k in 0..K { acc += x[b][h][i][k] * w[b][h][j][k]; } y[b][h][i][j] = acc;
            } } } } }";
        let heads = program(heads);
        let starts = Tiled::starts(&heads, &avx512(), &BTreeMap::new());
        let asking: Vec<&Tiled> = starts.iter().filter(|tiled| tiled.ahead.is_some()).collect();
        assert!(!asking.is_empty() && asking.iter().all(|tiled| tiled.ahead.as_deref() == Some("h")), "{starts:?}");
        let holds = |tiled: &Tiled| tiled.micro_kernel(&heads, &avx512()).is_ok();
        assert!(asking.iter().any(|tiled| holds(tiled)));
        for tiled in asking {
            let same = Tiled { ahead: None, ..tiled.clone() };
            assert!(starts.contains(&same) && holds(&same) == holds(tiled), "{tiled:?}");
        }
        let starts = Tiled::starts(&program(DENSE), &avx512(), &BTreeMap::new());
        assert!(starts.iter().all(|tiled| tiled.ahead.is_none()));
    }

    #[test]
    fn where_vectors_are_carried_out_in_halves_tiles_of_halves_are_there_too() {
        let in_halves = CpuTarget { model: "AMD EPYC (family 25, model 17, stepping 1)".into(), ..avx512() };
        let lanes = |target: &CpuTarget| -> Vec<Option<i64>> {
            let starts = Tiled::starts(&program(DENSE), target, &BTreeMap::new());
            assert!(starts.iter().all(|tiled| tiled.register_tile["j"] % tiled.lanes.unwrap_or(16) == 0
                || tiled.vector.as_deref() != Some("j")));
            starts.into_iter().map(|tiled| tiled.lanes).collect()
        };
        assert!(lanes(&avx512()).iter().all(Option::is_none));
        let lanes = lanes(&in_halves);
        assert!(lanes.contains(&None) && lanes.contains(&Some(8)) && lanes[0].is_none(), "{lanes:?}");
    }

    #[test]
    fn of_starts_many_hold() {
        let rows = "fn rows(x: &[[f32; K]; M], y: &mut [f32; M]) {
            for i in 0..M { let mut acc = 0.0; for k in 0..K { acc += x[i][k]; } y[i] = acc; } }";
        for (nest, target) in
            [CONV, DENSE, rows, DEPTHWISE].into_iter().flat_map(|nest| [(nest, avx2()), (nest, avx512())])
        {
            let program = program(nest);
            let starts = Tiled::starts(&program, &target, &BTreeMap::new());
            assert!(!starts.is_empty() && starts.len() <= 200, "{}: {nest}", starts.len());
            let holds = |tiled: &&Tiled| tiled.micro_kernel(&program, &target).is_ok();
            let (tried, hold) = (starts.len().div_ceil(3), starts.iter().step_by(3).filter(holds).count());
            assert!(hold * 3 >= tried, "{hold} of {tried}: {nest}");
        }
    }

    #[test]
    fn what_is_not_there_has_no_tile() {
        let copy = "fn copy(x: &[[f32; N]; M], y: &mut [[f32; N]; M]) { for i in 0..M { for j in 0..N { y[i][j] = x[i][j]; } } }";
        assert!(Tiled::starts(&program(copy), &avx512(), &BTreeMap::new()).is_empty());
        let dense = program(DENSE);
        let of_one = Tiled::starts(&dense, &avx2(), &extents([("i", 1), ("j", 768), ("k", 768)]));
        let along = |tiled: &&Tiled| tiled.vector.as_deref() == Some("j");
        assert!(
            of_one.iter().filter(along).all(|tiled| !tiled.register_tile.contains_key("i")),
            "a row has no tile of rows"
        );
    }
}
