//! dietcode: auto-tuned kernels for tensor programs whose shapes change at run time.
//!
//! The modules stand in the order in which data walks through them.
pub mod abi;
pub mod cpu_features;
mod error;
pub use error::{Error, ErrorKind, Result};

#[cfg(feature = "compiler")]
pub mod codegen;
#[cfg(feature = "compiler")]
pub mod config;
#[cfg(feature = "compiler")]
pub mod cost_model;
#[cfg(feature = "compiler")]
pub mod dispatch;
#[cfg(feature = "compiler")]
pub mod frontend;
#[cfg(feature = "compiler")]
pub mod ir;
#[cfg(feature = "compiler")]
pub mod lower;
#[cfg(feature = "tuner")]
pub mod measure;
#[cfg(feature = "runtime")]
pub mod runtime;
#[cfg(feature = "compiler")]
pub mod schedule;
#[cfg(feature = "tuner")]
pub mod search;
#[cfg(feature = "compiler")]
pub mod sketch;
#[cfg(feature = "compiler")]
pub mod target;
