//! The pool of a simulation, from files of records and a config.

use std::collections::BTreeSet;
use std::path::PathBuf;

use dietcode::core::machine::cuda::DeviceLimits;
use dietcode::core::machine::{self, CpuTarget};
use dietcode::core::search::simulation::Pool;
use dietcode::core::search::{Filter, Record, Shape, Target, TargetFilter, scan};
use dietcode::{Error, Result};

use crate::cli::setup::Setup;
use crate::cli::tell;

/// The records of the config's kernel on one target, and what schedules are made for there.
pub(super) fn read(files: &[PathBuf], setup: &Setup, target: Option<&str>) -> Result<(Pool, machine::Target)> {
    let filter = Filter {
        kernel: Some(setup.def.name.clone()),
        source_hash: Some(format!("{:016x}", setup.def.source_hash())),
        target: target.map(|text| TargetFilter::Like(text.to_owned())),
        ..Filter::default()
    };
    let mut records: Vec<Record> = Vec::new();
    for path in files {
        let scanned = scan(path, |record, _| {
            records.extend(filter.matches(&record).then_some(record));
            Ok(())
        })?;
        scanned.notices(path).iter().for_each(|notice| tell(notice));
    }
    let target = only_target(&records, setup)?;
    Ok((Pool::of(&records.iter().collect::<Vec<_>>(), &instances(setup)?)?, target))
}

fn only_target(records: &[Record], setup: &Setup) -> Result<machine::Target> {
    let targets: BTreeSet<&Target> = records.iter().map(|record| &record.target).collect();
    let (name, targets) = (&setup.def.name, Vec::from_iter(targets));
    match &targets[..] {
        [Target::Cpu { .. }] => Ok(machine::Target::Cpu(CpuTarget::detect(&setup.config.cpu.march)?)),
        [Target::Cuda { capability, .. }] => Ok(machine::Target::Cuda(*DeviceLimits::nearest_to(capability)?)),
        [] => {
            Err(Error::input(format!("found no records of `{name}` as its source stands, expected those of a search")))
        }
        several => {
            let (n, machines) = (several.len(), several.iter().map(|target| format!("{target:?}")));
            let machines = machines.collect::<Vec<String>>().join("; ");
            Err(Error::input(format!(
                "found records of `{name}` on {n} targets, expected one, by --target: {machines}"
            )))
        }
    }
}

/// The config's instances with their weights.
fn instances(setup: &Setup) -> Result<Vec<(Shape, f64)>> {
    Ok(setup.workloads()?.iter().map(|workload| (setup.named(&workload.instance.shape), workload.weight)).collect())
}
