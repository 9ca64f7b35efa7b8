//! The process in which candidates run: it may crash, hang or be killed, and only the candidate is lost.

mod callable;
mod elements;
mod expected;
mod foreign;
mod guarded;
mod library;
mod rounds;
mod tensors;

use std::io::{BufRead, Write};
use std::time::Instant;

use callable::{Arguments, Callable};
use expected::Expected;
use rounds::Entry;
use tensors::Tensors;

use super::baselines::BlasLibrary;
use super::protocol::{Event, Request, VERSION};
use super::{Disturbance, Failure, Instance, Job, Linked, NothingLinked, Sample, physical_memory};
use crate::{Error, ErrorKind, Result};

/// Instances stay prepared up to this much memory; what was used longest ago goes first.
const PREPARED_BYTES: usize = 1 << 30;

/// Carries out requests until `input` ends. Each is one line of JSON, and so is each event.
///
/// # Errors
///
/// If `input` or `output` breaks, or a line is not a request. What a request asks for never is an error here.
pub fn serve(input: impl BufRead, output: impl Write) -> Result<()> {
    serve_linked(&NothingLinked, input, output)
}

/// The same for a program that micro-kernels are linked into.
///
/// # Errors
///
/// As [`serve`].
pub fn serve_linked(linked: &dyn Linked, input: impl BufRead, output: impl Write) -> Result<()> {
    limit_resources();
    let mut worker = Worker { linked, output, prepared: Vec::new() };
    worker.tell(&Event::Ready { version: VERSION })?;
    for line in input.lines() {
        let line = line.map_err(|e| broken(&e))?;
        let request = serde_json::from_str(&line).map_err(|e| Error::input("not a request").caused_by(e))?;
        let answer = match request {
            Request::Probe(library) => Event::Probed(BlasLibrary::probe(&library)),
            Request::Measure(job) => worker.measure(&job).unwrap_or_else(|e| Event::Refused {
                why: e.to_string(),
                unavailable: e.kind() == ErrorKind::Unavailable,
            }),
        };
        worker.tell(&answer)?;
    }
    Ok(())
}

struct Worker<'a, W> {
    linked: &'a dyn Linked,
    output: W,
    /// Least recently used first.
    prepared: Vec<Prepared>,
}

/// An instance with its inputs and what its output must be.
struct Prepared {
    instance: Instance,
    seed: u64,
    tensors: Tensors,
    expected: Expected,
}

impl<W: Write> Worker<'_, W> {
    fn tell(&mut self, event: &Event) -> Result<()> {
        let mut line = serde_json::to_string(event).map_err(|e| broken(&e))?;
        line.push('\n');
        self.output.write_all(line.as_bytes()).and_then(|()| self.output.flush()).map_err(|e| broken(&e))
    }

    fn measure(&mut self, job: &Job) -> Result<Event> {
        let mut prepared = self.prepare(job)?;
        let mut checked = Vec::new();
        for (index, implementation) in job.implementations.iter().enumerate() {
            self.tell(&Event::Checking(index))?;
            let loaded = Callable::load(implementation, self.linked, &job.instance.shape, job.threads);
            let mut outcome = loaded.and_then(|callable| check(callable, job, &mut prepared));
            if outcome.as_ref().is_ok_and(|checked| checked.first > job.timing.slow_seconds) {
                // Perhaps something else ran meanwhile: only what is slow twice is slow.
                self.tell(&Event::Checking(index))?;
                outcome = outcome.and_then(|checked| checked.again(job, &mut prepared));
            }
            checked.push(outcome);
        }
        let (outcomes, rounds) = self.time(job, &prepared, &checked)?;
        self.keep(prepared);
        Ok(Event::Measured { outcomes, rounds })
    }

    /// Rounds of all that passed; those that were slow are measured already.
    fn time(
        &mut self,
        job: &Job,
        prepared: &Prepared,
        checked: &[Result<Checked, Failure>],
    ) -> Result<(Vec<Result<Sample, Failure>>, Disturbance)> {
        let fast = |c: &&Checked| c.first <= job.timing.slow_seconds;
        let passed: Vec<&Checked> = checked.iter().flatten().filter(fast).collect();
        self.tell(&Event::Timing(passed.iter().map(|c| rounds::estimate(c.first, job.threads, &job.timing)).sum()))?;
        let buffers = prepared.tensors.pointers();
        let arguments = Arguments::of(&buffers, &prepared.tensors, &job.instance.shape, job.threads);
        let mut entries: Vec<Entry<'_>> =
            passed.iter().map(|c| Entry { callable: &c.callable, first: c.first, seconds: Vec::new() }).collect();
        let rounds = rounds::run(&mut entries, &arguments, &job.timing)
            .map_err(|failure| Error::new(ErrorKind::Failed, failure.to_string()))?;
        let mut timed = entries.into_iter().map(|e| e.seconds);
        let outcome = |checked: &Result<Checked, Failure>| {
            let checked = checked.as_ref().map_err(Clone::clone)?;
            let seconds = if fast(&checked) { timed.next().unwrap_or_default() } else { vec![checked.first] };
            Ok(Sample { seconds, rel_err: checked.rel_err })
        };
        Ok((checked.iter().map(outcome).collect(), rounds))
    }

    fn prepare(&mut self, job: &Job) -> Result<Prepared> {
        let same = |p: &Prepared| p.instance == job.instance && p.seed == job.seed;
        if let Some(at) = self.prepared.iter().position(same) {
            return Ok(self.prepared.remove(at));
        }
        self.tell(&Event::Reference)?;
        let tensors = Tensors::new(&job.instance, job.seed)?;
        let expected = Expected::of(job, &tensors)?;
        Ok(Prepared { instance: job.instance.clone(), seed: job.seed, tensors, expected })
    }

    fn keep(&mut self, prepared: Prepared) {
        self.prepared.push(prepared);
        while self.prepared.len() > 1 && self.prepared.iter().map(Prepared::footprint).sum::<usize>() > PREPARED_BYTES {
            self.prepared.remove(0);
        }
    }
}

impl Prepared {
    fn footprint(&self) -> usize {
        self.tensors.footprint() + self.expected.footprint()
    }
}

/// An implementation whose first call computed the right thing.
struct Checked {
    callable: Callable,
    first: f64,
    rel_err: f64,
}

impl Checked {
    /// Checks it once more; the shorter call counts.
    fn again(self, job: &Job, prepared: &mut Prepared) -> Result<Checked, Failure> {
        let second = check(self.callable, job, prepared)?;
        Ok(Checked { first: second.first.min(self.first), ..second })
    }
}

fn check(callable: Callable, job: &Job, prepared: &mut Prepared) -> Result<Checked, Failure> {
    prepared.tensors.poison();
    let buffers = prepared.tensors.pointers();
    let start = Instant::now();
    callable.call(&Arguments::of(&buffers, &prepared.tensors, &job.instance.shape, job.threads))?;
    let first = start.elapsed().as_secs_f64();
    if let Some(damage) = prepared.tensors.damage() {
        return Err(damage);
    }
    let rel_err = if callable.has_output() { prepared.expected.compare(&prepared.tensors.output())? } else { 0.0 };
    Ok(Checked { callable, first, rel_err })
}

fn broken(cause: &dyn std::fmt::Display) -> Error {
    Error::new(ErrorKind::Failed, format!("the connection to the worker broke: {cause}"))
}

/// A candidate that allocates without end fails alone.
fn limit_resources() {
    let memory = physical_memory();
    // SAFETY: the pointers are to an rlimit.
    unsafe {
        let limit = libc::rlimit { rlim_cur: memory, rlim_max: memory };
        libc::setrlimit(libc::RLIMIT_AS, &raw const limit);
        let no_core = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        libc::setrlimit(libc::RLIMIT_CORE, &raw const no_core);
    }
}
