//! Operands that a program lays out once, before its calls: `prepared(w)` in the attribute.
//!
//! A weight is read in every call and changes in none. Where it lies as the register tiles of all schedules read it, nothing is packed in a
//! call:
//!
//! ```text
//! w[j][k], j in 0..N, k in 0..K     →     w[⌈N / 16⌉][K][16]          element (j, k) at [j / 16][k][j % 16], zeros behind N
//! ```
//!
//! Of a nest that computes in `f64`, panels are 8 wide, as many as fill a vector. The layout follows from the nest alone, so that it is the same for
//! every micro-kernel and every CPU: one dimension is cut into panels, those that move with the output stand outside of them, those that are summed
//! over inside.

use crate::error::{Errors, Problem};
use crate::text::text;
use crate::{Affine, Expr, KernelDef, Role};
use proc_macro2::Ident;
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::{MetaList, Token};

/// Bytes of the width of panels whose axis is the one along which the output is contiguous: those of the widest vector, or of some shorter ones.
const VECTOR: i64 = 64;

/// The width of other panels, whose elements are used one by one: rows of a register tile.
const ROWS: i64 = 8;

/// The layout of a prepared operand: `[outer dimensions…][⌈extent / panel⌉][inner dimensions…][panel]`, dense.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prepared {
    /// Index into `KernelDef::params`.
    pub param: usize,
    /// The loop over the output along which the panels lie.
    pub axis: String,
    /// The dimension that is cut into panels: its index is the bare axis.
    pub dim: usize,
    /// The dimensions outside of the panels, in their order.
    pub outer: Vec<usize>,
    /// The dimensions inside, in their order.
    pub inner: Vec<usize>,
    /// How many neighbours along the axis lie next to each other.
    pub panel: i64,
}

/// What stands in the parentheses of `prepared(…)`.
pub(crate) fn parse(list: &MetaList, names: &mut Vec<Ident>, errors: &mut Errors) {
    match Punctuated::<Ident, Token![,]>::parse_terminated.parse2(list.tokens.clone()) {
        Ok(listed) if !listed.is_empty() => names.extend(listed),
        _ => errors.push(list, Problem::PreparedForm { found: text(list) }),
    }
}

/// The layouts of the operands of these names.
pub(crate) fn of(def: &KernelDef, names: &[Ident], errors: &mut Errors) -> Vec<Prepared> {
    let mut all: Vec<Prepared> = Vec::new();
    for ident in names {
        let name = ident.to_string();
        let problem = match def.params.iter().position(|param| param.name == name) {
            Some(param) if all.iter().any(|known| known.param == param) => Problem::PreparedTwice { name },
            Some(param) if param != def.output && !def.params[param].is_scalar() => match layout(def, param) {
                Ok(prepared) => {
                    all.push(prepared);
                    continue;
                }
                Err(Unfit::NotSummed) => Problem::PreparedNotSummed { name },
                Err(Unfit::NoAxis) => Problem::PreparedAxis { name },
                Err(Unfit::Integers) => Problem::PreparedIntegers { name },
            },
            _ => Problem::PreparedNoInput { name },
        };
        errors.push(ident, problem);
    }
    all.sort_by_key(|prepared| prepared.param);
    all
}

impl Prepared {
    /// The layout of a parameter, if it may be prepared.
    pub fn of(def: &KernelDef, param: usize) -> Option<Prepared> {
        let is_input = param != def.output && !def.params[param].is_scalar();
        is_input.then(|| layout(def, param).ok()).flatten()
    }
}

/// Why an input may not be prepared.
enum Unfit {
    NotSummed,
    NoAxis,
    Integers,
}

fn layout(def: &KernelDef, param: usize) -> Result<Prepared, Unfit> {
    let reduction = def.reduction.as_ref().ok_or(Unfit::NotSummed)?;
    if reduction.dtype.is_integer() {
        return Err(Unfit::Integers);
    }
    let is_this = |e: &Expr| matches!(e, Expr::Load { param: read, .. } if *read == param);
    if def.values().filter(|value| value.any(&is_this)).count() != usize::from(reduction.update.any(&is_this)) {
        return Err(Unfit::NotSummed);
    }
    let mut reads = Vec::new();
    indices(&reduction.update, param, &mut reads);
    if reads.is_empty() {
        return Err(Unfit::NotSummed);
    }
    let dims = def.params[param].dims.len();
    // The one dimension that moves along a loop, if its index is that loop's variable.
    let along = |axis: &str| {
        let moving = |dim: &usize| reads.iter().any(|index| index[*dim].coefficient(axis) != 0);
        let mut moving = (0..dims).filter(moving);
        let dim = moving.next().filter(|dim| reads.iter().all(|index| index[*dim].as_var() == Some(axis)))?;
        moving.next().is_none().then_some(dim)
    };
    let spatial = || def.loops.iter().filter(|l| l.role == Role::Spatial).map(|l| l.name.as_str());
    let contiguous = def.output_index.last().and_then(|last| spatial().find(|axis| last.coefficient(axis) == 1));
    let chosen = contiguous.into_iter().chain(spatial().collect::<Vec<_>>().into_iter().rev());
    let (axis, dim) = chosen.filter_map(|axis| Some((axis, along(axis)?))).next().ok_or(Unfit::NoAxis)?;
    let with_output = |dim: &usize| spatial().any(|axis| reads.iter().any(|index| index[*dim].coefficient(axis) != 0));
    let (outer, inner) = (0..dims).filter(|other| *other != dim).partition(with_output);
    let panel = if contiguous == Some(axis) { VECTOR / def.computes_in().bytes() } else { ROWS };
    Ok(Prepared { param, axis: axis.to_owned(), dim, outer, inner, panel })
}

/// Where an expression reads a tensor.
fn indices<'e>(e: &'e Expr, tensor: usize, reads: &mut Vec<&'e [Affine]>) {
    match e {
        Expr::Load { param, index } if *param == tensor => reads.push(index),
        other => other.parts().into_iter().for_each(|part| indices(part, tensor, reads)),
    }
}
