//! Lets helper threads join a call, and sees them out before the call ends.
//!
//! Unlike in a rayon scope, the caller neither steals other work while it waits (calls from inside a rayon pool would pile up
//! on its stack) nor waits for helpers that have not begun: those find the door closed and go away.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, Thread};

use super::pool::invite;
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
    let door = Arc::new(Door { state: AtomicUsize::new(0), caller: thread::current(), help });
    let _close = CloseOnDrop(&door);
    if let Some(caller) = rayon::current_thread_index() {
        ask_rayon(caller, helpers, &door);
        return Ok(body());
    }
    let _calling = invite(threads, helpers, &door)?;
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
            door.enter(rayon::current_thread_index().map_or(0, |own| (own + most - caller) % most), || ());
        });
    }
}

/// What helpers enter to work on a call.
pub(super) struct Door {
    state: AtomicUsize,
    caller: Thread,
    /// Behind a pointer, for a door may outlive it in the pool's queue.
    help: *const (dyn Fn(usize) + Sync),
}

// SAFETY: what `help` points to is `Sync`.
unsafe impl Send for Door {}
// SAFETY: as above.
unsafe impl Sync for Door {}

impl Door {
    /// Whether the call is over.
    pub(super) fn is_closed(&self) -> bool {
        self.state.load(Ordering::Relaxed) & CLOSED != 0
    }

    /// Works on the call as the helper of this number, if it still is open, and says `done` before the call may end: whoever called can
    /// then have the thread for the next call.
    pub(super) fn enter(&self, number: usize, done: impl FnOnce()) {
        let open = |state: usize| (state & CLOSED == 0).then_some(state + 1);
        if self.state.fetch_update(Ordering::Acquire, Ordering::Relaxed, open).is_err() {
            return done();
        }
        let _leave = LeaveOnDrop(self);
        // SAFETY: while somebody is inside, the caller waits.
        unsafe { (*self.help)(number) };
        done();
    }
}

/// A helper inside; leaving publishes what it wrote.
struct LeaveOnDrop<'a>(&'a Door);

impl Drop for LeaveOnDrop<'_> {
    fn drop(&mut self) {
        if self.0.state.fetch_sub(1, Ordering::Release) == CLOSED + 1 {
            self.0.caller.unpark();
        }
    }
}

struct CloseOnDrop<'a>(&'a Door);

impl Drop for CloseOnDrop<'_> {
    fn drop(&mut self) {
        self.0.state.fetch_or(CLOSED, Ordering::Relaxed);
        for _ in 0..SPINS {
            if self.0.state.load(Ordering::Acquire) == CLOSED {
                return;
            }
            std::hint::spin_loop();
        }
        while self.0.state.load(Ordering::Acquire) != CLOSED {
            thread::park();
        }
    }
}
