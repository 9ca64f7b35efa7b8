//! What is known of calls, by their keys: a table that grows and never moves, so that a look-up takes no lock and writes nothing.

use std::ptr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use super::key::Key;
use super::report::Report;
use crate::parallel::lock;

/// The upper bits of the hash say in which list a key is.
const BITS: u32 = 10;

/// More keys than this are not kept: a program that never meets a shape twice has nothing to gain.
const MOST: usize = 1 << 16;

/// Nothing was looked up or tried.
pub(super) const NEW: u64 = u64::MAX;
/// Nothing is known of it, and nobody is tuning it.
pub(super) const UNTUNED: u64 = u64::MAX - 1;
/// Somebody is at it, in the process whose number is added.
const TUNING: u64 = 1 << 63;

/// The entries of one operation. None is removed before the operation is dropped.
pub(super) struct Known {
    lists: Box<[Link]>,
    entries: AtomicUsize,
}

type Link = AtomicPtr<Entry>;

/// What is known of the calls of one key.
pub(super) struct Entry {
    words: Box<[u64]>,
    /// The chosen candidate, or one of the above.
    state: AtomicU64,
    report: Mutex<Option<Report>>,
    /// When a race among its candidates has ended, in milliseconds; 0: it has not.
    raced: AtomicU64,
    /// Calls that have met it and were not tuned.
    misses: AtomicU64,
    next: Link,
}

/// The right to say what is known of one key. If it is dropped, by a panic too, the default is chosen.
pub(super) struct Tuning<'a> {
    entry: &'a Entry,
    state: u64,
}

impl Known {
    pub(super) fn new() -> Known {
        Known { lists: (0..1 << BITS).map(|_| Link::default()).collect(), entries: AtomicUsize::new(0) }
    }

    fn list(&self, key: &Key) -> &Link {
        &self.lists[(key.hash() >> (u64::BITS - BITS)) as usize]
    }

    /// The entry of a key.
    #[inline]
    pub(super) fn get(&self, key: &Key) -> Option<&Entry> {
        let words = key.words()?;
        let mut link = self.list(key);
        while let Some(entry) = follow(link) {
            if *entry.words == *words {
                return Some(entry);
            }
            link = &entry.next;
        }
        None
    }

    /// The same; a new one if there is none. Nothing if there are too many.
    pub(super) fn entry(&self, key: &Key) -> Option<&Entry> {
        if let Some(entry) = self.get(key) {
            return Some(entry);
        }
        if self.entries.fetch_add(1, Ordering::Relaxed) >= MOST {
            self.entries.fetch_sub(1, Ordering::Relaxed);
            return None;
        }
        let state = AtomicU64::new(NEW);
        let new = Entry {
            words: key.words()?.into(),
            state,
            report: Mutex::default(),
            raced: AtomicU64::new(0),
            misses: AtomicU64::new(0),
            next: Link::default(),
        };
        let new = Box::into_raw(Box::new(new));
        let mut link = self.list(key);
        loop {
            match link.compare_exchange(ptr::null_mut(), new, Ordering::AcqRel, Ordering::Acquire) {
                // SAFETY: the entry is in the table now, which frees it when it is dropped itself.
                Ok(_) => return Some(unsafe { &*new }),
                Err(_) => match follow(link) {
                    Some(entry) if Some(&*entry.words) == key.words() => {
                        // Another thread was faster.
                        self.entries.fetch_sub(1, Ordering::Relaxed);
                        // SAFETY: nobody has seen the new entry.
                        drop(unsafe { Box::from_raw(new) });
                        return Some(entry);
                    }
                    Some(entry) => link = &entry.next,
                    None => {}
                },
            }
        }
    }

    /// What tuning has found, in no order.
    pub(super) fn reports(&self) -> Vec<Report> {
        let mut reports = Vec::new();
        for list in &self.lists {
            let mut link = list;
            while let Some(entry) = follow(link) {
                reports.extend(lock(&entry.report).clone());
                link = &entry.next;
            }
        }
        reports
    }
}

#[inline]
fn follow(link: &Link) -> Option<&Entry> {
    // SAFETY: an entry was put there by `Known::entry`, and lives as long as the table that this link is a part of.
    unsafe { link.load(Ordering::Acquire).as_ref() }
}

impl Drop for Known {
    fn drop(&mut self) {
        for list in &mut self.lists {
            let mut next = *list.get_mut();
            while !next.is_null() {
                // SAFETY: `Known::entry` has made it of a box; nobody can see the table any more.
                next = *unsafe { Box::from_raw(next) }.next.get_mut();
            }
        }
    }
}

impl Entry {
    /// The candidate that was chosen, if tuning has ended.
    #[inline]
    pub(super) fn chosen(&self) -> Option<usize> {
        Some(self.state.load(Ordering::Acquire)).filter(|state| *state < TUNING).map(|chosen| chosen as usize)
    }

    /// Has calls run another candidate from now on, if they run any.
    pub(super) fn choose(&self, candidate: usize) {
        let is_chosen = |state: u64| (state < TUNING).then_some(candidate as u64);
        let _ = self.state.fetch_update(Ordering::AcqRel, Ordering::Relaxed, is_chosen);
    }

    /// Whether no race has ended, or one did so long ago.
    pub(super) fn may_be_raced(&self, now: Duration, rest: Duration) -> bool {
        let raced = self.raced.load(Ordering::Relaxed);
        raced == 0 || now.saturating_sub(Duration::from_millis(raced)) >= rest
    }

    /// A race has ended.
    pub(super) fn has_raced(&self, now: Duration, report: Option<Report>) {
        self.raced.store((now.as_millis() as u64).max(1), Ordering::Relaxed);
        if report.is_some() {
            *lock(&self.report) = report;
        }
    }

    /// Whether it is in a state, [`NEW`] or [`UNTUNED`].
    pub(super) fn is(&self, state: u64) -> bool {
        let found = self.state.load(Ordering::Acquire);
        if (TUNING..UNTUNED).contains(&found) && found != tuning() {
            // This process was forked, and nobody in it goes on with what a thread of its parent was at.
            let _ = self.state.compare_exchange(found, UNTUNED, Ordering::AcqRel, Ordering::Relaxed);
            return state == UNTUNED;
        }
        found == state
    }

    /// Counts a call that was not tuned. At the first one, and at each power of 16 after it, how many there were since the last time.
    pub(super) fn miss(&self) -> Option<u64> {
        let misses = self.misses.fetch_add(1, Ordering::Relaxed) + 1;
        let is_told = misses.is_power_of_two() && misses.ilog2().is_multiple_of(4);
        is_told.then_some(misses - misses / 16)
    }

    /// The right to look it up or to tune it, if it is in a state, [`NEW`] or [`UNTUNED`].
    pub(super) fn begin(&self, state: u64, default: usize) -> Option<Tuning<'_>> {
        let begun = self.state.compare_exchange(state, tuning(), Ordering::AcqRel, Ordering::Relaxed);
        // Only then: a right that is dropped decides.
        begun.is_ok().then(|| Tuning { entry: self, state: default as u64 })
    }
}

/// The state of what a thread of this process is at.
fn tuning() -> u64 {
    TUNING + u64::from(std::process::id())
}

impl Tuning<'_> {
    /// Ends it.
    pub(super) fn end(mut self, chosen: usize, report: Report) {
        self.state = chosen as u64;
        *lock(&self.entry.report) = Some(report);
    }

    /// Leaves the key to be tuned by a later call.
    pub(super) fn leave(mut self) {
        self.state = UNTUNED;
    }
}

impl Drop for Tuning<'_> {
    fn drop(&mut self) {
        self.entry.state.store(self.state, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_comes_second_decides_nothing() {
        let mut key = Key::new();
        key.add("N", 1);
        let known = Known::new();
        let entry = known.entry(&key).unwrap();
        let right = entry.begin(NEW, 0).unwrap();
        assert!(entry.begin(NEW, 0).is_none() && entry.begin(UNTUNED, 0).is_none());
        assert_eq!(entry.chosen(), None, "who has the right is still at it");
        right.leave();
        assert!(entry.begin(NEW, 0).is_none() && entry.is(UNTUNED));
        drop(entry.begin(UNTUNED, 3));
        assert_eq!(entry.chosen(), Some(3));
    }
}
