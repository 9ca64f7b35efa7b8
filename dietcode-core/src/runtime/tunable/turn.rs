//! One tuning at a time: two at once would measure each other.

use std::cell::Cell;
use std::process;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use super::per_process::PerProcess;
use crate::parallel::lock;

static TURNS: PerProcess<Turns> = PerProcess::new();

thread_local! {
    /// The process in which this thread has the turn; 0: none.
    static MINE_IN: Cell<u32> = const { Cell::new(0) };
}

#[derive(Default)]
struct Turns {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    is_taken: bool,
    /// Somebody has waited for the end of this turn in vain: who has it may wait for that thread in turn. Nobody waits for it any more.
    is_endless: bool,
}

/// The right to measure, of one thread of a process. What it calls meanwhile may tune too.
pub(super) struct Turn {
    /// None: it was this thread's already.
    turns: Option<&'static Turns>,
    /// A child that this thread forks does not have it.
    process: u32,
}

impl Turn {
    /// Whether this thread has it.
    pub(super) fn is_mine() -> bool {
        MINE_IN.get() == process::id()
    }

    /// Takes it if nobody has it, or, with a time to wait for, once nobody has it within that.
    pub(super) fn take(wait: Option<Duration>) -> Option<Turn> {
        let process = process::id();
        if Turn::is_mine() {
            return Some(Turn { turns: None, process });
        }
        let turns = TURNS.get();
        let mut state = lock(&turns.state);
        if state.is_taken {
            let is_waited_for = |state: &mut State| state.is_taken && !state.is_endless;
            let waited = turns.changed.wait_timeout_while(state, wait?, is_waited_for);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
            if state.is_taken {
                state.is_endless = true;
                turns.changed.notify_all();
                return None;
            }
        }
        state.is_taken = true;
        MINE_IN.set(process);
        Some(Turn { turns: Some(turns), process })
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some(turns) = self.turns
            && self.process == process::id()
        {
            MINE_IN.set(0);
            *lock(&turns.state) = State::default();
            turns.changed.notify_one();
        }
    }
}
