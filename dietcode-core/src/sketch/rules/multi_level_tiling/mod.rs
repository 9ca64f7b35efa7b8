//! The rules that make tiles, one a kind of unit that computes.

mod cpu;
mod cuda;
mod tensor_core;
mod variants;

pub use cpu::MultiLevelTilingCpu;
pub use cuda::MultiLevelTilingCuda;
pub(super) use cuda::uses_again;
pub use tensor_core::MultiLevelTilingTensorCore;
