//! What a program that calls kernels needs: tensors, the checks of a call, the threads, the launch.
//!
//! A call walks down this list once: [`TensorRef`] and [`TensorMut`] borrow the caller's memory, [`Arg`] holds one of them or
//! a scalar, [`Kernel::bind`] checks them against the nest's [`Signature`] and reads off the shape variables, the kernel's dispatcher picks a
//! micro-kernel, and [`launch`] carries out its tiles on [`threads`] threads. With one thread nothing on that way
//! allocates.
pub(crate) mod affinity;
mod aligned;
mod arg;
mod bind;
#[cfg(feature = "candle")]
pub mod candle;
mod constant;
pub mod cuda;
pub(crate) mod element;
pub mod exported;
pub mod function;
mod helpers;
#[cfg(any(feature = "candle", feature = "ort"))]
mod inferred;
mod inline;
mod kernel;
mod launch;
mod layout;
mod linked;
#[cfg(feature = "ndarray")]
mod ndarray;
mod operand;
#[cfg(feature = "ort")]
pub mod ort;
mod owned;
mod pace;
mod selected;
mod pool;
mod prepared;
mod scratch;
pub mod set;
mod signature;
mod spin;
mod threads;
pub mod tunable;
mod view;
mod view_mut;

pub use arg::Arg;
#[doc(hidden)]
pub use constant::{Decimal, other_constant};
pub use element::{DType, Element};
pub use kernel::{Kernel, TableSource};
pub use launch::launch;
#[cfg(feature = "tuner")]
pub(crate) use launch::launch_part;
pub use layout::MAX_RANK;
pub use operand::{Input, Output};
pub use owned::Tensor;
#[cfg(feature = "tuner")]
pub(crate) use pace::forget as forget_short_calls;
#[cfg(feature = "tuner")]
pub(crate) use pool::rest;
pub use prepared::{Prepared, PreparedLayout};
pub use scratch::MAX_SCRATCH_BYTES;
pub use signature::{Affine, Bound, MAX_PARAMS, MAX_SHAPE_VARS, Param, Shape, ShapeVar, Signature, SignatureLoop};
pub use spin::{MAX_SPIN_TIME, set_spin_time, spin_time};
pub use threads::{MAX_THREADS, set_threads, threads, with_threads};
pub use view::TensorRef;
pub use view_mut::TensorMut;
