//! A compiled micro-kernel in this process.

use std::ffi::{CString, c_void};

use crate::measure::{Failure, Unit};
use crate::{Result, abi, runtime};

/// A loaded shared library with the micro-kernel in it.
pub(super) struct Library {
    micro_kernel: abi::MicroKernel,
    /// What the micro-kernel points into.
    _name: CString,
    _library: libloading::Library,
}

impl Library {
    /// Loads it and finds its two functions.
    pub(super) fn load(unit: &Unit) -> Result<Library, Failure> {
        let failed = |e: &dyn std::fmt::Display| Failure::Load { message: e.to_string() };
        let name = CString::new(unit.name.as_str()).map_err(|e| failed(&e))?;
        // SAFETY: the library was compiled from generated code, which has no initialisers. That the code may yet be wrong is
        // why this is a process of its own.
        let library = unsafe { libloading::Library::new(&unit.library) }.map_err(|e| failed(&e))?;
        // SAFETY: the symbols have these types, as `codegen` declares them; they are kept with their library.
        let (grid, run) = unsafe {
            let grid = library.get::<unsafe extern "C" fn(*const i64) -> i64>(unit.grid_symbol.as_bytes());
            let run = library.get::<abi::Run>(unit.run_symbol.as_bytes());
            (*grid.map_err(|e| failed(&e))?, *run.map_err(|e| failed(&e))?)
        };
        let micro_kernel =
            abi::MicroKernel { name: name.as_ptr(), cpu_features: 0, scratch_bytes: unit.scratch_bytes, grid, run };
        Ok(Library { micro_kernel, _name: name, _library: library })
    }

    /// How many tiles there are at a shape.
    pub(super) fn tiles(&self, shape: &[i64]) -> u64 {
        // SAFETY: the function reads one entry for each shape variable, as many as the kernel of the shape has.
        u64::try_from(unsafe { (self.micro_kernel.grid)(shape.as_ptr()) }).unwrap_or(0)
    }

    /// Carries it out.
    ///
    /// # Safety
    ///
    /// As for [`runtime::launch`].
    pub(super) unsafe fn launch(
        &self,
        buffers: &[*mut c_void],
        strides: &[i64],
        shape: &[i64],
        threads: usize,
    ) -> Result<()> {
        // SAFETY: as the caller vouches.
        unsafe { self.launch_part(u64::MAX, buffers, strides, shape, threads) }
    }

    /// Carries out at most the first `most` tiles.
    ///
    /// # Safety
    ///
    /// As for [`runtime::launch`].
    pub(super) unsafe fn launch_part(
        &self,
        most: u64,
        buffers: &[*mut c_void],
        strides: &[i64],
        shape: &[i64],
        threads: usize,
    ) -> Result<()> {
        // SAFETY: as the caller vouches.
        unsafe { runtime::launch_part(&self.micro_kernel, most, buffers, strides, shape, threads) }
    }
}
