//! Where the elements of a call's tensor are.

use std::fmt;
use std::marker::PhantomData;

#[cfg(feature = "cuda")]
use super::devices::{context::Context, resident::Resident};

/// The memory of an argument.
pub(in crate::runtime) enum Memory<'a> {
    /// That of the program.
    Host(PhantomData<&'a ()>),
    /// That of a device.
    #[cfg(feature = "cuda")]
    Device(&'static Context, Resident<'a>),
}

impl Memory<'_> {
    pub(in crate::runtime) const HOST: Self = Memory::Host(PhantomData);

    /// Whether it is that of the program.
    pub(in crate::runtime) fn is_host(&self) -> bool {
        matches!(self, Memory::Host(_))
    }

    /// Whether both are on the same device, or both on none.
    pub(in crate::runtime) fn is_beside(&self, other: &Memory<'_>) -> bool {
        match (self, other) {
            (Memory::Host(_), Memory::Host(_)) => true,
            #[cfg(feature = "cuda")]
            (Memory::Device(a, _), Memory::Device(b, _)) => std::ptr::eq(*a, *b),
            #[cfg(feature = "cuda")]
            _ => false,
        }
    }
}

impl Memory<'_> {
    /// The same memory for a shorter time.
    pub(in crate::runtime) fn reborrow(&mut self) -> Memory<'_> {
        match self {
            Memory::Host(_) => Memory::HOST,
            #[cfg(feature = "cuda")]
            Memory::Device(context, resident) => Memory::Device(context, resident.reborrow()),
        }
    }
}

#[cfg(feature = "cuda")]
impl Memory<'_> {
    /// The same memory for reading.
    pub(in crate::runtime) fn shared(&self) -> Memory<'_> {
        match self {
            Memory::Host(_) => Memory::HOST,
            Memory::Device(context, resident) => Memory::Device(context, resident.shared()),
        }
    }
}

impl fmt::Display for Memory<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Memory::Host(_) => f.write_str("in host memory"),
            #[cfg(feature = "cuda")]
            Memory::Device(context, _) => write!(f, "on {context}"),
        }
    }
}
