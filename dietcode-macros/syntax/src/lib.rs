//! The front end that `#[dynamic_kernel]` and the build script share: from a Rust function to a [`KernelDef`].
//!
//! ```text
//! source text ── scan ──► Annotated ──┐
//! macro input ── ItemFn ──────────────┴── parse_kernel: attribute, signature, nest, helper, body ──► KernelDef
//!                                          KernelDef ── bounds, Display, source_hash
//! ```
//!
//! `nest` looks at the form of a body, `body` walks it with the meaning of names (`scope`) and brings its values
//! (`element`) and indices (`affine`) into canonical form; calls of functions inside the body become these (`helper`). All
//! sentences a user can get stand in `error`. `nesting` refuses, before syn parses it, what would need more stack than there is.

mod affine;
mod attribute;
mod block;
mod body;
mod bounds;
mod cfg;
mod choice;
mod constant;
mod conversion;
mod def;
pub mod described;
mod display;
mod element;
mod error;
mod function;
mod helper;
mod literal;
pub mod mangle;
mod name;
mod nest;
mod nesting;
mod parse;
mod prepared;
mod reduce;
mod reduction;
mod scan;
mod scope;
mod signature;
mod text;
mod triangle;

pub use affine::MAX_COEFFICIENT;
pub use attribute::{constants, prepared_names};
pub use bounds::{Bound, bounds};
pub use cfg::Cfg;
pub use constant::{Constant, ConstantValue};
pub use def::*;
pub use element::{MAX_DEPTH, MAX_OPERATIONS};
pub use error::Errors;
pub use function::Function;
pub use name::{MAX_NAME, is_free};
pub use nest::MAX_LOOPS;
pub use parse::{is_dynamic_kernel, parse_function, parse_kernel};
pub use prepared::Prepared;
pub use reduce::ReduceOp;
pub use scan::{Annotated, Module, Step, scan, scan_with_modules};
pub use signature::{MAX_PARAMS, MAX_RANK, MAX_SHAPE_VARS, computes_in};
