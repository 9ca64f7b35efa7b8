//! From the canonical form of a user's nest to the IR.
//!
//! A condition on a sum becomes the number of its terms, which is computed once per call. Where it does not hold, every pass
//! meets a reduction over nothing, and nothing is read for it:
//!
//! ```text
//! if alpha != 0.0                          let k_taken = if alpha != 0.0 { K } else { 0 }
//!   for k in 0..K                 →        for k in 0..k_taken
//!     acc += …                               acc += …
//! ```

use std::sync::Arc;

use dietcode_syntax::{self as syntax, KernelDef, Role};

use crate::ir::{
    ACC, BinaryOp, Block, Buffer, DType, Expr, Function, IterVar, Name, Prepared, Program, Reduction, Scope,
};

/// The program that a kernel's nest stands for, one block: what the user wrote, with all that is elementwise inlined.
pub fn program(def: &KernelDef) -> Program {
    blocks(def).inlined()
}

/// The same as the user wrote it: what a sum starts with, the sum, and what becomes of it are blocks, which hand each other
/// intermediates. A nest without a sum is one block.
///
/// ```text
/// let mut acc = b[i];                    f_start: for i:        dietcode_start[i] = b[i]
/// for k in 0..K { acc += x[i][k]; }  →   f:       for i: for k: dietcode_sum[i] += x[i][k], from dietcode_start[i]
/// y[i] = acc.max(0.0);                   f_store: for i:        y[i] = max(dietcode_sum[i], 0)
/// ```
pub fn blocks(def: &KernelDef) -> Program {
    let computes = def.computes_in();
    let params: Vec<Arc<Buffer>> = def.params.iter().map(|param| Arc::new(buffer(param))).collect();
    let mut iters: Vec<IterVar> = def.loops.iter().map(iter_var).collect();
    let condition = def.reduction.as_ref().and_then(|reduction| reduction.condition.as_ref());
    let derived = condition.map(|condition| taken(def, &self::condition(condition, &params), &mut iters));
    let stored = Block {
        name: def.name.as_str().into(),
        iters,
        output: params[def.output].clone(),
        output_index: def.output_index.iter().map(Expr::from).collect(),
        reduction: None,
        epilogue: element(&def.epilogue, computes, &params),
    };
    let blocks = match &def.reduction {
        None => vec![stored],
        Some(syntax::Reduction { op, dtype, init, update, .. }) => {
            let [init, update] = [init, update].map(|e| element(e, *dtype, &params));
            around_sum(stored, Reduction { op: *op, dtype: *dtype, init, update })
        }
    };
    let prepared = def.prepared.iter().map(|prepared| laid_out(prepared, computes, &params[prepared.param])).collect();
    Program {
        name: def.name.as_str().into(),
        nest: def.to_string().into(),
        shape_vars: def.shape_vars.iter().map(|var| var.name.as_str().into()).collect(),
        params,
        derived: derived.unwrap_or_default(),
        blocks,
        prepared,
    }
}

/// An operand as it lies where a program has prepared it.
fn laid_out(layout: &syntax::Prepared, computes: DType, tensor: &Arc<Buffer>) -> Prepared {
    let extents = |dims: &[usize]| dims.iter().map(|dim| tensor.shape[*dim].clone()).collect::<Vec<Expr>>();
    let panels = tensor.shape[layout.dim].clone().ceil_div(layout.panel);
    let shape = [extents(&layout.outer), vec![panels], extents(&layout.inner), vec![Expr::Int(layout.panel)]].concat();
    let laid_out = Arc::new(Buffer { shape, dtype: computes, ..(**tensor).clone() });
    Prepared { tensor: tensor.clone(), laid_out, layout: layout.clone() }
}

/// The three blocks of a sum, from the one that stores.
fn around_sum(stored: Block, reduction: Reduction) -> Vec<Block> {
    let dtype = reduction.dtype;
    let spatial: Vec<IterVar> = stored.iters_of(Role::Spatial).cloned().collect();
    let moves = spatial.iter().any(|iter| reduction.init.uses(&iter.name));
    let moving = if moves { spatial.clone() } else { Vec::new() };
    let start = elementwise(&stored, "start", dtype, moving, reduction.init);
    let mut sum = elementwise(&stored, "sum", dtype, spatial.clone(), Expr::var(ACC));
    let init = Expr::Load(start.output.clone(), start.output_index.clone());
    sum.name = stored.name.clone();
    sum.iters.clone_from(&stored.iters);
    sum.reduction = Some(Reduction { init, ..reduction });
    let summed = Expr::Load(sum.output.clone(), sum.output_index.clone());
    let finished = |e: &Expr| matches!(e, Expr::Var(name) if &**name == ACC).then(|| summed.clone());
    let epilogue = stored.epilogue.map(&mut { finished });
    let store = Block { name: format!("{}_store", stored.name).into(), iters: spatial, epilogue, ..stored };
    vec![start, sum, store]
}

/// A block that makes an intermediate with one element for each value of its variables.
fn elementwise(of: &Block, what: &str, dtype: DType, iters: Vec<IterVar>, epilogue: Expr) -> Block {
    let output = Buffer {
        name: format!("dietcode_{what}").into(),
        dtype,
        shape: iters.iter().map(|iter| iter.extent.clone()).collect(),
        scope: Scope::Global,
        swizzle: 0,
    };
    Block {
        name: format!("{}_{what}", of.name).into(),
        output_index: iters.iter().map(|iter| Expr::Var(iter.name.clone())).collect(),
        iters,
        output: Arc::new(output),
        reduction: None,
        epilogue,
    }
}

fn buffer(param: &syntax::Param) -> Buffer {
    Buffer {
        name: param.name.as_str().into(),
        dtype: param.dtype,
        shape: param.dims.iter().map(Expr::from).collect(),
        scope: Scope::Global,
        swizzle: 0,
    }
}

fn iter_var(l: &syntax::LoopDef) -> IterVar {
    IterVar { name: l.name.as_str().into(), extent: extent(&l.extent), role: l.role }
}

/// Gives the reductions the extents that they have where the condition holds, and none elsewhere; returns those extents.
fn taken(def: &KernelDef, condition: &Expr, iters: &mut [IterVar]) -> Vec<(Name, Expr)> {
    let is_taken = |name: &str| {
        let params = def.params.iter().map(|param| &param.name);
        let vars = def.shape_vars.iter().map(|var| &var.name);
        params.chain(vars).chain(def.loops.iter().map(|l| &l.name)).any(|taken| taken == name)
    };
    let mut derive = |iter: &mut IterVar| {
        let mut name = format!("{}_taken", iter.name);
        while is_taken(&name) {
            name.push('_');
        }
        let name = Name::from(name);
        let extent = std::mem::replace(&mut iter.extent, Expr::Var(name.clone()));
        (name, Expr::select(condition.clone(), extent, Expr::Int(0)))
    };
    iters.iter_mut().filter(|iter| iter.role == Role::Reduce).map(&mut derive).collect()
}

fn condition(condition: &syntax::Condition, params: &[Arc<Buffer>]) -> Expr {
    let computes = DType::computing(params.iter().map(|param| param.dtype));
    let side = |e: &syntax::Expr| Arc::new(element(e, computes, params));
    Expr::Compare(condition.op, side(&condition.lhs), side(&condition.rhs))
}

/// How many iterations a loop has: `for i in 0..M - 2` has none where `M` is 1. Extents are multiplied, and the product
/// of two negative ones would be positive.
fn extent(form: &syntax::Affine) -> Expr {
    let may_be_negative = form.constant < 0 || form.terms.iter().any(|(_, c)| *c < 0);
    let extent = Expr::from(form);
    if may_be_negative { extent.max(Expr::Int(0)) } else { extent }
}

/// An element expression of a type. Operators on elements are never folded: what the user wrote is what is computed.
fn element(e: &syntax::Expr, computes: DType, params: &[Arc<Buffer>]) -> Expr {
    let sub = |e: &syntax::Expr| Arc::new(element(e, computes, params));
    match e {
        syntax::Expr::Acc => Expr::var(ACC),
        syntax::Expr::Literal(value) => Expr::Float(*value),
        syntax::Expr::Load { param, index } => {
            Expr::Load(params[*param].clone(), index.iter().map(Expr::from).collect())
        }
        syntax::Expr::Index(form) => Expr::Cast(computes, Arc::new(Expr::from(form))),
        syntax::Expr::Binary(op, a, b) => Expr::Binary(binary_op(*op), sub(a), sub(b)),
        syntax::Expr::Call(Function::Powi, args) => match &args[..] {
            [base, syntax::Expr::Literal(n)] => {
                Expr::Call(Function::Powi, vec![element(base, computes, params), Expr::Int(*n as i64)])
            }
            other => unreachable!("the front end lets an integer be the exponent of `powi`: {other:?}"),
        },
        syntax::Expr::Call(f, args) => Expr::Call(*f, args.iter().map(|arg| element(arg, computes, params)).collect()),
        syntax::Expr::Select { op, lhs, rhs, then, otherwise } => {
            Expr::Select(Arc::new(Expr::Compare(*op, sub(lhs), sub(rhs))), sub(then), sub(otherwise))
        }
    }
}

fn binary_op(op: syntax::BinaryOp) -> BinaryOp {
    match op {
        syntax::BinaryOp::Add => BinaryOp::Add,
        syntax::BinaryOp::Sub => BinaryOp::Sub,
        syntax::BinaryOp::Mul => BinaryOp::Mul,
        syntax::BinaryOp::Div => BinaryOp::Div,
    }
}

#[cfg(test)]
mod tests;
