//! How much is tried, and where random numbers start: the variables of the environment that tests read.

use std::time::{SystemTime, UNIX_EPOCH};

/// The number that a variable holds.
fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is `{text}`, expected a number")))
}

/// Whether `DIETCODE_ALL=1` asks for everything, instead of a part that changes from day to day.
pub(crate) fn all() -> bool {
    std::env::var_os("DIETCODE_ALL").is_some_and(|value| value == "1")
}

/// So many, or all if everything is asked for.
pub(crate) fn count(some: usize, all_of_them: usize) -> usize {
    if all() { all_of_them } else { some }
}

/// `DIETCODE_CASES`, or so many.
pub(crate) fn cases(some: usize, all_of_them: usize) -> usize {
    number("DIETCODE_CASES").map_or_else(|| count(some, all_of_them), |cases| cases as usize)
}

/// `DIETCODE_SEED`, or the same seed each time.
pub(crate) fn seed_or(fixed: u64) -> u64 {
    number("DIETCODE_SEED").unwrap_or(fixed)
}

/// `DIETCODE_SEED`, or the number of the day; printed, so that a failure can be repeated.
pub(crate) fn seed_of_the_day() -> u64 {
    let day = || SystemTime::now().duration_since(UNIX_EPOCH).expect("it is after 1970").as_secs() / 86_400;
    let seed = number("DIETCODE_SEED").unwrap_or_else(day);
    println!("DIETCODE_SEED={seed}");
    seed
}
