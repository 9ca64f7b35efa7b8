//! Times implementations by turns, so that whatever drifts, drifts under all of them.

use std::time::{Duration, Instant};

use super::callable::{Arguments, Callable};
use super::foreign::{Watch, are_starved, own_cpu_time};
use crate::measure::{Disturbance, Failure, Timing};
use crate::runtime::rest;

/// A sample spans at least this long; calls that are shorter are made several at a time.
const SAMPLE: Duration = Duration::from_millis(1);

/// The same on several threads, which take long to warm up.
const SHARED_SAMPLE: Duration = Duration::from_millis(10);

/// Calls longer than this warm their own caches.
const LONG: Duration = Duration::from_millis(20);

/// After so long, a system has given each thread that slept a core. One that saves power, or shares its cores with other
/// machines, first wakes them where their caller runs, and moves them when it has seen that they have much to do.
const AWAKE: Duration = Duration::from_millis(30);

/// However short the calls, a comparison ends after so many rounds, unless more were asked for.
const MOST_ROUNDS: usize = 200;

/// An implementation in the rounds, with what it took so far.
pub(super) struct Entry<'a> {
    pub(super) callable: &'a Callable,
    /// The call that was checked, in seconds.
    pub(super) first: f64,
    /// Seconds per call, one entry per round.
    pub(super) seconds: Vec<f64>,
}

impl Entry<'_> {
    /// How many calls are one sample.
    fn calls(&self, threads: usize) -> usize {
        (span(threads) / self.first.max(1e-9)).ceil().clamp(1.0, 1000.0) as usize
    }

    /// Calls it so that its data is in the caches and, if there are several threads, so long that all have a core.
    fn warm_up(&self, arguments: &Arguments<'_>) -> Result<(), Failure> {
        let start = Instant::now();
        if self.first < LONG.as_secs_f64() {
            self.callable.call(arguments)?;
        }
        while arguments.threads > 1 && start.elapsed() < AWAKE {
            self.callable.call(arguments)?;
        }
        Ok(())
    }

    /// One sample.
    fn sample(&self, arguments: &Arguments<'_>) -> Result<Taken, Failure> {
        rest();
        if arguments.threads > 1 {
            settle();
        }
        self.warm_up(arguments)?;
        let calls = self.calls(arguments.threads);
        let (start, own) = (Instant::now(), own_cpu_time());
        for _ in 0..calls {
            self.callable.call(arguments)?;
        }
        let (elapsed, own) = (start.elapsed(), own_cpu_time().saturating_sub(own));
        let starved = self.callable.keeps_busy() && are_starved(arguments.threads, elapsed, own);
        Ok(Taken { seconds: elapsed.as_secs_f64() / calls as f64, starved })
    }
}

/// What a sample came to.
struct Taken {
    /// Per call.
    seconds: f64,
    /// Whether threads that had work all the time did not have their cores.
    starved: bool,
}

/// How long a sample is at least, in seconds.
fn span(threads: usize) -> f64 {
    if threads > 1 { SHARED_SAMPLE.as_secs_f64() } else { SAMPLE.as_secs_f64() }
}

/// About how long [`run`] takes for one implementation whose calls take `first` seconds.
pub(super) fn estimate(first: f64, threads: usize, timing: &Timing) -> f64 {
    let warm_up = if threads > 1 { AWAKE.as_secs_f64() } else { 0.0 };
    let sample = first.max(span(threads)) + if first < LONG.as_secs_f64() { first } else { 0.0 };
    (timing.rounds as f64 * (warm_up + sample)).max(2.0 * timing.seconds)
}

/// Runs the rounds; gives in how many of them others used the cores. Those are repeated, at most as many as
/// are asked for; on a machine that is always in use all samples count.
pub(super) fn run(
    entries: &mut [Entry<'_>],
    arguments: &Arguments<'_>,
    timing: &Timing,
) -> Result<Disturbance, Failure> {
    let mut disturbed: Vec<Vec<f64>> = Vec::new();
    let mut clean = 0;
    while !entries.is_empty()
        && clean + disturbed.len() < timing.rounds.max(MOST_ROUNDS)
        && !enough(entries, arguments.threads, timing)
    {
        let watch = Watch::start();
        let taken: Vec<Taken> = entries.iter().map(|e| e.sample(arguments)).collect::<Result<_, _>>()?;
        let samples = taken.iter().map(|taken| taken.seconds).collect();
        if watch.disturbed() || taken.iter().any(|taken| taken.starved) {
            disturbed.push(samples);
            if disturbed.len() > timing.rounds {
                break;
            }
            continue;
        }
        add(entries, &samples);
        clean += 1;
    }
    if clean * 2 < timing.rounds {
        disturbed.iter().for_each(|samples| add(entries, samples));
    }
    let [clean, disturbed] = [clean, disturbed.len()].map(|rounds| u32::try_from(rounds).unwrap_or(u32::MAX));
    Ok(Disturbance { clean, disturbed })
}

fn add(entries: &mut [Entry<'_>], samples: &[f64]) {
    for (entry, seconds) in entries.iter_mut().zip(samples) {
        entry.seconds.push(*seconds);
    }
}

/// Whether every implementation was timed often and long enough.
fn enough(entries: &[Entry<'_>], threads: usize, timing: &Timing) -> bool {
    entries.iter().all(|entry| {
        let spent: f64 = entry.seconds.iter().sum::<f64>() * entry.calls(threads) as f64;
        entry.seconds.len() >= timing.rounds && spent >= timing.seconds
    })
}

/// Waits until the threads of the last call sleep: some libraries' threads spin for a while, and would take the cores from the next
/// call.
fn settle() {
    for _ in 0..200 {
        let before = own_cpu_time();
        std::thread::sleep(Duration::from_millis(1));
        if own_cpu_time().saturating_sub(before) < Duration::from_micros(200) {
            return;
        }
    }
}
