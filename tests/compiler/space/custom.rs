//! A user's own rules, by a function and by a sketch.

use dietcode_core::ir::ForKind;
use dietcode_core::schedule::{Axis, Factor, Instruction, Level, Pipeline, Size, Tail, Trace};
use dietcode_core::sketch::rules::{CustomRules, CustomSketch};
use rand::SeedableRng;
use rand::rngs::StdRng;

use super::sketches::space;
use crate::common::shipped::kernel;

/// Rows of `factor` are unrolled.
fn rows(of: &str) -> Trace {
    let factor = Factor { var: "rows".into(), level: Level::Register };
    Trace::new(vec![
        Instruction::SampleTiles(vec![Axis { name: "i".into(), factors: vec![factor] }]),
        Instruction::Split {
            parent: of.into(),
            factor: Size::product(["rows"]),
            tail: Tail::Pad,
            into: ["outer".into(), "inner".into()],
        },
        Instruction::Reorder(["outer", "j", "k", "inner"].map(Into::into).to_vec()),
        Instruction::Kind(ForKind::Unrolled, "inner".into()),
    ])
}

#[test]
fn a_function_makes_the_sketches_of_its_block() {
    let mut custom = CustomRules::default();
    custom.register("rows", |program, bounds| {
        assert_eq!(program.blocks.len(), 1);
        assert_eq!(bounds.extents["i"], [40, 96]);
        Ok(vec![rows("i"), rows("i").with([("rows".into(), 4)].into())])
    });
    custom.set("dense", CustomSketch::Function("rows".into()));
    let space = space(&kernel("dense"), &custom).expect("the rule holds");
    let opened: Vec<usize> = space.sketches.iter().map(|sketch| sketch.open().count()).collect();
    assert_eq!(opened, [1, 0]);
    let applied = space.apply(&space.sketches[1]).expect("all is decided");
    assert!(applied.nests[0].body.to_string().contains("M + 3"), "{}", applied.nests[0].body);
}

#[test]
fn a_rule_that_does_not_hold_is_an_error() {
    let refused = |block: &str, by: CustomSketch| {
        let mut custom = CustomRules::default();
        custom.register("nothing", |_, _| Ok(Vec::new()));
        custom.set(block, by);
        space(&kernel("dense"), &custom).expect_err("the rule does not hold").to_string()
    };
    let error = refused("dense", CustomSketch::Sketch(rows("x")));
    assert!(
        error.contains("the rule for block `dense`: instruction 2 of the trace, `outer, inner = split(x"),
        "{error}"
    );
    let error = refused("dense", CustomSketch::Function("row".into()));
    assert!(error.contains("`row`, which is not registered; there is `nothing`"), "{error}");
    let error = refused("dense", CustomSketch::Function("nothing".into()));
    assert!(error.contains("makes no sketch"), "{error}");
    let error = refused("dense", CustomSketch::Sketch(rows("i").with([("columns".into(), 4)].into())));
    assert!(error.contains("block `dense`: it decides `columns`, which it does not sample"), "{error}");
    let error = refused("dens", CustomSketch::Sketch(Trace::default()));
    assert!(
        error.contains("the rule for block `dens` has nothing to schedule: what is scheduled is `dense`"),
        "{error}"
    );
}

#[test]
fn what_is_wrong_with_a_sketch_is_told_with_the_place_of_its_rule() {
    let at = |sketch: Trace| {
        let mut custom = CustomRules::default();
        custom.set_at("dense", CustomSketch::Sketch(sketch), "c.json:3:5: own.json");
        space(&kernel("dense"), &custom)
    };
    let unfinished = Instruction::Pipeline(Pipeline::Panels);
    let error = at(Trace::new([rows("i").instructions.to_vec(), vec![unfinished]].concat())).expect_err("no panels");
    let error = error.to_string();
    assert!(
        error.starts_with("c.json:3:5: own.json: the rule for block `dense`: ") && error.contains("panels"),
        "{error}"
    );
    let own = at(rows("i").with([("rows".into(), 200)].into())).expect("its instructions hold");
    let error = own.sampler().err().expect("no register tile has so many rows").to_string();
    assert!(error.starts_with("c.json:3:5: own.json: the rule for block `dense`: `rows` = 200"), "{error}");
}

#[test]
fn a_sketch_with_a_loop_of_its_own_is_drawn() {
    let mut custom = CustomRules::default();
    let instructions = [vec![Instruction::AddUnitLoop("one".into())], rows("i").instructions.to_vec()].concat();
    custom.set("dense", CustomSketch::Sketch(Trace::new(instructions)));
    let space = space(&kernel("dense"), &custom).expect("its instructions hold");
    let trace = space.sample(&mut StdRng::seed_from_u64(13)).expect("it has a draw");
    space.apply(&trace).unwrap_or_else(|e| panic!("{e}\n{trace}"));
}
