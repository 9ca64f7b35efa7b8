//! What time it is for a search.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The machine's clock, or one that goes on only when a simulated device says so.
#[derive(Clone, Debug)]
pub struct Clock(Kind);

#[derive(Clone, Debug)]
enum Kind {
    Machine(Instant),
    /// Nanoseconds.
    Simulated(Arc<AtomicU64>),
}

impl Default for Clock {
    /// The machine's, from now on.
    fn default() -> Clock {
        Clock(Kind::Machine(Instant::now()))
    }
}

impl Clock {
    /// One that stands still until it is [advanced](Clock::advance); copies of it show the same time.
    pub fn simulated() -> Clock {
        Clock(Kind::Simulated(Arc::default()))
    }

    /// How long it has run.
    pub fn now(&self) -> Duration {
        match &self.0 {
            Kind::Machine(start) => start.elapsed(),
            Kind::Simulated(nanos) => Duration::from_nanos(nanos.load(Ordering::Relaxed)),
        }
    }

    /// Lets a simulated clock go on; the machine's does that by itself.
    pub fn advance(&self, seconds: f64) {
        if let Kind::Simulated(nanos) = &self.0 {
            let by = Duration::try_from_secs_f64(seconds).unwrap_or_default();
            nanos.fetch_add(u64::try_from(by.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
        }
    }
}
