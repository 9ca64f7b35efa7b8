//! Memory that a tensor owns, on either kind of device.

use cudarc::driver::CudaSlice;

use super::device::Device;
use super::emulated::EmulatedBuffer;
use crate::runtime::Element;
use crate::{Error, Result};

/// Memory for a number of elements.
pub(super) enum Buffer<T> {
    Device(CudaSlice<T>),
    Emulated(EmulatedBuffer),
}

impl<T: Element> Buffer<T> {
    /// Fresh memory for `len` elements, whatever they are; an error if there is not enough.
    pub(super) fn new(device: &Device, len: usize) -> Result<Buffer<T>> {
        let bytes = len.checked_mul(size_of::<T>()).ok_or_else(|| too_large(device, len, size_of::<T>()))?;
        let Some(stream) = &device.stream else { return EmulatedBuffer::new(bytes).map(Buffer::Emulated) };
        if bytes as u64 > device.limits().memory_bytes {
            return Err(too_large(device, len, size_of::<T>()));
        }
        // SAFETY: any bytes make an `Element`. The driver allocates no empty memory, hence at least one element.
        let slice = unsafe { stream.alloc(len.max(1)) };
        device.told(&format!("cannot allocate {bytes} bytes of device memory"), slice).map(Buffer::Device)
    }

    /// Writes the first elements.
    pub(super) fn write(&mut self, device: &Device, data: &[T]) -> Result<()> {
        match (self, &device.stream) {
            (Buffer::Emulated(buffer), _) => buffer.elements_mut(data.len()).copy_from_slice(data),
            (Buffer::Device(_), _) if data.is_empty() => {}
            (Buffer::Device(slice), stream) => {
                let stream = stream.as_ref().unwrap_or(slice.stream()).clone();
                device.told("cannot be written to", stream.memcpy_htod(data, slice))?;
            }
        }
        Ok(())
    }

    /// Reads the first elements, once all that was launched before is done.
    pub(super) fn read(&self, device: &Device, data: &mut [T]) -> Result<()> {
        match self {
            Buffer::Emulated(buffer) => data.copy_from_slice(buffer.elements(data.len())),
            Buffer::Device(_) if data.is_empty() => {}
            Buffer::Device(slice) => {
                let stream = device.stream.as_ref().unwrap_or(slice.stream());
                device.told("cannot be read from", stream.memcpy_dtoh(&slice.slice(..data.len()), data))?;
                device.synchronize()?;
            }
        }
        Ok(())
    }
}

fn too_large(device: &Device, len: usize, bytes: usize) -> Error {
    let memory = device.limits().memory_bytes;
    Error::unavailable(format!(
        "{}: cannot allocate {len} elements of {bytes} bytes, there are {memory} bytes of device memory",
        device.context
    ))
}
