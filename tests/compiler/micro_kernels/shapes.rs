//! The shapes that a micro-kernel is run at: multiples of its tiles, one more, one less, primes, 1, sums of nothing.

use dietcode_core::frontend;
use dietcode_core::ir::Expr;
use dietcode_core::sketch::Blocked;
use dietcode_syntax::{KernelDef, LoopDef, Role};

/// How many there are.
pub(crate) const COUNT: usize = 12;

/// Elements between the rows of the tensors at each of them: with 4 and 8, rows are still aligned to vectors.
pub(crate) const GAPS: [usize; COUNT] = [0, 0, 4, 1, 8, 0, 3, 0, 16, 5, 0, 2];

/// The extents of a loop, by its tile.
const EXTENTS: [fn(i64) -> i64; COUNT - 1] = [
    |tile| tile,
    |tile| tile + 1,
    |tile| tile - 1,
    |_| 1,
    |_| 7,
    |tile| 2 * tile,
    |_| 13,
    |tile| tile + tile / 2,
    |_| 2,
    |tile| tile / 2 + 1,
    |tile| 2 * tile - 1,
];

/// How far each loop goes on in the list from one shape to the next: the list is as long as a prime number, so each goes
/// through all of it, and no two meet in the same way twice.
const STRIDES: [usize; 6] = [1, 5, 7, 3, 2, 4];

/// The values of the shape variables. At the first of the shapes every tile is full, at the last the sums are empty.
pub(crate) fn shapes(def: &KernelDef, blocked: &Blocked) -> Vec<Vec<i64>> {
    let first_sum = def.loops.iter().find(|l| l.role == Role::Reduce).map(|l| &l.name);
    let extent = |n: usize, at: usize, l: &LoopDef| {
        // Of the first sum as much as fills each buffer of the pipeline.
        let steps = if Some(&l.name) == first_sum { blocked.stages + 1 } else { 1 };
        let parts = blocked.split.get(&l.name).copied().unwrap_or(1);
        let tile = tile(def, blocked, l) * parts * steps;
        if n + 1 == COUNT {
            return if l.role == Role::Reduce { 0 } else { (tile / 2 + 1).min(7) };
        }
        let extent = EXTENTS[n * STRIDES[at % STRIDES.len()] % EXTENTS.len()](tile).max(1);
        // A loop without a tile is one that blocks are counted along: a few of them are enough.
        if tile == 1 { extent.min(3) } else { extent }
    };
    let value = |n: usize, var: &str| {
        let own = loop_of(def, var);
        let at = def.loops.iter().position(|l| l == own).unwrap_or(0);
        extent(n, at, own)
    };
    (0..COUNT).map(|n| def.shape_vars.iter().map(|var| value(n, &var.name)).collect()).collect()
}

/// The loop that goes as far as a shape variable says.
pub(crate) fn loop_of<'d>(def: &'d KernelDef, var: &str) -> &'d LoopDef {
    let own = def.loops.iter().find(|l| l.extent.terms.iter().any(|(name, _)| name == var));
    own.expect("every shape variable is the extent of a loop")
}

/// What a block covers of a spatial loop; of a summed one, the tile in shared memory. With a matrix unit, sizes count its
/// instructions, of 16 rows and 8 columns.
pub(crate) fn tile(def: &KernelDef, blocked: &Blocked, l: &LoopDef) -> i64 {
    match l.role {
        Role::Spatial if blocked.matrix_unit.is_some() => instruction(def, &l.name) * blocked.block_tile(&l.name),
        Role::Spatial => blocked.block_tile(&l.name),
        Role::Reduce => blocked.reduce.get(&l.name).copied().unwrap_or(1),
    }
}

/// How much a matrix instruction takes of a spatial loop: columns lie along the one along which the output is contiguous, rows along the last one
/// that moves the other factor alone.
fn instruction(def: &KernelDef, name: &str) -> i64 {
    let block = &frontend::program(def).blocks[0];
    let column = block.contiguous().expect("the output has elements");
    let moves = |index: &[Expr], name: &str| index.iter().any(|e| e.uses(name));
    let both = |name: &str| block.update_reads().iter().any(|(_, index)| moves(index, name) && moves(index, column));
    let row = block.iters_of(Role::Spatial).map(|iter| &iter.name).filter(|name| !both(name)).last();
    match name {
        _ if name == &**column => 8,
        _ if row.is_some_and(|row| name == &**row) => 16,
        _ => 1,
    }
}
