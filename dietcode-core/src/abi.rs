//! The C ABI between generated translation units and the runtime (format version 1, see `dietcode_syntax::mangle`).
//!
//! A micro-kernel is two C functions: `grid` counts the parallel tiles that cover an output, `run` carries out a
//! range of them. Tiles write disjoint parts of the output, so any split of `0..grid` over threads gives the same bits.

use std::ffi::{c_char, c_void};

/// A row of a generated table. Mirrors `struct dietcode_micro_kernel` in `dietcode.h`.
#[repr(C)]
pub struct MicroKernel {
    /// The schedule's name, NUL-terminated.
    pub name: *const c_char,
    /// CPU features that its code uses: bits of [`crate::cpu_features`].
    pub cpu_features: u64,
    /// Bytes of scratch memory (64-byte aligned) that one thread needs while it runs tiles.
    pub scratch_bytes: i64,
    /// `shape`: the shape variables in declaration order. Returns the number of parallel tiles.
    pub grid: unsafe extern "C" fn(shape: *const i64) -> i64,
    /// Carries out tiles `begin..end`.
    pub run: Run,
}

/// `buffers`: one data pointer per parameter, in declaration order; that of a scalar points to its value, an `f32`. `strides`:
/// for each tensor in order, for each of its dimensions in order, the distance in elements between neighbours; the last of
/// each tensor is 1.
pub type Run = unsafe extern "C" fn(
    buffers: *const *mut c_void,
    strides: *const i64,
    shape: *const i64,
    scratch: *mut c_void,
    begin: i64,
    end: i64,
);

/// All micro-kernels of one kernel, or of a set. Mirrors `struct dietcode_table` in `dietcode.h`.
#[derive(Debug)]
#[repr(C)]
pub struct Table {
    /// The rows.
    pub micro_kernels: *const MicroKernel,
    /// How many there are.
    pub len: i64,
}

#[cfg(feature = "runtime")]
impl Table {
    /// A row, if there is one.
    pub(crate) fn row(&'static self, row: usize) -> Option<&'static MicroKernel> {
        if !i64::try_from(row).is_ok_and(|row| row < self.len) {
            return None;
        }
        // SAFETY: the table has `len` rows, and this is one of them.
        Some(unsafe { &*self.micro_kernels.add(row) })
    }
}

// SAFETY: all are immutable data emitted by the C compiler.
unsafe impl Sync for MicroKernel {}
// SAFETY: as above.
unsafe impl Sync for Table {}
