//! The process that has the device: it may crash, hang or lose its context, and only the contestant is lost.

use std::io::{BufRead, Write};

use super::check;
use super::contestant::{Loaded, Modules};
use super::cublas::CuBlas;
use super::protocol::{CudaJob, CudaTiming, Event, Request, VERSION};
use super::tensors::Tensors;
use super::timer::{Timer, copies};
use super::trouble::Trouble;
use super::{CudaContestant, CudaDevice, DeviceFacts};
use crate::measure::{Failure, Instance, Linked, NothingLinked, Sample};
use crate::runtime::cuda::Device;
use crate::{Error, ErrorKind, Result};

/// Carries out requests on a device until `input` ends. Each is one line of JSON, and so is each event.
///
/// # Errors
///
/// If there is no such device, `input` or `output` breaks, or a line is not a request.
pub fn serve_cuda(device: CudaDevice, input: impl BufRead, output: impl Write) -> Result<()> {
    serve_cuda_linked(device, &NothingLinked, input, output)
}

/// The same for a program that micro-kernels are linked into.
///
/// # Errors
///
/// As [`serve_cuda`].
pub fn serve_cuda_linked(
    device: CudaDevice,
    linked: &dyn Linked,
    input: impl BufRead,
    mut output: impl Write,
) -> Result<()> {
    leave_no_core();
    let opened = device.open();
    tell(&mut output, &Event::Ready { version: VERSION })?;
    let mut worker = match opened {
        Ok(device) => Worker::new(device, linked, output),
        // The first request is answered with the reason.
        Err(error) => return refuse_all(&error, input, output),
    };
    for line in input.lines() {
        let answer = worker.answer(&request(line)?)?;
        tell(&mut worker.output, &answer)?;
        if matches!(answer, Event::Lost(..)) {
            break;
        }
    }
    Ok(())
}

fn request(line: std::io::Result<String>) -> Result<Request> {
    let line = line.map_err(|e| broken(&e))?;
    serde_json::from_str(&line).map_err(|e| Error::input("not a request").caused_by(e))
}

fn refuse_all(error: &Error, input: impl BufRead, mut output: impl Write) -> Result<()> {
    for line in input.lines() {
        request(line)?;
        tell(&mut output, &refusal(error))?;
    }
    Ok(())
}

fn refusal(error: &Error) -> Event {
    Event::Refused { why: error.to_string(), unavailable: error.kind() == ErrorKind::Unavailable }
}

fn tell(output: &mut impl Write, event: &Event) -> Result<()> {
    let mut line = serde_json::to_string(event).map_err(|e| broken(&e))?;
    line.push('\n');
    output.write_all(line.as_bytes()).and_then(|()| output.flush()).map_err(|e| broken(&e))
}

struct Worker<'a, W> {
    output: W,
    device: Device,
    linked: &'a dyn Linked,
    facts: DeviceFacts,
    cublas: Result<CuBlas, String>,
    modules: Modules,
    /// Least recently used first.
    prepared: Vec<Prepared>,
}

/// The tensors of an instance: several sets, so that a launch does not find in the cache what the last one left there.
struct Prepared {
    instance: Instance,
    gap: usize,
    seed: u64,
    sets: Vec<Tensors>,
    /// Who passed the check there, with the deviation: the tensors are the same each time.
    passed: Vec<(CudaContestant, f64)>,
}

/// More sets than this would only take memory.
const MOST_SETS: usize = 64;

impl<'a, W: Write> Worker<'a, W> {
    fn new(device: Device, linked: &'a dyn Linked, output: W) -> Worker<'a, W> {
        let cublas = match CudaDevice::of(&device) {
            CudaDevice::Cuda(_) => CuBlas::load(),
            CudaDevice::Emulated => Err("cuBLAS does not run on the emulated device".into()),
        };
        let facts = DeviceFacts::of(&device, &cublas);
        Worker { output, device, linked, facts, cublas, modules: Modules::default(), prepared: Vec::new() }
    }

    fn answer(&mut self, request: &Request) -> Result<Event> {
        let answered = match request {
            Request::Describe => Ok(Event::Described(Box::new(DeviceFacts::of(&self.device, &self.cublas)))),
            Request::Copy => copies(&self.device).map(|seen| {
                let (bytes, seconds) = seen.unwrap_or_default();
                Event::Copied(seconds.iter().map(|s| 2.0 * bytes as f64 / s).collect())
            }),
            Request::Measure(job) => self.measure(job),
        };
        Ok(match answered {
            Ok(event) => event,
            Err(Trouble::Machine(error)) => refusal(&error),
            Err(Trouble::Failed(failure) | Trouble::Lost(failure)) => Event::Lost(None, failure),
        })
    }

    fn measure(&mut self, job: &CudaJob) -> Result<Event, Trouble> {
        let mut prepared = self.prepare(job)?;
        let mut checked = Vec::new();
        for (index, contestant) in job.contestants.iter().enumerate() {
            tell(&mut self.output, &Event::Checking(index)).map_err(Trouble::Machine)?;
            let loaded = self.modules.load(&self.device, &self.cublas, self.linked, &contestant.code, &job.instance);
            let passed = loaded.and_then(|loaded| {
                let rel_err = prepared.check(&self.device, &loaded, job, contestant)?;
                Ok((loaded, rel_err))
            });
            checked.push(match passed {
                Ok(passed) => Ok(passed),
                Err(Trouble::Failed(failure)) => Err(failure),
                Err(Trouble::Lost(failure)) => return Ok(Event::Lost(Some(index), failure)),
                Err(machine) => return Err(machine),
            });
        }
        let outcomes = match &job.timing {
            None => checked.into_iter().map(|c| c.map(|(_, rel_err)| Sample { seconds: vec![], rel_err })).collect(),
            Some(timing) => {
                prepared.rotate(&self.device, self.facts.l2_bytes)?;
                time(&self.device, self.facts.l2_bytes, &mut self.output, &mut prepared.sets, &checked, timing)?
            }
        };
        self.keep(prepared);
        Ok(Event::Measured(outcomes))
    }

    fn prepare(&mut self, job: &CudaJob) -> Result<Prepared, Trouble> {
        let same = |p: &Prepared| p.instance == job.instance && p.gap == job.gap && p.seed == job.seed;
        if let Some(at) = self.prepared.iter().position(same) {
            return Ok(self.prepared.remove(at));
        }
        let sets = vec![Tensors::new(&self.device, &job.instance, job.gap, job.seed).map_err(Trouble::Machine)?];
        Ok(Prepared { instance: job.instance.clone(), gap: job.gap, seed: job.seed, sets, passed: Vec::new() })
    }

    /// Instances stay prepared in a quarter of the device's memory; what was used longest ago goes first.
    fn keep(&mut self, prepared: Prepared) {
        self.prepared.push(prepared);
        let most = self.facts.memory_bytes / 4;
        while self.prepared.len() > 1 && self.prepared.iter().map(Prepared::footprint).sum::<usize>() as u64 > most {
            self.prepared.remove(0);
        }
    }
}

impl Prepared {
    fn footprint(&self) -> usize {
        self.sets.iter().map(Tensors::footprint).sum()
    }

    /// Checks a contestant, unless it has passed before.
    fn check(
        &mut self,
        device: &Device,
        loaded: &Loaded<'_>,
        job: &CudaJob,
        contestant: &CudaContestant,
    ) -> Result<f64, Trouble> {
        if let Some((_, rel_err)) = self.passed.iter().find(|(passed, _)| passed == contestant) {
            return Ok(*rel_err);
        }
        let rel_err = check::run(device, loaded, &mut self.sets[0], job, contestant.arithmetic)?;
        self.passed.push((contestant.clone(), rel_err));
        Ok(rel_err)
    }

    /// Makes so many sets that they are together larger than twice the second-level cache.
    fn rotate(&mut self, device: &Device, l2_bytes: u64) -> Result<(), Trouble> {
        let one = self.sets[0].footprint().max(1) as u64;
        let wanted = usize::try_from(2 * l2_bytes / one + 1).unwrap_or(MOST_SETS).min(MOST_SETS);
        while self.sets.len() < wanted {
            let set = Tensors::new(device, &self.instance, self.gap, self.seed).map_err(Trouble::Machine)?;
            self.sets.push(set);
        }
        Ok(())
    }
}

/// Takes samples of all that passed, by turns.
fn time(
    device: &Device,
    l2_bytes: u64,
    output: &mut impl Write,
    sets: &mut [Tensors],
    checked: &[Result<(Loaded<'_>, f64), Failure>],
    timing: &CudaTiming,
) -> Result<Vec<Result<Sample, Failure>>, Trouble> {
    let mut timer = Timer::new(device, l2_bytes)?;
    let mut turn = 0;
    let mut args = sets.iter_mut().map(Tensors::args).collect::<Result<Vec<_>>>().map_err(Trouble::Machine)?;
    let mut launched = |loaded: &Loaded<'_>| {
        turn = (turn + 1) % args.len();
        loaded.launch(device, &mut args[turn])
    };
    tell(output, &Event::Timing(0.0)).map_err(Trouble::Machine)?;
    let passed: Vec<&Loaded<'_>> = checked.iter().flatten().map(|(loaded, _)| loaded).collect();
    let mut launches = Vec::new();
    let mut seconds = 0.0;
    for loaded in &passed {
        let (count, one) = timer.calibrate(timing.batch_seconds, &mut || launched(loaded))?;
        launches.push(count);
        seconds += timing.rounds as f64 * count as f64 * one;
    }
    tell(output, &Event::Timing(seconds)).map_err(Trouble::Machine)?;
    let mut samples = vec![Vec::new(); passed.len()];
    for _ in 0..timing.rounds {
        for ((loaded, launches), samples) in passed.iter().zip(&launches).zip(&mut samples) {
            samples.push(timer.sample(*launches, timing.cold, &mut || launched(loaded))?);
        }
    }
    let mut samples = samples.into_iter();
    let outcome = |checked: &Result<(Loaded<'_>, f64), Failure>| {
        let (_, rel_err) = checked.as_ref().map_err(Clone::clone)?;
        Ok(Sample { seconds: samples.next().unwrap_or_default(), rel_err: *rel_err })
    };
    Ok(checked.iter().map(outcome).collect())
}

/// The core of a process with a device would be large. Its memory is not limited: a driver reserves more addresses than there
/// is memory.
fn leave_no_core() {
    // SAFETY: the pointer is to an rlimit.
    unsafe {
        let no_core = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        libc::setrlimit(libc::RLIMIT_CORE, &raw const no_core);
    }
}

fn broken(cause: &dyn std::fmt::Display) -> Error {
    Error::new(ErrorKind::Failed, format!("the connection to the worker broke: {cause}"))
}
