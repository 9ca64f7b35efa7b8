use std::collections::BTreeMap;

use super::*;
use crate::frontend;
use crate::machine::cuda::{Class, Mix, Pipe, Pipes};
use crate::schedule::{MatrixUnit, Tail};
use crate::sketch::{Blocked, Stage};
use crate::testing::{dense, kernel};

fn a100() -> &'static DeviceLimits {
    DeviceLimits::of("sm_80".parse().unwrap()).unwrap()
}

/// Square tiles of `thread · inner` elements, 8 deep.
fn square(thread: i64, inner: i64) -> Blocked {
    let along = |size: i64| BTreeMap::from([("i".to_owned(), size), ("j".to_owned(), size)]);
    let stage = Stage { reduce_outside: true, ..Stage::default() };
    Blocked {
        thread: along(thread),
        inner: along(inner),
        reduce: BTreeMap::from([("k".to_owned(), 8)]),
        stage: ["x", "w"].map(|name| (name.to_owned(), stage)).into(),
        ..Blocked::default()
    }
}

fn profile(blocked: &Blocked) -> Profile {
    Profile::of(&blocked.micro_kernel(&frontend::program(&dense()), a100()).unwrap().1)
}

fn predict(blocked: &Blocked, shape: [i64; 3]) -> Prediction {
    let profile = profile(blocked);
    profile.predict(&dense(), a100(), &profile.resources(a100(), None), &shape)
}

/// The shape variables come in the order M, K, N.
fn shape(m: i64, n: i64, k: i64) -> [i64; 3] {
    let var = |name: &str| match name {
        "M" => m,
        "N" => n,
        _ => k,
    };
    let vars: Vec<i64> = dense().shape_vars.iter().map(|v| var(&v.name)).collect();
    vars.try_into().unwrap()
}

#[test]
fn a_block_is_counted_as_one_would_by_hand() {
    let profile = profile(&square(16, 4));
    let work = &profile.kernels[0].work;
    let counts = work.at(&|name| if name == "K" { 64.0 } else { 640.0 });
    // A tile of 64 × 64 over 64 steps, of which each thread has 4 × 4 and reads 4 + 4 elements a step.
    // Each element that is copied is selected, itself or zero.
    assert_eq!(counts.arithmetic, 64.0 * 64.0 * 64.0 + 2.0 * 64.0 * 64.0);
    let filled = 2.0 * 64.0 * 64.0 * 4.0;
    assert_eq!(counts.global_bytes, filled + 64.0 * 64.0 * 4.0);
    // In a step each of 8 warps loads 16 bytes of both operands, quarters of a warp whole lines or one vector. Lanes that store have 8 elements of
    // a row of a tensor, which lie in one bank.
    assert_eq!(counts.requests, 64.0 * 8.0 * 2.0 + 2.0 * 64.0 * 64.0 / 32.0);
    assert_eq!(counts.loaded_wavefronts, 64.0 * 8.0 * 2.0 * 4.0);
    assert_eq!(counts.stored_wavefronts, 2.0 * 64.0 * 64.0 / 32.0 * 8.0);
    assert_eq!(counts.barriers, 2.0 * 8.0);
    assert_eq!(work.registers, 16);
}

/// Each part of a cover is what it would be alone, at its own shape; one that has nothing to compute is none.
#[test]
fn the_parts_of_a_cover_are_seen_each_for_itself() {
    let (program, target) = (frontend::program(&dense()), crate::machine::Target::Cuda(*a100()));
    let [main, rest] = [square(16, 4), square(8, 1)].map(|of| of.micro_kernel(&program, a100()).unwrap().0);
    let cover = crate::sketch::MicroKernel::cover(&main, &rest, "M", 64).lowered(&program, &target).unwrap();
    let profile = Profile::of(&cover);
    let resources = profile.resources(a100(), None);
    let parts = |m: i64| {
        let parts = profile.parts(&shape(m, 640, 64)).into_iter();
        parts.map(|part| (part.launch, part.shape)).collect::<Vec<_>>()
    };
    assert_eq!(parts(128), [(0, shape(128, 640, 64).to_vec())]);
    assert_eq!(parts(6), [(1, shape(6, 640, 64).to_vec())]);
    assert_eq!(parts(134), [(0, shape(128, 640, 64).to_vec()), (1, shape(6, 640, 64).to_vec())]);
    let whole = profile.predict(&dense(), a100(), &resources, &shape(134, 640, 64));
    let of_parts: Vec<f64> = (profile.parts(&shape(134, 640, 64)).iter())
        .map(|part| part.profile.predict(&dense(), a100(), &resources[part.first..], &part.shape).seconds)
        .collect();
    let alone = [(square(16, 4), 128), (square(8, 1), 6)].map(|(of, m)| predict(&of, shape(m, 640, 64)).seconds);
    assert_eq!(of_parts, alone);
    assert!((whole.seconds - alone.iter().sum::<f64>()).abs() < 1e-12, "{whole:?}");
}

/// Tiles inside select nothing of what they copy; the others do what all do that have one body.
#[test]
fn each_body_is_counted_for_the_tiles_that_have_it() {
    let work = |partition| profile(&Blocked { partition, ..square(16, 4) }).kernels.remove(0).work;
    let [one, both] = [false, true].map(work);
    let at = |work: &Work, [m, n, k]: [f64; 3]| {
        work.at(&|name| match name {
            "M" => m,
            "N" => n,
            _ => k,
        })
    };
    let shares = [([640.0, 640.0], 64.0, 1.0), ([641.0, 702.0], 64.0, 100.0 / 121.0), ([640.0, 63.0], 64.0, 0.0)];
    for ([m, n], k, share) in shares.into_iter().chain([([640.0, 640.0], 65.0, 0.0), ([640.0, 640.0], 0.0, 1.0)]) {
        let [one, both] = [&one, &both].map(|work| at(work, [m, n, k]));
        let steps = (k / 8.0_f64).ceil() * 8.0;
        let selected = 2.0 * 64.0 * steps;
        let fewer = one.arithmetic - both.arithmetic;
        assert!((fewer - share * selected).abs() < 1e-6, "{m} × {n} × {k}: {fewer}, expected {share} of {selected}");
        let near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * a;
        assert!(near(one.loaded_wavefronts, both.loaded_wavefronts) && near(one.barriers, both.barriers));
        assert!(near(one.global_bytes, both.global_bytes) && near(one.fills, both.fills));
    }
    assert_eq!(one.registers, both.registers);
}

/// Features are those of the body that most tiles have, not of both.
#[cfg(feature = "tuner")]
#[test]
fn features_are_of_one_body() {
    let nest = |partition| {
        let blocked = Blocked { partition, ..square(16, 4) };
        blocked.micro_kernel(&frontend::program(&dense()), a100()).unwrap().1.nests.remove(0)
    };
    let [one, both] = [false, true].map(nest);
    let at = |nest, shape: [i64; 3]| crate::cost_model::features::stores(nest, &shape, None);
    for edge in [shape(640, 63, 64), shape(640, 640, 65)] {
        assert_eq!(at(&one, edge), at(&both, edge));
    }
    let inside = shape(640, 702, 64);
    let [one, both] = [at(&one, inside), at(&both, inside)];
    assert!(one.len() == both.len() && one != both, "copies inside select nothing");
}

/// Each sum is left once and taken once, in four parts of the tile with two barriers each.
#[test]
fn sums_that_change_hands_are_counted_in_each_part() {
    let at = |blocked: &Blocked| profile(blocked).kernels[0].work.at(&|name| if name == "K" { 64.0 } else { 640.0 });
    let plain = Blocked { store: 4, ..square(16, 4) };
    let [plain, staged] = [at(&plain), at(&Blocked { stage_store: true, ..plain.clone() })];
    let lines = 64.0 * 64.0 * 4.0 / 128.0;
    assert_eq!(staged.loaded_wavefronts, plain.loaded_wavefronts + lines);
    assert_eq!(staged.stored_wavefronts, plain.stored_wavefronts + lines);
    assert_eq!(staged.global_bytes, plain.global_bytes);
    assert_eq!(staged.barriers, plain.barriers + 4.0 * 2.0);
}

/// Of one tile, once by each unit: three products for one, by what is read once.
#[test]
fn three_products_for_one_take_three_times_as_long_and_less_than_threads() {
    let stage = Stage { vector: 4, pad: 4, swizzle: 0, reduce_outside: false };
    let by = |unit| Blocked {
        thread: BTreeMap::from([("i".to_owned(), 2), ("j".to_owned(), 4)]),
        inner: BTreeMap::from([("i".to_owned(), 4), ("j".to_owned(), 4)]),
        reduce: BTreeMap::from([("k".to_owned(), 16)]),
        stage: ["x", "w"].map(|name| (name.to_owned(), stage)).into(),
        matrix_unit: Some(unit),
        stages: 3,
        asynchronous: true,
        ..Blocked::default()
    };
    let [once, thrice] = [MatrixUnit::Tf32, MatrixUnit::Tf32x3].map(by);
    let at = |blocked: &Blocked| profile(blocked).kernels[0].work.at(&|name| if name == "K" { 64.0 } else { 640.0 });
    let (counts, three) = (at(&once), at(&thrice));
    assert_eq!(counts.tf32, 128.0 * 128.0 * 64.0);
    assert_eq!(three, Counts { tf32: 3.0 * counts.tf32, ..counts });
    let registers = |blocked: &Blocked| profile(blocked).kernels[0].work.registers;
    assert_eq!(registers(&thrice) - registers(&once), 4 * 4 + 4 * 2, "both parts of each operand");
    let seconds = |blocked: &Blocked| predict(blocked, shape(4096, 4096, 4096)).seconds;
    assert!(seconds(&thrice) > 2.0 * seconds(&once) && seconds(&thrice) < seconds(&square(16, 8)) / 2.0);
}

/// Rows of 64 bytes, of which 8 lie in two quads of banks, one in four there; apart, or with chunks that change places, each lies in its own.
#[test]
fn rows_of_a_matrix_that_meet_in_a_bank_come_one_after_the_other() {
    let text = "#[dynamic_kernel] fn dense(x: &[[f16; K]; M], w: &[[f16; K]; N], y: &mut [[f32; N]; M]) {
        for i in 0..M { for j in 0..N { let mut acc = 0.0; for k in 0..K { acc += f32::from(x[i][k]) * f32::from(w[j][k]); }
        y[i][j] = acc; } } }";
    let program = frontend::program(&kernel(text));
    let counted = |pad, swizzle| {
        let stage = Stage { vector: 8, pad, swizzle, reduce_outside: false };
        let blocked = Blocked {
            thread: BTreeMap::from([("i".to_owned(), 2), ("j".to_owned(), 2)]),
            inner: BTreeMap::from([("i".to_owned(), 2), ("j".to_owned(), 4)]),
            reduce: BTreeMap::from([("k".to_owned(), 32)]),
            stage: ["x", "w"].map(|name| (name.to_owned(), stage)).into(),
            matrix_unit: Some(MatrixUnit::Half),
            stages: 3,
            asynchronous: true,
            ..Blocked::default()
        };
        let lowered = blocked.micro_kernel(&program, a100()).unwrap().1;
        let counts = Profile::of(&lowered).kernels[0].work.at(&|name| if name == "K" { 32.0 } else { 640.0 });
        (counts.loaded_wavefronts, counts.stored_wavefronts)
    };
    // In two steps of 16, each of 4 warps loads two operands of 16 rows, and two pairs of 8 columns: of each 4 matrices.
    let loaded = 2.0 * 4.0 * (2.0 + 2.0) * 4.0;
    // Rows of the tile are 4 vectors: 8 lanes store two of them.
    let stored = 2.0 * 64.0 * 64.0 / 128.0;
    assert_eq!(counted(0, 0), (4.0 * loaded, stored));
    assert_eq!(counted(8, 0).0, loaded);
    assert_eq!(counted(0, 8), (loaded, stored));
}

/// Four threads have a row: each adds its part, of which three are stored, three are read, and one row is written.
#[test]
fn threads_that_wait_are_not_counted() {
    let text = "#[dynamic_kernel] fn sums(x: &[[f32; K]; M], y: &mut [f32; M]) {
        for i in 0..M { let mut acc = 0.0; for k in 0..K { acc += x[i][k]; } y[i] = acc; } }";
    let def = kernel(text);
    let program = frontend::program(&def);
    let mut schedule = Schedule::new(&program, &program.blocks[0]);
    let mut scheduled = || {
        schedule.split("i", 8, Tail::Pad, ["i_b", "i_t"])?;
        schedule.split("k", 4, Tail::Pad, ["k_0", "k_c"])?;
        schedule.reorder(&["i_b", "i_t", "k_c", "k_0"])?;
        schedule.bind_block("i_b")?;
        ["i_t", "k_c"].into_iter().try_for_each(|name| schedule.bind_thread(name))?;
        schedule.decompose_reduction()
    };
    scheduled().unwrap();
    let counts = Work::of(&schedule, Lowered::of(schedule.clone()).unwrap().nest())
        .at(&|name| if name == "K" { 64.0 } else { 640.0 });
    assert_eq!(counts.arithmetic, 8.0 * 64.0 + 8.0 * 3.0);
    // By one warp in two steps: half of the threads leave their parts, and a quarter.
    assert_eq!((counts.requests, counts.loaded_wavefronts, counts.stored_wavefronts), (4.0, 2.0, 2.0));
    assert_eq!(counts.global_bytes, 8.0 * 64.0 * 4.0 + 8.0 * 4.0);
    assert_eq!(counts.barriers, 3.0);
}

#[test]
fn large_tiles_win_large_instances_and_small_tiles_small_ones() {
    let (small, large) = (square(16, 2), square(16, 8));
    let seconds = |blocked: &Blocked, shape| predict(blocked, shape).seconds;
    let (narrow, wide) = (shape(32, 2304, 768), shape(4096, 4096, 1024));
    assert!(seconds(&large, wide) < seconds(&small, wide));
    assert!(seconds(&small, narrow) < seconds(&large, narrow));
}

#[test]
fn nothing_is_faster_than_the_device() {
    for blocked in [square(8, 4), square(16, 4), square(16, 8), Blocked { stages: 2, ..square(16, 8) }] {
        for shape in [shape(1, 1, 1), shape(80, 2304, 768), shape(2048, 2304, 768), shape(8192, 8192, 8192)] {
            let prediction = predict(&blocked, shape);
            let peak = 108.0 * 64.0 * 1.41e9;
            let products = shape.iter().product::<i64>() as f64;
            assert!(prediction.seconds >= products / peak && prediction.seconds.is_finite(), "{prediction:?}");
            assert!(prediction.padding_ratio >= 1.0 && prediction.occupancy <= 1.0, "{prediction:?}");
        }
    }
}

#[test]
fn overlapping_and_sharing_sums_help_where_they_should() {
    let plain = square(16, 4);
    let shape = shape(64, 64, 1 << 16);
    let split = Blocked { split: BTreeMap::from([("k".to_owned(), 16)]), ..plain.clone() };
    let overlapped = Blocked { stages: 2, ..plain.clone() };
    let seconds = |blocked: &Blocked| predict(blocked, shape).seconds;
    assert!(seconds(&overlapped) < seconds(&plain));
    assert!(seconds(&split) < seconds(&plain) / 4.0);
}

/// 109 tiles on 108 multiprocessors take two waves, as whole tiles, and one if their steps are shared; with 216 there is nothing to share but
/// the cost of the second kernel.
#[test]
fn shares_of_steps_fill_the_last_wave() {
    let plain = Blocked { stages: 2, ..square(16, 8) };
    let streamed = Blocked { stream: 108, waves: 2, ..plain.clone() };
    let [long, even] = [109, 216].map(|tiles| shape(128 * tiles, 128, 1 << 15));
    let [whole, shared] = [&plain, &streamed].map(|blocked| predict(blocked, long));
    assert_eq!((whole.blocks, whole.waves, shared.blocks, shared.waves), (109, 2, 108, 1));
    assert!(shared.seconds < 0.6 * whole.seconds, "{} {}", shared.seconds, whole.seconds);
    let [whole, shared] = [&plain, &streamed].map(|blocked| predict(blocked, even).seconds);
    assert!(whole < shared && shared < 1.1 * whole, "{shared} {whole}");
    // A sum of one step is not worth a second launch.
    let [whole, shared] = [&plain, &streamed].map(|blocked| predict(blocked, shape(128 * 109, 128, 8)).seconds);
    assert!(whole < shared, "{shared} {whole}");
}

/// What all blocks do together is what all tiles take, however their steps are shared.
#[test]
fn shares_of_steps_are_all_steps() {
    let plain = square(16, 4);
    for (shares, waves, tiles) in [(108, 1, 130), (108, 2, 109), (216, 2, 500), (108, 1024, 7), (108, 1024, 400)] {
        let value = |name: &str| match name {
            "M" => 64.0 * f64::from(tiles),
            "N" => 64.0,
            _ => 8192.0,
        };
        let arithmetic = |blocked: &Blocked| {
            let kernel = &profile(blocked).kernels[0];
            count(&kernel.blocks, &value) * kernel.work.at(&value).arithmetic
        };
        let streamed = Blocked { stream: shares, waves, ..plain.clone() };
        let [whole, shared] = [&plain, &streamed].map(arithmetic);
        let off = shared / whole;
        assert!((0.97..1.03).contains(&off), "{shares} shares of {waves} waves of {tiles} tiles: {off}");
    }
}

#[test]
fn what_does_not_fit_takes_forever() {
    let profile = profile(&square(16, 8));
    let greedy = [Resources { threads: 256, registers: 255, shared_bytes: 1 << 30 }];
    let prediction = profile.predict(&dense(), a100(), &greedy, &shape(64, 64, 64));
    assert_eq!((prediction.seconds, prediction.resident), (f64::INFINITY, 0));
}

/// A block of 128 × 128 by 256 threads is bound by the multiprocessors' arithmetic until its loop has twice as many instructions as products:
/// of 128 an A100's multiprocessor starts in a clock, half may be products.
#[test]
fn what_the_machine_code_issues_counts_once_it_is_more_than_the_arithmetic() {
    let blocked = square(16, 8);
    let lowered = blocked.micro_kernel(&frontend::program(&dense()), a100()).unwrap().1;
    let unit = crate::codegen::cuda::translation_unit(&dense(), "square", &lowered).unwrap();
    let seconds = |others: u32| {
        let main_loop = [Class::Fma, Class::Integer].into_iter().zip([512, others]).collect();
        let pipes = [(Pipe::Issue, 512 + others), (Pipe::Fma, 512), (Pipe::Alu, others)];
        let report = KernelReport {
            capability: a100().capability,
            symbol: unit.launches[0].symbol.clone(),
            registers: 128,
            spill_stores: 0,
            spill_loads: 0,
            stack_frame: 0,
            shared_bytes: 0,
            constant_bytes: 0,
            barriers: 1,
            main_loop: Some(Mix(main_loop)),
            pipes: Some(Pipes(pipes.into())),
        };
        let mut profile = Profile::of(&lowered);
        let reports = (&unit.launches[..], &[report][..]);
        profile.count(a100(), reports);
        let resources = profile.resources(a100(), Some(reports));
        profile.predict(&dense(), a100(), &resources, &shape(4096, 4096, 4096)).seconds
    };
    assert_eq!(seconds(0), seconds(500));
    assert!(seconds(1024) > 1.4 * seconds(500), "{} {}", seconds(1024), seconds(500));
}
