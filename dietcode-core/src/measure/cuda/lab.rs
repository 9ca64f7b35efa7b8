//! The side that survives: starts workers, hands them jobs, and notes what became of each contestant.

use std::ffi::OsString;
use std::time::Duration;

use super::protocol::{Event, Request, VERSION};
use super::{CudaContestant, CudaDevice, CudaJob, CudaTiming, DeviceFacts, Expectation};
use crate::doing::doing;
use crate::measure::runner::worker_process::{Ended, WorkerProcess, does_not_start};
use crate::measure::{Failure, Instance, Interrupt, Sample};
use crate::{Error, ErrorKind, Result};

/// How long a worker may take before it is killed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// To start, with the driver.
    pub start: Duration,
    /// To load and check one contestant, with the tensors made before.
    pub run: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { start: Duration::from_secs(90), run: Duration::from_secs(30) }
    }
}

/// A bench on one device.
#[derive(Debug)]
pub struct CudaLab {
    command: Vec<OsString>,
    limits: Limits,
    interrupt: Option<Interrupt>,
    worker: Option<WorkerProcess>,
    device: CudaDevice,
    seed: u64,
}

impl CudaLab {
    /// `command` starts a worker: a program that calls [`serve_cuda`](super::serve_cuda) for the device on its standard input
    /// and output. Inputs are made from `seed`.
    pub fn new(device: CudaDevice, command: Vec<OsString>, limits: Limits, seed: u64) -> CudaLab {
        CudaLab { command, limits, interrupt: None, worker: None, device, seed }
    }

    /// Ends what is measured from now on when `interrupt` is due.
    pub fn heed(&mut self, interrupt: Interrupt) {
        self.interrupt = Some(interrupt);
    }

    /// The device.
    pub fn device(&self) -> CudaDevice {
        self.device
    }

    /// Inputs are made from this.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// What the device is at this moment.
    ///
    /// # Errors
    /// [`ErrorKind::Unavailable`] if there is no such device or no worker starts.
    pub fn describe(&mut self) -> Result<DeviceFacts> {
        match self.ask(&Request::Describe)? {
            Event::Described(facts) => Ok(*facts),
            other => Err(self.out_of_turn(&other)),
        }
    }

    /// Bytes that copies in device memory read and write per second, one entry per repeat; none on the emulated device.
    ///
    /// # Errors
    /// As [`CudaLab::describe`].
    pub fn copy_rates(&mut self) -> Result<Vec<f64>> {
        match self.ask(&Request::Copy)? {
            Event::Copied(rates) => Ok(rates),
            other => Err(self.out_of_turn(&other)),
        }
    }

    /// Checks contestants at an instance, and times those that passed against each other. Whatever one of them does, the
    /// others have their outcome.
    ///
    /// # Errors
    /// If no worker can be started, or there is no memory for the tensors.
    pub fn measure(
        &mut self,
        instance: &Instance,
        gap: usize,
        expected: &Expectation,
        contestants: Vec<CudaContestant>,
        timing: Option<CudaTiming>,
    ) -> Result<Vec<Result<Sample, Failure>>> {
        let job = CudaJob {
            instance: instance.clone(),
            gap,
            seed: self.seed,
            expected: expected.clone(),
            contestants,
            timing,
        };
        self.run(&job)
    }

    fn run(&mut self, job: &CudaJob) -> Result<Vec<Result<Sample, Failure>>> {
        let mut outcomes: Vec<Option<Result<Sample, Failure>>> = vec![None; job.contestants.len()];
        let mut restarted = false;
        loop {
            let left: Vec<usize> = (0..outcomes.len()).filter(|at| outcomes[*at].is_none()).collect();
            if left.is_empty() {
                return Ok(outcomes.into_iter().flatten().collect());
            }
            match self.attempt(&part(job, &left))? {
                Attempt::Done(done) => {
                    left.iter().zip(done).for_each(|(at, outcome)| outcomes[*at] = Some(outcome));
                }
                Attempt::NotBegun(Failure::Stopped) | Attempt::Lost(_, Failure::Stopped) => {
                    left.into_iter().for_each(|at| outcomes[at] = Some(Err(Failure::Stopped)));
                }
                // It was dying before this job came.
                Attempt::NotBegun(_) if !restarted => restarted = true,
                Attempt::NotBegun(failure) => {
                    let shape = &job.instance.shape;
                    return Err(Error::new(
                        ErrorKind::Failed,
                        format!(
                            "the tensors of shape {shape:?} cannot be made on {}: the worker {failure}",
                            self.device
                        ),
                    ));
                }
                Attempt::Lost(Some(index), failure) => outcomes[left[index]] = Some(Err(failure)),
                // It passed its check and failed when it was launched again. Among several it must be found out which.
                Attempt::Lost(None, failure) if left.len() == 1 => outcomes[left[0]] = Some(Err(failure)),
                Attempt::Lost(None, _) => {
                    for at in left {
                        outcomes[at] = self.run(&part(job, &[at]))?.pop();
                    }
                }
            }
        }
    }

    fn attempt(&mut self, job: &CudaJob) -> Result<Attempt> {
        let (run, interrupt) = (self.limits.run, self.interrupt);
        let request = Request::Measure(Box::new(job.clone()));
        let (mut at, mut limit) = (At::Start, run);
        let worker = self.worker()?;
        let mut event = worker.ask(&request).and_then(|()| worker.next_before(limit, interrupt));
        let mut _doing = doing("making tensors on the device");
        loop {
            let (count, on) = (job.contestants.len(), format!("at shape {:?} on {}", job.instance.shape, self.device));
            (at, limit) = match event {
                Ok(Event::Checking(index)) => {
                    _doing = doing(format!("checking contestant {} of {count} {on}", index + 1));
                    (At::Checking(index), run)
                }
                Ok(Event::Timing(seconds)) => {
                    _doing = doing(format!("timing {count} contestants {on}"));
                    (At::Timing, run + Duration::from_secs_f64(10.0 * seconds.clamp(0.0, 1e6)))
                }
                Ok(Event::Measured(outcomes)) => {
                    if outcomes.iter().any(Result::is_err) {
                        // Who computes nonsense may have written nonsense anywhere, and the next would pay for it.
                        self.worker = None;
                    }
                    return Ok(Attempt::Done(outcomes));
                }
                Ok(Event::Lost(index, failure)) => {
                    self.worker = None;
                    return Ok(Attempt::Lost(index, failure));
                }
                Ok(Event::Refused { why, unavailable }) => {
                    let kind = if unavailable { ErrorKind::Unavailable } else { ErrorKind::Failed };
                    return Err(Error::new(kind, why));
                }
                Ok(other) => return Err(self.out_of_turn(&other)),
                Err(ended) => return Ok(self.lost(at, ended)),
            };
            event = self.worker()?.next_before(limit, interrupt);
        }
    }

    fn lost(&mut self, at: At, ended: Ended) -> Attempt {
        self.worker = None;
        let failure = ended.into_failure();
        match at {
            At::Start => Attempt::NotBegun(failure),
            At::Checking(index) => Attempt::Lost(Some(index), failure),
            At::Timing => Attempt::Lost(None, failure),
        }
    }

    /// Asks what is answered at once.
    fn ask(&mut self, request: &Request) -> Result<Event> {
        let limit = self.limits.start;
        let _doing = doing(format!("asking {}", self.device));
        let worker = self.worker()?;
        match worker.ask(request).and_then(|()| worker.next(limit)) {
            Ok(Event::Refused { why, unavailable }) => {
                Err(Error::new(if unavailable { ErrorKind::Unavailable } else { ErrorKind::Failed }, why))
            }
            Ok(event) => Ok(event),
            Err(ended) => {
                self.worker = None;
                let failure = ended.into_failure();
                Err(Error::new(ErrorKind::Failed, format!("{} cannot be asked: the worker {failure}", self.device)))
            }
        }
    }

    fn worker(&mut self) -> Result<&mut WorkerProcess> {
        if self.worker.is_none() {
            let mut worker = WorkerProcess::spawn(&self.command, [], None)?;
            match worker.next(self.limits.start) {
                Ok(Event::Ready { version: VERSION }) => {}
                Ok(other) => {
                    let why = format!("it speaks another protocol than version {VERSION}: {other:?}");
                    return Err(does_not_start(&self.command, &why));
                }
                Err(ended) => return Err(does_not_start(&self.command, &ended.into_failure().to_string())),
            }
            self.worker = Some(worker);
        }
        Ok(self.worker.as_mut().expect("it was started above"))
    }

    fn out_of_turn(&mut self, event: &Event) -> Error {
        self.worker = None;
        Error::new(ErrorKind::Failed, format!("a worker answered out of turn: {event:?}"))
    }
}

/// A job with some of its contestants only.
fn part(job: &CudaJob, which: &[usize]) -> CudaJob {
    CudaJob { contestants: which.iter().map(|at| job.contestants[*at].clone()).collect(), ..job.clone() }
}

/// Where a worker was last heard of.
#[derive(Clone, Copy)]
enum At {
    Start,
    Checking(usize),
    Timing,
}

enum Attempt {
    Done(Vec<Result<Sample, Failure>>),
    /// The worker died of a contestant; if it is known which, its position in the job.
    Lost(Option<usize>, Failure),
    /// The worker died before it launched any of them.
    NotBegun(Failure),
}
