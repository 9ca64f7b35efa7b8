//! A device as a program in another language knows it: by its number, a stream's handle, and addresses.

use std::ffi::{c_int, c_void};
use std::sync::Arc;

use cudarc::driver::sys::{self, CUcontext, CUpointer_attribute, CUresult};
use cudarc::driver::{CudaStream, DriverError, result};

use super::context::Context;
use super::device::Device;
use super::failure;
use super::resident::Resident;
use crate::abi::CUDA_HOST;
use crate::runtime::cuda::memory::Memory;
use crate::{Error, Result};

/// Where the tensors of a call are, and on which stream it is launched. When it goes, the thread has the driver's context that it had.
pub(in crate::runtime) struct Lent {
    context: &'static Context,
    /// `None` on the emulated device.
    stream: Option<Arc<CudaStream>>,
    _current: Option<Current>,
}

impl Lent {
    /// The device of a number, as the driver counts them, or [`CUDA_HOST`], and one of its streams by the driver's handle; null: the default
    /// stream.
    ///
    /// # Safety
    /// The stream is one of the device's primary context, and stays as long as the value.
    ///
    /// # Errors
    /// Those of [`Device::cuda`]; [`crate::ErrorKind::Input`] of other negative numbers, and of a stream of the emulated device.
    pub(in crate::runtime) unsafe fn new(device: c_int, stream: *mut c_void) -> Result<Lent> {
        if device == CUDA_HOST {
            return match stream.is_null() {
                true => Ok(Lent { context: Context::emulated(None), stream: None, _current: None }),
                false => {
                    Err(Error::input(format!("found the stream {stream:p}, but cuda-host has none: expected NULL")))
                }
            };
        }
        let ordinal = usize::try_from(device).map_err(|_| {
            let expected = format!("expected 0 or more, or {CUDA_HOST}, the emulated one");
            Error::input(format!("there is no device {device}: {expected}"))
        })?;
        let known = Context::primary(ordinal);
        if known.is_none() {
            // The driver is loaded, or is not there.
            Device::count()?;
        }
        let current = Current::keep();
        let context = known.map_or_else(|| Device::cuda(ordinal).map(|device| device.context), Ok)?;
        let driver = context.driver.as_ref().expect("it is not the emulated device");
        // SAFETY: as the caller vouches.
        let stream = unsafe { driver.wrap_borrowed_stream(stream.cast()) };
        Ok(Lent { context, stream: Some(stream), _current: Some(current) })
    }

    /// Memory there.
    pub(in crate::runtime) fn memory(&self) -> Memory<'static> {
        let resident = self.stream.clone().map_or(Resident::Emulated, Resident::Lent);
        Memory::Device(self.context, resident)
    }

    /// Whether there is memory of the device at an address. What is not would end the driver's context.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Input`] with what was found.
    pub(in crate::runtime) fn check(&self, data: *const c_void) -> Result<()> {
        if self.stream.is_none() {
            return Ok(());
        }
        let (mut ordinal, attribute) = (-1, CUpointer_attribute::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
        let place: *mut c_int = &mut ordinal;
        // SAFETY: the value of this attribute is an int, and an address is asked about only.
        let asked = unsafe { sys::cuPointerGetAttribute(place.cast(), attribute, data.addr() as u64) }.result();
        let found = match asked {
            Ok(()) if usize::try_from(ordinal).is_ok_and(|ordinal| Some(ordinal) == self.ordinal()) => return Ok(()),
            Ok(()) => format!("found memory of cuda:{ordinal}"),
            Err(DriverError(CUresult::CUDA_ERROR_INVALID_VALUE)) => {
                format!("found the address {data:p}, where the driver knows of no memory")
            }
            Err(error) => return Err(failure::of_device(self.context, "cannot be asked about an address", error)),
        };
        Err(Error::input(format!("{found}, expected memory of {}", self.context)))
    }

    fn ordinal(&self) -> Option<usize> {
        self.context.driver.as_ref().map(|driver| driver.ordinal())
    }
}

/// The driver's context that a thread had.
struct Current(Option<CUcontext>);

impl Current {
    /// The driver is there.
    fn keep() -> Current {
        Current(result::ctx::get_current().ok().flatten())
    }
}

impl Drop for Current {
    fn drop(&mut self) {
        let kept = self.0.unwrap_or(std::ptr::null_mut());
        // SAFETY: it was current; one that is gone since is an error, of which nobody is left to be told.
        let _ = unsafe { sys::cuCtxSetCurrent(kept) }.result();
    }
}
