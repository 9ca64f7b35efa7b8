//! What a candidate can do to its worker, and what is recorded of it: hand-written C through the real builder, runner and
//! worker.

use std::time::Duration;

use dietcode::core::codegen::{TranslationUnit, c};
use dietcode::core::config::Cache;
use dietcode::core::dispatch::Winners;
use dietcode::core::machine::Toolchain;
use dietcode::core::measure::baselines::blas::LIBRARY_NAMES;
use dietcode::core::measure::{
    Baselines, Builder, CpuHarness, Device, Failure, Finalist, Implementation, Instance, Limits, Sample, Timing,
    compare,
};
use dietcode::core::sketch::Tiled;
use dietcode::core::syntax::{KernelDef, scan};

const TIMING: Timing = Timing::warm(2, 0.0, 1.0);

const DENSE: &str = "
    #[dynamic_kernel]
    pub fn dense(x: &[[f32; K]; M], w: &[[f32; K]; N], y: &mut [[f32; N]; M]) {
        for i in 0..M { for j in 0..N {
            let mut acc = 0.0;
            for k in 0..K { acc += x[i][k] * w[j][k]; }
            y[i][j] = acc;
        } }
    }";

/// M, N, K.
const SHAPE: [i64; 3] = [5, 7, 11];

fn def(source: &str) -> KernelDef {
    scan(source).unwrap()[0].parse().unwrap()
}

fn instance(def: &KernelDef) -> Instance {
    let shape: Vec<i64> = def.shape_vars.iter().map(|v| SHAPE["MNK".find(&v.name).unwrap()]).collect();
    Instance::of(def, &shape).unwrap()
}

fn harness(source: &str) -> CpuHarness {
    harness_of(def(source))
}

fn harness_of(def: KernelDef) -> CpuHarness {
    let limits = Limits { run: Duration::from_secs(3), ..Limits::default() };
    let worker = vec![env!("CARGO_BIN_EXE_dietcode").into(), "worker".into()];
    CpuHarness::open(def, "native", worker, limits, None).unwrap()
}

/// A micro-kernel for `dense` with one tile; `body` sees x, w, y, M, N, K.
fn candidate(name: &str, body: &str) -> TranslationUnit {
    candidate_of("float", name, body)
}

/// The same for tensors of another element type, named as in C.
fn candidate_of(element: &str, name: &str, body: &str) -> TranslationUnit {
    let order: Vec<String> = def(DENSE).shape_vars.iter().map(|v| v.name.clone()).collect();
    let at = |var: &str| order.iter().position(|v| v == var).unwrap();
    let source = format!(
        "#define DIETCODE_HALF\n#include <stdlib.h>\n#include <stdio.h>\n#include \"dietcode.h\"\n\
         static int64_t grid(const int64_t *shape) {{ return 1; }}\n\
         static void run(void *const *buffers, const int64_t *strides, const int64_t *shape, void *scratch, int64_t begin,\n\
                  int64_t end) {{\n\
           const {element} *x = buffers[0], *w = buffers[1]; {element} *y = buffers[2];\n\
           const int64_t M = shape[{}], N = shape[{}], K = shape[{}];\n\
           {body}\n}}\n\
         const struct dietcode_micro_kernel row = {{\n\
           .name = \"{name}\", .phases = (const struct dietcode_phase[]){{{{grid, run}}}}, .phases_len = 1}};\n",
        at("M"),
        at("N"),
        at("K"),
    );
    TranslationUnit { name: name.into(), symbol: "row".into(), source }
}

const RIGHT: &str = "for (int i = 0; i < M; i++) for (int j = 0; j < N; j++) {
    float acc = 0; for (int k = 0; k < K; k++) acc += x[i * K + k] * w[j * K + k]; y[i * N + j] = acc; }";

/// Measures candidates in one job; a second right one behind them shows that the run goes on.
fn outcomes(bodies: &[&str]) -> Vec<Result<Sample, Failure>> {
    let mut harness = harness(DENSE);
    let instance = instance(harness.def());
    let mut units = vec![candidate("first", RIGHT)];
    units.extend(bodies.iter().map(|body| candidate("odd", body)));
    units.push(candidate("last", RIGHT));
    let built = harness.build(&units);
    let implementations = built.into_iter().map(|unit| Implementation::MicroKernel(unit.unwrap())).collect();
    let mut outcomes = harness.measure(&instance, implementations, 1, TIMING).unwrap();
    assert_eq!(outcomes.len(), bodies.len() + 2);
    let (first, last) = (outcomes.remove(0), outcomes.pop().unwrap());
    assert!(passed(&first) && passed(&last), "{first:?} {last:?}");
    outcomes
}

/// Whether it passed its check; where others take all cores, there need not be a figure.
fn passed(outcome: &Result<Sample, Failure>) -> bool {
    match outcome {
        Ok(sample) => sample.seconds.iter().all(|seconds| *seconds > 0.0),
        Err(failure) => !failure.is_its_own(),
    }
}

fn failure(body: &str) -> Failure {
    outcomes(&[body]).remove(0).unwrap_err()
}

#[test]
fn a_wrong_element_is_reported_with_its_place_and_bound() {
    let wrong = failure(&format!("{RIGHT} y[2 * N + 3] += 0.001f;"));
    let Failure::Wrong { index, expected, bound, elements, .. } = wrong else { panic!("{wrong:?}") };
    assert_eq!((index, elements), (vec![2, 3], 1));
    assert!(bound > 0.0 && bound < 1e-4 && expected.abs() < 11.0, "{expected} ± {bound}");
}

#[test]
fn an_output_that_was_not_written_is_wrong() {
    let Failure::Wrong { index, found, elements, .. } = failure("") else { panic!() };
    assert_eq!((index, found.as_str(), elements), (vec![0, 0], "NaN", 35));
}

/// The last panel ends where the memory does: a tile of three panels that began another one would end the worker.
#[test]
fn operands_that_are_laid_out_before_calls_are_read_to_their_end_and_no_further() {
    let mut harness = harness(&DENSE.replace("#[dynamic_kernel]", "#[dynamic_kernel(prepared(x, w))]"));
    let instance = Instance::of(harness.def(), &[5, 11, 17]).unwrap();
    let tiled = Tiled::default_for(harness.program(), harness.cpu());
    let (micro_kernel, lowered) = tiled.micro_kernel(harness.program(), harness.cpu()).unwrap();
    let unit = c::translation_unit(harness.def(), &micro_kernel.name(), &lowered, "native").unwrap();
    let unit = harness.build(&[unit]).remove(0).unwrap();
    let measured = harness.measure(&instance, vec![Implementation::MicroKernel(unit)], 1, TIMING).unwrap().remove(0);
    assert!(passed(&measured), "{measured:?}");
}

/// Emptying caches takes longer than most calls: fewer of them are enough, each of one call.
#[test]
fn with_cold_caches_each_call_is_a_sample_and_twenty_are_enough() {
    let mut harness = harness(DENSE);
    let instance = instance(harness.def());
    let unit = harness.build(&[candidate("right", RIGHT)]).remove(0).unwrap();
    let timing = Timing { cache: Cache::Cold, ..Timing::warm(2, 60.0, 60.0) };
    let measured = harness.measure(&instance, vec![Implementation::MicroKernel(unit)], 1, timing).unwrap().remove(0);
    assert!(passed(&measured), "{measured:?}");
    assert!(measured.is_err() || (2..=20).contains(&measured.as_ref().unwrap().seconds.len()), "{measured:?}");
}

/// The micro-kernel ends the process where a call has the inputs of the call before.
#[test]
fn with_rotated_caches_each_call_has_other_inputs() {
    let mut harness = harness(DENSE);
    let instance = instance(harness.def());
    let other = format!("static const void *last; if (x == last) abort(); last = x; {RIGHT}");
    let unit = harness.build(&[candidate("other", &other)]).remove(0).unwrap();
    let mut measured = |cache| {
        let (timing, units) = (Timing { cache, ..TIMING }, vec![Implementation::MicroKernel(unit.clone())]);
        harness.measure(&instance, units, 1, timing).unwrap().remove(0)
    };
    assert!(measured(Cache::Warm).unwrap_err().to_string().starts_with("crashed: SIGABRT"));
    let rotated = measured(Cache::Rotated);
    assert!(passed(&rotated), "{rotated:?}");
}

#[test]
fn crashes_are_told_apart_and_the_others_are_measured() {
    let outcomes = outcomes(&[
        "*(volatile int *)0 = 1;",
        "abort();",
        "fputs(\"out of patience\\n\", stderr); exit(7);",
        "((float *)x)[0] = 1.0f;",
        "y[0] = ((volatile const float *)x)[M * K];",
    ]);
    let said: Vec<String> = outcomes.iter().map(|o| o.as_ref().unwrap_err().to_string()).collect();
    assert_eq!(said[0], "crashed: SIGSEGV", "a null pointer");
    assert!(said[1].starts_with("crashed: SIGABRT"), "{}", said[1]);
    assert_eq!(said[2], "crashed: exit status 7: out of patience");
    assert_eq!(said[3], "crashed: SIGSEGV", "a write to an input");
    assert_eq!(said[4], "crashed: SIGSEGV", "a read behind an input");
}

#[test]
fn a_candidate_that_hangs_is_ended() {
    assert_eq!(failure("for (;;) __asm__ volatile(\"\");"), Failure::Timeout { seconds: 3.0 });
}

#[test]
fn a_worker_that_died_between_two_jobs_is_replaced() {
    let mut harness = harness(DENSE);
    let instance = instance(harness.def());
    // It ends the process a second after it was called, when it is nobody's turn.
    let late = format!("extern unsigned alarm(unsigned); alarm(1); {RIGHT}");
    let units = [candidate("late", &late), candidate("right", RIGHT)].map(|unit| harness.build_one(&unit).unwrap());
    let [late, right] = units.map(|unit| vec![Implementation::MicroKernel(unit)]);
    harness.measure(&instance, late, 1, TIMING).unwrap();
    std::thread::sleep(Duration::from_millis(1500));
    let measured = harness.measure(&instance, right, 1, TIMING).unwrap();
    assert!(passed(&measured[0]), "{measured:?}");
}

#[test]
fn a_candidate_that_hangs_only_when_called_again_is_found_out() {
    let again = format!("static int calls; if (calls++) for (;;) __asm__ volatile(\"\"); {RIGHT}");
    assert!(matches!(failure(&again), Failure::Timeout { .. }));
}

/// It shares one core with a thread that never rests, so that no sample of it is clean. The library stays loaded for that thread.
#[test]
fn who_never_has_a_core_for_a_whole_sample_has_no_figure() {
    let mut harness = harness(DENSE);
    let instance = instance(harness.def());
    let body = format!(
        "static int begun; struct timespec start, now; {RIGHT}
         if (!begun++) {{
             Dl_info library; dladdr(busy, &library); dlopen(library.dli_fname, RTLD_NOW | RTLD_NODELETE);
             cpu_set_t one; CPU_ZERO(&one); CPU_SET(sched_getcpu(), &one); sched_setaffinity(0, sizeof one, &one);
             pthread_t other; pthread_create(&other, NULL, busy, NULL);
         }}
         clock_gettime(CLOCK_MONOTONIC, &start);
         do clock_gettime(CLOCK_MONOTONIC, &now);
         while ((now.tv_sec - start.tv_sec) * 1000000000l + now.tv_nsec - start.tv_nsec < 30000000l);"
    );
    let mut unit = candidate("crowded", &body);
    let busy = "#define _GNU_SOURCE\n#include <dlfcn.h>\n#include <sched.h>\n#include <pthread.h>\n#include <time.h>\n\
        static void *busy(void *none) { for (;;) __asm__ volatile(\"\"); return none; }\n";
    unit.source.insert_str(0, busy);
    let crowded = Implementation::MicroKernel(harness.build_one(&unit).unwrap());
    let outcome = harness.measure(&instance, vec![crowded], 1, TIMING).unwrap().remove(0).unwrap_err();
    assert_eq!(outcome, Failure::Unknown { clean: 0, asked: 2 });
    assert!(outcome.to_string().contains("in all but 0 of 2 samples"), "{outcome}");
}

#[test]
fn writes_beside_the_output_are_found() {
    let behind = failure(&format!("{RIGHT} y[M * N] = 1.0f;"));
    assert_eq!(behind, Failure::OutOfBounds { param: 2, byte: 140, bytes: 140 });
    let before = failure(&format!("{RIGHT} y[-1] = 1.0f;"));
    assert_eq!(before, Failure::OutOfBounds { param: 2, byte: -4, bytes: 140 });
}

#[test]
fn what_does_not_compile_says_why_and_the_others_are_built() {
    let harness = harness(DENSE);
    let units = [candidate("right", RIGHT), candidate("odd", "this is no C;"), candidate("last", RIGHT)];
    let built = harness.build(&units);
    assert!(built[0].is_ok() && built[2].is_ok());
    let Err(Failure::Compile { message }) = &built[1] else { panic!("{built:?}") };
    assert!(message.contains("error"), "{message}");
}

#[test]
fn compiling_has_a_limit() {
    let builder = Builder::new(Toolchain::find("native").unwrap(), Duration::from_millis(1)).unwrap();
    let failure = builder.build_one(&candidate("slow", RIGHT)).unwrap_err();
    assert!(matches!(failure, Failure::CompileTimeout { .. }), "{failure}");
}

#[test]
fn a_library_without_the_symbols_is_reported() {
    let harness = harness(DENSE);
    let mut unit = harness.build_one(&candidate("odd", RIGHT)).unwrap();
    unit.symbol = "walk".into();
    let mut harness = harness;
    let instance = instance(harness.def());
    let measured = harness.measure(&instance, vec![Implementation::MicroKernel(unit)], 1, TIMING).unwrap();
    assert!(matches!(measured[0], Err(Failure::Load { .. })), "{measured:?}");
}

#[test]
fn an_output_that_is_added_to_is_checked_against_its_random_contents() {
    let source = DENSE.replace("y[i][j] = acc;", "").replace("let mut acc = 0.0;", "").replace("acc +=", "y[i][j] +=");
    let mut harness = harness(&source);
    let instance = instance(harness.def());
    assert!(instance.reads_output);
    let adds = candidate("adds", &RIGHT.replace("y[i * N + j] = acc", "y[i * N + j] += acc"));
    let units = [adds, candidate("overwrites", RIGHT)].map(|unit| harness.build_one(&unit).unwrap());
    let implementations = units.map(Implementation::MicroKernel).to_vec();
    let measured = harness.measure(&instance, implementations, 1, TIMING).unwrap();
    assert!(passed(&measured[0]), "{measured:?}");
    assert!(matches!(measured[1], Err(Failure::Wrong { .. })), "{measured:?}");
}

#[test]
fn elements_of_16_bits_are_checked_within_the_bound_of_their_type() {
    for (dtype, off) in [("f16", "0.01f"), ("bf16", "0.1f")] {
        let source = DENSE
            .replace("[[f32", &format!("[[{dtype}"))
            .replace("x[i][k] * w[j][k]", "f32::from(x[i][k]) * f32::from(w[j][k])")
            .replace("= acc;", &format!("= {dtype}::from_f32(acc);"));
        let mut harness = harness(&source);
        let instance = instance(harness.def());
        let body = |stored: &str| {
            RIGHT
                .replace("x[i * K + k] * w[j * K + k]", "dietcode_load(x[i * K + k]) * dietcode_load(w[j * K + k])")
                .replace("= acc;", &format!("= dietcode_round_{dtype}({stored});"))
        };
        let odd = format!("i == 3 && j == 2 ? acc + {off} : acc");
        let units = [("right", body("acc")), ("odd", body(&odd)), ("lazy", "y[0] = x[0];".to_owned())];
        let units = units.map(|(name, body)| candidate_of(&format!("dietcode_{dtype}"), name, &body));
        let built = units.map(|unit| Implementation::MicroKernel(harness.build_one(&unit).unwrap())).to_vec();
        let outcomes = harness.measure(&instance, built, 1, TIMING).unwrap();
        assert!(passed(&outcomes[0]), "{outcomes:?}");
        let wrong = |at: usize| match &outcomes[at] {
            Err(Failure::Wrong { index, elements, .. }) => (index.clone(), *elements),
            other => panic!("{dtype}: {other:?}"),
        };
        assert_eq!(wrong(1), (vec![3, 2], 1));
        assert!(wrong(2).1 >= 34, "what was not written is poison");
        let finalists = Baselines::new(&harness, None).unwrap().finalists(harness.def(), &instance);
        let names: Vec<&str> = finalists.iter().map(|finalist| &*finalist.name).collect();
        assert_eq!(names, ["naive"], "the libraries' products are of f32");
    }
}

/// A sum in `float` is outside of the bound; BLAS is `dgemm`.
#[test]
fn elements_of_64_bits_are_checked_within_the_bound_of_theirs() {
    let mut harness = harness(&DENSE.replace("[[f32", "[[f64"));
    let instance = instance(harness.def());
    let units = [("right", RIGHT.replace("float", "double")), ("single", RIGHT.to_owned())];
    let units = units.map(|(name, body)| candidate_of("double", name, &body));
    let built = units.map(|unit| Implementation::MicroKernel(harness.build_one(&unit).unwrap())).to_vec();
    let outcomes = harness.measure(&instance, built, 1, TIMING).unwrap();
    assert!(passed(&outcomes[0]) && matches!(outcomes[1], Err(Failure::Wrong { .. })), "{outcomes:?}");
    let blas = harness.find_blas(LIBRARY_NAMES.iter().map(Into::into)).unwrap();
    let baselines = Baselines::new(&harness, blas).unwrap();
    let finalists = baselines.finalists(harness.def(), &instance);
    assert_eq!(finalists.len(), if baselines.blas().is_some() { 3 } else { 2 });
    let comparison = compare(&mut harness, &instance, &finalists, 1, TIMING).unwrap();
    assert!(comparison.standings.iter().all(|s| passed(&s.outcome)), "{comparison:?}");
    // Neither library has a product of elements of two types.
    let mixed = def(&DENSE
        .replace("w: &[[f32", "w: &[[f64")
        .replace("x[i][k]", "f64::from(x[i][k])")
        .replace("= acc;", "= acc as f32;"));
    let names: Vec<String> = baselines.finalists(&mixed, &self::instance(&mixed)).into_iter().map(|f| f.name).collect();
    assert_eq!(names, ["naive"]);
}

/// All 32 bits of integers are numbers, so that a result may be the one that outputs begin as.
#[test]
fn whatever_integer_a_nest_computes_is_no_poison() {
    let mut harness =
        harness("#[dynamic_kernel] pub fn all(c: i32, y: &mut [[i32; 2]; N]) { for i in 0..N { y[i][0] = c; } }");
    let rare = i32::MIN + 0x2a_e3_01;
    let row = |body: &str| {
        let source = format!(
            "#include \"dietcode.h\"\nstatic int64_t grid(const int64_t *shape) {{ return 1; }}\n\
             static void run(void *const *buffers, const int64_t *strides, const int64_t *shape, void *scratch, int64_t begin,\n\
                      int64_t end) {{ int32_t *y = buffers[1]; {body} }}\n\
             const struct dietcode_micro_kernel row = {{\n\
               .name = \"all\", .phases = (const struct dietcode_phase[]){{{{grid, run}}}}, .phases_len = 1}};\n"
        );
        TranslationUnit { name: "all".into(), symbol: "row".into(), source }
    };
    let right = "for (int i = 0; i < shape[0]; i++) y[2 * i] = *(const int32_t *)buffers[0];";
    let lazy = right.replace("i = 0", "i = 1");
    let built = harness.build(&[row(right), row(&lazy), row(&format!("{right} y[1] = 0;"))]);
    let implementations: Vec<_> = built.into_iter().map(|unit| Implementation::MicroKernel(unit.unwrap())).collect();
    for c in [rare, 0, -1, i32::MIN] {
        let instance =
            Instance::of(harness.def(), &[5]).unwrap().with_scalars(harness.def(), &[("c", c.into())]).unwrap();
        let outcomes = harness.measure(&instance, implementations.clone(), 1, TIMING).unwrap();
        assert!(passed(&outcomes[0]), "{c}: {outcomes:?}");
        let at = |outcome: &Result<Sample, Failure>| match outcome {
            Err(Failure::Wrong { index, elements: 1, .. }) => index.clone(),
            other => panic!("{c}: {other:?}"),
        };
        assert_eq!([at(&outcomes[1]), at(&outcomes[2])], [[0, 0], [0, 1]], "{c}");
    }
}

#[test]
fn the_baselines_compute_what_the_nest_says() {
    let mut harness = harness(DENSE);
    let instance = instance(harness.def());
    let blas = harness.find_blas(LIBRARY_NAMES.iter().map(Into::into)).unwrap();
    let baselines = Baselines::new(&harness, blas).unwrap();
    let finalists = baselines.finalists(harness.def(), &instance);
    assert!(finalists.iter().any(|c| c.name == "matrixmultiply"));
    assert_eq!(finalists.len(), if baselines.blas().is_some() { 3 } else { 2 });
    for threads in [1, 2] {
        let comparison = compare(&mut harness, &instance, &finalists, threads, TIMING).unwrap();
        assert!(comparison.standings.iter().all(|s| passed(&s.outcome)), "{comparison:?}");
        assert!(comparison.peak.is_none_or(|peak| peak > 0.1));
    }
}

/// The libraries get α and β, a BLAS the matrices of an interleaved batch on copies; and what a given β does not read is poison.
#[test]
fn general_products_are_measured_at_given_and_at_random_factors() {
    let shipped = include_str!("../../src/ops/gemm.rs");
    for (name, how) in [("gemm_nt", ""), ("gemm_tn_interleaved", " on copies")] {
        let at =
            scan(shipped).unwrap().iter().position(|found| found.parse().is_ok_and(|def: KernelDef| def.name == name));
        let def: KernelDef = scan(shipped).unwrap()[at.unwrap()].parse().unwrap();
        let mut harness = harness_of(def.clone());
        let blas = harness.find_blas(LIBRARY_NAMES.iter().map(Into::into)).unwrap();
        let baselines = Baselines::new(&harness, blas).unwrap();
        let tiled = Tiled::default_for(harness.program(), harness.cpu());
        let (micro_kernel, lowered) = tiled.micro_kernel(harness.program(), harness.cpu()).unwrap();
        let unit = c::translation_unit(&def, &micro_kernel.name(), &lowered, "native").unwrap();
        let unit = harness.build_one(&unit).unwrap();
        let shape: Vec<i64> = def.shape_vars.iter().map(|v| [3, 5, 7, 11]["BMNK".find(&v.name).unwrap()]).collect();
        let random = Instance::of(&def, &shape).unwrap();
        assert!(random.reads_output);
        let given = |values: &[(&str, f64)]| random.clone().with_scalars(&def, values).unwrap();
        for (instance, reads) in [
            (random.clone(), true),
            (given(&[("alpha", 1.0), ("beta", 0.0)]), false),
            (given(&[("beta", -0.5)]), true),
            (given(&[("alpha", 0.0)]), true),
        ] {
            assert_eq!(instance.reads_output, reads);
            let mut finalists = baselines.finalists(harness.def(), &instance);
            if let Some(blas) = baselines.blas() {
                assert_eq!(finalists.last().unwrap().name, format!("blas:{}{how}", blas.name));
            }
            finalists.push(Finalist { name: "own".into(), implementation: Implementation::MicroKernel(unit.clone()) });
            let comparison = compare(&mut harness, &instance, &finalists, 1, TIMING).unwrap();
            assert!(comparison.standings.iter().all(|s| passed(&s.outcome)), "{instance:?}: {comparison:?}");
        }
        let unknown = random.with_scalars(&def, &[("gamma", 1.0)]).unwrap_err();
        assert_eq!(unknown.to_string(), format!("`{name}` has no scalar `gamma`"));
    }
}

/// Windows that lie side by side: at the edge, a compiler that reads them as vectors must not read behind the tensor, where
/// there is no memory.
#[test]
fn tiles_at_the_edge_of_windows_with_steps_read_only_what_is_there() {
    let pool = "#[dynamic_kernel]
        fn pool(x: &[[[f32; 2 * Q]; 2 * P]; C], y: &mut [[[f32; Q]; P]; C]) {
            for c in 0..C { for p in 0..P { for q in 0..Q {
                let mut acc = 0.0;
                for r in 0..2 { for s in 0..2 { acc += x[c][2 * p + r][2 * q + s]; } }
                y[c][p][q] = 0.25 * acc;
            } } }
        }";
    let pairs = "#[dynamic_kernel]
        fn pairs(x: &[[f32; 2 * N]; M], y: &mut [[f32; N]; M]) {
            for i in 0..M { for j in 0..N { y[i][j] = x[i][2 * j] + x[i][2 * j + 1]; } }
        }";
    for (nest, shapes) in [(pool, &[&[64, 7, 7][..], &[64, 1, 1], &[3, 5, 63]][..]), (pairs, &[&[64, 1], &[7, 9]])] {
        let mut harness = harness(nest);
        let tiled = Tiled::default_for(harness.program(), harness.cpu())
            .micro_kernel(harness.program(), harness.cpu())
            .unwrap();
        let Winners { schedules, lowered, .. } = Winners::default_for(harness.program(), harness.cpu());
        for (micro_kernel, lowered) in schedules.into_iter().zip(lowered).chain([tiled]) {
            let unit = c::translation_unit(&def(nest), &micro_kernel.name(), &lowered, "native").unwrap();
            let unit = harness.build_one(&unit).unwrap();
            for shape in shapes {
                let instance = Instance::of(&def(nest), shape).unwrap();
                let measured =
                    harness.measure(&instance, vec![Implementation::MicroKernel(unit.clone())], 1, TIMING).unwrap();
                let name = micro_kernel.name();
                assert!(passed(&measured[0]), "{name} at {shape:?}: {measured:?}");
            }
        }
    }
}

/// Two of five rows, each of which takes 2 ms at least: what is wrong there is found, what is wrong behind them is not computed.
#[test]
fn of_a_part_what_it_computes_is_checked_and_its_time_scaled() {
    let mut harness = harness(DENSE);
    let instance = instance(harness.def());
    let rows = |name: &str, off: &str| {
        let body = RIGHT.replace("int i = 0; i < M; i++", "int i = begin; i < end; i++");
        let unit = candidate(name, &format!("usleep(2000 * (end - begin)); {body} {off}"));
        let source = unit.source.replace("return 1;", "return 5;").replace("stdio.h", "unistd.h");
        harness.build_one(&TranslationUnit { source, ..unit }).unwrap()
    };
    let units = [rows("right", ""), rows("first", "y[N] += 1;"), rows("behind", "if (end > 2) y[2 * N] += 1;")];
    let parts = units.map(|unit| Implementation::Part { unit, share: 0.4 }).to_vec();
    let outcomes = harness.measure(&instance, parts.clone(), 1, TIMING).unwrap();
    for right in [&outcomes[0], &outcomes[2]] {
        let is_scaled = |sample: &Sample| sample.seconds.iter().all(|seconds| *seconds >= 0.01);
        assert!(passed(right) && right.as_ref().map_or(true, is_scaled), "{right:?}");
    }
    let Err(Failure::Wrong { index, elements, .. }) = &outcomes[1] else { panic!("{:?}", outcomes[1]) };
    assert_eq!((&**index, *elements), (&[1, 0][..], 1));
    // Three threads have a row each.
    let outcomes = harness.measure(&instance, parts, 3, TIMING).unwrap();
    let Err(Failure::Wrong { index, .. }) = &outcomes[2] else { panic!("{:?}", outcomes[2]) };
    assert_eq!(index[..], [2, 0]);
}

#[test]
fn what_is_no_blas_is_none() {
    let mut harness = harness(DENSE);
    assert_eq!(harness.find_blas(["libm.so.6".into(), "no/such/library.so".into()]).unwrap(), None);
}
