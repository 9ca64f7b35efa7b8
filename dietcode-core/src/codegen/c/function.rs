//! The two functions of a micro-kernel: one counts its parallel tiles, the other carries out a range of them.

use std::sync::Arc;

use super::C;
use crate::codegen::printer::{Expressions, Printer, element_type};
use crate::ir::{Buffer, Expr};
use crate::lower::LoopNest;

fn shape_variables(nest: &LoopNest) -> String {
    let lines = nest.shape_vars.iter().enumerate();
    lines.map(|(n, var)| format!("  const dietcode_int {var} = dietcode_shape[{n}];\n")).collect()
}

/// The function that counts tiles.
pub(super) fn grid(nest: &LoopNest, symbol: &str) -> String {
    let extent = nest.grid.as_ref().map_or(Expr::Int(1), |(_, extent)| extent.clone());
    let extent = Expressions::new(&C, Vec::new()).text(&extent);
    let variables = shape_variables(nest);
    format!("int64_t {symbol}(const int64_t *dietcode_shape) {{\n{variables}  return {extent};\n}}\n\n")
}

/// What carries out a range of tiles, and the function of the ABI that calls it. GCC uses `restrict` on parameters of functions,
/// and not on variables: without, each loop that it makes vectors of begins with comparisons of addresses.
pub(super) fn run(nest: &LoopNest, symbol: &str) -> String {
    const REST: &str = "const int64_t *dietcode_strides, const int64_t *dietcode_shape,\n    \
                        void *dietcode_scratch, int64_t dietcode_begin, int64_t dietcode_end";
    let mut printer = Printer::new(&C, nest, &nest.params);
    let [params, args] = operands(nest);
    printer.text = format!("static inline void {symbol}_tiles({params}, {REST}) {{\n");
    printer.text += &shape_variables(nest);
    strides(&mut printer);
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
    printer.text + "}\n\n" + &format!("void {symbol}(void *const *dietcode_buffers, {REST}) {{\n  {call};\n}}\n")
}

/// The tensors and scalars of a kernel, as parameters and as what is passed for them.
fn operands(nest: &LoopNest) -> [String; 2] {
    let operand = |(n, param): (usize, &Arc<Buffer>)| {
        let (element, name) = (element_type(param.dtype), &param.name);
        let constant = if param == &nest.output { "" } else { "const " };
        match param.is_scalar() {
            true => (format!("const {element} {name}"), format!("*(const {element} *)dietcode_buffers[{n}]")),
            false => (format!("{constant}{element} *restrict {name}"), format!("dietcode_buffers[{n}]")),
        }
    };
    let (params, args): (Vec<String>, Vec<String>) = nest.params.iter().enumerate().map(operand).unzip();
    [params, args].map(|all| all.join(", "))
}

/// The strides of the tensors.
fn strides(printer: &mut Printer<'_>) {
    let mut at = 0;
    for param in &printer.nest.params {
        let rank = param.shape.len();
        for (dim, name) in printer.exprs.declare(param, |dim| dim + 1 == rank) {
            printer.constant(&name, format_args!("dietcode_strides[{}]", at + dim));
        }
        at += rank;
    }
}
