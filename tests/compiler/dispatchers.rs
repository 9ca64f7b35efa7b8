//! The dispatcher of a program in C chooses what the tree says, at any integers.

use std::fs;
use std::process::Command;

use dietcode_core::codegen::cuda::{CudaLaunch, CudaUnit};
use dietcode_core::codegen::quantity::{Operator, Quantity};
use dietcode_core::codegen::registry::{self, Decision};
use dietcode_core::codegen::{DIETCODE_H, TranslationUnit};
use dietcode_core::ir::Expr;
use dietcode_core::machine::cuda::ComputeCapability;
use dietcode_core::reference::Arithmetic;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};

use crate::common::settings;

/// The name of what a tree, by its number, chooses at a shape.
type Chosen = unsafe extern "C" fn(i32, *const i64) -> *const std::ffi::c_char;

const VARS: usize = 3;
const ROWS: usize = 4;
const TREES: usize = 20;

/// Small ones, which extents are, and those at which 64 bits end.
fn integer(rng: &mut StdRng) -> i64 {
    match rng.random_range(0..4) {
        0 => rng.random(),
        1 => *[i64::MIN, i64::MIN + 1, -1, 0, 1, 2, 1 << 32, i64::MAX / 2, i64::MAX - 1, i64::MAX].choose(rng).unwrap(),
        2 => rng.random_range(-100..100),
        _ => rng.random_range(0..5000),
    }
}

fn quantity(rng: &mut StdRng, depth: usize) -> Quantity<usize> {
    if depth == 0 || rng.random_bool(0.2) {
        return if rng.random() { Quantity::Var(rng.random_range(0..VARS)) } else { Quantity::Int(integer(rng)) };
    }
    use Operator::{Add, Div, Max, Min, Mul, Sub};
    let operator = *[Add, Sub, Mul, Div, Min, Max].choose(rng).unwrap();
    let (a, b) = (quantity(rng, depth - 1), quantity(rng, depth - 1));
    // What is divided by is positive for certain, as a tree's text says.
    let b = if operator == Div { b.max(Quantity::Int(1)) } else { b };
    Quantity::Of(operator, Box::new(a), Box::new(b))
}

fn decision(rng: &mut StdRng, depth: usize) -> Decision {
    if depth == 0 || rng.random_bool(0.2) {
        return Decision::Pick(rng.random_range(0..ROWS));
    }
    let (below, above) = (Box::new(decision(rng, depth - 1)), Box::new(decision(rng, depth - 1)));
    Decision::Split { of: quantity(rng, 4), threshold: integer(rng), below, above }
}

/// Micro-kernels of one and of two launches by turns.
fn cuda_unit(row: usize) -> CudaUnit {
    let launch = |part: usize| CudaLaunch {
        symbol: format!("run_{row}_{part}"),
        threads: 32,
        shared_bytes: 0,
        blocks: Expr::Int(1),
        persistent: false,
    };
    CudaUnit {
        name: format!("gpu_{row}"),
        launches: (0..1 + row % 2).map(launch).collect(),
        workspace_bytes: None,
        needs: ComputeCapability::OLDEST,
        arithmetic: Arithmetic::F32,
        source: String::new(),
    }
}

/// The lists that the functions' results are positions in, by C's own preprocessor.
const NAMES: &str = r#"
#include <stdint.h>
#include "dispatch.h"
static const char *const on_cpu[] = {
#define DIETCODE_KERNEL(kernel, name, row) #name,
#include "registry.def"
};
static const char *const on_cuda[] = {
#define DIETCODE_CUDA(kernel, name, symbol, threads, shared_bytes) #name,
#include "registry.def"
};
"#;

#[test]
fn a_dispatcher_in_c_chooses_what_the_tree_says() {
    let rng = &mut StdRng::seed_from_u64(settings::seed_of_the_day());
    let nest = "#[dynamic_kernel] fn dense(x: &[[f32; K]; M], w: &[[f32; K]; N], y: &mut [[f32; N]; M]) {
        for i in 0..M { for j in 0..N { let mut acc = 0.0; for k in 0..K { acc += x[i][k] * w[j][k]; } y[i][j] = acc; } } }";
    let def = dietcode_syntax::scan(nest).expect("the source parses")[0].parse().expect("the nest is one");
    let unit = |row: usize| TranslationUnit {
        name: format!("cpu_{row}"),
        symbol: format!("row_{row}"),
        source: String::new(),
    };
    let units: Vec<TranslationUnit> = (0..ROWS).map(unit).collect();
    let on_cuda: Vec<CudaUnit> = (0..ROWS).map(cuda_unit).collect();
    let on_cuda: Vec<&CudaUnit> = on_cuda.iter().collect();
    let cpu = decision(rng, 6);
    // A tree for each of so many devices; no device is called so.
    let devices: Vec<_> = (0..TREES as u32).map(|n| ((100 + n, 0), decision(rng, 6))).collect();

    let folder = tempfile::tempdir().expect("a temporary folder");
    let files = registry::files(&def, Some((&units, &cpu)), (&on_cuda, &devices));
    files.iter().for_each(|(name, text)| fs::write(folder.path().join(name), text).expect("it can be written"));
    let loaded = registry::dispatcher(&def, &cpu);
    fs::write(folder.path().join("loaded.c"), &loaded.source).expect("it can be written");
    let names: Vec<String> = std::iter::once("cpu".to_owned())
        .chain(devices.iter().map(|((major, minor), _)| format!("sm_{major}{minor}")))
        .collect();
    let case = |(at, target): (usize, &String)| {
        let list = if at == 0 { "on_cpu" } else { "on_cuda" };
        format!("    case {at}: return {list}[dietcode_dispatch_dense_{target}(shape[0], shape[1], shape[2])];\n")
    };
    let cases: String = names.iter().enumerate().map(case).collect();
    let program = format!(
        "{NAMES}\n#ifdef __cplusplus\nextern \"C\"\n#endif\nconst char *chosen(int tree, const int64_t *shape);
const char *chosen(int tree, const int64_t *shape) {{\n    switch (tree) {{\n{cases}    }}\n    return 0;\n}}\n"
    );
    assert!(files.iter().any(|(name, text)| name == "dietcode.h" && text == DIETCODE_H));
    fs::write(folder.path().join("chosen.c"), program).expect("it can be written");
    let shapes: Vec<[i64; VARS]> = (0..2000).map(|_| std::array::from_fn(|_| integer(rng))).collect();
    for language in [["-x", "c", "-std=c99"], ["-x", "c++", "-std=c++11"]] {
        let (built, traps) =
            (folder.path().join(language[1]), "-fsanitize=signed-integer-overflow,integer-divide-by-zero");
        let mut compiler = Command::new("cc");
        compiler.args(language).args(["-O1", "-Wall", "-Wextra", "-Werror", "-pedantic-errors", "-fPIC", "-shared"]);
        // What overflows ends the test; a tree may compare with the largest integer that there is.
        compiler.args(["-Wno-type-limits", traps, "-fsanitize-undefined-trap-on-error", "chosen.c"]);
        compiler.args((language[1] == "c").then_some("loaded.c")).arg("-o").arg(&built);
        let output = compiler.current_dir(folder.path()).output().expect("cc starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        // SAFETY: the library has no initialisers.
        let library = unsafe { libloading::Library::new(&built) }.expect("the library loads");
        // SAFETY: it is the function above.
        let chosen = unsafe { library.get::<Chosen>(b"chosen") }.expect("it is exported");
        if language[1] == "c" {
            // SAFETY: it is the function of the unit.
            let pick =
                unsafe { library.get::<registry::DispatchFn>(loaded.symbol.as_bytes()) }.expect("it is exported");
            for shape in &shapes {
                // SAFETY: the shape has as many values.
                assert_eq!(usize::try_from(unsafe { pick(shape.as_ptr()) }), Ok(cpu.pick(shape)), "{shape:?} {cpu:?}");
            }
        }
        for shape in &shapes {
            for (at, tree) in std::iter::once(&cpu).chain(devices.iter().map(|(_, tree)| tree)).enumerate() {
                let row = tree.pick(shape);
                let expected = if at == 0 { format!("cpu_{row}") } else { format!("gpu_{row}") };
                // SAFETY: the shape has as many values, and what comes back is a constant of the library.
                let found = unsafe { std::ffi::CStr::from_ptr(chosen(at as i32, shape.as_ptr())) };
                assert_eq!(found.to_str(), Ok(&*expected), "{shape:?} {tree:?}");
            }
        }
    }
}
