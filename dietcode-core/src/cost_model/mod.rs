//! What a micro-kernel costs on a workload instance: cost(M, W) = f_MK(M) · f_adapt(M, W).
mod analytic;
pub mod cuda;
mod of_schedule;

pub use analytic::{Adaptation, Observation, rate};
