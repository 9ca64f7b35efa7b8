//! Property: for random programs and random legal schedules, the generated C equals the reference within the bound.
//!
//! `DIETCODE_CASES` sets how many cases are tried (250), `DIETCODE_SEED` where the random numbers start. A failure prints
//! the seed of its case, the nest, the schedule and the first wrong element.

use dietcode_core::frontend;
use dietcode_core::machine::{CpuTarget, Toolchain};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::common::instance::Instance;
use crate::common::on_cpu::{Case, Library};
use crate::common::redrawn::Redrawn;
use crate::common::{nests, schedules, settings, shapes, units};

/// How many cases go into one shared library.
const BATCH: usize = 25;

/// Bytes of generated text that a case may have.
const LONGEST: usize = 40_000;

/// What a legal schedule may ask for and not get, as lowering says it.
const REFUSALS: [&str; 8] = [
    "but the tile stands inside of it",
    "so that partial sums wait in a panel; but its extent along",
    "pipeline: no loop packs panels",
    "spans a fused loop; stage it inside of that",
    "that the stack is asked for",
    "whose steps are known at run time only; stage it inside of that, or pack it",
    "which a part must hold whole",
    "rfactor: no reduction is bound to the grid any more",
];

/// The case of a seed: a nest, a schedule that lowers, its units, and the values of the shape variables.
fn case(seed: u64, number: usize, target: &CpuTarget, [refused, long]: &[Redrawn; 2]) -> Case {
    let mut rng = StdRng::seed_from_u64(seed);
    let def = nests::prepared(nests::any(&mut rng, &format!("case{number}")));
    let program = frontend::program(&def);
    let (unit, schedule) = loop {
        let schedule = match rng.random_range(0..3) {
            0 => schedules::tiled(&mut rng, &def, target).schedule(&program, target).expect("it is valid"),
            _ => schedules::primitives(&mut rng, &program),
        };
        // A random schedule may ask for more than lowering can give: a tile larger than the stack, a dynamic panel.
        // One that unrolls to a very long text only keeps the C compiler busy.
        match units::scheduled(&def, "random", &schedule) {
            Ok(unit) if unit.source.len() < LONGEST => break (unit, schedule),
            Ok(_) => long.note(),
            Err(why) => {
                let why = why.to_string();
                assert!(REFUSALS.iter().any(|known| why.contains(known)), "seed {seed}: {why}");
                refused.note();
            }
        }
    };
    let shape = shapes::random(&mut rng, &def);
    let gap = if rng.random_bool(0.3) { rng.random_range(1..=9) } else { 0 };
    let trace = schedule.trace().iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    let reference = units::oracle(&def);
    Case { instance: Instance { seed, def, shape, gap, coarse: false }, reference, unit, trace, sizes: None }
}

#[test]
fn generated_code_equals_the_reference() {
    let cases = settings::cases(250, 5_000);
    let seed = settings::seed_or(20_261_121);
    let toolchain = Toolchain::find("native").expect("a C compiler");
    let target = CpuTarget::of(&toolchain);
    let redrawn = <[Redrawn; 2]>::default();
    let numbers: Vec<usize> = (0..cases).collect();
    let batches: Vec<&[usize]> = numbers.chunks(BATCH).collect();
    std::thread::scope(|scope| {
        let (toolchain, target, batches, redrawn) = (&toolchain, &target, &batches, &redrawn);
        let workers = (0..2).map(|worker| {
            scope.spawn(move || {
                for batch in batches.iter().skip(worker).step_by(2) {
                    let cases: Vec<Case> = batch.iter().map(|&n| case(seed + n as u64, n, target, redrawn)).collect();
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
    let [refused, long] = redrawn;
    refused.at_most(0.2, cases, "were refused by lowering");
    long.at_most(0.25, cases, "have a text that is too long");
}
