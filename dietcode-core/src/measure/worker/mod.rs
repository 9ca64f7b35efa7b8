//! The process in which candidates run: it may crash, hang or be killed, and only the candidate is lost.

mod answer;
mod callable;
mod cpu;
mod elements;
mod eviction;
mod expected;
mod foreign;
mod guarded;
mod library;
mod prepared;
mod rotation;
mod rounds;
mod tensors;
mod trouble;

use std::io::{BufRead, Write};

pub(super) use answer::{Tell, Worker, misdirected};
pub(super) use prepared::{Keep, Kept};
pub(super) use rotation::sets;
pub(super) use trouble::Trouble;

use super::cuda::{CudaDevice, DeviceWorker};
use super::protocol::{Event, Request, VERSION};
use super::{Linked, NothingLinked};
use crate::{Error, ErrorKind, Result};

/// Carries out requests until `input` ends: on a device, or else on the CPU. Each is one line of JSON, and so is each event.
///
/// # Errors
///
/// If `input` or `output` breaks, or a line is not a request. What a request asks for never is an error here.
pub fn serve(device: Option<CudaDevice>, input: impl BufRead, output: impl Write) -> Result<()> {
    serve_linked(device, &NothingLinked, input, output)
}

/// The same for a program that micro-kernels are linked into.
///
/// # Errors
///
/// As [`serve`].
pub fn serve_linked(
    device: Option<CudaDevice>,
    linked: &dyn Linked,
    input: impl BufRead,
    mut output: impl Write,
) -> Result<()> {
    leave_no_core();
    let mut worker: Box<dyn Worker + '_> = match device {
        None => Box::new(cpu::CpuWorker::new(linked)),
        Some(device) => match DeviceWorker::open(device, linked) {
            Ok(worker) => Box::new(worker),
            Err(error) => Box::new(Absent(error)),
        },
    };
    let mut tell = |event: &Event| {
        let mut line = serde_json::to_string(event).map_err(|e| broken(&e))?;
        line.push('\n');
        output.write_all(line.as_bytes()).and_then(|()| output.flush()).map_err(|e| broken(&e))
    };
    tell(&Event::Ready { version: VERSION })?;
    for line in input.lines() {
        let line = line.map_err(|e| broken(&e))?;
        let request = serde_json::from_str(&line).map_err(|e| Error::input("not a request").caused_by(e))?;
        let answer = worker.answer(&request, &mut tell).unwrap_or_else(|trouble| match trouble {
            Trouble::Failed(failure) | Trouble::Lost(failure) => Event::Lost(None, failure),
            Trouble::Machine(error) => refusal(&error),
        });
        tell(&answer)?;
        if matches!(answer, Event::Lost(..)) {
            break;
        }
    }
    Ok(())
}

/// A device that cannot be opened: each request is answered with the reason.
struct Absent(Error);

impl Worker for Absent {
    fn answer(&mut self, _: &Request, _: Tell<'_>) -> Result<Event, Trouble> {
        Ok(refusal(&self.0))
    }
}

fn refusal(error: &Error) -> Event {
    Event::Refused { why: error.to_string(), unavailable: error.kind() == ErrorKind::Unavailable }
}

fn broken(cause: &dyn std::fmt::Display) -> Error {
    Error::failed(format!("the connection to the worker broke: {cause}"))
}

/// The core of a process with much memory, or with a device, would be large.
fn leave_no_core() {
    // SAFETY: the pointer is to an rlimit.
    unsafe {
        let no_core = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        libc::setrlimit(libc::RLIMIT_CORE, &raw const no_core);
    }
}
