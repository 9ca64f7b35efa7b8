//! One tuning at a time: two at once would measure each other.

use std::cell::Cell;
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

static TURN: Mutex<()> = Mutex::new(());

thread_local! {
    /// Whether this thread has the turn.
    static IS_MINE: Cell<bool> = const { Cell::new(false) };
}

/// The right to measure, of one thread of the program. What it calls meanwhile may tune too.
pub(super) struct Turn {
    /// None: it was this thread's already.
    lock: Option<MutexGuard<'static, ()>>,
}

impl Turn {
    /// Takes it, once nobody else has it, or, if it is not to wait, if nobody has it.
    pub(super) fn take(wait: bool) -> Option<Turn> {
        if IS_MINE.get() {
            return Some(Turn { lock: None });
        }
        let lock = match TURN.try_lock() {
            Ok(lock) => lock,
            // Nothing is behind the lock that a panic could leave half done.
            Err(TryLockError::Poisoned(lock)) => lock.into_inner(),
            Err(TryLockError::WouldBlock) if wait => TURN.lock().unwrap_or_else(PoisonError::into_inner),
            Err(TryLockError::WouldBlock) => return None,
        };
        IS_MINE.set(true);
        Some(Turn { lock: Some(lock) })
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if self.lock.is_some() {
            IS_MINE.set(false);
        }
    }
}
