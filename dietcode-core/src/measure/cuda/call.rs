//! A call of a micro-kernel at a shape: every expression is a number.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// A micro-kernel at a shape.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CudaCall {
    /// Its name, for messages.
    pub name: String,
    /// The image, or, for the emulated device, the shared library.
    pub image: PathBuf,
    /// Its launches, in order.
    pub launches: Vec<CudaCallLaunch>,
    /// Bytes of workspace; none: the launches take no such parameter.
    pub workspace_bytes: Option<i64>,
}

/// One launch of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CudaCallLaunch {
    /// The kernel's `extern "C"` name.
    pub symbol: String,
    /// Threads of a block.
    pub threads: u32,
    /// Bytes of dynamic shared memory of a block.
    pub shared_bytes: u32,
    /// Blocks that cover the output.
    pub blocks: i64,
    /// Whether a smaller grid will do.
    pub persistent: bool,
}
