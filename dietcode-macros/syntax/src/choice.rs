//! Choices by a comparison, as a value and around the loops of a sum.

use crate::error::Problem;
use crate::scope::{Scope, plain};
use crate::text::{number, text};
use crate::{CompareOp, Condition, DType, Expr};
use syn::{BinOp, ExprIf};

impl Scope<'_> {
    pub(crate) fn select(&mut self, branches: &ExprIf, depth: usize) -> Option<Expr> {
        let condition = self.condition(&branches.cond, depth);
        let then = self.branch(&branches.then_branch, depth);
        let Some((_, otherwise)) = &branches.else_branch else {
            return self.fail(branches.if_token, Problem::NoElse);
        };
        let otherwise = self.value_at(otherwise, depth);
        let (op, lhs, rhs) = condition?;
        Some(Expr::Select {
            op,
            lhs: Box::new(lhs),
            rhs: Box::new(rhs),
            then: Box::new(then?),
            otherwise: Box::new(otherwise?),
        })
    }

    /// The condition around the loops of a sum: it is of scalars and literals, so that a call decides it once.
    pub(crate) fn condition_of_sum(&mut self, expr: &syn::Expr) -> Option<Condition> {
        let (op, lhs, rhs) = self.condition(expr, 0)?;
        let varies = |e: &Expr| match e {
            Expr::Load { index, .. } => !index.is_empty(),
            other => matches!(other, Expr::Index(_)),
        };
        if lhs.any(&varies) || rhs.any(&varies) {
            return self.fail(expr, Problem::ConditionVaries { found: text(expr) });
        }
        Some(Condition { op, lhs, rhs })
    }

    fn condition(&mut self, condition: &syn::Expr, depth: usize) -> Option<(CompareOp, Expr, Expr)> {
        let condition = plain(condition);
        if self.computes == DType::I32 {
            let instead = match self.signature.computes {
                DType::I32 => "",
                _ => ", or choose once the finished sum is converted, `acc as f32`",
            };
            return self
                .fail(condition, Problem::IntegerChoice { found: text(condition), instead: instead.to_string() });
        }
        let comparison = match condition {
            syn::Expr::Binary(binary) => comparison(&binary.op).map(|op| (op, binary)),
            _ => None,
        };
        let Some((op, binary)) = comparison else {
            return self.fail(condition, Problem::Condition { found: text(condition) });
        };
        let sides = [&*binary.left, &*binary.right];
        if sides.iter().all(|side| self.is_index(side)) && !sides.iter().all(|side| is_integer(side)) {
            // Behind `as f32`, Rust takes `<` for generic arguments.
            let [left, right] = sides.map(|side| number(side, self.computes));
            let left = if is_integer(sides[0]) { left } else { format!("({left})") };
            let written = format!("{left} {op} {right}");
            return self.fail(condition, Problem::IndexCompared { found: text(condition), written });
        }
        let lhs = self.value_at(&binary.left, depth);
        let rhs = self.value_at(&binary.right, depth);
        Some((op, lhs?, rhs?))
    }
}

fn comparison(op: &BinOp) -> Option<CompareOp> {
    Some(match op {
        BinOp::Lt(_) => CompareOp::Lt,
        BinOp::Le(_) => CompareOp::Le,
        BinOp::Gt(_) => CompareOp::Gt,
        BinOp::Ge(_) => CompareOp::Ge,
        BinOp::Eq(_) => CompareOp::Eq,
        BinOp::Ne(_) => CompareOp::Ne,
        _ => return None,
    })
}

/// Whether an expression is an integer as it is written.
fn is_integer(expr: &syn::Expr) -> bool {
    matches!(plain(expr), syn::Expr::Lit(_))
}
