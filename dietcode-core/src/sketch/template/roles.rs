//! What the loops of a nest are to a product of two tensors: rows, columns, batches and steps.

use dietcode_syntax::Role;

use crate::ir::{BinaryOp, Block, Buffer, Expr, IterVar, Name, Reduction};

/// Lanes of vectors, widest first.
const LANES: [i64; 5] = [16, 8, 4, 2, 1];

/// The roles of the loops, of several in a role the innermost; the others are gone through one by one.
pub(super) struct Roles {
    /// Moves the first operand only.
    pub(super) rows: Name,
    /// Moves the second only.
    pub(super) columns: Name,
    /// Moves both, if there is one.
    pub(super) batches: Option<Name>,
    /// The sum's.
    pub(super) step: Name,
    /// The sum's other loops.
    pub(super) other_steps: Vec<Name>,
    /// The loop along which the output lies contiguous.
    pub(super) contiguous: Name,
    /// First and second.
    pub(super) operands: [Operand; 2],
}

/// A factor of the product.
pub(super) struct Operand {
    pub(super) name: String,
    /// The loop along which it lies contiguous, one step by one; none: no loop does that alone.
    pub(super) contiguous: Option<Name>,
    index: Vec<Expr>,
}

impl Roles {
    /// The roles of a block's loops.
    ///
    /// # Errors
    /// A sentence that says what of a product the block lacks.
    pub(super) fn of(block: &Block) -> Result<Roles, String> {
        let operands = operands(block)?;
        let innermost = |role, [first, second]: [bool; 2]| {
            let fits =
                |iter: &&IterVar| [operands[0].moves(&iter.name), operands[1].moves(&iter.name)] == [first, second];
            block.iters_of(role).filter(fits).last().map(|iter| iter.name.clone())
        };
        let [a, b] = operands.each_ref().map(|operand| &operand.name);
        let rows = innermost(Role::Spatial, [true, false]);
        let columns = innermost(Role::Spatial, [false, true]);
        let step = innermost(Role::Reduce, [true, true]);
        let rows = rows.ok_or_else(|| format!("no rows: no loop moves `{a}` and not `{b}`"))?;
        let columns = columns.ok_or_else(|| format!("no columns: no loop moves `{b}` and not `{a}`"))?;
        let step = step.ok_or_else(|| format!("no loop sums over both `{a}` and `{b}`"))?;
        let steps = block.iters_of(Role::Reduce).map(|iter| iter.name.clone());
        Ok(Roles {
            rows,
            columns,
            batches: innermost(Role::Spatial, [true, true]),
            other_steps: steps.filter(|name| *name != step).collect(),
            step,
            contiguous: contiguous(&block.output_index).ok_or_else(|| not_contiguous(block))?,
            operands,
        })
    }

    /// The loop of the batches, if it is the one along which all three tensors lie contiguous.
    ///
    /// # Errors
    /// A sentence that says which of them does not.
    pub(super) fn interleaved(&self, output: &Buffer) -> Result<&Name, String> {
        let batches = self.batches.as_ref().ok_or("no batches: no loop moves both operands")?;
        let tensors = self.operands.iter().map(|operand| (&*operand.name, operand.contiguous.as_ref()));
        let mut tensors = tensors.chain([(&*output.name, Some(&self.contiguous))]);
        match tensors.find(|(_, along)| *along != Some(batches)) {
            None => Ok(batches),
            Some((name, _)) => Err(format!("not interleaved: `{name}` is not contiguous along `{batches}`")),
        }
    }
}

impl Operand {
    /// Whether the operand's element changes with a loop.
    pub(super) fn moves(&self, name: &str) -> bool {
        self.index.iter().any(|e| e.uses(name))
    }
}

/// The two tensors whose products are summed.
fn operands(block: &Block) -> Result<[Operand; 2], String> {
    let update = block.reduction.as_ref().and_then(Reduction::summed);
    let Some(Expr::Binary(BinaryOp::Mul, a, b)) = update else {
        return Err(format!("`{}` does not sum products of two tensors", block.name));
    };
    let operand = |e: &Expr| match e {
        Expr::Load(buffer, index) if !buffer.is_scalar() => {
            Some(Operand { name: buffer.name.to_string(), contiguous: contiguous(index), index: index.clone() })
        }
        _ => None,
    };
    let pair = operand(a).zip(operand(b)).map(|(a, b)| [a, b]);
    pair.ok_or_else(|| format!("`{}` sums products whose factors are not both elements of tensors", block.name))
}

/// The loop along which what stands at an index lies contiguous: it alone makes the last index, and no other.
fn contiguous(index: &[Expr]) -> Option<Name> {
    let (Expr::Var(name), outer) = index.split_last()? else { return None };
    (!outer.iter().any(|e| e.uses(name))).then(|| name.clone())
}

fn not_contiguous(block: &Block) -> String {
    format!("`{}` is not contiguous along one loop", block.output.name)
}

/// The loop along which the output lies contiguous.
///
/// # Errors
/// A sentence: no loop alone makes its last index.
pub(super) fn output_loop(block: &Block) -> Result<Name, String> {
    contiguous(&block.output_index).ok_or_else(|| not_contiguous(block))
}

/// The widest vector that is not wider than asked for, and divides a size.
pub(super) fn lanes(vectorization_size: i64, size: i64) -> i64 {
    LANES.into_iter().find(|lanes| *lanes <= vectorization_size && size % lanes == 0).unwrap_or(1)
}

/// Elements of 4 bytes in a cache line.
///
/// # Errors
/// There is none.
pub(super) fn elements(cache_line_size: i64) -> Result<i64, String> {
    match cache_line_size / 4 {
        0 => Err(format!("cache_line_size: {cache_line_size} bytes hold no element of 4")),
        elements => Ok(elements),
    }
}
