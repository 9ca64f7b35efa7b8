//! Calls on CUDA devices, all of them on the emulated one, with kernels written in Rust behind its entry's ABI.
mod calls;
mod devices;
mod fake;
mod launches;
mod names;
mod tensors;
