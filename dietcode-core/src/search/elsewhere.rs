//! What candidates reach at shapes that no search measures: what is expected of them, and what is measured by turns.

use super::{Candidate, Outcome, Tuning, geometric_mean};
use crate::Result;
use crate::cost_model::{Adaptation, Calibration, ModelledCall};
use crate::measure::{Failure, Instance, Purpose, Timing};
use crate::sketch::Lowered;

/// Two pairs; of calls that take longer than 20 ms one.
const TURNS: Timing = Timing::warm(4, 0.0, 0.02);

/// Results of more operations are not checked: that takes as long as a plain nest.
const CHECKED: f64 = 1e6;

/// What came of candidates at a shape: what each reaches, as the geometric mean over the numbers of threads; none: it failed there.
pub(crate) type Reached = Vec<Option<f64>>;

impl Tuning<'_> {
    /// What candidates reach at an instance by turns; none where some of them have too few samples for a figure. What is on record of the
    /// run is not measured again.
    ///
    /// # Errors
    /// If measuring is not possible at all, or records cannot be written.
    pub(crate) fn measure_elsewhere(
        &mut self,
        candidates: &[&Candidate],
        instance: &Instance,
    ) -> Result<Option<Reached>> {
        let Some(first) = candidates.first() else { return Ok(None) };
        let (shape, names): (_, Vec<String>) =
            (self.shape_of(instance), candidates.iter().map(|candidate| candidate.micro_kernel.name()).collect());
        if let Some((known, unknown)) = self.journal.replay.take_turns(&names, &shape) {
            return Ok((!unknown).then(|| names.iter().map(|name| known[name]).collect()));
        }
        let reached = match self.by_turns(candidates, instance)? {
            Ok(reached) => Some(reached),
            Err(Failure::Stopped) => return Ok(None),
            Err(_) => None,
        };
        let figures = reached.clone().unwrap_or_else(|| vec![None; names.len()]);
        let outcome = Outcome::Turns { gflops: names.into_iter().zip(figures).collect(), unknown: reached.is_none() };
        let report = first.report(&*self.device);
        self.journal.write(first, Purpose::Final, report, Some(shape), outcome)?;
        Ok(reached)
    }

    /// The same measured now, or why one of them has no figure that is not its own failure.
    fn by_turns(&mut self, candidates: &[&Candidate], instance: &Instance) -> Result<Result<Reached, Failure>> {
        let mut reached: Vec<Vec<Option<f64>>> = vec![Vec::new(); candidates.len()];
        let mut implementations = Vec::new();
        for candidate in candidates {
            implementations.push(match candidate.code(&*self.device).cloned() {
                Ok(code) => Some(self.device.implementation(&code, instance)?),
                Err(_) => None,
            });
        }
        let timing = if instance.flops > CHECKED { TURNS.unchecked() } else { TURNS };
        for setting in self.threads.clone() {
            let all = implementations.iter().flatten().cloned().collect();
            let measured = self.device.measure(instance, all, setting, Timing { cache: self.cache, ..timing })?;
            let mut measured = measured.into_iter();
            for (reached, implementation) in reached.iter_mut().zip(&implementations) {
                let outcome = implementation.as_ref().and_then(|_| measured.next());
                reached.push(match outcome {
                    Some(Ok(sample)) => Some(sample.gflops(instance.flops).median),
                    Some(Err(failure)) if !failure.is_its_own() || failure == Failure::Stopped => {
                        return Ok(Err(failure));
                    }
                    Some(Err(_)) | None => None,
                });
            }
        }
        let mean = |reached: Vec<Option<f64>>| {
            let all: Option<Vec<f64>> = reached.into_iter().collect();
            all.map(|all| geometric_mean(all.into_iter()))
        };
        Ok(Ok(reached.into_iter().map(mean).collect()))
    }

    /// What a candidate is expected to reach at shapes, in GFLOP/s, as the geometric mean over the numbers of threads; 0 where nothing is
    /// known of it. The model says how shapes differ, and by what factor it is wrong about the candidate is read off the instances
    /// where it was measured, or else off all, as the points let expect.
    pub(crate) fn expected_at(&self, candidate: &Candidate, shapes: &[Vec<i64>]) -> Vec<f64> {
        let units: Vec<usize> = self.threads.iter().map(|setting| self.device.units(*setting)).collect();
        let lowered = candidate.micro_kernel.lowered(self.device.program(), self.device.target()).ok();
        let of_candidate = (candidate, lowered.as_ref());
        let rows: Vec<Vec<f64>> =
            units.iter().enumerate().map(|(n, units)| self.expected_on(of_candidate, shapes, n, *units)).collect();
        (0..shapes.len()).map(|shape| geometric_mean(rows.iter().map(|row| row[shape]))).collect()
    }

    /// The same at a number of threads (its position) with so many units, of a candidate as it is lowered.
    pub(super) fn expected_on(
        &self,
        (candidate, lowered): (&Candidate, Option<&Lowered>),
        shapes: &[Vec<i64>],
        threads: usize,
        units: usize,
    ) -> Vec<f64> {
        let flops = |shape: &Vec<i64>| Instance::of(self.device.def(), shape).map_or(0.0, |instance| instance.flops);
        let by_rate = |shape: &Vec<i64>| {
            let fit = Adaptation::of_parts(&candidate.schedule, candidate.cover.as_deref(), shape, units);
            candidate.rate(threads).map_or(0.0, |rate| fit.throughput(rate))
        };
        let modelled = lowered.and_then(|lowered| self.modelled((candidate, lowered), shapes, threads, units));
        let Some((modelled, calibration)) = modelled else {
            return shapes.iter().map(by_rate).collect();
        };
        let expected = |(shape, seconds): (&Vec<i64>, &f64)| match seconds.is_finite() && *seconds > 0.0 {
            true => {
                let flops = flops(shape);
                flops * 1e-9 / calibration.expected(ModelledCall { flops, time: *seconds })
            }
            // Of code that the compiler fits where the model does not.
            false => by_rate(shape),
        };
        shapes.iter().zip(&modelled).map(expected).collect()
    }

    /// Seconds that the model says at shapes, and by what factor it is wrong; none if it knows no instance.
    fn modelled(
        &self,
        (candidate, lowered): (&Candidate, &Lowered),
        shapes: &[Vec<i64>],
        threads: usize,
        units: usize,
    ) -> Option<(Vec<f64>, Calibration)> {
        let def = self.device.def();
        let instances: Vec<Vec<i64>> = self.workloads.iter().map(|workload| workload.instance.shape.clone()).collect();
        let modelled = self.model.seconds(def, lowered, &instances, units);
        let seen = |gflops: &dyn Fn(usize) -> Option<f64>| {
            Calibration::of(modelled.iter().enumerate().filter_map(|(at, time)| {
                let flops = self.workloads[at].instance.flops;
                let measured = flops * 1e-9 / gflops(at).filter(|gflops| *gflops > 0.0)?;
                Some((ModelledCall { flops, time: *time }, measured)).filter(|_| time.is_finite() && *time > 0.0)
            }))
        };
        let calibration =
            seen(&|at| candidate.gflops[threads][at]).or_else(|| seen(&|at| Some(candidate.predicted[threads][at])))?;
        Some((self.model.seconds(def, lowered, shapes, units), calibration))
    }
}
