//! An implementation, loaded and ready to be called.

use std::ffi::c_void;

use super::library::{ALL, Dispatcher, Library};
use super::tensors::Tensors;
use crate::measure::baselines::{Blas, Gemm, matrixmultiply};
use crate::measure::{Failure, Implementation, Linked};
use crate::{Error, abi, runtime};

/// What there is to call.
pub(super) enum Callable {
    MicroKernel(Library),
    /// The first tiles, and how many times as many there are in all.
    Part(Library, u64, f64),
    Linked(&'static abi::MicroKernel),
    Dispatched(Vec<Library>, Dispatcher),
    Matrixmultiply(Gemm),
    Blas(Blas, Gemm),
    /// So many tiles.
    Peak(Library, i64),
}

/// One call's arguments.
pub(super) struct Arguments<'a> {
    /// All of them tensors.
    pub(super) buffers: &'a [*mut c_void],
    /// The same, as a micro-kernel takes them.
    pub(super) prepared: &'a [*mut c_void],
    /// What they point to.
    pub(super) tensors: &'a Tensors,
    pub(super) shape: &'a [i64],
    pub(super) threads: usize,
}

impl Callable {
    /// Loads it for a shape; `threads` is how many a call uses, `linked` what is part of this program.
    pub(super) fn load(
        implementation: &Implementation,
        linked: &dyn Linked,
        shape: &[i64],
        threads: usize,
    ) -> Result<Callable, Failure> {
        Ok(match implementation {
            Implementation::MicroKernel(unit) => Callable::MicroKernel(Library::load(unit)?),
            Implementation::Part { unit, share } => {
                let library = Library::load(unit)?;
                let all = library.tiles(shape);
                // As many for each thread, since a call on several threads is not timed on the work of one.
                let part = ((all as f64 * share).ceil() as u64).max(1).next_multiple_of(threads.max(1) as u64);
                let part = part.min(all.max(1));
                Callable::Part(library, part, all.max(1) as f64 / part as f64)
            }
            Implementation::Linked { name, .. } => {
                Callable::Linked(linked.cpu(name, shape).map_err(|e| unloadable(&e))?)
            }
            Implementation::Dispatched { units, dispatcher } => {
                let libraries = units.iter().map(Library::load).collect::<Result<_, _>>()?;
                Callable::Dispatched(libraries, Dispatcher::load(dispatcher)?)
            }
            Implementation::Matrixmultiply(gemm) => Callable::Matrixmultiply(gemm.clone()),
            Implementation::Blas { library, gemm } => Callable::Blas(Blas::load(library, threads)?, gemm.clone()),
            Implementation::Peak { unit, tiles } => Callable::Peak(Library::load(unit)?, *tiles),
            Implementation::Launched { .. } | Implementation::CuBlas { .. } => {
                return Err(Failure::Load { message: "it is code for a GPU".into() });
            }
        })
    }

    /// How many times as long all of it takes as what a call carries out.
    pub(super) fn scale(&self) -> f64 {
        if let Callable::Part(_, _, scale) = self { *scale } else { 1.0 }
    }

    /// Whether it brings threads of its own, instead of those of the runtime.
    pub(super) fn has_own_threads(&self) -> bool {
        matches!(self, Callable::Matrixmultiply(_) | Callable::Blas(..))
    }

    /// Calls it once.
    pub(super) fn call(&self, arguments: &Arguments<'_>) -> Result<(), Failure> {
        let Arguments { buffers, prepared, tensors, shape, threads } = *arguments;
        let strides = &tensors.strides;
        let launched = |library: &Library, most: u64, shape: &[i64]| {
            // SAFETY: the tensors are contiguous at the instance's shape, and guarded. What the code does with them is
            // what the worker is there to find out.
            let result = unsafe { library.launch(most, prepared, strides, shape, threads) };
            result.map_err(|e| unloadable(&e))
        };
        match self {
            Callable::MicroKernel(library) => launched(library, ALL, shape),
            Callable::Part(library, most, _) => launched(library, *most, shape),
            Callable::Linked(micro_kernel) => {
                // SAFETY: as above; the code that found the micro-kernel has checked that this CPU can carry it out.
                let result = unsafe { runtime::launch(micro_kernel, prepared, strides, shape, threads) };
                result.map_err(|e| unloadable(&e))
            }
            Callable::Dispatched(libraries, dispatcher) => {
                let row = dispatcher.pick(shape);
                let library = usize::try_from(row).ok().and_then(|row| libraries.get(row));
                let library = library.ok_or_else(|| {
                    let message = format!("the dispatcher picks the micro-kernel {row}, of {}", libraries.len());
                    Failure::Load { message }
                })?;
                launched(library, ALL, shape)
            }
            Callable::Peak(library, tiles) => launched(library, ALL, &[*tiles]),
            Callable::Matrixmultiply(gemm) => {
                // SAFETY: the matcher made the extents and strides from the tensors' own.
                unsafe { matrixmultiply::run(gemm, buffers) };
                Ok(())
            }
            Callable::Blas(blas, gemm) => {
                // SAFETY: as above.
                unsafe { blas.run(gemm, buffers) };
                Ok(())
            }
        }
    }
}

fn unloadable(error: &Error) -> Failure {
    Failure::Load { message: error.to_string() }
}

impl Arguments<'_> {
    /// Of a job's tensors, with their [`Tensors::buffers`].
    pub(super) fn of<'a>(
        [buffers, prepared]: &'a [Vec<*mut c_void>; 2],
        tensors: &'a Tensors,
        shape: &'a [i64],
        threads: usize,
    ) -> Arguments<'a> {
        Arguments { buffers, prepared, tensors, shape, threads }
    }
}
