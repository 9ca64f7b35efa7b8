//! A candidate and what is known of it so far.

use std::cell::OnceCell;

use super::Made;
use super::database::Structure;
use super::proposal::{Proposal, StandIn};
use crate::cost_model::cuda::LaunchReport;
use crate::cost_model::{self, Adaptation, Calibration, ModelledCall, Observation};
use crate::measure::{Code, Device, Failure, Form, Purpose};
use crate::schedule::Schedule;
use crate::sketch::{MicroKernel, Remainder};

/// A micro-kernel with its figures, one for each number of threads and instance.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The micro-kernel.
    pub micro_kernel: MicroKernel,
    /// Its schedule on the device; of several kernels the one that computes the tiles.
    pub schedule: Schedule,
    /// What covers the rest, of a cover.
    pub(super) cover: Option<Box<Remainder>>,
    /// The hash that candidates of the same code share, whatever made them.
    pub(super) structure: Structure,
    /// Which one of its run it is; the first are the default micro-kernels.
    pub(super) trial: u64,
    /// What made its trace; none: a family, or the nest as it stands.
    pub(super) made: Option<Made>,
    /// What is screened in its place, if not it itself.
    stand_in: Option<MicroKernel>,
    /// The code that is screened, made when it is first needed: what is known from records may never be compiled.
    pub(super) screened: OnceCell<Code>,
    /// The code that a build would make, of a finalist.
    pub(super) code: OnceCell<Code>,
    /// How the instances fit it: `[threads][instance]`.
    pub adaptations: Vec<Vec<Adaptation>>,
    /// What a model says of it.
    model: Modelled,
    /// The largest deviation from the reference where it was checked.
    pub(super) rel_err: f64,
    /// Seconds of a call at the points, as far as it was timed there.
    pub(super) seconds: Vec<Option<f64>>,
    /// GFLOP/s that are expected by the points, 0 as long as it was timed at none of them: `[threads][instance]`.
    pub predicted: Vec<Vec<f64>>,
    /// GFLOP/s where it was measured: `[threads][instance]`.
    pub gflops: Vec<Vec<Option<f64>>>,
    /// It failed somewhere, and serves nothing any more.
    pub failed: bool,
}

/// Seconds of a call that a model expects.
#[derive(Clone, Debug)]
pub(super) struct Modelled {
    /// At the points, at the first number of threads.
    pub(super) points: Vec<f64>,
    /// `[threads][instance]`.
    pub(super) instances: Vec<Vec<f64>>,
}

impl Modelled {
    /// Whether the model expects an end of each call.
    pub(super) fn is_finite(&self) -> bool {
        self.points.iter().chain(self.instances.iter().flatten()).all(|seconds| seconds.is_finite())
    }
}

impl Candidate {
    /// One of which nothing is known.
    pub(super) fn new(proposal: Proposal, trial: u64, adaptations: Vec<Vec<Adaptation>>, model: Modelled) -> Candidate {
        let gflops = adaptations.iter().map(|row| vec![None; row.len()]).collect();
        let predicted = adaptations.iter().map(|row| vec![0.0; row.len()]).collect();
        let seconds = vec![None; model.points.len()];
        let Proposal { micro_kernel, lowered, structure, made, stand_in } = proposal;
        let stand_in = stand_in.map(|StandIn { micro_kernel, .. }| micro_kernel);
        let (schedule, cover) = (lowered.schedule().clone(), lowered.cover);
        let (screened, code) = (OnceCell::new(), OnceCell::new());
        Candidate {
            micro_kernel,
            schedule,
            cover,
            structure,
            trial,
            made,
            stand_in,
            screened,
            code,
            adaptations,
            model,
            rel_err: 0.0,
            seconds,
            predicted,
            gflops,
            failed: false,
        }
    }

    /// Its code as a build would make it, compiled if it was not before.
    ///
    /// # Errors
    /// Why there is none.
    pub fn code(&self, device: &dyn Device) -> Result<&Code, Failure> {
        if self.code.get().is_none() {
            let code = match self.screened.get().filter(|code| self.is_own(code)) {
                Some(code) => code.clone(),
                None => device.compile(&self.micro_kernel, Purpose::Final)?,
            };
            drop(self.code.set(code));
        }
        Ok(self.code.get().expect("it was just compiled"))
    }

    /// What is screened of it, compiled if it was not before. It stays that once there is the code that a build would make: its figures at
    /// the points are compared.
    ///
    /// # Errors
    /// Why there is none.
    pub(super) fn screened(&self, device: &dyn Device) -> Result<&Code, Failure> {
        if self.screened.get().is_none() {
            let screened = self.stand_in.as_ref().unwrap_or(&self.micro_kernel);
            let code = device.compile(screened, Purpose::Screening)?;
            drop(self.screened.set(code));
        }
        Ok(self.screened.get().expect("it was just compiled"))
    }

    /// What is screened in its place, if not it itself.
    pub(super) fn stand_in(&self) -> Option<&MicroKernel> {
        self.stand_in.as_ref()
    }

    /// Whether the code that a build would make of it was compiled, which is what is measured on instances.
    pub(super) fn is_compiled(&self) -> bool {
        self.code.get().or(self.screened.get().filter(|code| self.is_own(code))).is_some()
    }

    /// Whether what was screened is the code that a build would make.
    fn is_own(&self, screened: &Code) -> bool {
        screened.is_final() && self.stand_in.is_none()
    }

    /// What was compiled of it last.
    fn compiled(&self) -> Option<&Code> {
        self.code.get().or(self.screened.get())
    }

    /// How it was compiled for a purpose, if it was.
    pub fn form(&self, purpose: Purpose) -> Option<Form> {
        let (code, whole_edges) = match purpose {
            Purpose::Screening => (&self.screened, self.stand_in.is_some()),
            Purpose::Final => (&self.code, false),
        };
        Some(Form { whole_edges, ..code.get()?.form()?.clone() })
    }

    /// What the compiler says of its launches on a GPU, if it was compiled.
    pub fn report(&self, device: &dyn Device) -> Vec<LaunchReport> {
        self.compiled().map_or_else(Vec::new, |code| code.report(device))
    }

    /// f_MK: its rate per core at a number of threads (its position). Cores that work together share caches and power, so
    /// other numbers of threads count only as long as this one was not measured.
    pub fn rate(&self, threads: usize) -> Option<f64> {
        let seen = |row: usize| {
            let pairs = self.gflops[row].iter().zip(&self.adaptations[row]);
            pairs.filter_map(|(g, a)| Some(Observation { gflops: (*g)?, adaptation: *a }))
        };
        let here: Vec<Observation> = seen(threads).collect();
        let anywhere = || (0..self.gflops.len()).flat_map(seen).collect::<Vec<Observation>>();
        cost_model::rate(&here).or_else(|| cost_model::rate(&anywhere()))
    }

    /// Predicts the instances, of so many operations, by the points where it was timed, of so many: they tell by what factor the model is
    /// wrong about it.
    pub(super) fn predict(&mut self, flops: &[f64], of_points: &[f64]) {
        let call = |flops: &f64, time: &f64| ModelledCall { flops: *flops, time: *time };
        let points = of_points.iter().zip(&self.model.points).zip(&self.seconds);
        let seen = points.filter_map(|((flops, time), seconds)| Some((call(flops, time), (*seconds)?)));
        let Some(calibration) = Calibration::of(seen) else { return };
        for (predicted, model) in self.predicted.iter_mut().zip(&self.model.instances) {
            let gflops = |(flops, time)| flops * 1e-9 / calibration.expected(call(flops, time));
            *predicted = flops.iter().zip(model).map(gflops).collect();
        }
    }

    /// The geometric mean of its measured GFLOP/s over the numbers of threads; 0 unless all of them were measured.
    pub fn score(&self, instance: usize) -> f64 {
        if self.failed {
            return 0.0;
        }
        let measured: Option<Vec<f64>> = self.gflops.iter().map(|row| row[instance]).collect();
        measured.map_or(0.0, |measured| geometric_mean(measured.into_iter()))
    }
}

/// The geometric mean; 0 if one of them is.
pub fn geometric_mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len() as f64;
    (values.map(f64::ln).sum::<f64>() / count).exp()
}
