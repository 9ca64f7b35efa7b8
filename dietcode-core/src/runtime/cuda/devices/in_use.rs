//! Memory that launches of a program's own use.

use cudarc::driver::SyncOnDrop;

use super::device::Device;
use crate::runtime::cuda::memory::Memory;

/// While it lives, memory is used on a stream. When it is dropped, other streams wait for what was launched on that one until then.
pub struct InUse<'a>(#[expect(dead_code, reason = "it is dropped")] Option<SyncOnDrop<'a>>);

impl<'a> InUse<'a> {
    /// Has the device's stream wait for the memory; nothing waits on the emulated one.
    pub(super) fn on(device: &'a Device, memory: &'a mut Memory<'_>) -> InUse<'a> {
        InUse(match (memory, &device.stream) {
            (Memory::Device(_, resident), Some(stream)) => resident.use_on(stream),
            (Memory::Host(_) | Memory::Device(..), _) => None,
        })
    }
}
