//! A candidate and what is known of it so far.

use std::cell::OnceCell;

use super::database::Structure;
use super::proposal::Proposal;
use crate::cost_model::cuda::LaunchReport;
use crate::cost_model::{self, Adaptation, Observation};
use crate::measure::{Code, Device, Failure, Form, Purpose};
use crate::schedule::Schedule;
use crate::sketch::MicroKernel;

/// A micro-kernel with its figures, one for each number of threads and instance.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The micro-kernel.
    pub micro_kernel: MicroKernel,
    /// Its schedule on the device; of several kernels the one that computes the tiles.
    pub schedule: Schedule,
    /// The hash that candidates of the same code share, whatever made them.
    pub(super) structure: Structure,
    /// Which one of its run it is; the first are the default micro-kernels.
    pub(super) trial: u64,
    /// The code that is screened, made when it is first needed: what is known from records may never be compiled.
    pub(super) screened: OnceCell<Code>,
    /// The code that a build would make, of a finalist.
    pub(super) code: OnceCell<Code>,
    /// How the instances fit it: `[threads][instance]`.
    pub adaptations: Vec<Vec<Adaptation>>,
    /// GFLOP/s where it was measured: `[threads][instance]`.
    pub gflops: Vec<Vec<Option<f64>>>,
    /// It failed somewhere, and serves nothing any more.
    pub failed: bool,
}

impl Candidate {
    /// One of which nothing is known.
    pub(super) fn new(proposal: Proposal, trial: u64, adaptations: Vec<Vec<Adaptation>>) -> Candidate {
        let gflops = adaptations.iter().map(|row| vec![None; row.len()]).collect();
        let Proposal { micro_kernel, lowered, structure } = proposal;
        let schedule = lowered.schedule().clone();
        let (screened, code) = (OnceCell::new(), OnceCell::new());
        Candidate { micro_kernel, schedule, structure, trial, screened, code, adaptations, gflops, failed: false }
    }

    /// Its code as a build would make it, compiled if it was not before.
    ///
    /// # Errors
    /// Why there is none.
    pub fn code(&self, device: &dyn Device) -> Result<&Code, Failure> {
        if self.code.get().is_none() {
            let code = match self.screened.get().filter(|code| code.is_final()) {
                Some(code) => code.clone(),
                None => device.compile(&self.micro_kernel, Purpose::Final)?,
            };
            drop(self.code.set(code));
        }
        Ok(self.code.get().expect("it was just compiled"))
    }

    /// What is measured of it now: the code as a build would make it, if it is a finalist, else what is screened, compiled if it was
    /// not before.
    ///
    /// # Errors
    /// Why there is none.
    pub(super) fn measured(&self, device: &dyn Device) -> Result<&Code, Failure> {
        if let Some(code) = self.code.get() {
            return Ok(code);
        }
        if self.screened.get().is_none() {
            let code = device.compile(&self.micro_kernel, Purpose::Screening)?;
            drop(self.screened.set(code));
        }
        Ok(self.screened.get().expect("it was just compiled"))
    }

    /// What was compiled of it last.
    fn compiled(&self) -> Option<&Code> {
        self.code.get().or(self.screened.get())
    }

    /// How that was compiled.
    pub fn form(&self) -> Option<&Form> {
        self.compiled()?.form()
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

    /// GFLOP/s at a number of threads (its position) on an instance: measured, or else predicted.
    pub fn expected(&self, threads: usize, instance: usize) -> f64 {
        if self.failed {
            return 0.0;
        }
        let predicted = || self.rate(threads).map_or(0.0, |rate| self.adaptations[threads][instance].throughput(rate));
        self.gflops[threads][instance].unwrap_or_else(predicted)
    }

    /// The geometric mean of its GFLOP/s over the numbers of threads, measured or predicted; 0 where nothing is known.
    pub fn expected_score(&self, instance: usize) -> f64 {
        let logs: f64 = (0..self.gflops.len()).map(|threads| self.expected(threads, instance).ln()).sum();
        (logs / self.gflops.len() as f64).exp()
    }

    /// The geometric mean of its measured GFLOP/s over the numbers of threads; 0 unless all of them were measured.
    pub fn score(&self, instance: usize) -> f64 {
        if self.failed {
            return 0.0;
        }
        let logs: Option<Vec<f64>> = self.gflops.iter().map(|row| row[instance].map(f64::ln)).collect();
        logs.map_or(0.0, |logs| (logs.iter().sum::<f64>() / logs.len() as f64).exp())
    }
}
