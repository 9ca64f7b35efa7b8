//! The two functions of a phase: one counts its parallel tiles, the other carries out a range of them.

use std::ops::Mul;
use std::sync::Arc;

use super::C;
use crate::codegen::printer::{Expressions, Printer, element_type};
use crate::ir::{Buffer, Expr, Program};
use crate::lower::LoopNest;

fn shape_variables(nest: &LoopNest) -> String {
    let lines = nest.shape_vars.iter().enumerate();
    lines.map(|(n, var)| format!("  const dietcode_int {var} = dietcode_shape[{n}];\n")).collect()
}

/// A function of the shape.
fn count(nest: &LoopNest, symbol: &str, value: &Expr) -> String {
    let value = Expressions::new(&C, nest.computes, Vec::new()).text(value);
    let variables = shape_variables(nest);
    format!("static int64_t {symbol}(const int64_t *dietcode_shape) {{\n{variables}  return {value};\n}}\n\n")
}

/// The function that counts the bytes of a workspace: its name and its text.
pub(super) fn workspace_bytes(nest: &LoopNest, workspace: &Buffer, symbol: &str) -> [String; 2] {
    let bytes = workspace.shape.iter().cloned().fold(Expr::Int(workspace.dtype.bytes()), Expr::mul);
    let name = format!("{symbol}_workspace_bytes");
    let text = count(nest, &name, &bytes);
    [name, text]
}

/// The operands of a micro-kernel: its nest's, and the workspace that its phases share.
pub(super) type Operands<'a> = (&'a Program, Option<&'a Arc<Buffer>>);

/// What counts tiles, what carries out a range of them, and the function of the ABI that calls that. GCC uses `restrict` on
/// parameters of functions, and not on variables: without, each loop that it makes vectors of begins with comparisons of addresses. In
/// one that is inlined it spills addresses of the innermost loop.
pub(super) fn phase(nest: &LoopNest, (program, workspace): Operands<'_>, symbol: &str) -> String {
    const REST: &str = "const int64_t *dietcode_strides, const int64_t *dietcode_shape,\n    \
                        void *dietcode_scratch, int64_t dietcode_begin, int64_t dietcode_end";
    let grid = nest.grid.as_ref().map_or(Expr::Int(1), |(_, extent)| extent.clone());
    let handed = program.operands();
    let mut printer = Printer::new(&C, nest, handed.iter().chain(workspace));
    let [params, args] = operands(nest, handed.iter().chain(workspace));
    printer.text = count(nest, &format!("{symbol}_grid"), &grid);
    printer.text += &format!("static DIETCODE_NOINLINE void {symbol}_tiles({params}, {REST}) {{\n");
    printer.text += &shape_variables(nest);
    strides(&mut printer, program);
    printer.derived();
    printer.open(match &nest.grid {
        Some((tile, _)) => format!("for (dietcode_int {tile} = dietcode_begin; {tile} < dietcode_end; ++{tile})"),
        None => "if (dietcode_begin < dietcode_end)".to_owned(),
    });
    printer.stmt(&nest.body);
    printer.close();
    let call = format!(
        "{symbol}_tiles({args}, dietcode_strides, dietcode_shape, dietcode_scratch, dietcode_begin, dietcode_end)"
    );
    printer.text
        + "}\n\n"
        + &format!("static void {symbol}_run(void *const *dietcode_buffers, {REST}) {{\n  {call};\n}}\n\n")
}

/// The tensors and scalars of a micro-kernel, as parameters and as what is passed for them.
fn operands<'a>(nest: &LoopNest, all: impl Iterator<Item = &'a Arc<Buffer>>) -> [String; 2] {
    let operand = |(n, param): (usize, &Arc<Buffer>)| {
        let (element, name) = (element_type(param.dtype), &param.name);
        let constant = if param == &nest.output { "" } else { "const " };
        match param.is_scalar() {
            true => (format!("const {element} {name}"), format!("*(const {element} *)dietcode_buffers[{n}]")),
            false => (format!("{constant}{element} *restrict {name}"), format!("dietcode_buffers[{n}]")),
        }
    };
    let (params, args): (Vec<String>, Vec<String>) = all.enumerate().map(operand).unzip();
    [params, args].map(|all| all.join(", "))
}

/// The strides of the tensors; the workspace is dense, and so are operands that were laid out before the call, whose strides say nothing.
fn strides(printer: &mut Printer<'_>, program: &Program) {
    let mut at = 0;
    for param in &program.params {
        let rank = param.shape.len();
        if program.prepared(&param.name).is_some() {
            at += rank;
            continue;
        }
        for (dim, name) in printer.exprs.declare(param, |dim| dim + 1 == rank) {
            printer.constant(&name, format_args!("dietcode_strides[{}]", at + dim));
        }
        at += rank;
    }
}
