//! A compiled micro-kernel in this process.

use std::ffi::c_void;

use crate::codegen::registry::DispatchFn;
use crate::measure::{Failure, Unit};
use crate::{Result, abi, runtime};

/// As many tiles as there are.
pub(super) const ALL: u64 = u64::MAX;

/// A loaded shared library with the micro-kernel in it.
pub(super) struct Library {
    row: abi::MicroKernel,
    /// The parameters in it, where they are none of the library's.
    _parameters: Vec<i64>,
    /// What it points into.
    _library: libloading::Library,
}

impl Library {
    /// Loads it and finds the micro-kernel's row.
    pub(super) fn load(unit: &Unit) -> Result<Library, Failure> {
        let failed = |e: libloading::Error| Failure::Load { message: e.to_string() };
        // SAFETY: the library was compiled from generated code, which has no initialisers. That the code may yet be wrong is
        // why this is a process of its own.
        let library = unsafe { libloading::Library::new(&unit.library) }.map_err(failed)?;
        // SAFETY: the symbol has this type, as `codegen` declares it.
        let row = *unsafe { library.get::<*const abi::MicroKernel>(unit.symbol.as_bytes()) }.map_err(failed)?;
        // SAFETY: the library stays for as long as the row, and the linker has put one there.
        let row = unsafe { &*row };
        let sizes = unit.sizes.as_ref();
        let parameters = sizes.map_or(row.parameters.as_slice(), |sizes| &sizes.parameters).to_vec();
        let scratch_bytes = sizes.map_or(row.scratch_bytes, |sizes| sizes.scratch_bytes);
        // SAFETY: the library and the vector stay for as long as the row.
        let row = unsafe { row.with(&parameters, scratch_bytes) };
        // A library that was there before may have had code at the same addresses.
        runtime::forget_short_calls();
        Ok(Library { row, _parameters: parameters, _library: library })
    }

    /// How many tiles there are at a shape, of the phase that has most.
    pub(super) fn tiles(&self, shape: &[i64]) -> u64 {
        let row = &self.row;
        let shape = [shape, row.parameters.as_slice()].concat();
        // SAFETY: the function reads one entry for each shape variable, as many as the kernel of the shape has, and each parameter.
        let tiles = |phase: &abi::Phase| unsafe { (phase.grid)(shape.as_ptr()) };
        row.phases.as_slice().iter().map(|phase| u64::try_from(tiles(phase)).unwrap_or(0)).max().unwrap_or(0)
    }

    /// Carries out at most the first `most` tiles.
    ///
    /// # Safety
    ///
    /// As for [`runtime::launch`].
    pub(super) unsafe fn launch(
        &self,
        most: u64,
        buffers: &[*mut c_void],
        strides: &[i64],
        shape: &[i64],
        threads: usize,
    ) -> Result<()> {
        // SAFETY: as the caller vouches; the library is still there.
        unsafe { runtime::launch_part(&self.row, most, buffers, strides, shape, threads) }
    }
}

/// A loaded shared library with a kernel's dispatcher in it.
pub(super) struct Dispatcher {
    pick: DispatchFn,
    /// What it points into.
    _library: libloading::Library,
}

impl Dispatcher {
    /// Loads it.
    pub(super) fn load(unit: &Unit) -> Result<Dispatcher, Failure> {
        let failed = |e: libloading::Error| Failure::Load { message: e.to_string() };
        // SAFETY: as for a micro-kernel.
        let library = unsafe { libloading::Library::new(&unit.library) }.map_err(failed)?;
        // SAFETY: the symbol has this type, as `codegen` declares it, and the library stays as long as the pointer.
        let pick = *unsafe { library.get::<DispatchFn>(unit.symbol.as_bytes()) }.map_err(failed)?;
        Ok(Dispatcher { pick, _library: library })
    }

    /// The row of the micro-kernel that serves a shape.
    pub(super) fn pick(&self, shape: &[i64]) -> i64 {
        // SAFETY: a shape of the kernel has a value for each of its variables.
        unsafe { (self.pick)(shape.as_ptr()) }
    }
}
