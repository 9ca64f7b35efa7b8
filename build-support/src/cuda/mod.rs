//! The CUDA half of kernels: which have one, what it is made of, and what becomes of it where a compiler is missing.
//!
//! ```text
//! requests ─ Selection ⇄ images (nvcc, in parallel, kept by content) ─ Half: files, registry, objects of the emulated device
//! ```
//!
//! | file in `$OUT_DIR/dietcode/<kernel>/cuda` | what it is                                                        |
//! |-------------------------------------------|-------------------------------------------------------------------|
//! | `<micro>.cu`                              | one micro-kernel                                                  |
//! | `<micro>.cubin`, `<micro>.fatbin`         | the same for one device, for several with PTX of the newest       |
//! | `<micro>.json`                            | what the compiler reported of it                                  |
//! | `<micro>.o`, `<micro>.o.key`              | the same for the emulated device, and what it was made of         |
//! | `report.json`                             | why these micro-kernels: occupancy, what is expected of instances |
//! | `dietcode.cuh`, `cuda_host`               | what the `.cu` files include                                      |
mod half;
mod images;

use dietcode_core::config::Config;
use dietcode_core::dispatch::cuda::Selection;
use dietcode_core::machine::cuda::{ComputeCapability, HostCompiler, Nvcc};
use dietcode_core::{Error, ErrorKind, Result};

use crate::environment::Environment;
use crate::gather::gather;
use crate::report::Report;
use crate::sources::Found;
use crate::{Kernels, choice};
use images::Images;

pub(crate) use half::Half;

/// What a call on a device says of a kernel whose CUDA half was left out on demand.
pub(crate) const LEFT_OUT: &str = "it was built with DIETCODE_CUDA=0; build without it";

/// What it says of one that has none.
const NOT_ASKED_FOR: &str = "its config has no CUDA target; add one, or `.cuda([…])` in build.rs, and build again";

/// What it says of one whose operands lie as CPUs read them.
const PREPARED: &str = "its attribute lists operands as prepared, which are laid out for CPUs";

/// What makes cargo look for a compiler anew: it sees what is named, not what is installed.
pub(crate) const AGAIN: &str =
    "then touch build.rs, which is not run again by itself if no variable changes, and build again";

/// What the emulated device is dispatched as, for kernels that are built for it alone.
const EMULATED: ComputeCapability = ComputeCapability { major: 9, minor: 0 };

/// A kernel that shall have a CUDA half.
struct Request<'a> {
    found: &'a Found,
    config: Option<&'a Config>,
    capabilities: Vec<ComputeCapability>,
    /// Whether real devices were asked for, and not the emulated one alone.
    device: bool,
    host: bool,
}

/// What is asked for, or why nothing is.
type Asked<'a> = Result<Request<'a>, &'static str>;

/// The CUDA halves of kernels, in their order. The warnings go to `report`.
pub(crate) fn halves(
    kernels: &[(&Kernels, &Found, Option<&Config>)],
    environment: &Environment,
    report: &mut Report,
) -> Result<Vec<Half>, Vec<Error>> {
    let requests = kernels.iter().map(|(kernels, found, config)| request(kernels, found, *config));
    let requests = gather(requests)?;
    if requests.iter().any(Result::is_ok) {
        for name in environment.cuda_vars() {
            report.rerun_if_env_changed(&name);
        }
    }
    if !environment.cuda {
        return Ok(requests.iter().map(|request| Half::skipped(request.as_ref().err().unwrap_or(&LEFT_OUT))).collect());
    }
    let compilers = Compilers::find(requests.iter().flatten(), environment, report).map_err(|error| vec![error])?;
    let selected = requests.iter().map(|request| match request {
        Ok(request) => select(request, &compilers, report),
        Err(why) => Ok(Err((*why).to_owned())),
    });
    let mut selected = gather(selected)?;
    let images = match &compilers.nvcc {
        Ok(nvcc) => {
            let for_devices = |(selected, request): (_, &Asked<'_>)| -> Option<&mut Selection> {
                let selected: &mut Result<Selection, String> = selected;
                selected.as_mut().ok().filter(|_| request.as_ref().is_ok_and(|request| request.device))
            };
            let mut all: Vec<&mut Selection> = selected.iter_mut().zip(&requests).filter_map(for_devices).collect();
            images::compile(&mut all, nvcc, environment)?
        }
        Err(_) => Images::new(),
    };
    let half = |(request, selected): (&Asked<'_>, &Result<Selection, String>)| match (request, selected) {
        (Ok(request), Ok(selection)) => Half::of(request, &selection.finalize(), &images, compilers.host.as_ref()),
        (_, Err(why)) => Half::skipped(why),
        (Err(_), Ok(_)) => unreachable!("only what was asked for is selected"),
    };
    Ok(requests.iter().zip(&selected).map(half).collect())
}

/// The compilers of both sides; why there is no nvcc is what a call on a device will say.
struct Compilers {
    nvcc: Result<Nvcc, String>,
    host: Option<HostCompiler>,
}

impl Compilers {
    /// Looks for those that are needed. That there is no nvcc is one warning; the emulated device was asked for by name, so
    /// that its compiler is missing is an error.
    fn find<'a>(
        requests: impl Iterator<Item = &'a Request<'a>> + Clone,
        environment: &Environment,
        report: &mut Report,
    ) -> Result<Compilers> {
        let host = requests.clone().any(|request| request.host).then(HostCompiler::find).transpose()?;
        let names: Vec<String> =
            requests.filter(|request| request.device).map(|request| format!("`{}`", request.found.def.name)).collect();
        let nvcc = match names.is_empty() {
            true => Err("it was built for the emulated device only".to_owned()),
            false => environment.nvcc().map_err(|error| {
                report.warning(&format!("{} cannot run on CUDA devices: {error}; {AGAIN}", names.join(", ")));
                format!("{error}; {AGAIN}")
            }),
        };
        Ok(Compilers { nvcc, host })
    }
}

/// A kernel's request, if its config or the build script has one.
fn request<'a>(kernels: &Kernels, found: &'a Found, config: Option<&'a Config>) -> Result<Asked<'a>> {
    if !found.def.prepared.is_empty() {
        config.map_or(Ok(()), |config| config.check_targets(&found.def))?;
        return Ok(Err(PREPARED));
    }
    let known = |name: &String| {
        let place = &found.place;
        name.parse().map_err(|e: Error| Error::input(format!("{place}: the build script asks for a device: {e}")))
    };
    let asked: Vec<ComputeCapability> = kernels.cuda.iter().map(known).collect::<Result<_>>()?;
    let of_config = || config.and_then(|config| config.cuda.as_ref()).map(|cuda| cuda.capabilities.clone());
    let capabilities = if asked.is_empty() { of_config().unwrap_or_default() } else { asked };
    let (device, host) = (!capabilities.is_empty(), kernels.cuda_host);
    let capabilities = if device { capabilities } else { vec![EMULATED] };
    let request = Request { found, config, capabilities, device, host };
    Ok(if device || host { Ok(request) } else { Err(NOT_ASKED_FOR) })
}

/// A kernel's choice to make, or why there is none; that no micro-kernel is possible is a warning.
fn select(request: &Request<'_>, compilers: &Compilers, report: &mut Report) -> Result<Result<Selection, String>> {
    let Request { found, config, capabilities, .. } = request;
    if let (Err(why), false) = (&compilers.nvcc, request.host) {
        return Ok(Err(why.clone()));
    }
    let compiler = compilers.nvcc.as_ref().ok().map(Nvcc::version);
    match Selection::new(&found.def, &found.program, *config, capabilities, compiler) {
        Ok(selection) => {
            config.iter().for_each(|config| watch_tuned(config, &selection, request, report));
            Ok(Ok(selection))
        }
        Err(error) if error.kind() == ErrorKind::Unavailable => {
            report.warning(&format!("{}: {error}", found.place));
            Ok(Err(error.to_string()))
        }
        Err(error) => Err(error),
    }
}

/// Tuned files that are there are watched, and so is the folder for those that are not. One that does not fit is a warning.
fn watch_tuned(config: &Config, selection: &Selection, request: &Request<'_>, report: &mut Report) {
    let name = &request.found.def.name;
    for capability in config.cuda.iter().flat_map(|_| &request.capabilities) {
        let path = config.tuned_path(&capability.to_string());
        choice::watch(&path, path.is_file(), report);
    }
    for miss in selection.misses.iter().filter(|miss| !miss.is_absent()) {
        report.warning(&format!("`{name}` runs micro-kernels that were not measured: {miss}"));
    }
    selection.gaps.iter().for_each(|gap| report.warning(&gap.to_string()));
    selection.unusable.iter().for_each(|listed| report.warning(&format!("`{name}`: {listed}")));
}
