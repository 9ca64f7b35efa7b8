//! Dumps of what each pass made: a dump read back makes the same dump, and no text makes the reader panic.
//!
//! `DIETCODE_SEED` says where the random numbers start.

use std::path::Path;

use dietcode_core::ErrorKind;
use dietcode_core::frontend;
use dietcode_core::lower::{Dump, lower_observed};
use dietcode_core::machine::Target;
use dietcode_core::machine::cuda::DeviceLimits;
use dietcode_core::schedule::Schedule;
use dietcode_core::sketch::{Blocked, Reproduction, Tiled};
use rand::SeedableRng;
use rand::rngs::StdRng;

use crate::common::{avx512, damaged, schedules, shipped};

/// Where the random numbers start.
fn rng() -> StdRng {
    StdRng::seed_from_u64(std::env::var("DIETCODE_SEED").map_or(0, |text| text.parse().expect("a number")))
}

/// The dump of a schedule that lowers.
fn dump(schedule: &Schedule) -> String {
    tried(schedule).unwrap_or_else(|e| panic!("{e}"))
}

fn tried(schedule: &Schedule) -> dietcode_core::Result<String> {
    let mut dump = Dump::of(schedule);
    lower_observed(schedule, &mut |pass, body| dump.pass(pass, body))?;
    Ok(dump.text().to_owned())
}

/// Dumps of random schedules of shipped nests. Most of those that are drawn lower.
fn drawn(rng: &mut StdRng) -> Vec<String> {
    let mut dumps = Vec::new();
    let mut drawn = 0;
    for def in shipped::kernels() {
        let program = frontend::program(&def);
        drawn += 3;
        dumps.extend((0..3).filter_map(|_| tried(&schedules::primitives(rng, &program)).ok()));
    }
    assert!(2 * dumps.len() > drawn, "{} of {drawn} schedules lower", dumps.len());
    dumps
}

/// The file's sections read back, and lowered again.
fn again(text: &str) -> (Reproduction, String) {
    let read = Reproduction::parse(Path::new("a.ir"), text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let dump = read.dump().unwrap_or_else(|e| panic!("{e}\n{text}"));
    (read, dump)
}

#[test]
fn a_dump_of_a_random_schedule_makes_the_same_dump() {
    for text in drawn(&mut rng()) {
        let (read, same) = again(&text);
        assert_eq!(same, text);
        assert_eq!(read.target, None, "nobody said for what it is");
    }
}

#[test]
fn a_dump_says_for_what_it_was_made() {
    let (program, cpu) = (frontend::program(&shipped::kernel("dense")), avx512::target());
    let (_, tiled) = Tiled::default_for(&program, &cpu).micro_kernel(&program, &cpu).unwrap();
    let text = dump(&tiled.schedules[0]);
    let (read, same) = again(&text);
    assert_eq!(same, text);
    assert_eq!(read.target, Some(Target::Cpu(cpu)));
    assert_eq!(read.def.to_string(), shipped::kernel("dense").to_string());
    let passes: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("== after ")).collect();
    assert!(passes[0] == "nest" && passes.iter().any(|pass| pass.starts_with("vectorize")), "{passes:?}");
    assert!(passes.iter().any(|pass| pass.ends_with(": no change")), "{passes:?}");
}

/// Both kernels of a sum that blocks share through a workspace, which one trace makes.
#[test]
fn each_kernel_of_a_split_sum_has_a_dump() {
    let (def, device) = (shipped::kernel("dense"), DeviceLimits::of("sm_80".parse().unwrap()).unwrap());
    let split = r#"{"thread": {"i": 8, "j": 16}, "inner": {"i": 4, "j": 4}, "reduce": {"k": 16}, "split": {"k": 2},
        "stage": {"x": {"vector": 4, "reduce_outside": true}, "w": {"vector": 4, "reduce_outside": true}}}"#;
    let split: Blocked = serde_json::from_str(split).unwrap();
    let (_, kernels) = split.micro_kernel(&frontend::program(&def), device).unwrap();
    let dumps: Vec<String> = kernels.schedules.iter().map(dump).collect();
    let beside: Vec<bool> = dumps
        .iter()
        .map(|text| {
            let (read, same) = again(text);
            assert_eq!(&same, text);
            assert_eq!(read.target, Some(Target::Cuda(*device)));
            read.beside
        })
        .collect();
    assert_eq!(beside, [false, true]);
    let alone = dumps[1].replace(r#"{"rfactor":"workspace"}"#, r#"{"rfactor":"atomic"}"#);
    assert_ne!(alone, dumps[1], "{alone}");
}

#[test]
fn what_is_wrong_with_a_report_is_told_with_its_place() {
    let program = frontend::program(&shipped::kernel("dense"));
    let mut schedule = Schedule::new(&program, &program.blocks[0]);
    schedule.parallel("i").unwrap();
    let text = dump(&schedule);
    let good = text.split("== after").next().unwrap();
    let line = |of: &str| good.lines().position(|line| line.contains(of)).unwrap() + 1;
    let cases = [
        (good.replacen("main", "both", 1), "a.ir:2:1: found `both`, expected `main` or `beside`".to_owned()),
        (
            good.replace("== nest", "== nets"),
            format!("a.ir:{}:1: found `nets`, expected each of kernel, nest", line("== nest")),
        ),
        (good.replace("== nest", "== kernel"), format!("a.ir:{}:1: found `kernel` a second time", line("== nest"))),
        (good.replace("== trace", "== after trace"), "a.ir: found none, expected a section `== trace`".to_owned()),
        (format!("hello\n{good}"), "a.ir:1:1: found `hello`, expected `== kernel`".to_owned()),
        (good.replace("fn dense", "fn"), format!("a.ir:{}:", line("fn dense"))),
        (
            good.replace("#[dynamic_kernel", "#[kernel"),
            format!("a.ir:{}:1: found 0 annotated functions", line("== nest") + 1),
        ),
        (good.replace("parallel", "rolled"), format!("a.ir:{}:", line("parallel"))),
        (good.replace("== trace", "== target\n{\"cuda\":\"sm_1\"}\n== trace"), "is not a known CUDA device".to_owned()),
        (String::new(), "a.ir: found none, expected a section `== kernel`".to_owned()),
    ];
    for (text, expected) in cases {
        let error = Reproduction::parse(Path::new("a.ir"), &text).expect_err(&expected);
        assert!(error.to_string().contains(&expected), "{error}\nexpected {expected}\nof\n{text}");
        assert_eq!(error.kind(), ErrorKind::Input);
    }
}

/// What a person wrote, and what no primitive takes, is no defect of the compiler.
#[test]
fn a_trace_that_does_not_fit_is_bad_input() {
    let program = frontend::program(&shipped::kernel("dense"));
    let text = dump(&Schedule::new(&program, &program.blocks[0]));
    let text = text.split("== trace").next().unwrap();
    for (trace, expected) in [
        (r#"[{"kind":["unrolled","nowhere"]}]"#, "no loop `nowhere`"),
        (r#"[{"split":{"parent":"i","factor":0,"tail":"pad","into":["a","b"]}}]"#, "instruction 1 of the trace"),
        (r#"[{"rfactor":"atomic"}]"#, "rfactor"),
    ] {
        let read = Reproduction::parse(Path::new("a.ir"), &format!("{text}== trace\n{trace}\n"));
        let error = read.unwrap_or_else(|e| panic!("{e}")).dump().expect_err(trace);
        assert!(error.to_string().contains(expected), "{error}");
        assert_eq!(error.kind(), ErrorKind::Input, "{error}");
    }
}

#[test]
fn a_damaged_dump_is_refused_or_holds() {
    let (mut held, mut refused) = (0, 0);
    let mut rng = rng();
    for text in drawn(&mut rng) {
        let report = text.split("== after").next().unwrap();
        for _ in 0..20 {
            match Reproduction::parse(Path::new("a.ir"), &damaged::damaged(report, &mut rng)) {
                Ok(read) => {
                    held += 1;
                    // Whether its trace fits or not, there is an answer.
                    let _answer = read.dump();
                }
                Err(error) => {
                    refused += 1;
                    assert!(error.to_string().starts_with("a.ir"), "{error}");
                }
            }
        }
    }
    assert!(held > 0 && refused > 0, "{held} held, {refused} were refused");
}
