//! The cores, shared out between compilers and measurements.
//!
//! ```text
//! core 0   compile │ compile │ measure, 1 thread │ compile │ measure, 2 threads │ …
//! core 1   compile │ compile │ compile │ compile  │         │ measure, 2 threads │ …
//! ```
//!
//! There is one compiler to a core, and it stays there. A measurement of n threads has the first n cores alone: it waits
//! until the compilers there have finished what they are at, none starts until it is over, and those on the other cores go
//! on. So on a machine with one core, or for a measurement that takes all of them, compiling and measuring take turns.
//!
//! The cores are those that the process may use: `taskset` gives two searches on one machine cores of their own.

use std::collections::BTreeSet;
use std::sync::{Condvar, Mutex, PoisonError};

use crate::doing::doing;
use crate::parallel::lock;
use crate::runtime::affinity;

/// The cores of this process.
#[derive(Debug)]
pub struct Cores {
    ids: Vec<usize>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    /// So many, the first ones, belong to a measurement or are about to.
    reserved: usize,
    /// Whether a compiler runs there.
    compiling: Vec<bool>,
}

/// Cores that belong to a measurement until this is dropped.
#[derive(Debug)]
pub struct Reserved<'a>(&'a Cores);

/// A core that a compiler has until this is dropped, also by a panic.
struct Taken<'a> {
    cores: &'a Cores,
    core: usize,
}

impl Cores {
    /// Those that this process may use; at least one.
    pub fn of_process() -> Cores {
        let ids = affinity::allowed();
        let state = Mutex::new(State { reserved: 0, compiling: vec![false; ids.len()] });
        Cores { ids, state, changed: Condvar::new() }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.ids.len()
    }

    /// The first `n` of them, as the system numbers them.
    pub(super) fn first(&self, n: usize) -> &[usize] {
        &self.ids[..n.clamp(1, self.ids.len())]
    }

    /// How many cores of their own `n` threads have at most: hardware threads that share a core count once, where the system
    /// tells.
    pub fn apart(&self, n: usize) -> usize {
        let siblings = |id: &usize| {
            let file = format!("/sys/devices/system/cpu/cpu{id}/topology/thread_siblings_list");
            std::fs::read_to_string(file).unwrap_or_else(|_| id.to_string())
        };
        self.first(n).iter().map(siblings).collect::<BTreeSet<String>>().len()
    }

    /// Takes the first `n` (or all) for a measurement, once the compilers there have finished what they are at.
    pub fn reserve(&self, n: usize) -> Reserved<'_> {
        let mut state = lock(&self.state);
        state.reserved = n.clamp(1, self.ids.len());
        let _doing = doing("waiting for the compilers to leave the cores of a measurement");
        drop(self.changed.wait_while(state, |state| state.compiling[..state.reserved].contains(&true)));
        Reserved(self)
    }

    /// Does some work of a compiler on a core (its position), as soon as neither a measurement nor another compiler has it.
    pub(super) fn compile<T>(&self, core: usize, work: impl FnOnce() -> T) -> T {
        let free = self.changed.wait_while(lock(&self.state), |state| core < state.reserved || state.compiling[core]);
        free.unwrap_or_else(PoisonError::into_inner).compiling[core] = true;
        let _taken = Taken { cores: self, core };
        work()
    }

    /// Keeps the calling thread, and the processes that it starts from now on, on a core (its position).
    pub(super) fn settle_on(&self, core: usize) {
        affinity::keep_on(0, &self.ids[core..=core]);
    }
}

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        lock(&self.0.state).reserved = 0;
        self.0.changed.notify_all();
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        lock(&self.cores.state).compiling[self.core] = false;
        self.cores.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::time::{Duration, Instant};

    use super::*;

    fn cores(n: usize) -> Cores {
        let state = Mutex::new(State { reserved: 0, compiling: vec![false; n] });
        Cores { ids: vec![affinity::allowed()[0]; n], state, changed: Condvar::new() }
    }

    #[test]
    fn nobody_compiles_on_the_cores_of_a_measurement() {
        let (cores, begun, stop) = (cores(3), [0; 3].map(AtomicUsize::new), AtomicBool::new(false));
        let counts = || begun.each_ref().map(|count| count.load(Ordering::Relaxed));
        let go_on = |from: usize| {
            let (before, end) = (counts(), Instant::now() + Duration::from_secs(60));
            while counts()[from..].iter().zip(&before[from..]).any(|(now, before)| now == before) {
                if Instant::now() > end {
                    return false;
                }
                std::thread::sleep(Duration::from_millis(1));
            }
            true
        };
        let passed = std::thread::scope(|scope| {
            for core in 0..3 {
                let (cores, begun, stop) = (&cores, &begun, &stop);
                scope.spawn(move || {
                    while !stop.load(Ordering::Relaxed) {
                        cores.compile(core, || {
                            begun[core].fetch_add(1, Ordering::Relaxed);
                            std::thread::sleep(Duration::from_millis(1));
                        });
                    }
                });
            }
            let alone = [1, 2, 3].map(|taken| {
                let reserved = cores.reserve(taken);
                let before = counts();
                std::thread::sleep(Duration::from_millis(10));
                let others = go_on(taken);
                let is_alone = before[..taken] == counts()[..taken];
                drop(reserved);
                (is_alone, others, go_on(0))
            });
            stop.store(true, Ordering::Relaxed);
            alone
        });
        assert_eq!(passed, [(true, true, true); 3], "alone, the others go on, all go on when it is over");
    }

    #[test]
    fn a_core_has_one_compiler_whoever_asks_for_it() {
        let (cores, running) = (cores(1), AtomicUsize::new(0));
        let alone = std::thread::scope(|scope| {
            let compiling = || {
                scope.spawn(|| {
                    let once = |_| {
                        cores.compile(0, || {
                            let others = running.fetch_add(1, Ordering::Relaxed);
                            std::thread::sleep(Duration::from_millis(1));
                            running.fetch_sub(1, Ordering::Relaxed);
                            others == 0
                        })
                    };
                    (0..20).all(once)
                })
            };
            let both = [compiling(), compiling()];
            drop(cores.reserve(1));
            both.into_iter().all(|thread| thread.join().unwrap())
        });
        assert!(alone, "two at once");
    }

    #[test]
    fn a_compiler_that_panics_gives_its_core_back() {
        let cores = cores(1);
        let work = std::panic::AssertUnwindSafe(|| cores.compile(0, || panic!("out of order")));
        assert!(std::panic::catch_unwind(work).is_err());
        drop(cores.reserve(1));
    }

    #[test]
    fn more_threads_than_cores_are_all_cores() {
        let cores = cores(2);
        drop(cores.reserve(5));
        assert_eq!((cores.first(5).len(), cores.first(0).len(), cores.count()), (2, 1, 2));
        assert_eq!(cores.apart(5), 1, "both are the same one");
    }
}
