//! Checks and times implementations on the device that this process has.

use super::cublas::CuBlas;
use super::loaded::{Loaded, Modules};
use super::tensors::Tensors;
use super::timer::{Timer, copies};
use super::{CudaDevice, DeviceFacts, check};
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
        let facts = DeviceFacts::of(&opened, &cublas);
        // Instances stay prepared in a quarter of the device's memory.
        let prepared = Kept::new(facts.memory_bytes / 4);
        Ok(DeviceWorker { device: opened, linked, facts, cublas, modules: Modules::default(), prepared })
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
                .map(|c| c.map(|(_, rel_err)| Sample { seconds: vec![], rel_err, nearest: None }))
                .collect(),
            _ => {
                prepared.rotate(&self.device, self.facts.l2_bytes, job)?;
                time(&self.device, self.facts.l2_bytes, tell, &mut prepared.sets, &checked, &job.timing)?
            }
        };
        self.prepared.put(job, prepared);
        Ok(Event::Measured(outcomes))
    }
}

impl Worker for DeviceWorker<'_> {
    fn answer(&mut self, request: &Request, tell: Tell<'_>) -> Result<Event, Trouble> {
        match request {
            Request::Describe => Ok(Event::Described(Box::new(DeviceFacts::of(&self.device, &self.cublas)))),
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

/// Takes samples of all that passed, by turns.
fn time(
    device: &Device,
    l2_bytes: u64,
    tell: Tell<'_>,
    sets: &mut [Tensors],
    checked: &[Result<(Loaded<'_>, f64), Failure>],
    timing: &Timing,
) -> Result<Vec<Result<Sample, Failure>>, Trouble> {
    let mut timer = Timer::new(device, l2_bytes)?;
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
    let mut sample = |at: usize| timer.sample(launches[at], timing.cache, &mut || launched(passed[at])).map(Some);
    let mut samples = by_turns(passed.len(), |_, samples| samples.len() < rounds, &mut sample)?.into_iter();
    let outcome = |checked: &Result<(Loaded<'_>, f64), Failure>| {
        let (_, rel_err) = checked.as_ref().map_err(Clone::clone)?;
        Ok(Sample { seconds: samples.next().unwrap_or_default(), rel_err: *rel_err, nearest: None })
    };
    Ok(checked.iter().map(outcome).collect())
}
