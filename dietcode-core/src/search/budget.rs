//! How long a search may still go on.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::measure::Clock;

/// A time that ends by itself or by a wish from outside.
#[derive(Clone, Debug)]
pub struct Budget<'a> {
    clock: Clock,
    start: Duration,
    whole: Duration,
    stop: &'a AtomicBool,
}

impl<'a> Budget<'a> {
    /// From now on, as a clock has it; `stop` ends it early.
    pub fn start(clock: Clock, seconds: f64, stop: &'a AtomicBool) -> Budget<'a> {
        let whole = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
        Budget { start: clock.now(), clock, whole, stop }
    }

    /// How long it has lasted.
    pub fn elapsed(&self) -> Duration {
        self.clock.now().saturating_sub(self.start)
    }

    /// Whether a share of it, from 0 to 1, is used up.
    pub fn is_over(&self, share: f64) -> bool {
        self.is_stopped() || self.elapsed() >= self.whole.mul_f64(share.clamp(0.0, 1.0))
    }

    /// Whether it was ended from outside.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}
