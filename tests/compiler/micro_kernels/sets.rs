//! The micro-kernels of the sets.

use std::path::Path;
use std::sync::OnceLock;

use dietcode_core::codegen::cuda::CudaUnit;
use dietcode_core::config::KernelSet;
use dietcode_core::frontend;
use dietcode_core::machine::cuda::{ComputeCapability, DeviceLimits};
use dietcode_core::measure::Instance;
use dietcode_core::sketch::{Blocked, Stage};
use dietcode_syntax::KernelDef;

use crate::common::units;

/// The sets, by the device that each is for.
pub(crate) const SETS: [&str; 2] = ["sm_80", "sm_90"];

/// A micro-kernel.
#[derive(Clone)]
pub(crate) struct MicroKernel {
    pub(crate) def: KernelDef,
    pub(crate) blocked: Blocked,
    pub(crate) unit: CudaUnit,
    /// The devices in whose sets it is.
    pub(crate) capabilities: Vec<ComputeCapability>,
}

fn read(set: &str) -> KernelSet {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../configs/{set}.json"));
    KernelSet::read(path).unwrap_or_else(|e| panic!("{e}"))
}

/// The kernels of all sets, and those that have a function of their own, each once.
pub(crate) fn kernels() -> Vec<KernelDef> {
    let mut kernels: Vec<KernelDef> = Vec::new();
    let of_sets = SETS.into_iter().flat_map(|set| read(set).kernel_defs().unwrap_or_else(|e| panic!("{e}")));
    let ops = dietcode_syntax::scan(include_str!("../../../src/ops.rs")).expect("it is compiled elsewhere");
    for def in of_sets.chain(ops.iter().map(|kernel| kernel.parse().expect("it is compiled elsewhere"))) {
        // Operands are prepared for CPUs.
        if def.prepared.is_empty() && !kernels.contains(&def) {
            kernels.push(def);
        }
    }
    kernels
}

/// The micro-kernels of a set, which are lowered once for all tests.
pub(crate) fn of(set: &str) -> &'static [MicroKernel] {
    static LOWERED: [OnceLock<Vec<MicroKernel>>; SETS.len()] = [const { OnceLock::new() }; SETS.len()];
    let at = SETS.iter().position(|known| *known == set).expect("it is one of the sets");
    LOWERED[at].get_or_init(|| lowered(set))
}

fn lowered(set: &str) -> Vec<MicroKernel> {
    let set = read(set);
    let nests = set.nests().unwrap_or_else(|e| panic!("{e}"));
    let device = DeviceLimits::of(set.capabilities[0]).expect("a set is of known devices");
    let micro_kernel = |((def, _), blocked): (&(KernelDef, _), Blocked)| {
        let unit = units::blocked(def, &blocked, device).unwrap_or_else(|e| panic!("{e}"));
        MicroKernel { def: def.clone(), blocked, unit, capabilities: set.capabilities.clone() }
    };
    set.micro_kernels(&nests).expect("a set is of known devices").into_iter().map(micro_kernel).collect()
}

/// Of the shapes that the first set has of a kernel, the one with most operations.
pub(crate) fn largest_shape(def: &KernelDef) -> Vec<i64> {
    let flops = |shape: &Vec<i64>| Instance::of(def, shape).expect("a shape of the kernel").flops;
    let shapes = read(SETS[0]).shapes(def).into_iter();
    shapes.max_by(|a, b| flops(a).total_cmp(&flops(b))).unwrap_or_else(|| panic!("`{}` has no shape", def.name))
}

/// Those of all sets; one that several have in common is one, for all of their devices.
pub(crate) fn distinct() -> Vec<MicroKernel> {
    let mut distinct: Vec<MicroKernel> = Vec::new();
    for kernel in SETS.into_iter().flat_map(of) {
        match distinct.iter_mut().find(|other| other.unit == kernel.unit) {
            Some(known) => known.capabilities.extend(&kernel.capabilities),
            None => distinct.push(kernel.clone()),
        }
    }
    distinct
}

/// Combinations of a kernel and a schedule that are not valid, with the reasons: the sets have no such ones.
pub(crate) fn unused(set: &str) -> Vec<String> {
    let set = read(set);
    let defs = set.kernel_defs().unwrap_or_else(|e| panic!("{e}"));
    let device = DeviceLimits::of(set.capabilities[0]).expect("a set is of known devices");
    let mut unused = Vec::new();
    for def in &defs {
        let own = set.generators.iter().filter(|g| g.kernels.as_ref().is_none_or(|names| names.contains(&def.name)));
        for family in own.flat_map(|g| g.generator.iter()) {
            if let Err(why) = family.on_gpu(&frontend::program(def), device) {
                unused.push(format!("`{}` of `{}`: {why}", family.name(), def.name));
            }
        }
    }
    unused
}

/// What a [`Blocked`] has to choose from and no micro-kernel does.
pub(crate) fn missing_choices(kernels: &[MicroKernel]) -> Vec<&'static str> {
    let any = |holds: &dyn Fn(&Blocked) -> bool| kernels.iter().any(|kernel| holds(&kernel.blocked));
    let stage = |holds: &dyn Fn(&Stage) -> bool| any(&|b| b.stage.values().any(holds));
    let split = |atomic: bool| any(&|b| !b.split.is_empty() && b.atomic == atomic);
    let choices = [
        ("vectors of 1", stage(&|stage| stage.vector == 1)),
        ("vectors of 2", stage(&|stage| stage.vector == 2)),
        ("vectors of 4", stage(&|stage| stage.vector == 4)),
        ("vectors of 8", stage(&|stage| stage.vector == 8)),
        ("rows that are padded", stage(&|stage| stage.pad > 0)),
        ("rows that are swizzled", stage(&|stage| stage.swizzle > 0)),
        ("rows that are not padded", stage(&|stage| stage.pad == 0)),
        ("the sum outside", stage(&|stage| stage.reduce_outside)),
        ("the tensor as it lies", stage(&|stage| !stage.reduce_outside)),
        ("a single tile", any(&|b| b.stages == 1)),
        ("the next tile in registers", any(&|b| b.stages == 2 && !b.asynchronous)),
        ("2 asynchronous tiles", any(&|b| b.stages == 2 && b.asynchronous)),
        ("3 asynchronous tiles", any(&|b| b.stages == 3 && b.asynchronous)),
        ("4 asynchronous tiles", any(&|b| b.stages == 4 && b.asynchronous)),
        ("shared sums in order", split(false)),
        ("shared sums by atomic additions", split(true)),
        ("a persistent grid", any(&|b| b.persistent)),
        ("a minimum of blocks", any(&|b| b.min_blocks > 1)),
        ("stores of 4", any(&|b| b.store == 4)),
        ("stores of 8", any(&|b| b.store == 8)),
        ("vthreads", any(&|b| !b.vthread.is_empty())),
    ];
    choices.into_iter().filter(|(_, there)| !there).map(|(choice, _)| choice).collect()
}
