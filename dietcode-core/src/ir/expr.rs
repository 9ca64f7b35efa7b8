//! Expressions: integers (indices, extents, conditions) and elements of tensors.
//!
//! The constructors fold constants and drop neutral elements, so a tree that is built with them, or rebuilt by
//! [`Expr::map`], is simplified. Integers are never negative where they are divided, so C's `/` is the floor.

use std::ops::{Add, Div, Mul, Rem, Sub};
use std::sync::Arc;

pub use dietcode_syntax::{CompareOp, DType, Function, ReduceOp};

use super::{Buffer, Name};

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// An integer constant.
    Int(i64),
    /// An element constant.
    Float(f64),
    /// A loop variable, a shape variable or a `let`.
    Var(Name),
    /// `a op b`, both integers or both elements.
    Binary(BinaryOp, Arc<Expr>, Arc<Expr>),
    /// `a op b`, a condition.
    Compare(CompareOp, Arc<Expr>, Arc<Expr>),
    /// `if condition { a } else { b }`; only the chosen side is evaluated.
    Select(Arc<Expr>, Arc<Expr>, Arc<Expr>),
    /// An element of a buffer, as a number of the type that the program computes in, whatever the buffer's type is.
    Load(Arc<Buffer>, Vec<Expr>),
    /// A conversion from an integer: of an index, or of an element that is computed in `i32`.
    Cast(DType, Arc<Expr>),
    /// An elementwise function; the exponent of `powi` is an [`Expr::Int`].
    Call(Function, Vec<Expr>),
}

/// Binary operators. `Mod` is for integers, `And` for conditions. `Min` and `Max` of elements are how a reduction takes a term, the
/// second operand: where it is smaller or larger than the first. So of a NaN and a number they are the first operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    /// `a + b`
    Add,
    /// `a - b`
    Sub,
    /// `a * b`
    Mul,
    /// `a / b`
    Div,
    /// `a % b`
    Mod,
    /// the smaller one
    Min,
    /// the larger one
    Max,
    /// both hold
    And,
}

impl Expr {
    /// A variable.
    pub fn var(name: impl Into<Name>) -> Expr {
        Expr::Var(name.into())
    }

    /// The value of an integer constant.
    pub fn as_int(&self) -> Option<i64> {
        match self {
            Expr::Int(value) => Some(*value),
            _ => None,
        }
    }

    /// `a op b`, folded.
    pub fn binary(op: BinaryOp, a: Expr, b: Expr) -> Expr {
        use BinaryOp::*;
        if let Some(folded) = fold(op, &a, &b) {
            return folded;
        }
        match (op, &a, &b) {
            (Add, Expr::Int(0), _) | (Mul, Expr::Int(1), _) => b,
            (Add | Sub, _, Expr::Int(0)) | (Mul | Div, _, Expr::Int(1)) => a,
            (Mul, _, Expr::Int(0)) | (Mul, Expr::Int(0), _) | (Mod, _, Expr::Int(1)) => Expr::Int(0),
            (Mul, Expr::Int(_), _) if b.as_int().is_none() => Expr::binary(Mul, b, a),
            (And, Expr::Int(0), _) | (And, _, Expr::Int(1)) => a,
            (And, Expr::Int(1), _) | (And, _, Expr::Int(0)) => b,
            (Min | Max, _, _) | (And, _, _) if a == b => a,
            (Add, Expr::Binary(Add, x, c), _) if fold(Add, c, &b).is_some() => {
                fold(Add, c, &b).into_iter().fold((**x).clone(), Expr::add)
            }
            _ => Expr::Binary(op, Arc::new(a), Arc::new(b)),
        }
    }

    /// The smaller one.
    pub fn min(self, other: Expr) -> Expr {
        Expr::binary(BinaryOp::Min, self, other)
    }

    /// The larger one.
    pub fn max(self, other: Expr) -> Expr {
        Expr::binary(BinaryOp::Max, self, other)
    }

    /// Both hold.
    pub fn and(self, other: Expr) -> Expr {
        Expr::binary(BinaryOp::And, self, other)
    }

    /// `⌈self / divisor⌉`.
    pub fn ceil_div(self, divisor: i64) -> Expr {
        self.add(Expr::Int(divisor - 1)).div(Expr::Int(divisor))
    }

    /// `a op b`, folded if both are constants.
    pub fn compare(op: CompareOp, a: Expr, b: Expr) -> Expr {
        match (&a, &b) {
            (Expr::Int(x), Expr::Int(y)) => Expr::Int(i64::from(holds(op, x, y))),
            _ => Expr::Compare(op, Arc::new(a), Arc::new(b)),
        }
    }

    /// `self < other`.
    pub fn lt(self, other: Expr) -> Expr {
        Expr::compare(CompareOp::Lt, self, other)
    }

    /// `if condition { then } else { otherwise }`, folded if the condition is constant.
    pub fn select(condition: Expr, then: Expr, otherwise: Expr) -> Expr {
        match condition {
            Expr::Int(0) => otherwise,
            Expr::Int(_) => then,
            _ if then == otherwise => then,
            _ => Expr::Select(Arc::new(condition), Arc::new(then), Arc::new(otherwise)),
        }
    }

    /// Rebuilds the tree bottom up: every node is first rebuilt from its children, then replaced by `f` if it says so.
    pub fn map(&self, f: &mut impl FnMut(&Expr) -> Option<Expr>) -> Expr {
        self.rewrite(f).unwrap_or_else(|| self.clone())
    }

    /// The same, or none if nothing was replaced: then nothing is copied either.
    pub fn rewrite(&self, f: &mut impl FnMut(&Expr) -> Option<Expr>) -> Option<Expr> {
        let or = |new: Option<Expr>, old: &Expr| new.unwrap_or_else(|| old.clone());
        let rebuilt = match self {
            Expr::Int(_) | Expr::Float(_) | Expr::Var(_) => None,
            Expr::Binary(op, a, b) => match (a.rewrite(f), b.rewrite(f)) {
                (None, None) => None,
                (x, y) => Some(Expr::binary(*op, or(x, a), or(y, b))),
            },
            Expr::Compare(op, a, b) => match (a.rewrite(f), b.rewrite(f)) {
                (None, None) => None,
                (x, y) => Some(Expr::compare(*op, or(x, a), or(y, b))),
            },
            Expr::Select(c, a, b) => match (c.rewrite(f), a.rewrite(f), b.rewrite(f)) {
                (None, None, None) => None,
                (x, y, z) => Some(Expr::select(or(x, c), or(y, a), or(z, b))),
            },
            Expr::Load(buffer, index) => rewrite_all(index, f).map(|index| Expr::Load(buffer.clone(), index)),
            Expr::Cast(dtype, a) => a.rewrite(f).map(|a| Expr::Cast(*dtype, Arc::new(a))),
            Expr::Call(function, args) => rewrite_all(args, f).map(|args| Expr::Call(*function, args)),
        };
        match rebuilt {
            None => f(self),
            Some(rebuilt) => Some(f(&rebuilt).unwrap_or(rebuilt)),
        }
    }

    /// Replaces a variable.
    pub fn substitute(&self, name: &str, value: &Expr) -> Expr {
        self.map(&mut |e| e.is_var(name).then(|| value.clone()))
    }

    /// Whether it is this variable.
    fn is_var(&self, name: &str) -> bool {
        matches!(self, Expr::Var(n) if &**n == name)
    }

    /// Whether it is an element, not an index or a condition.
    pub(crate) fn is_element(&self) -> bool {
        match self {
            Expr::Load(..) | Expr::Float(_) | Expr::Call(..) | Expr::Cast(..) => true,
            Expr::Binary(_, a, b) | Expr::Select(_, a, b) => a.is_element() || b.is_element(),
            Expr::Int(_) | Expr::Var(_) | Expr::Compare(..) => false,
        }
    }

    /// Calls `f` on every node, parents first.
    pub fn visit<'a>(&'a self, f: &mut impl FnMut(&'a Expr)) {
        self.any(&mut |e| {
            f(e);
            false
        });
    }

    /// Whether a variable occurs.
    pub fn uses(&self, name: &str) -> bool {
        self.any(&mut |e| e.is_var(name))
    }

    /// Whether `is` holds for a node; parents are visited first, and none after the first for which it does.
    pub fn any<'a>(&'a self, is: &mut impl FnMut(&'a Expr) -> bool) -> bool {
        is(self)
            || match self {
                Expr::Int(_) | Expr::Float(_) | Expr::Var(_) => false,
                Expr::Binary(_, a, b) | Expr::Compare(_, a, b) => a.any(is) || b.any(is),
                Expr::Select(c, a, b) => c.any(is) || a.any(is) || b.any(is),
                Expr::Load(_, args) | Expr::Call(_, args) => args.iter().any(|a| a.any(is)),
                Expr::Cast(_, a) => a.any(is),
            }
    }
}

/// Rewrites all of a list; none if nothing was replaced.
fn rewrite_all(list: &[Expr], f: &mut impl FnMut(&Expr) -> Option<Expr>) -> Option<Vec<Expr>> {
    let mut rewritten: Option<Vec<Expr>> = None;
    for (at, e) in list.iter().enumerate() {
        if let Some(new) = e.rewrite(f) {
            rewritten.get_or_insert_with(|| list.to_vec())[at] = new;
        }
    }
    rewritten
}

macro_rules! operators {
    ($($operator:ident :: $method:ident => $op:ident),*) => {
        $(
            impl $operator for Expr {
                type Output = Expr;
                fn $method(self, other: Expr) -> Expr {
                    Expr::binary(BinaryOp::$op, self, other)
                }
            }
        )*
    };
}
operators!(Add::add => Add, Sub::sub => Sub, Mul::mul => Mul, Div::div => Div, Rem::rem => Mod);

/// Folds an operator on two integer constants.
fn fold(op: BinaryOp, a: &Expr, b: &Expr) -> Option<Expr> {
    let (a, b) = (a.as_int()?, b.as_int()?);
    match op {
        BinaryOp::Add => a.checked_add(b),
        BinaryOp::Sub => a.checked_sub(b),
        BinaryOp::Mul => a.checked_mul(b),
        BinaryOp::Div => a.checked_div_euclid(b),
        BinaryOp::Mod => a.checked_rem_euclid(b),
        BinaryOp::Min => Some(a.min(b)),
        BinaryOp::Max => Some(a.max(b)),
        BinaryOp::And => Some(i64::from(a != 0 && b != 0)),
    }
    .map(Expr::Int)
}

/// Whether a comparison holds.
pub fn holds<T: PartialOrd>(op: CompareOp, a: &T, b: &T) -> bool {
    match op {
        CompareOp::Lt => a < b,
        CompareOp::Le => a <= b,
        CompareOp::Gt => a > b,
        CompareOp::Ge => a >= b,
        CompareOp::Eq => a == b,
        CompareOp::Ne => a != b,
    }
}

#[cfg(test)]
mod tests {
    use std::ops::{Add, Mul};

    use super::*;

    /// What is beyond 2⁶³ is not folded, and ends.
    #[test]
    fn constants_that_overflow_stay_as_they_are() {
        let large = Expr::Int(1 << 62);
        let product = large.clone().mul(Expr::Int(4));
        assert_eq!(product, Expr::Binary(BinaryOp::Mul, Arc::new(large.clone()), Arc::new(Expr::Int(4))));
        let sum = Expr::var("n").add(large.clone());
        assert_eq!(sum.clone().add(Expr::Int(1)), Expr::var("n").add(Expr::Int((1 << 62) + 1)));
        assert_eq!(sum.clone().add(large.clone()), Expr::Binary(BinaryOp::Add, Arc::new(sum), Arc::new(large)));
    }
}
