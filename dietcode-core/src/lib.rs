//! dietcode: auto-tuned kernels for tensor programs whose shapes change at run time.
//!
//! A loop nest, written as an ordinary Rust function and marked `#[dynamic_kernel]`, becomes a kernel that is fast at every shape the
//! function meets, on CPUs and on NVIDIA's GPUs. A program that calls kernels depends on this crate as it is, whose feature `runtime` is
//! light, and on `dietcode-build` in its build script:
//!
//! ```ignore
//! // A build script lists this file: `dietcode_build::kernels(["src/main.rs"]).compile();`
//! use dietcode_core::dynamic_kernel;
//! use dietcode_core::runtime::Tensor;
//!
//! /// Y = X · Wᵀ: a dense layer for any number of rows.
//! #[dynamic_kernel]
//! fn dense(x: &[[f32; K]; M], w: &[[f32; K]; N], y: &mut [[f32; N]; M]) {
//!     for i in 0..M {
//!         for j in 0..N {
//!             let mut acc = 0.0;
//!             for k in 0..K {
//!                 acc += x[i][k] * w[j][k];
//!             }
//!             y[i][j] = acc;
//!         }
//!     }
//! }
//!
//! fn main() -> Result<(), dietcode_core::Error> {
//!     let (x, w) = (Tensor::full(&[37, 768], 2.0)?, Tensor::full(&[256, 768], 0.5)?);
//!     let mut y = Tensor::zeros(&[37, 256])?;
//!     dense(&x, &w, &mut y)?;
//!     assert!(y.as_slice().iter().all(|&v| v == 768.0));
//!     Ok(())
//! }
//! ```
//!
//! The other features are for build scripts (`compiler`), the command `dietcode` (`tuner`), and programs that call kernels on devices
//! (`cuda`), hold arrays of the crate `ndarray` or tensors of candle (`candle`, and with CUDA devices `candle-cuda`), run models in ONNX
//! Runtime (`ort`), or keep what they found at run time for the next time (`results`). The modules, in the order in which data walks
//! through them:
//!
//! | module       | feature    | what it does                                                                              |
//! |--------------|------------|-------------------------------------------------------------------------------------------|
//! | `config`     | `compiler` | reads which kernel, which shapes and which schedules are wanted                           |
//! | `frontend`   | `compiler` | makes a program of the IR from the nest as it was parsed                                  |
//! | `ir`         | `compiler` | is the IR: blocks and loops, how they print, what always holds                            |
//! | `reference`  | `compiler` | computes what the nest says, with a bound of the error, for all results to be compared    |
//! | `machine`    | `compiler` | describes CPUs and CUDA devices, and finds their compilers                                |
//! | `sketch`     | `compiler` | makes micro-kernels: traces by rules and draws, or of the parameters of a family          |
//! | `schedule`   | `compiler` | carries out a trace: primitives that change the loops of a block                          |
//! | `lower`      | `compiler` | makes loops with constant tiles of a schedule, one pass after the other                   |
//! | `codegen`    | `compiler` | prints C and CUDA C++, and the registry that joins micro-kernels to a program             |
//! | `measure`    | `tuner`    | compiles, checks and times candidates, in processes that may die of it                    |
//! | `cost_model` | `compiler` | predicts what a micro-kernel costs at a shape                                             |
//! | `search`     | `tuner`    | finds the micro-kernels that are fast at the shapes of a config                           |
//! | `dispatch`   | `compiler` | chooses among them by shape: the tuned file, the decision tree, the default               |
//! | `runtime`    | `runtime`  | has tensors, checks a call, launches; its module `cuda` does so on devices                |
//!
//! `abi` is what generated code and the runtime agree on. `ARCHITECTURE.md` in the repository says how the modules meet.
pub mod abi;
#[cfg(any(feature = "compiler", feature = "runtime"))]
mod named;
pub mod cpu_features;
mod error;
pub mod message;
#[cfg(feature = "tuner")]
pub mod doing;
#[cfg(feature = "compiler")]
pub mod scratch;
#[cfg(feature = "runtime")]
pub mod paired;
#[cfg(any(feature = "tuner", feature = "results"))]
mod shared_file;
#[cfg(feature = "compiler")]
pub mod whole_file;
#[cfg(any(feature = "compiler", feature = "results"))]
pub mod hash;
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
mod instance;
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
#[cfg(all(test, feature = "compiler"))]
mod testing;

pub use error::{Error, ErrorKind, Result};

#[cfg(feature = "compiler")]
pub use dietcode_syntax as syntax;

#[cfg(feature = "runtime")]
pub use dietcode_macros::dynamic_kernel;
#[cfg(feature = "runtime")]
pub use half::{bf16, f16};
