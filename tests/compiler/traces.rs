//! Property: what a schedule recorded replays to the same schedule, bit for bit, also from JSON; and no JSON makes the replay
//! panic.
//!
//! `DIETCODE_CASES` sets how many cases are tried (300), `DIETCODE_SEED` where the random numbers start.

use dietcode_core::frontend;
use dietcode_core::lower::lower;
use dietcode_core::machine::CpuTarget;
use dietcode_core::machine::Target;
use dietcode_core::machine::cuda::DeviceLimits;
use dietcode_core::schedule::{Instruction, Schedule, Trace};
use dietcode_core::sketch::{Blocked, MicroKernel, Tiled, apply};
use dietcode_core::syntax::KernelDef;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::common::{damaged, nests, schedules, settings, units};

fn seeds() -> impl Iterator<Item = u64> {
    let start = settings::seed_or(0);
    start..start + settings::cases(300, 3_000) as u64
}

fn recorded(schedule: &Schedule) -> Trace {
    Trace::new(schedule.trace().to_vec())
}

/// The trace, written and read.
fn through_json(trace: &Trace) -> Trace {
    let text = serde_json::to_string(trace).unwrap();
    let read: Trace = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"));
    assert_eq!(read, *trace);
    read
}

/// Any nest with any schedule of it.
fn case(rng: &mut StdRng, target: &CpuTarget) -> (KernelDef, Schedule) {
    let def = nests::prepared(nests::any(rng, "case"));
    let program = frontend::program(&def);
    let schedule = match rng.random_bool(0.5) {
        true => schedules::primitives(rng, &program),
        false => schedules::tiled(rng, &def, target).schedule(&program, target).expect("it is valid"),
    };
    (def, schedule)
}

#[test]
fn what_was_recorded_replays_bit_for_bit() {
    let target = CpuTarget::detect("native").unwrap();
    for seed in seeds() {
        let (def, schedule) = case(&mut StdRng::seed_from_u64(seed), &target);
        let program = frontend::program(&def);
        let trace = through_json(&recorded(&schedule));
        let again = trace.replay(&program, &program.blocks[0]).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{trace}"));
        assert_eq!(format!("{again:?}"), format!("{schedule:?}"), "seed {seed}");
        let text = |schedule: &Schedule| {
            units::scheduled(&def, "random", schedule).map(|unit| unit.source).map_err(|e| e.to_string())
        };
        assert_eq!(text(&again), text(&schedule), "seed {seed}");
    }
}

#[test]
fn kernels_of_gpus_replay_bit_for_bit() {
    let defs = dietcode_core::syntax::scan(include_str!("../../src/ops.rs")).unwrap();
    let mut replayed = 0;
    for def in defs.iter().map(|kernel| kernel.parse().unwrap()) {
        let program = frontend::program(&def);
        for device in ["sm_75", "sm_80", "sm_90"].map(|name| DeviceLimits::of(name.parse().unwrap()).unwrap()) {
            let Some(blocked) = Blocked::default_for(&program, device) else { continue };
            let schedule = blocked.schedule(&program).unwrap();
            let again = through_json(&recorded(&schedule)).replay(&program, &program.blocks[0]).unwrap();
            assert_eq!(format!("{again:?}"), format!("{schedule:?}"), "{} on {}", def.name, device.capability);
            assert_eq!(format!("{:?}", lower(&again).unwrap().body), format!("{:?}", lower(&schedule).unwrap().body));
            replayed += 1;
        }
    }
    assert!(replayed > 0);
}

#[test]
fn a_trace_is_a_micro_kernel_of_the_same_code() {
    let target = CpuTarget::detect("native").unwrap();
    let defs = dietcode_core::syntax::scan(include_str!("../../src/ops.rs")).unwrap();
    for def in defs.iter().map(|kernel| kernel.parse().unwrap()) {
        let program = frontend::program(&def);
        let tiled = Tiled::default_for(&program, &target);
        let schedule = tiled.schedule(&program, &target).unwrap();
        let lowered = apply(&program, &Target::Cpu(target.clone()), &recorded(&schedule)).unwrap();
        let micro_kernel = MicroKernel::of(&lowered);
        let read: MicroKernel = serde_json::from_str(&serde_json::to_string(&micro_kernel).unwrap()).unwrap();
        assert_eq!(read, micro_kernel);
        assert!(read.is_drawn() && read.trace.is_final(), "{read:?}");
        let name = read.name();
        assert!(name.len() <= 128 && name.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_'));
        let code = |unit: dietcode_core::codegen::TranslationUnit| {
            let code = unit.source.split_once("*/").unwrap().1.to_owned();
            code.replace(&unit.symbol, "row").replace(&unit.name, "name")
        };
        let traced = units::traced(&def, &read.trace, &target).unwrap();
        assert_eq!(code(traced), code(units::tiled(&def, &tiled, &target).unwrap()), "{}", def.name);
    }
}

#[test]
fn a_damaged_trace_is_refused_or_holds() {
    let target = CpuTarget::detect("native").unwrap();
    let mut read = 0;
    for seed in seeds() {
        let mut rng = StdRng::seed_from_u64(seed);
        let (def, schedule) = case(&mut rng, &target);
        let text = serde_json::to_string(&recorded(&schedule)).unwrap();
        for _ in 0..20 {
            let Ok(trace) = serde_json::from_str::<Trace>(&damaged::damaged(&text, &mut rng)) else { continue };
            read += 1;
            // Whether it holds or not, there is an answer.
            let program = frontend::program(&def);
            let _answer = trace.replay(&program, &program.blocks[0]).and_then(|schedule| lower(&schedule));
        }
    }
    assert!(read > 0, "every damage made it no JSON of a trace");
}

#[test]
fn what_is_open_or_odd_is_told() {
    let def = nests::any(&mut StdRng::seed_from_u64(1), "case");
    let program = frontend::program(&def);
    let first = program.blocks[0].iters[0].name.to_string();
    let split = |factor: &str, into: &str| {
        let text = format!(
            r#"{{"instructions": [{{"sample_categorical": {{"into": "n", "candidates": [2, 4], "weights": [1.0, 1.0]}}}},
                {{"split": {{"parent": "{first}", "factor": {factor}, "tail": "pad", "into": ["{into}", "b_1"]}}}}],
                "decisions": {{"n": 4}}}}"#
        );
        serde_json::from_str::<Trace>(&text).unwrap()
    };
    let why = |trace: Trace| trace.replay(&program, &program.blocks[0]).unwrap_err().to_string();
    assert!(split(r#"["n", 2]"#, "a_0").replay(&program, &program.blocks[0]).is_ok());
    assert!(why(split(r#""m""#, "a_0")).contains("`m` is open"));
    assert!(why(split("4", "int")).contains("\"int\""));
    assert!(why(split("4", "a; abort()")).contains("which generated code cannot"));
    let three = split("4", "a_0").with([("n".into(), 3)].into());
    assert!(why(three).contains("expected one of its candidates"));
    let none = split("4", "a_0").with([].into());
    assert_eq!(none.open().map(|var| &**var).collect::<Vec<_>>(), ["n"]);
    assert!(none.to_string().starts_with("n = sample_categorical(2, 4) = _\n"), "{none}");
    let long = Trace::new(vec![Instruction::DecomposeReduction; 10_000]);
    assert!(why(long).contains("at most"));
}
