//! dietcode: auto-tuned kernels for tensor programs whose shapes change at run time.
//!
//! The modules stand in the order in which data walks through them.
pub mod abi;
pub mod cpu_features;
mod error;
pub mod message;
#[cfg(feature = "tuner")]
pub mod doing;
#[cfg(feature = "compiler")]
pub mod scratch;
#[cfg(feature = "compiler")]
mod whole_file;
#[cfg(feature = "compiler")]
pub mod hash;
#[cfg(feature = "compiler")]
pub mod parallel;
#[cfg(feature = "compiler")]
pub mod config;
#[cfg(feature = "compiler")]
pub mod frontend;
#[cfg(feature = "compiler")]
pub mod ir;
#[cfg(feature = "compiler")]
pub mod reference;
#[cfg(feature = "compiler")]
pub mod machine;
#[cfg(feature = "compiler")]
pub mod sketch;
#[cfg(feature = "compiler")]
pub mod schedule;
#[cfg(feature = "compiler")]
pub mod lower;
#[cfg(feature = "compiler")]
pub mod codegen;
#[cfg(feature = "tuner")]
pub mod measure;
#[cfg(feature = "compiler")]
pub mod cost_model;
#[cfg(feature = "tuner")]
pub mod search;
#[cfg(feature = "compiler")]
pub mod dispatch;
#[cfg(feature = "runtime")]
pub mod runtime;

pub use error::{Error, ErrorKind, Result};

#[cfg(feature = "compiler")]
pub use dietcode_syntax as syntax;

#[cfg(feature = "runtime")]
pub use dietcode_macros::dynamic_kernel;
#[cfg(feature = "runtime")]
pub use half::{bf16, f16};
