//! Property: for random programs and random legal schedules, the generated C equals the reference within the bound.
//!
//! `DIETCODE_CASES` sets how many cases are tried (500), `DIETCODE_SEED` where the random numbers start. A failure prints
//! the seed of its case, the nest, the schedule and the first wrong element.

use dietcode_core::codegen::{c, reference};
use dietcode_core::frontend;
use dietcode_core::machine::{CpuTarget, Toolchain};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::common::instance::Instance;
use crate::common::on_cpu::{Case, Library};
use crate::common::{nests, schedules, shapes};

/// How many cases go into one shared library.
const BATCH: usize = 25;

fn setting(name: &str, default: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name} is `{text}`, expected a number")),
        Err(_) => default,
    }
}

/// Bytes of generated text that a case may have.
const LONGEST: usize = 40_000;

/// The case of a seed: a nest, a schedule that lowers, its units, and the values of the shape variables.
fn case(seed: u64, number: usize, target: &CpuTarget) -> Case {
    let mut rng = StdRng::seed_from_u64(seed);
    let def = nests::random(&mut rng, &format!("case{number}"));
    let program = frontend::program(&def);
    let (unit, schedule) = loop {
        let schedule = match rng.random_range(0..3) {
            0 => match schedules::tiled(&mut rng, &def, target).schedule(&program, target) {
                Ok(schedule) => schedule,
                Err(_) => continue,
            },
            _ => schedules::primitives(&mut rng, &program),
        };
        // A random schedule may ask for more than lowering can give: a tile larger than the stack, a dynamic panel.
        // One that unrolls to a very long text only keeps the C compiler busy.
        match c::unit(&def, "random", &schedule) {
            Ok(unit) if unit.source.len() < LONGEST => break (unit, schedule),
            _ => {}
        }
    };
    let shape = shapes::random(&mut rng, &def);
    let gap = if rng.random_bool(0.3) { rng.random_range(1..=9) } else { 0 };
    let trace = schedule.trace().iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    let reference = reference::reference(&def);
    Case { instance: Instance { seed, def, shape, gap, coarse: false }, reference, unit, trace }
}

#[test]
fn generated_code_equals_the_reference() {
    let cases = setting("DIETCODE_CASES", 500) as usize;
    let seed = setting("DIETCODE_SEED", 20_261_121);
    let toolchain = Toolchain::find("native").expect("a C compiler");
    let target = CpuTarget::of(&toolchain);
    let numbers: Vec<usize> = (0..cases).collect();
    let batches: Vec<&[usize]> = numbers.chunks(BATCH).collect();
    std::thread::scope(|scope| {
        let (toolchain, target, batches) = (&toolchain, &target, &batches);
        let workers = (0..2).map(|worker| {
            scope.spawn(move || {
                for batch in batches.iter().skip(worker).step_by(2) {
                    let cases: Vec<Case> = batch.iter().map(|&n| case(seed + n as u64, n, target)).collect();
                    let library = Library::compile(toolchain, &cases);
                    for case in &cases {
                        let tensors = case.instance.tensors();
                        library.check(case, &tensors, &case.instance.expected(&tensors));
                    }
                }
            })
        });
        workers
            .collect::<Vec<_>>()
            .into_iter()
            .for_each(|worker| worker.join().expect("every case of the batch holds"));
    });
}
