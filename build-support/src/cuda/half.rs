//! The CUDA half of one kernel: its files and what its registry says.

use dietcode_core::codegen::cuda::CudaUnit;
use dietcode_core::codegen::cuda::headers::{DEVICE_HEADERS, HOST_HEADERS};
use dietcode_core::codegen::registry::{self, Capability, Decision};
use dietcode_core::dispatch::cuda::{Candidate, Choice};
use dietcode_core::machine::cuda::{Compiled, HostCompiler};

use super::Request;
use super::images::Images;

/// What is written for a kernel's CUDA half, and compiled for the emulated device.
#[derive(Default)]
pub(crate) struct Half {
    /// What stands in `registry.rs` behind the CPU's half.
    pub(crate) registry: String,
    /// The micro-kernels, in the order of the registry.
    pub(crate) units: Vec<CudaUnit>,
    /// Which of them serves which shape, for each device.
    pub(crate) decisions: Vec<(Capability, Decision)>,
    /// (name, contents) of the files in the folder `cuda`.
    pub(crate) files: Vec<(String, Vec<u8>)>,
    /// The `.cu` files, without `.cu`, that are compiled for the emulated device, and the compiler.
    pub(crate) host: Option<(Vec<String>, HostCompiler)>,
}

impl Half {
    /// The half of a kernel that cannot run on devices; `reason` is the sentence that a call gives.
    pub(super) fn skipped(reason: &str) -> Half {
        Half { registry: registry::skipped_cuda_rs(reason), ..Half::default() }
    }

    /// The half that was chosen, with the images that were compiled.
    pub(super) fn of(request: &Request<'_>, choice: &Choice, images: &Images, host: Option<&HostCompiler>) -> Half {
        let host = host.filter(|_| request.host);
        let headers = if host.is_some() { HOST_HEADERS } else { DEVICE_HEADERS };
        let headers = headers.iter().map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec()));
        let sources = choice.sources().into_iter().map(|(name, text)| (name, text.into_bytes()));
        let mut files: Vec<(String, Vec<u8>)> = sources.chain(headers).collect();
        let compiled = |candidate: &Candidate| Some((candidate.clone(), images.get(&candidate.unit.source)?));
        let compiled: Vec<(Candidate, &Compiled)> = choice.micro_kernels.iter().filter_map(compiled).collect();
        for (candidate, compiled) in &compiled {
            files.push((candidate.image_file(), compiled.image.clone()));
            files.push((format!("{}.json", candidate.name()), compiled.json().into_bytes()));
        }
        let names = || choice.micro_kernels.iter().map(|candidate| candidate.name().to_owned()).collect();
        let has_images = request.device && compiled.len() == choice.micro_kernels.len();
        Half {
            units: choice.micro_kernels.iter().map(|candidate| candidate.unit.clone()).collect(),
            decisions: choice.decisions.clone(),
            registry: choice.registry(&request.found.def.shape_vars, has_images, host.is_some()),
            host: host.map(|compiler| (names(), compiler.clone())),
            files,
        }
    }
}
