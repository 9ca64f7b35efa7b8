//! The intermediate representation, from a user's nest to the loops that are printed as source text.
//!
//! ```text
//! Program   = shape variables, params (buffers), blocks in order
//! Buffer    = name, dtype, shape, scope: global | shared | panel | local | register | fragment | view
//! Block     = iteration variables (spatial | reduce, extent), output and its index, init, update, epilogue
//! Stmt      = For(var, extent, kind, body) | Let | Store | Allocate | View | IfThenElse | Sync | Seq | Intrinsic
//! For.kind  = serial | parallel | vectorized | unrolled | blockIdx | threadIdx | vthread
//! Expr      = constants, variables, + - * / % min max and, comparisons, Select, Load, Cast, Call
//! ```

mod affine;
mod cut;
mod dot;
mod expr;
pub(crate) mod function;
mod inline;
mod intrinsic;
mod printer;
mod program;
mod stmt;
mod swizzle;
mod verify;

pub use affine::{Affine, affine, coefficient};
pub use cut::{Along, Cut};
pub use dot::{Dot, DotRow};
pub use expr::{BinaryOp, CompareOp, DType, Expr, Function, ReduceOp, holds};
pub use intrinsic::{Intrinsic, Operand, Parts, Run};
pub use program::{ACC, Block, Buffer, IterVar, Name, Prepared, Program, Reduction, Scope};
pub use stmt::{ForKind, Region, Stmt};
pub use swizzle::Swizzle;
pub use verify::verify;
