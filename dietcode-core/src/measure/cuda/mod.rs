//! Candidates for CUDA devices.
pub mod nvrtc;
