//! Lets helper threads join a call, and sees them out before the call ends.
//!
//! Unlike in a rayon scope, the caller neither steals other work while it waits (calls from inside a rayon pool would pile up
//! on its stack) nor waits for helpers that have not begun: those of the process are no longer invited, and those of rayon find the
//! door closed and go away.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, Thread};

use super::pool::{Invited, Reads, invite};
use crate::Result;
use crate::parallel::lock;

/// Set in `Door::state` once no more helpers may enter; the other bits count those inside.
const CLOSED: usize = 1 << (usize::BITS - 1);

/// About 50 µs: longer than the last tile of a helper mostly takes, and shorter than it is worth to sleep.
const SPINS: usize = 4096;

/// Doors that rayon's threads were asked to enter, and have not come to.
static ASKED: AtomicUsize = AtomicUsize::new(0);

/// Runs `body` here, for a call on `threads` threads, while up to `helpers` others run `help`: this process's helpers, or, inside of a
/// rayon pool, threads of that pool which have nothing else to do. Each gives `help` its number, the same in every call; two may have
/// the same one where callers share the helpers. Returns once none of them runs it any more; a helper that panics has this thread panic
/// then, and helps again in the next call. `reads` has the addresses of what the helper of a number
/// reads first.
///
/// # Errors
/// [`Unavailable`](crate::ErrorKind::Unavailable) if a thread cannot be started; `body` has not run then.
pub(super) fn with_helpers<R>(
    threads: usize,
    helpers: usize,
    help: &(dyn Fn(usize) + Sync),
    reads: &dyn Fn(usize) -> Reads,
    body: impl FnOnce() -> R,
) -> Result<R> {
    // SAFETY: only the lifetime changes. `help` is called by helpers inside only, and before this function is left (also by
    // a panic, see `CloseOnDrop`) the door is closed and nobody is inside.
    let help = unsafe { std::mem::transmute::<&(dyn Fn(usize) + Sync), &'static (dyn Fn(usize) + Sync)>(help) };
    let door = Door { state: AtomicUsize::new(0), caller: thread::current(), panic: Mutex::new(None), help };
    if let Some(caller) = rayon::current_thread_index() {
        let door = Arc::new(door);
        let close = CloseOnDrop { door: &door, invited: Invited::default() };
        ask_rayon(caller, helpers, &door);
        return Ok(close.after(body));
    }
    let mut close = CloseOnDrop { door: &door, invited: Invited::default() };
    invite(threads, helpers, &door, reads, &mut close.invited)?;
    Ok(close.after(body))
}

/// Asks other threads of the pool that this is a thread of. One that comes too late finds the door closed; as many as there are
/// threads may be asked at once, so that callers which never pause do not fill the pool's queue.
fn ask_rayon(caller: usize, helpers: usize, door: &Arc<Door>) {
    let most = rayon::current_num_threads();
    for _ in 0..helpers.min(most - 1) {
        if ASKED.fetch_add(1, Ordering::Relaxed) >= most {
            ASKED.fetch_sub(1, Ordering::Relaxed);
            return;
        }
        let door = Arc::clone(door);
        rayon::spawn(move || {
            ASKED.fetch_sub(1, Ordering::Relaxed);
            let open = |state: usize| (state & CLOSED == 0).then_some(state + 1);
            if door.state.fetch_update(Ordering::Acquire, Ordering::Relaxed, open).is_ok() {
                let number = rayon::current_thread_index().map_or(0, |own| (own + most - caller) % most);
                // SAFETY: this is the one that was counted, and a door of its own.
                unsafe { Door::work(Arc::as_ptr(&door), number, || ()) };
            }
        });
    }
}

/// What helpers enter to work on a call. On lines of a cache that nothing else is on, since the caller writes beside it what helpers
/// need not wait for.
#[repr(align(128))]
pub(super) struct Door {
    state: AtomicUsize,
    caller: Thread,
    /// What a helper has panicked with.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    /// Behind a pointer, for a door may outlive it in rayon's queue.
    help: *const (dyn Fn(usize) + Sync),
}

// SAFETY: what `help` points to is `Sync`.
unsafe impl Send for Door {}
// SAFETY: as above.
unsafe impl Sync for Door {}

impl Door {
    /// Counts one who will [`work`](Self::work), before it can; the caller has not closed the door.
    pub(super) fn expect_one(&self) {
        self.state.fetch_add(1, Ordering::Relaxed);
    }

    /// Works on the call as the helper of this number, and says `done` before the call may end: whoever called can then have the thread for
    /// the next call. The door may be gone afterwards, and even before this returns, so that it is never borrowed as a whole.
    ///
    /// # Safety
    /// The caller has not seen this helper out, which is counted.
    pub(super) unsafe fn work(door: *const Door, number: usize, done: impl FnOnce()) {
        // SAFETY: while somebody is inside, the caller waits, and what the door is made of is there.
        unsafe {
            if (*door).state.load(Ordering::Relaxed) & CLOSED == 0 {
                let help = (*door).help;
                if let Err(panic) = catch_unwind(AssertUnwindSafe(|| (*help)(number))) {
                    // The caller goes on with the first; to drop another one might panic, and nobody would leave.
                    match &mut *lock(&(*door).panic) {
                        none @ None => *none = Some(panic),
                        Some(_) => std::mem::forget(panic),
                    }
                }
            }
        }
        done();
        // SAFETY: as above.
        unsafe { Door::leave(door) };
    }

    /// Publishes what a helper wrote.
    ///
    /// # Safety
    /// As for [`Door::work`]; nobody else leaves for this helper.
    unsafe fn leave(door: *const Door) {
        // SAFETY: an atomic may be gone once it says that nobody is inside: no borrow of one asserts that it lives on.
        let state = unsafe { &(*door).state };
        // Whoever leaves an open door wakes nobody, and the last one out of a closed door has the caller's handle before the door may
        // be gone.
        let open = |now: usize| (now & CLOSED == 0).then(|| now - 1);
        if state.fetch_update(Ordering::Release, Ordering::Relaxed, open).is_err() {
            // SAFETY: this helper is inside still.
            let caller = unsafe { (*door).caller.clone() };
            if state.fetch_sub(1, Ordering::Release) == CLOSED + 1 {
                caller.unpark();
            }
        }
    }
}

/// The end of a call: those invited who have not begun are not waited for.
struct CloseOnDrop<'a> {
    door: &'a Door,
    invited: Invited,
}

impl CloseOnDrop<'_> {
    /// The caller's part of a call, and the call's end.
    fn after<R>(self, body: impl FnOnce() -> R) -> R {
        let (result, door) = (body(), self.door);
        drop(self);
        let panic = lock(&door.panic).take();
        panic.map_or(result, |panic| resume_unwind(panic))
    }
}

impl Drop for CloseOnDrop<'_> {
    fn drop(&mut self) {
        let state = &self.door.state;
        if state.fetch_or(CLOSED, Ordering::Acquire) == 0 {
            return;
        }
        let late = self.invited.withdraw(self.door);
        state.fetch_sub(late, Ordering::Relaxed);
        for _ in 0..SPINS {
            if state.load(Ordering::Acquire) == CLOSED {
                return;
            }
            std::hint::spin_loop();
        }
        while state.load(Ordering::Acquire) != CLOSED {
            thread::park();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ptr;
    use std::sync::atomic::AtomicBool;
    use std::time::{Duration, Instant};

    use super::*;

    /// Calls until a helper has come: whether the call panicked.
    fn call(help: impl Fn() + Sync) -> bool {
        let (start, came) = (Instant::now(), AtomicBool::new(false));
        loop {
            let helped = |_: usize| {
                came.store(true, Ordering::Release);
                help();
            };
            let wait = || {
                let begun = Instant::now();
                while !came.load(Ordering::Acquire) && begun.elapsed() < Duration::from_millis(100) {
                    thread::yield_now();
                }
            };
            let result = catch_unwind(AssertUnwindSafe(|| with_helpers(2, 1, &helped, &|_| [ptr::null(); 7], wait)));
            if came.load(Ordering::Acquire) {
                return result.is_err();
            }
            assert!(start.elapsed() < Duration::from_secs(20), "no helper comes");
        }
    }

    #[test]
    fn a_helper_that_panics_ends_the_call_and_helps_in_the_next_one() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        for _ in 0..3 {
            assert!(call(|| panic!("as the test wants it")));
            assert!(!call(|| ()));
            assert!(pool.install(|| call(|| panic!("as the test wants it"))));
            assert!(!pool.install(|| call(|| ())));
        }
    }
}
