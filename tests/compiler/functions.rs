//! Each function of elements, as generated C computes it, is that of Rust's `f32`, on numbers of every kind; and both oracles
//! admit what it computes.

mod accuracy;
mod lanes;
mod meeting_lanes;
mod some_lanes;

use std::ffi::c_void;

use dietcode_core::codegen::TranslationUnit;
use dietcode_core::frontend;
use dietcode_core::ir::{DType, Name};
use dietcode_core::machine::{CpuTarget, Toolchain};
use dietcode_core::reference::evaluate;
use dietcode_core::runtime::function::{clamp, erf};
use dietcode_core::sketch::Tiled;
use dietcode_syntax::{Function, KernelDef, ReduceOp};

use crate::common::library::library;
use crate::common::{on_cpu, units};

const NUMBERS: [f32; 17] = [
    f32::NAN,
    f32::NEG_INFINITY,
    -1e30,
    -2.5,
    -1.0,
    -0.5,
    -1e-30,
    -0.0,
    0.0,
    1e-30,
    0.3,
    0.499_999_97,
    1.0,
    2.5,
    20.75,
    1e30,
    f32::INFINITY,
];

/// Twice as much as the function that is off most, `powf`, is said to be: 9 units in the last place.
const CLOSE: f32 = 18.0 * f32::EPSILON;

/// What Rust says, which is what a kernel's `reference` computes.
fn in_rust(function: Function, [a, b, c]: [f32; 3], n: i32) -> f32 {
    match function {
        Function::Neg => -a,
        Function::Max => a.max(b),
        Function::Min => a.min(b),
        Function::Exp => a.exp(),
        Function::Tanh => a.tanh(),
        Function::Sqrt => a.sqrt(),
        Function::Abs => a.abs(),
        Function::Clamp => clamp(a, b, c),
        Function::Exp2 => a.exp2(),
        Function::ExpM1 => a.exp_m1(),
        Function::Ln => a.ln(),
        Function::Log2 => a.log2(),
        Function::Ln1p => a.ln_1p(),
        Function::Sin => a.sin(),
        Function::Cos => a.cos(),
        Function::Erf => erf(a),
        Function::Powi => a.powi(n),
        Function::Powf => a.powf(b),
        Function::MulAdd => a.mul_add(b, c),
        Function::Floor => a.floor(),
        Function::Ceil => a.ceil(),
        Function::Round => a.round(),
    }
}

/// Whether the result is one number and no other, the sign of zero included.
fn is_exact(function: Function) -> bool {
    use Function::{Abs, Ceil, Clamp, Floor, MulAdd, Neg, Round, Sqrt};
    matches!(function, Abs | Ceil | Clamp | Floor | MulAdd | Neg | Round | Sqrt)
}

struct Case {
    function: Function,
    exponent: i32,
    def: KernelDef,
    unit: TranslationUnit,
    oracle: TranslationUnit,
}

fn case(at: usize, function: Function, exponent: i32) -> Case {
    let value = match (function, function.arity()) {
        (Function::Neg, _) => "-a[i]".to_owned(),
        (Function::Powi, _) => format!("a[i].powi({exponent})"),
        (_, 1) => format!("a[i].{function}()"),
        (_, 2) => format!("a[i].{function}(b[i])"),
        _ => format!("a[i].{function}(b[i], c[i])"),
    };
    let source = format!(
        "#[dynamic_kernel] fn case{at}(a: &[f32; N], b: &[f32; N], c: &[f32; N], y: &mut [f32; N]) {{
            for i in 0..N {{ y[i] = {value}; }}
        }}"
    );
    let def = dietcode_syntax::scan(&source).expect("it is Rust")[0].parse().unwrap_or_else(|e| panic!("{e}"));
    let unit = units::naive(&def);
    let oracle = units::oracle(&def);
    Case { function, exponent, def, unit, oracle }
}

fn cases() -> Vec<Case> {
    let others = Function::ALL.iter().filter(|function| **function != Function::Powi).map(|function| (*function, 0));
    let powers = [0, 1, 2, 3, 7, -1, -2, -3].map(|exponent| (Function::Powi, exponent));
    others.chain(powers).enumerate().map(|(at, (function, exponent))| case(at, function, exponent)).collect()
}

/// Runs a unit on contiguous tensors of one dimension.
fn call(library: &libloading::Library, unit: &TranslationUnit, buffers: &[*mut c_void], len: usize) {
    // SAFETY: each of the unit's buffers has this many elements.
    unsafe { on_cpu::call(library, unit, None, (buffers, &[1; 8], &[len as i64]), &unit.name) };
}

/// Compiles units as one file.
fn compile<'u>(units: impl Iterator<Item = &'u TranslationUnit>) -> libloading::Library {
    let source: String = units.map(|unit| &*unit.source).collect();
    library(&Toolchain::find("native").expect("a C compiler"), &source, &[])
}

#[test]
fn tensors_may_be_called_like_functions_of_the_c_library() {
    let source = "#[dynamic_kernel] fn sqrt(fabs: &[[f32; fmax]; N], pow: &[f32; N], expm1: &mut [f32; N]) {
        for erf in 0..N {
            let mut acc = pow[erf].exp();
            for log in 0..fmax { acc += fabs[erf][log].powf(pow[erf]).abs().max(0.5).exp_m1(); }
            expm1[erf] = if acc / 3.0 > 1.0 { acc.sqrt().mul_add(2.0, 1.0).clamp(0.0, acc) } else { acc.erf() };
        }
    }";
    let def = dietcode_syntax::scan(source).expect("it is Rust")[0].parse().unwrap_or_else(|e| panic!("{e}"));
    compile([&units::naive(&def), &units::oracle(&def)].into_iter());
}

#[test]
fn functions_are_those_of_rust() {
    let cases = cases();
    let library = compile(cases.iter().flat_map(|case| [&case.unit, &case.oracle]));
    let triples = || NUMBERS.iter().flat_map(|a| NUMBERS.iter().flat_map(|b| NUMBERS.iter().map(|c| [*a, *b, *c])));
    let mut columns = [0, 1, 2].map(|column| triples().map(|triple| triple[column]).collect::<Vec<f32>>());
    let len = columns[0].len();
    for case in &cases {
        let mut found = vec![0f32; len];
        let mut buffers: Vec<*mut c_void> = columns.iter_mut().map(|column| column.as_mut_ptr().cast()).collect();
        buffers.push(found.as_mut_ptr().cast());
        call(&library, &case.unit, &buffers, len);

        let (mut value, mut bound) = (vec![0f64; len], vec![0f64; len]);
        buffers[3] = value.as_mut_ptr().cast();
        buffers.extend([bound.as_mut_ptr().cast(), found.as_ptr().cast_mut().cast()]);
        call(&library, &case.oracle, &buffers, len);
        let named = ["a", "b", "c", "y"].map(Name::from).into_iter();
        let tensors = named
            .zip(columns.iter().map(|column| column.iter().copied().map(f64::from).collect()).chain([vec![0.0; len]]))
            .collect();
        let shape = [(Name::from("N"), len as i64)].into();
        let approx = evaluate(&frontend::program(&case.def), &shape, &tensors).expect("it is in bounds");

        for (at, triple) in triples().enumerate() {
            let (found, expected) = (found[at], in_rust(case.function, triple, case.exponent));
            let what = || format!("{} of {triple:?}, {}: {found:e}, not {expected:e}", case.function, case.exponent);
            let same = found == expected || found.is_nan() && expected.is_nan();
            let close = (found - expected).abs() <= CLOSE * expected.abs() + 1e-44;
            assert!(if is_exact(case.function) { same } else { same || close }, "{}", what());
            if is_exact(case.function) && !found.is_nan() {
                assert_eq!(found.is_sign_negative(), expected.is_sign_negative(), "{}", what());
            }
            if expected.is_finite() && approx[at].value.is_finite() {
                let by_c = (f64::from(found) - value[at]).abs() <= bound[at];
                assert!(
                    approx[at].admits(DType::F32, found.into()) && by_c,
                    "{}: {:?}, {} ± {}",
                    what(),
                    approx[at],
                    value[at],
                    bound[at]
                );
            }
        }
    }
}

/// A maximum becomes a term where that is larger, in every form and whatever the schedule: a term that is NaN is passed over, and what
/// it starts with stays if that is NaN.
#[test]
fn extremes_take_nan_infinities_and_zeros_as_they_say() {
    let forms = [
        (ReduceOp::Max, "acc.max(x)"),
        (ReduceOp::Max, "f32::max(x, acc)"),
        (ReduceOp::Max, "if x > acc { x } else { acc }"),
        (ReduceOp::Max, "if x < acc { acc } else { x }"),
        (ReduceOp::Max, "if acc > x { acc } else { x }"),
        (ReduceOp::Max, "if acc < x { x } else { acc }"),
        (ReduceOp::Min, "acc.min(x)"),
        (ReduceOp::Min, "if x < acc { x } else { acc }"),
        (ReduceOp::Min, "if acc < x { acc } else { x }"),
    ];
    let def = |at: usize, form: &str, terms: usize| -> KernelDef {
        let source = format!(
            "#[dynamic_kernel] fn extreme{at}_{terms}(a: &[f32; N], b: &[f32; N + {terms}], c: &[f32; N], y: &mut [f32; N]) {{
                for i in 0..N {{ let mut acc = a[i];
                    for k in 0..{terms} {{ let x = b[i + k]; acc = {form}; }} y[i] = acc; }} }}"
        );
        dietcode_syntax::scan(&source).expect("it is Rust")[0].parse().unwrap_or_else(|e| panic!("{e}"))
    };
    let toolchain = Toolchain::find("native").expect("a C compiler");
    let target = CpuTarget::of(&toolchain);
    let default = |def: &KernelDef| Tiled::default_for(&frontend::program(def), &target);
    let tiled = |def: &KernelDef| units::tiled(def, &default(def), &target).expect("a tile");
    // With 40 terms there are all pairs of numbers next to each other, and those that a vector takes at once.
    let cases: Vec<(ReduceOp, usize, KernelDef)> = forms
        .iter()
        .enumerate()
        .flat_map(|(at, (op, form))| [2, 40].map(|terms| (*op, terms, def(at, form, terms))))
        .collect();
    let units: Vec<[TranslationUnit; 3]> =
        cases.iter().map(|(.., def)| [units::naive(def), tiled(def), units::oracle(def)]).collect();
    let library = compile(units.iter().flatten());
    let pairs = NUMBERS.iter().flat_map(|a| NUMBERS.iter().flat_map(move |b| [*a, *b]));
    let terms: Vec<f32> = pairs.collect();
    let mut starts: Vec<f32> = (0..terms.len()).map(|at| NUMBERS[at * 7 % NUMBERS.len()]).collect();
    for ((op, count, def), [naive, tiled, oracle]) in cases.iter().zip(&units) {
        let len = terms.len() - count;
        let step = |acc: f64, term: &f32| op.apply(acc, f64::from(*term));
        let expected: Vec<f64> =
            (0..len).map(|i| terms[i..i + count].iter().fold(f64::from(starts[i]), step)).collect();
        let same = |found: f64, at: usize| found == expected[at] || found.is_nan() && expected[at].is_nan();
        let (mut x, mut unused) = (terms.clone(), starts.clone());
        for unit in [naive, tiled] {
            let mut found = vec![0f32; len];
            let buffers = [&mut starts, &mut x, &mut unused, &mut found].map(|tensor| tensor.as_mut_ptr().cast());
            call(&library, unit, &buffers, len);
            for (at, found) in found.iter().enumerate() {
                assert!(same(f64::from(*found), at), "{def}at {at}: {found}, not {}\n{}", expected[at], unit.source);
            }
        }
        let (mut value, mut bound) = (vec![0f64; len], vec![1f64; len]);
        let buffers: [*mut c_void; 6] = [
            starts.as_mut_ptr().cast(),
            x.as_mut_ptr().cast(),
            unused.as_mut_ptr().cast(),
            value.as_mut_ptr().cast(),
            bound.as_mut_ptr().cast(),
            unused.as_ptr().cast_mut().cast(),
        ];
        call(&library, oracle, &buffers, len);
        let named = ["a", "b", "c", "y"].map(Name::from).into_iter();
        let tensors = named
            .zip([&starts, &terms, &starts, &unused].map(|of| of.iter().copied().map(f64::from).collect()))
            .collect();
        let shape = [(Name::from("N"), len as i64)].into();
        let approx = evaluate(&frontend::program(def), &shape, &tensors).expect("it is in bounds");
        for (at, approx) in approx.iter().enumerate().take(len) {
            assert!(same(value[at], at) && bound[at] < 1e-40, "{def}at {at}: the oracle in C has {}", value[at]);
            assert!(same(approx.value, at) && approx.error == 0.0, "{def}at {at}: the oracle in Rust has {approx:?}");
        }
    }
}
