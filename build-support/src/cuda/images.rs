//! Has chosen micro-kernels compiled, until nothing is chosen that was not.

use std::collections::{BTreeMap, BTreeSet};

use dietcode_core::codegen::cuda::headers::DEVICE_HEADERS;
use dietcode_core::dispatch::cuda::{Candidate, Selection};
use dietcode_core::machine::cuda::{Compiled, Nvcc, ObjectCache};
use dietcode_core::{Error, parallel};

use crate::emit;
use crate::environment::Environment;
use crate::gather::gather;

/// Compiled micro-kernels by their sources.
pub(super) type Images = BTreeMap<String, Compiled>;

/// Compiles what the selections choose, and tells them what was reported, until they stay with their choice.
///
/// Images are kept in a folder of their own, also those that were not chosen in the end: another build asks for them again.
pub(super) fn compile(
    selections: &mut [&mut Selection],
    nvcc: &Nvcc,
    environment: &Environment,
) -> Result<Images, Vec<Error>> {
    let folder = environment.out_dir.join("dietcode-images");
    let cache = ObjectCache::new(&folder);
    let mut images = Images::new();
    let mut keys = BTreeSet::new();
    loop {
        let wanted: Vec<(usize, Candidate)> = selections
            .iter()
            .enumerate()
            .flat_map(|(at, selection)| selection.wanted().into_iter().map(move |candidate| (at, candidate.clone())))
            .collect();
        if wanted.is_empty() {
            break;
        }
        let one = |(at, candidate): (usize, Candidate)| {
            let (source, devices) = (&candidate.unit.source, candidate.capabilities());
            let key = ObjectCache::key(nvcc, source, &devices, DEVICE_HEADERS)?;
            let compiled = cache.compile(nvcc, source, &devices, DEVICE_HEADERS).map_err(|error| {
                Error::new(error.kind(), format!("micro-kernel `{}`", candidate.name())).caused_by(error)
            })?;
            Ok((at, candidate, key, compiled))
        };
        let compiled = parallel::each(wanted, environment.jobs, one);
        for (at, candidate, key, compiled) in gather(compiled.into_iter())? {
            selections[at].learn(candidate.name(), compiled.report.clone());
            images.insert(candidate.unit.source, compiled);
            keys.extend([format!("{key}.image"), format!("{key}.json")]);
        }
    }
    emit::keep_only(&folder, &keys).map_err(|error| vec![error])?;
    Ok(images)
}
