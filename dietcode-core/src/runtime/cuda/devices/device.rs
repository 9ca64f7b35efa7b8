//! A device that tensors live on and kernels run on.

use std::fmt;
use std::sync::{Arc, OnceLock};

use cudarc::driver::{CudaContext, CudaStream, DriverError};
use libloading::Library;

use super::context::Context;
use super::failure;
use super::limits::Limits;
use crate::runtime::cuda::name::DeviceName;
use crate::runtime::cuda::table::CudaMicroKernel;
use crate::{Error, Result};

/// A CUDA device with one of its streams, or the emulated device.
///
/// A clone is the same device and stream.
///
/// ```
/// # use dietcode_core::runtime::{Tensor, cuda::{CudaTensor, Device}};
/// let device = Device::cuda_host();
/// let x = CudaTensor::upload(&device, &Tensor::from_fn(&[2, 3], |at| at as f32)?)?;
/// assert_eq!(x.download()?.as_slice(), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
/// # Ok::<(), dietcode_core::Error>(())
/// ```
#[derive(Clone)]
pub struct Device {
    pub(super) context: &'static Context,
    /// `None` on the emulated device, which has none: its kernels are done when a call returns.
    pub(super) stream: Option<Arc<CudaStream>>,
}

impl Device {
    /// The CUDA device of an ordinal, and its default stream.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Unavailable`] if NVIDIA's driver is not on this machine or finds no such device.
    ///
    /// ```
    /// # use dietcode_core::{ErrorKind, runtime::cuda::Device};
    /// let device = Device::cuda(0).or_else(|error| match error.kind() {
    ///     ErrorKind::Unavailable => Ok(Device::cuda_host()),
    ///     _ => Err(error),
    /// })?;
    /// println!("{device} has {} multiprocessors", device.limits().multiprocessors);
    /// # Ok::<(), dietcode_core::Error>(())
    /// ```
    pub fn cuda(ordinal: usize) -> Result<Device> {
        let devices = Device::count()?;
        if ordinal >= devices {
            return Err(Error::unavailable(format!(
                "there is no device {}: the driver finds {devices}, counted from cuda:0",
                DeviceName::Cuda(ordinal)
            )));
        }
        let context = CudaContext::new(ordinal)
            .map_err(|e| failure::of_driver(DeviceName::Cuda(ordinal), "cannot be opened", e))?;
        Device::from_stream(context.default_stream())
    }

    /// The device of a stream of the caller's. What is made on the device is made in the order of that stream.
    ///
    /// # Errors
    /// If the device cannot be asked what it is.
    pub fn from_stream(stream: Arc<CudaStream>) -> Result<Device> {
        Ok(Device { context: Context::of(stream.context())?, stream: Some(stream) })
    }

    /// The emulated device. It runs every kernel that was compiled for it, also those that need a newer device than others.
    pub fn cuda_host() -> Device {
        Device { context: Context::emulated(None), stream: None }
    }

    /// An emulated device of a compute capability: a kernel is dispatched, or refused, as on a real one. Each capability
    /// is a device of its own.
    pub fn cuda_host_like(capability: (u32, u32)) -> Device {
        Device { context: Context::emulated(Some(capability)), stream: None }
    }

    /// The device of a name.
    ///
    /// # Errors
    /// Those of [`Device::cuda`]; [`crate::ErrorKind::Input`] for `cpu`, which is no CUDA device: its tensors are
    /// [`Tensor`](crate::runtime::Tensor)s.
    pub fn open(name: DeviceName) -> Result<Device> {
        match name {
            DeviceName::Cpu => {
                Err(Error::input("`cpu` is not a CUDA device; name one (`cuda:0`) or the emulated one (`cuda-host`)"))
            }
            DeviceName::Cuda(ordinal) => Device::cuda(ordinal),
            DeviceName::CudaHost => Ok(Device::cuda_host()),
        }
    }

    /// How many CUDA devices the driver finds; it may be none.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Unavailable`] if NVIDIA's driver is not on this machine or cannot be started.
    pub fn count() -> Result<usize> {
        if !driver_is_present() {
            return Err(Error::unavailable(
                "there is no CUDA device: libcuda, which NVIDIA's driver installs, cannot be loaded on this machine; kernels \
                 that were compiled for it can run on the emulated device, `cuda-host`",
            ));
        }
        let unusable = |e: DriverError| Error::unavailable("NVIDIA's driver finds no device").caused_by(e);
        CudaContext::device_count().map(|count| usize::try_from(count).unwrap_or(0)).map_err(unusable)
    }

    /// Its name, as [`DeviceName`] reads it.
    pub fn name(&self) -> DeviceName {
        self.context.name
    }

    /// What its maker calls it.
    pub fn model(&self) -> &str {
        &self.context.model
    }

    /// Its compute capability, (8, 6) for sm_86.
    pub fn capability(&self) -> (u32, u32) {
        self.context.capability
    }

    /// What it can hold.
    pub fn limits(&self) -> Limits {
        self.context.limits
    }

    /// Its stream; `None` on the emulated device.
    pub fn stream(&self) -> Option<&Arc<CudaStream>> {
        self.stream.as_ref()
    }

    /// Waits until all that was launched on the stream is done.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Failed`] if a kernel has failed since the last error was reported.
    pub fn synchronize(&self) -> Result<()> {
        match &self.stream {
            Some(stream) => self.told("cannot wait for its kernels", stream.synchronize()),
            None => Ok(()),
        }
    }

    /// Whether a micro-kernel has code for it.
    pub(in crate::runtime) fn has_code(&self, micro_kernel: &CudaMicroKernel) -> bool {
        let serves = || micro_kernel.image.is_some_and(|image| image.serves(self.capability()));
        let is_emulated = || micro_kernel.launches.iter().all(|launch| launch.host.is_some());
        (!self.context.checks_images || serves()) && (self.stream.is_some() || is_emulated())
    }

    pub(super) fn told<T>(&self, what: &str, result: Result<T, DriverError>) -> Result<T> {
        result.map_err(|error| failure::of_device(self.context, what, error))
    }
}

/// Whether the driver's library can be loaded. `cudarc` panics where it cannot; it has a function that asks, but not in a
/// program that links the driver.
fn driver_is_present() -> bool {
    static PRESENT: OnceLock<bool> = OnceLock::new();
    let names = if cfg!(windows) { &["nvcuda.dll"][..] } else { &["libcuda.so.1", "libcuda.so"] };
    // SAFETY: the driver's library may be loaded at any time; `cudarc` loads it again and keeps it.
    *PRESENT.get_or_init(|| names.iter().any(|name| unsafe { Library::new(*name) }.is_ok()))
}

impl PartialEq for Device {
    /// Whether it is the same device, on whatever stream.
    fn eq(&self, other: &Device) -> bool {
        std::ptr::eq(self.context, other.context)
    }
}

impl Eq for Device {}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.context, self.context.model)
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (major, minor) = self.capability();
        write!(f, "Device {{ {self}, capability {major}.{minor} }}")
    }
}
