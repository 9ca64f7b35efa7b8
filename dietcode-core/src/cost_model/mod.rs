//! What a micro-kernel costs on a workload instance: cost(M, W) = f_MK(M) · f_adapt(M, W).
mod analytic;
mod calibration;
pub mod cpu;
pub mod cuda;
#[cfg(feature = "tuner")]
pub mod features;
mod inside;
#[cfg(feature = "tuner")]
mod learned;
mod loops;
#[cfg(feature = "tuner")]
mod model;
#[cfg(feature = "tuner")]
mod model_file;
mod of_schedule;
#[cfg(feature = "tuner")]
pub mod pack_sum;
#[cfg(feature = "tuner")]
mod random;
#[cfg(feature = "tuner")]
mod roofline;
#[cfg(feature = "tuner")]
mod trees;

pub use analytic::{Adaptation, Observation, rate, rate_on};
pub use calibration::{Calibration, ModelledCall};
use inside::share_inside;
#[cfg(feature = "tuner")]
pub use learned::{Learned, rows};
pub use loops::count;
#[cfg(feature = "tuner")]
pub use model::{CostModel, Observed};
#[cfg(feature = "tuner")]
pub use random::Random;
#[cfg(feature = "tuner")]
pub use roofline::Analytic;
#[cfg(feature = "tuner")]
pub use trees::{Growing, Trees};
