//! Copies in a loop: where they begin in its first iteration is computed before it, and what each iteration adds to that is added.
//!
//! ```text
//! for k_0 in 0..n                                             x_from = (i_b·128 + thread / 4)·x_s0 + thread % 4 · 8
//!   for f in 0..2                                             for k_0 in 0..n
//!     let x_e = thread; let x_i = f·32 + x_e / 4; …     →       for f in 0..2
//!     copy x[i_b·128 + x_i][k_0·32 + x_k]                          copy x[x_from + f·32·x_s0 + k_0·32]
//! ```
//!
//! A compiler finds no induction in sums of narrow and wide integers, and computes most of them anew in each iteration. What it is given
//! here takes registers, so that sums by scalar products, which hold their operands in them, have it only where a thread copies once of each
//! tensor, and for addresses that no constants relate, as those of a window are.

use std::ops::{Add, Mul, Sub};

use super::kernel::WHOLE;
use crate::codegen::printer::Printer;
use crate::ir::{BinaryOp, Expr, ForKind, Intrinsic, Name, Scope, Stmt};

/// The body of a loop over `var` whose copies begin where variables say that are declared here, before the loop.
pub(super) fn hoist(printer: &mut Printer<'_>, var: &Name, body: &Stmt) -> Stmt {
    let (mut matrix_unit, mut several) = (false, false);
    body.visit(&mut |stmt| match stmt {
        Stmt::For { kind: ForKind::Serial, body, .. } => body.visit(&mut |stmt| several |= copies(stmt)),
        stmt => matrix_unit |= matches!(stmt, Stmt::Intrinsic(Intrinsic::Mma { .. })),
    });
    Hoist { printer, all: matrix_unit || !several, loops: vec![(var.clone(), 0)], bound: Vec::new() }.stmt(body)
}

struct Hoist<'h, 'p> {
    printer: &'h mut Printer<'p>,
    /// Whether registers suffice for all: the products are those of a matrix unit, or each tensor is copied once.
    all: bool,
    /// The loop, and those that stand between it and a copy, with their iterations; how many it has itself is not needed: 0.
    loops: Vec<(Name, i64)>,
    /// The variables that are bound between them, with their values in terms of what is outside.
    bound: Vec<(Name, Expr)>,
}

impl Hoist<'_, '_> {
    fn stmt(&mut self, stmt: &Stmt) -> Stmt {
        match stmt {
            Stmt::Let { var, value, body } => {
                self.bound.push((var.clone(), self.outside(value)));
                let inner = self.stmt(body);
                self.bound.pop();
                Stmt::Let { var: var.clone(), value: value.clone(), body: Box::new(inner) }
            }
            Stmt::For { var, extent: Expr::Int(extent), kind: ForKind::Serial, body } => {
                self.loops.push((var.clone(), *extent));
                let inner = self.stmt(body);
                self.loops.pop();
                Stmt::for_(var.clone(), Expr::Int(*extent), ForKind::Serial, inner)
            }
            Stmt::Seq(stmts) => Stmt::Seq(stmts.iter().map(|stmt| self.stmt(stmt)).collect()),
            Stmt::Allocate { buffer, body } => {
                Stmt::Allocate { buffer: buffer.clone(), body: Box::new(self.stmt(body)) }
            }
            Stmt::IfThenElse { condition, then, otherwise: None } => Stmt::if_(condition.clone(), self.stmt(then)),
            Stmt::Intrinsic(copy @ Intrinsic::Copy { .. }) => {
                Stmt::Intrinsic(self.copy(copy).unwrap_or_else(|| copy.clone()))
            }
            other => other.clone(),
        }
    }

    /// An expression in terms of what is known before the loop, and of the loops.
    fn outside(&self, e: &Expr) -> Expr {
        self.bound.iter().fold(e.clone(), |e, (var, value)| e.substitute(var, value))
    }

    /// A copy from a tensor that moves with the loop. None: it stays as it is.
    fn copy(&mut self, copy: &Intrinsic) -> Option<Intrinsic> {
        let mut moved = copy.clone();
        let Intrinsic::Copy { from, from_index, valid, .. } = &mut moved else { return None };
        let index: Vec<Expr> = from_index.iter().map(|e| self.outside(e)).collect();
        let var = self.loops[0].0.clone();
        if from.scope != Scope::Global || !index.iter().any(|e| e.uses(&var)) {
            return None;
        }
        let moves = |(name, _): &(Name, i64)| index.iter().all(|e| step(e, name).is_some());
        let (along, apart): (Vec<_>, Vec<_>) = self.loops.clone().into_iter().partition(moves);
        let along: Vec<Name> = along.into_iter().map(|(name, _)| name).collect();
        if along.first() != Some(&var) || (apart.is_empty() && !self.all) {
            return None;
        }
        let first = |e: &Expr| along.iter().fold(e.clone(), |e, name| e.substitute(name, &Expr::Int(0)));
        let offset = self.printer.exprs.offset(from, &index.iter().map(first).collect::<Vec<_>>());
        let start = self.declare("long long", &format!("{}_from", from.name), &offset, &apart);
        // The induction is one of addresses only if the sum is as wide as they are.
        let wide = |name: &Name| Expr::Var(format!("static_cast<long long>({name})").into());
        let added = |e: &Expr| {
            let terms = along.iter().map(|name| wide(name).mul(Expr::Int(step(e, name).unwrap_or(0))));
            terms.fold(Expr::Int(0), Expr::add)
        };
        let added: Vec<Expr> = index.iter().map(added).collect();
        let exprs = &self.printer.exprs;
        // Where vectors may be cut, registers are short.
        let whole = if exprs.is_taken(WHOLE) { Expr::var(WHOLE) } else { Expr::Int(1) };
        let choose = |hoisted, here| Expr::select(whole.clone(), hoisted, here);
        let at = choose(Expr::Var(start).add(exprs.offset(from, &added)), exprs.offset(from, from_index));
        // Neighbours along the last dimension lie side by side.
        let last = from_index.len().checked_sub(1)?;
        from_index.fill(Expr::Int(0));
        from_index[last] = at;
        let all = self.outside(valid);
        if let Some(fewer) = fewer(&all, &var).filter(|_| !along[1..].iter().any(|name| all.uses(name))) {
            let left = self.declare("int", &format!("{}_left", from.name), &first(&all), &apart);
            *valid = choose(Expr::Var(left).sub(Expr::Var(var).mul(Expr::Int(fewer))), valid.clone());
        }
        Some(moved)
    }

    /// Declares a variable with a value for each iteration of some loops; its text in one.
    fn declare(&mut self, kind: &str, wish: &str, value: &Expr, loops: &[(Name, i64)]) -> Name {
        let Hoist { printer, .. } = self;
        let name = printer.exprs.fresh(wish);
        let value = printer.exprs.text(value);
        if loops.is_empty() {
            printer.line(format_args!("const {kind} {name} = {value};"));
            return name;
        }
        let (extents, place): (String, String) =
            loops.iter().map(|(var, extent)| (format!("[{extent}]"), format!("[{var}]"))).unzip();
        printer.line(format_args!("{kind} {name}{extents};"));
        for (var, extent) in loops {
            printer.line("DIETCODE_UNROLL");
            printer.open(format_args!("for (int {var} = 0; {var} < {extent}; ++{var})"));
        }
        printer.line(format_args!("{name}{place} = {value};"));
        loops.iter().for_each(|_| printer.close());
        format!("{name}{place}").into()
    }
}

/// Whether a statement copies from a tensor.
fn copies(stmt: &Stmt) -> bool {
    matches!(stmt, Stmt::Intrinsic(Intrinsic::Copy { from, .. }) if from.scope == Scope::Global)
}

/// By how much an expression grows with a variable; none if that is no constant.
fn step(e: &Expr, var: &Name) -> Option<i64> {
    match e {
        Expr::Var(name) if name == var => Some(1),
        Expr::Binary(BinaryOp::Add, a, b) => Some(step(a, var)? + step(b, var)?),
        Expr::Binary(BinaryOp::Sub, a, b) => Some(step(a, var)? - step(b, var)?),
        Expr::Binary(BinaryOp::Mul, a, b) if b.as_int().is_some() => Some(step(a, var)? * b.as_int()?),
        e => (!e.uses(var)).then_some(0),
    }
}

/// By how many fewer lanes are valid in each iteration than in the one before, where that is a number. If none is in the first, there may be
/// fewer than none later.
fn fewer(valid: &Expr, var: &Name) -> Option<i64> {
    match valid {
        Expr::Select(condition, then, otherwise) if **otherwise == Expr::Int(0) && !condition.uses(var) => {
            fewer(then, var)
        }
        valid => step(valid, var).map(|step| -step).filter(|fewer| *fewer > 0),
    }
}
