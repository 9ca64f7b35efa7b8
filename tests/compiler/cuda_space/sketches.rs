//! The spaces of the shipped kernels, and decisions for their sketches.

use std::collections::BTreeMap;

use dietcode_core::machine::Target;
use dietcode_core::machine::cuda::DeviceLimits;
use dietcode_core::schedule::{Instruction, Level, Trace};
use dietcode_core::sketch::Space;
use dietcode_core::sketch::rules::{CustomRules, Tf32};
use dietcode_syntax::KernelDef;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;

/// The devices that sketches are made for.
pub(crate) const DEVICES: [&str; 3] = ["sm_75", "sm_80", "sm_90"];

pub(crate) fn device(name: &str) -> DeviceLimits {
    *DeviceLimits::of(name.parse().expect("a capability")).expect("it is known")
}

/// The space of a kernel at a small workload instance and at a large one.
pub(crate) fn space(def: &KernelDef, device: DeviceLimits) -> Space {
    space_by(def, device, &CustomRules::default())
}

/// The same where matrix units may multiply tensors of f32.
pub(crate) fn space_of_tf32(def: &KernelDef, device: DeviceLimits, tf32: Tf32) -> Space {
    let mut custom = CustomRules::default();
    custom.allow_tf32(tf32);
    space_by(def, device, &custom)
}

/// That of a convolution at the extents of a layer, where channels are the longest sum.
pub(crate) fn space_of_layer(def: &KernelDef, device: DeviceLimits, tf32: Tf32) -> Space {
    let mut custom = CustomRules::default();
    custom.allow_tf32(tf32);
    let extent = |name: &str| match name {
        "C" | "O" => 128,
        "R" | "S" => 3,
        _ => 28,
    };
    let instance = def.shape_vars.iter().map(|var| extent(&var.name)).collect();
    Space::generate(def, Target::Cuda(device), &[instance], &custom).expect("it has sketches")
}

fn space_by(def: &KernelDef, device: DeviceLimits, custom: &CustomRules) -> Space {
    let instances = [8, 256].map(|extent| vec![extent; def.shape_vars.len()]);
    Space::generate(def, Target::Cuda(device), &instances, custom).expect("it has sketches")
}

/// A sketch with a value for each variable: of a factor's level, or one of the candidates.
fn decided(sketch: &Trace, mut factor: impl FnMut(Level) -> i64, mut one: impl FnMut(&[i64]) -> i64) -> Trace {
    let mut decisions = BTreeMap::new();
    for instruction in sketch.instructions.iter() {
        match instruction {
            Instruction::SampleTiles(axes) => {
                let factors = axes.iter().flat_map(|axis| &axis.factors);
                decisions.extend(factors.map(|of| (of.var.clone(), factor(of.level))));
            }
            Instruction::SampleCategorical { into, candidates, .. } => {
                decisions.insert(into.clone(), one(candidates));
            }
            Instruction::SampleComputeLocation { into, .. } => {
                decisions.insert(into.clone(), 0);
            }
            _ => {}
        }
    }
    sketch.with(decisions)
}

/// The least of everything; a vector has two lanes.
pub(crate) fn smallest(sketch: &Trace) -> Trace {
    decided(sketch, |level| if level == Level::Lanes { 2 } else { 1 }, |candidates| candidates[0])
}

/// Small tiles, of sizes that divide little: those of the space's own sampler are tested elsewhere.
pub(crate) fn small(space: &Space, sketch: &Trace, rng: &mut StdRng) -> Trace {
    let sizes = |level| match level {
        Level::Thread => [2, 3, 4, 8].as_slice(),
        Level::Inner => &[1, 2, 3, 4],
        Level::Steps | Level::Unroll | Level::Split => &[1, 2, 3],
        Level::Cross => &[1, 3, 8, 9],
        _ => &[1, 2],
    };
    let draw = || {
        let rng = std::cell::RefCell::new(&mut *rng);
        let of = |from: &[i64]| *from.choose(&mut **rng.borrow_mut()).expect("there are some");
        decided(sketch, |level| of(sizes(level)), of)
    };
    std::iter::repeat_with(draw).take(100).find(|trace| space.apply(trace).is_ok()).expect("most are within the limits")
}
