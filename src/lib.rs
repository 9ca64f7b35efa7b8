//! Auto-tuned kernels for tensor programs whose shapes change at run time.
//!
//! A loop nest, written as an ordinary Rust function and marked [`#[dynamic_kernel]`](dynamic_kernel), becomes a kernel
//! that is fast at every shape the function meets, not at one:
//!
#![cfg_attr(feature = "ops", doc = "```")]
#![cfg_attr(not(feature = "ops"), doc = "```ignore")]
//! use dietcode::ops::dense;
//! use dietcode::runtime::Tensor;
//!
//! let (m, n, k) = (5, 7, 11);
//! let x = Tensor::full(&[m, k], 2.0)?;
//! let w = Tensor::full(&[n, k], 0.5)?;
//! let mut y = Tensor::zeros(&[m, n])?;
//! dense(&x, &w, &mut y)?;
//! assert!(y.as_slice().iter().all(|&v| v == 11.0));
//! # Ok::<(), dietcode::Error>(())
//! ```
//!
//! This crate is the facade, and the home of the `dietcode` command. A program that only calls its own kernels depends on
//! `dietcode-core`, and on `dietcode-build` in its build script; `examples/dense` in the repository is such a program. Calls
//! on CUDA devices are the feature `cuda` of `dietcode-core`, which this crate has.
//!
//! | wanted                                 | where                                     |
//! |----------------------------------------|-------------------------------------------|
//! | kernels that are ready to call         | `ops`, with the feature of that name      |
//! | tensors, views, the number of threads  | [`runtime`]                               |
//! | the same on CUDA devices               | [`runtime::cuda`]                         |
//! | configs and tuned files                | [`core::config`], [`core::dispatch`]      |
//! | tuning, as the command does it         | [`tune`](fn@tune), [`tuning`]             |
//! | the compiler, step by step             | [`core`], whose modules stand in its order |

pub use dietcode_core as core;
pub use dietcode_core::{Error, ErrorKind, Result, bf16, dynamic_kernel, f16, runtime};

pub mod benchmark;
#[cfg(feature = "benchmark")]
pub mod configurations;
pub mod heartbeat;
#[cfg(feature = "ops")]
pub mod ops;
pub mod tuning;

pub use tuning::tune;
