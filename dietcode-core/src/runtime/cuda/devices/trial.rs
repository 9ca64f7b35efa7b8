//! Memory for trials of a call's candidates, on the device of the call's tensors and in the order of its stream.

use std::ffi::c_void;
use std::sync::Arc;

use cudarc::driver::sys::CUstreamCaptureStatus;
use cudarc::driver::{DevicePtrMut, result};

use super::buffer::Buffer;
use super::call::stream;
use super::context::Context;
use super::device::Device;
use super::resident::Resident;
use crate::Result;
use crate::runtime::Arg;
use crate::runtime::arg::place;
use crate::runtime::cuda::memory::Memory;

/// Bytes in device memory, which are written and read as a whole.
pub(in crate::runtime) struct TrialMemory {
    device: Device,
    buffer: Buffer<u8>,
}

impl TrialMemory {
    /// Fresh memory, aligned to 64 bytes at least.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Unavailable`] if there is not so much.
    pub(in crate::runtime) fn new(device: &Device, bytes: usize) -> Result<TrialMemory> {
        Ok(TrialMemory { device: device.clone(), buffer: Buffer::new(device, bytes)? })
    }

    /// Where arguments find it, as memory whose uses the device's stream orders.
    pub(in crate::runtime) fn place(&mut self) -> (*mut c_void, Memory<'static>) {
        match (&mut self.buffer, &self.device.stream) {
            (Buffer::Device(slice), Some(stream)) => {
                let (address, _) = slice.device_ptr_mut(stream);
                let memory = Memory::Device(self.device.context, Resident::Ordered(Arc::clone(stream)));
                (address as usize as *mut c_void, memory)
            }
            (Buffer::Emulated(buffer), _) => {
                (buffer.as_mut_ptr(), Memory::Device(self.device.context, Resident::Emulated))
            }
            (Buffer::Device(_), None) => unreachable!("only the emulated device has no stream, and no such memory"),
        }
    }

    /// Writes all of it, behind what was launched before.
    ///
    /// # Errors
    /// If the device refuses it.
    pub(in crate::runtime) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.buffer.write(&self.device, bytes)
    }

    /// Reads all of it, once what was launched before has ended.
    ///
    /// # Errors
    /// If that has failed.
    pub(in crate::runtime) fn read(&self, bytes: &mut [u8]) -> Result<()> {
        self.buffer.read(&self.device, bytes)
    }
}

impl Drop for TrialMemory {
    /// The driver frees memory of the context that the thread has.
    fn drop(&mut self) {
        if let Some(stream) = &self.device.stream {
            // Where that fails, so does freeing, of which nobody is left to be told.
            let _ = stream.context().bind_to_thread();
        }
    }
}

/// The device of checked arguments, with the stream on which they are launched; none in host memory.
pub(in crate::runtime) fn device_of(args: &[Arg<'_>]) -> Option<Device> {
    context_of(args).map(|context| Device { context, stream: stream(args) })
}

/// What is kept of that device.
pub(in crate::runtime) fn context_of(args: &[Arg<'_>]) -> Option<&'static Context> {
    match place(args)? {
        Memory::Device(context, _) => Some(context),
        Memory::Host(_) => None,
    }
}

impl Device {
    /// Whether the stream records what is launched for a graph, so that nothing of it runs now and nobody may wait for it.
    pub(in crate::runtime) fn is_capturing(&self) -> bool {
        let Some(stream) = &self.stream else { return false };
        let status = stream.context().bind_to_thread().and_then(|()| {
            // SAFETY: the stream is there as long as the device is.
            unsafe { result::stream::is_capturing(stream.cu_stream()) }
        });
        // An error of the default stream says that another one records what may not be disturbed.
        !status.is_ok_and(|status| status == CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE)
    }

    /// Whether it is the same device with the same stream.
    pub(in crate::runtime) fn is_same_stream(&self, other: &Device) -> bool {
        let handle = |device: &Device| device.stream.as_ref().map(|stream| stream.cu_stream());
        self == other && handle(self) == handle(other)
    }
}
