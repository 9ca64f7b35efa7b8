//! The persistent pools of helper threads.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::{Error, Result};

/// By the number of threads of their calls.
type Pools = BTreeMap<usize, Arc<ThreadPool>>;

/// The pool for calls on `threads` threads: one helper less than that, for the caller's thread works too. A pool is
/// made at the first call that needs it and lives until [`keep`] drops it; idle, it sleeps.
pub(super) fn pool_of(threads: usize) -> Result<Arc<ThreadPool>> {
    let mut pools = pools();
    if let Some(pool) = pools.get(&threads) {
        return Ok(Arc::clone(pool));
    }
    let pool = ThreadPoolBuilder::new()
        .num_threads(threads.saturating_sub(1).max(1))
        .thread_name(|index| format!("dietcode-{index}"))
        .build()
        .map_err(|e| Error::unavailable(format!("cannot start {threads} threads")).caused_by(e))?;
    Ok(Arc::clone(pools.entry(threads).or_insert(Arc::new(pool))))
}

/// Ends the threads of all other pools; those of a call that is under way, when it is over.
pub(super) fn keep(wanted: impl Fn(usize) -> bool) {
    pools().retain(|threads, _| wanted(*threads));
}

fn pools() -> MutexGuard<'static, Pools> {
    static POOLS: Mutex<Pools> = Mutex::new(BTreeMap::new());
    POOLS.lock().unwrap_or_else(PoisonError::into_inner)
}
