//! What a kernel's dispatcher picks, for those who measure it beside others rather than call it.

#[cfg(feature = "cuda")]
use super::cuda::{CudaMicroKernel, devices};
use super::kernel::Kernel;
use crate::{Result, abi};

impl Kernel {
    /// The micro-kernel that a call with tensors in host memory carries out at a shape (the shape variables in declaration
    /// order).
    ///
    /// # Errors
    /// [`Unavailable`](crate::ErrorKind::Unavailable) if there is no native code, or this CPU lacks a feature that it uses.
    pub fn selected(&self, shape: &[i64]) -> Result<&'static abi::MicroKernel> {
        let micro_kernel = self.dispatched(shape)?;
        self.check_cpu(micro_kernel)?;
        Ok(micro_kernel)
    }

    /// The micro-kernel that a call with tensors on a device of a compute capability launches at a shape.
    ///
    /// # Errors
    /// [`Unavailable`](crate::ErrorKind::Unavailable) if there is no CUDA code.
    #[cfg(feature = "cuda")]
    pub fn selected_on_device(&self, shape: &[i64], capability: (u32, u32)) -> Result<&'static CudaMicroKernel> {
        devices::call::row(self.name(), self.cuda, shape, capability)
    }
}
