//! Work on a box of elements that all threads of a block share: the n-th vector goes to thread `n % threads`.
//!
//! ```text
//! for f in 0..steps
//!   let e = t
//!   let c_i = f·(threads / 2) + e / 2; let c_k = e % 2 · 4        neighbours in memory go to neighbouring threads
//! ```
//!
//! The coordinates are the digits of `f·threads + t`. Where rows of the box and threads divide each other, each digit is one of `f` and
//! one of `t`: once the loop over `f` is unrolled, what its iterations address lies constants apart.

use std::ops::{Add, Div, Mul, Rem};

use crate::ir::{Expr, ForKind, Name, Stmt};

/// A box, and who works on it.
pub(super) struct Cooperative<'a> {
    /// The number of a thread in its block, and how many there are.
    pub(super) threads: &'a (Expr, i64),
    /// Coordinates and extents, outermost first.
    pub(super) dims: Vec<(Name, i64)>,
    /// How many neighbours along the last dimension are taken at once; they divide it.
    pub(super) lanes: i64,
    /// The loop over a thread's vectors, and the number of the first of them.
    pub(super) step: Name,
    pub(super) element: Name,
}

impl Cooperative<'_> {
    /// The loop of a thread over its vectors around a statement, in which the coordinates are bound.
    pub(super) fn around(self, body: Stmt) -> Stmt {
        let (thread, threads) = self.threads;
        let count = self.dims.iter().map(|(_, extent)| extent).product::<i64>() / self.lanes;
        let steps = (count + threads - 1) / threads;
        let high = if steps > 1 { Expr::Var(self.step.clone()) } else { Expr::Int(0) };
        let number = |low: Expr| Number { high: high.clone(), low, range: *threads };
        let more = number(thread.clone()).value().lt(Expr::Int(count));
        let more = if count % threads == 0 { Expr::Int(1) } else { more };
        let body = self.coordinates(number(Expr::Var(self.element.clone())), body);
        let body =
            Stmt::if_(more, Stmt::Let { var: self.element.clone(), value: thread.clone(), body: Box::new(body) });
        if steps > 1 { Stmt::for_(self.step, Expr::Int(steps), ForKind::Serial, body) } else { body }
    }

    /// Binds the coordinates of the n-th vector.
    fn coordinates(&self, mut n: Number, mut body: Stmt) -> Stmt {
        for (at, (var, extent)) in self.dims.iter().enumerate().rev() {
            let lanes = if at + 1 == self.dims.len() { self.lanes } else { 1 };
            let (own, rest) = if at == 0 { (n.value(), n) } else { n.digit(extent / lanes) };
            n = rest;
            body = Stmt::Let { var: var.clone(), value: own.mul(Expr::Int(lanes)), body: Box::new(body) };
        }
        body
    }
}

/// `high · range + low`, where `low` is in `0..range`.
struct Number {
    high: Expr,
    low: Expr,
    range: i64,
}

impl Number {
    fn value(&self) -> Expr {
        self.high.clone().mul(Expr::Int(self.range)).add(self.low.clone())
    }

    /// The last digit to a base, and what is before it.
    fn digit(self, base: i64) -> (Expr, Number) {
        let by = Expr::Int(base);
        if self.range == base {
            return (self.low, Number { high: self.high, low: Expr::Int(0), range: 1 });
        }
        if self.range % base == 0 {
            let Number { high, low, range } = self;
            return (low.clone().rem(by.clone()), Number { high, low: low.div(by), range: range / base });
        }
        if base % self.range == 0 {
            let more = Expr::Int(base / self.range);
            let digit = Number { high: self.high.clone().rem(more.clone()), ..self };
            return (digit.value(), Number { high: self.high.div(more), low: Expr::Int(0), range: 1 });
        }
        let whole = self.value();
        (whole.clone().rem(by.clone()), Number { high: whole.div(by), low: Expr::Int(0), range: 1 })
    }
}
