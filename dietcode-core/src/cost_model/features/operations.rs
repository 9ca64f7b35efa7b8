//! What a store computes: operations by their kind, as TVM counts them (`ArithOps` of `per_store_feature.cc`).

use super::index::Index;
use crate::ir::{BinaryOp, Expr, Function};

/// How many kinds there are: seven of elements, the same seven of integers, `and`, and choices.
pub(super) const KINDS: usize = 16;
const INTEGERS: usize = 7;

/// Counts in the order of [`super::per_store::NAMES`]: mad, addsub, mul, divmod, cmp, mathfunc, otherfunc, first of elements, then
/// of integers; bool_op, select_op.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Operations(pub(super) [i64; KINDS]);

const MAD: usize = 0;
const ADD: usize = 1;
const MUL: usize = 2;
const DIV: usize = 3;
const CMP: usize = 4;
const MATH: usize = 5;
const BOOL: usize = 14;
const SELECT: usize = 15;

impl Operations {
    /// Of an expression on elements, without the indices of what it loads.
    pub(super) fn of(e: &Expr, choice_is_call: bool) -> Operations {
        let mut counts = Operations::default();
        counts.visit(e, choice_is_call);
        counts
    }

    fn visit(&mut self, e: &Expr, choice_is_call: bool) {
        let mut sub = |e: &Expr| self.visit(e, choice_is_call);
        match e {
            // Indices that are compared are counted where they are simplified.
            Expr::Compare(_, a, b) if !a.is_element() && !b.is_element() => {}
            Expr::Binary(_, a, b) | Expr::Compare(_, a, b) => [a, b].into_iter().for_each(|e| sub(e)),
            Expr::Select(c, a, b) => [c, a, b].into_iter().for_each(|e| sub(e)),
            Expr::Cast(_, e) => sub(e),
            Expr::Call(_, arguments) => arguments.iter().for_each(sub),
            Expr::Int(_) | Expr::Float(_) | Expr::Var(_) | Expr::Load(..) => {}
        }
        let typed = |kind| kind + if e.is_element() { 0 } else { INTEGERS };
        match e {
            Expr::Binary(op, ..) => {
                self.0[match op {
                    BinaryOp::Add | BinaryOp::Sub => typed(ADD),
                    BinaryOp::Mul => typed(MUL),
                    BinaryOp::Div | BinaryOp::Mod => typed(DIV),
                    BinaryOp::Min | BinaryOp::Max => typed(CMP),
                    BinaryOp::And => BOOL,
                }] += 1;
            }
            // What a comparison gives is no element, whatever is compared.
            Expr::Compare(..) => self.0[INTEGERS + CMP] += 1,
            Expr::Select(..) if choice_is_call => self.0[typed(MATH)] += 1,
            Expr::Select(..) => self.0[SELECT] += 1,
            Expr::Call(function, _) => match function {
                Function::MulAdd => self.0[MAD] += 1,
                Function::Neg => self.0[MUL] += 1,
                Function::Max | Function::Min => self.0[CMP] += 1,
                Function::Clamp => self.0[CMP] += 2,
                _ => self.0[MATH] += 1,
            },
            Expr::Int(_) | Expr::Float(_) | Expr::Var(_) | Expr::Load(..) | Expr::Cast(..) => {}
        }
    }

    /// Adds what one evaluation of an index takes.
    pub(super) fn index(&mut self, index: &Index) {
        let [add, mul, div] = index.operations();
        self.0[INTEGERS + ADD] += add;
        self.0[INTEGERS + MUL] += mul;
        self.0[INTEGERS + DIV] += div;
    }

    pub(super) fn float_mad(&mut self, count: i64) {
        self.0[MAD] += count;
    }

    pub(super) fn float_add(&mut self, count: i64) {
        self.0[ADD] += count;
    }

    /// All operations on elements.
    pub(super) fn floats(&self) -> i64 {
        self.0[..INTEGERS].iter().sum()
    }

    /// Additions, multiplications and divisions of elements.
    pub(super) fn arithmetic(&self) -> [i64; 3] {
        let [mad, add, mul, div, ..] = self.0;
        [add + mad, mul + mad, div]
    }
}
