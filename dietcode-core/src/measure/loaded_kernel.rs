//! A kernel as a program holds it that was built with it: compiled and loaded into this process, for candidates of
//! `runtime::tunable` to be tried where the program is not.

use std::cell::Cell;

use dietcode_syntax::{self as syntax, DType, KernelDef, Role, bounds};

use super::{Builder, Failure};
use crate::codegen::TranslationUnit;
use crate::codegen::registry::{Decision, DispatchFn, dispatcher};
use crate::runtime::cuda::CudaTableSource;
use crate::runtime::element::of_element;
use crate::runtime::tunable::KernelOp;
use crate::runtime::{
    Affine, Bound, Element, Kernel, Param, PreparedLayout, ShapeVar, Signature, SignatureLoop, TableSource,
};
use crate::{Error, Result, abi};

thread_local! {
    /// The dispatcher of the kernel that is called, and how many shape variables it reads: a kernel's own is a function without a state.
    static DISPATCHER: Cell<Option<(DispatchFn, usize)>> = const { Cell::new(None) };
}

/// A kernel, which stays for as long as the process, as the code that was loaded does.
pub struct LoadedKernel {
    kernel: &'static Kernel,
    dispatcher: DispatchFn,
}

impl LoadedKernel {
    /// Compiles and loads what a build links for a kernel: its micro-kernels, in this order, and the decision between them.
    ///
    /// # Errors
    /// What the compiler or the loader says of the first that has no code.
    pub fn load(
        builder: &Builder,
        def: &KernelDef,
        units: &[TranslationUnit],
        decision: &Decision,
    ) -> Result<LoadedKernel> {
        let mut rows = Vec::new();
        for (unit, built) in units.iter().zip(builder.build(units)) {
            rows.push(built.and_then(|built| row(&built)).map_err(|failure| {
                Error::failed(format!("{}: the micro-kernel {} cannot be loaded: {failure}", def.name, unit.name))
            })?);
        }
        let unit = dispatcher(def, decision);
        // SAFETY: the symbol has this type, as `codegen` declares it.
        let loaded = builder.build_one(&unit).and_then(|built| unsafe { symbol::<DispatchFn>(&built) });
        let dispatcher = loaded.map_err(|failure| {
            Error::failed(format!("the dispatcher of `{}` cannot be loaded: {failure}", def.name))
        })?;
        let table = leaked(TableSource::Linked(leaked(abi::Table::new(rows.leak()))));
        let cuda = leaked(CudaTableSource::Skipped("it was loaded for the CPU"));
        let kernel = leaked(Kernel { signature: signature(def), table, dispatch, cuda });
        Ok(LoadedKernel { kernel, dispatcher })
    }

    /// The kernel's operation, with the candidates of a program's `tunable()`. The nest as plain Rust is one by name only: it is in the
    /// program alone.
    pub fn tunable(&self) -> KernelOp {
        KernelOp::new(self.kernel, |_| Err(Error::unsupported("the nest as plain Rust is in the program only")))
    }

    /// Runs `body`, in which this kernel may be called from this thread.
    pub fn entered<R>(&self, body: impl FnOnce() -> R) -> R {
        let outer = DISPATCHER.replace(Some((self.dispatcher, self.kernel.shape_vars().len())));
        let result = body();
        DISPATCHER.set(outer);
        result
    }
}

fn dispatch(shape: &[i64]) -> usize {
    // That of another kernel has nothing to say.
    let own = DISPATCHER.get().filter(|(_, vars)| *vars == shape.len());
    // SAFETY: the shape has a value for each of its variables.
    let row = own.map(|(dispatcher, _)| unsafe { dispatcher(shape.as_ptr()) });
    // A row that is not there is an error of the call.
    row.and_then(|row| usize::try_from(row).ok()).unwrap_or(usize::MAX)
}

fn row(unit: &super::Unit) -> Result<&'static abi::MicroKernel, Failure> {
    // SAFETY: the symbol has this type, as `codegen` declares it, and the library stays.
    Ok(unsafe { &*symbol::<*const abi::MicroKernel>(unit)? })
}

/// A unit's symbol, in a library that stays.
///
/// # Safety
/// It has this type.
unsafe fn symbol<T: Copy>(unit: &super::Unit) -> Result<T, Failure> {
    let failed = |e: libloading::Error| Failure::Load { message: e.to_string() };
    // SAFETY: the library was compiled from generated code, which has no initialisers.
    let library = leaked(unsafe { libloading::Library::new(&unit.library) }.map_err(failed)?);
    // SAFETY: as the caller vouches.
    Ok(*unsafe { library.get::<T>(unit.symbol.as_bytes()) }.map_err(failed)?)
}

/// What `#[dynamic_kernel]` writes into the program.
fn signature(def: &KernelDef) -> Signature {
    let affine = |affine: &syntax::Affine| {
        let position = |name: &str| def.shape_vars.iter().position(|var| var.name == name);
        let term = |(name, coefficient): &(String, i64)| Some((position(name)?, *coefficient));
        let terms: Vec<(usize, i64)> = affine.terms.iter().filter_map(term).collect();
        Affine { terms: terms.leak(), constant: affine.constant }
    };
    let shape_vars =
        def.shape_vars.iter().map(|var| ShapeVar { name: text(&var.name), param: var.param, dim: var.dim });
    let params = def.params.iter().map(|param| Param {
        name: text(&param.name),
        dtype: of_element!(DType, param.dtype, T => T::DTYPE),
        dims: param.dims.iter().map(affine).collect::<Vec<_>>().leak(),
        mutable: param.mutable,
    });
    let loops = def.loops.iter().map(|l| SignatureLoop {
        name: text(&l.name),
        extent: affine(&l.extent),
        reduce: l.role == Role::Reduce,
    });
    let bounds = bounds(def).into_iter().map(|bound| Bound {
        param: bound.param,
        dim: bound.dim,
        least: affine(&bound.least),
        greatest: affine(&bound.greatest),
        index: text(&bound.index.to_string()),
    });
    let prepared = def.prepared.iter().map(|prepared| PreparedLayout {
        param: prepared.param,
        dim: prepared.dim,
        outer: prepared.outer.clone().leak(),
        inner: prepared.inner.clone().leak(),
        panel: prepared.panel as usize,
    });
    Signature {
        name: text(&def.name),
        source_hash: def.source_hash(),
        shape_vars: shape_vars.collect::<Vec<_>>().leak(),
        params: params.collect::<Vec<_>>().leak(),
        loops: loops.collect::<Vec<_>>().leak(),
        bounds: bounds.collect::<Vec<_>>().leak(),
        prepared: prepared.collect::<Vec<_>>().leak(),
    }
}

fn text(text: &str) -> &'static str {
    String::leak(text.to_owned())
}

fn leaked<T>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}
