//! A sample of draws is compiled and run at ragged shapes, on the CPU and by the emulator, and equals the reference.
//!
//! On the CPU each is compiled twice, with its sizes as constants and as parameters, and both give the same bits.
//!
//! 30 for each target, 300 with `DIETCODE_ALL=1`. All of them must hold: what a draw breaks is a fault of the compiler.

use dietcode_core::machine::cuda::{DeviceLimits, HostCompiler};
use dietcode_core::machine::{CpuTarget, Target, Toolchain};
use dietcode_core::parallel;
use dietcode_core::schedule::Trace;
use dietcode_syntax::KernelDef;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};

use super::cases;
use crate::common::instance::Instance;
use crate::common::{on_cpu, on_gpu, settings, units};

/// How many cases go into one shared library.
const BATCH: usize = 10;
/// The largest value of a shape variable, and the most iterations of a nest: the reference is slow.
const MOST: i64 = 70;
const ITERATIONS: i64 = 1 << 17;

/// A kernel with a draw and a shape.
pub(crate) struct Draw {
    instance: Instance,
    of: Trace,
    trace: String,
}

impl Draw {
    pub(crate) fn new(instance: Instance, trace: Trace) -> Draw {
        let text = trace.to_string();
        Draw { instance, of: trace, trace: text }
    }
}

fn draw(seed: u64, number: usize, kernels: &[KernelDef], target: &Target) -> Draw {
    let mut rng = StdRng::seed_from_u64(seed.wrapping_mul(1 << 20).wrapping_add(number as u64));
    let mut def = kernels.choose(&mut rng).expect("there are kernels").clone();
    def.name = format!("case{number}");
    let space = cases::space(&mut rng, &def, target.clone(), MOST);
    let trace: Trace = space.sample(&mut rng).expect("a sketch has a draw");
    space.apply(&trace).unwrap_or_else(|e| panic!("{e}\n{trace}"));
    let mut most = MOST;
    let shape = loop {
        let shape = cases::shape(&mut rng, &def, most.max(2));
        // At most seven loops: a product of so small numbers is no overflow.
        if shape.iter().product::<i64>() <= ITERATIONS {
            break shape;
        }
        most -= 1;
    };
    let gap = if rng.random_bool(0.3) { rng.random_range(1..=9) } else { 0 };
    Draw::new(Instance { seed, def, shape, gap, coarse: true }, trace)
}

fn check(name: &str) {
    let (seed, target) = (settings::seed_of_the_day(), cases::target(name));
    let kernels = cases::kernels(&target);
    let count = settings::count(30, 300);
    let draws = (0..count).map(|n| draw(seed, n, &kernels, &target)).collect();
    compare(&target, draws, true);
    println!("{count} of {count} draws for {name} compile and equal the reference");
}

/// Compiles draws, runs them, and compares them with the reference; and the bits of both forms with `DIETCODE_ALL=1`.
pub(crate) fn carry_out(target: &Target, draws: Vec<Draw>) {
    compare(target, draws, settings::all());
}

/// In batches, on two threads.
fn compare(target: &Target, draws: Vec<Draw>, compares_bits: bool) {
    let mut draws = draws.into_iter();
    let batches =
        std::iter::from_fn(|| Some(draws.by_ref().take(BATCH).collect()).filter(|batch: &Vec<_>| !batch.is_empty()));
    parallel::each(batches.collect(), 2, |batch| match target {
        Target::Cpu(target) => by_cc(target, &batch, compares_bits),
        Target::Cuda(device) => by_emulator(device, batch),
    });
}

/// Of the bits, only what is compiled as a build compiles it says something.
fn by_cc(target: &CpuTarget, draws: &[Draw], compares_bits: bool) {
    let toolchain = Toolchain::find("native").expect("a C compiler");
    let case = |draw: &Draw, parametric: bool| {
        let Draw { instance, of, trace } = draw;
        let made = match parametric {
            false => units::traced(&instance.def, of, target).map(|unit| (unit, None)),
            true => units::parametric(&instance.def, of, target).map(|(unit, sizes)| (unit, Some(sizes))),
        };
        let (unit, sizes) = made.unwrap_or_else(|e| panic!("{e}\n{trace}"));
        let reference = units::oracle(&instance.def);
        on_cpu::Case { instance: instance.clone(), reference, unit, trace: trace.clone(), sizes }
    };
    let [constant, parametric] =
        [false, true].map(|form| draws.iter().map(|draw| case(draw, form)).collect::<Vec<on_cpu::Case>>());
    let compile = if compares_bits { on_cpu::Library::as_built } else { on_cpu::Library::compile };
    let [of_constant, of_parametric] = [&constant, &parametric].map(|cases| compile(&toolchain, cases));
    for (constant, parametric) in constant.iter().zip(&parametric) {
        let tensors = constant.instance.tensors();
        let expected = constant.instance.expected(&tensors);
        of_constant.check(constant, &tensors, &expected);
        of_parametric.check(parametric, &tensors, &expected);
        if compares_bits {
            let [a, b] = [of_constant.output(constant, &tensors, 1), of_parametric.output(parametric, &tensors, 1)];
            assert!(a == b, "sizes as parameters change bits:\n{}", constant.trace);
        }
    }
}

fn by_emulator(device: &DeviceLimits, draws: Vec<Draw>) {
    let compiler = HostCompiler::find().expect("a C++ compiler");
    let case = |Draw { instance, of, trace }: Draw| {
        let unit = units::traced_on_gpu(&instance.def, &of, device).unwrap_or_else(|e| panic!("{e}\n{trace}"));
        on_gpu::Case { instance, unit }
    };
    let cases: Vec<on_gpu::Case> = draws.into_iter().map(case).collect();
    let library = on_gpu::Library::compile(&compiler, cases.iter().map(|case| &case.unit));
    for case in &cases {
        let tensors = case.instance.tensors();
        library.check(case, &tensors, &case.instance.expected(&tensors));
    }
}

#[test]
fn draws_for_this_cpu_equal_the_reference() {
    check("cpu");
}

#[test]
fn draws_for_16_vector_registers_equal_the_reference() {
    check("avx2");
}

#[test]
fn draws_for_sm_75_equal_the_reference() {
    check("sm_75");
}

#[test]
fn draws_for_sm_80_equal_the_reference() {
    check("sm_80");
}

#[test]
fn draws_for_sm_90_equal_the_reference() {
    check("sm_90");
}
