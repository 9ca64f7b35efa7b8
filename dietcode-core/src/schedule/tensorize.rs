//! The primitive `tensorize`.

use std::sync::Arc;

use super::{Instruction, Schedule, Unit, legality};
use crate::Result;
use crate::ir::{BinaryOp, Block, Buffer, DType, DotRow, Expr, ForKind, Name, Reduction};

impl Schedule {
    /// Lets a matrix unit of a GPU carry out the three innermost loops, or an instruction of a CPU the two innermost; TVM's and Exo's
    /// `tensorize`.
    ///
    /// Of the 16 rows of a GPU's instruction, a lane of the warp holds rows `lane / 4` and `lane / 4 + 8`; of the 8 columns,
    /// columns `2·(lane % 4)` and the next. Bound to threads in this way, the accumulators lie where `mma.sync` has them, and
    /// nothing else of a schedule needs to know of matrices:
    ///
    /// ```text
    /// for i_h in 0..2                rows lane / 4 + 8·i_h
    ///   for j_p in 0..2              columns 2·(lane % 4) + j_p             →      tile[…] += mma x · w
    ///     for k_e in 0..16
    ///       tile[…][i_h][j_p] += x[…] · w[…]
    /// ```
    ///
    /// On a CPU the outer of the two loops are the lanes of a vector, and the inner one the steps of a sum that an instruction takes in
    /// each. Panels hold the elements as they are in their tensors, and the operand that moves with the lanes is packed, so that these
    /// steps are neighbours in every lane; so they are in the other operand, packed or as it lies:
    ///
    /// ```text
    /// for j_v in 0..16                                                      vectorized j_v in 0..16
    ///   for k_p in 0..2                                           →           tile[…][j_v] += vdpbf16ps w_panel[…][j_v][0] · x[…][k + 0]
    ///     tile[…][j_v] += x[…][k + k_p] · w_panel[…][j_v][k_p]
    /// ```
    ///
    /// # Errors
    /// The innermost loops do not have these extents; for a CPU, the block is no sum of products of elements that the instruction takes,
    /// or of operands that lie as they must not.
    pub fn tensorize(&mut self, unit: impl Into<Unit>) -> Result<()> {
        let unit = unit.into();
        match unit {
            Unit::Matrix(unit) => {
                legality::tensorize(self, unit)?;
                self.matrix_unit = Some(unit);
            }
            Unit::Dot(dot) => {
                let lanes = legality::dot(self, dot.row())?;
                self.loops[lanes].kind = ForKind::Vectorized;
                self.dot = Some(dot);
            }
        }
        self.record(Instruction::Tensorize(unit));
        Ok(())
    }
}

impl Schedule {
    /// The operand of the lanes of an instruction that shifts the other one (`ir/dot.rs`).
    pub(crate) fn beside_shifted(&self) -> Option<Name> {
        let (row, computes) = (self.dot?.row(), self.program.sums_in());
        let lane = self.loops.iter().find(|l| l.kind == ForKind::Vectorized)?;
        let axis = self.roots(&lane.name).swap_remove(0);
        let [of_lanes, of_all] = factors(&self.block, computes, row, &axis).ok()?.map(|(buffer, _)| buffer);
        row.shifts([of_lanes.dtype, of_all.dtype]).then(|| of_lanes.name.clone())
    }
}

/// A tensor and where it is read.
pub(crate) type ElementRead<'b> = (&'b Arc<Buffer>, &'b [Expr]);

/// The factors of the products that a block sums, if an instruction of a CPU multiplies them: first the one that moves with the lanes.
///
/// # Errors
/// What the block lacks.
pub(crate) fn factors<'b>(
    block: &'b Block,
    computes: DType,
    row: &DotRow,
    lanes: &str,
) -> Result<[ElementRead<'b>; 2], String> {
    let name = row.name;
    if computes != row.accumulator {
        return Err(format!("`{}` is summed in {computes}, and {name} adds in {}", block.name, row.accumulator));
    }
    let Some(Expr::Binary(BinaryOp::Mul, a, b)) = block.reduction.as_ref().and_then(Reduction::summed) else {
        return Err(format!("`{}` sums no products of two elements, which {name} does", block.name));
    };
    let (Expr::Load(a, a_index), Expr::Load(b, b_index)) = (&**a, &**b) else {
        return Err(format!("`{}` sums products of which a factor is no element of a tensor", block.name));
    };
    let moves = |index: &[Expr]| index.iter().any(|e| e.uses(lanes));
    let factors = match (moves(a_index), moves(b_index)) {
        (true, false) => [(a, &a_index[..]), (b, &b_index[..])],
        (false, true) => [(b, &b_index[..]), (a, &a_index[..])],
        _ => {
            return Err(format!(
                "{name} takes one factor that moves with the lanes along `{lanes}`, and one that does not"
            ));
        }
    };
    let found = [factors[0].0.dtype, factors[1].0.dtype];
    if row.pairs().any(|pair| *pair == found) {
        return Ok(factors);
    }
    let both =
        row.pairs().map(|[lanes, all]| if lanes == all { format!("{all}") } else { format!("{lanes} and {all}") });
    let taken = both.collect::<Vec<String>>().join(", or ");
    let [of_lanes, of_all] = factors;
    let other = match row.pairs().any(|[lanes, _]| *lanes == found[0]) {
        true => of_all.0,
        false => of_lanes.0,
    };
    Err(format!("`{}` is {}, and {name} multiplies {taken}", other.name, other.dtype))
}
