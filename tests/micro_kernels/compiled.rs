//! What nvcc makes of a micro-kernel, kept under `target/` by content.

use std::path::Path;

use dietcode_core::codegen::cuda::headers::DEVICE_HEADERS;
use dietcode_core::target::cuda::{KernelReport, Nvcc, ObjectCache};

use crate::micro_kernels::sets::MicroKernel;

/// nvcc and what it compiled before.
pub(crate) struct Compiler {
    nvcc: Nvcc,
    cache: ObjectCache,
}

impl Compiler {
    /// Without nvcc the test fails, and says how to get it.
    pub(crate) fn find() -> Compiler {
        let nvcc = Nvcc::find().unwrap_or_else(|e| panic!("{e}; `cargo xtask test` installs it for its tests"));
        let cache = ObjectCache::new(Path::new(env!("CARGO_TARGET_TMPDIR")).join("micro-kernels"));
        Compiler { nvcc, cache }
    }

    /// The reports of all its kernels on all devices whose sets it is in, each for its device alone. None spills.
    pub(crate) fn reports(&self, kernel: &MicroKernel) -> Vec<KernelReport> {
        let mut reports = Vec::new();
        for device in &kernel.capabilities {
            let source = &kernel.unit.source;
            let compiled = self.cache.compile(&self.nvcc, source, &[*device], DEVICE_HEADERS);
            let compiled = compiled.unwrap_or_else(|e| panic!("`{}` of `{}`: {e}", kernel.unit.name, kernel.def.name));
            assert_eq!(compiled.report.len(), kernel.unit.launches.len(), "{:?}\n{source}", compiled.report);
            reports.extend(compiled.report);
        }
        let spilling: Vec<&KernelReport> = reports.iter().filter(|report| report.spills()).collect();
        assert!(spilling.is_empty(), "`{}` of `{}` spills: {spilling:?}", kernel.unit.name, kernel.def.name);
        reports
    }
}
