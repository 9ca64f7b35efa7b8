//! From a compiled micro-kernel to a call of it at a shape: every expression becomes a number.

use dietcode_syntax::KernelDef;

use super::compile::Built;
use super::expected::names;
use super::{CudaCall, CudaCallLaunch, CudaCode, CudaContestant};
use crate::ir::Expr;
use crate::reference::Arithmetic;
use crate::sketch::{Blocked, Unit};
use crate::{Error, Result};

/// The arithmetic of a micro-kernel.
pub fn arithmetic_of(blocked: &Blocked) -> Arithmetic {
    match blocked.matrix_unit {
        None => Arithmetic::F32,
        Some(Unit::Half) => Arithmetic::MatrixUnit,
        Some(Unit::Tf32) => Arithmetic::Tf32,
    }
}

impl CudaContestant {
    /// A compiled micro-kernel at a shape (the shape variables in declaration order).
    ///
    /// # Errors
    /// If its grid cannot be computed there.
    pub fn of(built: &Built, blocked: &Blocked, def: &KernelDef, shape: &[i64]) -> Result<CudaContestant> {
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
        Ok(CudaContestant { arithmetic: arithmetic_of(blocked), code: CudaCode::MicroKernel(call) })
    }
}
