//! The structures of tiles that a config may name: each gives sketches of its own, whose draws equal the reference.

use dietcode_core::machine::Target;
use dietcode_core::schedule::Trace;
use dietcode_core::sketch::rules::{CustomRules, Structure};
use dietcode_core::sketch::{Space, partial_sketches};
use dietcode_syntax::KernelDef;
use rand::SeedableRng;
use rand::rngs::StdRng;

use super::cases;
use super::compiled::{Draw, carry_out};
use crate::common::instance::Instance;
use crate::common::settings;
use crate::common::shipped::kernel;

/// Shapes that no tile divides, and one of single elements.
const EXTENTS: [i64; 3] = [1, 19, 37];

fn custom(structure: Option<&'static Structure>) -> CustomRules {
    let mut custom = CustomRules::default();
    structure.into_iter().for_each(|structure| custom.set_structure(structure));
    custom
}

fn space(def: &KernelDef, target: &Target, custom: &CustomRules) -> Space {
    let instances = [19, 37].map(|extent| vec![extent; def.shape_vars.len()]);
    Space::generate(def, target.clone(), &instances, custom).unwrap_or_else(|e| panic!("{}: {e}", def.name))
}

/// What the sketches of the dense layer print as their structure.
fn printed(target: &Target, custom: &CustomRules) -> Vec<Option<&'static str>> {
    let def = kernel("dense");
    let made = partial_sketches(&def, space(&def, target, custom).bounds, custom).expect("it has sketches");
    made.into_iter().map(|partial| partial.structure).collect()
}

#[test]
fn sketches_have_the_default_structure_of_their_target_or_the_one_that_is_named() {
    for (name, default) in [("cpu", "SSRSRS"), ("sm_80", "SSSRRSRS")] {
        let target = cases::target(name);
        let tiled = |custom| printed(&target, &custom).into_iter().flatten().collect::<Vec<_>>();
        let of_default = tiled(custom(None));
        assert!(!of_default.is_empty() && of_default.iter().all(|text| *text == default), "{of_default:?}");
        let mut seen: Vec<Vec<Trace>> = Vec::new();
        for structure in Structure::all(target.kind()) {
            let found = tiled(custom(Some(structure)));
            assert!(!found.is_empty() && found.iter().all(|text| *text == structure.text), "{found:?}");
            let sketches = space(&kernel("dense"), &target, &custom(Some(structure))).sketches;
            assert!(!seen.contains(&sketches), "{} makes the sketches of another structure", structure.text);
            seen.push(sketches);
        }
    }
}

/// Draws of each structure and nest that must lower; a few more are carried out.
const DRAWS: usize = 48;

/// Draws of every structure of a kind of targets, for a product, a sliding window and two sums.
fn check(target: &str) {
    let target = cases::target(target);
    for structure in Structure::all(target.kind()) {
        let mut rng = StdRng::seed_from_u64(settings::seed_of_the_day());
        let mut draws = Vec::new();
        for (n, name) in ["dense", "gemm_tn", "conv2d"].into_iter().enumerate() {
            let mut def = kernel(name);
            def.name = format!("case{n}");
            let sizes = if def.shape_vars.len() > 3 { [1, 3, 7] } else { EXTENTS };
            let space = space(&def, &target, &custom(Some(structure)));
            let mut of_any_day = StdRng::seed_from_u64(n as u64);
            for _ in 0..DRAWS {
                let trace = space.sample(&mut of_any_day).unwrap_or_else(|e| panic!("{}: {e}", structure.text));
                space.apply(&trace).unwrap_or_else(|e| panic!("{}: {e}\n{trace}", structure.text));
            }
            for size in sizes {
                let trace = space.sample(&mut rng).unwrap_or_else(|e| panic!("{}: {e}", structure.text));
                space.apply(&trace).unwrap_or_else(|e| panic!("{}: {e}\n{trace}", structure.text));
                let mut def = def.clone();
                def.name = format!("case{n}_{size}");
                let shape = vec![size; def.shape_vars.len()];
                draws.push(Draw::new(Instance { seed: n as u64, def, shape, gap: 3, coarse: true }, trace));
            }
        }
        carry_out(&target, draws);
    }
}

#[test]
fn draws_of_every_structure_equal_the_reference_on_this_cpu() {
    check("cpu");
}

#[test]
fn draws_of_every_structure_equal_the_reference_on_the_emulated_device() {
    check("sm_80");
}
