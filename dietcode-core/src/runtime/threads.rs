//! How many threads carry out a call: a run-time setting.

use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::pool;
use crate::parallel::cores;
use crate::{Error, Result};

/// The most threads a call can be set to.
pub const MAX_THREADS: usize = 1024;

const ENVIRONMENT: &str = "DIETCODE_NUM_THREADS";

/// 0: not set, the environment holds.
static GLOBAL: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// What [`with_threads`] has set on this thread; 0: nothing.
    static SCOPED: Cell<usize> = const { Cell::new(0) };
}

/// How many threads a call from this thread uses: what [`with_threads`] says, else what [`set_threads`] said, else
/// `DIETCODE_NUM_THREADS`, else as many as there are cores.
///
/// # Errors
/// If `DIETCODE_NUM_THREADS` is consulted and is not a number from 0 (all cores) to [`MAX_THREADS`].
pub fn threads() -> Result<usize> {
    match (SCOPED.get(), GLOBAL.load(Ordering::Relaxed)) {
        (0, 0) => from_environment(),
        (0, n) | (n, _) => Ok(n),
    }
}

/// Sets how many threads a call uses, for the whole program; 0 means all cores. Helpers that were started for another number
/// end.
///
/// # Errors
/// If it is more than [`MAX_THREADS`].
pub fn set_threads(n: usize) -> Result<()> {
    if n > MAX_THREADS {
        return Err(Error::input(format!("cannot use {n} threads, at most {MAX_THREADS}")));
    }
    let n = resolve(n);
    GLOBAL.store(n, Ordering::Relaxed);
    pool::keep_at_most(n - 1);
    Ok(())
}

/// Runs `body` with calls from this thread using `n` threads (0: all cores; at most [`MAX_THREADS`] are used). Helpers that
/// were started for it stay for the next time, unless they are more than there are cores.
pub fn with_threads<R>(n: usize, body: impl FnOnce() -> R) -> R {
    struct Restore(usize);
    impl Drop for Restore {
        fn drop(&mut self) {
            let n = SCOPED.replace(self.0);
            // A wrong variable is an error of the next call.
            let initial = from_environment().unwrap_or(1);
            let most = [cores(), self.0, GLOBAL.load(Ordering::Relaxed), initial].into_iter().max().unwrap_or(n);
            if n > most {
                pool::keep_at_most(most - 1);
            }
        }
    }
    let _restore = Restore(SCOPED.replace(resolve(n)));
    body()
}

fn resolve(n: usize) -> usize {
    let n = if n == 0 { cores() } else { n };
    n.min(MAX_THREADS)
}

fn from_environment() -> Result<usize> {
    static PARSED: OnceLock<Result<usize, String>> = OnceLock::new();
    PARSED.get_or_init(parse_environment).as_ref().copied().map_err(Error::input)
}

fn parse_environment() -> Result<usize, String> {
    let Some(value) = std::env::var_os(ENVIRONMENT) else { return Ok(resolve(0)) };
    match value.to_str().and_then(|text| text.trim().parse().ok()) {
        Some(n) if n <= MAX_THREADS => Ok(resolve(n)),
        _ => Err(format!("{ENVIRONMENT} is {value:?}, but must be a number from 0 (all cores) to {MAX_THREADS}")),
    }
}
