//! Merging what was measured on a GPU.

use dietcode::benchmark::results::{Gpu, Machine};
use dietcode::core::codegen::cuda::translation_unit;
use dietcode::core::cost_model::cuda::Profile;
use dietcode::core::dispatch::{FORMAT, Instance, Measurement, Named, Provenance, Seen, Tuned, today};
use dietcode::core::machine::cuda::{ComputeCapability, DeviceLimits, Nvcc};
use dietcode::core::sketch::Blocked;
use dietcode::{Error, Result};

use super::sources::Sources;
use super::table::Table;
use super::{Merged, joined};
use crate::cli::setup::Setup;

/// Makes the tuned file of a GPU.
pub(super) fn merge(setup: &Setup, sources: &Sources, capability: ComputeCapability) -> Result<Merged> {
    let Some(cuda) = &setup.config.cuda else {
        let message = format!(
            "{}: has no `targets.cuda`, so that no build reads a tuned file of a GPU",
            setup.config.path.display()
        );
        return Err(Error::input(message));
    };
    let limits = DeviceLimits::of(capability)?;
    let mut table = Table::new();
    table.add_configurations(sources, |family| {
        let blocked = family.on_gpu(&setup.def, limits)?;
        let name = blocked.name();
        Ok((blocked, name))
    })?;
    let seen = table.all_seen(sources);
    let joined = joined(setup, &table.names, &seen, &vec![None; seen.len()])?;
    let instance = |(of, pick): (&Seen, &usize)| {
        let shape = &of.point.instance.shape;
        let named = setup.vars.iter().cloned().zip(shape.iter().copied());
        Ok(Instance {
            wkl: of.point.wkl.clone(),
            shape: named.collect(),
            micro_kernel: joined.tree.pick(&setup.vars, shape).to_owned(),
            measurements: measurement(setup, &table.schedules[*pick], of, *pick, limits)?.into_iter().collect(),
        })
    };
    let used = table.schedules.iter().filter(|blocked| joined.tree.leaves().any(|leaf| leaf == blocked.name()));
    let Machine::Cuda(Gpu { device, nvcc }) = &sources.machine else { return Err(no_device(sources)) };
    // The code was compiled by a build; where nvcc was not there when it ran, the one here is taken to have been it.
    let compiler = nvcc.clone().map_or_else(|| Nvcc::find().map(|nvcc| nvcc.version().to_owned()), Ok)?;
    let tuned = Tuned {
        format: FORMAT,
        kernel: setup.def.name.clone(),
        target: capability.to_string(),
        provenance: Provenance {
            source_hash: format!("{:016x}", setup.def.source_hash()),
            space_hash: cuda.space_hash(),
            cpu: String::new(),
            device: device.model.clone(),
            features: Vec::new(),
            compiler,
            date: today(),
        },
        micro_kernels: used.map(|blocked| Named::new(blocked.clone())).collect(),
        tree: joined.tree.clone(),
        instances: seen.iter().zip(&joined.picks).map(instance).collect::<Result<_>>()?,
    };
    Ok(Merged { seen, names: table.names, joined, tuned })
}

fn no_device(sources: &Sources) -> Error {
    Error::input(format!("{}: found no results of a GPU", sources.first.display()))
}

/// What was measured of a micro-kernel at an instance, beside what the cost model expects there.
fn measurement(
    setup: &Setup,
    blocked: &Blocked,
    seen: &Seen,
    pick: usize,
    limits: &DeviceLimits,
) -> Result<Option<Measurement>> {
    let Some(gflops) = seen.gflops.values().find_map(|row| row[pick]) else { return Ok(None) };
    let profile = Profile::of(&setup.def, blocked, limits, &translation_unit(&setup.def, blocked, limits)?)?;
    let instance = &seen.point.instance;
    let seconds = profile.predict(&setup.def, limits, &profile.resources(limits, None), &instance.shape).seconds;
    Ok(Some(Measurement {
        threads: 0,
        gflops_predicted: instance.flops / seconds / 1e9,
        gflops_measured: gflops.median,
        gflops_iqr: gflops.iqr,
    }))
}
