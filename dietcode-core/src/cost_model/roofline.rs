//! The analytic model, which needs no measurement: f_MK from a roofline, f_occupancy and f_padding from the shape.

use dietcode_syntax::KernelDef;

use super::{CostModel, cpu, cuda};
use crate::instance::Instance;
use crate::machine::CpuTarget;
use crate::machine::Target;
use crate::machine::cuda::DeviceLimits;
use crate::sketch::Lowered;

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

    fn predict(&self, def: &KernelDef, candidates: &[&Lowered], instances: &[Vec<i64>], units: usize) -> Vec<Vec<f64>> {
        let flops: Vec<f64> = instances.iter().map(|shape| Instance::of(def, shape).map_or(0.0, |i| i.flops)).collect();
        let row = |candidate: &&Lowered| {
            let seconds = self.seconds(def, candidate, instances, units);
            seconds.iter().zip(&flops).map(|(seconds, flops)| flops * 1e-9 / seconds).collect()
        };
        candidates.iter().map(row).collect()
    }
}

impl Analytic {
    /// Seconds of a call of a candidate at each instance (the shape variables in declaration order), on so many cores.
    pub fn seconds(&self, def: &KernelDef, candidate: &Lowered, instances: &[Vec<i64>], units: usize) -> Vec<f64> {
        match &self.target {
            Target::Cpu(target) => on_cpu(candidate, target, instances, units),
            Target::Cuda(device) => on_device(def, candidate, device, instances),
        }
    }
}

fn on_cpu(candidate: &Lowered, target: &CpuTarget, instances: &[Vec<i64>], units: usize) -> Vec<f64> {
    let profile = cpu::Profile::of(candidate);
    instances.iter().map(|shape| profile.seconds(target, shape, units)).collect()
}

/// The device says how many multiprocessors it has.
fn on_device(def: &KernelDef, candidate: &Lowered, device: &DeviceLimits, instances: &[Vec<i64>]) -> Vec<f64> {
    let profile = cuda::Profile::of(candidate);
    let resources = profile.resources(device, None);
    instances.iter().map(|shape| profile.predict(def, device, &resources, shape).seconds).collect()
}
