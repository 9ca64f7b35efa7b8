//! Whether the lanes of a warp that read an operand of a matrix instruction meet in a bank of shared memory, which has 32
//! of 4 bytes each.

use std::collections::BTreeSet;

use dietcode_core::ir::{Buffer, Expr, Scope, Swizzle};
use dietcode_core::sketch::Stage;
use dietcode_syntax::Role;

use super::sets::MicroKernel;
use super::shapes::{loop_of, tile};

/// The operands of a micro-kernel in which they do.
pub(crate) fn conflicts(kernel: &MicroKernel) -> Vec<String> {
    let operand = |(name, stage): (&String, &Stage)| {
        let param = kernel.def.params.iter().find(|param| param.name == *name).expect("what is staged is a tensor");
        let bytes = param.dtype.bytes();
        // Of a window, it is the loop over outputs that moves to neighbours.
        let mut contiguous = param.dims.iter().rev().filter_map(|dim| {
            let loops = dim.terms.iter().map(|(var, _)| loop_of(&kernel.def, var));
            loops.max_by_key(|l| l.role == Role::Spatial)
        });
        let contiguous = contiguous.find(|l| !stage.reduce_outside || l.role == Role::Spatial);
        let contiguous = contiguous.expect("its rows are as long as a variable");
        let row = tile(&kernel.def, &kernel.blocked, contiguous) + stage.pad;
        let (name, shape) = (name.as_str().into(), vec![Expr::Int(row)]);
        let buffer = Buffer { name, dtype: param.dtype, shape, scope: Scope::Shared, swizzle: stage.swizzle };
        let swizzle = Swizzle::of(&buffer);
        let at = |[down, across]: [i64; 2]| (down * row + swizzle.map_or(across, |s| s.at(down, across))) * bytes;
        let lanes: Vec<i64> = match bytes == 4 && contiguous.role == Role::Spatial {
            // 32 lanes read an element of 4 bytes each, 8 of each of 4 rows.
            true => (0..32).map(|lane| at([lane % 4, lane / 4])).collect(),
            // ldmatrix reads 8 rows of 16 bytes at once.
            false => (0..8).map(|row| at([row, 0])).collect(),
        };
        let width = 128 / lanes.len() as i64;
        let places: BTreeSet<i64> = lanes.iter().map(|at| at % 128 / width).collect();
        let collides = places.len() < lanes.len() || lanes.iter().any(|at| at % width != 0);
        collides.then(|| format!("`{}` in rows of {row} elements", param.name))
    };
    kernel.blocked.stage.iter().filter_map(operand).collect()
}
