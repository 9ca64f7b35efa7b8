//! What CUDA C++ has of its own: loops that are blocks and threads, shared memory, matrix units.

use std::sync::Arc;

use super::{hoist, intrinsic};
use crate::codegen::printer::{Dialect, Expressions, Printer, element_type};
use crate::ir::{BinaryOp, Buffer, DType, Expr, ForKind, Intrinsic, Name, Scope, Stmt, function};

/// Of more tiles in turn, a loop would be too long for the cache of instructions.
const MOST_IN_TURN: i64 = 2;

/// CUDA C++ with what `dietcode.cuh` has.
pub(super) struct Cuda;

impl Dialect for Cuda {
    fn index_type(&self) -> &'static str {
        "int"
    }

    fn wide(&self) -> &'static str {
        "(long long)"
    }

    /// That of the global scope: a tensor may be called `expf`.
    fn library_function(&self, name: function::Name, computes: DType) -> String {
        format!("::{}{}", name.text(), if computes == DType::F64 { "" } else { "f" })
    }

    /// The compiler finds the constant indices of an array, and keeps it in registers.
    fn write_register(&self, exprs: &Expressions, tile: &Buffer, index: &[Expr], text: &mut String) {
        exprs.write_indexed(tile, index, text);
    }

    fn for_loop(&self, printer: &mut Printer<'_>, kind: ForKind, (var, extent): (&Name, &Expr), body: &Stmt) {
        match kind {
            ForKind::BlockIdx => printer.stmt(body),
            ForKind::ThreadIdx => {
                printer.constant(var, thread(printer, var));
                printer.line(format_args!("DIETCODE_ASSUME({var} >= 0 && {var} < {});", printer.exprs.text(extent)));
                printer.stmt(body);
            }
            _ if extent.as_int().is_some() => {
                printer.line("DIETCODE_UNROLL");
                printer.serial((var, extent), body);
            }
            _ => {
                let body = hoist::hoist(printer, var, body);
                // Where registers are bounded, none is left for which tile it is.
                if let Some(tiles) = tiles_in_turn(&body, var).filter(|_| printer.nest.min_blocks > 1) {
                    printer.line(format_args!("DIETCODE_UNROLL_BY({tiles})"));
                }
                printer.serial((var, extent), &body);
            }
        }
    }

    /// An element of the same type stays as it is, everything else is rounded.
    fn stored(&self, printer: &mut Printer<'_>, dtype: DType, value: &Expr) -> String {
        let exprs = &printer.exprs;
        let same = |e: &Expr| match e {
            Expr::Load(buffer, index) if buffer.dtype == dtype => Some(exprs.element(buffer, index)),
            _ => None,
        };
        let kept = match value {
            value if dtype.is_integer() && same(value).is_some() => same(value),
            _ if dtype == exprs.computes() => Some(exprs.text(value)),
            value if dtype == DType::F32 => same(value).or_else(|| Some(format!("(float)({})", exprs.text(value)))),
            Expr::Select(condition, then, otherwise) if matches!(**otherwise, Expr::Float(_)) => same(then)
                .map(|then| format!("{} ? {then} : {}", exprs.operand(condition), constant(exprs, dtype, otherwise))),
            value => same(value),
        };
        kept.unwrap_or_else(|| rounded(exprs, dtype, value))
    }

    fn declare(&self, printer: &mut Printer<'_>, buffer: &Arc<Buffer>, _: &Stmt) {
        let (name, element) = (&buffer.name, element_type(buffer.dtype));
        let elements: i64 = buffer.shape.iter().filter_map(Expr::as_int).product();
        match buffer.scope {
            Scope::Shared => {
                let offset = printer.place(buffer);
                printer.line(format_args!(
                    "{element} *const {name} = reinterpret_cast<{element} *>(dietcode_shared + {offset});"
                ));
            }
            Scope::Fragment => printer.line(format_args!("unsigned {name}[{elements}];")),
            _ => printer.line(format_args!("alignas(16) {element} {name}[{elements}];")),
        }
    }

    fn barrier(&self) -> &'static str {
        "__syncthreads();"
    }

    fn intrinsic(&self, printer: &mut Printer<'_>, intrinsic: &Intrinsic) {
        let line = intrinsic::text(&printer.exprs, intrinsic);
        printer.line(line);
    }
}

/// A constant as an element.
pub(super) fn constant(exprs: &Expressions, dtype: DType, value: &Expr) -> String {
    let element = element_type(dtype);
    match value {
        Expr::Float(0.0) => format!("{element}{{}}"),
        Expr::Float(value) if dtype.is_integer() => {
            format!("static_cast<{element}>({}u)", DType::I32.rounded(*value) as i32 as u32)
        }
        value if dtype == DType::F64 => exprs.text(value),
        value => rounded(exprs, dtype, value),
    }
}

/// A value that is rounded once to an element of another type.
fn rounded(exprs: &Expressions, dtype: DType, value: &Expr) -> String {
    let (element, value) = (element_type(dtype), exprs.text(value));
    if dtype.is_integer() {
        return format!("static_cast<{element}>({value})");
    }
    match exprs.widens(dtype) && dtype.is_half() {
        true => format!("dietcode_round<{element}>(dietcode_odd({value}))"),
        false => format!("dietcode_round<{element}>({value})"),
    }
}

/// How many tiles of shared memory a loop uses in turn, if that is few: its code may be there once for each.
fn tiles_in_turn(body: &Stmt, var: &Name) -> Option<i64> {
    let mut tiles = None;
    body.visit(&mut |stmt| {
        let Stmt::Intrinsic(Intrinsic::Copy { to, to_index, .. }) = stmt else { return };
        if let Some(Expr::Binary(BinaryOp::Mod, step, count)) = to_index.first()
            && to.scope == Scope::Shared
            && step.uses(var)
        {
            tiles = count.as_int();
        }
    });
    tiles.filter(|tiles| *tiles <= MOST_IN_TURN)
}

/// The part of a thread's number that one of the loops over threads counts.
fn thread(printer: &Printer<'_>, var: &Name) -> String {
    let threads = printer.nest.thread_loops();
    let at = threads.iter().position(|(name, _)| name == var).unwrap_or(0);
    let after: i64 = threads[at + 1..].iter().map(|(_, extent)| extent).product();
    let mut number = "static_cast<int>(threadIdx.x)".to_owned();
    if after > 1 {
        number += &format!(" / {after}");
    }
    if at > 0 {
        number += &format!(" % {}", threads[at].1);
    }
    number
}
