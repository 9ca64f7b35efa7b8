//! Tells ends of a process that are not the fault of the candidate which is tried from those that may be: the former remove the file that
//! names it. The documentation of `tunable` has the table.
//!
//! While a candidate may be tried, a signal that asks the process to end has a handler, if it had none: it removes the file, and has the
//! signal do what it would have done. What is done here after a fork, at a signal or at an exit are atomic operations and calls of
//! the system that POSIX allows there.

use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int};
use std::fs::File;
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd;
use std::process;
use std::ptr;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// By these a process is asked to end.
const SIGNALS: [c_int; 3] = [libc::SIGHUP, libc::SIGINT, libc::SIGTERM];

/// The file that names what is tried, from before it is there until it is removed. It stands there for good, for handlers that come late.
static FILE: AtomicPtr<c_char> = AtomicPtr::new(ptr::null_mut());
/// Its descriptor, which has it locked; -1: none.
static DESCRIPTOR: AtomicI32 = AtomicI32::new(-1);
/// The process whose file it is.
static PROCESS: AtomicU32 = AtomicU32::new(0);
/// When the call that is under way has begun, on the clock of [`nanoseconds`]; 0: none is.
static BEGUN: AtomicU64 = AtomicU64::new(0);
/// After so many nanoseconds it hangs.
static HANGS_AFTER: AtomicU64 = AtomicU64::new(0);
/// The process is about to end.
static IS_ENDING: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// Whether this thread calls a candidate.
    static IS_TRYING: Cell<bool> = const { Cell::new(false) };
}

/// A file that names what is tried, and is removed by an end of the process that is not that one's fault.
pub(super) struct Watch(&'static CStr);

/// A call that is under way.
pub(super) struct Trial {
    begun: u64,
    hangs_after: u64,
    was_trying: bool,
}

impl Watch {
    /// Begins before the file is there; nothing if there is another one, or the process is about to end.
    pub(super) fn begin(file: &'static CStr) -> Option<Watch> {
        static HOOKS: Once = Once::new();
        if Watch::is_over() {
            return None;
        }
        let new = file.as_ptr().cast_mut();
        FILE.compare_exchange(ptr::null_mut(), new, Ordering::AcqRel, Ordering::Relaxed).ok()?;
        PROCESS.store(process::id(), Ordering::Release);
        // SAFETY: both functions live as long as the program, and do what may be done there.
        HOOKS.call_once(|| unsafe {
            libc::atexit(at_exit);
            libc::pthread_atfork(None, None, Some(in_child));
        });
        SIGNALS.into_iter().filter(|signal| handler(*signal) == libc::SIG_DFL).for_each(|signal| set(signal, ours()));
        Some(Watch(file))
    }

    /// The file is there, and locked.
    pub(super) fn is_of(&self, file: &File) {
        DESCRIPTOR.store(file.as_raw_fd(), Ordering::Release);
    }

    /// Whether the process is about to end: what is made now would stay.
    pub(super) fn is_over() -> bool {
        IS_ENDING.load(Ordering::Acquire)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let own = self.0.as_ptr().cast_mut();
        if FILE.compare_exchange(own, ptr::null_mut(), Ordering::AcqRel, Ordering::Relaxed).is_ok() {
            SIGNALS
                .into_iter()
                .filter(|signal| handler(*signal) == ours())
                .for_each(|signal| set(signal, libc::SIG_DFL));
            DESCRIPTOR.store(-1, Ordering::Release);
        }
    }
}

impl Trial {
    /// This thread calls a candidate now.
    pub(super) fn begin(hangs_after: Duration) -> Trial {
        let nanos = u64::try_from(hangs_after.as_nanos()).unwrap_or(u64::MAX);
        let hangs_after = HANGS_AFTER.swap(nanos, Ordering::AcqRel);
        Trial { hangs_after, begun: BEGUN.swap(nanoseconds(), Ordering::AcqRel), was_trying: IS_TRYING.replace(true) }
    }
}

impl Drop for Trial {
    fn drop(&mut self) {
        BEGUN.store(self.begun, Ordering::Release);
        HANGS_AFTER.store(self.hangs_after, Ordering::Release);
        IS_TRYING.set(self.was_trying);
    }
}

/// A process that ends by `exit`, or since `main` returns; unless a candidate has called `exit`, on the thread that tries it.
extern "C" fn at_exit() {
    if !IS_TRYING.get() {
        remove();
    }
}

extern "C" fn at_signal(signal: c_int) {
    // Else the program has set a handler since then, and that one has called this one as what was there before, which was none.
    if handler(signal) == ours() {
        remove();
        set(signal, libc::SIG_DFL);
        // SAFETY: a number is all that it takes. What the signal does by default, it does once this has returned.
        unsafe { libc::raise(signal) };
    }
}

/// A child has no candidate under way, and must not keep the lock of its parent's file.
extern "C" fn in_child() {
    FILE.store(ptr::null_mut(), Ordering::Release);
    BEGUN.store(0, Ordering::Release);
    let descriptor = DESCRIPTOR.swap(-1, Ordering::AcqRel);
    if descriptor >= 0 {
        // SAFETY: it is the child's copy of the descriptor, which nobody uses there: see `TryingFile`.
        unsafe { libc::close(descriptor) };
    }
}

/// Removes the file of this process, unless what it names hangs.
fn remove() {
    IS_ENDING.store(true, Ordering::Release);
    let (file, begun) = (FILE.load(Ordering::Acquire), BEGUN.load(Ordering::Acquire));
    let hangs = begun > 0 && nanoseconds().saturating_sub(begun) > HANGS_AFTER.load(Ordering::Acquire);
    if !file.is_null() && !hangs && PROCESS.load(Ordering::Acquire) == process::id() {
        // SAFETY: it is a string that is never freed.
        unsafe { libc::unlink(file) };
    }
}

/// A clock that may be read in a handler.
fn nanoseconds() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a time. All systems have this clock.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    1 + now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

fn ours() -> libc::sighandler_t {
    at_signal as extern "C" fn(c_int) as libc::sighandler_t
}

/// What a signal does.
fn handler(signal: c_int) -> libc::sighandler_t {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: zeros are an action, which is written if there is such a signal.
    unsafe {
        libc::sigaction(signal, ptr::null(), action.as_mut_ptr());
        action.assume_init().sa_sigaction
    }
}

fn set(signal: c_int, handler: libc::sighandler_t) {
    // SAFETY: zeros are an action without flags that blocks nothing; the handler is one of a number, or the default.
    unsafe {
        let mut action = MaybeUninit::<libc::sigaction>::zeroed().assume_init();
        action.sa_sigaction = handler;
        action.sa_flags = libc::SA_RESTART;
        libc::sigaction(signal, &raw const action, ptr::null_mut());
    }
}
