//! One `__global__` function: its parameters, what is known at its start, the loops of the grid.

use std::ops::Mul;
use std::sync::Arc;

use super::{Cuda, grid, intrinsic};
use crate::codegen::printer::{Printer, element_type};
use crate::ir::{Along, Buffer, Expr, Intrinsic, Name, Scope, Stmt};
use crate::lower::LoopNest;
use crate::sketch::Remainder;

/// How a kernel looks from the outside.
pub(super) struct Form<'a> {
    /// The tensors, in the order of the ABI.
    pub(super) params: &'a [Arc<Buffer>],
    pub(super) output: &'a Arc<Buffer>,
    /// What the translation unit's kernels share; each of them takes it, so that all are launched alike.
    pub(super) workspace: Option<&'a Arc<Buffer>>,
    pub(super) symbol: &'a str,
    /// Of a cover: which part of the output it computes.
    pub(super) part: Option<Part<'a>>,
}

/// A part of a cover.
#[derive(Clone, Copy)]
pub(super) struct Part<'a> {
    pub(super) cover: &'a Remainder,
    pub(super) is_rest: bool,
}

impl Part<'_> {
    /// An extent of the launch, given by the whole's.
    pub(super) fn of(self, extent: &Expr) -> Expr {
        let Remainder { cut, multiple, .. } = self.cover;
        let whole = Expr::Var(cut.along.clone());
        let main = whole.clone() / Expr::Int(*multiple) * Expr::Int(*multiple);
        extent.substitute(&cut.along, &if self.is_rest { whole - main } else { main })
    }

    /// Makes what a kernel is given that of the part: its size, and where its tensors begin.
    fn begin(self, params: &[Arc<Buffer>], printer: &mut Printer<'_>) {
        let Remainder { cut, multiple, .. } = self.cover;
        let (var, main) = (&cut.along, format!("{} / {multiple} * {multiple}", cut.along));
        if !self.is_rest {
            return printer.line(format_args!("{var} = {main};"));
        }
        for Along { param, dim, step } in &cut.tensors {
            let (name, stride) = (&params[*param].name, &printer.exprs.strides(&params[*param])[*dim]);
            let stride = printer.exprs.operand(stride);
            printer.line(format_args!("{name} += static_cast<long long>({main}) * {step} * {stride};"));
        }
        printer.line(format_args!("{var} -= {main};"));
    }
}

/// The text of a kernel. Where it fills tiles by vectors, what it does is a function of its own, which is there twice: for tensors whose
/// rows are whole vectors, and for others.
pub(super) fn text(nest: &LoopNest, form: &Form<'_>) -> String {
    let mut printer = Printer::new(&Cuda, nest, form.params.iter().chain(form.workspace));
    let parameters = parameters(nest, form, &mut printer);
    let accesses = vector_accesses(nest, form.params);
    let symbol = form.symbol;
    let list = |before: &[&str]| {
        let all = before.iter().map(|one| (*one).to_owned());
        let all = all.chain(parameters.iter().map(|(kind, name)| format!("{kind}{name}")));
        all.collect::<Vec<_>>().join(",\n    ")
    };
    let bounds = match nest.min_blocks {
        1 => nest.threads().to_string(),
        blocks => format!("{}, {blocks}", nest.threads()),
    };
    let entry = format!("extern \"C\" __global__ void __launch_bounds__({bounds}) {symbol}(\n    {}) {{\n", list(&[]));
    printer.text = entry;
    form.part.iter().for_each(|part| part.begin(form.params, &mut printer));
    let entry = std::mem::take(&mut printer.text);
    let entry_macro = format!("DIETCODE_ENTRY({symbol})\n\n");
    if !accesses.iter().any(|access| access.whole.is_some()) {
        printer.text = entry;
        body(nest, form, &accesses, BLOCK, &mut printer);
        return printer.text + "}\n" + &entry_macro;
    }
    printer.text = format!("DIETCODE_BODY {symbol}_body(\n    {}) {{\n", list(&[&format!("const bool {WHOLE}")]));
    printer.exprs.fresh(WHOLE);
    for var in &nest.shape_vars {
        printer.line(format_args!("{var} = dietcode_own({var}, {WHOLE});"));
    }
    body(nest, form, &accesses, &format!("dietcode_own({BLOCK}, {WHOLE})"), &mut printer);
    printer.text += &format!("}}\n{entry}");
    printer.derived();
    let mut all = Expr::Int(1);
    let mut names = Vec::new();
    for access in &accesses {
        if let Some(whole) = &access.whole {
            let name = intrinsic::aligned(&access.buffer, access.lanes);
            let aligned = access.is_aligned(&printer);
            printer.line(format_args!("const bool {name} = {aligned};"));
            names.push(name);
            all = all.and(whole.clone());
        }
    }
    names.extend(Some(all).filter(|all| *all != Expr::Int(1)).map(|all| printer.exprs.text(&all)));
    let arguments: Vec<&str> = parameters.iter().map(|(_, name)| &**name).collect();
    printer.line(format_args!("DIETCODE_CALL({symbol}_body, {}, {})", names.join(" && "), arguments.join(", ")));
    printer.text + "}\n" + &entry_macro
}

/// Says of a body that every vector of a tile that it fills lies in its tensor or outside of it, and is aligned.
pub(super) const WHOLE: &str = "dietcode_whole";

/// The block's number.
const BLOCK: &str = "static_cast<int>(blockIdx.x)";

/// What a kernel does in the block of a number.
fn body(nest: &LoopNest, form: &Form<'_>, accesses: &[VectorAccess], block: &str, printer: &mut Printer<'_>) {
    if nest.scratch != Expr::Int(0) {
        printer.line("DIETCODE_DYNAMIC_SHARED(dietcode_shared)");
    }
    if let Some(workspace) = form.workspace.filter(|workspace| uses(nest, workspace)) {
        workspace_strides(workspace, printer);
    }
    printer.derived();
    for access in accesses {
        let name = intrinsic::aligned(&access.buffer, access.lanes);
        let aligned = access.is_aligned(printer);
        match access.whole {
            Some(_) => printer.line(format_args!("const int {name} = {WHOLE} ? DIETCODE_WHOLE : {aligned};")),
            None => printer.line(format_args!("const bool {name} = {aligned};")),
        }
    }
    if uses_matrix_unit(nest) {
        printer.constant("dietcode_warp_lane", "static_cast<int>(threadIdx.x) % 32");
    }
    open_grid(nest, block, printer);
    printer.stmt(&nest.body);
    if nest.persistent {
        printer.close();
    }
}

/// The parameters, each a type with what separates it from the name, and that: scalars by their value. Only what a kernel writes is not
/// constant.
fn parameters(nest: &LoopNest, form: &Form<'_>, printer: &mut Printer<'_>) -> Vec<(String, String)> {
    let mut list = Vec::new();
    let mut strides = Vec::new();
    for param in form.params {
        if param.is_scalar() {
            list.push((format!("{} ", element_type(param.dtype)), param.name.to_string()));
            continue;
        }
        let constant = if param == form.output { "" } else { "const " };
        list.push((format!("{constant}{} *__restrict__ ", element_type(param.dtype)), param.name.to_string()));
        let rank = param.shape.len();
        let declared = printer.exprs.declare(param, |dim| dim + 1 == rank);
        strides.extend(declared.into_iter().map(|(_, name)| ("long long ".to_owned(), name.to_string())));
    }
    if let Some(workspace) = form.workspace {
        list.push((format!("{} *__restrict__ ", element_type(workspace.dtype)), workspace.name.to_string()));
    }
    list.extend(strides);
    list.extend(nest.shape_vars.iter().map(|var| ("int ".to_owned(), var.to_string())));
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

/// Copies of a tensor by vectors of so many elements.
struct VectorAccess {
    buffer: Arc<Buffer>,
    lanes: i64,
    /// Of those that fill tiles: where this holds, in the whole launch, each vector lies in the tensor or outside of it.
    whole: Option<Expr>,
}

impl VectorAccess {
    /// The condition under which all addresses are multiples of a vector.
    fn is_aligned(&self, printer: &Printer<'_>) -> String {
        let VectorAccess { buffer, lanes, .. } = self;
        let rows = printer.exprs.strides(buffer);
        let rows = rows.split_last().map_or(&[][..], |(_, rows)| rows).iter();
        let rows: String = rows.map(|stride| format!(" && {} % {lanes} == 0", printer.exprs.operand(stride))).collect();
        format!("dietcode_is_aligned({}, {}){rows}", buffer.name, lanes * buffer.dtype.bytes())
    }
}

/// The tensors that are copied by vectors of more than one element, in a stable order.
fn vector_accesses(nest: &LoopNest, params: &[Arc<Buffer>]) -> Vec<VectorAccess> {
    let mut found: Vec<VectorAccess> = Vec::new();
    let of_launch = |e: &Expr| {
        let known = |name: &Name| nest.shape_vars.contains(name) || nest.derived.iter().any(|(other, _)| other == name);
        !e.any(&mut |e| matches!(e, Expr::Var(name) if !known(name)))
    };
    let epilogue = read_beside_stores(nest);
    nest.body.visit(&mut |stmt| {
        let Stmt::Intrinsic(Intrinsic::Copy { to, from, lanes, whole, .. }) = stmt else { return };
        let fills = params.contains(from) && !epilogue.contains(&to.name);
        for buffer in [from, to].into_iter().filter(|buffer| buffer.scope == Scope::Global && *lanes > 1) {
            let whole = Some(whole).filter(|whole| buffer == from && fills && of_launch(whole));
            match found.iter_mut().find(|access| access.buffer.name == buffer.name && access.lanes == *lanes) {
                Some(access) => {
                    access.whole = access.whole.take().zip(whole).map(|(all, whole)| all.and(whole.clone()));
                }
                None => found.push(VectorAccess { buffer: buffer.clone(), lanes: *lanes, whole: whole.cloned() }),
            }
        }
    });
    found
}

/// The arrays that hold what an epilogue reads by vectors. It is read once: whether its rows are whole does not decide which body runs.
fn read_beside_stores(nest: &LoopNest) -> Vec<Name> {
    let mut found = Vec::new();
    nest.body.visit(&mut |stmt| {
        let Stmt::Seq(stmts) = stmt else { return };
        let copies = || {
            stmts.iter().filter_map(|stmt| match stmt {
                Stmt::Intrinsic(Intrinsic::Copy { to, .. }) => Some(to),
                _ => None,
            })
        };
        if copies().any(|to| to.scope == Scope::Global) {
            found.extend(copies().filter(|to| to.scope == Scope::Register).map(|to| to.name.clone()));
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
    nest.workspace.as_ref() == Some(workspace) || nest.params.contains(workspace)
}

/// Binds the loops of the grid to the block's number, or, in a persistent kernel, to each number that falls to it.
fn open_grid(nest: &LoopNest, block: &str, printer: &mut Printer<'_>) {
    let loops = grid(&nest.body);
    let mut number = block.to_owned();
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
