//! Tensors, the checks of a call, threads and the launch, with micro-kernels written in Rust behind the C ABI.
#![cfg(feature = "runtime")]

mod allocations;
mod calls;
#[cfg(feature = "candle")]
mod candles;
#[cfg(feature = "cuda")]
mod cuda;
mod exported;
mod fake;
#[cfg(target_os = "linux")]
mod helpers;
mod launches;
#[cfg(feature = "ndarray")]
mod ndarrays;
mod prepared;
mod scalars;
mod thread_settings;
mod tunable;
mod views;
