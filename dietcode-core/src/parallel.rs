//! Does a piece of work for each of many items, several at a time.

use std::sync::Mutex;

/// The results, in the order of the items, of up to `at_once` threads.
pub fn each<T: Send, R: Send>(items: Vec<T>, at_once: usize, work: impl Fn(T) -> R + Sync) -> Vec<R> {
    let threads = at_once.clamp(1, items.len().max(1));
    let items = Mutex::new(items.into_iter().enumerate());
    let results = Mutex::new(Vec::new());
    let take = || items.lock().expect("no thread panics while it holds this").next();
    let work = || {
        while let Some((at, item)) = take() {
            let result = work(item);
            results.lock().expect("no thread panics while it holds this").push((at, result));
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

#[cfg(test)]
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
