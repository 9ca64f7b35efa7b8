//! The images of a set's configurations, kept by content.

use std::collections::BTreeSet;

use dietcode_core::codegen::cuda::headers::DEVICE_HEADERS;
use dietcode_core::codegen::set::{CudaSetUnit, GeneratedSet};
use dietcode_core::machine::cuda::{Nvcc, ObjectCache};
use dietcode_core::{Error, parallel};

use crate::emit;
use crate::environment::Environment;
use crate::gather::gather;
use crate::progress::Progress;

/// (name, image) of all configurations; what no configuration needs any more is forgotten.
pub(super) fn compile(
    set: &GeneratedSet<'_>,
    nvcc: &Nvcc,
    environment: &Environment,
    progress: &Progress,
) -> Result<Vec<(String, Vec<u8>)>, Vec<Error>> {
    let folder = environment.out_dir.join("dietcode-set-images");
    let cache = ObjectCache::new(&folder);
    let units: Vec<&CudaSetUnit> = set.cuda_units().collect();
    let keys = units.iter().map(|unit| ObjectCache::key(nvcc, &unit.source, &unit.devices, DEVICE_HEADERS));
    let keys: Vec<String> = gather(keys)?;
    progress.expect(keys.iter().filter(|key| cache.load(key).is_none()).count());
    let one = |(unit, key): (&CudaSetUnit, &String)| {
        let compiled = match cache.load(key) {
            Some(compiled) => compiled,
            None => {
                let compiled = cache.compile(nvcc, &unit.source, &unit.devices, DEVICE_HEADERS).map_err(|error| {
                    Error::new(error.kind(), format!("configuration `{}`", unit.name)).caused_by(error)
                })?;
                progress.step(&format!("{}.cu", unit.name));
                compiled
            }
        };
        Ok((unit.name.clone(), compiled.image))
    };
    let images = parallel::each(units.into_iter().zip(&keys).collect(), environment.jobs, one);
    let images = gather(images.into_iter())?;
    let kept: BTreeSet<String> = keys.iter().flat_map(|key| [format!("{key}.image"), format!("{key}.json")]).collect();
    emit::keep_only(&folder, &kept).map_err(|error| vec![error])?;
    Ok(images)
}
