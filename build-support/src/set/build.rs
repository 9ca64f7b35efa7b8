//! From a chosen set to its library and `registry.rs`.

use dietcode_core::Error;
use dietcode_core::codegen::registry::library_rs;
use dietcode_core::codegen::set::{GeneratedSet, registry_rs};
use dietcode_core::syntax::KernelDef;

use super::compilers::Compilers;
use super::{Chosen, emit, images};
use crate::environment::Environment;
use crate::generated::Generated;
use crate::progress::Progress;
use crate::report::Report;
use crate::{archive, objects};

/// The name of the set's library, behind that of the package.
const LIBRARY: &str = "configurations";

impl Chosen {
    /// Generates, compiles and links the configurations for these kernels.
    pub(crate) fn build(
        &self,
        defs: &[KernelDef],
        environment: &Environment,
        progress: &Progress,
        report: &mut Report,
    ) -> Result<(), Vec<Error>> {
        let compilers = Compilers::find(self, environment).map_err(|error| vec![error])?;
        let set = GeneratedSet::new(&self.name(), &self.families, defs, &compilers.targets(), environment.jobs)
            .map_err(|error| vec![error])?;
        let images = match &compilers.nvcc {
            Ok(nvcc) => images::compile(&set, nvcc, environment, progress)?,
            Err(_) => Vec::new(),
        };
        let sources = set.cuda_files().into_iter().map(|(name, text)| (name, text.into_bytes()));
        let images = images.into_iter().map(|(name, image)| (format!("{name}.image"), image));
        let host = compilers.host.as_ref().ok();
        let generated = Generated {
            folder: emit::folder(environment),
            library: archive::library(environment, LIBRARY),
            cpu: set.cpu_files(),
            cuda: sources.chain(images).collect(),
            host: host.map(|host| (set.cuda_units().map(|unit| unit.name.clone()).collect(), host.clone())),
        };
        generated.write().map_err(|error| vec![error])?;
        objects::make(generated.outdated(compilers.cpu.as_ref().ok()), environment.jobs, progress)?;
        let is_linked = generated.join(environment, report).map_err(|error| vec![error])?;
        let linked = if is_linked { library_rs(&generated.library) } else { String::new() };
        self.tell_left_out(&set, &compilers, environment, report);
        let text = registry_rs(&set, &compilers.availability()) + &linked;
        emit::registry(environment, &text).map_err(|error| vec![error])
    }

    /// One line for all that the targets cannot hold; which and why stands in `registry.def`.
    fn tell_left_out(
        &self,
        set: &GeneratedSet<'_>,
        compilers: &Compilers,
        environment: &Environment,
        report: &mut Report,
    ) {
        let all = set.configurations.len();
        let on_cuda = (compilers.nvcc.is_ok() || compilers.host.is_ok()).then(|| set.cuda_units().count());
        let on_cpu = compilers.cpu.is_ok().then(|| set.cpu_units().count());
        let missing = |(served, place): (Option<usize>, &str)| {
            let served = served.filter(|served| *served < all)?;
            Some(format!("{} of {all} serve no kernel on {place}", all - served))
        };
        let parts: Vec<String> =
            [(on_cpu, "the CPU"), (on_cuda, "CUDA devices")].into_iter().filter_map(missing).collect();
        if !parts.is_empty() {
            let list = emit::folder(environment).join("registry.def");
            report.warning(&format!(
                "{}: of its configurations {}; {} says why",
                self.name(),
                parts.join(", and "),
                list.display()
            ));
        }
    }
}
