//! Whether the lanes of a warp that read an operand of a matrix instruction meet in a bank of shared memory, which has 32
//! of 4 bytes each.

use std::collections::BTreeSet;

use dietcode_core::sketch::Stage;
use dietcode_syntax::Role;

use super::sets::MicroKernel;
use super::shapes::{loop_of, tile};

/// The operands of a micro-kernel in which they do.
pub(crate) fn conflicts(kernel: &MicroKernel) -> Vec<String> {
    let operand = |(name, stage): (&String, &Stage)| {
        let param = kernel.def.params.iter().find(|param| param.name == *name).expect("what is staged is a tensor");
        let bytes = param.dtype.bytes();
        let (row, _) = param.dims.last().and_then(|dim| dim.terms.first()).expect("its rows are as long as a variable");
        let contiguous = loop_of(&kernel.def, row);
        let row = tile(&kernel.blocked, contiguous) + stage.pad;
        let collides =
            if bytes == 4 && contiguous.role == Role::Spatial { one_by_one(row) } else { by_rows(row * bytes) };
        collides.then(|| format!("`{name}` in rows of {row} elements"))
    };
    kernel.blocked.stage.iter().filter_map(operand).collect()
}

/// ldmatrix reads 8 rows of 16 bytes at once.
fn by_rows(row_bytes: i64) -> bool {
    let quads: BTreeSet<i64> = (0..8).map(|row| row * row_bytes % 128 / 16).collect();
    row_bytes % 16 != 0 || quads.len() < 8
}

/// 32 lanes read an element of 4 bytes each, 8 of each of 4 rows.
fn one_by_one(row: i64) -> bool {
    let banks: BTreeSet<i64> = (0..32).map(|lane| (lane % 4 * row + lane / 4) % 32).collect();
    banks.len() < 32
}
