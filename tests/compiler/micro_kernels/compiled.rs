//! What nvcc makes of a micro-kernel, kept under `target/` by content.

use std::collections::BTreeSet;
use std::path::Path;

use dietcode_core::codegen::cuda::headers::DEVICE_HEADERS;
use dietcode_core::codegen::cuda::{CudaLaunch, CudaUnit};
use dietcode_core::config::Config;
use dietcode_core::dispatch::cuda::{Candidate, Choice, Selection};
use dietcode_core::frontend;
use dietcode_core::machine::cuda::{
    Compiled, ComputeCapability, DeviceLimits, KernelReport, KernelSass, Mix, Nvcc, Nvdisasm, ObjectCache,
    blocks_per_sm,
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
            for same in wanted.chunk_by(|a, b| a.capabilities() == b.capabilities()) {
                let units: Vec<&CudaUnit> = same.iter().map(|candidate| &candidate.unit).collect();
                let compiled = self.compile(&units, &same[0].capabilities());
                for candidate in same {
                    let is_own = |report: &&KernelReport| {
                        candidate.unit.launches.iter().any(|launch| launch.symbol == report.symbol)
                    };
                    let own = compiled.report.iter().filter(is_own).cloned().collect();
                    selection.learn(candidate.name(), own);
                }
            }
        }
    }

    /// Compiles units as one file, since nvcc takes about as long to begin as with a kernel. The names of their kernels differ.
    fn compile(&self, units: &[&CudaUnit], devices: &[ComputeCapability]) -> Compiled {
        let source: String = units.iter().map(|unit| &*unit.source).collect();
        let compiled = self.cache.compile(&self.nvcc, &source, devices, DEVICE_HEADERS);
        compiled.unwrap_or_else(|e| panic!("{}: {e}", names(units)))
    }

    /// The release of nvcc.
    pub(crate) fn version(&self) -> &str {
        self.nvcc.version()
    }

    /// What nvcc reports of units on a device, of each in the order of its launches, with what the main loops consist of.
    pub(crate) fn counted(&self, units: &[&CudaUnit], device: ComputeCapability) -> Vec<Vec<KernelReport>> {
        let of_unit = |kernels: Vec<(KernelReport, _)>| kernels.into_iter().map(|(report, _)| report).collect();
        self.machine_code(units, device).into_iter().map(of_unit).collect()
    }

    /// The kernels of units on a device, of each in the order of its launches: what nvcc reports of them, and their machine code.
    pub(crate) fn machine_code(
        &self,
        units: &[&CudaUnit],
        device: ComputeCapability,
    ) -> Vec<Vec<(KernelReport, KernelSass)>> {
        let mut compiled = self.compile(units, &[device]);
        let sass = self.nvdisasm.count(&mut compiled).unwrap_or_else(|e| panic!("{}: {e}", names(units)));
        let of_launch = |symbol: &String| {
            let report = compiled.report.iter().find(|report| report.symbol == *symbol).expect("it is reported");
            (report.clone(), sass.iter().find(|kernel| kernel.symbol == *symbol).expect("it is there").clone())
        };
        let of_unit = |unit: &&CudaUnit| unit.launches.iter().map(|launch| of_launch(&launch.symbol)).collect();
        units.iter().map(of_unit).collect()
    }

    /// All kernels of some micro-kernels on all devices in whose sets these are, each compiled for its device alone. None spills, a
    /// multiprocessor holds as many blocks as the schedule asks for, and the main loop is lean.
    pub(crate) fn kernels(&self, all: &[&MicroKernel]) -> Vec<Vec<Built>> {
        let mut built: Vec<Vec<Built>> = all.iter().map(|_| Vec::new()).collect();
        let devices: BTreeSet<ComputeCapability> =
            all.iter().flat_map(|kernel| &kernel.capabilities).copied().collect();
        for device in devices {
            let (own, built): (Vec<&MicroKernel>, Vec<&mut Vec<Built>>) =
                all.iter().zip(&mut built).filter(|(kernel, _)| kernel.capabilities.contains(&device)).unzip();
            let units: Vec<&CudaUnit> = own.iter().map(|kernel| &kernel.unit).collect();
            let machine_code = self.machine_code(&units, device);
            for ((kernel, built), code) in own.into_iter().zip(built).zip(machine_code) {
                built.extend(checked(kernel, device, code));
            }
        }
        built
    }
}

/// The names of units, for messages.
fn names(units: &[&CudaUnit]) -> String {
    units.iter().map(|unit| format!("`{}`", unit.name)).collect::<Vec<_>>().join(", ")
}

/// The kernels of a micro-kernel on a device, which hold to what is promised of them.
fn checked(kernel: &MicroKernel, device: ComputeCapability, code: Vec<(KernelReport, KernelSass)>) -> Vec<Built> {
    let name = format!("`{}` of `{}`", kernel.unit.name, kernel.def.name);
    assert!(code.iter().any(|(_, sass)| sass.main_loop.is_some()), "{name}: no loop of it multiplies");
    let limits = DeviceLimits::of(device).expect("a set is of known devices");
    let one = |(launch, (report, sass)): (&CudaLaunch, (KernelReport, KernelSass))| {
        let resources = report.resources(launch.threads as u32, launch.shared_bytes as u32);
        let blocks = blocks_per_sm(limits, &resources).blocks;
        assert!(!report.spills(), "{name} spills: {report:?}");
        assert!(i64::from(blocks) >= kernel.blocked.min_blocks, "{name}: {blocks} blocks of {resources:?}");
        let excess = sass.main_loop.as_ref().and_then(|mix| main_loops::excess(kernel, device, mix));
        assert!(excess.is_none(), "{name} on {device}: {}", excess.unwrap_or_default());
        Built { report, blocks, main_loop: sass.main_loop }
    };
    kernel.unit.launches.iter().zip(code).map(one).collect()
}
