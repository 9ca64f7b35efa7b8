//! Sums that tiles of the grid share: where `AddRFactor` applies on a CPU and on a GPU, and where it does not, the same of `AddStreamK`; and that
//! draws of the CPU's sketches equal the reference.

use dietcode_core::machine::Target;
use dietcode_core::sketch::rules::{CustomRules, PartialSketch};
use dietcode_core::sketch::{Space, partial_sketches, rules_without_effect};
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

/// Why a rule makes no sketches of a nest at a shape, as `dietcode explain --sketches` says it.
fn unmet_by(rule: &str, name: &str, target: &Target, shape: &[i64]) -> Option<String> {
    let (def, custom) = (nest(name), CustomRules::default());
    let bounds = space(&def, target.clone(), shape).bounds;
    let made = partial_sketches(&def, bounds.clone(), &custom).expect("there are sketches");
    let by_it = |partial: &PartialSketch| partial.rules.contains(&rule);
    assert!(made.iter().any(|partial| !by_it(partial)), "the others stay");
    let all = rules_without_effect(&def, bounds, &custom).expect("there are sketches");
    let why = all.into_iter().rfind(|one| one.rule == rule).map(|one| one.why);
    assert_eq!(why.is_none(), made.iter().any(by_it), "{name} at {shape:?}: {why:?}");
    why
}

fn unmet(name: &str, target: &Target, shape: &[i64]) -> Option<String> {
    unmet_by("AddRFactor", name, target, shape)
}

#[test]
fn threads_of_a_cpu_share_long_sums_of_few_outputs() {
    let target = avx512::target();
    let fills = 64 * target.cores;
    let target = Target::Cpu(target);
    for (name, shape) in [
        ("row_sum", &[1, 32_768][..]),
        ("row_sum", &[fills - 1, 32_768]),
        ("total", &[32_768]),
        ("row_max", &[2, 32_768]),
    ] {
        assert_eq!(unmet(name, &target, shape), None, "{name} at {shape:?}");
    }
    let because = |name, shape: &[i64], why: &str| {
        let found = unmet(name, &target, shape);
        assert!(
            found.as_ref().is_some_and(|found| found.contains(why)),
            "{name} at {shape:?}: {found:?}, expected {why}"
        );
    };
    because("row_sum", &[1, 32_767], "over `j`, has 32767 terms, and a part has at least 16384");
    because("row_sum", &[fills, 32_768], "it has 128 outputs at the smallest instance, and 64 for each of 2 cores");
    because("furthest", &[1, 32_768, 1], "no padding of its inputs leaves the sum over `k` what it is");
    because("filled", &[32_768], "it sums nothing");
}

#[test]
fn blocks_of_a_gpu_share_sums_that_leave_multiprocessors_free() {
    let target = cases::target("sm_80");
    let fills = 1024 * i64::from(target.cuda().expect("a device").multiprocessors);
    assert_eq!(unmet("row_sum", &target, &[1, 128]), None);
    assert_eq!(unmet("row_sum", &target, &[fills - 1, 128]), None);
    let because = |name, shape: &[i64], why: &str| {
        let found = unmet(name, &target, shape);
        assert!(
            found.as_ref().is_some_and(|found| found.contains(why)),
            "{name} at {shape:?}: {found:?}, expected {why}"
        );
    };
    because("row_sum", &[1, 127], "over `j`, has 127 terms, and a part has at least 64");
    because("row_sum", &[fills, 128], "1024 for each of 108 multiprocessors are enough");
    because("total", &[1 << 20], "it sums everything, which the threads of one block share");
}

#[test]
fn blocks_share_steps_where_a_wave_of_tiles_matters() {
    let target = cases::target("sm_80");
    let rows = 8 * i64::from(target.cuda().expect("a device").multiprocessors);
    let unmet = |name: &str, shape: &[i64]| unmet_by("AddStreamK", name, &target, shape);
    // The shape variables of `distances` are M, K, N, those of `channels_last` N, C, F.
    for (name, shape) in [
        ("distances", [128, 128, 128]),
        ("distances", [128 * rows - 1, 128, 128]),
        ("least_difference", [128, 4096, 128]),
        ("channels_last", [64, 128, 64]),
    ] {
        assert_eq!(unmet(name, &shape), None, "{name} at {shape:?}");
    }
    let because = |name: &str, shape: &[i64], why: &str| {
        let found = unmet(name, shape);
        assert!(
            found.as_ref().is_some_and(|found| found.contains(why)),
            "{name} at {shape:?}: {found:?}, expected {why}"
        );
    };
    because("distances", &[128, 127, 128], "over `k`, has 127 terms, fewer than 128");
    because("distances", &[128 * rows, 128, 128], "8 waves of 16384 for each multiprocessor are enough");
    because("row_sum", &[128, 1024], "it sums nothing that is read again for another output");
    because("filled", &[1024], "it sums nothing");
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
