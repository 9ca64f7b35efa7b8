//! What a build generates of the set for the oldest devices: a configuration of each family, compiled by nvcc.

use std::collections::BTreeSet;

use dietcode_core::codegen::cuda::headers::DEVICE_HEADERS;
use dietcode_core::codegen::set::{CudaSetUnit, GeneratedSet, Targets};
use dietcode_core::machine::cuda::{DeviceLimits, Nvcc};
use dietcode_core::parallel;

use super::sample::{nests, read};

#[test]
fn the_oldest_device_takes_a_unit_of_each_family() {
    let nvcc = Nvcc::find().unwrap_or_else(|e| panic!("{e}; `cargo xtask test` installs it for its tests"));
    let device = DeviceLimits::of("sm_75".parse().expect("a capability")).expect("it is in the table");
    let mut seen = BTreeSet::new();
    let mut families = read("configs/sm_75.json");
    families.retain(|family| seen.insert(family.family().to_owned()));
    assert!(seen.iter().eq(["local", "naive", "non_local", "non_local_interleaved"]), "{seen:?}");

    let (defs, targets) = (nests(), Targets { cpu: None, devices: vec![device], host: false });
    let set = GeneratedSet::new("configs/sm_75.json", &families, &defs, &targets, 2).unwrap_or_else(|e| panic!("{e}"));
    let units: Vec<&CudaSetUnit> = set.cuda_units().collect();
    assert_eq!(units.len(), families.len());
    parallel::each(units, 2, |unit| {
        let compiled = nvcc.compile(&unit.source, &unit.devices, DEVICE_HEADERS);
        let compiled = compiled.unwrap_or_else(|e| panic!("`{}`: {e}", unit.name));
        let launches = unit.kernels.iter().flat_map(|(_, kernel)| &kernel.launches);
        for symbol in launches.map(|launch| &launch.symbol) {
            let report = compiled.report.iter().find(|report| report.symbol == *symbol);
            let report = report.unwrap_or_else(|| panic!("nothing is reported of `{symbol}`"));
            assert!(report.capability == device.capability && report.registers > 0, "`{symbol}`: {report:?}");
        }
    });
}
