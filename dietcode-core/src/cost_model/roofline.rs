//! The model that knows the machine and needs no measurement: f_MK from a roofline, f_occupancy and f_padding from the shape.

use dietcode_syntax::KernelDef;
use rayon::prelude::*;

use super::{CostModel, cpu, cuda};
use crate::Result;
use crate::machine::CpuTarget;
use crate::machine::Target;
use crate::machine::cuda::DeviceLimits;
use crate::measure::Instance;
use crate::sketch::Applied;

/// The roofline of a target: [`cpu`] or [`cuda`].
#[derive(Clone, Debug, PartialEq)]
pub struct Analytic {
    /// The target.
    pub target: Target,
}

impl CostModel for Analytic {
    fn name(&self) -> &'static str {
        "analytic"
    }

    fn predict(&self, def: &KernelDef, candidates: &[&Applied], instances: &[Vec<i64>], units: usize) -> Vec<Vec<f64>> {
        let flops: Vec<f64> = instances.iter().map(|shape| Instance::of(def, shape).map_or(0.0, |i| i.flops)).collect();
        let row = |candidate: &&Applied| {
            let seconds = match &self.target {
                Target::Cpu(target) => on_cpu(candidate, target, instances, units),
                Target::Cuda(device) => on_device(def, candidate, device, instances),
            };
            let seconds = seconds.unwrap_or_else(|_| vec![f64::INFINITY; instances.len()]);
            seconds.iter().zip(&flops).map(|(seconds, flops)| flops * 1e-9 / seconds).collect()
        };
        candidates.par_iter().map(row).collect()
    }
}

fn on_cpu(candidate: &Applied, target: &CpuTarget, instances: &[Vec<i64>], units: usize) -> Result<Vec<f64>> {
    let kernels = candidate.schedules.iter().map(cpu::Profile::of).collect::<Result<Vec<cpu::Profile<'_>>>>()?;
    let seconds = |shape: &Vec<i64>| kernels.iter().map(|kernel| kernel.seconds(target, shape, units)).sum();
    Ok(instances.iter().map(seconds).collect())
}

/// The device says how many multiprocessors it has.
fn on_device(def: &KernelDef, candidate: &Applied, device: &DeviceLimits, instances: &[Vec<i64>]) -> Result<Vec<f64>> {
    let profile = cuda::Profile::of_kernels(&candidate.schedules, &candidate.nests)?;
    let resources = profile.resources(device, None);
    Ok(instances.iter().map(|shape| profile.predict(def, device, &resources, shape).seconds).collect())
}
