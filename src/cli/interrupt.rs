//! What Ctrl-C does: it ends a command at once, or first tells one that finishes what it is at.

use std::sync::atomic::{AtomicBool, Ordering};

use dietcode::core::measure::leave;

use super::tell;

/// Set by an interrupt, or when a command's time is over.
pub(super) static STOP: AtomicBool = AtomicBool::new(false);

/// Set by an interrupt alone.
static INTERRUPTED_ONCE: AtomicBool = AtomicBool::new(false);

/// Whether the command looks at [`STOP`].
static PATIENT: AtomicBool = AtomicBool::new(false);

/// The status of a program that was interrupted, as shells give it.
const INTERRUPTED: i32 = 130;

/// Leaves nothing behind from now on, however the command is interrupted.
pub(super) fn catch() {
    let caught = ctrlc::set_handler(|| {
        if !PATIENT.load(Ordering::Relaxed) || INTERRUPTED_ONCE.swap(true, Ordering::Relaxed) {
            leave(INTERRUPTED);
        }
        STOP.store(true, Ordering::Relaxed);
        tell("\nfinishing what is being measured; press Ctrl-C again to leave at once");
    });
    if let Err(error) = caught {
        tell(&format!("warning: interrupts cannot be caught, and end this at once: {error}"));
    }
}

/// From now on the first interrupt sets [`STOP`], and the second one ends the command.
pub(super) fn finish_first() {
    PATIENT.store(true, Ordering::Relaxed);
}
