//! From a compiled micro-kernel to a call of it at a shape: every expression becomes a number.

use std::path::PathBuf;

use dietcode_syntax::KernelDef;
use serde::{Deserialize, Serialize};

use super::compile::Built;
use super::expected::names;
use crate::ir::Expr;
use crate::measure::Implementation;
use crate::{Error, Result};

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

impl Implementation {
    /// A compiled micro-kernel at a shape (the shape variables in declaration order).
    ///
    /// # Errors
    /// If its grid cannot be computed there.
    pub fn launched(built: &Built, def: &KernelDef, shape: &[i64]) -> Result<Implementation> {
        let count = |e: &Expr| {
            let vars = names(def).zip(shape);
            let e = vars.fold(e.clone(), |e, (name, value)| e.substitute(&name, &Expr::Int(*value)));
            e.as_int().ok_or_else(|| {
                Error::input(format!(
                    "micro-kernel `{}` of `{}` at {shape:?}: `{e}` is no number",
                    built.unit.name, def.name
                ))
            })
        };
        let launches = built.unit.launches.iter().map(|launch| {
            Ok(CudaCallLaunch {
                symbol: launch.symbol.clone(),
                threads: u32::try_from(launch.threads).unwrap_or(u32::MAX),
                shared_bytes: u32::try_from(launch.shared_bytes).unwrap_or(u32::MAX),
                blocks: count(&launch.blocks)?,
                persistent: launch.persistent,
            })
        });
        let call = CudaCall {
            name: built.unit.name.clone(),
            image: built.image.clone(),
            launches: launches.collect::<Result<_>>()?,
            workspace_bytes: built.unit.workspace_bytes.as_ref().map(count).transpose()?,
        };
        Ok(Implementation::Launched { call, arithmetic: built.unit.arithmetic, seconds: None })
    }
}
