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
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

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
    /// Whether a compiler runs there, or what else is computed.
    taken: Vec<bool>,
    /// How many compilers wait for each.
    waiting: Vec<usize>,
}

impl State {
    fn of(count: usize) -> State {
        State { reserved: 0, taken: vec![false; count], waiting: vec![0; count] }
    }

    /// Whether neither a measurement nor anything else has a core.
    fn is_free(&self, core: usize) -> bool {
        core >= self.reserved && !self.taken[core]
    }
}

/// Cores that belong to a measurement until this is dropped.
#[derive(Debug)]
pub struct Reserved<'a>(&'a Cores);

/// A core that some work has until this is dropped, also by a panic.
struct Taken<'a> {
    cores: &'a Cores,
    core: usize,
}

impl Cores {
    /// Those that this process may use; at least one.
    pub fn of_process() -> Cores {
        let ids = affinity::allowed();
        let state = Mutex::new(State::of(ids.len()));
        Cores { ids, state, changed: Condvar::new() }
    }

    /// So many of no machine: all are the first one.
    #[cfg(test)]
    pub(crate) fn several(count: usize) -> Cores {
        let state = Mutex::new(State::of(count));
        Cores { ids: vec![affinity::allowed()[0]; count], state, changed: Condvar::new() }
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
        drop(self.changed.wait_while(state, |state| state.taken[..state.reserved].contains(&true)));
        Reserved(self)
    }

    /// Does some work of a compiler on a core (its position), as soon as neither a measurement nor another compiler has it.
    pub(super) fn compile<T>(&self, core: usize, work: impl FnOnce() -> T) -> T {
        let mut state = lock(&self.state);
        state.waiting[core] += 1;
        let mut state = self.wait(state, |state| state.is_free(core));
        state.waiting[core] -= 1;
        let _taken = self.take(state, core);
        work()
    }

    /// Does some work on each of many items, on all cores, as long as neither a measurement nor a compiler wants them: what is under way
    /// there is waited for, so that it should be short. Nothing is begun once `stop` is set. The results, in the order of the items.
    pub fn each<T: Send, R: Send>(&self, items: Vec<T>, stop: &AtomicBool, work: impl Fn(T) -> R + Sync) -> Vec<R> {
        let items = Mutex::new(items.into_iter().enumerate());
        let results = Mutex::new(Vec::new());
        let next = |core: usize| {
            let free = |state: &State| state.is_free(core) && state.waiting[core] == 0;
            let _taken = self.take(self.wait(lock(&self.state), free), core);
            let (at, item) = lock(&items).next().filter(|_| !stop.load(Ordering::Relaxed))?;
            let result = work(item);
            lock(&results).push((at, result));
            Some(())
        };
        std::thread::scope(|scope| {
            for core in 0..self.count() {
                let next = &next;
                scope.spawn(move || {
                    self.settle_on(core);
                    while next(core).is_some() {}
                });
            }
        });
        let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
        results.sort_by_key(|(at, _)| *at);
        results.into_iter().map(|(_, result)| result).collect()
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>, until: impl Fn(&State) -> bool) -> MutexGuard<'a, State> {
        self.changed.wait_while(state, |state| !until(state)).unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, mut state: MutexGuard<'_, State>, core: usize) -> Taken<'_> {
        state.taken[core] = true;
        Taken { cores: self, core }
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
        lock(&self.cores.state).taken[self.core] = false;
        self.cores.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn nobody_compiles_on_the_cores_of_a_measurement() {
        let (cores, begun, stop) = (Cores::several(3), [0; 3].map(AtomicUsize::new), AtomicBool::new(false));
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
        let (cores, running) = (Cores::several(1), AtomicUsize::new(0));
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
        let cores = Cores::several(1);
        let work = std::panic::AssertUnwindSafe(|| cores.compile(0, || panic!("out of order")));
        assert!(std::panic::catch_unwind(work).is_err());
        drop(cores.reserve(1));
    }

    /// What else is computed begins on no core of a measurement, and lets compilers that wait have theirs first.
    #[test]
    fn what_else_is_computed_takes_what_nobody_wants() {
        let (cores, stop, is_measuring) = (Cores::several(1), AtomicBool::new(false), AtomicBool::new(true));
        let seen = Mutex::new(Vec::new());
        let compute = || {
            cores.each(vec!["computed"; 2], &stop, |item| lock(&seen).push((item, is_measuring.load(Ordering::SeqCst))))
        };
        let alone = cores.reserve(1);
        std::thread::scope(|scope| {
            scope.spawn(compute);
            std::thread::sleep(Duration::from_millis(20));
            is_measuring.store(false, Ordering::SeqCst);
            drop(alone);
        });
        assert_eq!(std::mem::take(&mut *lock(&seen)), [("computed", false); 2]);
        std::thread::scope(|scope| {
            cores.compile(0, || {
                scope.spawn(|| cores.compile(0, || lock(&seen).push(("compiled", false))));
                while lock(&cores.state).waiting[0] == 0 {
                    std::thread::yield_now();
                }
                scope.spawn(compute);
                std::thread::sleep(Duration::from_millis(20));
            });
        });
        assert_eq!(*lock(&seen), [("compiled", false), ("computed", false), ("computed", false)]);
    }

    #[test]
    fn nothing_else_is_computed_once_it_is_stopped_and_results_keep_their_order() {
        let (cores, stop) = (Cores::several(3), AtomicBool::new(false));
        assert_eq!(cores.each((0..50).collect(), &stop, |n| 2 * n), (0..100).step_by(2).collect::<Vec<i32>>());
        let until = |last: i32| {
            Cores::several(1).each((0..50).collect(), &stop, |n| stop.store(n == last, Ordering::SeqCst)).len()
        };
        assert_eq!(until(3), 4);
        assert!(cores.each(vec![0; 9], &stop, |n| n).is_empty());
    }

    #[test]
    fn more_threads_than_cores_are_all_cores() {
        let cores = Cores::several(2);
        drop(cores.reserve(5));
        assert_eq!((cores.first(5).len(), cores.first(0).len(), cores.count()), (2, 1, 2));
        assert_eq!(cores.apart(5), 1, "both are the same one");
    }
}
