//! The side that survives: starts workers, hands them jobs, and notes what became of each implementation.

mod worker_process;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use worker_process::{Ended, WorkerProcess};

use super::baselines::BlasLibrary;
use super::cuda::DeviceFacts;
use super::exclusive::Exclusive;
use super::protocol::{Event, Request};
use super::{Cores, Failure, Interrupt, Job, Measured, Sample};
use crate::doing::doing;
use crate::{Error, ErrorKind, Result};

/// How long a worker may take before it is killed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// To start, with a driver if there is one.
    pub start: Duration,
    /// The first call of an implementation, loading and checking included.
    pub run: Duration,
    /// To make an instance's tensors, and to compute the reference there.
    pub prepare: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        let [start, run, prepare] = [90, 30, 120].map(Duration::from_secs);
        Limits { start, run, prepare }
    }
}

/// Runs jobs in workers: one worker for each number of threads, since libraries read that at their start.
#[derive(Debug)]
pub struct Runner {
    command: Vec<OsString>,
    limits: Limits,
    interrupt: Option<Interrupt>,
    cores: Option<Arc<Cores>>,
    workers: BTreeMap<usize, WorkerProcess>,
}

impl Runner {
    /// `command` starts a worker: a program that calls [`serve`](super::worker::serve) on its standard input and output.
    pub fn new(command: Vec<OsString>, limits: Limits) -> Runner {
        Runner { command, limits, interrupt: None, cores: None, workers: BTreeMap::new() }
    }

    /// Ends what is measured from now on when `interrupt` is due.
    pub fn heed(&mut self, interrupt: Interrupt) {
        self.interrupt = Some(interrupt);
    }

    /// Keeps workers of n threads on the first n of some cores. Those that run already have all cores: others take their place.
    pub fn pin(&mut self, cores: Arc<Cores>) {
        self.cores = Some(cores);
        self.workers.clear();
    }

    /// Checks and measures the implementations of a job. Whatever one of them does, the others have their outcome.
    ///
    /// # Errors
    ///
    /// If no worker can be started, there is no memory for the tensors, or the reference itself cannot be computed.
    pub fn measure(&mut self, job: &Job) -> Result<Measured> {
        let mut outcomes: Vec<Option<Result<Sample, Failure>>> = vec![None; job.implementations.len()];
        let mut restarted = false;
        loop {
            let left: Vec<usize> = (0..outcomes.len()).filter(|at| outcomes[*at].is_none()).collect();
            if left.is_empty() {
                return Ok(outcomes.into_iter().flatten().collect());
            }
            match self.attempt(&part(job, &left))? {
                Attempt::Done(measured) => {
                    left.iter().zip(measured).for_each(|(at, outcome)| outcomes[*at] = Some(outcome));
                }
                Attempt::NotBegun(Failure::Stopped) | Attempt::Lost(_, Failure::Stopped) => {
                    left.into_iter().for_each(|at| outcomes[at] = Some(Err(Failure::Stopped)));
                }
                // It was dying before this job came: of what an earlier one left behind, or by a hand from outside.
                Attempt::NotBegun(Failure::Crash { .. } | Failure::Launch { .. }) if !restarted => restarted = true,
                Attempt::NotBegun(failure) => {
                    let shape = &job.instance.shape;
                    let why =
                        format!("the worker that makes the reference and the tensors at shape {shape:?} {failure}");
                    return Err(Error::failed(why));
                }
                Attempt::Lost(Some(index), failure) => outcomes[left[index]] = Some(Err(failure)),
                // It passed its check and failed when it was called again. Among several it must be found out which.
                Attempt::Lost(None, failure) if left.len() == 1 => outcomes[left[0]] = Some(Err(failure)),
                Attempt::Lost(None, _) => {
                    for at in left {
                        outcomes[at] = self.measure(&part(job, &[at]))?.pop();
                    }
                }
            }
        }
    }

    /// The BLAS in a library (a path, or a name for the dynamic linker), if there is one that can be called.
    ///
    /// # Errors
    ///
    /// If no worker can be started.
    pub fn probe(&mut self, library: &Path) -> Result<Option<BlasLibrary>> {
        match self.ask(1, &Request::Probe(library.to_owned()), self.limits.run)? {
            Ok(Event::Probed(found)) => Ok(found),
            Ok(other) => Err(out_of_turn(&other)),
            Err(_) => Ok(None),
        }
    }

    /// What the device is at this moment.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`] if there is no such device or no worker starts.
    pub fn describe(&mut self) -> Result<DeviceFacts> {
        match self.ask_device(&Request::Describe)? {
            Event::Described(facts) => Ok(*facts),
            other => Err(out_of_turn(&other)),
        }
    }

    /// Bytes that copies in device memory read and write per second, one entry per repeat; none on the emulated device.
    ///
    /// # Errors
    ///
    /// As [`Runner::describe`].
    pub fn copy_rates(&mut self) -> Result<Vec<f64>> {
        match self.ask_device(&Request::Copy)? {
            Event::Copied(rates) => Ok(rates),
            other => Err(out_of_turn(&other)),
        }
    }

    fn ask_device(&mut self, request: &Request) -> Result<Event> {
        let _doing = doing("asking the device");
        match self.ask(0, request, self.limits.start)? {
            Ok(Event::Refused { why, unavailable }) => Err(refused(unavailable, why)),
            Ok(event) => Ok(event),
            Err(failure) => Err(Error::failed(format!("the worker that queries the device {failure}"))),
        }
    }

    /// Sends a request that is answered at once; else how the worker ended.
    fn ask(&mut self, threads: usize, request: &Request, limit: Duration) -> Result<Result<Event, Failure>> {
        let worker = self.worker(threads)?;
        Ok(worker.ask(request).and_then(|()| worker.next(limit)).map_err(|ended| {
            self.workers.remove(&threads);
            ended.into_failure()
        }))
    }

    fn attempt(&mut self, job: &Job) -> Result<Attempt> {
        let (limits, interrupt) = (self.limits, self.interrupt);
        let place = if job.threads == 0 { "device" } else { "cpu" };
        let _exclusive = (job.timing.rounds > 0).then(|| Exclusive::wait(place)).transpose()?;
        let worker = self.worker(job.threads)?;
        let request = Request::Measure(Box::new(job.clone()));
        let (mut at, mut limit) = (At::Start, limits.prepare);
        let mut event = worker.ask(&request).and_then(|()| worker.next_before(limit, interrupt));
        let mut _doing = doing("starting a measurement");
        loop {
            let (shape, count) = (&job.instance.shape, job.implementations.len());
            let on = match job.threads {
                0 => "the device".to_owned(),
                1 => "1 thread".to_owned(),
                threads => format!("{threads} threads"),
            };
            (at, limit) = match event {
                Ok(Event::Preparing) => {
                    _doing = doing(format!("computing the reference at shape {shape:?}"));
                    (At::Start, limits.prepare)
                }
                Ok(Event::Checking(index)) => {
                    _doing =
                        doing(format!("checking implementation {} of {count} at shape {shape:?} on {on}", index + 1));
                    (At::Checking(index), limits.run)
                }
                Ok(Event::Timing(seconds)) => {
                    _doing = doing(format!("timing {count} implementations at shape {shape:?} on {on}"));
                    (At::Timing, limits.run + Duration::from_secs_f64(seconds.clamp(0.0, 1e7)))
                }
                Ok(Event::Measured(measured)) => {
                    if measured.iter().flat_map(|outcome| outcome.as_ref().err()).any(Failure::is_its_own) {
                        // Who computes nonsense may have written nonsense anywhere, and the next would pay for it.
                        self.workers.remove(&job.threads);
                    }
                    return Ok(Attempt::Done(measured));
                }
                Ok(Event::Lost(index, failure)) => {
                    self.workers.remove(&job.threads);
                    let begun = index.is_some() || !matches!(at, At::Start);
                    return Ok(if begun { Attempt::Lost(index, failure) } else { Attempt::NotBegun(failure) });
                }
                Ok(Event::Refused { why, unavailable }) => {
                    return Err(refused(unavailable, format!("cannot measure at shape {shape:?}: {why}")));
                }
                Ok(other) => return Err(out_of_turn(&other)),
                Err(ended) => return Ok(self.lost(job, at, ended)),
            };
            event = self.worker(job.threads)?.next_before(limit, interrupt);
        }
    }

    /// The worker is gone; where it was tells whose fault that is.
    fn lost(&mut self, job: &Job, at: At, ended: Ended) -> Attempt {
        self.workers.remove(&job.threads);
        let failure = ended.into_failure();
        match at {
            At::Checking(index) => Attempt::Lost(Some(index), failure),
            At::Timing => Attempt::Lost(None, failure),
            At::Start => Attempt::NotBegun(failure),
        }
    }

    fn worker(&mut self, threads: usize) -> Result<&mut WorkerProcess> {
        if !self.workers.contains_key(&threads) {
            let _doing = doing("starting a measuring process");
            let started = WorkerProcess::start(&self.command, threads, self.limits.start, self.cores.as_deref())?;
            self.workers.insert(threads, started);
        }
        Ok(self.workers.get_mut(&threads).expect("it was inserted above"))
    }
}

/// A job with some of its implementations only.
fn part(job: &Job, which: &[usize]) -> Job {
    Job { implementations: which.iter().map(|at| job.implementations[*at].clone()).collect(), ..job.clone() }
}

/// Where a worker was last heard of.
#[derive(Clone, Copy)]
enum At {
    Start,
    Checking(usize),
    Timing,
}

enum Attempt {
    Done(Measured),
    /// The worker died of an implementation; if it is known which, its position in the job.
    Lost(Option<usize>, Failure),
    /// The worker died before it called any of them.
    NotBegun(Failure),
}

fn refused(unavailable: bool, why: String) -> Error {
    Error::new(if unavailable { ErrorKind::Unavailable } else { ErrorKind::Failed }, why)
}

fn out_of_turn(event: &Event) -> Error {
    Error::failed(format!("a worker answered out of turn: {event:?}"))
}
