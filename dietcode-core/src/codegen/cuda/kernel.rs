//! One `__global__` function: its parameters, what is known at its start, the loops of the grid.

use std::collections::BTreeSet;
use std::ops::Mul;
use std::sync::Arc;

use super::{Cuda, grid, intrinsic};
use crate::codegen::printer::{Printer, element_type};
use crate::ir::{Buffer, Expr, Intrinsic, Scope, Stmt};
use crate::lower::LoopNest;

/// How a kernel looks from the outside.
pub(super) struct Form<'a> {
    /// The tensors, in the order of the ABI.
    pub(super) params: &'a [Arc<Buffer>],
    pub(super) output: &'a Arc<Buffer>,
    /// What the translation unit's kernels share; each of them takes it, so that all are launched alike.
    pub(super) workspace: Option<&'a Arc<Buffer>>,
    pub(super) symbol: &'a str,
}

/// The text of a kernel.
pub(super) fn text(nest: &LoopNest, form: &Form<'_>) -> String {
    let mut printer = Printer::new(&Cuda, nest, form.params.iter().chain(form.workspace));
    let parameters = parameters(nest, form, &mut printer);
    let bounds = match nest.min_blocks {
        1 => nest.threads().to_string(),
        blocks => format!("{}, {blocks}", nest.threads()),
    };
    printer.text = format!(
        "extern \"C\" __global__ void __launch_bounds__({bounds}) {}(\n    {}) {{\n",
        form.symbol,
        parameters.join(",\n    ")
    );
    if nest.scratch != Expr::Int(0) {
        printer.line("DIETCODE_DYNAMIC_SHARED(dietcode_shared)");
    }
    if let Some(workspace) = form.workspace.filter(|workspace| uses(nest, workspace)) {
        workspace_strides(workspace, &mut printer);
    }
    printer.derived();
    alignment(nest, &mut printer);
    if uses_matrix_unit(nest) {
        printer.constant("dietcode_warp_lane", "static_cast<int>(threadIdx.x) % 32");
    }
    open_grid(nest, &mut printer);
    printer.stmt(&nest.body);
    if nest.persistent {
        printer.close();
    }
    format!("{}}}\nDIETCODE_ENTRY({})\n\n", printer.text, form.symbol)
}

/// The parameters, each with its type: scalars by their value. Only what a kernel writes is not constant.
fn parameters(nest: &LoopNest, form: &Form<'_>, printer: &mut Printer<'_>) -> Vec<String> {
    let mut list = Vec::new();
    let mut strides = Vec::new();
    for param in form.params {
        if param.is_scalar() {
            list.push(format!("{} {}", element_type(param.dtype), param.name));
            continue;
        }
        let constant = if param == form.output { "" } else { "const " };
        list.push(format!("{constant}{} *__restrict__ {}", element_type(param.dtype), param.name));
        let rank = param.shape.len();
        let declared = printer.exprs.declare(param, |dim| dim + 1 == rank);
        strides.extend(declared.into_iter().map(|(_, name)| format!("long long {name}")));
    }
    if let Some(workspace) = form.workspace {
        list.push(format!("{} *__restrict__ {}", element_type(workspace.dtype), workspace.name));
    }
    list.extend(strides);
    list.extend(nest.shape_vars.iter().map(|var| format!("int {var}")));
    list
}

/// The strides of the parts of split sums: they lie densely.
fn workspace_strides(parts: &Arc<Buffer>, printer: &mut Printer<'_>) {
    let rank = parts.shape.len();
    let variables = printer.exprs.declare(parts, |dim| dim + 1 == rank);
    for (dim, name) in variables.iter().rev() {
        let extent = printer.exprs.operand(&parts.shape[dim + 1]);
        let inner = variables.iter().find(|(other, _)| *other == dim + 1);
        let inner = inner.map_or(String::new(), |(_, inner)| format!(" * {inner}"));
        printer.line(format_args!("const long long {name} = static_cast<long long>({extent}){inner};"));
    }
}

/// Whether vector accesses are possible, for each tensor and width that the kernel has.
fn alignment(nest: &LoopNest, printer: &mut Printer<'_>) {
    for (buffer, lanes) in vector_accesses(nest) {
        let bytes = lanes * buffer.dtype.bytes();
        let rows = printer.exprs.strides(&buffer);
        let rows = rows.split_last().map_or(&[][..], |(_, rows)| rows).iter();
        let rows: String = rows.map(|stride| format!(" && {} % {lanes} == 0", printer.exprs.operand(stride))).collect();
        let name = intrinsic::aligned(&buffer, lanes);
        printer.line(format_args!("const bool {name} = dietcode_is_aligned({}, {bytes}){rows};", buffer.name));
    }
}

/// The tensors that are copied by vectors of more than one element, in a stable order.
fn vector_accesses(nest: &LoopNest) -> Vec<(Arc<Buffer>, i64)> {
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    nest.body.visit(&mut |stmt| {
        if let Stmt::Intrinsic(Intrinsic::Copy { to, from, lanes, .. }) = stmt {
            let tensors = [from, to].into_iter().filter(|buffer| buffer.scope == Scope::Global && *lanes > 1);
            found.extend(tensors.filter(|b| seen.insert((b.name.clone(), *lanes))).map(|b| (b.clone(), *lanes)));
        }
    });
    found
}

fn uses_matrix_unit(nest: &LoopNest) -> bool {
    let mut found = false;
    nest.body.visit(&mut |stmt| found |= matches!(stmt, Stmt::Intrinsic(Intrinsic::LoadMatrix { .. })));
    found
}

fn uses(nest: &LoopNest, workspace: &Arc<Buffer>) -> bool {
    nest.output == *workspace || nest.params.contains(workspace)
}

/// Binds the loops of the grid to the block's number, or, in a persistent kernel, to each number that falls to it.
fn open_grid(nest: &LoopNest, printer: &mut Printer<'_>) {
    let loops = grid(&nest.body);
    let mut number = "static_cast<int>(blockIdx.x)".to_owned();
    if nest.persistent {
        let total = loops.iter().map(|(_, extent)| extent.clone()).fold(Expr::Int(1), Mul::mul);
        let total = printer.exprs.text(&total);
        printer.open(format_args!(
            "for (long long dietcode_tile = blockIdx.x; dietcode_tile < {total}; dietcode_tile += gridDim.x)"
        ));
        number = "static_cast<int>(dietcode_tile)".to_owned();
    } else if loops.len() > 1 {
        printer.constant("dietcode_tile", number);
        number = "dietcode_tile".to_owned();
    }
    let mut after = Expr::Int(1);
    for (at, (name, extent)) in loops.iter().enumerate().rev() {
        let quotient = match &after {
            Expr::Int(1) => number.clone(),
            after => format!("{number} / ({})", printer.exprs.text(after)),
        };
        let own = if at == 0 { quotient } else { format!("{quotient} % ({})", printer.exprs.text(extent)) };
        printer.constant(name, own);
        after = after.mul(extent.clone());
    }
}
