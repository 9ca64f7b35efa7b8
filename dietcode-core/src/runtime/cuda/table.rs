//! The CUDA half of a kernel as generated code states it: constants and functions of the shape variables only.
//!
//! The types are there with and without the feature `cuda`, so that the macro, which sees no features, can always write a
//! kernel's table; without the feature nothing reads it.
//!
//! A launch takes, as `cuLaunchKernel` does, an array of pointers to its parameters, in this order:
//!
//! | parameter                                                             | type                                           |
//! |-----------------------------------------------------------------------|------------------------------------------------|
//! | each parameter of the nest in declaration order                       | pointer to a tensor's elements, or an `f32`    |
//! | the workspace, if [`CudaMicroKernel::uses_workspace`]                 | pointer                                        |
//! | each tensor's strides in elements, of all its dimensions but the last | `i64` each                                     |
//! | the shape variables in declaration order                              | `i32` each                                     |

use std::ffi::{c_char, c_int, c_void};

/// Where the CUDA micro-kernels of a kernel are.
#[derive(Debug)]
pub enum CudaTableSource {
    /// Compiled into this program.
    Linked(&'static CudaTable),
    /// There is no CUDA code; the text says why, and what to do.
    Skipped(&'static str),
}

/// All CUDA micro-kernels of a kernel, and how one is selected.
#[derive(Debug)]
pub struct CudaTable {
    /// The rows.
    pub micro_kernels: &'static [CudaMicroKernel],
    /// The row that serves a shape (the shape variables in declaration order) on a device of a compute capability.
    pub dispatch: fn(shape: &[i64], capability: (u32, u32)) -> usize,
}

/// A micro-kernel: its launches, in order, and what they are made of.
///
/// Most have one launch; split-K has a second one that adds the parts, or, with atomics, a first one that clears the output.
#[derive(Debug)]
pub struct CudaMicroKernel {
    /// The schedule's name.
    pub name: &'static str,
    /// What is launched, in order, on one stream.
    pub launches: &'static [CudaLaunch],
    /// Whether the launches take a workspace pointer, whatever the shape.
    pub uses_workspace: bool,
    /// Bytes of device memory that the launches use between them at a shape; saturating.
    pub workspace_bytes: fn(shape: &[i64]) -> i64,
    /// The machine code; `None` if only the emulated device can carry it out.
    pub image: Option<CudaImage<'static>>,
}

/// One launch of a micro-kernel.
#[derive(Debug)]
pub struct CudaLaunch {
    /// The `extern "C"` name of the `__global__` function.
    pub symbol: &'static str,
    /// Threads in a block.
    pub threads: u32,
    /// Bytes of dynamic shared memory of a block.
    pub shared_bytes: u32,
    /// Blocks that cover the output at a shape; saturating.
    pub blocks: fn(shape: &[i64]) -> i64,
    /// Whether the grid is no larger than what the device holds at once, and the kernel strides over the rest.
    pub persistent: bool,
    /// The same kernel compiled for the emulated device.
    pub host: Option<HostEntry>,
}

/// Machine code and what it serves.
#[derive(Clone, Copy)]
pub struct CudaImage<'a> {
    /// A cubin or a fatbin.
    pub bytes: &'a [u8],
    /// The compute capabilities that it has machine code for.
    pub capabilities: &'a [(u32, u32)],
    /// The oldest compute capability that its PTX can be compiled for, if it has any.
    pub ptx: Option<(u32, u32)>,
}

/// A parameter of a launch on the emulated device.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct HostArg {
    /// Where its value stands.
    pub value: *mut c_void,
    /// If that is a pointer to a tensor, of how many bytes, beside which an access ends the launch; else 0.
    pub bytes: u64,
}

/// A kernel on the emulated device, as `DIETCODE_ENTRY` defines it: runs all blocks of a grid, and returns 0, or writes a
/// NUL-terminated sentence of at most `error_len` bytes to `error` and returns something else.
///
/// `args` are the parameters of the launch, as the table at the top of this module's file lists them.
pub type HostEntry = unsafe extern "C" fn(
    grid: u32,
    block: u32,
    shared_bytes: u64,
    args: *const HostArg,
    error: *mut c_char,
    error_len: u64,
) -> c_int;

impl CudaImage<'_> {
    /// Whether a device of this compute capability can run it.
    ///
    /// Machine code runs on its own capability and on later ones of the same major version; PTX is compiled by the driver for
    /// its own capability and every later one.
    pub fn serves(&self, capability: (u32, u32)) -> bool {
        let machine_code = |&(major, minor): &(u32, u32)| major == capability.0 && minor <= capability.1;
        self.capabilities.iter().any(machine_code) || self.ptx.is_some_and(|oldest| oldest <= capability)
    }
}

impl std::fmt::Debug for CudaImage<'_> {
    /// Without the bytes.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CudaImage")
            .field("len", &self.bytes.len())
            .field("capabilities", &self.capabilities)
            .field("ptx", &self.ptx)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::CudaImage;

    #[test]
    fn an_image_serves_its_capabilities_and_what_its_ptx_reaches() {
        let cubin = CudaImage { bytes: &[], capabilities: &[(8, 0), (9, 0)], ptx: None };
        let served = [(7, 5), (8, 0), (8, 6), (8, 9), (9, 0), (10, 0)].map(|capability| cubin.serves(capability));
        assert_eq!(served, [false, true, true, true, true, false]);
        let fatbin = CudaImage { ptx: Some((8, 6)), capabilities: &[], ..cubin };
        let served = [(8, 0), (8, 6), (8, 9), (9, 0), (12, 0)].map(|capability| fatbin.serves(capability));
        assert_eq!(served, [false, true, true, true, true]);
    }
}
