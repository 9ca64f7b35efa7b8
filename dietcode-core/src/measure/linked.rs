//! Micro-kernels that are part of the program itself.
//!
//! A worker is the same program, started again: what is linked into the one is linked into the other, so that its name is
//! all that has to be said of it.

use serde::{Deserialize, Serialize};

use crate::runtime::cuda::CudaMicroKernel;
use crate::{Error, Result, abi};

/// A micro-kernel of a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkedName {
    /// The kernel's name.
    pub kernel: String,
    /// The configuration that it is of; none: it is what the kernel's dispatcher picks.
    pub configuration: Option<String>,
}

/// What finds the micro-kernels of a program by their names.
pub trait Linked {
    /// The micro-kernel for the CPU, at a shape (the shape variables in declaration order).
    ///
    /// # Errors
    /// Why there is none that this CPU can carry out.
    fn cpu(&self, name: &LinkedName, shape: &[i64]) -> Result<&'static abi::MicroKernel>;

    /// The micro-kernel for a CUDA device of a compute capability, at a shape.
    ///
    /// # Errors
    /// Why there is none.
    fn cuda(&self, name: &LinkedName, shape: &[i64], capability: (u32, u32)) -> Result<&'static CudaMicroKernel>;
}

/// A program that no micro-kernel is linked into.
#[derive(Clone, Copy, Debug)]
pub struct NothingLinked;

impl Linked for NothingLinked {
    fn cpu(&self, name: &LinkedName, _: &[i64]) -> Result<&'static abi::MicroKernel> {
        Err(name.missing())
    }

    fn cuda(&self, name: &LinkedName, _: &[i64], _: (u32, u32)) -> Result<&'static CudaMicroKernel> {
        Err(name.missing())
    }
}

impl LinkedName {
    /// That the program has no such micro-kernel.
    pub fn missing(&self) -> Error {
        let kernel = &self.kernel;
        let what = match &self.configuration {
            Some(configuration) => format!("no configuration `{configuration}` of `{kernel}` is part of this program"),
            None => format!("`{kernel}` is no kernel of this program"),
        };
        Error::unavailable(what)
    }
}
