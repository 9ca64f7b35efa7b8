//! Device memory that the launches of a micro-kernel use between them: one buffer per stream, reused by every call.
//!
//! A stream carries out what is launched on it in order, so the next call may use the buffer as soon as its launches stand
//! behind those of the last one; the lock is held while they are put there. A buffer grows to the largest size that a
//! micro-kernel has asked for on its stream. It goes when the stream has no other owner, at the next stream's first use. A stream that a
//! program in another language has lent may end after the call, so that nothing is kept for it.

use std::ffi::c_void;
use std::sync::{Arc, Mutex};

use cudarc::driver::{CudaSlice, CudaStream, DevicePtrMut, sys};

use super::device::Device;
use super::emulated::EmulatedBuffer;
use crate::Result;
use crate::parallel::lock;

/// The buffers of a device.
#[derive(Default)]
pub(super) struct Workspaces {
    streams: Mutex<Vec<CudaSlice<u8>>>,
    emulated: Mutex<Option<EmulatedBuffer>>,
}

impl Workspaces {
    /// Runs `launches` with at least `bytes` of device memory, which nothing else uses between them; none are needed for 0. `is_lent`:
    /// whether the stream may end after the call.
    pub(super) fn with<R>(
        &self,
        device: &Device,
        (bytes, is_lent): (usize, bool),
        launches: impl FnOnce(*mut c_void) -> Result<R>,
    ) -> Result<R> {
        match &device.stream {
            _ if bytes == 0 => launches(std::ptr::null_mut()),
            None => self.with_emulated(bytes, launches),
            // The default stream is always there. That of each thread has one name, under which nothing may be kept.
            Some(stream) if stream.cu_stream() == PER_THREAD || (is_lent && !stream.cu_stream().is_null()) => {
                launches(address(stream, &mut allocate(device, stream, bytes)?))
            }
            Some(stream) => {
                let mut kept = lock(&self.streams);
                let at = find(&mut kept, device, stream, bytes)?;
                launches(address(stream, &mut kept[at]))
            }
        }
    }

    /// What an earlier call has left there must not matter, so none of it is left.
    fn with_emulated<R>(&self, bytes: usize, launches: impl FnOnce(*mut c_void) -> Result<R>) -> Result<R> {
        let mut kept = lock(&self.emulated);
        if kept.as_ref().is_none_or(|buffer| buffer.bytes() < bytes) {
            *kept = None;
            *kept = Some(EmulatedBuffer::new(bytes)?);
        }
        let buffer = kept.as_mut().expect("it was just made");
        buffer.poison();
        launches(buffer.as_mut_ptr())
    }
}

/// `CU_STREAM_PER_THREAD`.
const PER_THREAD: sys::CUstream = std::ptr::without_provenance_mut(2);

/// The position of the stream's buffer, once it is large enough.
fn find(kept: &mut Vec<CudaSlice<u8>>, device: &Device, stream: &Arc<CudaStream>, bytes: usize) -> Result<usize> {
    let place = kept.iter().position(|buffer| buffer.stream().cu_stream() == stream.cu_stream());
    match place {
        Some(at) if kept[at].len() >= bytes => return Ok(at),
        // The old buffer goes first, so that the two never exist together. The driver frees it in the order of the stream.
        Some(at) => drop(kept.swap_remove(at)),
        None => kept.retain(|buffer| Arc::strong_count(buffer.stream()) > 1),
    }
    kept.push(allocate(device, stream, bytes)?);
    Ok(kept.len() - 1)
}

fn allocate(device: &Device, stream: &Arc<CudaStream>, bytes: usize) -> Result<CudaSlice<u8>> {
    // SAFETY: any bytes are bytes.
    let buffer = unsafe { stream.alloc(bytes) };
    device.told(&format!("cannot allocate a workspace of {bytes} bytes of device memory"), buffer)
}

fn address(stream: &CudaStream, buffer: &mut CudaSlice<u8>) -> *mut c_void {
    let (address, _) = buffer.device_ptr_mut(stream);
    address as usize as *mut c_void
}
