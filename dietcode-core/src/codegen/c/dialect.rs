//! What GNU C has of its own: a tile in registers is one variable for each vector, and loops over lanes are vector operations.

use std::sync::Arc;

use super::vector;
use crate::codegen::printer::{Dialect, Expressions, Printer, element_type, write};
use crate::ir::{Buffer, DType, Expr, ForKind, Intrinsic, Name, Run, Scope, Stmt, affine, function};

/// GNU C with vector extensions.
pub(crate) struct C;

/// Why a statement cannot come here: schedules that lead to it are refused.
pub(super) const GPU_ONLY: &str = "a schedule for a GPU is not printed as C";

impl Dialect for C {
    fn index_type(&self) -> &'static str {
        "dietcode_int"
    }

    fn wide(&self) -> &'static str {
        ""
    }

    fn library_function(&self, name: function::Name, computes: DType) -> String {
        match (name, computes) {
            (name, DType::F64) => format!("__builtin_{}", name.text()),
            (function::Name::Inline(name), _) => format!("dietcode_{name}f"),
            (name, _) => format!("__builtin_{}f", name.text()),
        }
    }

    /// The constants of its index, without the lane, are part of the variable's name.
    fn write_register(&self, exprs: &Expressions, tile: &Buffer, index: &[Expr], text: &mut String) {
        text.push_str(&tile.name);
        text.push_str("_r");
        for place in index.iter().filter_map(|e| exprs.here(e).as_int()) {
            write(text, format_args!("_{place}"));
        }
    }

    fn for_loop(&self, printer: &mut Printer<'_>, kind: ForKind, (var, extent): (&Name, &Expr), body: &Stmt) {
        match kind {
            ForKind::Vectorized => {
                let print = |printer: &mut Printer<'_>| {
                    let line = vector::statement(&printer.exprs, (var, extent), body);
                    printer.line(line);
                };
                match body.guarded() {
                    (Stmt::Store { buffer, .. }, _) => printer.storing(buffer.dtype, print),
                    _ => print(printer),
                }
            }
            _ => printer.serial((var, extent), body),
        }
    }

    fn stored(&self, printer: &mut Printer<'_>, dtype: DType, value: &Expr) -> String {
        if reads_in_steps(printer, value) {
            printer.line("DIETCODE_SCALAR;");
        }
        if let Expr::Load(from, index) = value
            && dtype.is_half()
            && from.dtype == dtype
        {
            // A copy of an element has its bits.
            return format!("({}){{{}.bits}}", element_type(dtype), printer.exprs.element(from, index));
        }
        if let Expr::Load(from, index) = value
            && dtype.is_integer()
            && from.dtype == dtype
        {
            return printer.exprs.element(from, index);
        }
        let (value, widened) = (printer.exprs.text(value), printer.exprs.widens(dtype));
        match dtype {
            DType::F32 if widened => format!("(float)({value})"),
            DType::F32 | DType::F64 | DType::U8 | DType::I8 | DType::I32 => value,
            half if widened => format!("dietcode_round_{half}(dietcode_odd({value}))"),
            half => format!("dietcode_round_{half}({value})"),
        }
    }

    fn declare(&self, printer: &mut Printer<'_>, buffer: &Arc<Buffer>, body: &Stmt) {
        let (name, element) = (&buffer.name, element_type(buffer.dtype));
        match buffer.scope {
            Scope::Register => registers(printer, buffer, body),
            Scope::Panel => {
                let offset = printer.place(buffer);
                printer.line(format_args!(
                    "{element} *restrict {name} = ({element} *)((char *)dietcode_scratch + {offset});"
                ));
            }
            Scope::Shared | Scope::Fragment => unreachable!("{GPU_ONLY}"),
            Scope::Local | Scope::Global | Scope::View => {
                let elements = buffer.bytes().unwrap_or(0) / buffer.dtype.bytes();
                printer.line(format_args!("_Alignas(64) {element} {name}[{elements}];"));
            }
        }
    }

    fn barrier(&self) -> &'static str {
        unreachable!("{GPU_ONLY}")
    }

    fn intrinsic(&self, printer: &mut Printer<'_>, intrinsic: &Intrinsic) {
        let exprs = &printer.exprs;
        let line = match intrinsic {
            Intrinsic::TransposeCopy {
                to,
                to_index,
                to_stride,
                from,
                from_index,
                from_dim,
                lanes,
                valid,
                columns,
                neighbours,
                runs,
            } => {
                let (to_at, from_at) = (exprs.element(to, to_index), exprs.element(from, from_index));
                let stride = exprs.text(&exprs.strides(from)[*from_dim]);
                let (valid, columns) = (exprs.text(valid), exprs.text(columns));
                let elements = if *neighbours == 1 { String::new() } else { format!("x{neighbours}") };
                let in_runs = if runs.is_empty() { "" } else { "_runs" };
                let is_same = to.dtype == from.dtype || (from.dtype.is_half() && to.dtype == DType::F32);
                let name = format!("{}{}", from.dtype, if is_same { String::new() } else { format!("_{}", to.dtype) });
                // From the innermost on; what is missing is one run.
                let missing = Run { extent: Expr::Int(1), to_dim: 0, from_dim: 0 };
                let given = runs.iter().rev().chain(std::iter::repeat(&missing));
                let given = given.take(if runs.is_empty() { 0 } else { Run::MOST }).map(|run| {
                    let strides = [(to, run.to_dim), (from, run.from_dim)]
                        .map(|(buffer, dim)| exprs.text(&exprs.strides(buffer)[dim]));
                    format!(", {}, {}, {}", exprs.text(&run.extent), strides[0], strides[1])
                });
                let given: String = given.collect();
                format!(
                    "dietcode_transpose{lanes}_{name}{elements}{in_runs}(&{to_at}, {to_stride}, &{from_at}, {stride}, {valid}, \
                     {columns}{given});"
                )
            }
            Intrinsic::Prefetch { from, from_index, elements } => {
                let (first, elements) = (exprs.text(&exprs.offset(from, from_index)), exprs.text(elements));
                format!("dietcode_prefetch({}, sizeof *{}, {first}, {elements});", from.name, from.name)
            }
            _ => unreachable!("{GPU_ONLY}"),
        };
        printer.line(line);
    }
}

/// Whether elements are read under a condition and several at a time along the innermost loop on which it depends, see
/// `DIETCODE_SCALAR`.
fn reads_in_steps(printer: &Printer<'_>, value: &Expr) -> bool {
    let mut conditions: Vec<&Expr> = printer.conditions.iter().collect();
    value.visit(&mut |e| {
        conditions.extend(if let Expr::Select(condition, ..) = e { Some(&**condition) } else { None });
    });
    let innermost = printer.loops.iter().rev().find(|var| conditions.iter().any(|condition| condition.uses(var)));
    let Some(var) = innermost else { return false };
    let mut found = false;
    value.visit(&mut |e| {
        let Expr::Load(_, index) = e else { return };
        let step = index.last().and_then(affine).map_or(0, |form| form.coefficient(var));
        found |= step.abs() > 1;
    });
    found
}

/// One variable for each vector (or scalar) of a tile in registers.
fn registers(printer: &mut Printer<'_>, buffer: &Arc<Buffer>, body: &Stmt) {
    let lanes = vector::lanes_of(buffer, body);
    let dims = buffer.shape.len() - usize::from(lanes.is_some());
    let extents: Vec<i64> = buffer.shape[..dims].iter().filter_map(Expr::as_int).collect();
    let mut places = vec![Vec::new()];
    for extent in extents {
        places = places.iter().flat_map(|at| (0..extent).map(|i| [at.clone(), vec![Expr::Int(i)]].concat())).collect();
    }
    let names: Vec<String> = places.iter().map(|at| printer.exprs.element(buffer, at)).collect();
    let kind =
        lanes.map_or(element_type(buffer.dtype).to_owned(), |lanes| format!("dietcode_{}x{lanes}", buffer.dtype));
    printer.line(format_args!("{kind} {};", names.join(", ")));
}
