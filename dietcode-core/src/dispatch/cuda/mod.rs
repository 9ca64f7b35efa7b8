//! Which micro-kernels a kernel gets on GPUs, and which of them serves which shape, device by device.
//!
//! | there is                                           | what is taken                                                      |
//! |----------------------------------------------------|--------------------------------------------------------------------|
//! | `configs/<name>.<sm_XX>.tuned.json` that fits      | its micro-kernels and its tree                                     |
//! | a config with `targets.cuda`                       | the few of its candidates that the model predicts to win instances |
//! | neither                                            | [`Blocked::default_for`](crate::sketch::Blocked::default_for)      |
//!
//! The model needs the registers and memory that a kernel takes of a device, which only a compiler reports. So it works in rounds: what is
//! chosen by estimates is compiled, and chosen again by what was reported, until all that is chosen was compiled. A
//! micro-kernel that spills is chosen only where no other can be.
mod report;
mod candidate;
mod files;
mod listed;
mod selection;
mod tuned;

pub use candidate::Candidate;
pub use files::FOLDER;
pub use listed::Listed;
pub use report::{DeviceReport, InstanceReport, LaunchResources, Report, Source};
pub use selection::{Choice, Selection};
pub use tuned::load;
