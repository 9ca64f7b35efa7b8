//! Kernels on CUDA devices, and on the emulated one.
//!
//! A kernel runs where its tensors are: `CudaTensor` owns memory of a `Device`, `CudaView` and `CudaViewMut` borrow that of
//! a program which uses the driver through `cudarc` itself, candle for instance. A call with tensors on a device makes the
//! same checks as one in host memory, picks a micro-kernel from the kernel's [`CudaTable`] by shape and compute capability,
//! loads it at its first use, and launches it on the stream of the output.
//!
//! All but tables and names of devices needs the feature `cuda`. A program may have it on every machine: NVIDIA's driver is
//! loaded when a device is first asked for, and where there is none, `Device::cuda` is an error. The emulated device,
//! `Device::cuda_host`, is always there, and a call goes the same way to it in all but the driver.
#[cfg(feature = "cuda")]
pub(super) mod devices;
pub(super) mod memory;
mod name;
mod table;

#[cfg(feature = "cuda")]
pub use devices::{
    CudaTensor, CudaView, CudaViewMut, Device, Extent, InUse, KernelParts, LaunchParts, Limits, LoadedKernel, launch,
};
pub use name::DeviceName;
pub use table::{CudaImage, CudaLaunch, CudaMicroKernel, CudaTable, CudaTableSource, HostArg, HostEntry};
