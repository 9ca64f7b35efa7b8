//! What must be kept, and waited for, while a kernel uses device memory. The type of the elements does not matter to it.

use std::sync::Arc;

use cudarc::driver::{CudaStream, CudaView, CudaViewMut, DevicePtr, DevicePtrMut, DeviceSlice, SyncOnDrop};

/// Device memory of an argument.
pub(in crate::runtime) enum Resident<'a> {
    /// Emulated memory: kernels are done when a call returns, and nothing is waited for.
    Emulated,
    /// An input.
    Read(CudaView<'a, u8>),
    /// An output.
    Write(CudaViewMut<'a, u8>),
    /// Memory of a program in another language, which orders all uses of it by this stream, its own too. The stream may end after the call.
    Lent(Arc<CudaStream>),
    /// Memory all uses of which are ordered by this stream, which stays.
    Ordered(Arc<CudaStream>),
}

impl Resident<'_> {
    /// The same memory for reading.
    pub(in crate::runtime) fn shared(&self) -> Resident<'_> {
        match self {
            Resident::Emulated => Resident::Emulated,
            Resident::Read(view) => Resident::Read(view.slice(..)),
            Resident::Write(view) => Resident::Read(view.slice(..)),
            Resident::Lent(stream) => Resident::Lent(Arc::clone(stream)),
            Resident::Ordered(stream) => Resident::Ordered(Arc::clone(stream)),
        }
    }

    /// The same memory for a shorter time.
    pub(in crate::runtime) fn reborrow(&mut self) -> Resident<'_> {
        match self {
            Resident::Emulated => Resident::Emulated,
            Resident::Read(view) => Resident::Read(view.slice(..)),
            Resident::Write(view) => Resident::Write(view.slice_mut(..)),
            Resident::Lent(stream) => Resident::Lent(Arc::clone(stream)),
            Resident::Ordered(stream) => Resident::Ordered(Arc::clone(stream)),
        }
    }

    /// The stream that it was made on.
    pub(super) fn stream(&self) -> Option<&Arc<CudaStream>> {
        match self {
            Resident::Emulated => None,
            Resident::Read(view) => Some(view.stream()),
            Resident::Write(view) => Some(view.stream()),
            Resident::Lent(stream) | Resident::Ordered(stream) => Some(stream),
        }
    }

    /// Makes a stream wait until the memory may be used. What is returned, when dropped, lets others wait for that use.
    pub(super) fn use_on<'s>(&'s mut self, stream: &'s CudaStream) -> Option<SyncOnDrop<'s>> {
        match self {
            Resident::Emulated | Resident::Lent(_) | Resident::Ordered(_) => None,
            Resident::Read(view) => Some(view.device_ptr(stream).1),
            Resident::Write(view) => Some(view.device_ptr_mut(stream).1),
        }
    }
}
