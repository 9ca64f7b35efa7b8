//! Statements as text.

use std::fmt::Display;
use std::sync::Arc;

use super::expression::Anchor;
use super::{Dialect, Expressions, element_type, unrolled, write};
use crate::ir::{Buffer, DType, Expr, Name, Region, Scope, Stmt, affine};
use crate::lower::LoopNest;

/// Prints statements, line by line.
pub(crate) struct Printer<'a> {
    /// What was printed so far.
    pub(crate) text: String,
    /// Prints the expressions in them.
    pub(crate) exprs: Expressions,
    /// What is printed.
    pub(crate) nest: &'a LoopNest,
    /// The serial loops around, outermost first.
    pub(crate) loops: Vec<Name>,
    /// The conditions around.
    pub(crate) conditions: Vec<Expr>,
    dialect: &'static dyn Dialect,
    depth: usize,
}

impl<'a> Printer<'a> {
    /// Prints the body of a function that has these operands.
    pub(crate) fn new<'b>(
        dialect: &'static dyn Dialect,
        nest: &'a LoopNest,
        operands: impl IntoIterator<Item = &'b Arc<Buffer>>,
    ) -> Printer<'a> {
        let mut taken: Vec<Name> = nest.shape_vars.clone();
        taken.extend(nest.derived.iter().map(|(name, _)| name.clone()));
        taken.extend(operands.into_iter().map(|operand| operand.name.clone()));
        taken.extend(nest.grid.iter().map(|(name, _)| name.clone()));
        nest.body.visit(&mut |stmt| match stmt {
            Stmt::For { var, .. } | Stmt::Let { var, .. } => taken.push(var.clone()),
            Stmt::Allocate { buffer, .. } | Stmt::View { view: buffer, .. } => taken.push(buffer.name.clone()),
            _ => {}
        });
        let exprs = Expressions::new(dialect, nest.computes, taken);
        let (text, loops, conditions) = (String::new(), Vec::new(), Vec::new());
        Printer { text, exprs, nest, loops, conditions, dialect, depth: 1 }
    }

    /// Appends a line, indented.
    pub(crate) fn line(&mut self, line: impl Display) {
        self.text.extend(std::iter::repeat_n("  ", self.depth));
        write(&mut self.text, format_args!("{line}\n"));
    }

    /// Opens a block; without a head it is a scope for declarations.
    pub(crate) fn open(&mut self, head: impl Display) {
        let head = format!("{head} {{");
        self.line(head.trim_start());
        self.depth += 1;
    }

    /// Closes it.
    pub(crate) fn close(&mut self) {
        self.depth -= 1;
        self.line("}");
    }

    /// Begins the other branch of a conditional.
    fn otherwise(&mut self) {
        self.depth -= 1;
        self.open("} else");
    }

    /// A variable that keeps its value.
    pub(crate) fn constant(&mut self, name: &str, value: impl Display) {
        let int = self.dialect.index_type();
        self.line(format_args!("const {int} {name} = {value};"));
    }

    /// What is computed once, before the loops.
    pub(crate) fn derived(&mut self) {
        for (name, value) in &self.nest.derived {
            let value = self.exprs.text(value);
            self.constant(name, value);
        }
    }

    /// Where a buffer lies in a thread's scratch memory or in a block's shared memory, in bytes.
    pub(crate) fn place(&self, buffer: &Arc<Buffer>) -> String {
        let place = self.nest.panels.iter().find(|(panel, _)| panel == buffer);
        place.map_or_else(|| "0".to_owned(), |(_, offset)| self.exprs.operand(offset))
    }

    /// Prints a statement.
    pub(crate) fn stmt(&mut self, stmt: &Stmt) {
        if let Some((var, extent, body)) = unrolled::loop_of(stmt) {
            let anchored = self.anchor(stmt);
            for value in 0..extent {
                self.exprs.values.enter(var, value);
                self.in_sequence(body);
                self.exprs.values.leave();
            }
            if anchored {
                self.exprs.anchor = None;
                self.close();
            }
            return;
        }
        match stmt {
            Stmt::For { var, extent, kind, body } => self.dialect.for_loop(self, *kind, (var, extent), body),
            Stmt::Let { var, value, body } => {
                let value = self.exprs.text(value);
                self.constant(var, value);
                self.stmt(body);
            }
            Stmt::Store { buffer, index, value } => self.storing(buffer.dtype, |printer| {
                let value = printer.dialect.stored(printer, buffer.dtype, value);
                let to = printer.exprs.element(buffer, index);
                printer.line(format_args!("{to} = {value};"));
            }),
            Stmt::Intrinsic(intrinsic) => self.dialect.intrinsic(self, intrinsic),
            Stmt::Allocate { buffer, body } => {
                self.open("");
                self.dialect.declare(self, buffer, body);
                let around = self.exprs.steps.clone();
                if buffer.scope == Scope::Register {
                    self.exprs.steps.clear();
                }
                self.stmt(body);
                self.exprs.steps = around;
                self.close();
            }
            Stmt::View { view, inside, whole, edge, fill, body } => {
                self.view(view, inside, [whole, edge], fill);
                self.stmt(body);
            }
            Stmt::IfThenElse { condition, then, otherwise } => {
                let text = self.exprs.text(condition);
                self.open(format_args!("if ({text})"));
                self.conditions.push(condition.clone());
                self.stmt(then);
                if let Some(otherwise) = otherwise {
                    self.otherwise();
                    self.stmt(otherwise);
                }
                self.conditions.pop();
                self.close();
            }
            Stmt::Seq(stmts) => stmts.iter().for_each(|stmt| self.in_sequence(stmt)),
            Stmt::Sync => self.line(self.dialect.barrier()),
        }
    }

    /// Prints a store to elements of a type.
    pub(crate) fn storing(&mut self, dtype: DType, print: impl FnOnce(&mut Self)) {
        let around = self.exprs.set_computes(self.exprs.to_store(dtype));
        print(self);
        self.exprs.set_computes(around);
    }

    /// Declares where the first of the vectors lies that unrolled loops store to a tensor: addresses that count from there are computed
    /// when they are needed, while those that count from the tensor's first element would occupy registers in the loops before.
    fn anchor(&mut self, stmt: &Stmt) -> bool {
        let Some((buffer, first)) = unrolled::first_vector(stmt).filter(|_| self.exprs.anchor.is_none()) else {
            return false;
        };
        let first: Vec<Expr> = first.iter().map(|e| self.exprs.here(e).into_owned()).collect();
        if first.iter().any(|e| affine(e).is_none()) {
            return false;
        }
        self.open("");
        let at = self.exprs.element(buffer, &first);
        let name = self.exprs.fresh(&format!("{}_at", buffer.name));
        self.line(format_args!("{} *const {name} = &{at};", element_type(buffer.dtype)));
        self.exprs.anchor = Some(Anchor { buffer: buffer.name.clone(), first, name });
        true
    }

    /// Statements that stand side by side may declare the same names.
    fn in_sequence(&mut self, stmt: &Stmt) {
        if matches!(stmt, Stmt::Let { .. } | Stmt::View { .. }) {
            self.open("");
            self.stmt(stmt);
            self.close();
        } else {
            self.stmt(stmt);
        }
    }

    /// A loop whose iterations are carried out one after the other.
    pub(crate) fn serial(&mut self, (var, extent): (&Name, &Expr), body: &Stmt) {
        let (int, extent) = (self.dialect.index_type(), self.exprs.text(extent));
        self.open(format_args!("for ({int} {var} = 0; {var} < {extent}; ++{var})"));
        self.loops.push(var.clone());
        self.exprs.steps.push(var.clone());
        self.stmt(body);
        self.loops.pop();
        self.exprs.steps.pop();
        self.close();
    }

    /// Chooses between the tensor and its padded copy.
    fn view(&mut self, view: &Arc<Buffer>, inside: &Expr, regions: [&Region; 2], fill: &Stmt) {
        let strides = regions.map(|region| self.exprs.view_strides(region));
        let unit = |dim: usize| strides.iter().all(|strides| strides[dim] == Expr::Int(1));
        let variables = self.exprs.declare(view, unit);
        let int = self.dialect.index_type();
        self.line(format_args!("const {} *{};", element_type(view.dtype), view.name));
        for (_, name) in &variables {
            self.line(format_args!("{int} {name};"));
        }
        let condition = self.exprs.text(inside);
        self.open(format_args!("if ({condition})"));
        self.point(view, regions[0], &strides[0], &variables);
        self.otherwise();
        self.stmt(fill);
        self.point(view, regions[1], &strides[1], &variables);
        self.close();
    }

    fn point(&mut self, view: &Arc<Buffer>, region: &Region, strides: &[Expr], variables: &[(usize, Name)]) {
        let offset = self.exprs.text(&self.exprs.offset(&region.buffer, &region.base));
        self.line(format_args!("{} = {} + {offset};", view.name, region.buffer.name));
        for (dim, name) in variables {
            let stride = self.exprs.text(&strides[*dim]);
            self.line(format_args!("{name} = {stride};"));
        }
    }
}
