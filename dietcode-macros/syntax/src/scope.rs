//! What the names of a nest stand for while it is walked.

use crate::affine::affine;
use crate::bounds;
use crate::error::{Errors, Problem};
use crate::helper::Helper;
use crate::nest::{For, Range};
use crate::signature::Signature;
use crate::text::text;
use crate::triangle::Triangle;
use crate::{Affine, Constant, ConstantValue, DType, Expr, MAX_COEFFICIENT, Param, name};
use proc_macro2::Ident;
use syn::ExprCall;

/// What a name stands for.
#[derive(Clone)]
pub(crate) enum Meaning {
    /// A parameter with elements.
    Tensor(usize),
    /// A parameter that is an element itself.
    Scalar(usize),
    /// A declared constant.
    Constant(Constant),
    /// A shape variable.
    ShapeVar,
    /// The variable of an open loop, in terms of one that starts at 0.
    LoopVar(Affine),
    /// An immutable `let` of an index.
    Index(Affine),
    /// An immutable `let` of an element, and its type: one that the nest computes in, or sums in.
    Element(Expr, DType),
    /// A `let mut`: an index into [`Scope::accumulators`].
    Accumulator(usize),
    /// A function inside the kernel's body: an index into [`Scope::helpers`].
    Helper(usize),
    /// Something that was reported; its uses are not reported again.
    Broken,
}

impl Meaning {
    /// What it is called in a sentence.
    pub(crate) fn describe(&self) -> String {
        match self {
            Meaning::Tensor(_) => "a parameter",
            Meaning::Scalar(_) => "a scalar parameter",
            Meaning::Constant(constant) => constant.value.describe(),
            Meaning::ShapeVar => "a shape variable",
            Meaning::LoopVar(_) => "a loop variable",
            Meaning::Index(_) | Meaning::Element(..) => "an immutable `let`",
            Meaning::Accumulator(_) => "an accumulator",
            Meaning::Helper(_) => "a function",
            Meaning::Broken => "in error",
        }
        .to_string()
    }
}

/// A mutable value, as an expression of what it held before the nest.
pub(crate) struct Accumulator {
    /// How many loops were open at its `let`.
    pub(crate) home: usize,
    /// Its type.
    pub(crate) dtype: DType,
    /// What it holds now; `None` if that was reported.
    pub(crate) value: Option<Expr>,
}

/// A loop of the chain.
pub(crate) struct OpenLoop {
    pub(crate) name: String,
    pub(crate) extent: Affine,
    pub(crate) reduce: bool,
    pub(crate) token: syn::Token![for],
}

/// The iterations of a loop.
pub(crate) struct Iterations<'a> {
    /// The first value of its variable; 0 if that was reported, or depends on another loop.
    pub(crate) start: Affine,
    /// How many there are; some number if that was reported, the most if it depends on another loop.
    pub(crate) extent: Affine,
    /// What is to be reported of a range that depends on another loop.
    pub(crate) triangle: Option<Triangle<'a>>,
}

impl Default for Iterations<'_> {
    fn default() -> Self {
        Iterations { start: Affine::default(), extent: Affine::constant(1), triangle: None }
    }
}

/// The output: where it is written and what it holds.
pub(crate) struct Output {
    pub(crate) param: usize,
    /// The element that the nest's first store writes; empty if that store is in error.
    pub(crate) index: Vec<Affine>,
    /// That element as it is written.
    pub(crate) text: String,
    /// What that element holds now; before the first store, what was there.
    pub(crate) value: Option<Expr>,
}

/// The names, loops and values at one point of the walk.
pub(crate) struct Scope<'a> {
    pub(crate) signature: &'a Signature,
    /// The type of the values that are read: what the nest computes in, or `i32` in a sum of integers.
    pub(crate) computes: DType,
    pub(crate) errors: &'a mut Errors,
    pub(crate) names: Vec<(String, Meaning)>,
    /// The chain of loops that the walk has entered, outermost first.
    pub(crate) loops: Vec<OpenLoop>,
    /// How many of them are open.
    pub(crate) depth: usize,
    pub(crate) accumulators: Vec<Accumulator>,
    pub(crate) output: Option<Output>,
    /// The elements of inputs that were read so far.
    pub(crate) reads: Vec<(usize, Vec<Affine>)>,
    /// Indices that leave their tensors by constants alone: reported if nothing else is, which may be why.
    pub(crate) outside: Errors,
    /// How many operations expressions have been given so far.
    pub(crate) operations: usize,
    /// The functions inside the kernel's body; `names` begins with theirs, and with those of the constants.
    pub(crate) helpers: Vec<Helper<'a>>,
    /// How many of their bodies the walk is in.
    pub(crate) inside: usize,
    /// The call in the nest whose body the walk is in: what is too much there is too much because of it.
    pub(crate) call: Option<ExprCall>,
}

impl<'a> Scope<'a> {
    /// The scope of a function's body.
    pub(crate) fn new(
        signature: &'a Signature,
        helpers: Vec<Helper<'a>>,
        errors: &'a mut Errors,
        output: Option<Output>,
    ) -> Scope<'a> {
        let functions = helpers.iter().enumerate().map(|(at, helper)| (helper.name.to_string(), Meaning::Helper(at)));
        let params = signature.params.iter().enumerate();
        let params = params.map(|(at, param)| match param.is_scalar() {
            true => (param.name.clone(), Meaning::Scalar(at)),
            false => (param.name.clone(), Meaning::Tensor(at)),
        });
        let broken = signature.broken.iter().map(|name| (name.clone(), Meaning::Broken));
        let shape_vars = signature.shape_vars.iter().map(|var| (var.name.clone(), Meaning::ShapeVar));
        let constants = signature.constants.iter().map(|c| (c.name.to_string(), Meaning::Constant(c.clone())));
        let names = functions.chain(constants).chain(shape_vars).chain(params).chain(broken).collect();
        let mut scope = Scope {
            signature,
            computes: signature.computes,
            errors,
            names,
            loops: Vec::new(),
            depth: 0,
            accumulators: Vec::new(),
            output,
            reads: Vec::new(),
            outside: Errors::default(),
            operations: 0,
            helpers,
            inside: 0,
            call: None,
        };
        scope.check_helpers();
        scope
    }

    /// Reads values of another type for a while.
    pub(crate) fn within<T>(&mut self, dtype: DType, read: impl FnOnce(&mut Self) -> T) -> T {
        let around = std::mem::replace(&mut self.computes, dtype);
        let value = read(self);
        self.computes = around;
        value
    }

    /// Reports a problem; `None`, so that a caller can return it.
    pub(crate) fn fail<T>(&mut self, at: impl quote::ToTokens, problem: Problem) -> Option<T> {
        self.errors.push(at, problem);
        None
    }

    /// The meaning of a name; an unknown one is reported.
    pub(crate) fn meaning(&mut self, ident: &Ident) -> Meaning {
        match lookup(&self.names, ident) {
            Some(meaning) => meaning.clone(),
            None => {
                self.errors.push(ident, self.unknown()(ident.to_string()));
                Meaning::Broken
            }
        }
    }

    /// What to say of a name that stands for nothing here.
    fn unknown(&self) -> fn(String) -> Problem {
        if self.inside > 0 { |name| Problem::UnknownInHelper { name } } else { unknown }
    }

    /// Declares a name. Only a `let` may stand in front of another `let`, as it does in Rust: both are put in place.
    pub(crate) fn declare(&mut self, ident: &Ident, meaning: Meaning) {
        name::check(ident, self.errors);
        let is_let = |meaning: &Meaning| matches!(meaning, Meaning::Index(_) | Meaning::Element(..) | Meaning::Broken);
        if let Some(old) = lookup(&self.names, ident).filter(|old| !(is_let(old) && is_let(&meaning))) {
            let problem = Problem::Shadows { name: ident.to_string(), kind: old.describe() };
            self.errors.push(ident, problem);
        }
        self.names.push((ident.to_string(), meaning));
    }

    /// Declares the names of a `let` that was reported.
    pub(crate) fn declare_broken(&mut self, names: &[&Ident]) {
        names.iter().for_each(|name| self.declare(name, Meaning::Broken));
    }

    /// An index in terms of loop and shape variables.
    pub(crate) fn index(&mut self, expr: &syn::Expr) -> Option<Affine> {
        self.affine(expr, self.unknown())
    }

    fn affine(&mut self, expr: &syn::Expr, unknown: fn(String) -> Problem) -> Option<Affine> {
        let names = &self.names;
        let mut resolve = |ident: &Ident, errors: &mut Errors| {
            let name = ident.to_string();
            let problem = match lookup(names, ident) {
                None => unknown(name),
                Some(Meaning::Broken) => return None,
                Some(Meaning::Constant(constant)) => return constant.extent(ident, errors),
                Some(Meaning::Index(value) | Meaning::LoopVar(value)) => return Some(value.clone()),
                Some(Meaning::ShapeVar) => return Some(Affine::var(name)),
                Some(Meaning::Element(..)) => Problem::ElementAsIndex { name, kind: "an element".to_string() },
                Some(other) => Problem::ElementAsIndex { name, kind: other.describe() },
            };
            errors.push(ident, problem);
            None
        };
        affine(expr, &mut resolve, self.errors)
    }

    /// The first value of a loop's variable, and how many there are: indices that no loop variable occurs in.
    pub(crate) fn range<'r>(&mut self, l: &For<'r>) -> Iterations<'r> {
        let Some(range) = l.range else { return Iterations::default() };
        let start = self.affine(range.start, |name| Problem::UnboundShapeVar { name });
        let end = self.affine(range.end, |name| Problem::UnboundShapeVar { name });
        let end = end.and_then(|end| end.plus(i64::from(range.inclusive)));
        let ends = start.as_ref().zip(end.as_ref());
        let extent = ends.and_then(|(start, end)| end.add_scaled(start, -1));
        let is_empty = extent.as_ref().and_then(Affine::as_constant).is_some_and(|value| value < 1);
        let triangle =
            ends.filter(|_| !is_empty).and_then(|(start, end)| Triangle::new(range, [start, end], &self.loops));
        let start = start.filter(|start| self.signature.has_all_of(start)).unwrap_or_default();
        let extent = match &triangle {
            Some(triangle) => triangle.extent(&start),
            None => extent.and_then(|extent| self.extent(range, extent)),
        };
        Iterations { start, extent: extent.unwrap_or_else(|| Affine::constant(1)), triangle }
    }

    fn extent(&mut self, range: Range<'_>, extent: Affine) -> Option<Affine> {
        match extent.as_constant() {
            Some(value) if value < 1 => {
                let (found, value) = (text(range.whole), value.to_string());
                self.fail(range.whole, Problem::RangeEmpty { found, value })
            }
            _ if !extent.is_small() => {
                self.fail(range.whole, Problem::Coefficient { most: MAX_COEFFICIENT.to_string() })
            }
            _ => Some(extent),
        }
    }

    /// The indices of `x[i][k]` and the name in front of them, if it is one.
    pub(crate) fn element(&mut self, expr: &'_ syn::Expr) -> Option<(usize, Vec<Affine>)> {
        let (base, indices) = subscripts(expr);
        let Some(ident) = path(base) else {
            return self.fail(expr, Problem::IndexedExpression { found: text(base) });
        };
        let param = match self.meaning(ident) {
            Meaning::Tensor(param) => Some(param),
            Meaning::Broken => None,
            other => self.fail(ident, Problem::NotATensor { name: ident.to_string(), kind: other.describe() }),
        };
        let found = indices.len();
        let indices: Vec<_> = indices.into_iter().map(|index| self.index(index)).collect();
        let param = param?;
        let rank = self.signature.params[param].dims.len();
        if found != rank {
            let (name, found, rank) = (ident.to_string(), found.to_string(), rank.to_string());
            return self.fail(expr, Problem::WrongRank { name, found, rank });
        }
        Some((param, indices.into_iter().collect::<Option<_>>()?))
    }

    /// Notes which indices of an element leave the tensor by constants alone: no call would pass the check of them.
    pub(crate) fn check_inside(&mut self, expr: &syn::Expr, param: usize, index: &[Affine]) {
        let Param { name, dims, .. } = &self.signature.params[param];
        for ((at, index), extent) in subscripts(expr).1.into_iter().zip(index).zip(dims) {
            let Some(ends) = extremes(index, &self.loops) else { continue };
            let [least, greatest] = ends.each_ref().map(Affine::as_constant);
            let before = least.filter(|least| *least < 0);
            let beyond = greatest.filter(|greatest| extent.as_constant().is_some_and(|extent| *greatest >= extent));
            if let Some(reached) = before.or(beyond) {
                let (name, reached, extent) = (name.clone(), reached.to_string(), extent.to_string());
                self.outside.push(at, Problem::IndexOutside { found: text(at), name, reached, extent });
            }
        }
    }

    /// Whether a name stands for an index.
    pub(crate) fn names_an_index(&self, ident: &Ident) -> bool {
        match lookup(&self.names, ident) {
            Some(Meaning::Constant(constant)) => matches!(constant.value, ConstantValue::Integer(_)),
            meaning => matches!(meaning, Some(Meaning::Index(_) | Meaning::LoopVar(_) | Meaning::ShapeVar)),
        }
    }

    /// The innermost open loop that is summed over.
    pub(crate) fn open_reduction(&self) -> Option<&OpenLoop> {
        self.loops[..self.depth].iter().rev().find(|l| l.reduce)
    }
}

/// The least and the greatest value over all iterations of the loops.
pub(crate) fn extremes(index: &Affine, loops: &[OpenLoop]) -> Option<[Affine; 2]> {
    bounds::extremes(index, |name| loops.iter().find(|l| l.name == name).map(|l| &l.extent))
}

/// A name that nothing in the function declares; constants are written in capitals.
fn unknown(name: String) -> Problem {
    match name.chars().all(|c| !c.is_lowercase()) && name.starts_with(char::is_uppercase) {
        true => Problem::UnknownConstant { found: name.clone(), name },
        false => Problem::Unknown { name },
    }
}

pub(crate) fn lookup<'a>(names: &'a [(String, Meaning)], ident: &Ident) -> Option<&'a Meaning> {
    let ident = ident.to_string();
    names.iter().rev().find(|(name, _)| *name == ident).map(|(_, meaning)| meaning)
}

/// The tensor and the indices of `x[i][k]`.
pub(crate) fn subscripts(expr: &syn::Expr) -> (&syn::Expr, Vec<&syn::Expr>) {
    let mut indices = Vec::new();
    let mut base = plain(expr);
    while let syn::Expr::Index(index) = base {
        indices.push(&*index.index);
        base = plain(&index.expr);
    }
    indices.reverse();
    (base, indices)
}

/// The expression without parentheses around it.
pub(crate) fn plain(mut expr: &syn::Expr) -> &syn::Expr {
    loop {
        expr = match expr {
            syn::Expr::Paren(inner) => &inner.expr,
            syn::Expr::Group(inner) => &inner.expr,
            other => return other,
        }
    }
}

/// The argument of `ty::function(argument)`: `f32::from` of an element, `f16::from_f32` of a value.
pub(crate) fn converted<'a>(expr: &'a syn::Expr, ty: &str, function: &str) -> Option<&'a syn::Expr> {
    let syn::Expr::Call(call) = plain(expr) else { return None };
    let named = item_of(&call.func, ty)? == function;
    call.args.first().filter(|_| named && call.args.len() == 1)
}

/// The name of what belongs to a type: `f32::max`, `f32::INFINITY`.
pub(crate) fn associated(expr: &syn::Expr, dtype: DType) -> Option<&Ident> {
    item_of(expr, dtype.name())
}

/// The last of a path's two names, if the first is that of a type.
fn item_of<'a>(expr: &'a syn::Expr, ty: &str) -> Option<&'a Ident> {
    let syn::Expr::Path(path) = plain(expr) else { return None };
    let segments = &path.path.segments;
    let is_plain = path.qself.is_none() && segments.iter().all(|segment| segment.arguments.is_none());
    (is_plain && segments.len() == 2 && segments[0].ident == ty).then(|| &segments[1].ident)
}

/// The name that an expression is, if it is nothing else.
pub(crate) fn path(expr: &syn::Expr) -> Option<&Ident> {
    match plain(expr) {
        syn::Expr::Path(path) if path.qself.is_none() => path.path.get_ident(),
        _ => None,
    }
}
