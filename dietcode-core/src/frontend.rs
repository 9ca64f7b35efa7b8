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

use crate::ir::{ACC, BinaryOp, Block, Buffer, DType, Expr, Function, IterVar, Name, Program, Reduction, Scope};

/// The program that a kernel's nest stands for: one block.
pub fn program(def: &KernelDef) -> Program {
    let params: Vec<Arc<Buffer>> = def.params.iter().map(|param| Arc::new(buffer(param))).collect();
    let mut iters: Vec<IterVar> = def.loops.iter().map(iter_var).collect();
    let condition = def.reduction.as_ref().and_then(|reduction| reduction.condition.as_ref());
    let derived = condition.map(|condition| taken(def, &self::condition(condition, &params), &mut iters));
    let block = Block {
        name: def.name.as_str().into(),
        iters,
        output: params[def.output].clone(),
        output_index: def.output_index.iter().map(Expr::from).collect(),
        reduction: def.reduction.as_ref().map(|reduction| Reduction {
            init: element(&reduction.init, &params),
            update: element(&reduction.update, &params),
        }),
        epilogue: element(&def.epilogue, &params),
    };
    Program {
        name: def.name.as_str().into(),
        shape_vars: def.shape_vars.iter().map(|var| var.name.as_str().into()).collect(),
        params,
        derived: derived.unwrap_or_default(),
        blocks: vec![block],
    }
}

fn buffer(param: &syntax::Param) -> Buffer {
    Buffer {
        name: param.name.as_str().into(),
        dtype: param.dtype,
        shape: param.dims.iter().map(Expr::from).collect(),
        scope: Scope::Global,
    }
}

fn iter_var(l: &syntax::Loop) -> IterVar {
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
    let side = |e: &syntax::Expr| Box::new(element(e, params));
    Expr::Compare(condition.op, side(&condition.lhs), side(&condition.rhs))
}

/// How many iterations a loop has: `for i in 0..M - 2` has none where `M` is 1. Extents are multiplied, and the product
/// of two negative ones would be positive.
fn extent(form: &syntax::Affine) -> Expr {
    let may_be_negative = form.constant < 0 || form.terms.iter().any(|(_, c)| *c < 0);
    let extent = Expr::from(form);
    if may_be_negative { extent.max(Expr::Int(0)) } else { extent }
}

/// An element expression. Operators on elements are never folded: what the user wrote is what is computed.
fn element(e: &syntax::Expr, params: &[Arc<Buffer>]) -> Expr {
    let sub = |e: &syntax::Expr| Box::new(element(e, params));
    match e {
        syntax::Expr::Acc => Expr::var(ACC),
        syntax::Expr::Literal(value) => Expr::Float(*value),
        syntax::Expr::Load { param, index } => {
            Expr::Load(params[*param].clone(), index.iter().map(Expr::from).collect())
        }
        syntax::Expr::Index(form) => Expr::Cast(DType::F32, Box::new(Expr::from(form))),
        syntax::Expr::Neg(a) => Expr::Call(Function::Neg, vec![element(a, params)]),
        syntax::Expr::Binary(op, a, b) => Expr::Binary(binary_op(*op), sub(a), sub(b)),
        syntax::Expr::Call(f, args) => Expr::Call(function(*f), args.iter().map(|arg| element(arg, params)).collect()),
        syntax::Expr::Select { op, lhs, rhs, then, otherwise } => {
            Expr::Select(Box::new(Expr::Compare(*op, sub(lhs), sub(rhs))), sub(then), sub(otherwise))
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

fn function(f: syntax::Function) -> Function {
    match f {
        syntax::Function::Max => Function::Max,
        syntax::Function::Min => Function::Min,
        syntax::Function::Exp => Function::Exp,
        syntax::Function::Tanh => Function::Tanh,
        syntax::Function::Sqrt => Function::Sqrt,
        syntax::Function::Abs => Function::Abs,
    }
}
