//! Indices in the normal form in which features read them: a sum of multiples of loop variables, quotients and remainders.
//!
//! ```text
//! Index = Σ factor · atom + constant        the largest factor first; of one factor, the largest divisor
//! atom  = loop | ⌊Index / divisor⌋ | Index mod divisor | anything else, by its loops and bounds
//! ```
//!
//! Quotients and remainders are reduced as far as TVM does (`src/arith/canonical_simplify.cc`, `rewrite_simplify.cc`), and no
//! further, as features read their text: terms that the divisor divides leave, and so does what cannot carry into the first term.

use std::borrow::Cow;

/// An integer expression of loop variables, each of which begins at 0.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Index {
    pub(super) terms: Vec<(i64, Atom)>,
    pub(super) constant: i64,
}

/// What an index is made of.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Atom {
    /// A loop, by its position in the tree.
    Loop(usize),
    /// A quotient, rounded down.
    Div(Box<Index>, i64),
    /// A remainder.
    Mod(Box<Index>, i64),
    /// Anything else: the loops that it moves with, and between what it lies.
    Other(Vec<usize>, (i64, i64)),
}

impl Atom {
    /// It is `⌊(index mod upper) / lower⌋`, whose upper bound is the largest number where there is no remainder: TVM's `SplitExpr`.
    fn digits(&self) -> (Cow<'_, Index>, i64, i64) {
        match self {
            Atom::Div(inner, lower) => match &inner.terms[..] {
                [(1, Atom::Mod(index, upper))] if inner.constant == 0 => (Cow::Borrowed(index), *lower, *upper),
                _ => (Cow::Borrowed(inner), *lower, i64::MAX),
            },
            Atom::Mod(inner, upper) => (Cow::Borrowed(inner), 1, *upper),
            Atom::Loop(_) | Atom::Other(..) => (Cow::Owned(Index::of(self.clone())), 1, i64::MAX),
        }
    }
}

/// How often each loop runs.
pub(super) type Extents<'a> = &'a dyn Fn(usize) -> i64;

impl Index {
    pub(super) fn constant(constant: i64) -> Index {
        Index { terms: Vec::new(), constant }
    }

    pub(super) fn of(atom: Atom) -> Index {
        Index { terms: vec![(1, atom)], constant: 0 }
    }

    /// A loop variable; of a loop that runs once, its only value.
    pub(super) fn of_loop(at: usize, extents: Extents<'_>) -> Index {
        if extents(at) <= 1 { Index::constant(0) } else { Index::of(Atom::Loop(at)) }
    }

    /// `self + factor · other`.
    pub(super) fn add(mut self, other: &Index, factor: i64) -> Index {
        if factor == 0 {
            return self;
        }
        for (scale, atom) in &other.terms {
            let scale = scale.saturating_mul(factor);
            match self.terms.iter().position(|(_, known)| known == atom) {
                Some(at) => self.terms[at].0 = self.terms[at].0.saturating_add(scale),
                None => self.terms.push((scale, atom.clone())),
            }
        }
        self.constant = self.constant.saturating_add(other.constant.saturating_mul(factor));
        self.terms.retain(|(scale, _)| *scale != 0);
        if let Some((above, below, joined)) = self.digits_of_one() {
            let scale = self.terms[below].0;
            self.terms.remove(above.max(below));
            self.terms.remove(above.min(below));
            return self.add(&joined, scale);
        }
        self.terms.sort_by_key(|(scale, atom)| {
            let (_, lower, upper) = atom.digits();
            std::cmp::Reverse((*scale, lower, upper))
        });
        self
    }

    /// Two terms that are digits of one index, and what they are together:
    /// `⌊x / (c · s)⌋ · s + ⌊(x mod (c · s)) / c⌋ = ⌊x / c⌋`.
    fn digits_of_one(&self) -> Option<(usize, usize, Index)> {
        let together = |(high, above): &(i64, Atom), (low, below): &(i64, Atom)| {
            let ((x, from, to), (y, lower, upper)) = (above.digits(), below.digits());
            let follow = from == upper && high % low == 0 && (high / low).checked_mul(lower) == Some(from) && x == y;
            follow.then(|| Index::of_digits(x.into_owned(), lower, to))
        };
        let places = 0..self.terms.len();
        let mut pairs = places.clone().flat_map(|above| places.clone().map(move |below| (above, below)));
        pairs.find_map(|(above, below)| Some((above, below, together(&self.terms[above], &self.terms[below])?)))
    }

    /// `⌊(index mod upper) / lower⌋`.
    fn of_digits(index: Index, lower: i64, upper: i64) -> Index {
        let rest = if upper == i64::MAX { index } else { Index::of(Atom::Mod(Box::new(index), upper)) };
        if lower == 1 { rest } else { Index::of(Atom::Div(Box::new(rest), lower)) }
    }

    /// `⌊self / divisor⌋` of a positive divisor.
    pub(super) fn div(self, divisor: i64, extents: Extents<'_>) -> Index {
        if divisor == 1 {
            return self;
        }
        let (whole, rest) = self.split(divisor);
        let whole = Index {
            terms: whole.terms.into_iter().map(|(scale, atom)| (scale / divisor, atom)).collect(),
            constant: whole.constant / divisor,
        };
        let (low, high) = rest.range(extents);
        if low.div_euclid(divisor) == high.div_euclid(divisor) {
            return whole.add(&Index::constant(low.div_euclid(divisor)), 1);
        }
        let quotient = match rest.without_carry(divisor, 2, extents) {
            Some((outer, _, step)) => outer.div(divisor / step, extents),
            None => match &rest.terms[..] {
                [(1, Atom::Div(inner, by))] if rest.constant == 0 => {
                    inner.as_ref().clone().div(by.saturating_mul(divisor), extents)
                }
                [(1, Atom::Mod(inner, by))]
                    if rest.constant == 0 && by % divisor == 0 && inner.has_multiple(divisor) =>
                {
                    inner.as_ref().clone().div(divisor, extents).rem(by / divisor, extents)
                }
                _ => Index::of(Atom::Div(Box::new(rest), divisor)),
            },
        };
        whole.add(&quotient, 1)
    }

    /// `self mod divisor` of a positive divisor.
    pub(super) fn rem(self, divisor: i64, extents: Extents<'_>) -> Index {
        if divisor == 1 {
            return Index::constant(0);
        }
        let (_, rest) = self.split(divisor);
        let (low, high) = rest.range(extents);
        if low.div_euclid(divisor) == high.div_euclid(divisor) {
            return rest.add(&Index::constant(-low.div_euclid(divisor) * divisor), 1);
        }
        match rest.without_carry(divisor, 1, extents) {
            Some((outer, inner, step)) => inner.add(&outer.rem(divisor / step, extents), step),
            None => match &rest.terms[..] {
                [(1, Atom::Mod(inner, by))] if rest.constant == 0 && by % divisor == 0 => {
                    inner.as_ref().clone().rem(divisor, extents)
                }
                _ => Index::of(Atom::Mod(Box::new(rest), divisor)),
            },
        }
    }

    /// Whether it is a sum of which a part is divided by the divisor.
    fn has_multiple(&self, divisor: i64) -> bool {
        let whole = self.terms.iter().any(|(scale, _)| scale % divisor == 0);
        let constant = self.constant != 0;
        (whole || constant && self.constant % divisor == 0) && self.terms.len() + usize::from(constant) > 1
    }

    /// The part that the divisor divides, and the rest.
    fn split(self, divisor: i64) -> (Index, Index) {
        let (whole, rest) = self.terms.into_iter().partition(|(scale, _)| scale % divisor == 0);
        let remainder = self.constant.rem_euclid(divisor);
        (Index { terms: whole, constant: self.constant - remainder }, Index { terms: rest, constant: remainder })
    }

    /// `step · outer + inner` with `0 ≤ inner < step`, where the step divides the divisor, of one term outside and at most so many
    /// inside: what TVM's patterns of a quotient and of a remainder match.
    fn without_carry(&self, divisor: i64, inside: usize, extents: Extents<'_>) -> Option<(Index, Index, i64)> {
        let (step, atom) = self.terms.first()?;
        let inner = Index { terms: self.terms[1..].to_vec(), constant: self.constant };
        let operands = inner.terms.len() + usize::from(inner.constant != 0);
        if *step <= 1 || divisor % step != 0 || operands > inside {
            return None;
        }
        let (low, high) = inner.range(extents);
        (low >= 0 && high < *step).then(|| (Index::of(atom.clone()), inner, *step))
    }

    /// The smallest and the largest value.
    pub(super) fn range(&self, extents: Extents<'_>) -> (i64, i64) {
        self.bounds(&|atom| match atom {
            Atom::Loop(at) => (0, (extents(*at) - 1).max(0)),
            Atom::Div(inner, by) => {
                let (low, high) = inner.range(extents);
                (low.div_euclid(*by), high.div_euclid(*by))
            }
            Atom::Mod(inner, by) => {
                let (low, high) = inner.range(extents);
                if low.div_euclid(*by) == high.div_euclid(*by) {
                    (low.rem_euclid(*by), high.rem_euclid(*by))
                } else {
                    (0, by - 1)
                }
            }
            Atom::Other(_, bounds) => *bounds,
        })
    }

    /// The same by the bounds of atoms.
    pub(super) fn bounds(&self, of: &dyn Fn(&Atom) -> (i64, i64)) -> (i64, i64) {
        self.terms.iter().fold((self.constant, self.constant), |(low, high), (scale, atom)| {
            let (a, b) = of(atom);
            let (a, b) = (a.saturating_mul(*scale), b.saturating_mul(*scale));
            (low.saturating_add(a.min(b)), high.saturating_add(a.max(b)))
        })
    }

    /// The value where every loop begins.
    pub(super) fn first(&self) -> i64 {
        self.range(&|_| 1).0
    }

    /// Calls `f` with every loop that it moves with.
    pub(super) fn for_each_loop(&self, f: &mut impl FnMut(usize)) {
        for (_, atom) in &self.terms {
            match atom {
                Atom::Loop(at) => f(*at),
                Atom::Div(inner, _) | Atom::Mod(inner, _) => inner.for_each_loop(f),
                Atom::Other(loops, _) => loops.iter().for_each(|at| f(*at)),
            }
        }
    }

    /// Additions, multiplications, and quotients with remainders, of one evaluation.
    pub(super) fn operations(&self) -> [i64; 3] {
        let operands = self.terms.len() as i64 + i64::from(self.constant != 0);
        let factors = self.terms.iter().filter(|(scale, _)| scale.abs() != 1).count() as i64;
        self.terms.iter().fold([(operands - 1).max(0), factors, 0], |sum, (_, atom)| match atom {
            Atom::Div(inner, _) | Atom::Mod(inner, _) => {
                let [add, mul, div] = inner.operations();
                [sum[0] + add, sum[1] + mul, sum[2] + div + 1]
            }
            Atom::Loop(_) | Atom::Other(..) => sum,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `64·a + 4·b + c` with a < 3, b < 16, c < 4.
    fn abc() -> Index {
        let term = |at| Index::of(Atom::Loop(at));
        Index::constant(0).add(&term(0), 64).add(&term(1), 4).add(&term(2), 1)
    }

    fn extents(at: usize) -> i64 {
        [3, 16, 4][at]
    }

    /// Its value at some iteration.
    fn value(index: &Index, at: &[i64; 3]) -> i64 {
        let atom = |atom: &Atom| match atom {
            Atom::Loop(n) => at[*n],
            Atom::Div(inner, by) => value(inner, at).div_euclid(*by),
            Atom::Mod(inner, by) => value(inner, at).rem_euclid(*by),
            Atom::Other(..) => unreachable!("there is none"),
        };
        index.terms.iter().map(|(scale, of)| scale * atom(of)).sum::<i64>() + index.constant
    }

    #[test]
    fn quotients_and_remainders_keep_their_values() {
        for divisor in [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 100, 192, 500] {
            for then in [1, 2, 3, 4, 12] {
                let (div, rem) = (abc().div(divisor, &extents), abc().rem(divisor, &extents));
                let both = [div.clone().div(then, &extents), div.clone().rem(then, &extents)];
                let more = [rem.clone().div(then, &extents), rem.clone().rem(then, &extents)];
                for (a, b, c) in (0..192).map(|n| (n / 64, n / 4 % 16, n % 4)) {
                    let (at, whole) = ([a, b, c], 64 * a + 4 * b + c);
                    assert_eq!(value(&div, &at), whole / divisor, "{whole} / {divisor}: {div:?}");
                    assert_eq!(value(&rem, &at), whole % divisor, "{whole} % {divisor}: {rem:?}");
                    assert_eq!(
                        both.each_ref().map(|e| value(e, &at)),
                        [whole / divisor / then, whole / divisor % then]
                    );
                    assert_eq!(
                        more.each_ref().map(|e| value(e, &at)),
                        [whole % divisor / then, whole % divisor % then]
                    );
                    for e in [&div, &rem].into_iter().chain(&both).chain(&more) {
                        let (low, high) = e.range(&extents);
                        assert!((low..=high).contains(&value(e, &at)), "{e:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn what_cannot_carry_leaves() {
        let shown = |index: &Index| (index.terms.len(), index.operations());
        // (64·a + 4·b + c) / 4 = 16·a + b, and the remainder is c.
        assert_eq!(shown(&abc().div(4, &extents)), (2, [1, 1, 0]));
        assert_eq!(shown(&abc().rem(4, &extents)), (1, [0, 0, 0]));
        // Of two terms, … / 12 = ⌊b / 3⌋, and … mod 12 = b mod 3 · 4 + c. Of three, TVM does not see it.
        let bc = || Index::constant(0).add(&Index::of(Atom::Loop(1)), 4).add(&Index::of(Atom::Loop(2)), 1);
        assert_eq!(shown(&bc().div(12, &extents)), (1, [0, 0, 1]));
        assert_eq!(shown(&bc().rem(12, &extents)), (2, [1, 1, 1]));
        assert_eq!(shown(&abc().rem(12, &extents)), (1, [2, 2, 1]));
    }
}
