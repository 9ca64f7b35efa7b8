//! The rules that make tiles, one a kind of unit that computes.

mod cuda;
mod tensor_core;

pub use cuda::MultiLevelTilingCuda;
pub(super) use cuda::uses_again;
pub use tensor_core::MultiLevelTilingTensorCore;
