//! A call of a kernel whose tensors are on a device.

use std::sync::Arc;

use cudarc::driver::CudaStream;

use super::context::Context;
use super::device::Device;
use super::launch::{Extent, launch};
use super::loaded::LoadedKernel;
use crate::runtime::Arg;
use crate::runtime::cuda::memory::Memory;
use crate::runtime::cuda::table::{CudaMicroKernel, CudaTableSource};
use crate::{Error, Result};

/// Launches the micro-kernel that serves a shape, on the stream of the output.
///
/// # Safety
/// The arguments are those of the kernel `name`, all on the device of `context`, and everything about them was checked.
pub(in crate::runtime) unsafe fn call(
    name: &str,
    source: &'static CudaTableSource,
    context: &'static Context,
    shape: &[i64],
    args: &mut [Arg<'_>],
) -> Result<()> {
    let micro_kernel = row(name, source, shape, context.capability)?;
    let device = Device { context, stream: stream(args) };
    // SAFETY: as the caller vouches; the build script vouches for the table.
    unsafe { run(name, micro_kernel, &device, shape, args) }
}

/// Launches a micro-kernel on a device's stream, that of the output.
///
/// # Safety
/// As for [`call`], and the micro-kernel is one of that kernel.
pub(in crate::runtime) unsafe fn run(
    name: &str,
    micro_kernel: &'static CudaMicroKernel,
    device: &Device,
    shape: &[i64],
    args: &mut [Arg<'_>],
) -> Result<()> {
    let kernel = LoadedKernel::cached(device, name, micro_kernel)?;
    let blocks: Vec<i64> = micro_kernel.launches.iter().map(|launch| (launch.blocks)(shape)).collect();
    let workspace_bytes = (micro_kernel.workspace_bytes)(shape);
    // SAFETY: as the caller vouches.
    unsafe { launch(device, &kernel, Extent { shape, blocks: &blocks, workspace_bytes }, args) }
}

/// The row of a kernel's table that serves a shape.
pub(in crate::runtime) fn row(
    name: &str,
    source: &'static CudaTableSource,
    shape: &[i64],
    capability: (u32, u32),
) -> Result<&'static CudaMicroKernel> {
    let table = match source {
        CudaTableSource::Linked(table) => table,
        CudaTableSource::Skipped(why) => {
            return Err(Error::unavailable(format!("{name}: there is no CUDA code: {why}")));
        }
    };
    let row = (table.dispatch)(shape, capability);
    table.micro_kernels.get(row).ok_or_else(|| {
        let rows = table.micro_kernels.len();
        Error::failed(format!("{name}: there is no CUDA micro-kernel {row}, there are {rows}"))
    })
}

/// That of the output, or else of an input; none on the emulated device.
pub(super) fn stream(args: &[Arg<'_>]) -> Option<Arc<CudaStream>> {
    let outputs_first = args.iter().filter(|arg| arg.is_mutable()).chain(args);
    let mut memories = outputs_first.map(Arg::memory);
    memories.find_map(|memory| if let Memory::Device(_, resident) = memory { resident.stream().cloned() } else { None })
}
