//! Calls on CUDA devices, all of them on the emulated one, with kernels written in Rust behind its entry's ABI.
mod calls;
#[cfg(feature = "compiler")]
mod compiled;
mod devices;
#[cfg(target_os = "linux")]
mod driver;
mod fake;
mod launches;
mod lent;
mod names;
#[cfg(feature = "compiler")]
mod registry;
mod tensors;
mod tuned;
