//! The persistent pools of helper threads.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::{Error, ErrorKind, Result};

/// The pool for calls on `threads` threads: one helper less than that, for the caller's thread works too. A pool is
/// made at the first call that needs it and lives as long as the program; idle, it sleeps.
pub(super) fn pool_of(threads: usize) -> Result<&'static ThreadPool> {
    static POOLS: Mutex<BTreeMap<usize, &'static ThreadPool>> = Mutex::new(BTreeMap::new());
    let mut pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(pool) = pools.get(&threads) {
        return Ok(pool);
    }
    let pool = ThreadPoolBuilder::new()
        .num_threads(threads.saturating_sub(1).max(1))
        .thread_name(|index| format!("dietcode-{index}"))
        .build()
        .map_err(|e| Error::new(ErrorKind::Unavailable, format!("cannot start {threads} threads")).caused_by(e))?;
    Ok(pools.entry(threads).or_insert(Box::leak(Box::new(pool))))
}
