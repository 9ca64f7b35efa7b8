//! Lets helper threads join a call, and sees them out before the call ends.
//!
//! Unlike in a rayon scope, the caller neither steals other work while it waits (calls from inside a rayon pool would pile up
//! on its stack) nor waits for helpers that have not begun: those of the process are no longer invited, and those of rayon find the
//! door closed and go away.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, Thread};

use super::pool::{Invited, invite};
use crate::Result;

/// Set in `Door::state` once no more helpers may enter; the other bits count those inside.
const CLOSED: usize = 1 << (usize::BITS - 1);

/// About 50 µs: longer than the last tile of a helper mostly takes, and shorter than it is worth to sleep.
const SPINS: usize = 4096;

/// Doors that rayon's threads were asked to enter, and have not come to.
static ASKED: AtomicUsize = AtomicUsize::new(0);

/// Runs `body` here, for a call on `threads` threads, while up to `helpers` others run `help`: this process's helpers, or, inside of a
/// rayon pool, threads of that pool which have nothing else to do. Each gives `help` its number, the same in every call; two may have
/// the same one where callers share the helpers. Returns once none of them runs it any more.
///
/// # Errors
/// [`Unavailable`](crate::ErrorKind::Unavailable) if a thread cannot be started; `body` has not run then.
pub(super) fn with_helpers<R>(
    threads: usize,
    helpers: usize,
    help: &(dyn Fn(usize) + Sync),
    body: impl FnOnce() -> R,
) -> Result<R> {
    // SAFETY: only the lifetime changes. `help` is called by helpers inside only, and before this function is left (also by
    // a panic, see `CloseOnDrop`) the door is closed and nobody is inside.
    let help = unsafe { std::mem::transmute::<&(dyn Fn(usize) + Sync), &'static (dyn Fn(usize) + Sync)>(help) };
    let door = Door { state: AtomicUsize::new(0), caller: thread::current(), help };
    if let Some(caller) = rayon::current_thread_index() {
        let door = Arc::new(door);
        let _close = CloseOnDrop { door: &door, invited: Invited::default() };
        ask_rayon(caller, helpers, &door);
        return Ok(body());
    }
    let mut close = CloseOnDrop { door: &door, invited: Invited::default() };
    invite(threads, helpers, &door, &mut close.invited)?;
    Ok(body())
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
                door.work(rayon::current_thread_index().map_or(0, |own| (own + most - caller) % most), || ());
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

    /// Works on the call as the helper of this number, which is counted, and says `done` before the call may end: whoever called can
    /// then have the thread for the next call. The door may be gone afterwards.
    pub(super) fn work(&self, number: usize, done: impl FnOnce()) {
        let _leave = LeaveOnDrop(self);
        if self.state.load(Ordering::Relaxed) & CLOSED == 0 {
            // SAFETY: while somebody is inside, the caller waits.
            unsafe { (*self.help)(number) };
        }
        done();
    }
}

/// A helper inside; leaving publishes what it wrote.
struct LeaveOnDrop<'a>(&'a Door);

impl Drop for LeaveOnDrop<'_> {
    fn drop(&mut self) {
        let Door { state, caller, .. } = self.0;
        // Whoever leaves an open door wakes nobody, and the last one out of a closed door has the caller's handle before the door may
        // be gone.
        let open = |now: usize| (now & CLOSED == 0).then(|| now - 1);
        if state.fetch_update(Ordering::Release, Ordering::Relaxed, open).is_err() {
            let caller = caller.clone();
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
