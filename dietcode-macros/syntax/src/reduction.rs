//! Which reduction an assignment under a loop is, by its form.
//!
//! ```text
//! acc += e      acc = acc + e      acc -= e                    a sum
//! acc *= e      acc = e * acc                                  a product
//! acc = acc.max(e)      acc = f32::max(e, acc)                 a maximum; `min` is a minimum
//! acc = if e > acc { e } else { acc }                          a maximum, in any order of the sides
//! ```

use crate::element::arithmetic;
use crate::nest::Assign;
use crate::reduce::Form;
use crate::scope::{associated, plain};
use crate::{BinaryOp, DType, Function, ReduceOp};
use syn::{BinOp, Block, Expr, ExprIf};

/// What an assignment combines its target with.
#[derive(Clone, Copy)]
pub(crate) struct Term<'e> {
    pub(crate) op: ReduceOp,
    /// Whether it is subtracted.
    pub(crate) negative: bool,
    pub(crate) value: &'e Expr,
}

impl<'e> Term<'e> {
    /// None: the assignment is no reduction of its target.
    pub(crate) fn of(assign: &Assign<'e>, computes: DType) -> Option<Term<'e>> {
        let other = |a: &'e Expr, b: &'e Expr| match (same(a, assign.target), same(b, assign.target)) {
            (true, _) => Some(b),
            (_, true) => Some(a),
            _ => None,
        };
        let (form, negative, value) = match (assign.op, plain(assign.value)) {
            (Some(BinaryOp::Sub), _) => (Form::Operator(BinaryOp::Add), true, assign.value),
            (Some(op), _) => (Form::Operator(op), false, assign.value),
            (None, Expr::Binary(binary)) => match arithmetic(&binary.op)? {
                BinaryOp::Sub if same(&binary.left, assign.target) => {
                    (Form::Operator(BinaryOp::Add), true, &*binary.right)
                }
                op => (Form::Operator(op), false, other(&binary.left, &binary.right)?),
            },
            (None, Expr::MethodCall(call)) => {
                let function = Function::method(&call.method.to_string())?;
                (Form::Method(function), false, other(&call.receiver, call.args.first()?)?)
            }
            (None, Expr::Call(call)) => {
                let function = Function::method(&associated(&call.func, computes)?.to_string())?;
                let (a, b) = (call.args.first()?, call.args.get(1)?);
                (Form::Method(function), false, other(a, b)?)
            }
            (None, Expr::If(choice)) => {
                let (function, [a, b]) = larger_or_smaller(choice)?;
                (Form::Method(function), false, other(a, b)?)
            }
            _ => return None,
        };
        Some(Term { op: ReduceOp::of(form)?, negative, value })
    }
}

/// `if a > b { a } else { b }` and its like: which of both is taken.
fn larger_or_smaller(choice: &ExprIf) -> Option<(Function, [&Expr; 2])> {
    let Expr::Binary(condition) = plain(&choice.cond) else { return None };
    let left_is_larger = match condition.op {
        BinOp::Gt(_) | BinOp::Ge(_) => true,
        BinOp::Lt(_) | BinOp::Le(_) => false,
        _ => return None,
    };
    let Expr::Block(otherwise) = plain(&choice.else_branch.as_ref()?.1) else { return None };
    let taken = [only_value(&choice.then_branch)?, only_value(&otherwise.block)?];
    let sides @ [left, right] = [&*condition.left, &*condition.right];
    let are = |expected: [&Expr; 2]| taken.iter().zip(expected).all(|(a, b)| same(a, b));
    let takes_left = if are(sides) { true } else { are([right, left]).then_some(false)? };
    Some((if left_is_larger == takes_left { Function::Max } else { Function::Min }, sides))
}

/// The value of a block that is nothing else.
fn only_value(block: &Block) -> Option<&Expr> {
    match &block.stmts[..] {
        [syn::Stmt::Expr(value, None)] => Some(value),
        _ => None,
    }
}

fn same(a: &Expr, b: &Expr) -> bool {
    plain(a) == plain(b)
}
