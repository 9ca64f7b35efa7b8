//! Checks and times implementations on the device that this process has.

use std::time::{Duration, Instant};

use super::cublas::CuBlas;
use super::loaded::{Loaded, Modules};
use super::nvml::{Nvml, Rounds};
use super::tensors::Tensors;
use super::timer::{Timer, copies};
use super::{CudaDevice, DeviceFacts, check, facts};
use crate::Result;
use crate::measure::protocol::{Event, Request};
use crate::measure::turns::by_turns;
use crate::measure::worker::{Keep, Kept, Tell, Trouble, Worker, misdirected, sets};
use crate::measure::{Failure, Implementation, Job, Linked, Sample, Timing};
use crate::runtime::cuda::Device;

/// Has a device. Its memory is not limited: a driver reserves more addresses than there is memory.
pub(in crate::measure) struct DeviceWorker<'a> {
    device: Device,
    linked: &'a dyn Linked,
    facts: DeviceFacts,
    cublas: Result<CuBlas, String>,
    nvml: Result<Option<Nvml>, String>,
    /// When something was timed last: a device that rests lowers its clocks.
    timed: Option<Instant>,
    modules: Modules,
    prepared: Kept<Prepared>,
}

/// The tensors of an instance: several sets, so that a launch does not find in the cache what the last one left there.
struct Prepared {
    sets: Vec<Tensors>,
    /// Who passed the check there, with the deviation: the tensors are the same each time.
    passed: Vec<(Implementation, f64)>,
}

/// More sets than this would only take memory.
const MOST_SETS: usize = 64;

/// However short the launches, a comparison ends after so many rounds, unless more were asked for.
const MOST_ROUNDS: usize = 200;

/// A device that has rested for so long is warmed up again.
const COOLING: Duration = Duration::from_secs(1);

impl<'a> DeviceWorker<'a> {
    /// Opens the device.
    ///
    /// # Errors
    /// If it is not there.
    pub(in crate::measure) fn open(device: CudaDevice, linked: &'a dyn Linked) -> Result<DeviceWorker<'a>> {
        let opened = device.open()?;
        let cublas = match device {
            CudaDevice::Cuda(_) => CuBlas::load(),
            CudaDevice::Emulated => Err("cuBLAS does not run on the emulated device".into()),
        };
        let nvml = facts::nvml(&opened);
        let facts = DeviceFacts::of(&opened, &cublas, &nvml);
        // Instances stay prepared in a quarter of the device's memory.
        let prepared = Kept::new(facts.memory_bytes / 4);
        Ok(DeviceWorker {
            device: opened,
            linked,
            facts,
            cublas,
            nvml,
            timed: None,
            modules: Modules::default(),
            prepared,
        })
    }

    fn measure(&mut self, job: &Job, tell: Tell<'_>) -> Result<Event, Trouble> {
        let mut prepared = match self.prepared.take(job) {
            Some(prepared) => prepared,
            None => {
                tell(&Event::Preparing)?;
                let set = Tensors::new(&self.device, &job.instance, job.gap, job.seed)?;
                Prepared { sets: vec![set], passed: Vec::new() }
            }
        };
        let mut checked = Vec::new();
        for (index, implementation) in job.implementations.iter().enumerate() {
            tell(&Event::Checking(index))?;
            let loaded = self.modules.load(&self.device, &self.cublas, self.linked, implementation, &job.instance);
            let passed = loaded.and_then(|loaded| {
                let rel_err = prepared.check(&self.device, &loaded, job, implementation)?;
                Ok((loaded, rel_err))
            });
            checked.push(match passed {
                Ok(passed) => Ok(passed),
                Err(Trouble::Failed(failure)) => Err(failure),
                Err(Trouble::Lost(failure)) => return Ok(Event::Lost(Some(index), failure)),
                Err(machine) => return Err(machine),
            });
        }
        let outcomes = match job.timing.rounds {
            0 => checked
                .into_iter()
                .map(|c| {
                    c.map(|(_, rel_err)| Sample { seconds: vec![], rel_err, nearest: None, conditions: Vec::new() })
                })
                .collect(),
            _ => {
                prepared.rotate(&self.device, self.facts.l2_bytes, job)?;
                let is_cold = self.timed.is_none_or(|timed| timed.elapsed() > COOLING);
                let mut timer = Timer::new(&self.device, self.facts.l2_bytes)?;
                let nvml = self.nvml.as_ref().ok().and_then(Option::as_ref);
                let outcomes =
                    time(&self.device, (&mut timer, is_cold, nvml), tell, &mut prepared.sets, &checked, &job.timing)?;
                self.timed = Some(Instant::now());
                outcomes
            }
        };
        self.prepared.put(job, prepared);
        Ok(Event::Measured(outcomes))
    }
}

impl Worker for DeviceWorker<'_> {
    fn answer(&mut self, request: &Request, tell: Tell<'_>) -> Result<Event, Trouble> {
        match request {
            Request::Describe => {
                Ok(Event::Described(Box::new(DeviceFacts::of(&self.device, &self.cublas, &self.nvml))))
            }
            Request::Copy => {
                let (bytes, seconds) = copies(&self.device)?.unwrap_or_default();
                Ok(Event::Copied(seconds.iter().map(|s| 2.0 * bytes as f64 / s).collect()))
            }
            Request::Measure(job) => self.measure(job, tell),
            Request::Probe(_) => Err(misdirected(request)),
        }
    }
}

impl Keep for Prepared {
    fn footprint(&self) -> usize {
        self.sets.iter().map(Tensors::footprint).sum()
    }
}

impl Prepared {
    /// Checks an implementation, unless it has passed before.
    fn check(
        &mut self,
        device: &Device,
        loaded: &Loaded<'_>,
        job: &Job,
        implementation: &Implementation,
    ) -> Result<f64, Trouble> {
        if job.timing.unchecked {
            return check::launch(device, loaded, &mut self.sets[0]).map(|()| 0.0);
        }
        if let Some((_, rel_err)) = self.passed.iter().find(|(passed, _)| passed == implementation) {
            return Ok(*rel_err);
        }
        let rel_err = check::run(device, loaded, &mut self.sets[0], job, implementation.arithmetic())?;
        self.passed.push((implementation.clone(), rel_err));
        Ok(rel_err)
    }

    /// Makes so many sets that they are together larger than twice the second-level cache.
    fn rotate(&mut self, device: &Device, l2_bytes: u64, job: &Job) -> Result<()> {
        let wanted = sets(l2_bytes, self.sets[0].footprint()).min(MOST_SETS);
        while self.sets.len() < wanted {
            self.sets.push(Tensors::new(device, &job.instance, job.gap, job.seed)?);
        }
        Ok(())
    }
}

/// Takes samples of all that passed, by turns; where the device `is_cold`, once its clocks are steady.
fn time(
    device: &Device,
    (timer, is_cold, nvml): (&mut Timer, bool, Option<&Nvml>),
    tell: Tell<'_>,
    sets: &mut [Tensors],
    checked: &[Result<(Loaded<'_>, f64), Failure>],
    timing: &Timing,
) -> Result<Vec<Result<Sample, Failure>>, Trouble> {
    let mut turn = 0;
    let mut args = sets.iter_mut().map(Tensors::args).collect::<Result<Vec<_>>>()?;
    let mut launched = |loaded: &Loaded<'_>| {
        turn = (turn + 1) % args.len();
        loaded.launch(device, &mut args[turn])
    };
    tell(&Event::Timing(0.0))?;
    let passed: Vec<&Loaded<'_>> = checked.iter().flatten().map(|(loaded, _)| loaded).collect();
    let mut launches = Vec::new();
    let (mut rounds, mut seconds) = (timing.rounds, 0.0);
    if let Some(first) = passed.first().filter(|_| is_cold) {
        timer.warm_up(&mut || launched(first))?;
    }
    for loaded in &passed {
        let (count, one) = timer.calibrate(&mut || launched(loaded))?;
        let sample = count as f64 * one;
        rounds = rounds.max((timing.seconds / sample.max(1e-6)).ceil() as usize);
        launches.push(count);
        seconds += sample;
    }
    let rounds = rounds.min(timing.rounds.max(MOST_ROUNDS));
    // Ten times as long as a launch took is a device that others use.
    tell(&Event::Timing(10.0 * rounds as f64 * seconds))?;
    let mut watched = nvml.map(|nvml| Rounds::new(passed.len(), || nvml.conditions().ok()));
    let mut sample = |at: usize| -> Result<_, Trouble> {
        let seconds = timer.sample(launches[at], timing.cache, &mut || launched(passed[at]))?;
        watched.iter_mut().for_each(|watched| watched.sampled(at));
        Ok(Some(seconds))
    };
    let mut samples = by_turns(passed.len(), |_, samples| samples.len() < rounds, &mut sample)?.into_iter();
    let mut conditions = watched.map_or_else(Vec::new, |watched| watched.of).into_iter();
    let outcome = |checked: &Result<(Loaded<'_>, f64), Failure>| {
        let (_, rel_err) = checked.as_ref().map_err(Clone::clone)?;
        let (seconds, conditions) = (samples.next().unwrap_or_default(), conditions.next().unwrap_or_default());
        Ok(Sample { seconds, rel_err: *rel_err, nearest: None, conditions })
    };
    Ok(checked.iter().map(outcome).collect())
}
