//! The general products α · op(A) · op(B) + β · C, as BLAS has them: what is multiplied by 0 is not read.
//!
//! Each of the crate's own nests, and forms of them for other element types, by micro-kernels that treat sums in every way:
//! in one block and in several, packed or not, split or not, ahead of their use or not. If α is 0, there is no memory behind A
//! and B; if β is 0, C holds NaN.

mod cases;

use dietcode_core::machine::cuda::{DeviceLimits, HostCompiler};
use dietcode_core::machine::{CpuTarget, Toolchain};
use dietcode_core::sketch::{Blocked, Tiled};
use dietcode_syntax::KernelDef;

use crate::common::instance::Instance;
use crate::common::units;
use crate::common::{on_cpu, on_gpu};

/// α and β.
const FACTORS: [(f64, f64); 6] = [(1.0, 0.0), (1.5, -0.5), (0.0, 0.0), (0.0, 1.0), (0.0, 2.0), (-1.0, 1.0)];

/// Batch, rows, columns, sum: ragged, and now and then nothing.
pub(crate) const SHAPES: [[i64; 4]; 12] = [
    [1, 1, 1, 1],
    [2, 5, 7, 11],
    [3, 9, 33, 19],
    [1, 16, 48, 16],
    [16, 8, 16, 8],
    [2, 13, 35, 24],
    [1, 50, 7, 17],
    [5, 3, 70, 9],
    [33, 2, 3, 5],
    [2, 9, 13, 0],
    [0, 5, 5, 5],
    [17, 6, 5, 20],
];

/// A kernel's shapes with each pair of factors, a third of the pairs at a shape, so that a micro-kernel that treats all shapes
/// alike sees each pair four times, with rows that follow each other and rows that do not.
fn instances(def: &KernelDef) -> impl Iterator<Item = (Instance, Vec<Vec<f64>>)> {
    let all = SHAPES
        .iter()
        .enumerate()
        .flat_map(|(n, shape)| FACTORS.iter().skip(n % 3).step_by(3).map(move |factors| (n, shape, *factors)));
    all.map(|(n, shape, factors)| {
        let shape =
            def.shape_vars.iter().map(|var| shape[cases::VARIABLES.iter().position(|v| *v == var.name).unwrap()]);
        let gap = if n % 4 == 1 { n } else { 0 };
        let instance = Instance { seed: n as u64, def: def.clone(), shape: shape.collect(), gap, coarse: false };
        let mut tensors = instance.tensors();
        let at = |name: &str| def.params.iter().position(|param| param.name == name).expect("a parameter");
        (tensors[at("alpha")][0], tensors[at("beta")][0]) = factors;
        if factors.1 == 0.0 {
            tensors[at("c")].fill(f64::NAN);
        }
        (instance, tensors)
    })
}

#[test]
fn on_the_cpu() {
    let toolchain = Toolchain::find("native").expect("a C compiler");
    let target = CpuTarget::of(&toolchain);
    for def in cases::nests() {
        let of = |(n, tiled): (usize, Tiled)| {
            // One library holds all micro-kernels of a nest, each under the symbols of a nest of its own.
            let def = KernelDef { name: format!("{}_{n}", def.name), ..def.clone() };
            let unit = units::tiled(&def, &tiled, &target).unwrap_or_else(|e| panic!("{e}"));
            (tiled.name(), units::oracle(&def), unit, def)
        };
        let units: Vec<_> = cases::on_cpu(&def, &target).into_iter().enumerate().map(of).collect();
        let case = |(trace, reference, unit, def): &(String, _, _, KernelDef), instance: Instance| on_cpu::Case {
            instance: Instance { def: def.clone(), ..instance },
            unit: Clone::clone(unit),
            reference: Clone::clone(reference),
            trace: trace.clone(),
            sizes: None,
        };
        let (first, _) = instances(&def).next().expect("there are shapes");
        let compiled: Vec<_> = units.iter().map(|unit| case(unit, first.clone())).collect();
        let library = on_cpu::Library::compile(&toolchain, &compiled);
        for (instance, tensors) in instances(&def) {
            let expected = instance.expected(&tensors);
            units.iter().for_each(|unit| library.check(&case(unit, instance.clone()), &tensors, &expected));
        }
    }
}

#[test]
fn on_a_gpu() {
    let compiler = HostCompiler::find().expect("a C++ compiler");
    let device = DeviceLimits::of("sm_80".parse().expect("a capability")).expect("it is known");
    for def in cases::nests() {
        let of = |blocked: Blocked| units::blocked(&def, &blocked, device).unwrap_or_else(|e| panic!("{e}"));
        let units: Vec<_> = cases::on_gpu(&def, device).into_iter().map(of).collect();
        let library = on_gpu::Library::compile(&compiler, units.iter());
        for (instance, tensors) in instances(&def) {
            let expected = instance.expected(&tensors);
            for unit in &units {
                let case = on_gpu::Case { instance: instance.clone(), unit: unit.clone() };
                library.check(&case, &tensors, &expected);
            }
        }
    }
}

/// Blocks of the grid that add to the output one after the other cannot scale what is there once.
#[test]
fn atomic_additions_are_refused() {
    let device = DeviceLimits::of("sm_80".parse().expect("a capability")).expect("it is known");
    for def in cases::nests() {
        let blocked = Blocked { atomic: true, ..cases::split() };
        let why = units::blocked(&def, &blocked, device).expect_err("it has an epilogue").to_string();
        assert!(why.contains("what is added atomically must be f32 and hold the sum as it is"), "{why}");
    }
}
