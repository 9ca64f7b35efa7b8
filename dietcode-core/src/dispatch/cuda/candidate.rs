//! A micro-kernel that may be chosen, with all that is known of it.

use dietcode_syntax::KernelDef;

use crate::codegen::cuda::{CudaUnit, translation_unit};
use crate::cost_model::cuda::{Prediction, Profile};
use crate::ir::Program;
use crate::machine::Target;
use crate::machine::cuda::{ComputeCapability, DeviceLimits, KernelReport, Resources};
use crate::sketch::MicroKernel;
use crate::{Error, Result};

/// A micro-kernel, its translation unit, and what the compiler reported of it.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The schedule.
    pub micro_kernel: MicroKernel,
    /// The source and its launches.
    pub unit: CudaUnit,
    /// The devices, of those asked for, that can hold it; oldest first.
    pub devices: Vec<&'static DeviceLimits>,
    /// What the compiler said, one entry for each kernel on each device; `None` before it was compiled.
    pub reports: Option<Vec<KernelReport>>,
    profile: Profile,
}

impl Candidate {
    /// The candidate for those of the devices on which it is valid.
    ///
    /// # Errors
    /// Why it is valid on none of them.
    pub(super) fn new(
        (def, program): (&KernelDef, &Program),
        micro_kernel: MicroKernel,
        devices: &[&'static DeviceLimits],
    ) -> Result<Candidate> {
        let (mut valid, mut first, mut why) = (Vec::new(), None, None);
        for device in devices.iter().copied() {
            match micro_kernel.lowered(program, &Target::Cuda(*device)) {
                Ok(lowered) => {
                    valid.push(device);
                    first.get_or_insert(lowered);
                }
                Err(e) => drop(why.get_or_insert(e)),
            }
        }
        let name = micro_kernel.name();
        let Some(lowered) = first else {
            let why = why.map(|e| e.to_string()).unwrap_or_default();
            return Err(Error::input(format!("`{name}` is not valid: {why}")));
        };
        let unit = translation_unit(def, &name, &lowered)?;
        let profile = Profile::of(&lowered);
        Ok(Candidate { micro_kernel, unit, devices: valid, reports: None, profile })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.unit.name
    }

    /// What it does, as the model sees it.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// The devices that its code is compiled for.
    pub fn capabilities(&self) -> Vec<ComputeCapability> {
        self.devices.iter().map(|device| device.capability).collect()
    }

    /// What each launch takes of a device, as reported or estimated.
    pub fn resources(&self, device: &DeviceLimits) -> Vec<Resources> {
        let reports = self.reports.as_deref().map(|reports| (&*self.unit.launches, reports));
        self.profile.resources(device, reports)
    }

    /// What is expected of it at a shape; nothing on a device that cannot hold it.
    pub fn predict(&self, def: &KernelDef, device: &'static DeviceLimits, shape: &[i64]) -> Option<Prediction> {
        let held = self.devices.contains(&device);
        held.then(|| self.profile.predict(def, device, &self.resources(device), shape))
    }

    /// Whether the compiler reported on a device that registers did not suffice.
    pub fn spills(&self, device: &DeviceLimits) -> bool {
        let reports = self.reports.iter().flatten();
        reports.filter(|report| report.capability == device.capability).any(KernelReport::spills)
    }
}
