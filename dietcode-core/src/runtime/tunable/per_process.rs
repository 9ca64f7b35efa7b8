//! What each process has of its own, a forked child too.

use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// A value that a process makes when it first asks. A child that is forked makes its own: in the one that it has inherited, a thread that
/// the child does not have may hold a lock.
pub(super) struct PerProcess<T>(AtomicPtr<(u32, T)>);

impl<T: Default> PerProcess<T> {
    pub(super) const fn new() -> PerProcess<T> {
        PerProcess(AtomicPtr::new(ptr::null_mut()))
    }

    pub(super) fn get(&self) -> &'static T {
        let process = std::process::id();
        let mut found = self.0.load(Ordering::Acquire);
        loop {
            // SAFETY: what was stored there came from a box that is never freed.
            if let Some((owner, value)) = unsafe { found.as_ref() }
                && *owner == process
            {
                return value;
            }
            let new = Box::into_raw(Box::new((process, T::default())));
            match self.0.compare_exchange(found, new, Ordering::AcqRel, Ordering::Acquire) {
                // SAFETY: as above.
                Ok(_) => return unsafe { &(*new).1 },
                Err(other) => {
                    // SAFETY: nobody has seen it.
                    drop(unsafe { Box::from_raw(new) });
                    found = other;
                }
            }
        }
    }
}
