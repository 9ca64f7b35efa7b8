//! A micro-kernel on a device: its image loaded, its kernels found, their limits checked. It is loaded once per device.

use std::sync::Arc;

use cudarc::driver::sys::{CUfunction_attribute as Attribute, CUresult};
use cudarc::driver::{CudaContext, CudaFunction, CudaModule, DriverError};
use cudarc::nvrtc::Ptx;

use super::context::Context;
use super::device::Device;
use super::emulated;
use crate::parallel::lock;
use crate::runtime::cuda::table::{CudaImage, CudaLaunch, CudaMicroKernel, HostEntry};
use crate::{Error, Result};

/// A micro-kernel that can be launched on one device.
pub struct LoadedKernel {
    pub(super) name: String,
    pub(super) context: &'static Context,
    pub(super) uses_workspace: bool,
    pub(super) launches: Vec<Loaded>,
}

/// What a micro-kernel is made of, but for the functions of its shape: those are values when it is launched.
#[derive(Clone, Debug)]
pub struct KernelParts<'a> {
    /// Its name, for messages.
    pub name: &'a str,
    /// Its machine code; not needed on the emulated device.
    pub image: Option<CudaImage<'a>>,
    /// Whether its launches take a workspace pointer.
    pub uses_workspace: bool,
    /// Its launches, in order.
    pub launches: &'a [LaunchParts<'a>],
}

/// What a launch is made of, but for its grid. The fields are those of [`CudaLaunch`].
#[derive(Clone, Copy, Debug)]
pub struct LaunchParts<'a> {
    /// The `extern "C"` name of the `__global__` function.
    pub symbol: &'a str,
    /// Threads in a block.
    pub threads: u32,
    /// Bytes of dynamic shared memory of a block.
    pub shared_bytes: u32,
    /// Whether the grid is no larger than what the device holds at once.
    pub persistent: bool,
    /// The same kernel compiled for the emulated device; not needed on others.
    pub host: Option<HostEntry>,
}

/// One launch, but for its grid.
pub(super) struct Loaded {
    pub(super) code: Code,
    pub(super) threads: u32,
    pub(super) shared_bytes: u32,
    /// The largest grid.
    pub(super) most_blocks: MostBlocks,
}

pub(super) enum Code {
    Device(CudaFunction),
    Emulated(HostEntry),
}

/// What happens to a grid that is larger.
#[derive(Clone, Copy)]
pub(super) enum MostBlocks {
    /// It is an error: the device takes no more.
    Limit(u32),
    /// It is cut down, and the kernel strides over the rest.
    Persistent(u32),
}

impl LoadedKernel {
    /// Loads a micro-kernel. It stays loaded as long as the value lives.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Unavailable`] if there is no code for the device, naming what there is and what the device is, or if it
    /// asks for more threads or shared memory than the device has; [`crate::ErrorKind::Failed`] if the image is not one or does
    /// not have a kernel.
    pub fn load(device: &Device, parts: &KernelParts<'_>) -> Result<LoadedKernel> {
        let loading = Loading { context: device.context, kernel: parts.name };
        if device.context.checks_images {
            loading.check_capability(parts.image.as_ref())?;
        }
        let launches = match &device.context.driver {
            None => parts.launches.iter().map(|launch| loading.emulated(launch)).collect::<Result<_>>()?,
            Some(driver) => {
                let module = loading.module(driver, parts.image.as_ref())?;
                parts.launches.iter().map(|launch| loading.function(&module, launch)).collect::<Result<_>>()?
            }
        };
        let (name, uses_workspace) = (parts.name.to_owned(), parts.uses_workspace);
        Ok(LoadedKernel { name, context: device.context, uses_workspace, launches })
    }

    /// A row of a kernel's table, loaded at its first use on the device.
    ///
    /// # Errors
    /// As [`LoadedKernel::load`].
    pub fn cached(device: &Device, kernel: &str, micro_kernel: &'static CudaMicroKernel) -> Result<Arc<LoadedKernel>> {
        let key = std::ptr::from_ref(micro_kernel).addr();
        // The lock is held while it is loaded, so that it is loaded once.
        let mut loaded = lock(&device.context.loaded);
        if let Some(kernel) = loaded.get(&key) {
            return Ok(Arc::clone(kernel));
        }
        let launches: Vec<_> = micro_kernel.launches.iter().map(LaunchParts::from).collect();
        let name = format!("{kernel}: micro-kernel `{}`", micro_kernel.name);
        let CudaMicroKernel { image, uses_workspace, .. } = *micro_kernel;
        let parts = KernelParts { name: &name, image, uses_workspace, launches: &launches };
        let kernel = Arc::new(LoadedKernel::load(device, &parts)?);
        loaded.insert(key, Arc::clone(&kernel));
        Ok(kernel)
    }
}

impl<'a> From<&'a CudaLaunch> for LaunchParts<'a> {
    fn from(launch: &'a CudaLaunch) -> Self {
        let CudaLaunch { symbol, threads, shared_bytes, persistent, host, .. } = *launch;
        LaunchParts { symbol, threads, shared_bytes, persistent, host }
    }
}

/// What every step names in its errors.
struct Loading<'a> {
    context: &'static Context,
    kernel: &'a str,
}

impl Loading<'_> {
    fn check_capability(&self, image: Option<&CudaImage<'_>>) -> Result<()> {
        let (major, minor) = self.context.capability;
        let found = match image {
            Some(image) if image.serves((major, minor)) => return Ok(()),
            Some(image) => format!("its code is for {}", capabilities(image)),
            None => "it was compiled for the emulated device alone, for want of nvcc or because no other was named"
                .to_owned(),
        };
        Err(self.unavailable(&format!(
            "{found}, but the device is of compute capability {major}.{minor}; name it in the config's `targets.cuda`, or in \
             `.cuda([…])` in build.rs, and build again with nvcc"
        )))
    }

    fn emulated(&self, launch: &LaunchParts<'_>) -> Result<Loaded> {
        self.check_block(launch, 0)?;
        let Some(entry) = launch.host else {
            return Err(self.unavailable(&format!(
                "`{}` was not compiled for the emulated device; add `.cuda_host()` in build.rs and build again",
                launch.symbol
            )));
        };
        Ok(self.loaded(launch, Code::Emulated(entry), emulated::RESIDENT_BLOCKS))
    }

    fn module(&self, driver: &Arc<CudaContext>, image: Option<&CudaImage<'_>>) -> Result<Arc<CudaModule>> {
        let bytes = image.expect("the capability was checked, so there is an image").bytes;
        let loaded = driver.load_module(Ptx::from_binary(bytes.to_vec()));
        loaded.map_err(|error| self.failed("its image cannot be loaded", error))
    }

    fn function(&self, module: &Arc<CudaModule>, launch: &LaunchParts<'_>) -> Result<Loaded> {
        let symbol = launch.symbol;
        let function = module.load_function(symbol).map_err(|error| match error.0 {
            CUresult::CUDA_ERROR_NOT_FOUND => self.failed(&format!("its image has no kernel `{symbol}`"), error),
            _ => self.failed(&format!("its kernel `{symbol}` cannot be found"), error),
        })?;
        let asked = |what: &str, error| self.failed(&format!("its kernel `{symbol}` {what}"), error);
        let fixed = function.shared_size_bytes().map_err(|error| asked("cannot be asked", error))?;
        self.check_block(launch, u32::try_from(fixed).unwrap_or(0))?;
        // Without being asked for, there is no more than 48 KiB.
        let shared = i32::try_from(launch.shared_bytes).unwrap_or(i32::MAX);
        function
            .set_attribute(Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, shared)
            .map_err(|error| asked("cannot have its shared memory", error))?;
        let resident = function
            .occupancy_max_active_blocks_per_multiprocessor(launch.threads, launch.shared_bytes as usize, None)
            .map_err(|error| asked("cannot be asked for its occupancy", error))?;
        if resident == 0 {
            return Err(self.unavailable(&format!(
                "a block of its kernel `{symbol}`, of {} threads, does not fit a multiprocessor",
                launch.threads
            )));
        }
        Ok(self.loaded(launch, Code::Device(function), resident))
    }

    fn check_block(&self, launch: &LaunchParts<'_>, fixed: u32) -> Result<()> {
        let limits = self.context.limits;
        let shared = launch.shared_bytes.saturating_add(fixed);
        for (asked, limit, what) in [
            (launch.threads, limits.max_threads, "threads"),
            (shared, limits.max_shared_bytes, "bytes of shared memory"),
        ] {
            if asked > limit {
                return Err(self.unavailable(&format!(
                    "a block of its kernel `{}` needs {asked} {what}, but the device has {limit}",
                    launch.symbol
                )));
            }
        }
        Ok(())
    }

    fn loaded(&self, launch: &LaunchParts<'_>, code: Code, resident: u32) -> Loaded {
        let limits = self.context.limits;
        let most_blocks = match launch.persistent {
            true => MostBlocks::Persistent(limits.multiprocessors.saturating_mul(resident).min(limits.max_blocks)),
            false => MostBlocks::Limit(limits.max_blocks),
        };
        Loaded { code, threads: launch.threads, shared_bytes: launch.shared_bytes, most_blocks }
    }

    fn unavailable(&self, message: &str) -> Error {
        Error::unavailable(format!("{} on {}: {message}", self.kernel, self.context))
    }

    fn failed(&self, message: &str, error: DriverError) -> Error {
        Error::failed(format!("{} on {}: {message}", self.kernel, self.context)).caused_by(error)
    }
}

/// "8.0 and 9.0", "8.0, and as PTX for 9.0 and later".
fn capabilities(image: &CudaImage<'_>) -> String {
    let numbers: Vec<String> = image.capabilities.iter().map(|(major, minor)| format!("{major}.{minor}")).collect();
    let machine_code = numbers.join(" and ");
    match image.ptx {
        None if machine_code.is_empty() => "no device".to_owned(),
        None => machine_code,
        Some((major, minor)) if machine_code.is_empty() => format!("{major}.{minor} and later, as PTX"),
        Some((major, minor)) => format!("{machine_code}, and, as PTX, {major}.{minor} and later"),
    }
}
