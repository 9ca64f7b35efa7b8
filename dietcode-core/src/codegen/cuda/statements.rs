//! Statements as CUDA C++.

use std::fmt::Display;
use std::sync::Arc;

use super::kernel::Form;
use crate::codegen::c_like::{Addresses, Dialect, element_type, write_line};
use crate::codegen::written_out;
use crate::ir::{Buffer, DType, Expr, ForKind, Intrinsic, Name, Scope, Stmt};
use crate::lower::LoopNest;

/// Prints statements.
pub(super) struct Printer {
    pub(super) text: String,
    depth: usize,
    pub(super) addresses: Addresses,
    /// Offsets of the tiles in a block's shared memory, in bytes.
    tiles: Vec<(Arc<Buffer>, i64)>,
    /// The loops over a block's threads.
    threads: Vec<(Name, i64)>,
}

impl Printer {
    pub(super) fn new(nest: &LoopNest, form: &Form<'_>) -> Printer {
        let mut taken: Vec<Name> = nest.shape_vars.clone();
        taken.extend(nest.derived.iter().map(|(name, _)| name.clone()));
        taken.extend(form.params.iter().chain(form.workspace).map(|param| param.name.clone()));
        nest.body.visit(&mut |stmt| match stmt {
            Stmt::For { var, .. } | Stmt::Let { var, .. } => taken.push(var.clone()),
            Stmt::Allocate { buffer, .. } => taken.push(buffer.name.clone()),
            _ => {}
        });
        let addresses = Addresses::new(taken, Dialect::Cuda);
        let (tiles, threads) = (nest.panels.clone(), nest.thread_loops());
        Printer { text: String::new(), depth: 1, addresses, tiles, threads }
    }

    pub(super) fn line(&mut self, text: impl Display) {
        write_line(&mut self.text, self.depth, format_args!("{text}"));
    }

    /// Opens a block; without a head it is a scope for declarations.
    pub(super) fn open(&mut self, head: impl Display) {
        let head = format!("{head} {{");
        self.line(head.trim_start());
        self.depth += 1;
    }

    pub(super) fn close(&mut self) {
        self.depth -= 1;
        self.line("}");
    }

    /// The variable that says whether a tensor can be accessed by vectors.
    pub(super) fn aligned(&self, buffer: &Buffer, lanes: i64) -> String {
        format!("dietcode_{}_by_{lanes}", buffer.name)
    }

    /// The strides of the parts of split sums: they lie densely.
    pub(super) fn workspace(&mut self, parts: &Arc<Buffer>) {
        let rank = parts.shape.len();
        let variables = self.addresses.declare(parts, |dim| dim + 1 == rank);
        for (dim, name) in variables.iter().rev() {
            let extent = self.addresses.operand(&parts.shape[dim + 1]);
            let inner = variables.iter().find(|(other, _)| *other == dim + 1);
            let inner = inner.map_or(String::new(), |(_, inner)| format!(" * {inner}"));
            self.line(format_args!("const long long {name} = static_cast<long long>({extent}){inner};"));
        }
    }

    pub(super) fn stmt(&mut self, stmt: &Stmt) {
        if let Some((var, extent, body)) = written_out::loop_of(stmt) {
            for value in 0..extent {
                self.addresses.values.enter(var, value);
                self.in_sequence(body);
                self.addresses.values.leave();
            }
            return;
        }
        match stmt {
            Stmt::For { kind: ForKind::BlockIdx, body, .. } => self.stmt(body),
            Stmt::For { var, kind: ForKind::ThreadIdx, body, .. } => {
                let number = self.thread(var);
                self.line(format_args!("const int {var} = {number};"));
                self.stmt(body);
            }
            Stmt::For { var, extent, body, .. } => self.serial(var, extent, body),
            Stmt::Let { var, value, body } => {
                let value = self.addresses.text(value);
                self.line(format_args!("const int {var} = {value};"));
                self.stmt(body);
            }
            Stmt::Store { buffer, index, value } => {
                let (to, value) = (self.addresses.element(buffer, index), self.stored(buffer.dtype, value));
                self.line(format_args!("{to} = {value};"));
            }
            Stmt::Intrinsic(intrinsic) => self.intrinsic(intrinsic),
            Stmt::Allocate { buffer, body } => self.allocate(buffer, body),
            Stmt::IfThenElse { condition, then, otherwise } => {
                let condition = self.addresses.text(condition);
                self.open(format_args!("if ({condition})"));
                self.stmt(then);
                if let Some(otherwise) = otherwise {
                    self.depth -= 1;
                    self.open("} else");
                    self.stmt(otherwise);
                }
                self.close();
            }
            Stmt::Sync => self.line("__syncthreads();"),
            Stmt::Seq(stmts) => stmts.iter().for_each(|stmt| self.in_sequence(stmt)),
            Stmt::View { .. } => unreachable!("lowering for a GPU makes no views"),
        }
    }

    /// The part of a thread's number that one of the loops over threads counts.
    fn thread(&self, var: &Name) -> String {
        let at = self.threads.iter().position(|(name, _)| name == var).unwrap_or(0);
        let after: i64 = self.threads[at + 1..].iter().map(|(_, extent)| extent).product();
        let mut number = "static_cast<int>(threadIdx.x)".to_owned();
        if after > 1 {
            number += &format!(" / {after}");
        }
        if at > 0 {
            number += &format!(" % {}", self.threads[at].1);
        }
        number
    }

    /// Statements that stand side by side may declare the same names.
    fn in_sequence(&mut self, stmt: &Stmt) {
        if matches!(stmt, Stmt::Let { .. }) {
            self.open("");
            self.stmt(stmt);
            self.close();
        } else {
            self.stmt(stmt);
        }
    }

    fn serial(&mut self, var: &Name, extent: &Expr, body: &Stmt) {
        if extent.as_int().is_some() {
            self.line("DIETCODE_UNROLL");
        }
        let extent = self.addresses.text(extent);
        self.open(format_args!("for (int {var} = 0; {var} < {extent}; ++{var})"));
        self.stmt(body);
        self.close();
    }

    /// A value as an element: an element of the same type as it is, everything else rounded.
    fn stored(&self, dtype: DType, value: &Expr) -> String {
        let same = |e: &Expr| match e {
            Expr::Load(buffer, index) if buffer.dtype == dtype => Some(self.addresses.element(buffer, index)),
            _ => None,
        };
        match value {
            _ if dtype == DType::F32 => self.addresses.text(value),
            Expr::Select(condition, then, otherwise) if **otherwise == Expr::Float(0.0) => match same(then) {
                Some(element) => {
                    let condition = self.addresses.operand(condition);
                    format!("{condition} ? {element} : {}{{}}", element_type(dtype))
                }
                None => self.rounded(dtype, value),
            },
            value => same(value).unwrap_or_else(|| self.rounded(dtype, value)),
        }
    }

    fn rounded(&self, dtype: DType, value: &Expr) -> String {
        format!("dietcode_round<{}>({})", element_type(dtype), self.addresses.text(value))
    }

    /// A buffer's declaration, in a block of its own.
    fn allocate(&mut self, buffer: &Arc<Buffer>, body: &Stmt) {
        let (name, element) = (&buffer.name, element_type(buffer.dtype));
        let elements: i64 = buffer.shape.iter().filter_map(Expr::as_int).product();
        self.open("");
        match buffer.scope {
            Scope::Shared => {
                let offset = self.tiles.iter().find(|(tile, _)| tile == buffer).map_or(0, |(_, offset)| *offset);
                self.line(format_args!(
                    "{element} *const {name} = reinterpret_cast<{element} *>(dietcode_shared + {offset});"
                ));
            }
            Scope::Fragment => self.line(format_args!("unsigned {name}[{elements}];")),
            _ => self.line(format_args!("alignas(16) {element} {name}[{elements}];")),
        }
        self.stmt(body);
        self.close();
    }

    fn intrinsic(&mut self, intrinsic: &Intrinsic) {
        match intrinsic {
            Intrinsic::Copy { .. } => self.copy(intrinsic),
            Intrinsic::Commit => self.line("dietcode_commit();"),
            Intrinsic::Wait(groups) => self.line(format_args!("dietcode_wait<{groups}>();")),
            Intrinsic::LoadMatrix { .. } => self.load_matrix(intrinsic),
            Intrinsic::Mma { .. } => self.mma(intrinsic),
            Intrinsic::AtomicAdd { to, index, value } => {
                let (to, value) = (self.addresses.element(to, index), self.addresses.text(value));
                self.line(format_args!("dietcode_atomic_add(&{to}, {value});"));
            }
            Intrinsic::TransposeCopy { .. } => unreachable!("lowering for a GPU makes no transposing copies"),
        }
    }

    fn copy(&mut self, copy: &Intrinsic) {
        let Intrinsic::Copy { to, to_index, to_step, from, from_index, lanes, valid, asynchronous } = copy else {
            return;
        };
        let (to_text, from_text) = (self.addresses.element(to, to_index), self.addresses.element(from, from_index));
        let valid = self.addresses.text(valid);
        let tensor = [from, to].into_iter().find(|buffer| buffer.scope == Scope::Global && *lanes > 1);
        let aligned = tensor.map_or("true".to_owned(), |buffer| self.aligned(buffer, *lanes));
        let element = element_type(to.dtype);
        self.line(match (&to.scope, asynchronous) {
            // The tile's sums are written by the vector that they were collected in.
            (Scope::Global, _) => {
                format!("dietcode_store<{element}, {lanes}>(&{to_text}, {}, {valid}, {aligned});", from.name)
            }
            (_, true) => {
                format!("dietcode_copy_async<{element}, {lanes}>(&{to_text}, &{from_text}, {valid}, {aligned});")
            }
            (_, false) => {
                format!("dietcode_copy<{element}, {lanes}>(&{to_text}, {to_step}, &{from_text}, {valid}, {aligned});")
            }
        });
    }
}
