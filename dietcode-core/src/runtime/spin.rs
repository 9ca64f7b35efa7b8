//! How long helper threads spin after a call before they park: a run-time setting.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::{Error, Result};

const ENVIRONMENT: &str = "DIETCODE_SPIN_US";

/// Long enough for what stands between two kernels of a model.
const DEFAULT: Duration = Duration::from_micros(200);

/// The longest time to which it can be set.
pub const MAX_SPIN_TIME: Duration = Duration::from_secs(1);

const NOT_SET: u64 = u64::MAX;

/// In microseconds.
static SET: AtomicU64 = AtomicU64::new(NOT_SET);

/// How long a helper thread spins after a call, so that the next one finds it awake: what [`set_spin_time`] said, else
/// `DIETCODE_SPIN_US`, else 200 µs. Where there are more threads than cores none spins.
///
/// # Errors
/// If `DIETCODE_SPIN_US` is consulted and is not a number of microseconds from 0 to a million.
pub fn spin_time() -> Result<Duration> {
    match SET.load(Ordering::Relaxed) {
        NOT_SET => from_environment(),
        micros => Ok(Duration::from_micros(micros)),
    }
}

/// Sets how long helper threads spin after a call, for the whole program; zero: they park at once, and each call wakes them.
///
/// # Errors
/// If it is more than [`MAX_SPIN_TIME`].
pub fn set_spin_time(time: Duration) -> Result<()> {
    if time > MAX_SPIN_TIME {
        return Err(Error::input(format!("helpers cannot spin for {time:?}, at most for {MAX_SPIN_TIME:?}")));
    }
    SET.store(time.as_micros() as u64, Ordering::Relaxed);
    Ok(())
}

fn from_environment() -> Result<Duration> {
    static PARSED: OnceLock<Result<Duration, String>> = OnceLock::new();
    PARSED.get_or_init(parse_environment).as_ref().copied().map_err(Error::input)
}

fn parse_environment() -> Result<Duration, String> {
    let Some(value) = std::env::var_os(ENVIRONMENT) else { return Ok(DEFAULT) };
    let most = MAX_SPIN_TIME.as_micros() as u64;
    match value.to_str().and_then(|text| text.trim().parse().ok()) {
        Some(micros) if micros <= most => Ok(Duration::from_micros(micros)),
        _ => Err(format!("{ENVIRONMENT} is {value:?}, but must be a number of microseconds from 0 to {most}")),
    }
}
