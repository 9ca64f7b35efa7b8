//! Sums that tiles of the grid share: where `AddRFactor` applies on a CPU and on a GPU, and where it does not; and that draws of the
//! CPU's sketches equal the reference.

use dietcode_core::machine::Target;
use dietcode_core::sketch::rules::CustomRules;
use dietcode_core::sketch::{Space, partial_sketches};
use dietcode_syntax::KernelDef;
use rand::SeedableRng;
use rand::rngs::StdRng;

use super::cases;
use super::compiled::{Draw, carry_out};
use super::lanes::nest;
use crate::common::avx512;
use crate::common::instance::Instance;
use crate::common::settings;

fn space(def: &KernelDef, target: Target, instance: &[i64]) -> Space {
    let custom = CustomRules::default();
    Space::generate(def, target, &[instance.to_vec()], &custom).unwrap_or_else(|e| panic!("{}: {e}", def.name))
}

/// Whether the rule makes sketches of a nest at a shape.
fn applies(name: &str, target: &Target, shape: &[i64]) -> bool {
    let (def, custom) = (nest(name), CustomRules::default());
    let bounds = space(&def, target.clone(), shape).bounds;
    let made = partial_sketches(&def, bounds, &custom).expect("there are sketches");
    assert!(made.iter().any(|partial| !partial.rules.contains(&"AddRFactor")), "the others stay");
    made.iter().any(|partial| partial.rules.contains(&"AddRFactor"))
}

#[test]
fn threads_of_a_cpu_share_long_sums_of_few_outputs() {
    let target = avx512::target();
    let fills = 64 * target.cores;
    let target = Target::Cpu(target);
    assert!(applies("row_sum", &target, &[1, 32_768]) && applies("row_sum", &target, &[fills - 1, 32_768]));
    assert!(applies("total", &target, &[32_768]) && applies("row_max", &target, &[2, 32_768]));
    assert!(!applies("row_sum", &target, &[1, 32_767]), "half of it is not worth a thread");
    assert!(!applies("row_sum", &target, &[fills, 32_768]), "each core has outputs of its own");
    assert!(!applies("furthest", &target, &[1, 32_768, 1]), "a maximum of products cannot be padded");
    assert!(!applies("filled", &target, &[32_768]), "nothing is summed");
}

#[test]
fn blocks_of_a_gpu_share_sums_that_leave_multiprocessors_free() {
    let target = cases::target("sm_80");
    let fills = 1024 * i64::from(target.cuda().expect("a device").multiprocessors);
    assert!(applies("row_sum", &target, &[1, 128]) && applies("row_sum", &target, &[fills - 1, 128]));
    assert!(!applies("row_sum", &target, &[1, 127]), "half of it is not worth a block");
    assert!(!applies("row_sum", &target, &[fills, 128]), "each multiprocessor has outputs of its own");
    assert!(!applies("total", &target, &[1 << 20]), "the threads of one block share it");
}

/// Sums over everything, of rows and of columns, by several operators, with and without vectors along them.
#[test]
fn draws_whose_sum_is_shared_equal_the_reference() {
    const LONG: i64 = 33_000;
    let nests: [(&str, &[&[i64]]); 6] = [
        ("total", &[&[1], &[4099], &[LONG]]),
        ("added", &[&[LONG]]),
        ("row_max", &[&[2, 100], &[3, LONG]]),
        ("product_of_column", &[&[5, 3], &[LONG, 9]]),
        ("if_alpha", &[&[2, 1000, 3], &[1, LONG, 5]]),
        ("distances", &[&[2, LONG, 3]]),
    ];
    let mut rng = StdRng::seed_from_u64(settings::seed_of_the_day());
    let mut draws = Vec::new();
    for (name, shapes) in nests {
        let def = nest(name);
        let space = space(&def, cases::target("cpu"), shapes.last().expect("there are some"));
        let sketches = space.sketches.iter().filter(|sketch| sketch.to_string().contains("rfactor(workspace)"));
        let before = draws.len();
        for (n, sketch) in sketches.enumerate() {
            let shape = shapes[n % shapes.len()].to_vec();
            let trace = space.complete(sketch, &mut rng).unwrap_or_else(|e| panic!("{e}\n{sketch}"));
            let kernels = space.apply(&trace).unwrap_or_else(|e| panic!("{e}\n{trace}"));
            assert_eq!(kernels.nests.len(), 2, "a second phase adds the parts:\n{trace}");
            let def = KernelDef { name: format!("{name}_{n}"), ..def.clone() };
            draws.push(Draw::new(Instance { seed: n as u64, def, shape, gap: n % 2, coarse: true }, trace));
        }
        assert!(draws.len() > before, "{name}");
    }
    carry_out(&cases::target("cpu"), draws);
}
