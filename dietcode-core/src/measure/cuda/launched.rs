//! From a compiled micro-kernel to a call of it at a shape: every expression becomes a number.

use dietcode_syntax::KernelDef;

use super::compile::Built;
use super::expected::names;
use super::{CudaCall, CudaCallLaunch};
use crate::ir::Expr;
use crate::measure::Implementation;
use crate::{Error, Result};

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
