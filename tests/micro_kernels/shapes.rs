//! The shapes that a micro-kernel is run at: multiples of its tiles, one more, one less, primes, 1, sums of nothing.

use dietcode_core::sketch::Blocked;
use dietcode_syntax::{KernelDef, Loop, Role};

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
    let extent = |n: usize, at: usize, l: &Loop| {
        let tile = tile(blocked, l, Some(&l.name) == first_sum);
        if n + 1 == COUNT {
            return if l.role == Role::Reduce { 0 } else { (tile / 2 + 1).min(7) };
        }
        let extent = EXTENTS[n * STRIDES[at % STRIDES.len()] % EXTENTS.len()](tile).max(1);
        // A loop without a tile is one that blocks are counted along: a few of them are enough.
        if tile == 1 { extent.min(3) } else { extent }
    };
    let value = |n: usize, var: &str| {
        let own = def.loops.iter().position(|l| l.extent.terms.iter().any(|(name, _)| name == var));
        let at = own.expect("every shape variable is the extent of a loop");
        extent(n, at, &def.loops[at])
    };
    (0..COUNT).map(|n| def.shape_vars.iter().map(|var| value(n, &var.name)).collect()).collect()
}

/// What a block covers of a loop; of the first sum as much as fills each buffer of the pipeline in each of its parts.
fn tile(blocked: &Blocked, l: &Loop, first_sum: bool) -> i64 {
    let parts = blocked.split.get(&l.name).copied().unwrap_or(1);
    match l.role {
        Role::Spatial if blocked.matrix_unit.is_none() => blocked.block_tile(&l.name),
        Role::Spatial => match l.name.as_str() {
            "i" => 16 * blocked.block_tile("i"),
            "j" => 8 * blocked.block_tile("j"),
            name => blocked.block_tile(name),
        },
        Role::Reduce => {
            let steps = if first_sum { blocked.stages.0 + 1 } else { 1 };
            blocked.reduce.get(&l.name).copied().unwrap_or(1) * parts * steps
        }
    }
}
