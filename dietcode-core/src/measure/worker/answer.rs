//! What a worker does with a request, whatever it has to carry it out.

use super::trouble::Trouble;
use crate::measure::protocol::{Event, Request};
use crate::{Error, Result};

/// What carries out requests: the CPU that this process runs on, or a device that it has.
pub(in crate::measure) trait Worker {
    /// Carries out one. Events that go before the answer are sent by `tell`.
    fn answer(&mut self, request: &Request, tell: Tell<'_>) -> Result<Event, Trouble>;
}

/// Sends an event.
pub(in crate::measure) type Tell<'a> = &'a mut dyn FnMut(&Event) -> Result<()>;

/// That a request is not for such a worker.
pub(in crate::measure) fn misdirected(request: &Request) -> Trouble {
    Trouble::Machine(Error::failed(format!("a worker cannot carry this out: {request:?}")))
}
