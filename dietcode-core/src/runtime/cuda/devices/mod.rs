//! The devices themselves: `call` walks down this list once.
pub(in crate::runtime) mod call;
pub(in crate::runtime) mod context;
mod device;
mod limits;
mod emulated;
mod failure;
mod buffer;
mod in_use;
pub(in crate::runtime) mod resident;
mod tensor;
mod view;
mod view_mut;
pub(in crate::runtime) mod lent;
mod loaded;
mod launch;
mod params;
pub(in crate::runtime) mod trial;
mod workspace;

pub use device::Device;
pub use in_use::InUse;
pub use launch::{Extent, launch};
pub use limits::Limits;
pub use loaded::{KernelParts, LaunchParts, LoadedKernel};
pub use tensor::CudaTensor;
pub use view::CudaView;
pub use view_mut::CudaViewMut;
