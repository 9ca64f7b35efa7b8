//! Merging what was measured on a GPU.

use std::collections::BTreeMap;

use dietcode::benchmark::results::{Gpu, Machine};
use dietcode::core::codegen::{self, cuda::headers::DEVICE_HEADERS};
use dietcode::core::config::{Cache, ChosenFrom};
use dietcode::core::cost_model::cuda::{LaunchReport, Profile};
use dietcode::core::dispatch::{Measurement, Provenance, Seen, Tuned, today};
use dietcode::core::machine::Target;
use dietcode::core::machine::cuda::{ComputeCapability, DeviceLimits, Nvcc};
use dietcode::core::sketch::{Lowered, MicroKernel};
use dietcode::{Error, Result};

use super::sources::Sources;
use super::table::Table;
use super::{Merged, joined, tuned};
use crate::cli::setup::Setup;
use crate::cli::tell;

/// Makes the tuned file of a GPU.
pub(super) fn merge(setup: &Setup, sources: &Sources, capability: ComputeCapability) -> Result<Merged> {
    if setup.config.cuda.is_none() {
        let message = format!(
            "{}: has no `targets.cuda`, so that no build reads a tuned file of a GPU",
            setup.config.path.display()
        );
        return Err(Error::input(message));
    }
    let limits = DeviceLimits::of(capability)?;
    let mut table = Table::default();
    table.add_configurations(sources, &setup.program, &Target::Cuda(*limits))?;
    let seen = table.all_seen(sources);
    let joined = joined(setup, &table.names, &seen, &vec![None; seen.len()])?;
    let Machine::Cuda(Gpu { device, nvcc }) = &sources.machine else { return Err(no_device(sources)) };
    // The code was compiled by a build; where nvcc was not there when it ran, the one here is taken to have been it.
    let compiler = nvcc.clone().map_or_else(|| Nvcc::find().map(|nvcc| nvcc.version().to_owned()), Ok)?;
    let provenance = Provenance {
        source_hash: format!("{:016x}", setup.def.source_hash()),
        space_hash: setup.config.space_hash("cuda", ChosenFrom::Set),
        cpu: String::new(),
        device: device.model.clone(),
        features: Vec::new(),
        compiler,
        estimated: false,
        cache: Cache::Warm,
        date: today(),
    };
    let measurements = |of: &Seen, pick: usize| measurements(setup, &table.schedules[pick].1, of, pick, limits);
    let mut tuned = tuned(setup, capability.to_string(), provenance, (&table, &seen, &joined), measurements)?;
    tuned.reports = reports(setup, &table, &tuned, limits)?;
    Ok(Merged { seen, names: table.names, joined, tuned })
}

/// What the nvcc that is here reports of the winners, by their names; nothing where there is none.
fn reports(
    setup: &Setup,
    table: &Table,
    tuned: &Tuned,
    limits: &DeviceLimits,
) -> Result<BTreeMap<String, Vec<LaunchReport>>> {
    let nvcc = match Nvcc::find() {
        Ok(nvcc) => nvcc,
        Err(error) => {
            tell(&format!("warning: the tuned file has no compile reports: {error}"));
            return Ok(BTreeMap::new());
        }
    };
    let report = |(micro_kernel, lowered): &(MicroKernel, Lowered)| {
        let unit = codegen::cuda::translation_unit(&setup.def, &micro_kernel.name(), lowered)?;
        let compiled = nvcc.compile(&unit.source, &[limits.capability], DEVICE_HEADERS)?;
        Ok((micro_kernel.name(), LaunchReport::of(&unit, limits, &compiled.report)))
    };
    let winners = table.schedules.iter().filter(|(micro_kernel, _)| tuned.micro_kernels.contains(micro_kernel));
    winners.map(report).collect()
}

fn no_device(sources: &Sources) -> Error {
    Error::input(format!("{}: found no results of a GPU", sources.first.display()))
}

/// What was measured of a micro-kernel at an instance, beside what the cost model expects there.
fn measurements(
    setup: &Setup,
    lowered: &Lowered,
    seen: &Seen,
    pick: usize,
    limits: &DeviceLimits,
) -> Result<Vec<Measurement>> {
    let Some(gflops) = seen.gflops.values().find_map(|row| row[pick]) else { return Ok(Vec::new()) };
    let profile = Profile::of(lowered);
    let instance = &seen.workload.instance;
    let seconds = profile.predict(&setup.def, limits, &profile.resources(limits, None), &instance.shape).seconds;
    Ok(vec![Measurement::of(0, instance.flops / seconds / 1e9, gflops.median, gflops.iqr)])
}
