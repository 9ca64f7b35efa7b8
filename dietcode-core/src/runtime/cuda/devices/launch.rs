//! Launches a micro-kernel: grids, workspace, parameters, in the order of one stream.

use std::ffi::{CStr, c_char, c_void};

use cudarc::driver::{CudaFunction, CudaStream, SyncOnDrop, result};

use super::device::Device;
use super::failure;
use super::loaded::{Code, Loaded, LoadedKernel, MostBlocks};
use super::params::{MOST, Params};
use super::resident::Resident;
use crate::parallel::lock;
use crate::runtime::Arg;
use crate::runtime::cuda::memory::Memory;
use crate::runtime::cuda::table::{HostArg, HostEntry};
use crate::{Error, ErrorKind, Result};

/// How many tiles the blocks of a persistent kernel can count: an int.
const COUNTED: u32 = i32::MAX as u32;

/// What a shape makes of a micro-kernel.
#[derive(Clone, Copy, Debug)]
pub struct Extent<'a> {
    /// The shape variables in declaration order.
    pub shape: &'a [i64],
    /// For each launch, the blocks that cover the output.
    pub blocks: &'a [i64],
    /// Bytes of workspace.
    pub workspace_bytes: i64,
}

/// Launches a micro-kernel on a device's stream, after all that was launched there before. It may still run when this
/// returns; on the emulated device it does not.
///
/// Inputs that other streams have written, and an output that they use, are waited for as far as the driver's slices keep
/// track of that.
///
/// # Safety
/// The arguments are those of the kernel, in order, on this device; every element that the micro-kernel touches at that shape
/// exists, and the output is apart from all inputs.
///
/// # Errors
/// [`ErrorKind::Input`] if a shape variable, a tensor's extent or a grid is larger than the device takes, or the kernel is of another device;
/// [`ErrorKind::Unavailable`] if there is no memory for the workspace; [`ErrorKind::Failed`] if a launch fails, or, on the
/// emulated device, the kernel: then the output is of any value.
pub unsafe fn launch(device: &Device, kernel: &LoadedKernel, extent: Extent<'_>, args: &mut [Arg<'_>]) -> Result<()> {
    let launching = Launching { device, kernel, shape: extent.shape };
    let grids = launching.grids(extent.blocks)?;
    launching.check_extents(args)?;
    let mut params = Params::new(args, extent.shape).map_err(|(var, value)| launching.too_long(var, value))?;
    let is_lent = args.iter().any(|arg| matches!(arg.memory(), Memory::Device(_, Resident::Lent(_))));
    let _uses = device.stream.as_ref().map(|stream| launching.wait(stream, args)).transpose()?;
    let bytes = usize::try_from(extent.workspace_bytes).unwrap_or(0);
    device.context.workspaces.with(device, (bytes, is_lent), |workspace| {
        if kernel.uses_workspace {
            params.set_workspace(workspace, bytes);
        }
        let params = params.launched();
        let mut carried_out = kernel.launches.iter().zip(grids).filter(|(_, grid)| *grid > 0);
        // SAFETY: as the caller vouches; the parameters are those that `table` states.
        carried_out.try_for_each(|(launch, grid)| unsafe { launching.one(launch, grid, &params) })
    })
}

/// What every step needs, and names in its errors.
struct Launching<'a> {
    device: &'a Device,
    kernel: &'a LoadedKernel,
    shape: &'a [i64],
}

impl Launching<'_> {
    /// The grids of all launches; all are checked before the first one writes anything.
    fn grids(&self, blocks: &[i64]) -> Result<Vec<u32>> {
        if !std::ptr::eq(self.device.context, self.kernel.context) || blocks.len() != self.kernel.launches.len() {
            return Err(self.error(
                ErrorKind::Input,
                &format!(
                    "it was loaded on {} with {} launches, not for this device and {} grids",
                    self.kernel.context,
                    self.kernel.launches.len(),
                    blocks.len()
                ),
            ));
        }
        let grids = self.kernel.launches.iter().zip(blocks);
        grids.map(|(launch, blocks)| self.grid(launch.most_blocks, (*blocks).max(0).unsigned_abs())).collect()
    }

    fn grid(&self, most: MostBlocks, blocks: u64) -> Result<u32> {
        match (most, u32::try_from(blocks)) {
            (MostBlocks::Persistent(most), Ok(blocks)) if blocks <= COUNTED => Ok(blocks.min(most)),
            (MostBlocks::Persistent(_), _) => {
                let message = format!("it would count {blocks} tiles, but a kernel counts at most {COUNTED}");
                Err(self.error(ErrorKind::Input, &message))
            }
            (MostBlocks::Limit(most), Ok(blocks)) if blocks <= most => Ok(blocks),
            (MostBlocks::Limit(most), _) => {
                let message = format!("it needs a grid of {blocks} blocks, but the device takes at most {most}");
                Err(self.error(ErrorKind::Input, &message))
            }
        }
    }

    /// Loops may be longer than any shape variable, but not than a tensor that they move along.
    fn check_extents(&self, args: &[Arg<'_>]) -> Result<()> {
        let extents = args.iter().enumerate().flat_map(|(n, arg)| arg.shape().iter().map(move |extent| (n, *extent)));
        match extents.into_iter().find(|(_, extent)| i64::try_from(*extent).map_or(true, |extent| extent > MOST)) {
            None => Ok(()),
            Some((n, extent)) => {
                let message =
                    format!("argument {n} has an extent of {extent}; on CUDA devices it can be at most {MOST}");
                Err(self.error(ErrorKind::Input, &message))
            }
        }
    }

    /// Makes the stream wait for what the arguments wait for. What is returned, when dropped, lets others wait for the launch.
    fn wait<'a>(&self, stream: &'a CudaStream, args: &'a mut [Arg<'_>]) -> Result<Vec<SyncOnDrop<'a>>> {
        let bound = stream.context().bind_to_thread();
        self.device.told("cannot be used from this thread", bound)?;
        let uses = args.iter_mut().filter_map(|arg| match arg.memory_mut() {
            Memory::Host(_) => None,
            Memory::Device(_, resident) => resident.use_on(stream),
        });
        Ok(uses.collect())
    }

    /// # Safety
    /// As for [`launch`].
    unsafe fn one(&self, launch: &Loaded, grid: u32, params: &[HostArg]) -> Result<()> {
        match (&launch.code, &self.device.stream) {
            // SAFETY: as the caller vouches.
            (Code::Device(function), Some(stream)) => unsafe { self.on_stream(stream, function, launch, grid, params) },
            // SAFETY: as the caller vouches.
            (Code::Emulated(entry), _) => unsafe { self.emulated(*entry, launch, grid, params) },
            (Code::Device(_), None) => {
                unreachable!("only the emulated device has no stream, and it loads no functions")
            }
        }
    }

    /// # Safety
    /// As for [`launch`].
    unsafe fn on_stream(
        &self,
        stream: &CudaStream,
        function: &CudaFunction,
        launch: &Loaded,
        grid: u32,
        params: &[HostArg],
    ) -> Result<()> {
        let (function, shared) = (function.cu_function(), launch.shared_bytes);
        let (grid, block) = ((grid, 1, 1), (launch.threads, 1, 1));
        let mut values: Vec<*mut c_void> = params.iter().map(|param| param.value).collect();
        // SAFETY: as the caller vouches; the driver only reads the parameters.
        let launched = unsafe { result::launch_kernel(function, grid, block, shared, stream.cu_stream(), &mut values) };
        launched.map_err(|error| {
            failure::of_device(self.device.context, &format!("cannot launch {}", self.kernel.name), error)
        })?;
        let mut last = lock(&self.device.context.last_launch);
        if last.as_ref() != Some(&self.kernel.name) {
            *last = Some(self.kernel.name.clone());
        }
        Ok(())
    }

    /// # Safety
    /// As for [`launch`].
    unsafe fn emulated(&self, entry: HostEntry, launch: &Loaded, grid: u32, params: &[HostArg]) -> Result<()> {
        let mut sentence = [0 as c_char; 1024];
        let (shared, len) = (u64::from(launch.shared_bytes), sentence.len() as u64);
        // SAFETY: as the caller vouches; an entry only reads the parameters.
        let status = unsafe { entry(grid, launch.threads, shared, params.as_ptr(), sentence.as_mut_ptr(), len) };
        if status == 0 {
            return Ok(());
        }
        sentence[sentence.len() - 1] = 0;
        // SAFETY: the last byte is a NUL, if no other is.
        let sentence = unsafe { CStr::from_ptr(sentence.as_ptr()) };
        Err(self.error(ErrorKind::Failed, &sentence.to_string_lossy()))
    }

    fn too_long(&self, var: usize, value: i64) -> Error {
        let message = format!("shape variable {var} is {value}; on CUDA devices it can be at most {MOST}");
        self.error(ErrorKind::Input, &message)
    }

    #[cold]
    fn error(&self, kind: ErrorKind, message: &str) -> Error {
        Error::new(kind, format!("{} on {}, shape {:?}: {message}", self.kernel.name, self.device.context, self.shape))
    }
}
