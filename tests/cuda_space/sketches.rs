//! The spaces of the shipped kernels, and decisions for their sketches.

use std::sync::Arc;

use dietcode_core::frontend;
use dietcode_core::schedule::{Instruction, Trace};
use dietcode_core::sketch::rules::{
    AddRFactor, AutoBind, CrossThreadReduction, Draft, MultiLevelTilingCuda, MultiLevelTilingTensorCore, Rule,
};
use dietcode_core::sketch::{Bounds, Hardware, Space};
use dietcode_core::target::cuda::DeviceLimits;
use dietcode_syntax::KernelDef;

/// The devices that sketches are made for.
pub(crate) const DEVICES: [&str; 3] = ["sm_75", "sm_80", "sm_90"];

pub(crate) fn device(name: &str) -> DeviceLimits {
    *DeviceLimits::of(name.parse().expect("a capability")).expect("it is known")
}

/// The kernels of `src/ops`.
pub(crate) fn kernels() -> Vec<KernelDef> {
    let sources = [
        include_str!("../../src/ops.rs"),
        include_str!("../../src/ops/matmul.rs"),
        include_str!("../../src/ops/batched.rs"),
        include_str!("../../src/ops/gemm.rs"),
    ];
    let scanned =
        sources.into_iter().flat_map(|source| dietcode_syntax::scan(source).expect("it is compiled elsewhere"));
    scanned.map(|kernel| kernel.parse().expect("it is compiled elsewhere")).collect()
}

pub(crate) fn kernel(name: &str) -> KernelDef {
    kernels().into_iter().find(|def| def.name == name).expect("a shipped kernel")
}

/// The space of a kernel whose axes are all of these extents at the workload instances.
pub(crate) fn space(def: &KernelDef, device: DeviceLimits) -> Space {
    let program = frontend::program(def);
    let extents = program.blocks[0].iters.iter().map(|iter| (iter.name.clone(), vec![80, 2048])).collect();
    let bounds = Bounds { hardware: Hardware::Cuda(device), extents };
    let rules: [&dyn Rule; 5] =
        [&AddRFactor, &CrossThreadReduction, &MultiLevelTilingTensorCore, &MultiLevelTilingCuda, &AutoBind];
    let mut drafts = vec![Draft::new(program.clone(), Arc::new(bounds.clone()))];
    for rule in rules {
        drafts = drafts.into_iter().flat_map(|draft| rule.apply(draft, 0).expect("no rule of a user")).collect();
    }
    let sketches = drafts.into_iter().map(|draft| Trace::new(draft.instructions)).collect();
    Space { def: def.clone(), program, bounds, sketches }
}

/// The least of everything.
pub(crate) fn smallest(sketch: &Trace) -> Trace {
    let mut decisions = std::collections::BTreeMap::new();
    for instruction in sketch.instructions.iter() {
        match instruction {
            Instruction::SampleTiles(axes) => {
                decisions.extend(axes.iter().flat_map(|axis| &axis.factors).map(|factor| (factor.var.clone(), 1)));
            }
            Instruction::SampleCategorical { into, candidates, .. } => {
                decisions.insert(into.clone(), candidates[0]);
            }
            Instruction::SampleComputeLocation { into, .. } => {
                decisions.insert(into.clone(), 0);
            }
            _ => {}
        }
    }
    sketch.with(decisions)
}
