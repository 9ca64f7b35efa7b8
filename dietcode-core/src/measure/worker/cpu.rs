//! Checks and times implementations on the CPU.

use std::time::Instant;

use super::callable::{Arguments, Callable};
use super::expected::Expected;
use super::foreign::Watch;
use super::prepared::{Keep, Kept};
use super::rounds::{self, Entry};
use super::tensors::Tensors;
use super::{Tell, Trouble, Worker, misdirected};
use crate::config::Cache;
use crate::machine::last_level;
use crate::measure::baselines::BlasLibrary;
use crate::measure::protocol::{Event, Request};
use crate::measure::{Failure, Job, Linked, Measured, Sample, physical_memory};
use crate::{Error, Result};

/// Instances stay prepared up to this much memory.
const PREPARED_BYTES: u64 = 1 << 30;

/// Has the CPU.
pub(super) struct CpuWorker<'a> {
    linked: &'a dyn Linked,
    prepared: Kept<Prepared>,
}

/// An instance's inputs and what its output must be.
struct Prepared {
    tensors: Tensors,
    /// Nothing as long as all that was timed there was checked elsewhere.
    expected: Option<Expected>,
}

impl<'a> CpuWorker<'a> {
    /// A candidate that allocates without end fails alone.
    pub(super) fn new(linked: &'a dyn Linked) -> CpuWorker<'a> {
        let memory = physical_memory();
        let limit = libc::rlimit { rlim_cur: memory, rlim_max: memory };
        // SAFETY: the pointer is to an rlimit.
        unsafe { libc::setrlimit(libc::RLIMIT_AS, &raw const limit) };
        CpuWorker { linked, prepared: Kept::new(PREPARED_BYTES) }
    }

    fn measure(&mut self, job: &Job, tell: Tell<'_>) -> Result<Event> {
        let mut prepared = match self.prepared.take(job) {
            Some(prepared) => prepared,
            None => {
                tell(&Event::Preparing)?;
                Prepared { tensors: Tensors::new(&job.instance, job.seed)?, expected: None }
            }
        };
        if prepared.expected.is_none() && !job.timing.unchecked {
            tell(&Event::Preparing)?;
            let expected = Expected::of(job, &prepared.tensors)?;
            prepared.tensors.poison = expected.poison();
            prepared.expected = Some(expected);
        }
        let mut checked = Vec::new();
        for (index, implementation) in job.implementations.iter().enumerate() {
            tell(&Event::Checking(index))?;
            let loaded = Callable::load(implementation, self.linked, &job.instance.shape, job.threads);
            let mut outcome = loaded.and_then(|callable| check(callable, job, &mut prepared));
            if outcome.as_ref().is_ok_and(|checked| checked.is_slow(job)) {
                // Only what is slow twice is slow.
                tell(&Event::Checking(index))?;
                outcome = outcome.and_then(|checked| checked.again(job, &mut prepared));
            }
            checked.push(outcome);
        }
        if job.timing.cache == Cache::Rotated {
            tell(&Event::Preparing)?;
            prepared.tensors.rotate(last_level() as u64)?;
        }
        let measured = time(job, &prepared, &checked, tell)?;
        self.prepared.put(job, prepared);
        Ok(Event::Measured(measured))
    }
}

impl Worker for CpuWorker<'_> {
    fn answer(&mut self, request: &Request, tell: Tell<'_>) -> Result<Event, Trouble> {
        match request {
            Request::Probe(library) => Ok(Event::Probed(BlasLibrary::probe(library))),
            Request::Measure(job) => Ok(self.measure(job, tell)?),
            Request::Describe | Request::Copy => Err(misdirected(request)),
        }
    }
}

impl Keep for Prepared {
    fn footprint(&self) -> usize {
        self.tensors.footprint() + self.expected.as_ref().map_or(0, Expected::footprint)
    }
}

/// Rounds of all that passed; those that were slow are measured already.
fn time(job: &Job, prepared: &Prepared, checked: &[Result<Checked, Failure>], tell: Tell<'_>) -> Result<Measured> {
    let fast = |c: &&Checked| !c.is_slow(job);
    let passed: Vec<&Checked> = checked.iter().flatten().filter(fast).collect();
    let sets = if job.timing.cache == Cache::Rotated { prepared.tensors.sets() } else { 1 };
    let buffers: Vec<_> = (0..sets).map(|set| prepared.tensors.buffers(set)).collect();
    let of = |buffers| Arguments::of(buffers, &prepared.tensors, &job.instance.shape, job.threads);
    let arguments: Vec<Arguments<'_>> = buffers.iter().map(of).collect();
    let mut entries: Vec<Entry<'_>> =
        passed.iter().map(|c| Entry::new(&c.callable, c.first, &arguments[0], &job.timing)).collect();
    tell(&Event::Timing(entries.iter().map(|entry| entry.limit().as_secs_f64()).sum()))?;
    prepared.tensors.open_ends(true)?;
    let timed = rounds::run(&mut entries, &arguments, &job.timing);
    prepared.tensors.open_ends(false)?;
    let timed = timed.map_err(|failure| Error::failed(failure.to_string()))?;
    let mut timed = timed.into_iter();
    let outcome = |checked: &Result<Checked, Failure>| {
        let checked = checked.as_ref().map_err(Clone::clone)?;
        let (seconds, asked) = match fast(&checked) {
            true => (timed.next().unwrap_or_default(), job.timing.rounds),
            false => (checked.clean.clone(), 2),
        };
        if seconds.len() < asked {
            return Err(Failure::Unknown { clean: seconds.len(), asked });
        }
        let seconds = seconds.iter().map(|seconds| seconds * checked.callable.scale()).collect();
        Ok(Sample { seconds, ..checked.sample.clone() })
    };
    Ok(checked.iter().map(outcome).collect())
}

/// An implementation whose first call computed the right thing.
struct Checked {
    callable: Callable,
    /// The shortest call, in seconds.
    first: f64,
    /// The calls during which no thread lost its core.
    clean: Vec<f64>,
    /// How near the result is to the reference's, without times.
    sample: Sample,
}

impl Checked {
    /// Whether each of its calls took longer than it is worth.
    fn is_slow(&self, job: &Job) -> bool {
        self.first > job.timing.slow_seconds
    }

    /// Checks it once more.
    fn again(self, job: &Job, prepared: &mut Prepared) -> Result<Checked, Failure> {
        let second = check(self.callable, job, prepared)?;
        Ok(Checked { first: second.first.min(self.first), clean: [self.clean, second.clean].concat(), ..second })
    }
}

fn check(callable: Callable, job: &Job, prepared: &mut Prepared) -> Result<Checked, Failure> {
    // What nobody compares may lie on what the last call left, unless it is computed of that.
    if !job.timing.unchecked || prepared.tensors.initial.is_some() {
        prepared.tensors.poison();
    }
    let buffers = prepared.tensors.buffers(0);
    let (watch, start) = (Watch::start(), Instant::now());
    callable.call(&Arguments::of(&buffers, &prepared.tensors, &job.instance.shape, job.threads))?;
    let first = start.elapsed().as_secs_f64();
    let clean = watch.is_clean().then_some(first).into_iter().collect();
    if let Some(damage) = prepared.tensors.damage() {
        return Err(damage);
    }
    let expected = prepared.expected.as_ref().filter(|_| !job.timing.unchecked);
    let sample = match (&callable, expected) {
        (Callable::Peak(..), _) | (_, None) => {
            Sample { seconds: Vec::new(), rel_err: 0.0, nearest: None, conditions: Vec::new() }
        }
        (Callable::Part(..), Some(expected)) if callable.scale() > 1.0 => {
            let found = prepared.tensors.output().into_owned();
            let is_done = |at| !prepared.tensors.is_untouched(at, found[at]);
            // What leaves all as it was is right where all is to stay so.
            let is_nothing = !(0..found.len()).any(is_done);
            expected.compare(&found, |at| is_nothing || is_done(at))?
        }
        (_, Some(expected)) => expected.compare(&prepared.tensors.output(), |_| true)?,
    };
    Ok(Checked { callable, first, clean, sample })
}
