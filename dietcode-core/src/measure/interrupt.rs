//! What ends a measurement that is under way: a wish from outside, or the end of its time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::{machine, scratch};

/// Ends this process at once, with an exit status. Compilers and workers that run are killed, and their folders removed.
pub fn leave(status: i32) -> ! {
    machine::end_all();
    scratch::remove_all();
    std::process::exit(status)
}

/// Once it is due, workers are ended in the midst of what they do, and what they were at counts as
/// [`Stopped`](super::Failure::Stopped).
#[derive(Clone, Copy, Debug)]
pub struct Interrupt {
    stop: &'static AtomicBool,
    end: Option<Instant>,
}

impl Interrupt {
    /// Due when `stop` is set, or so many seconds from now; without a number, at no time.
    pub fn new(stop: &'static AtomicBool, seconds: Option<f64>) -> Interrupt {
        let left = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        Interrupt { stop, end: left.and_then(|left| Instant::now().checked_add(left)) }
    }

    /// Whether a signal set it.
    pub fn is_asked_for(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Whether the measurement has to end.
    pub fn is_due(&self) -> bool {
        self.is_asked_for() || self.end.is_some_and(|end| Instant::now() >= end)
    }
}
