//! Times implementations [by turns](super::super::turns). A sample during which a thread lost its core is taken again at once. That has
//! an end: who has fewer samples by then than were asked for has no figure.

use std::time::{Duration, Instant};

use super::callable::{Arguments, Callable};
use super::eviction::Eviction;
use super::foreign::{Watch, own_cpu_time};
use crate::config::Cache;
use crate::measure::turns::by_turns;
use crate::measure::{Failure, Timing};
use crate::runtime::{forget_short_calls, rest};

/// A sample spans at least this long; calls that are shorter are made several at a time.
const SAMPLE: Duration = Duration::from_millis(1);

/// The same on several threads, which wait for each other in each call.
const SHARED_SAMPLE: Duration = Duration::from_millis(4);

/// A sample has no more calls than these, which take 10 ms where one does nothing.
const MOST_CALLS: usize = 1 << 20;

/// So many times as many calls are timed at most to find out how many are a sample.
const MORE_CALLS: f64 = 16.0;

/// What is timed to find that out, and is not clean, is timed again until it was so many times.
const ATTEMPTS: usize = 3;

/// Calls longer than this warm their own caches.
const LONG: Duration = Duration::from_millis(20);

/// After so long, a system has given each thread of a library that slept a core. One that saves power, or shares its cores with other
/// machines, first wakes them where their caller runs, and moves them when it has seen that they have much to do. Helpers of the
/// runtime have cores of their own from the first call on.
const AWAKE: Duration = Duration::from_millis(30);

/// However short the calls, so many samples are enough, unless more were asked for.
const MOST_ROUNDS: usize = 200;

/// So many are enough where caches are emptied before each, which takes longer than most calls.
const MOST_COLD_ROUNDS: usize = 20;

/// Where few samples of one that is timed alone lie so far apart, more are taken: nobody took a core, and yet a machine that is shared, or
/// has just given the process its memory, made some of them several times as long.
const APART: f64 = 1.25;
/// So many at the most, as long as those behind what was asked for begin within this time.
const STEADY_ROUNDS: usize = 8;
const STEADY: Duration = Duration::from_millis(50);

/// Samples that are not clean may take so many times as long as those that are take where nobody disturbs them, and some seconds more.
const PATIENCE: f64 = 8.0;
const PATIENCE_SECONDS: f64 = 0.5;

/// How long caches take to be emptied at the most, in seconds, and for each byte of the operands.
const EVICTING: (f64, f64) = (0.1, 4e-9);

/// An implementation in the rounds.
pub(super) struct Entry<'a> {
    callable: &'a Callable,
    /// The call that was checked, in seconds.
    first: f64,
    /// A sample that was taken already.
    timed: Option<f64>,
    /// How long samples may still take that are not clean.
    patience: Duration,
    /// How long those take that are, and all that belongs to them.
    quiet: Duration,
}

impl<'a> Entry<'a> {
    /// One whose checked call took `first` seconds.
    pub(super) fn new(callable: &'a Callable, first: f64, arguments: &Arguments<'_>, timing: &Timing) -> Entry<'a> {
        let threads = arguments.threads;
        let warm_up = if threads > 1 && callable.has_own_threads() { AWAKE.as_secs_f64() } else { 0.0 };
        let sample = first.max(span(threads)) + if first < LONG.as_secs_f64() { first } else { 0.0 };
        let evicting = if timing.cache == Cache::Cold {
            EVICTING.0 + EVICTING.1 * arguments.tensors.footprint() as f64
        } else {
            0.0
        };
        let quiet = (timing.rounds as f64 * (warm_up + evicting + sample)).max(2.0 * timing.seconds);
        let [quiet, patience] = [quiet, PATIENCE * quiet + PATIENCE_SECONDS]
            .map(|seconds| Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX));
        Entry { callable, first, timed: None, patience, quiet }
    }

    /// How long its samples take at most, but for one that is under way then.
    pub(super) fn limit(&self) -> Duration {
        self.quiet.saturating_mul(2).saturating_add(self.patience)
    }

    /// How many calls are one sample. With cold caches each is one, and where nothing is timed none is made. The call that was checked was
    /// the first to touch its memory and its code, which may take milliseconds, so that it says nothing of a short one. If as many were
    /// timed last, and nobody disturbed them, they are the first sample.
    fn calls(&mut self, turns: &mut Turns<'_>, timing: &Timing, is_warm: bool) -> Result<usize, Failure> {
        let is_checked_only = timing.rounds == 0 && timing.seconds <= 0.0;
        if is_checked_only || timing.cache == Cache::Cold || self.first >= LONG.as_secs_f64() {
            return Ok(1);
        }
        rest();
        if turns.threads() > 1 {
            settle();
        }
        if !is_warm {
            self.warm_up(turns)?;
        }
        let mut last = None;
        let calls = calls_of(span(turns.threads()), |calls| {
            let mut least = f64::INFINITY;
            for _ in 0..ATTEMPTS {
                let (watch, start) = (Watch::start(), Instant::now());
                (0..calls).try_for_each(|_| self.callable.call(turns.next()))?;
                let seconds = start.elapsed().as_secs_f64();
                least = least.min(seconds);
                last = watch.is_clean().then_some((calls, seconds));
                if last.is_some() {
                    break;
                }
            }
            Ok(least)
        })?;
        self.timed = last.filter(|(timed, _)| *timed == calls).map(|(_, seconds)| seconds / calls as f64);
        Ok(calls)
    }

    /// Calls it so that its data is in the caches, as far as its calls have the same, and so long that all its threads have a core.
    fn warm_up(&self, turns: &mut Turns<'_>) -> Result<(), Failure> {
        let start = Instant::now();
        if self.first < LONG.as_secs_f64() {
            self.callable.call(turns.next())?;
        }
        while turns.threads() > 1 && self.callable.has_own_threads() && start.elapsed() < AWAKE {
            self.callable.call(turns.next())?;
        }
        Ok(())
    }

    /// A clean sample, in seconds per call; none when its patience is over. It needs no warm-up where it was called just before.
    fn sample(
        &mut self,
        turns: &mut Turns<'_>,
        calls: usize,
        eviction: Option<&Eviction>,
        mut is_warm: bool,
    ) -> Result<Option<f64>, Failure> {
        loop {
            let begun = Instant::now();
            rest();
            if turns.threads() > 1 {
                settle();
            }
            if !std::mem::take(&mut is_warm) {
                self.warm_up(turns)?;
            }
            if let Some(eviction) = eviction {
                eviction.evict(turns.all[0].tensors);
                // How long it takes in warm caches says nothing of this call.
                forget_short_calls();
            }
            let (watch, start) = (Watch::start(), Instant::now());
            for _ in 0..calls {
                self.callable.call(turns.next())?;
            }
            let elapsed = start.elapsed();
            if watch.is_clean() {
                return Ok(Some(elapsed.as_secs_f64() / calls as f64));
            }
            self.patience = self.patience.saturating_sub(begun.elapsed());
            if self.patience.is_zero() {
                return Ok(None);
            }
        }
    }
}

/// The arguments of calls, which take turns.
struct Turns<'a> {
    all: &'a [Arguments<'a>],
    next: usize,
}

impl<'a> Turns<'a> {
    fn next(&mut self) -> &'a Arguments<'a> {
        let arguments = &self.all[self.next];
        self.next = (self.next + 1) % self.all.len();
        arguments
    }

    fn threads(&self) -> usize {
        self.all[0].threads
    }
}

/// How long a sample is at least, in seconds.
fn span(threads: usize) -> f64 {
    if threads > 1 { SHARED_SAMPLE.as_secs_f64() } else { SAMPLE.as_secs_f64() }
}

/// How many calls take so many seconds, by the time that numbers of them take.
fn calls_of<E>(span: f64, mut time: impl FnMut(usize) -> Result<f64, E>) -> Result<usize, E> {
    let most = MOST_CALLS as f64;
    let mut calls = 1.0;
    loop {
        let more = span / time(calls as usize)?.max(1e-9);
        // The fewer there are, the less their time says.
        let next = (calls * more.min(MORE_CALLS)).ceil().clamp(1.0, most);
        if more <= 2.0 || calls == most {
            return Ok(next as usize);
        }
        calls = next;
    }
}

/// Takes samples, in calls with one of some arguments after the other, until each implementation was timed often and long enough: seconds
/// per call of each, fewer than were asked for of those that others disturbed for too long.
pub(super) fn run(
    entries: &mut [Entry<'_>],
    arguments: &[Arguments<'_>],
    timing: &Timing,
) -> Result<Vec<Vec<f64>>, Failure> {
    let threads = arguments[0].threads;
    let mut turns = Turns { all: arguments, next: 1 % arguments.len() };
    // Between the calls of one that is timed alone on one thread nothing happens, unless its first call was checked.
    let is_alone = entries.len() == 1 && threads == 1;
    let mut is_warm = is_alone && timing.unchecked;
    let calls = entries.iter_mut().map(|entry| entry.calls(&mut turns, timing, is_warm));
    let calls: Vec<usize> = calls.collect::<Result<_, _>>()?;
    if !is_alone {
        // Theirs are taken by turns.
        entries.iter_mut().for_each(|entry| entry.timed = None);
    }
    let eviction = (timing.cache == Cache::Cold).then(|| Eviction::new(threads));
    let most = if timing.cache == Cache::Cold { MOST_COLD_ROUNDS } else { MOST_ROUNDS };
    let goes_on = |at: usize, samples: &[f64]| {
        let is_short = || samples.iter().sum::<f64>() * (calls[at] as f64) < timing.seconds;
        samples.len() < timing.rounds || samples.len() < most && is_short()
    };
    let mut all = by_turns(entries.len(), goes_on, |at| {
        if let Some(seconds) = entries[at].timed.take() {
            return Ok(Some(seconds));
        }
        let is_warm = std::mem::replace(&mut is_warm, is_alone);
        entries[at].sample(&mut turns, calls[at], eviction.as_ref(), is_warm)
    })?;
    if let ([entry], [samples], None) = (entries, &mut all[..], &eviction) {
        entry.patience = entry.patience.min(STEADY);
        steady(samples, Instant::now() + STEADY, || entry.sample(&mut turns, calls[0], None, is_alone))?;
    }
    Ok(all)
}

/// Adds samples to those that are few and far apart, until there are enough, one is none, or the time is over.
fn steady<E>(
    samples: &mut Vec<f64>,
    until: Instant,
    mut sample: impl FnMut() -> Result<Option<f64>, E>,
) -> Result<(), E> {
    while are_apart(samples) && Instant::now() < until {
        let Some(seconds) = sample()? else { break };
        samples.push(seconds);
    }
    Ok(())
}

/// Whether samples are few, and too far apart for their median to say much.
fn are_apart(samples: &[f64]) -> bool {
    let [least, most] = [f64::min, f64::max].map(|of| samples.iter().copied().reduce(of).unwrap_or_default());
    (1..STEADY_ROUNDS).contains(&samples.len()) && most > APART * least
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_has_the_calls_that_its_span_takes_however_long_the_first_ones_are() {
        for (seconds, expected) in [(5e-8, 20_000), (3e-7, 3334), (4e-4, 3), (6e-4, 2), (0.01, 1), (0.0, MOST_CALLS)] {
            // What is called for the first time takes 30 µs more, and a clock has ticks.
            let time = |calls: usize| Ok::<_, ()>(seconds * calls as f64 + if calls == 1 { 3e-5 } else { 0.0 });
            let calls = calls_of(1e-3, time).unwrap();
            assert!(calls.abs_diff(expected) <= 1 + expected / 10, "{seconds}: {calls}");
        }
        assert_eq!(calls_of(1e-3, |_| Err("hung")), Err("hung"));
    }

    #[test]
    fn few_samples_that_differ_are_not_enough() {
        assert!(!are_apart(&[]) && !are_apart(&[2.0]) && !are_apart(&[2.0, 2.4]));
        assert!(are_apart(&[2.0, 2.6]) && are_apart(&[7.0, 1.0, 1.0, 1.0]));
        assert!(!are_apart(&[[1.0, 7.0]; 4].concat()), "as many as are taken for that");
    }

    #[test]
    fn few_samples_that_differ_have_more_behind_them() {
        let later = Instant::now() + Duration::from_secs(3600);
        let taken = |mut samples: Vec<f64>, until, mut more: Vec<Result<Option<f64>, &'static str>>| {
            let end = steady(&mut samples, until, || more.pop().expect("as many as are asked for"));
            (samples, end, more.len())
        };
        let (apart, enough) = (vec![2.0, 7.0], [Ok(Some(3.0)); 7].to_vec());
        let eight = [vec![2.0, 7.0], vec![3.0; 6]].concat();
        assert_eq!(taken(apart.clone(), later, enough.clone()), (eight, Ok(()), 1), "as many as are enough");
        assert_eq!(taken(vec![2.0, 2.4], later, enough.clone()), (vec![2.0, 2.4], Ok(()), 7), "they are near");
        assert_eq!(taken(apart.clone(), Instant::now(), enough), (apart.clone(), Ok(()), 7), "the time is over");
        let one_is_clean = vec![Ok(Some(9.0)), Ok(None), Ok(Some(3.0))];
        assert_eq!(taken(apart.clone(), later, one_is_clean), (vec![2.0, 7.0, 3.0], Ok(()), 1), "nobody is disturbed");
        assert_eq!(taken(apart.clone(), later, vec![Err("hung")]), (apart, Err("hung"), 0));
    }
}
