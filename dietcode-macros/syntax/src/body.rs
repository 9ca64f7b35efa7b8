//! Walks the nest with the meaning of every name at hand, and reduces its forms to one.
//!
//! The walk executes the nest symbolically. An accumulator, and the element of the output that the nest writes, hold an
//! expression of what was there before. Assignments outside reductions replace it; the one update under reduction
//! loops (`reduction`) turns what is held so far into the reduction's initial value, and the value itself into
//! [`Expr::Acc`]. What the output holds at the end is the epilogue. So a local accumulator, `y[i][j] += …` in a perfect
//! nest, an output that is first set and then added to, and an elementwise nest are all the same to the rest of the program. A
//! condition around the loops of a sum becomes a part of it: where it does not hold, the accumulator stays at the initial value.
//!
//! It is sound because nothing that is read can change under the walk: inputs are never written, the output is read
//! only at the element that is written, and neither it nor an accumulator is read under a loop that adds to it. Under a
//! condition nothing but the update is assigned to. And every loop counts: the update stands in the innermost one, and
//! without an update all loops index the output.

use crate::affine::affine;
use crate::conversion::is_type;
use crate::element::negate;
use crate::error::{Errors, Problem};
use crate::helper::Helper;
use crate::nest::{Assign, For, If, Let, Stmt};
use crate::reduce::Form;
use crate::reduction::Term;
use crate::scope::{Accumulator, Iterations, Meaning, OpenLoop, Output, Scope, converted, path, plain, subscripts};
use crate::signature::Signature;
use crate::text::{text, whole};
use crate::{Affine, BinaryOp, Condition, DType, Expr, LoopDef, MAX_COEFFICIENT, Param, Reduction, Role};
use proc_macro2::Ident;
use syn::BinOp;

/// What a nest computes; see the fields of the same names of [`crate::KernelDef`].
pub(crate) struct Body {
    pub(crate) loops: Vec<LoopDef>,
    pub(crate) output_index: Vec<Affine>,
    pub(crate) reduction: Option<Reduction>,
    pub(crate) epilogue: Expr,
    /// Elements of inputs that were read, whether or not their values reach what is stored.
    pub(crate) reads: Vec<(usize, Vec<Affine>)>,
}

/// Walks the statements; `None` after something was reported.
pub(crate) fn walk(
    stmts: &[Stmt<'_>],
    helpers: Vec<Helper<'_>>,
    name: &Ident,
    signature: &Signature,
    errors: &mut Errors,
) -> Option<Body> {
    let output = signature.output.map(|param| {
        let mut search = FirstStore { output: &signature.params[param].name, signature, names: Vec::new() };
        let (index, text) = search.block(stmts).unwrap_or_default();
        Output { param, value: Some(Expr::Load { param, index: index.clone() }), index, text }
    });
    let scope = Scope::new(signature, helpers, errors, output);
    let mut walk = Walk { scope, conditions: Vec::new(), reduction: None, stored: false };
    walk.block(stmts);
    walk.finish(name)
}

/// Where a value lives that an assignment changes.
#[derive(Clone, Copy, PartialEq)]
enum Target {
    Accumulator(usize),
    Output,
}

/// The update that was seen.
struct Update<'e> {
    target: &'e syn::Expr,
    term: Term<'e>,
    /// How many loops are around it.
    depth: usize,
    reduction: Reduction,
}

struct Walk<'a, 'e> {
    scope: Scope<'a>,
    /// The conditions around the walk; `None` stands for one that was reported.
    conditions: Vec<Option<Condition>>,
    reduction: Option<Update<'e>>,
    /// Whether the output was assigned to.
    stored: bool,
}

impl<'e> Walk<'_, 'e> {
    fn block(&mut self, stmts: &[Stmt<'e>]) {
        let names = self.scope.names.len();
        let mut loops = 0;
        for stmt in stmts {
            match stmt {
                Stmt::For(l) if loops > 0 => self.scope.errors.push(l.token, Problem::SecondLoop),
                Stmt::If(choice) if loops > 0 => self.scope.errors.push(choice.token, Problem::SecondLoop),
                Stmt::For(l) => {
                    loops += 1;
                    self.for_loop(l);
                }
                Stmt::If(choice) => {
                    loops += 1;
                    self.conditioned(choice);
                }
                Stmt::Let(local) if local.mutable => self.accumulator(local),
                Stmt::Let(local) => self.scope.bind(local),
                Stmt::Assign(assign) => self.assign(assign),
                Stmt::Broken(names) => self.scope.declare_broken(names),
            }
        }
        self.scope.names.truncate(names);
    }

    fn for_loop(&mut self, l: &For<'e>) {
        if !l.body.iter().any(|stmt| matches!(stmt, Stmt::For(_) | Stmt::If(_) | Stmt::Assign(_))) {
            // Its statements may have been reported and left out.
            if self.scope.errors.is_empty() {
                self.scope.errors.push(l.token, Problem::EmptyLoop);
            }
            return;
        }
        let Iterations { start, extent, triangle } = self.scope.range(l);
        let (names, reads) = (self.scope.names.len(), self.scope.reads.len());
        let name = l.var.to_string();
        let value = Affine::var(&name).add_scaled(&start, 1).expect("an extent was made of it");
        self.scope.declare(l.var, Meaning::LoopVar(value));
        let output = self.scope.output.as_ref();
        let reduce = !output.is_some_and(|output| output.index.iter().any(|index| index.coefficient(&name) != 0));
        self.scope.loops.push(OpenLoop { name, extent, reduce, token: l.token });
        self.scope.depth += 1;
        self.block(&l.body);
        self.scope.depth -= 1;
        self.scope.names.truncate(names);
        if let Some(triangle) = triangle {
            let Scope { reads: all, output, loops, signature, accumulators, .. } = &self.scope;
            let dtype = accumulators.last().map_or(signature.computes, |accumulator| accumulator.dtype);
            let stored = output.as_ref().map(|output| (output.param, &output.index));
            let read = all[reads..].iter().map(|(param, index)| (*param, index));
            let elements = stored.into_iter().chain(read).map(|(param, index)| (&signature.params[param], &**index));
            let problem = triangle.problem(l, dtype, &start, loops, elements);
            let problem = problem.unwrap_or_else(|| Problem::Coefficient { most: MAX_COEFFICIENT.to_string() });
            self.scope.errors.push(triangle.range.whole, problem);
        }
    }

    /// `if condition { … }` around the loops of a sum.
    fn conditioned(&mut self, choice: &If<'e>) {
        let condition = self.scope.condition_of_sum(choice.condition);
        if let Some(name) = self.scope.open_reduction().map(|l| l.name.clone()) {
            self.scope.errors.push(choice.token, Problem::ConditionInLoop { name });
        } else if !self.conditions.is_empty() {
            self.scope.errors.push(choice.token, Problem::SecondCondition);
        }
        self.conditions.push(condition);
        self.block(&choice.body);
        self.conditions.pop();
    }

    /// `let mut acc = init;`
    fn accumulator(&mut self, local: &Let<'_>) {
        let dtype = self.scope.type_of_let(local);
        let value = match self.scope.holds_index(local) {
            Some(true) if dtype != DType::I32 || !is_literal(local.value) => {
                self.scope.fail(local.name, mutable_index(local, self.scope.signature.computes))
            }
            Some(_) => self.scope.within(dtype, |scope| scope.value(local.value)),
            None => None,
        };
        self.scope.accumulators.push(Accumulator { home: self.scope.depth, dtype, value });
        self.scope.declare(local.name, Meaning::Accumulator(self.scope.accumulators.len() - 1));
    }

    fn assign(&mut self, assign: &Assign<'e>) {
        let Some(target) = self.target(assign.target) else {
            return;
        };
        let under_reduction = match target {
            Target::Accumulator(at) => self.scope.accumulators[at].home < self.scope.depth,
            Target::Output => self.scope.open_reduction().is_some(),
        };
        if !self.conditions.is_empty() && !under_reduction {
            return self.scope.errors.push(assign.target, Problem::AssignUnderCondition);
        }
        if target == Target::Output {
            self.stored = true;
            if assign.op.is_some() || under_reduction {
                let Some(()) = self.check_in_place(assign) else { return };
            }
        }
        if under_reduction { self.update(target, assign) } else { self.replace(target, assign) }
    }

    /// The output may be added to only if that rounds as the sum itself does.
    fn check_in_place(&mut self, assign: &Assign<'_>) -> Option<()> {
        let output = self.output();
        if output.dtype == self.scope.signature.computes {
            return Some(());
        }
        let (name, dtype) = (output.name.clone(), output.dtype.to_string());
        let written = self.rounded(output.dtype);
        self.scope.fail(assign.target, Problem::NarrowUpdate { name, dtype, written })
    }

    /// How a nest writes that a value is rounded to a type.
    fn rounded(&self, dtype: DType) -> String {
        match dtype.is_half() {
            true => format!("{dtype}::from_{}(…)", self.scope.signature.computes),
            false => format!("(…) as {dtype}"),
        }
    }

    /// The value that is stored; to a tensor of a narrower type, what `f16::from_f32` stands around, or `as f32` behind.
    fn stored_value<'v>(&mut self, target: Target, value: &'v syn::Expr) -> Option<&'v syn::Expr> {
        let output = match target {
            Target::Output => self.output(),
            Target::Accumulator(_) => return Some(value),
        };
        let (dtype, computes) = (output.dtype, self.scope.signature.computes);
        if dtype == computes {
            return Some(value);
        }
        if dtype.is_integer() {
            let (name, dtype, computes_in) = (output.name.clone(), dtype.to_string(), computes.to_string());
            return self.scope.fail(value, Problem::IntegerOutput { name, dtype, computes_in });
        }
        let inner = match plain(value) {
            syn::Expr::Cast(cast) if !dtype.is_half() && is_type(&cast.ty, dtype) => Some(&*cast.expr),
            _ => converted(value, dtype.name(), &format!("from_{computes}")).filter(|_| dtype.is_half()),
        };
        let (name, found, written) = (output.name.clone(), text(value), self.rounded(dtype));
        let problem = Problem::NarrowStore { found, name, dtype: dtype.to_string(), written };
        inner.or_else(|| self.scope.fail(value, problem))
    }

    /// The parameter that is written; a store was resolved to it.
    fn output(&self) -> &Param {
        &self.scope.signature.params[self.scope.output.as_ref().expect("a store was resolved to it").param]
    }

    /// The accumulator or output that is assigned to; anything else is reported.
    fn target(&mut self, target: &syn::Expr) -> Option<Target> {
        if let syn::Expr::Index(_) = plain(target) {
            return self.store(target);
        }
        let Some(ident) = path(target) else {
            return self.scope.fail(target, Problem::AssignTarget { found: text(target) });
        };
        let name = ident.to_string();
        match self.scope.meaning(ident) {
            Meaning::Accumulator(at) => Some(Target::Accumulator(at)),
            Meaning::Broken => None,
            Meaning::Tensor(_) => self.scope.fail(ident, Problem::WholeTensor { name }),
            other => self.scope.fail(ident, Problem::AssignImmutable { name, kind: other.describe() }),
        }
    }

    /// `y[i][j]` on the left of an assignment.
    fn store(&mut self, target: &syn::Expr) -> Option<Target> {
        let (param, index) = self.scope.element(target)?;
        self.scope.check_inside(target, param, &index);
        let output = self.scope.output.as_ref()?;
        if param != output.param {
            if self.scope.signature.params[param].mutable {
                return None; // Reported as a second output.
            }
            let name = |param: usize| self.scope.signature.params[param].name.clone();
            let problem = Problem::AssignInput { name: name(param), output: name(output.param) };
            return self.scope.fail(subscripts(target).0, problem);
        }
        self.check_output_index(target, &index)?;
        let output = self.scope.output.as_ref()?;
        if index != output.index {
            let expected = output.text.clone();
            return self.scope.fail(target, Problem::OutputIndexDiffers { found: text(target), expected });
        }
        Some(Target::Output)
    }

    /// Each index of the output has one loop variable at most, as it is, and no two have the same.
    fn check_output_index(&mut self, target: &syn::Expr, index: &[Affine]) -> Option<()> {
        let mut seen = Vec::new();
        let mut fine = Some(());
        for (at, index) in subscripts(target).1.into_iter().zip(index) {
            let loops = self.scope.loops.iter().map(|l| (&l.name, index.coefficient(&l.name)));
            let used: Vec<_> = loops.filter(|(_, coefficient)| *coefficient != 0).collect();
            let problem = match used[..] {
                [] => continue,
                [(name, 1)] if seen.contains(name) => Problem::OutputIndexTwice { name: name.clone() },
                [(name, 1)] => {
                    seen.push(name.clone());
                    continue;
                }
                [(name, -1)] => self.reversed(at, index, name),
                [(name, _)] => Problem::OutputIndexScaled { found: text(at), name: name.clone() },
                _ => Problem::OutputIndex { found: text(at) },
            };
            fine = self.scope.fail(at, problem);
        }
        fine
    }

    /// `y[N - 1 - i]`: the same store, in terms of the variable that is the index.
    fn reversed(&self, at: &syn::Expr, index: &Affine, name: &str) -> Problem {
        let extent = self.scope.loops.iter().find(|l| l.name == name).map(|l| &l.extent);
        let end = index.add_scaled(&Affine::var(name), 1).and_then(|last| last.plus(1));
        let start = end.as_ref().zip(extent).and_then(|(end, extent)| end.add_scaled(extent, -1));
        let range = start.zip(end).map(|(start, end)| format!("for {name} in {start}..{end}"));
        let range = range.unwrap_or_else(|| format!("for {name} in …"));
        Problem::OutputIndexReversed { found: text(at), name: name.to_string(), range }
    }

    /// The type of what is assigned to, before it is stored.
    fn dtype(&self, target: Target) -> DType {
        match target {
            Target::Accumulator(at) => self.scope.accumulators[at].dtype,
            Target::Output => self.scope.signature.computes,
        }
    }

    /// An assignment outside reductions: the value becomes another expression.
    fn replace(&mut self, target: Target, assign: &Assign<'_>) {
        let dtype = self.dtype(target);
        let value = match assign.op {
            None => {
                let value = self.stored_value(target, assign.value);
                value.and_then(|value| self.scope.within(dtype, |scope| scope.value(value)))
            }
            Some(op) => self.scope.within(dtype, |scope| {
                let old = scope.value(assign.target);
                let value = scope.value(assign.value);
                scope.check_operator(op, assign.target)?;
                old.zip(value).map(|(old, value)| Expr::Binary(op, Box::new(old), Box::new(value)))
            }),
        };
        *self.held(target) = value;
    }

    /// An assignment under reduction loops: it has to be a reduction, and the only one.
    fn update(&mut self, target: Target, assign: &Assign<'e>) {
        let dtype = self.dtype(target);
        let Some(term) = Term::of(assign, dtype).or_else(|| self.no_reduction(target, assign)) else {
            return;
        };
        let update = self.scope.within(dtype, |scope| scope.value(term.value));
        let update = update.map(|value| if term.negative { negate(value) } else { value });
        let init = self.held(target).take();
        *self.held(target) = Some(Expr::Acc);
        if let Some(first) = &self.reduction {
            let problem = second_update(first, assign.target, term, self.scope.depth);
            return self.scope.errors.push(assign.target, problem);
        }
        let (Some(init), Some(update)) = (init, update) else { return };
        if self.reads_output(&update) {
            self.scope.errors.push(term.value, Problem::OutputInUpdate);
        }
        let condition = self.conditions.last().cloned().flatten();
        let (target, depth) = (assign.target, self.scope.depth);
        let reduction = Reduction { op: term.op, dtype, init, update, condition };
        self.reduction = Some(Update { target, term, depth, reduction });
    }

    /// Reports an assignment under reduction loops that is something else.
    fn no_reduction<T>(&mut self, target: Target, assign: &Assign<'e>) -> Option<T> {
        let open = self.scope.open_reduction().map(|l| l.name.clone());
        let problem = match (assign.op, open) {
            (None, Some(name)) if target == Target::Output => Problem::StoreUnderReduction { name },
            (Some(BinaryOp::Div), _) => Problem::QuotientUnderReduction { name: whole(assign.target) },
            (op, _) => Problem::NoReduction { found: op.map_or("=".to_string(), |op| format!("{op}=")) },
        };
        self.scope.fail(assign.target, problem)
    }

    fn held(&mut self, target: Target) -> &mut Option<Expr> {
        match target {
            Target::Accumulator(at) => &mut self.scope.accumulators[at].value,
            Target::Output => &mut self.scope.output.as_mut().expect("a store was resolved to it").value,
        }
    }

    fn reads_output(&self, expr: &Expr) -> bool {
        self.scope
            .output
            .as_ref()
            .is_some_and(|output| expr.any(&|e| matches!(e, Expr::Load { param, .. } if *param == output.param)))
    }

    /// A loop that nothing is done in which reaches the output: one inside the update, or one that is summed over
    /// although there is no update.
    fn idle_loop(&self) -> Option<syn::Token![for]> {
        let idle = match &self.reduction {
            Some(update) => self.scope.loops.get(update.depth),
            None => self.scope.loops.iter().find(|l| l.reduce),
        };
        idle.map(|l| l.token)
    }

    /// What only the whole nest can tell; not worth saying while parts of it are in error.
    fn finish(mut self, name: &Ident) -> Option<Body> {
        if self.scope.errors.is_empty() {
            *self.scope.errors = std::mem::take(&mut self.scope.outside);
        }
        if !self.scope.errors.is_empty() {
            return None;
        }
        let output = self.scope.output.as_ref()?;
        let epilogue = output.value.clone()?;
        if !self.stored {
            let output = self.scope.signature.params[output.param].name.clone();
            return self.scope.fail(name, Problem::NoStore { name: output });
        }
        if let Some(sum) = self.reduction.as_ref().filter(|_| !epilogue.any(&|e| matches!(e, Expr::Acc))) {
            return self.scope.fail(sum.target, Problem::SumNotStored);
        }
        let output_index = output.index.clone();
        if let Some(token) = self.idle_loop() {
            return self.scope.fail(token, Problem::EmptyLoop);
        }
        let reduction = self.reduction.map(|update| update.reduction);
        let reads = std::mem::take(&mut self.scope.reads);
        Some(Body { loops: loops(self.scope.loops), output_index, reduction, epilogue, reads })
    }
}

/// Spatial loops in source order, then reductions in source order.
fn loops(open: Vec<OpenLoop>) -> Vec<LoopDef> {
    let (reduce, spatial): (Vec<_>, Vec<_>) = open.into_iter().partition(|l| l.reduce);
    let role = |reduce| if reduce { Role::Reduce } else { Role::Spatial };
    spatial
        .into_iter()
        .chain(reduce)
        .map(|l| LoopDef { name: l.name, extent: l.extent, role: role(l.reduce) })
        .collect()
}

/// Whether an expression is a literal, or one with a sign.
fn is_literal(expr: &syn::Expr) -> bool {
    match plain(expr) {
        syn::Expr::Unary(unary) => is_literal(&unary.expr),
        other => matches!(other, syn::Expr::Lit(_)),
    }
}

/// A `let mut` of an integer was meant as a float, or is an index.
fn mutable_index(local: &Let<'_>, computes: DType) -> Problem {
    let (name, found) = (local.name.to_string(), text(local.value));
    let literal = match plain(local.value) {
        syn::Expr::Unary(unary) => plain(&unary.expr),
        other => other,
    };
    match literal {
        syn::Expr::Lit(syn::ExprLit { lit, .. }) => {
            let ty = local.ty.map(|ty| format!(": {}", text(ty))).unwrap_or_default();
            let sign = if found.starts_with('-') { "-" } else { "" };
            let float = match lit {
                syn::Lit::Int(integer) => format!("{}.0", integer.base10_digits()),
                syn::Lit::Float(float) => float.base10_digits().to_string(),
                _ => "0.0".to_string(),
            };
            let written = if ty.is_empty() { String::new() } else { format!(": {computes}") };
            let written = format!("let mut {name}{written} = {sign}{float}");
            Problem::IntegerAccumulator { found: format!("let mut {name}{ty} = {found}"), written }
        }
        _ => Problem::MutableIndex { name, found },
    }
}

/// What becomes of a second update: another term of the same reduction, or another kernel.
fn second_update(first: &Update<'_>, target: &syn::Expr, second: Term<'_>, depth: usize) -> Problem {
    let name = whole(first.target);
    if plain(first.target) != plain(target) {
        return Problem::SecondUpdate { first: name, found: text(target) };
    }
    if first.depth != depth {
        return Problem::SecondDepth { name };
    }
    let operators = [first.term.op, second.op].map(|op| op.name().to_string());
    if first.term.op != second.op {
        let [first, second] = operators;
        return Problem::MixedOperators { name, first, second };
    }
    let minus = |term: &syn::Expr| match plain(term) {
        syn::Expr::Binary(sum) if matches!(sum.op, BinOp::Add(_) | BinOp::Sub(_)) => format!("- ({})", whole(term)),
        _ => format!("- {}", whole(term)),
    };
    let (a, b) = (first.term.value, second.value);
    let merged = match (first.term.op.form(), first.term.negative, second.negative) {
        (Form::Method(function), ..) => format!("{name} = {name}.{function}({}.{function}({}));", factor(a), whole(b)),
        (Form::Operator(BinaryOp::Add), false, true) => format!("{name} += {} {};", whole(a), minus(b)),
        (Form::Operator(BinaryOp::Add), true, false) => format!("{name} += {} {};", whole(b), minus(a)),
        (Form::Operator(BinaryOp::Add), true, true) => format!("{name} -= {} + {};", whole(a), whole(b)),
        (Form::Operator(BinaryOp::Add), ..) => format!("{name} += {} + {};", whole(a), whole(b)),
        (Form::Operator(op), ..) => format!("{name} {op}= {} {op} {};", factor(a), factor(b)),
    };
    Problem::SecondTerm { name, merged }
}

/// A term as the factor of a product, or what a method is called of.
fn factor(term: &syn::Expr) -> String {
    match plain(term) {
        syn::Expr::Binary(_) | syn::Expr::Unary(_) | syn::Expr::If(_) | syn::Expr::Cast(_) => {
            format!("({})", whole(term))
        }
        _ => whole(term),
    }
}

/// Looks for the first store to the output, by its form alone: reads above it are compared with it, and it says which loops
/// are summed over.
struct FirstStore<'a> {
    output: &'a str,
    signature: &'a Signature,
    /// Loop variables and indices; a name that is neither stands for itself, and is reported where it is used.
    names: Vec<(String, Affine)>,
}

impl FirstStore<'_> {
    /// The element's index, and how it is written.
    fn block(&mut self, stmts: &[Stmt<'_>]) -> Option<(Vec<Affine>, String)> {
        let outer = self.names.len();
        let found = stmts.iter().find_map(|stmt| match stmt {
            Stmt::For(l) => {
                let start = l.range.and_then(|range| self.index(range.start));
                let start = start.filter(|start| self.signature.has_all_of(start)).unwrap_or_default();
                let name = l.var.to_string();
                self.names.push((name.clone(), Affine::var(name).add_scaled(&start, 1)?));
                self.block(&l.body)
            }
            Stmt::If(choice) => self.block(&choice.body),
            Stmt::Let(local) => {
                let index = self.index(local.value)?;
                self.names.push((local.name.to_string(), index));
                None
            }
            Stmt::Broken(_) => None,
            Stmt::Assign(assign) => {
                let (base, indices) = subscripts(assign.target);
                path(base).filter(|base| *base == self.output && !indices.is_empty())?;
                let indices: Option<Vec<Affine>> = indices.into_iter().map(|index| self.index(index)).collect();
                indices.map(|indices| (indices, text(assign.target)))
            }
        });
        self.names.truncate(outer);
        found
    }

    fn index(&self, expr: &syn::Expr) -> Option<Affine> {
        let mut resolve = |ident: &Ident, errors: &mut Errors| {
            let known = self.names.iter().rev().find(|(name, _)| ident == name).map(|(_, index)| index.clone());
            let constant = self.signature.constants.iter().find(|constant| constant.name == *ident);
            known.or_else(|| match constant {
                Some(constant) => constant.extent(ident, errors),
                None => Some(Affine::var(ident.to_string())),
            })
        };
        affine(expr, &mut resolve, &mut Errors::default())
    }
}
