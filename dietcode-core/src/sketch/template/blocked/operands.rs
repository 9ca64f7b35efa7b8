//! Which loops of a nest are the rows, the columns and the steps of a matrix instruction.

use dietcode_syntax::Role;

use super::Blocked;
use crate::ir::{BinaryOp, Block, DType, Expr, Name, Reduction};
use crate::schedule::MatrixUnit;

/// The loops that a matrix unit takes pieces of: 16 rows, 8 columns, `steps` steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::sketch) struct Operands {
    pub(in crate::sketch) unit: MatrixUnit,
    pub(in crate::sketch) row: Name,
    pub(in crate::sketch) column: Name,
    pub(in crate::sketch) step: Name,
}

pub(in crate::sketch) const ROWS: i64 = 16;
pub(in crate::sketch) const COLUMNS: i64 = 8;

impl Blocked {
    /// The loops for the matrix unit, if there is one.
    ///
    /// # Errors
    /// A sentence that says what of a matrix product the nest lacks.
    pub(super) fn operands(&self, block: &Block, computes: DType) -> Result<Option<Operands>, String> {
        let Some(unit) = self.matrix_unit else { return Ok(None) };
        let holds = |name: &Name| self.reduce.get(&**name).is_some_and(|tile| tile % unit.steps() == 0);
        Operands::of(block, computes, unit, holds).map(Some)
    }
}

impl Operands {
    /// The columns along the output's contiguous loop, the rows along the last loop over which only the other operand moves,
    /// the steps along the last reduction whose tile holds an instruction's.
    ///
    /// # Errors
    /// A sentence that says what of a matrix product the nest lacks.
    pub(in crate::sketch) fn of(
        block: &Block,
        computes: DType,
        unit: MatrixUnit,
        holds: impl Fn(&Name) -> bool,
    ) -> Result<Operands, String> {
        let product = block.reduction.as_ref().and_then(Reduction::summed);
        let Some(Expr::Binary(BinaryOp::Mul, a, b)) = product else {
            return Err("matrix_unit: the reduction is no sum of products of two tensors".into());
        };
        let (Expr::Load(a, a_index), Expr::Load(b, b_index)) = (&**a, &**b) else {
            return Err("matrix_unit: the factors are not elements of tensors as they stand".into());
        };
        if let Some(other) = [a, b].into_iter().find(|buffer| !unit.takes(buffer.dtype, computes)) {
            let (name, dtype) = (&other.name, other.dtype);
            return Err(match computes {
                DType::F64 => format!("matrix_unit: sums are in f64, and {unit:?} adds in f32"),
                _ => format!("matrix_unit: `{name}` is {dtype}, which {unit:?} does not multiply"),
            });
        }
        if a.dtype != b.dtype {
            return Err(format!("matrix_unit: `{}` is {} and `{}` is {}", a.name, a.dtype, b.name, b.dtype));
        }
        let moves = |index: &[Expr], name: &str| index.iter().any(|e| e.uses(name));
        let Some(Expr::Var(column)) = block.output_index.last() else {
            return Err("matrix_unit: the output's last index is not a loop".into());
        };
        let (with, without) = match (moves(a_index, column), moves(b_index, column)) {
            (true, false) => (a_index, b_index),
            (false, true) => (b_index, a_index),
            _ => return Err(format!("matrix_unit: not exactly one of the factors moves along `{column}`")),
        };
        let row = block.iters_of(Role::Spatial).map(|iter| &iter.name);
        let row = row.filter(|name| moves(without, name) && !moves(with, name)).last();
        let row = row.ok_or("matrix_unit: no loop moves the factor that has the rows alone")?;
        let steps = block.iters_of(Role::Reduce).map(|iter| &iter.name);
        let step = steps.filter(|name| holds(name)).last();
        let step = step.ok_or_else(|| format!("reduce: no loop's tile is a multiple of the {} steps", unit.steps()))?;
        Ok(Operands { unit, row: row.clone(), column: column.clone(), step: step.clone() })
    }
}
