//! Does a piece of work for each of many items, several at a time.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// What a mutex guards, which is whole after a panic too.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How many threads this process can run at once, as the system says when it is first asked.
pub fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from))
}

/// The results, in the order of the items, of up to `at_once` threads.
#[cfg(feature = "compiler")]
pub fn each<T: Send, R: Send>(items: Vec<T>, at_once: usize, work: impl Fn(T) -> R + Sync) -> Vec<R> {
    let threads = at_once.clamp(1, items.len().max(1));
    let items = Mutex::new(items.into_iter().enumerate());
    let results = Mutex::new(Vec::new());
    let take = || lock(&items).next();
    let work = || {
        while let Some((at, item)) = take() {
            let result = work(item);
            lock(&results).push((at, result));
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
    let mut results = results.into_inner().expect("no thread panics while it holds this");
    results.sort_by_key(|(at, _)| *at);
    results.into_iter().map(|(_, result)| result).collect()
}

#[cfg(all(test, feature = "compiler"))]
mod tests {
    use super::each;

    #[test]
    fn results_keep_the_order_of_the_items() {
        for at_once in [0, 1, 3, 100] {
            assert_eq!(each((0..50).collect(), at_once, |n| 2 * n), (0..100).step_by(2).collect::<Vec<i32>>());
        }
        assert!(each(Vec::<i32>::new(), 4, |n| n).is_empty());
    }
}
