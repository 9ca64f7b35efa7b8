//! The nests that threads share sums of, at the shapes where they go wrong: nothing to sum, one element less than there are
//! threads, as many, one more, primes, a long sum, a single row.

use dietcode_core::codegen::cuda::CudaUnit;
use dietcode_core::machine::cuda::HostCompiler;
use dietcode_core::schedule::{Pipeline, Staging};
use dietcode_syntax::KernelDef;

use super::schedules::{Parameters, shared, sizes};
use super::{ADDED, COLUMN_SUMS, CONVOLUTION, DENSE, DOT, ROW_SUMS, SCALED, kernel};
use crate::common::instance::{GUARD, Instance};
use crate::common::on_gpu::{Case, Library};

/// Schedules of a kernel, each at all shapes, with rows that follow each other and rows that do not.
fn check(source: &str, schedules: &[Parameters], shapes: &[Vec<i64>]) {
    let def = kernel(source);
    let unit = |(n, parameters): (usize, &Parameters)| {
        parameters.unit(&def, &format!("case{n}")).unwrap_or_else(|e| panic!("{parameters:?}: {e}"))
    };
    let units: Vec<CudaUnit> = schedules.iter().enumerate().map(unit).collect();
    let library = Library::compile(&HostCompiler::find().expect("a C++ compiler"), units.iter());
    for (at, shape) in shapes.iter().enumerate() {
        for unit in &units {
            check_one(&library, &def, unit, shape, [0, 1, 8][at % 3], at as u64);
        }
    }
}

/// Within the bound, and the same bits again.
fn check_one(library: &Library, def: &KernelDef, unit: &CudaUnit, shape: &[i64], gap: usize, seed: u64) {
    let instance = Instance { seed, def: def.clone(), shape: shape.to_vec(), gap, coarse: false };
    let case = Case { instance, unit: unit.clone() };
    let tensors = case.instance.tensors();
    library.check(&case, &tensors, &case.instance.expected(&tensors));
    let bits = || {
        let mut memory = case.instance.memory(&tensors);
        memory[def.output] = case.instance.output(&tensors);
        library.run(&case, &mut memory);
        memory[def.output].values().skip(GUARD).map(f64::to_bits).collect::<Vec<u64>>()
    };
    assert_eq!(bits(), bits(), "other bits the second time: shape {shape:?}\n{}", unit.source);
}

/// Extents of a sum that `threads` of a block share.
fn sums(threads: i64) -> Vec<i64> {
    vec![0, 1, threads - 1, threads, threads + 1, 2 * threads, 97, 4099]
}

/// Shapes in the order in which a kernel's variables are declared.
fn shapes(source: &str, of: &[&[(&str, i64)]]) -> Vec<Vec<i64>> {
    let def = kernel(source);
    let value = |shape: &[(&str, i64)], name: &str| shape.iter().find(|(var, _)| *var == name).expect("a value").1;
    of.iter().map(|shape| def.shape_vars.iter().map(|var| value(shape, &var.name)).collect()).collect()
}

fn sums_by(source: &str, threads: i64, spatial: &[&[(&str, i64)]]) -> Vec<Vec<i64>> {
    let at = |(n, k): (usize, i64)| [&[("K", k)], spatial[n % spatial.len()]].concat();
    let all: Vec<Vec<(&str, i64)>> = sums(threads).into_iter().enumerate().map(at).collect();
    shapes(source, &all.iter().map(Vec::as_slice).collect::<Vec<_>>())
}

#[test]
fn sums_of_rows() {
    let schedules = [
        Parameters { cross: sizes("k 32"), ..Parameters::default() },
        Parameters { thread: sizes("i 4"), cross: sizes("k 32"), persistent: true, ..Parameters::default() },
        Parameters { thread: sizes("i 3"), inner: sizes("i 2"), cross: sizes("k 32"), ..Parameters::default() },
        Parameters {
            thread: sizes("i 2"),
            vthread: sizes("i 3"),
            cross: sizes("k 32"),
            steps: sizes("k 4"),
            runs: true,
            stage: vec![("x".into(), Staging::Registers(4))],
            ..Parameters::default()
        },
    ];
    check(ROW_SUMS, &schedules, &sums_by(ROW_SUMS, 32, &[&[("M", 1)], &[("M", 13)], &[("M", 24)]]));
    let odd = [5, 7, 100].map(|threads| Parameters {
        thread: sizes("i 3"),
        cross: [("k".to_owned(), threads)].into(),
        ..Parameters::default()
    });
    check(ROW_SUMS, &odd, &sums_by(ROW_SUMS, 7, &[&[("M", 7)], &[("M", 1)]]));
}

/// Neighbours in memory are neighbours along the spatial loop: the threads of a sum count slowest.
#[test]
fn sums_of_columns() {
    let schedules = [
        Parameters { thread: sizes("j 16"), cross: sizes("k 6"), slowest: true, ..Parameters::default() },
        Parameters {
            thread: sizes("j 8"),
            inner: sizes("j 2"),
            cross: sizes("k 6"),
            steps: sizes("k 3"),
            slowest: true,
            store: 2,
            stage: vec![("x".into(), shared(2))],
            pipeline: Some(Pipeline::Registers),
            ..Parameters::default()
        },
    ];
    check(COLUMN_SUMS, &schedules, &sums_by(COLUMN_SUMS, 6, &[&[("M", 1)], &[("M", 33)], &[("M", 32)]]));
}

#[test]
fn a_single_sum() {
    let schedules =
        [1, 64, 1000].map(|threads| Parameters { cross: [("k".to_owned(), threads)].into(), ..Parameters::default() });
    check(DOT, &schedules, &sums_by(DOT, 64, &[&[]]));
}

#[test]
fn dense_layers_of_few_rows_and_columns() {
    let stage = |vector| vec![("x".into(), shared(vector)), ("w".into(), shared(vector))];
    let base = Parameters { thread: sizes("j 4"), cross: sizes("k 16"), steps: sizes("k 2"), ..Parameters::default() };
    let schedules = [
        Parameters { inner: sizes("i 2, j 2"), ..base.clone() },
        Parameters { inner: sizes("i 3, j 4"), stage: stage(2), store: 4, persistent: true, ..base.clone() },
        Parameters { vthread: sizes("j 2"), stage: stage(1), pipeline: Some(Pipeline::Registers), ..base.clone() },
        Parameters { thread: sizes("i 2, j 2"), stage: stage(4), pipeline: Some(Pipeline::Async(3)), ..base.clone() },
        Parameters { inner: sizes("i 2"), stage: stage(1), runs: true, slowest: true, ..base },
    ];
    let spatial: [&[(&str, i64)]; 4] =
        [&[("M", 1), ("N", 1)], &[("M", 1), ("N", 17)], &[("M", 5), ("N", 1)], &[("M", 6), ("N", 8)]];
    check(DENSE, &schedules, &sums_by(DENSE, 16, &spatial));
}

/// `c += …`: the first kernel stores, those of the other add atomically, in parts that blocks share besides.
#[test]
fn sums_that_are_added_to_the_output() {
    let base = Parameters { thread: sizes("j 8"), inner: sizes("i 2"), cross: sizes("k 8"), ..Parameters::default() };
    let schedules = [
        base.clone(),
        Parameters { steps: sizes("k 2"), stage: vec![("x".into(), shared(2)), ("w".into(), shared(1))], ..base },
    ];
    let spatial: [&[(&str, i64)]; 3] = [&[("M", 1), ("N", 1)], &[("M", 3), ("N", 9)], &[("M", 4), ("N", 16)]];
    check(ADDED, &schedules, &sums_by(ADDED, 8, &spatial));
    let split = ["split", "split_in_steps"].into_iter().zip(schedules);
    let def = kernel(ADDED);
    let units: Vec<CudaUnit> = split
        .map(|(name, parameters)| Parameters { split: sizes("k 3"), ..parameters }.unit(&def, name))
        .map(|unit| unit.unwrap_or_else(|e| panic!("{e}")))
        .collect();
    let library = Library::compile(&HostCompiler::find().expect("a C++ compiler"), units.iter());
    for (shape, unit) in sums_by(ADDED, 8, &spatial).iter().zip(units.iter().cycle()) {
        let instance = Instance { seed: 1, def: def.clone(), shape: shape.clone(), gap: 1, coarse: false };
        let case = Case { instance, unit: unit.clone() };
        let tensors = case.instance.tensors();
        library.check(&case, &tensors, &case.instance.expected(&tensors));
    }
}

/// A sum that is not taken reads nothing, and the output is read where it is multiplied by something.
#[test]
fn sums_under_a_condition() {
    let schedules = [
        Parameters { thread: sizes("i 2"), cross: sizes("k 8"), ..Parameters::default() },
        Parameters {
            thread: sizes("i 4"),
            inner: sizes("i 2"),
            cross: sizes("k 8"),
            steps: sizes("k 4"),
            stage: vec![("x".into(), shared(4)), ("w".into(), shared(1))],
            ..Parameters::default()
        },
    ];
    let by = sums_by(SCALED, 8, &[&[("M", 5)], &[("M", 1)], &[("M", 16)]]);
    check(SCALED, &schedules, &[by.clone(), by.clone(), by].concat());
}

#[test]
fn sums_over_several_loops() {
    let shapes = shapes(
        CONVOLUTION,
        &[
            &[("O", 3), ("H", 5), ("W", 7), ("C", 5), ("R", 3), ("S", 3)],
            &[("O", 1), ("H", 1), ("W", 1), ("C", 33), ("R", 1), ("S", 1)],
            &[("O", 4), ("H", 4), ("W", 8), ("C", 4), ("R", 2), ("S", 4)],
            &[("O", 2), ("H", 3), ("W", 3), ("C", 1), ("R", 0), ("S", 2)],
        ],
    );
    let base = Parameters { thread: sizes("w 4"), inner: sizes("o 2"), ..Parameters::default() };
    let schedules = [
        Parameters { cross: sizes("c 4, s 2"), ..base.clone() },
        Parameters {
            cross: sizes("c 2, r 3"),
            steps: sizes("c 2, s 3"),
            stage: vec![("x".into(), shared(1)), ("k".into(), shared(1))],
            ..base
        },
    ];
    check(CONVOLUTION, &schedules, &shapes);
}

/// The other operators: threads start with the identity, and what the accumulator starts with enters once.
#[test]
fn rows_by_other_operators() {
    let base = Parameters { thread: sizes("i 2"), cross: sizes("k 32"), ..Parameters::default() };
    let steps = Parameters { steps: sizes("k 4"), inner: sizes("i 2"), ..base.clone() };
    let stage = |staging| vec![("x".into(), staging)];
    let schedules = [
        Parameters { slowest: true, store: 2, ..steps.clone() },
        Parameters { runs: true, stage: stage(Staging::Registers(4)), ..steps.clone() },
        Parameters { stage: stage(shared(4)), ..steps.clone() },
        Parameters { stage: stage(shared(2)), pipeline: Some(Pipeline::Registers), ..steps.clone() },
        Parameters { stage: stage(shared(4)), pipeline: Some(Pipeline::Async(3)), persistent: true, ..steps },
        base,
    ];
    for (init, update) in [
        ("f32::NEG_INFINITY", "acc = acc.max(x[i][k])"),
        ("b[i]", "acc = if x[i][k] < acc { x[i][k] } else { acc }"),
        ("y[i]", "acc = if acc > -x[i][k] { acc } else { -x[i][k] }"),
        ("0.5", "acc = f32::max(x[i][k] * b[i], acc)"),
        ("b[i]", "acc *= x[i][k]"),
    ] {
        let source = format!(
            "#[dynamic_kernel] fn rows(x: &[[f32; K]; M], b: &[f32; M], y: &mut [f32; M]) {{
                for i in 0..M {{ let mut acc = {init}; for k in 0..K {{ {update}; }} y[i] = acc; }}
            }}"
        );
        check(&source, &schedules, &sums_by(&source, 32, &[&[("M", 1)], &[("M", 13)]]));
    }
}
