//! The operators by which a nest reduces: the one table of them.
//!
//! A new one is a row here, the form in which a nest writes it (`reduction.rs`), and what a C and a CUDA file call it. It is
//! associative and commutative: terms are combined in any order and grouping.

use crate::{BinaryOp, DType, Function};

/// What an accumulator and a term become.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReduceOp {
    /// `acc + term`
    Sum,
    /// `acc * term`
    Prod,
    /// `if term > acc { term } else { acc }`: a term that is NaN is passed over, and an accumulator that is NaN stays.
    Max,
    /// `if term < acc { term } else { acc }`
    Min,
}

impl ReduceOp {
    /// All of them.
    pub const ALL: [ReduceOp; 4] = [ReduceOp::Sum, ReduceOp::Prod, ReduceOp::Max, ReduceOp::Min];

    /// What it is called in a sentence.
    pub const fn name(self) -> &'static str {
        match self {
            ReduceOp::Sum => "sum",
            ReduceOp::Prod => "product",
            ReduceOp::Max => "maximum",
            ReduceOp::Min => "minimum",
        }
    }

    /// The element that changes nothing: the result of no terms, and what a part of a reduction starts with.
    pub const fn identity(self, dtype: DType) -> f64 {
        let [least, most] = match dtype.range() {
            Some([least, most]) => [least as f64, most as f64],
            None => [f64::NEG_INFINITY, f64::INFINITY],
        };
        match self {
            ReduceOp::Sum => 0.0,
            ReduceOp::Prod => 1.0,
            ReduceOp::Max => least,
            ReduceOp::Min => most,
        }
    }

    /// The value of an accumulator and a term.
    pub fn apply(self, acc: f64, term: f64) -> f64 {
        match self {
            ReduceOp::Sum => acc + term,
            ReduceOp::Prod => acc * term,
            ReduceOp::Max if term > acc => term,
            ReduceOp::Min if term < acc => term,
            ReduceOp::Max | ReduceOp::Min => acc,
        }
    }

    /// How a nest writes it.
    pub(crate) const fn form(self) -> Form {
        match self {
            ReduceOp::Sum => Form::Operator(BinaryOp::Add),
            ReduceOp::Prod => Form::Operator(BinaryOp::Mul),
            ReduceOp::Max => Form::Method(Function::Max),
            ReduceOp::Min => Form::Method(Function::Min),
        }
    }

    /// The reduction of a form.
    pub(crate) fn of(form: Form) -> Option<ReduceOp> {
        ReduceOp::ALL.into_iter().find(|op| op.form() == form)
    }
}

/// How an operator is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// `acc += term`
    Operator(BinaryOp),
    /// `acc = acc.max(term)`
    Method(Function),
}
