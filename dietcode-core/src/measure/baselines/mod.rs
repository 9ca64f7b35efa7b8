//! What a kernel is compared with: the nest as it stands, a pure-Rust library, the system's BLAS, the peak of the core.
//!
//! These are the only places that know the word *gemm*. The nest as it stands needs no code here: it is a translation
//! unit like any other.
pub mod blas;
mod copies;
mod matmul;
pub(super) mod matrixmultiply;
pub mod peak;
pub(super) mod stream;

pub use blas::{Blas, BlasLibrary};
pub use matmul::{Batch, Coefficient, Gemm, Matrix};
