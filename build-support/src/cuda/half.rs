//! The CUDA half of one kernel: its files and what its registry says.

use dietcode_core::codegen::cuda::headers::{DEVICE_HEADERS, HOST_HEADERS};
use dietcode_core::codegen::cuda::{CudaLaunch, CudaUnit};
use dietcode_core::codegen::registry::{self, CudaEntry, CudaLaunchEntry};
use dietcode_core::dispatch::cuda::{Candidate, Choice};
use dietcode_core::target::cuda::HostCompiler;

use super::Request;
use super::images::Images;

/// What is written for a kernel's CUDA half, and compiled for the emulated device.
#[derive(Default)]
pub(crate) struct Half {
    /// What stands in `registry.rs` behind the CPU's half.
    pub(crate) registry: String,
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
        let mut files = vec![("report.json".to_owned(), choice.account.json().into_bytes())];
        files.extend(headers.iter().map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec())));
        let mut entries = Vec::new();
        for candidate in &choice.micro_kernels {
            let name = candidate.name();
            files.push((format!("{name}.cu"), source(choice, candidate).into_bytes()));
            let image = images.get(&candidate.unit.source).map(|compiled| (image_name(candidate), compiled));
            entries.push(entry(candidate, image.as_ref().map(|(name, _)| name.as_str()), host.is_some()));
            if let Some((image, compiled)) = image {
                files.push((image, compiled.image.clone()));
                files.push((format!("{name}.json"), compiled.json().into_bytes()));
            }
        }
        let names = || choice.micro_kernels.iter().map(|candidate| candidate.name().to_owned()).collect();
        let def = &request.found.def;
        Half {
            registry: comment(choice) + &registry::cuda_rs(&entries, &choice.decisions, &def.shape_vars),
            host: host.map(|compiler| (names(), compiler.clone())),
            files,
        }
    }
}

/// The text of a `.cu`; what was reported and why it was chosen stands at the end, where it moves no line.
fn source(choice: &Choice, candidate: &Candidate) -> String {
    let account = choice.account.of(candidate.name()).text();
    let lines: String = account.lines().map(|line| format!(" * {line}\n")).collect();
    format!("{}/* Chosen, and the figures of its kernels:\n{lines} */\n", candidate.unit.source)
}

fn comment(choice: &Choice) -> String {
    let lines: String = choice.account.text().lines().map(|line| format!("// {line}\n")).collect();
    format!("\n// The micro-kernels for CUDA devices, and why these.\n{lines}")
}

/// A cubin is for one device, a fatbin for several.
fn image_name(candidate: &Candidate) -> String {
    let extension = if candidate.devices.len() == 1 { "cubin" } else { "fatbin" };
    format!("{}.{extension}", candidate.name())
}

fn entry(candidate: &Candidate, image: Option<&str>, host: bool) -> CudaEntry {
    let CudaUnit { name, launches, workspace_bytes, .. } = &candidate.unit;
    let capabilities: Vec<_> = candidate.capabilities().iter().map(|c| (c.major, c.minor)).collect();
    CudaEntry {
        name: name.clone(),
        launches: launches.iter().map(launch).collect(),
        workspace: workspace_bytes.clone(),
        image_file: image.map(|file| format!("cuda/{file}")),
        ptx: capabilities.last().copied().filter(|_| capabilities.len() > 1),
        capabilities,
        host,
    }
}

fn launch(launch: &CudaLaunch) -> CudaLaunchEntry {
    let fits = "a valid micro-kernel keeps within the limits of a device";
    CudaLaunchEntry {
        symbol: launch.symbol.clone(),
        threads: u32::try_from(launch.threads).expect(fits),
        shared_bytes: u32::try_from(launch.shared_bytes).expect(fits),
        blocks: launch.blocks.clone(),
        persistent: launch.persistent,
    }
}
