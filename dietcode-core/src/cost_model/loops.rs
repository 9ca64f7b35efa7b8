//! What every count of loops needs of an expression: its value at a shape, whether it moves with a loop, what it computes.

use crate::ir::function::row;
use crate::ir::{BinaryOp, DType, Expr, Name, holds};

/// The value of an integer expression; variables that `value` does not know should be 0, as in the first block.
pub fn count(e: &Expr, value: &impl Fn(&str) -> f64) -> f64 {
    let sub = |e: &Expr| count(e, value);
    match e {
        Expr::Int(n) => *n as f64,
        Expr::Float(x) => *x,
        Expr::Var(name) => value(name),
        Expr::Binary(op, a, b) => {
            let (a, b) = (sub(a), sub(b));
            match op {
                BinaryOp::Add => a + b,
                BinaryOp::Sub => a - b,
                BinaryOp::Mul => a * b,
                BinaryOp::Div => (a / b).floor(),
                BinaryOp::Mod => a - b * (a / b).floor(),
                BinaryOp::Min => a.min(b),
                BinaryOp::Max => a.max(b),
                BinaryOp::And => f64::from(a != 0.0 && b != 0.0),
            }
        }
        Expr::Compare(op, a, b) => f64::from(holds(*op, &sub(a), &sub(b))),
        Expr::Select(c, a, b) => sub(if sub(c) != 0.0 { a } else { b }),
        Expr::Cast(_, e) => sub(e),
        Expr::Load(..) | Expr::Call(..) => 0.0,
    }
}

/// Whether an expression changes with a variable, also through what a `let` stands for.
pub(super) fn moves(e: &Expr, var: &str, lets: &[(Name, Expr)]) -> bool {
    let through = |(at, (name, value)): (usize, &(Name, Expr))| e.uses(name) && moves(value, var, &lets[..at]);
    e.uses(var) || lets.iter().enumerate().any(through)
}

/// Instructions on elements of the type that is stored; indices and conditions on them are not counted. A product of integers of 32 bits is two,
/// and none is fused with a sum.
pub(super) fn instructions(e: &Expr, stored: DType) -> f64 {
    let instructions = |e: &Expr| instructions(e, stored);
    match e {
        Expr::Binary(op, a, b) => {
            let product = |e: &Expr| matches!(e, Expr::Binary(BinaryOp::Mul, ..));
            let fused = *op == BinaryOp::Add && (product(a) || product(b));
            let own = match (stored.is_integer(), op) {
                (true, BinaryOp::Mul) => 2.0,
                (false, _) if fused => 0.0,
                _ => 1.0,
            };
            instructions(a) + instructions(b) + own
        }
        Expr::Compare(_, a, b) => instructions(a) + instructions(b) + 1.0,
        Expr::Select(_, a, b) => instructions(a) + instructions(b) + 1.0,
        Expr::Call(function, arguments) => {
            arguments.iter().map(instructions).sum::<f64>() + row(*function).instructions
        }
        Expr::Cast(_, e) if e.is_element() => instructions(e) + 1.0,
        Expr::Int(_) | Expr::Float(_) | Expr::Var(_) | Expr::Load(..) | Expr::Cast(..) => 0.0,
    }
}
