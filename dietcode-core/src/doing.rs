//! The long steps that are under way in this process, for messages to people who wait for it.
//!
//! Code that may take seconds registers what it does while it does it; a command prints that where it has printed nothing for a while.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::parallel::lock;

/// Something that is being done until this is dropped.
#[derive(Debug)]
#[must_use = "it is over at once"]
pub struct Doing(u64);

#[derive(Debug)]
struct Entry {
    id: u64,
    what: String,
    since: Instant,
}

/// In the order in which they were begun.
static UNDER_WAY: Mutex<Vec<Entry>> = Mutex::new(Vec::new());

/// Says what is being done from now on: words such as "computing the reference of `dense` at [64, 768]".
pub fn doing(what: impl Into<String>) -> Doing {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let entry = Entry { id: NEXT.fetch_add(1, Ordering::Relaxed), what: what.into(), since: Instant::now() };
    let id = entry.id;
    lock(&UNDER_WAY).push(entry);
    Doing(id)
}

/// What was begun and is not over, and how long ago: the innermost of those that began at least `worth` ago, else what was begun last.
pub fn now_doing(worth: Duration) -> Option<(String, Duration)> {
    let under_way = lock(&UNDER_WAY);
    let told = |entry: &Entry| (entry.what.clone(), entry.since.elapsed());
    let long = under_way.iter().rev().map(told).find(|(_, since)| *since >= worth);
    long.or_else(|| under_way.last().map(told))
}

impl Drop for Doing {
    fn drop(&mut self) {
        lock(&UNDER_WAY).retain(|entry| entry.id != self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_begun_last_is_told_until_it_is_over() {
        // Other tests do things at the same time.
        let told = || {
            lock(&UNDER_WAY)
                .iter()
                .filter(|entry| entry.what.starts_with("testing"))
                .map(|e| e.what.clone())
                .next_back()
        };
        let outer = doing("testing all");
        let inner = doing("testing a part");
        assert_eq!(told().as_deref(), Some("testing a part"));
        drop(inner);
        assert_eq!(told().as_deref(), Some("testing all"));
        drop(outer);
        assert_eq!(told(), None);
    }

    #[test]
    fn a_short_step_is_told_where_nothing_around_it_is_long() {
        let _outer = doing("trying for long");
        std::thread::sleep(Duration::from_millis(20));
        let _inner = doing("trying for a moment");
        // What other tests began may stand in between.
        let told = |worth| now_doing(worth).map(|(_, since)| since);
        assert!(told(Duration::from_millis(20)).unwrap() >= Duration::from_millis(20));
        assert!(told(Duration::from_secs(3600)).is_some(), "the last one, however short");
    }
}
