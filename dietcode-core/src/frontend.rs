//! From the canonical form of a user's nest to the IR.

use std::sync::Arc;

use dietcode_syntax::{self as syntax, KernelDef};

use crate::ir::{ACC, BinaryOp, Block, Buffer, DType, Expr, Function, IterVar, Program, Reduction, Scope};

/// The program that a kernel's nest stands for: one block.
pub fn program(def: &KernelDef) -> Program {
    let params: Vec<Arc<Buffer>> = def.params.iter().map(|param| Arc::new(buffer(param))).collect();
    let block = Block {
        name: def.name.as_str().into(),
        iters: def.loops.iter().map(iter_var).collect(),
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
        derived: Vec::new(),
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
