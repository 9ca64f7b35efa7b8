//! Ranges that depend on the variable of another loop: a nest has none, and says how it is written instead.
//!
//! ```text
//! for j in i - 1..i + 2 {      for j in 0..3 {
//!     acc += x[j];          →      acc += x[i - 1 + j];
//! }                            }
//!
//! for k in 0..i {              for k in 0..M {
//!     acc += x[i][k];       →      acc += if (k as f32) < i as f32 { x[i][k] } else { 0.0 };
//! }                            }
//! ```
//!
//! A call checks every element that the nest names, also those that a condition leaves out. So the second form is told only
//! where its loop reaches no element outside of its tensor that the range itself does not reach; else, what room it needs.

use crate::bounds::never_negative;
use crate::error::Problem;
use crate::nest::{Assign, For, Range, Stmt};
use crate::scope::{OpenLoop, extremes, path};
use crate::text::{number, text, whole};
use crate::{Affine, BinaryOp, DType, Param};
use proc_macro2::{Group, Ident, TokenStream, TokenTree};
use quote::{ToTokens, quote};

/// A loop over a range that depends on the variable of another loop.
pub(crate) struct Triangle<'a> {
    pub(crate) range: Range<'a>,
    /// The other loop's variable.
    name: String,
    /// The first value, and the one after the last.
    ends: [Affine; 2],
    /// The least first value, and the greatest one after the last.
    widest: [Affine; 2],
}

impl<'a> Triangle<'a> {
    /// The range from `start` to before `end`, if it depends on one of the loops around it.
    pub(crate) fn new(range: Range<'a>, [start, end]: [&Affine; 2], loops: &[OpenLoop]) -> Option<Triangle<'a>> {
        let name = depends(start, loops).or_else(|| depends(end, loops))?.to_string();
        let widest = [extremes(start, loops)?[0].clone(), extremes(end, loops)?[1].clone()];
        Some(Triangle { range, name, ends: [start.clone(), end.clone()], widest })
    }

    /// How many values the variable takes, as if the loop ran over all of them.
    pub(crate) fn extent(&self, origin: &Affine) -> Option<Affine> {
        self.widest[1].add_scaled(origin, -1)
    }

    /// What to write instead, where `dtype` is computed. The elements that the loop names are in terms of its variable less `origin`, which
    /// is the last of `loops` that is open around its body; loops inside may follow.
    pub(crate) fn problem<'p>(
        &self,
        l: &For<'_>,
        dtype: DType,
        origin: &Affine,
        loops: &[OpenLoop],
        elements: impl Iterator<Item = (&'p Param, &'p [Affine])>,
    ) -> Option<Problem> {
        let found = text(self.range.whole);
        let name = self.name.clone();
        // A tensor whose type was refused has no dimensions to compare with.
        let indices: Vec<(&Param, &Affine, &Affine)> = elements
            .flat_map(|(param, index)| param.dims.iter().zip(index).map(move |(extent, index)| (param, extent, index)))
            .collect();
        let var = l.var.to_string();
        let length = self.ends[1].add_scaled(&self.ends[0], -1)?;
        if depends(&length, loops).is_none()
            && indices.iter().all(|(param, _, index)| !param.mutable || self.is_stored(index, &var, loops))
        {
            return Some(self.window(l, &length));
        }
        let [least, greatest] = &self.widest;
        let shift = |[start, end]: [&Affine; 2]| Some([start.add_scaled(origin, -1)?, end.add_scaled(origin, -1)?]);
        let beyond = |range: [&Affine; 2]| {
            let (all, some) = (shift(range)?, shift([&self.ends[0], &self.ends[1]])?);
            let is_beyond = |(_, extent, index): &&(&Param, &Affine, &Affine)| {
                let reached = values(index, &var, &all, loops).zip(values(index, &var, &some, loops));
                reached.is_none_or(|(all, some)| !reaches(extent, &all, &some))
            };
            let first = indices.iter().find(is_beyond);
            first.map(|(param, extent, index)| (*param, *extent, values(index, &var, &all, loops)))
        };
        // The condition leaves out iterations before and behind these too, and a loop over `0..M` can be called where `M` is 0, one over `0..M - 1` or
        // `1..M` cannot.
        let [from_any, to_any] = self.ends.each_ref().map(|end| depends(end, loops).is_some());
        let is_name = !self.range.inclusive && path(self.range.end).is_some();
        let wider = if is_name { greatest.plus(1) } else { None };
        let is_variable = |index: &Affine| index.add_scaled(&Affine::var(&var), -1).as_ref() == Some(origin);
        let extents = indices.iter().filter(|(_, _, index)| is_variable(index)).map(|(_, extent, _)| *extent);
        let ends: Vec<&Affine> = wider.iter().chain(extents).filter(|_| to_any).chain([greatest]).collect();
        let zero = Affine::default();
        let starts = [Some(least), (from_any && never_negative(least)).then_some(&zero)].into_iter().flatten();
        let ranges: Vec<[&Affine; 2]> = starts.flat_map(|start| ends.iter().map(move |end| [start, *end])).collect();
        let inside: Vec<[&Affine; 2]> = ranges.into_iter().filter(|range| beyond(*range).is_none()).collect();
        let has_length = |[start, end]: &&[&Affine; 2]| end.add_scaled(start, -1).is_some_and(|l| never_negative(&l));
        let best = inside.iter().find(has_length).or(inside.first()).copied().unwrap_or([least, greatest]);
        let range = format!("for {var} in {}..{}", best[0], best[1]);
        if dtype.is_integer() {
            return Some(Problem::RangeOfLoopOfIntegers { found, name, range });
        }
        let statement = self.chosen(l, dtype, loops);
        let Some((param, extent, reached)) = beyond(best) else {
            return Some(Problem::RangeOfLoop { found, name, range, statement });
        };
        let [least, greatest] = reached?;
        let (tensor, extent) = (param.name.clone(), extent.to_string());
        let room = match never_negative(&least) {
            true => format!("pad `{tensor}` to `{}` there", greatest.plus(1)?),
            false => format!(
                "pad `{tensor}` by `{}` in front and add that to the index",
                Affine::default().add_scaled(&least, -1)?
            ),
        };
        let reached = format!("{least}..={greatest}");
        Some(Problem::RangeOfLoopBeyond { found, name, range, statement, tensor, extent, reached, room })
    }

    /// As many iterations for every value of the other variable: what moves is added to the variable.
    fn window(&self, l: &For<'_>, length: &Affine) -> Problem {
        let (start, var) = (self.range.start, l.var);
        let value = quote!(#start + #var);
        let statement = assignment(&l.body).map_or_else(
            || "…".to_string(),
            |assign| {
                let [target, assigned] =
                    [assign.target, assign.value].map(|side| whole(replaced(side.to_token_stream(), var, &value)));
                format!("{target} {}= {assigned};", operator(assign.op))
            },
        );
        Problem::RangeOfWindow {
            found: text(self.range.whole),
            name: self.name.clone(),
            range: format!("for {var} in 0..{length}"),
            value: whole(&value),
            var: var.to_string(),
            statement,
        }
    }

    /// Whether an index of the output has one loop variable at most in such iterations.
    fn is_stored(&self, index: &Affine, var: &str, loops: &[OpenLoop]) -> bool {
        let moved = index.add_scaled(&self.ends[0], index.coefficient(var));
        moved.is_some_and(|moved| loops.iter().filter(|l| moved.coefficient(&l.name) != 0).count() <= 1)
    }

    /// The loop's assignment, as one that changes nothing outside of the range.
    fn chosen(&self, l: &For<'_>, dtype: DType, loops: &[OpenLoop]) -> String {
        let Some(assign) = assignment(&l.body) else { return "…".to_string() };
        let var = l.var;
        let [start, end] = self.ends.each_ref().map(|side| depends(side, loops).is_some());
        let inclusive = if self.range.inclusive { "=" } else { "" };
        let above = start.then(|| format!("({var} as {dtype}) >= {}", number(self.range.start, dtype)));
        let below = end.then(|| format!("({var} as {dtype}) <{inclusive} {}", number(self.range.end, dtype)));
        let target = whole(assign.target);
        let otherwise = match assign.op {
            None => &*target,
            Some(BinaryOp::Add | BinaryOp::Sub) => "0.0",
            Some(BinaryOp::Mul | BinaryOp::Div) => "1.0",
        };
        let choose = |value, condition: String| format!("if {condition} {{ {value} }} else {{ {otherwise} }}");
        let value = below.into_iter().chain(above).fold(whole(assign.value), choose);
        format!("{target} {}= {value};", operator(assign.op))
    }
}

/// The variable of a loop that an index depends on.
fn depends<'l>(index: &Affine, loops: &'l [OpenLoop]) -> Option<&'l str> {
    loops.iter().map(|l| &*l.name).find(|name| index.coefficient(name) != 0)
}

/// The least and the greatest value of an index, where one variable runs from `start` to before `end`.
fn values(index: &Affine, var: &str, [start, end]: &[Affine; 2], loops: &[OpenLoop]) -> Option<[Affine; 2]> {
    let coefficient = index.coefficient(var);
    let others = index.add_scaled(&Affine::var(var), -coefficient)?;
    let mut ends = [start.clone(), end.plus(-1)?];
    if coefficient < 0 {
        ends.reverse();
    }
    let [low, high] = ends.map(|end| others.add_scaled(&end, coefficient));
    Some([extremes(&low?, loops)?[0].clone(), extremes(&high?, loops)?[1].clone()])
}

/// Whether an index with all these values stays in its tensor wherever one with some of them does.
fn reaches(extent: &Affine, all: &[Affine; 2], some: &[Affine; 2]) -> bool {
    let at_least = |more: &Affine, less: &Affine| more.add_scaled(less, -1).is_some_and(|room| never_negative(&room));
    let last = extent.plus(-1);
    (never_negative(&all[0]) || at_least(&all[0], &some[0]))
        && (last.is_some_and(|last| at_least(&last, &all[1])) || at_least(&some[1], &all[1]))
}

/// The first assignment in a loop.
fn assignment<'a>(body: &'a [Stmt<'a>]) -> Option<&'a Assign<'a>> {
    body.iter().find_map(|stmt| match stmt {
        Stmt::For(l) => assignment(&l.body),
        Stmt::If(choice) => assignment(&choice.body),
        Stmt::Assign(assign) => Some(assign),
        Stmt::Let(_) | Stmt::Broken(_) => None,
    })
}

fn operator(op: Option<BinaryOp>) -> String {
    op.map(|op| op.to_string()).unwrap_or_default()
}

/// An expression with a sum in the place of a name: in parentheses, unless only `+` and `-` follow it.
fn replaced(tokens: TokenStream, name: &Ident, sum: &TokenStream) -> TokenStream {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let replace = |(at, token): (usize, &TokenTree)| match token {
        TokenTree::Ident(ident) if ident == name => {
            let is_added = |next: &TokenTree| matches!(next, TokenTree::Punct(next) if "+-".contains(next.as_char()));
            match at == 0 && tokens.get(1).is_none_or(is_added) {
                true => sum.clone(),
                false => quote!((#sum)),
            }
        }
        TokenTree::Group(group) => {
            Group::new(group.delimiter(), replaced(group.stream(), name, sum)).into_token_stream()
        }
        other => other.to_token_stream(),
    };
    tokens.iter().enumerate().map(replace).collect()
}
