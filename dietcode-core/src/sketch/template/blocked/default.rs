//! The micro-kernel that is used where nothing was tuned.

use std::collections::BTreeMap;

use dietcode_syntax::Role;

use super::Blocked;
use crate::ir::{Block, Expr, Name, Program, affine};
use crate::machine::cuda::DeviceLimits;
use crate::sketch::Stage;

/// Threads along the output's contiguous loop where nothing is staged.
const FLAT_THREADS: i64 = 128;

impl Blocked {
    /// A micro-kernel that is valid for any nest with a spatial loop, and reasonable for those in which inputs are used
    /// again and again: 256 threads with tiles of 4 × 4, both operands staged. For a nest without such a loop none.
    pub fn default_for(program: &Program, device: &DeviceLimits) -> Option<Blocked> {
        let block = &program.blocks[0];
        let contiguous = contiguous_loop(block)?;
        let flat = Blocked { thread: BTreeMap::from([(contiguous.to_string(), FLAT_THREADS)]), ..Blocked::default() };
        let candidates = tiled(block, &contiguous).into_iter().chain(batch_innermost(block, &contiguous)).chain([flat]);
        candidates.into_iter().find(|blocked| blocked.micro_kernel(program, device).is_ok())
    }
}

/// The loops, beside the output's contiguous one, along which an operand that moves with that one is used again.
fn reused<'b>(block: &'b Block, contiguous: &Name) -> Vec<&'b Name> {
    let reads = block.update_reads();
    let reused = |name: &&Name| reads.iter().any(|(_, index)| moves(index, contiguous) && !moves(index, name));
    let others = block.iters_of(Role::Spatial).map(|iter| &iter.name).filter(|name| *name != contiguous);
    others.filter(reused).collect()
}

fn moves(index: &[Expr], name: &str) -> bool {
    index.iter().any(|e| e.uses(name))
}

/// How much of each reduction is staged at once.
fn steps(block: &Block) -> BTreeMap<String, i64> {
    let reductions: Vec<&Name> = block.iters_of(Role::Reduce).map(|iter| &iter.name).collect();
    let tile = |n: usize| if reductions.len() == 1 { 16 } else { [8, 3, 3].get(n).copied().unwrap_or(1) };
    reductions.iter().enumerate().map(|(n, name)| (name.to_string(), tile(n))).collect()
}

/// Threads along a batch that lies innermost, each with a tile of 4 × 4 of its own matrices; both operands staged, rows of
/// neighbours in the batch by vectors.
fn batch_innermost(block: &Block, contiguous: &Name) -> Option<Blocked> {
    let reads = block.update_reads();
    let [.., outer, inner] = reused(block, contiguous)[..] else { return None };
    reads.iter().all(|(_, index)| moves(index, contiguous)).then(|| Blocked {
        thread: BTreeMap::from([(contiguous.to_string(), 32), (outer.to_string(), 2), (inner.to_string(), 4)]),
        inner: BTreeMap::from([(outer.to_string(), 4), (inner.to_string(), 4)]),
        reduce: steps(block).into_iter().map(|(name, steps)| (name, steps.min(8))).collect(),
        stage: reads
            .iter()
            .map(|(buffer, _)| (buffer.name.to_string(), Stage { vector: 4, ..Stage::default() }))
            .collect(),
        min_blocks: 2,
        ..Blocked::default()
    })
}

/// Tiles along the contiguous loop and a second one along which an operand is reused; wide vectors where the tensors
/// allow them.
fn tiled(block: &Block, contiguous: &Name) -> Vec<Blocked> {
    let reads = block.update_reads();
    let Some(second) = reused(block, contiguous).pop() else { return Vec::new() };
    let along = |size: i64| BTreeMap::from([(contiguous.to_string(), size), (second.to_string(), size)]);
    let reductions: Vec<&Name> = block.iters_of(Role::Reduce).map(|iter| &iter.name).collect();
    let reduce = steps(block);
    let stage = |vector: bool| -> BTreeMap<String, Stage> {
        let stage = |index: &[Expr]| {
            let last = index.last().and_then(affine);
            let summed = last.is_some_and(|form| reductions.iter().any(|name| form.coefficient(name) != 0));
            let pad = if summed { 4 } else { 0 };
            Stage { vector: if vector { 4 } else { 1 }, pad, swizzle: 0, reduce_outside: true }
        };
        reads.iter().map(|(buffer, index)| (buffer.name.to_string(), stage(index))).collect()
    };
    let of = |vector: bool| Blocked {
        thread: along(16),
        inner: along(4),
        reduce: reduce.clone(),
        stage: stage(vector),
        store: if vector { 4 } else { 1 },
        // A sum over one loop takes 60 to 80 registers: `ptxas`, left alone, may stop at 64 and spill. One over several, which is
        // unrolled further, may take all that there are.
        min_blocks: if reductions.len() == 1 { 2 } else { 1 },
        ..Blocked::default()
    };
    vec![of(true), of(false)]
}

/// The loop along which the output is contiguous.
fn contiguous_loop(block: &Block) -> Option<Name> {
    let last = || block.iters_of(Role::Spatial).last().map(|iter| &iter.name);
    block.contiguous().or_else(last).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::program;

    #[test]
    fn a_product_of_a_tensor_with_itself_has_the_tile_of_any_other() {
        let nest = "fn gram(x: &[[f32; K]; M], c: &mut [[f32; M]; M]) {
            for i in 0..M { for j in 0..M { for k in 0..K { c[i][j] += x[i][k] * x[j][k]; } } } }";
        let of_two =
            nest.replacen("x: &[[f32; K]; M]", "x: &[[f32; K]; M], w: &[[f32; K]; M]", 1).replace("x[j]", "w[j]");
        for device in ["sm_75", "sm_80", "sm_90"] {
            let limits = DeviceLimits::of(device.parse().unwrap()).unwrap();
            let [one, two] = [nest, &of_two].map(|nest| Blocked::default_for(&program(nest), limits).unwrap());
            assert_eq!(one.stage.get("x"), two.stage.get("w"));
            assert!(!one.stage.is_empty() && one.store == 4, "{one:?}");
            assert_eq!(Blocked { stage: BTreeMap::new(), ..one }, Blocked { stage: BTreeMap::new(), ..two });
        }
    }
}
