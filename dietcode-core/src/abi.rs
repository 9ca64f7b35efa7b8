//! The C ABI between generated translation units and the runtime (format version 2, see `dietcode_syntax::mangle`).
//!
//! A micro-kernel is a row of a table: phases, and what they need. A phase is two C functions: `grid` counts the parallel tiles of
//! an output, `run` carries out a range of them. Tiles of a phase write disjoint memory, and a phase begins when the one before
//! it has ended, so any split of `0..grid` over threads gives the same bits.
//!
//! A `shape` has the shape variables in declaration order, and behind them the row's parameters.

use std::ffi::{c_char, c_void};

/// The most parameters of a row.
pub const MOST_PARAMETERS: usize = 16;

/// A row of a generated table. Mirrors `struct dietcode_micro_kernel` in `dietcode.h`.
#[derive(Debug)]
#[repr(C)]
pub struct MicroKernel {
    /// The schedule's name, NUL-terminated.
    pub name: *const c_char,
    /// CPU features that its code uses: bits of [`crate::cpu_features`].
    pub cpu_features: u64,
    /// Bytes of scratch memory (64-byte aligned) that one thread needs while it runs tiles.
    pub scratch_bytes: i64,
    /// What is carried out, one after the other.
    pub phases: Array<Phase>,
    /// Bytes of memory (64-byte aligned) that the phases of a call share, whatever it holds at first; none: they take none.
    pub workspace_bytes: Option<Count>,
    /// The sizes that the code takes behind the shape variables, at most [`MOST_PARAMETERS`].
    pub parameters: Array<i64>,
}

impl MicroKernel {
    /// The same code, called with other parameters and the scratch memory that they take.
    ///
    /// # Safety
    /// What the row points to, and the parameters, stay where they are as long as the new one is used.
    pub unsafe fn with(&self, parameters: &[i64], scratch_bytes: i64) -> MicroKernel {
        let Array { items, len } = self.phases;
        MicroKernel {
            scratch_bytes,
            phases: Array { items, len },
            parameters: Array { items: parameters.as_ptr(), len: parameters.len() as i64 },
            ..*self
        }
    }
}

/// A step of a micro-kernel. Mirrors `struct dietcode_phase` in `dietcode.h`.
#[derive(Debug)]
#[repr(C)]
pub struct Phase {
    /// The number of parallel tiles.
    pub grid: Count,
    /// Carries out tiles `begin..end`.
    pub run: Run,
}

/// What a function of a C library that `dietcode build-lib` makes returns. The numbers are part of such a library's interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Status {
    /// The output was computed.
    Ok = 0,
    /// As [`ErrorKind::Input`](crate::ErrorKind::Input).
    Input = 1,
    /// As [`ErrorKind::Unavailable`](crate::ErrorKind::Unavailable).
    Unavailable = 2,
    /// As [`ErrorKind::Failed`](crate::ErrorKind::Failed).
    Failed = 3,
    /// As [`ErrorKind::Internal`](crate::ErrorKind::Internal).
    Internal = 4,
}

/// The number of the emulated CUDA device, where functions of C take one: a driver counts from 0.
pub const CUDA_HOST: i32 = -1;

/// A number that depends on the shape.
pub type Count = unsafe extern "C" fn(shape: *const i64) -> i64;

/// `buffers`: one data pointer per parameter of the nest, in declaration order; that of a scalar points to its value, an `f32`;
/// behind them the workspace, if there is one. `strides`: for each tensor in order, for each of its dimensions in order, the
/// distance in elements between neighbours; the last of each tensor is 1.
pub type Run = unsafe extern "C" fn(
    buffers: *const *mut c_void,
    strides: *const i64,
    shape: *const i64,
    scratch: *mut c_void,
    begin: i64,
    end: i64,
);

/// All micro-kernels of one kernel, or of a set. Mirrors `struct dietcode_table` in `dietcode.h`.
pub type Table = Array<&'static MicroKernel>;

/// Items that lie one behind the other: in C, a pointer to the first and a member `…_len`.
#[derive(Debug)]
#[repr(C)]
pub struct Array<T: 'static> {
    items: *const T,
    len: i64,
}

impl<T> Array<T> {
    /// Of what is there for ever.
    pub const fn new(items: &'static [T]) -> Array<T> {
        Array { items: items.as_ptr(), len: items.len() as i64 }
    }

    /// The items.
    pub fn as_slice(&self) -> &[T] {
        match usize::try_from(self.len) {
            // SAFETY: `new`, or the C compiler that has laid out an array of so many, has made it.
            Ok(len) if len > 0 => unsafe { std::slice::from_raw_parts(self.items, len) },
            _ => &[],
        }
    }
}

// SAFETY: all are immutable data emitted by the C compiler.
unsafe impl Sync for MicroKernel {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Array<T> {}
