//! What nvcc makes of a micro-kernel, kept under `target/` by content.

use std::path::Path;

use dietcode_core::codegen::cuda::CudaUnit;
use dietcode_core::codegen::cuda::headers::DEVICE_HEADERS;
use dietcode_core::config::Config;
use dietcode_core::dispatch::cuda::{Candidate, Choice, Selection};
use dietcode_core::frontend;
use dietcode_core::machine::cuda::{
    ComputeCapability, DeviceLimits, KernelReport, KernelSass, Mix, Nvcc, Nvdisasm, ObjectCache, blocks_per_sm,
};
use dietcode_syntax::KernelDef;

use super::main_loops;
use super::sets::MicroKernel;

/// A kernel, compiled.
pub(crate) struct Built {
    pub(crate) report: KernelReport,
    /// How many of its blocks a multiprocessor holds.
    pub(crate) blocks: u32,
    /// The instructions of its main loop; those that finish or begin a sum have none.
    pub(crate) main_loop: Option<Mix>,
}

/// nvcc and what it compiled before.
pub(crate) struct Compiler {
    nvcc: Nvcc,
    nvdisasm: Nvdisasm,
    cache: ObjectCache,
}

impl Compiler {
    /// Without nvcc the test fails, and says how to get it.
    pub(crate) fn find() -> Compiler {
        let nvcc = Nvcc::find().unwrap_or_else(|e| panic!("{e}; `cargo xtask test` installs it for its tests"));
        let nvdisasm =
            Nvdisasm::find(&nvcc).unwrap_or_else(|e| panic!("{e}; `cargo xtask test` installs it for its tests"));
        let cache = ObjectCache::new(Path::new(env!("CARGO_TARGET_TMPDIR")).join("micro-kernels"));
        Compiler { nvcc, nvdisasm, cache }
    }

    /// What a build chooses that measures nothing: it is compiled, and chosen again with what nvcc reports.
    pub(crate) fn choice(&self, def: &KernelDef, config: Option<&Config>, devices: &[ComputeCapability]) -> Choice {
        let selection = Selection::new(def, &frontend::program(def), config, devices, Some(self.nvcc.version()));
        let mut selection = selection.unwrap_or_else(|e| panic!("`{}`: {e}", def.name));
        loop {
            let wanted: Vec<Candidate> = selection.wanted().into_iter().cloned().collect();
            if wanted.is_empty() {
                return selection.finalize();
            }
            for candidate in wanted {
                let (source, devices) = (&candidate.unit.source, candidate.capabilities());
                let compiled = self.cache.compile(&self.nvcc, source, &devices, DEVICE_HEADERS);
                let compiled = compiled.unwrap_or_else(|e| panic!("`{}` of `{}`: {e}", candidate.name(), def.name));
                selection.learn(candidate.name(), compiled.report);
            }
        }
    }

    /// The release of nvcc.
    pub(crate) fn version(&self) -> &str {
        self.nvcc.version()
    }

    /// What nvcc reports of a unit on a device, with what the main loops consist of.
    pub(crate) fn counted(&self, unit: &CudaUnit, device: ComputeCapability) -> Vec<KernelReport> {
        self.machine_code(unit, device).into_iter().map(|(report, _)| report).collect()
    }

    /// The kernels of a unit on a device, in the order of their launches: what nvcc reports of each, and its machine code.
    pub(crate) fn machine_code(&self, unit: &CudaUnit, device: ComputeCapability) -> Vec<(KernelReport, KernelSass)> {
        let compiled = self.cache.compile(&self.nvcc, &unit.source, &[device], DEVICE_HEADERS);
        let mut compiled = compiled.unwrap_or_else(|e| panic!("`{}`: {e}", unit.name));
        let sass = self.nvdisasm.count(&mut compiled).unwrap_or_else(|e| panic!("`{}`: {e}", unit.name));
        let of_launch = |symbol: &String| {
            let report = compiled.report.iter().find(|report| report.symbol == *symbol).expect("it is reported");
            (report.clone(), sass.iter().find(|kernel| kernel.symbol == *symbol).expect("it is there").clone())
        };
        unit.launches.iter().map(|launch| of_launch(&launch.symbol)).collect()
    }

    /// All its kernels on all devices whose sets it is in, each compiled for its device alone. None spills, a
    /// multiprocessor holds as many blocks as the schedule asks for, and the main loop is lean.
    pub(crate) fn kernels(&self, kernel: &MicroKernel) -> Vec<Built> {
        let name = format!("`{}` of `{}`", kernel.unit.name, kernel.def.name);
        let mut built = Vec::new();
        for device in &kernel.capabilities {
            let compiled = self.cache.compile(&self.nvcc, &kernel.unit.source, &[*device], DEVICE_HEADERS);
            let compiled = compiled.unwrap_or_else(|e| panic!("{name}: {e}"));
            let sass = self.nvdisasm.kernels(&compiled.image).unwrap_or_else(|e| panic!("{name}: {e}"));
            assert!(sass.iter().any(|kernel| kernel.main_loop.is_some()), "{name}: no loop of it multiplies");
            for launch in &kernel.unit.launches {
                let report = compiled.report.iter().find(|report| report.symbol == launch.symbol);
                let report =
                    report.unwrap_or_else(|| panic!("{name}: nothing is reported of {}", launch.symbol)).clone();
                let resources = report.resources(launch.threads as u32, launch.shared_bytes as u32);
                let limits = DeviceLimits::of(*device).expect("a set is of known devices");
                let blocks = blocks_per_sm(limits, &resources).blocks;
                assert!(!report.spills(), "{name} spills: {report:?}");
                assert!(i64::from(blocks) >= kernel.blocked.min_blocks, "{name}: {blocks} blocks of {resources:?}");
                let main_loop = sass.iter().find(|kernel| kernel.symbol == launch.symbol);
                let main_loop = main_loop.and_then(|kernel| kernel.main_loop.clone());
                let excess = main_loop.as_ref().and_then(|mix| main_loops::excess(kernel, *device, mix));
                assert!(excess.is_none(), "{name} on {device}: {}", excess.unwrap_or_default());
                built.push(Built { report, blocks, main_loop });
            }
        }
        built
    }
}
