//! What must hold of a scheduled program between any two passes.
//!
//! * A variable is used only inside of the loop or `let` that binds it, and no name is bound twice on one path.
//! * A buffer is read and written only where it is allocated; a parameter everywhere; an input is never written.
//! * An access has one index per dimension.
//! * The extent of a vectorized, unrolled, threadIdx or vthread loop is a positive constant.
//! * Extents of panels, locals and registers are positive constants; those of panels may name parameters.
//! * A parallel loop stands in no other loop; blockIdx stands in none but blockIdx, threadIdx in none but these two.
//! * A barrier stands in no conditional, unless its condition is the same for all threads of a block, and so in no loop whose extent is not.

use std::sync::Arc;

use super::{Buffer, Expr, ForKind, Name, Scope, Stmt};

/// Checks the invariants above. `vars` are bound around the body: shape variables, the parameters among them, and what is derived once
/// per call.
///
/// # Errors
/// A sentence that names the entity; the caller adds the pass and the printed IR.
pub fn verify(
    body: &Stmt,
    vars: &[Name],
    parameters: &[Name],
    params: &[Arc<Buffer>],
    written: &[Arc<Buffer>],
) -> Result<(), String> {
    let (vars, buffers, loops) = (vars.to_vec(), params.to_vec(), Vec::new());
    let mut scope = Verifier { vars, parameters, buffers, written, loops, of_threads: Vec::new(), branches: 0 };
    scope.stmt(body)
}

struct Verifier<'a> {
    vars: Vec<Name>,
    parameters: &'a [Name],
    buffers: Vec<Arc<Buffer>>,
    /// Those of the parameters that may be written.
    written: &'a [Arc<Buffer>],
    /// The kinds of the loops around, outermost first.
    loops: Vec<ForKind>,
    /// The variables that threads of a block may have different values of.
    of_threads: Vec<Name>,
    /// How many conditionals and loops stand around on which threads of a block may differ.
    branches: usize,
}

impl Verifier<'_> {
    fn stmt(&mut self, stmt: &Stmt) -> Result<(), String> {
        match stmt {
            Stmt::For { var, extent, kind, body } => {
                self.expr(extent)?;
                check_loop(var, extent, *kind, &self.loops)?;
                self.loops.push(*kind);
                // Threads that differ on how often a loop runs do so on what stands in it.
                let (around, of_threads) = (self.branches, self.differs(extent));
                self.branches += usize::from(of_threads);
                self.bind(var, of_threads || *kind == ForKind::ThreadIdx, |scope| scope.stmt(body))?;
                self.branches = around;
                self.loops.pop();
                Ok(())
            }
            Stmt::Let { var, value, body } => {
                self.expr(value)?;
                self.bind(var, self.differs(value), |scope| scope.stmt(body))
            }
            Stmt::Store { buffer, index, value } => {
                self.may_write(buffer)?;
                self.access(buffer, index)?;
                self.expr(value)
            }
            Stmt::Allocate { buffer, body } => {
                let known = match buffer.bytes() {
                    Some(bytes) => bytes > 0,
                    None => buffer.scope == Scope::Panel && buffer.shape.iter().all(|extent| self.is_known(extent)),
                };
                if !known {
                    return Err(format!("the size of `{buffer}` is not a positive constant"));
                }
                self.with_buffer(buffer, |scope| scope.stmt(body))
            }
            Stmt::View { view, inside, whole, edge, fill, body } => {
                self.expr(inside)?;
                self.access(&whole.buffer, &whole.base)?;
                self.access(&edge.buffer, &edge.base)?;
                self.stmt(fill)?;
                self.with_buffer(view, |scope| scope.stmt(body))
            }
            Stmt::IfThenElse { condition, then, otherwise } => {
                self.expr(condition)?;
                let around = self.branches;
                self.branches += usize::from(self.differs(condition));
                self.stmt(then)?;
                otherwise.iter().try_for_each(|otherwise| self.stmt(otherwise))?;
                self.branches = around;
                Ok(())
            }
            Stmt::Seq(stmts) => stmts.iter().try_for_each(|stmt| self.stmt(stmt)),
            Stmt::Sync if self.branches > 0 => Err("a barrier stands where not all threads may come".into()),
            Stmt::Sync => Ok(()),
            Stmt::Intrinsic(intrinsic) => {
                for (buffer, index, written) in intrinsic.accesses() {
                    if written {
                        self.may_write(buffer)?;
                    }
                    self.access(buffer, index)?;
                }
                intrinsic.values().into_iter().try_for_each(|value| self.expr(value))
            }
        }
    }

    /// Whether an extent is a positive constant, or one of parameters.
    fn is_known(&self, extent: &Expr) -> bool {
        let named = |e: &Expr| matches!(e, Expr::Var(name) if !self.parameters.contains(name));
        extent.as_int().map_or_else(|| !extent.any(&mut { named }), |extent| extent > 0)
    }

    fn may_write(&self, buffer: &Arc<Buffer>) -> Result<(), String> {
        if buffer.scope == Scope::Global && !self.written.contains(buffer) {
            return Err(format!("input `{}` is written", buffer.name));
        }
        Ok(())
    }

    /// Whether threads of a block may have different values of an expression.
    fn differs(&self, e: &Expr) -> bool {
        e.any(&mut |e| match e {
            Expr::Var(name) => self.of_threads.contains(name),
            Expr::Load(..) => true,
            _ => false,
        })
    }

    /// Checks what stands where a variable is bound, of which threads may have different values.
    fn bind(
        &mut self,
        var: &Name,
        differs: bool,
        inside: impl FnOnce(&mut Self) -> Result<(), String>,
    ) -> Result<(), String> {
        if self.vars.contains(var) {
            return Err(format!("`{var}` is bound twice"));
        }
        self.vars.push(var.clone());
        let known = self.of_threads.len();
        self.of_threads.extend(differs.then(|| var.clone()));
        inside(self)?;
        self.of_threads.truncate(known);
        self.vars.pop();
        Ok(())
    }

    fn with_buffer(
        &mut self,
        buffer: &Arc<Buffer>,
        inside: impl FnOnce(&mut Self) -> Result<(), String>,
    ) -> Result<(), String> {
        self.buffers.push(buffer.clone());
        inside(self)?;
        self.buffers.pop();
        Ok(())
    }

    /// An access of a statement.
    fn access(&self, buffer: &Arc<Buffer>, index: &[Expr]) -> Result<(), String> {
        self.accessible(buffer, index)?;
        index.iter().try_for_each(|index| self.expr(index))
    }

    /// Whether an access may be; nothing is said of what its indices are.
    fn accessible(&self, buffer: &Arc<Buffer>, index: &[Expr]) -> Result<(), String> {
        let is_own = |other: &Arc<Buffer>| Arc::ptr_eq(other, buffer) || other == buffer;
        if !self.buffers.iter().rev().any(is_own) {
            return Err(format!("`{}` is accessed where it does not exist", buffer.name));
        }
        if index.len() != buffer.shape.len() {
            return Err(format!("`{}` has {} dimensions, {} indices", buffer.name, buffer.shape.len(), index.len()));
        }
        Ok(())
    }

    fn expr(&self, e: &Expr) -> Result<(), String> {
        let mut result = Ok(());
        e.any(&mut |e| {
            result = match e {
                Expr::Var(name) if !self.vars.contains(name) => Err(format!("`{name}` is used where it is not bound")),
                // Its indices are visited next.
                Expr::Load(buffer, index) => self.accessible(buffer, index),
                _ => Ok(()),
            };
            result.is_err()
        });
        result
    }
}

fn check_loop(var: &Name, extent: &Expr, kind: ForKind, around: &[ForKind]) -> Result<(), String> {
    let constant = extent.as_int().is_some_and(|extent| extent >= 1);
    let only = |kinds: &[ForKind]| around.iter().all(|outer| kinds.contains(outer));
    match kind {
        ForKind::Vectorized | ForKind::Unrolled | ForKind::ThreadIdx | ForKind::VThread if !constant => {
            Err(format!("loop `{var}` is {kind:?} but its extent is `{extent}`"))
        }
        ForKind::Parallel if !around.is_empty() => Err(format!("parallel loop `{var}` stands in another loop")),
        ForKind::BlockIdx if !only(&[ForKind::BlockIdx]) => {
            Err(format!("loop `{var}` is {kind:?} but stands in a loop that is none of the grid"))
        }
        ForKind::ThreadIdx if !only(&[ForKind::BlockIdx, ForKind::ThreadIdx]) => {
            Err(format!("loop `{var}` is {kind:?} but stands in a loop that is none of the grid"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::DType;

    fn buffer(name: &str, scope: Scope, shape: &[i64]) -> Arc<Buffer> {
        let shape = shape.iter().copied().map(Expr::Int).collect();
        Arc::new(Buffer { name: name.into(), dtype: DType::F32, shape, scope, swizzle: 0 })
    }

    fn loop_(var: &str, extent: Expr, kind: ForKind, body: Stmt) -> Stmt {
        Stmt::For { var: var.into(), extent, kind, body: Box::new(body) }
    }

    fn store(to: &Arc<Buffer>, index: &[&str], value: Expr) -> Stmt {
        Stmt::Store { buffer: to.clone(), index: index.iter().map(|name| Expr::var(*name)).collect(), value }
    }

    fn nothing() -> Stmt {
        Stmt::Seq(Vec::new())
    }

    /// Each invariant with the least program that breaks it, beside one that is as near and does not.
    #[test]
    fn each_invariant_is_told_by_what_breaks_it() {
        let (x, y) = (buffer("x", Scope::Global, &[8]), buffer("y", Scope::Global, &[8]));
        let panel = |extent| buffer("p", Scope::Panel, &[extent]);
        let of_4 = |kind, body| loop_("i", Expr::Int(4), kind, body);
        let allocate = |of: &Arc<Buffer>, body| Stmt::Allocate { buffer: of.clone(), body: Box::new(body) };
        let read = |of: &Arc<Buffer>| Expr::Load(of.clone(), vec![Expr::var("i")]);
        let if_first = |var: &str, then| Stmt::if_(Expr::var(var).lt(Expr::Int(3)), then);
        let let_ =
            |var: &str, of: &str, body| Stmt::Let { var: var.into(), value: Expr::var(of), body: Box::new(body) };
        let serial = |body| of_4(ForKind::Serial, body);
        let cases = [
            (
                serial(store(&y, &["j"], read(&x))),
                serial(store(&y, &["i"], read(&x))),
                "`j` is used where it is not bound",
            ),
            (serial(serial(nothing())), serial(loop_("j", Expr::Int(4), ForKind::Serial, nothing())), "bound twice"),
            (
                serial(store(&y, &["i"], read(&panel(4)))),
                allocate(&panel(4), serial(store(&y, &["i"], read(&panel(4))))),
                "does not exist",
            ),
            (serial(store(&x, &["i"], read(&x))), serial(store(&y, &["i"], read(&y))), "input `x` is written"),
            (
                serial(store(&y, &["i", "i"], read(&x))),
                serial(store(&y, &["i"], read(&x))),
                "has 1 dimensions, 2 indices",
            ),
            (
                loop_("i", Expr::var("n"), ForKind::Unrolled, nothing()),
                of_4(ForKind::Unrolled, nothing()),
                "its extent is `n`",
            ),
            (allocate(&panel(0), nothing()), allocate(&panel(1), nothing()), "is not a positive constant"),
            (
                loop_("j", Expr::Int(2), ForKind::Serial, of_4(ForKind::Parallel, nothing())),
                of_4(ForKind::Parallel, nothing()),
                "stands in another loop",
            ),
            (
                loop_("j", Expr::Int(2), ForKind::Serial, of_4(ForKind::ThreadIdx, nothing())),
                loop_("j", Expr::Int(2), ForKind::BlockIdx, of_4(ForKind::ThreadIdx, nothing())),
                "none of the grid",
            ),
            (
                of_4(ForKind::ThreadIdx, if_first("i", Stmt::Sync)),
                of_4(ForKind::ThreadIdx, Stmt::seq([if_first("i", nothing()), if_first("n", Stmt::Sync)])),
                "a barrier",
            ),
            (
                of_4(ForKind::ThreadIdx, let_("t", "i", if_first("n", if_first("t", Stmt::Sync)))),
                of_4(ForKind::ThreadIdx, let_("t", "n", if_first("n", if_first("t", Stmt::Sync)))),
                "a barrier",
            ),
            (
                of_4(ForKind::ThreadIdx, loop_("j", Expr::var("i"), ForKind::Serial, Stmt::Sync)),
                of_4(ForKind::ThreadIdx, loop_("j", Expr::var("n"), ForKind::Serial, Stmt::Sync)),
                "a barrier",
            ),
        ];
        for (broken, kept, expected) in cases {
            let verified = |stmt: &Stmt| {
                verify(
                    stmt,
                    &["n".into(), "p".into()],
                    &["p".into()],
                    &[x.clone(), y.clone()],
                    std::slice::from_ref(&y),
                )
            };
            let why = verified(&broken).expect_err(expected);
            assert!(why.contains(expected), "{why}, expected {expected}\n{broken}");
            assert_eq!(verified(&kept), Ok(()), "{kept}");
        }
    }
}
