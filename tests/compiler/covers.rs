//! Covers: two micro-kernels on one output equal the reference, at sizes of which either has none, and of random nests and schedules.

use std::collections::BTreeMap;

use dietcode_core::config::Config;
use dietcode_core::cost_model::count;
use dietcode_core::dispatch::{CPU, FORMAT, Tree, Tuned, Winners, provenance};
use dietcode_core::frontend;
use dietcode_core::ir::Cut;
use dietcode_core::machine::{CpuTarget, Target, Toolchain};
use dietcode_core::schedule::{Combine, Schedule, Tail};
use dietcode_core::sketch::{Blocked, Lowered, MicroKernel, Tiled};
use dietcode_syntax::KernelDef;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};

use crate::common::instance::Instance;
use crate::common::on_cpu::{Case, Library};
use crate::common::redrawn::Redrawn;
use crate::common::rows::{DENSE_WITH_EPILOGUE, check_unit, device, instances, kernel, with_vectors};
use crate::common::{nests, schedules, settings, shapes, units};

/// Rows of two pictures, of which a part reads beyond its own.
const CONV: &str =
    "#[dynamic_kernel] fn conv(x: &[[[f32; Q + 2]; P + 2]; B], k: &[[f32; 3]; 3], y: &mut [[[f32; Q]; P]; B]) {
    for b in 0..B { for p in 0..P { for q in 0..Q {
        let mut acc = 0.0;
        for r in 0..3 { for s in 0..3 { acc += x[b][p + r][q + s] * k[r][s]; } }
        y[b][p][q] = acc;
    } } }
}";

/// Every second row is the middle of a window.
const POOL: &str = "#[dynamic_kernel] fn pool(x: &[[f32; N]; 2 * M + 1], y: &mut [[f32; N]; M]) {
    for i in 0..M { for j in 0..N {
        let mut acc = -1000.0;
        for r in 0..3 { acc = acc.max(x[2 * i + r][j]); }
        y[i][j] = acc;
    } }
}";

/// Of 16 bits, elementwise, with an operand that both parts read.
const SCALED: &str = "#[dynamic_kernel] fn scaled(x: &[[f16; N]; M], s: &[f32; N], y: &mut [[f16; N]; M]) {
    for i in 0..M { for j in 0..N { y[i][j] = f16::from_f32(f32::from(x[i][j]) * s[j]); } }
}";

/// A nest, the variables along which it is cut, and shapes: without a main part, without a rest, with both, empty.
struct Row {
    nest: &'static str,
    along: &'static [&'static str],
    shapes: &'static [&'static [i64]],
}

const ROWS: [Row; 4] = [
    Row {
        nest: DENSE_WITH_EPILOGUE,
        along: &["M", "N"],
        shapes: &[&[1, 9, 3], &[15, 20, 17], &[16, 7, 32], &[70, 33, 81], &[48, 1, 64], &[0, 3, 16], &[35, 0, 50]],
    },
    Row {
        nest: CONV,
        along: &["B", "P", "Q"],
        shapes: &[&[1, 1, 1], &[16, 16, 16], &[17, 19, 23], &[3, 33, 16], &[2, 0, 5]],
    },
    Row { nest: POOL, along: &["M", "N"], shapes: &[&[3, 5], &[16, 16], &[37, 41], &[32, 3]] },
    Row { nest: SCALED, along: &["M", "N"], shapes: &[&[3, 5], &[16, 16], &[37, 41], &[33, 100]] },
];

/// A tile of so many iterations along each of the last spatial loops, which are vectors along the last one.
fn tile(def: &KernelDef, [rows, columns]: [i64; 2], target: &CpuTarget) -> MicroKernel {
    let mut tiled = Tiled::default_for(&frontend::program(def), target);
    let spatial = def.loops.iter().filter(|l| l.role == dietcode_syntax::Role::Spatial);
    for (l, size) in spatial.rev().zip([columns, rows]) {
        tiled.register_tile.insert(l.name.clone(), size);
        tiled.block_tile.remove(&l.name);
    }
    tiled.micro_kernel(&frontend::program(def), target).unwrap_or_else(|e| panic!("{e}\n{def}")).0
}

#[test]
fn both_parts_equal_the_reference_at_any_size() {
    let toolchain = Toolchain::find("native").expect("a C compiler");
    let target = with_vectors(32);
    for Row { nest, along, shapes } in ROWS {
        let mut cases = Vec::new();
        for (at, var) in along.iter().enumerate() {
            let def = KernelDef { name: format!("covered_{at}"), ..kernel(nest) };
            let [main, rest] = [[4, 16], [1, 8]].map(|sizes| tile(&def, sizes, &target));
            let unit = units::cover(&def, [&main, &rest], (var, 16), &target).unwrap_or_else(|e| panic!("{e}\n{def}"));
            let (reference, instance) = (units::oracle(&def), instances(&def, shapes).remove(0));
            cases.push(Case { instance, unit, reference, trace: format!("along {var}"), sizes: None });
        }
        let library = Library::compile(&toolchain, &cases);
        for mut case in cases {
            for instance in instances(&case.instance.def, shapes) {
                case.instance = instance;
                let tensors = case.instance.tensors();
                library.check(&case, &tensors, &case.instance.expected(&tensors));
                let [alone, together] = [1, 4].map(|threads| library.output(&case, &tensors, threads));
                assert!(alone == together, "the bits of {:?} depend on the number of threads", case.instance.shape);
            }
        }
    }
}

/// Of a sum whose parts threads compute at once, or of none.
fn of_parts(def: &KernelDef, parts: Option<i64>) -> MicroKernel {
    let program = frontend::program(def);
    let mut schedule = Schedule::new(&program, &program.blocks[0]);
    let mut made = || {
        let Some(parts) = parts else { return schedule.parallel("i") };
        schedule.split("k", 4 * parts, Tail::Pad, ["k_0", "k_1"])?;
        schedule.split("k_1", 4, Tail::Clip, ["k_s", "k_2"])?;
        schedule.reorder(&["k_s", "i", "j", "k_0", "k_2"])?;
        schedule.parallel("k_s")?;
        schedule.rfactor(Combine::Workspace)
    };
    made().expect("the schedule is legal");
    MicroKernel::of(&Lowered::of(schedule).expect("it is lowered"))
}

/// One part may have a workspace and a second phase where the other has none, or both may.
#[test]
fn phases_and_workspaces_of_both_parts_stand_side_by_side() {
    let toolchain = Toolchain::find("native").expect("a C compiler");
    let target = with_vectors(32);
    for (at, parts) in [[Some(3), None], [None, Some(2)], [Some(2), Some(5)]].into_iter().enumerate() {
        let def = KernelDef { name: format!("parts_{at}"), ..kernel(DENSE_WITH_EPILOGUE) };
        let [main, rest] = parts.map(|parts| of_parts(&def, parts));
        let unit = units::cover(&def, [&main, &rest], ("M", 8), &target).unwrap();
        let shapes: &[&[i64]] = &[&[5, 30, 7], &[8, 12, 3], &[13, 64, 20], &[33, 0, 50]];
        let case = |instance| Case {
            instance,
            unit: unit.clone(),
            reference: units::oracle(&def),
            trace: format!("{parts:?}"),
            sizes: None,
        };
        let cases: Vec<Case> = instances(&def, shapes).into_iter().map(case).collect();
        let library = Library::compile(&toolchain, &cases[..1]);
        for case in &cases {
            library.check_on_threads(case);
        }
    }
}

#[test]
fn a_cover_is_refused_with_a_reason() {
    let (def, target) = (kernel(DENSE_WITH_EPILOGUE), with_vectors(32));
    let [main, rest] = [[4, 16], [1, 8]].map(|sizes| tile(&def, sizes, &target));
    let why =
        |(along, multiple)| units::cover(&def, [&main, &rest], (along, multiple), &target).unwrap_err().to_string();
    assert!(why(("M", 0)).contains("a cover in multiples of 0, expected 1 to 2147483647"), "{}", why(("M", 0)));
    assert!(why(("M", i64::MAX)).contains("expected 1 to"), "{}", why(("M", i64::MAX)));
    assert!(why(("Q", 4)).contains("`dense` cannot be cut along `Q`: it is no shape variable"), "{}", why(("Q", 4)));
    assert!(why(("K", 4)).contains("cannot be cut along `K`: `k` is a sum's"), "{}", why(("K", 4)));
    let on_gpu = MicroKernel::cover(&main, &rest, "M", 4)
        .lowered(&frontend::program(&def), &Target::Cuda(*device("sm_80")))
        .unwrap_err();
    assert!(on_gpu.to_string().contains("it is one for a CPU"), "{on_gpu}");
}

/// What a tuned file holds is built and dispatched, below and above the threshold of its tree.
#[test]
fn a_tuned_file_leads_shapes_to_a_cover() {
    let toolchain = Toolchain::find("native").expect("a C compiler");
    let (def, target) = (kernel(DENSE_WITH_EPILOGUE), CpuTarget::of(&toolchain));
    let config = r#"{ "kernel": { "source": "dense.rs", "function": "dense" }, "shape": { "M": "M", "K": 64, "N": 32 },
        "wkl_insts": [{ "M": 4 }, { "M": 37 }] }"#;
    let config = Config::parse("dense.json", config).unwrap();
    let [main, rest] = [[4, 16], [1, 8]].map(|sizes| tile(&def, sizes, &target));
    let cover = MicroKernel::cover(&main, &rest, "M", 16);
    let tuned = Tuned {
        format: FORMAT,
        kernel: def.name.clone(),
        target: CPU.to_owned(),
        provenance: provenance(&def, &config, &target),
        micro_kernels: vec![rest.clone(), cover.clone()],
        reports: BTreeMap::new(),
        tree: Tree::split("M", 20, Tree::Leaf(rest.name()), Tree::Leaf(cover.name())),
        instances: Vec::new(),
        regret: None,
        asked: None,
    };
    let file = tempfile::NamedTempFile::new().unwrap();
    tuned.save(file.path()).unwrap();
    let program = frontend::program(&def);
    let winners = Winners::load_from(file.path(), &config, (&def, &program), &target).unwrap();
    assert_eq!(winners.tuned.as_ref(), Some(&tuned), "it is read back as it is");
    let units = winners.units(&def, &target.march).unwrap();
    let case = |instance: Instance| Case {
        unit: units[winners.decision.pick(&instance.shape)].clone(),
        instance,
        reference: units::oracle(&def),
        trace: String::new(),
        sizes: None,
    };
    let shapes: &[&[i64]] = &[&[3, 64, 32], &[20, 64, 32], &[37, 64, 32], &[48, 9, 7]];
    let cases: Vec<Case> = instances(&def, shapes).into_iter().map(case).collect();
    let is_cover = |case: &Case| case.unit.name == cover.name();
    assert_eq!(cases.iter().map(is_cover).collect::<Vec<_>>(), [false, false, false, false, true, true, true, true]);
    let libraries = [&cases[..1], &cases[7..]].map(|of| Library::compile(&toolchain, of));
    for case in &cases {
        let library = &libraries[usize::from(is_cover(case))];
        let tensors = case.instance.tensors();
        library.check(case, &tensors, &case.instance.expected(&tensors));
    }
}

/// On a device, each part has launches of its own; one that has nothing to compute is not launched.
#[test]
fn launches_of_both_parts_equal_the_reference() {
    let split = r#"{ "thread": { "i": 8, "j": 16 }, "reduce": { "k": 4 }, "split": { "k": 3 } }"#;
    let streamed = r#"{ "thread": { "i": 16, "j": 8 }, "reduce": { "k": 8 }, "stream": 4 }"#;
    let (device_of, device) = (device, device("sm_90"));
    for Row { nest, along, shapes } in ROWS {
        for var in along {
            let def = kernel(nest);
            let program = frontend::program(&def);
            let default = |name| Blocked::default_for(&program, device_of(name)).expect("there is one");
            let mut pairs = vec![[default("sm_90"), default("sm_75")]];
            if nest == DENSE_WITH_EPILOGUE {
                let [split, streamed] = [split, streamed].map(|of| serde_json::from_str(of).expect("parameters"));
                pairs.extend([[default("sm_90"), split], [streamed, default("sm_90")]]);
            }
            for pair in pairs {
                let [main, rest] = pair.map(|of| of.micro_kernel(&program, device).unwrap_or_else(|e| panic!("{e}")).0);
                let unit = units::cover_on_gpu(&def, [&main, &rest], (var, 16), device).expect("it can be cut");
                let at = def.shape_vars.iter().position(|of| of.name == *var).expect("it is one");
                for (size, empty) in [(15, "_main"), (32, "_rest")] {
                    let mut shape: Vec<i64> = shapes[0].iter().map(|extent| (*extent).max(1)).collect();
                    shape[at] = size;
                    let value = |name: &str| def.value_at(&shape, name).expect("a shape variable") as f64;
                    for launch in &unit.launches {
                        let part = launch.symbol.trim_end_matches("_finish");
                        let blocks = count(&launch.blocks, &value);
                        // What no blocks share is finished where it was begun.
                        let is_right =
                            if part.ends_with(empty) { blocks == 0.0 } else { blocks > 0.0 || part != launch.symbol };
                        assert!(is_right, "{}: {blocks} blocks at {shape:?}", launch.symbol);
                    }
                }
                check_unit(&unit, instances(&def, shapes));
            }
        }
    }
}

/// The case of a seed: a nest that can be cut, two schedules, the values of the shape variables.
fn case(seed: u64, number: usize, target: &CpuTarget, redrawn: &Redrawn) -> Case {
    let mut rng = StdRng::seed_from_u64(seed);
    let (def, along) = loop {
        let def = nests::prepared(nests::any(&mut rng, &format!("cover{number}")));
        let program = frontend::program(&def);
        let vars: Vec<&str> = def.shape_vars.iter().map(|var| &*var.name).collect();
        let along: Vec<&str> = vars.into_iter().filter(|var| Cut::of(&program, var).is_ok()).collect();
        if let Some(along) = along.choose(&mut rng) {
            let along = (*along).to_owned();
            break (def, along);
        }
    };
    let program = frontend::program(&def);
    let micro_kernel = |rng: &mut StdRng| loop {
        let schedule = match rng.random_range(0..3) {
            0 => schedules::tiled(rng, &def, target).schedule(&program, target).expect("it is valid"),
            _ => schedules::primitives(rng, &program),
        };
        match Lowered::of(schedule) {
            Ok(lowered) => return MicroKernel::of(&lowered),
            Err(_) => redrawn.note(),
        }
    };
    let (unit, trace) = loop {
        let (main, rest) = (micro_kernel(&mut rng), micro_kernel(&mut rng));
        let multiple = *[1, 2, 3, 5, 8, 16].choose(&mut rng).expect("there are multiples");
        // What postprocessors or limits refuse of one of them is no matter of covers.
        match units::cover(&def, [&main, &rest], (&along, multiple), target) {
            Ok(unit) if unit.source.len() < 80_000 => {
                break (unit, format!("multiples of {multiple} along {along}\n{}\n{}", main.trace, rest.trace));
            }
            _ => redrawn.note(),
        }
    };
    let shape = shapes::random(&mut rng, &def);
    let gap = if rng.random_bool(0.3) { rng.random_range(1..=9) } else { 0 };
    let reference = units::oracle(&def);
    Case { instance: Instance { seed, def, shape, gap, coarse: false }, reference, unit, trace, sizes: None }
}

#[test]
fn covers_of_random_schedules_equal_the_reference() {
    let cases = settings::cases(40, 1_000);
    let seed = settings::seed_or(20_261_128);
    let toolchain = Toolchain::find("native").expect("a C compiler");
    let target = CpuTarget::of(&toolchain);
    let redrawn = Redrawn::default();
    for batch in (0..cases).collect::<Vec<usize>>().chunks(20) {
        let cases: Vec<Case> = batch.iter().map(|&n| case(seed + n as u64, n, &target, &redrawn)).collect();
        let library = Library::compile(&toolchain, &cases);
        for case in &cases {
            let tensors = case.instance.tensors();
            library.check(case, &tensors, &case.instance.expected(&tensors));
        }
    }
    redrawn.at_most(1.5, cases, "were refused, or have a text that is too long");
}
