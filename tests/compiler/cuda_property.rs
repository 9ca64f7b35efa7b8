//! Property: for random programs and random micro-kernels for a GPU, the generated CUDA, carried out on the CPU, equals the
//! reference within the bound.
//!
//! `DIETCODE_CASES` sets how many cases are tried (100), `DIETCODE_SEED` where the random numbers start. A failure prints
//! the seed of its case, the nest, the schedule and the first wrong element.

mod blocked;
mod products;

use dietcode_core::frontend;
use dietcode_core::ir::Cut;
use dietcode_core::machine::cuda::{DeviceLimits, HostCompiler};
use dietcode_core::sketch::Blocked;
use dietcode_syntax::KernelDef;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::common::instance::Instance;
use crate::common::on_gpu::{Case, Library};
use crate::common::redrawn::Redrawn;
use crate::common::{nests, settings, shapes, units};

/// How many cases go into one shared library.
const BATCH: usize = 10;

/// Draws a nest of that name and a micro-kernel, which need not be valid for it.
type Draw = fn(&mut StdRng, &str) -> (KernelDef, Blocked);

fn any_nest(rng: &mut StdRng, name: &str) -> (KernelDef, Blocked) {
    let def = nests::any(rng, name);
    let blocked = blocked::random(rng, &frontend::program(&def).blocks[0]);
    (def, blocked)
}

fn matrix_product(rng: &mut StdRng, name: &str) -> (KernelDef, Blocked) {
    let def = products::random(rng, name);
    let blocked = products::blocked(rng, &def);
    (def, blocked)
}

/// The case of a seed: a nest, a micro-kernel, and the values of the shape variables.
fn case(seed: u64, number: usize, device: &DeviceLimits, draw: Draw, redrawn: &Redrawn) -> Case {
    let mut rng = StdRng::seed_from_u64(seed);
    let (def, blocked) = loop {
        let (def, blocked) = draw(&mut rng, &format!("case{number}"));
        if blocked.micro_kernel(&frontend::program(&def), device).is_ok() {
            break (def, blocked);
        }
        redrawn.note();
    };
    let unit = units::blocked(&def, &blocked, device).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
    let shape = shapes::random(&mut rng, &def);
    let gap = if rng.random_bool(0.3) { rng.random_range(1..=9) } else { 0 };
    Case { instance: Instance { seed, def, shape, gap, coarse: blocked.matrix_unit.is_some() }, unit }
}

/// The same of two micro-kernels on one output.
fn covered(seed: u64, number: usize, device: &DeviceLimits, draw: Draw, redrawn: &Redrawn) -> Case {
    let mut rng = StdRng::seed_from_u64(seed);
    let (def, unit, coarse) = loop {
        let (def, main) = draw(&mut rng, &format!("cover{number}"));
        let program = frontend::program(&def);
        let rest = blocked::random(&mut rng, &program.blocks[0]);
        let along = def.shape_vars.iter().find(|var| Cut::of(&program, &var.name).is_ok());
        let multiple = rng.random_range(1..=20);
        let made = [&main, &rest].map(|of| Some(of.micro_kernel(&program, device).ok()?.0));
        if let (Some(along), [Some(one), Some(other)]) = (along, made) {
            let unit = units::cover_on_gpu(&def, [&one, &other], (&along.name, multiple), device);
            break (def, unit.expect("the nest can be cut"), main.matrix_unit.is_some() || rest.matrix_unit.is_some());
        }
        redrawn.note();
    };
    let shape = shapes::random(&mut rng, &def);
    let gap = if rng.random_bool(0.3) { rng.random_range(1..=9) } else { 0 };
    Case { instance: Instance { seed, def, shape, gap, coarse }, unit }
}

/// Makes the case of a seed.
type Make = fn(u64, usize, &DeviceLimits, Draw, &Redrawn) -> Case;

/// `refused` is how many draws for each case may be.
fn check(cases: usize, (case, draw): (Make, Draw), refused: f64) {
    let seed = settings::seed_or(20_261_121);
    let compiler = HostCompiler::find().expect("a C++ compiler");
    let device = DeviceLimits::of("sm_80".parse().expect("a capability")).expect("it is known");
    let redrawn = Redrawn::default();
    let numbers: Vec<usize> = (0..cases).collect();
    let batches: Vec<&[usize]> = numbers.chunks(BATCH).collect();
    std::thread::scope(|scope| {
        let (compiler, batches, redrawn) = (&compiler, &batches, &redrawn);
        let workers = (0..2).map(|worker| {
            scope.spawn(move || {
                for batch in batches.iter().skip(worker).step_by(2) {
                    let cases: Vec<Case> =
                        batch.iter().map(|&n| case(seed + n as u64, n, device, draw, redrawn)).collect();
                    let library = Library::compile(compiler, cases.iter().map(|case| &case.unit));
                    for case in &cases {
                        let tensors = case.instance.tensors();
                        library.check(case, &tensors, &case.instance.expected(&tensors));
                    }
                }
            })
        });
        let workers: Vec<_> = workers.collect();
        workers.into_iter().for_each(|worker| worker.join().expect("every case of the batch holds"));
    });
    redrawn.at_most(refused, cases, "are not valid");
}

#[test]
fn generated_cuda_equals_the_reference() {
    check(settings::cases(100, 2_000), (case, any_nest), 1.8);
}

#[test]
fn matrix_instructions_equal_the_reference() {
    check(settings::cases(100, 2_000) / 4, (case, matrix_product), 0.6);
}

#[test]
fn covers_equal_the_reference() {
    check(settings::cases(100, 2_000) / 4, (covered, any_nest), 9.0);
}
