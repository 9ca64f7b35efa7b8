//! Kernels on CUDA devices.
mod table;

pub use table::{CudaImage, CudaLaunch, CudaMicroKernel, CudaTable, CudaTableSource, HostEntry};
