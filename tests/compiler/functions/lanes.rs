//! What of a value is computed for all lanes of a vector at once: functions, choices, indices as numbers.

use dietcode_core::codegen::TranslationUnit;
use dietcode_core::frontend;
use dietcode_core::ir::{Expr, ForKind, Stmt};
use dietcode_core::lower::lower;
use dietcode_core::schedule::{Schedule, Tail};
use dietcode_core::sketch::Tiled;
use dietcode_syntax::{Function, KernelDef};

use super::{NUMBERS, call, compile};
use crate::common::avx512::target;
use crate::common::units;

fn kernel(source: &str) -> KernelDef {
    dietcode_syntax::scan(source).expect("it is Rust")[0].parse().unwrap_or_else(|e| panic!("{e}"))
}

/// A dense layer whose sums, with a bias, become a value.
fn dense(value: &str) -> KernelDef {
    kernel(&format!(
        "#[dynamic_kernel] fn dense(x: &[[f32; K]; M], w: &[[f32; K]; N], b: &[f32; N], y: &mut [[f32; N]; M]) {{
            for i in 0..M {{ for j in 0..N {{
                let mut acc = 0.0;
                for k in 0..K {{ acc += x[i][k] * w[j][k]; }}
                let v = acc + b[j];
                y[i][j] = {value};
            }} }} }}"
    ))
}

#[test]
fn an_activation_behind_a_sum_is_vectors_and_calls_no_library() {
    for (value, functions) in [
        ("0.5 * v * (1.0 + (v * 0.70710677).erf())", "erf"),
        ("0.5 * v * (1.0 + (0.7978846 * (v + 0.044715 * v * v * v)).tanh())", "tanh"),
        ("1.0 / (1.0 + (-v).exp())", "exp"),
        ("v.max(0.0) + (-v.abs()).exp().ln_1p()", "max fabs exp log1p"),
        ("v.exp2().log2().ln().exp_m1().powf(v)", "exp2 log2 log expm1 pow"),
        (
            "v.floor().ceil().round().sqrt().min(v).clamp(0.0, v).mul_add(v, v).powi(3)",
            "floor ceil round sqrt min clamp fma powi",
        ),
        ("if v > 0.0 { v } else { 0.1 * v }", "pick"),
    ] {
        let def = dense(value);
        let unit =
            units::tiled(&def, &Tiled::default_for(&frontend::program(&def), &target()), &target()).expect("a tile");
        for function in functions.split(' ') {
            assert!(unit.source.contains(&format!("dietcode_{function}_f32x16(")), "{function}\n{}", unit.source);
        }
        for library in ["erf", "tanh", "exp", "exp2", "expm1", "log", "log2", "log1p", "pow"] {
            assert!(!unit.source.contains(&format!("__builtin_{library}")), "{library}\n{}", unit.source);
        }
    }
}

/// `y[i] = value`, of which 8 elements are a vector.
fn vectors(value: &str) -> (KernelDef, Schedule) {
    let def = kernel(&format!(
        "#[dynamic_kernel] fn f(x: &[f32; N], b: &[f32; N], y: &mut [f32; N]) {{ for i in 0..N {{ y[i] = {value}; }} }}"
    ));
    let program = frontend::program(&def);
    let mut schedule = Schedule::new(&program, &program.blocks[0]);
    schedule.split("i", 8, Tail::Pad, ["i_0", "i_v"]).expect("the loop is there");
    schedule.vectorize("i_v").expect("it is the innermost");
    (def, schedule)
}

fn is_vector(schedule: &Schedule) -> bool {
    let mut found = false;
    lower(schedule).expect("it is lowered").body.visit(&mut |stmt| {
        found |= matches!(stmt, Stmt::For { kind: ForKind::Vectorized, extent: Expr::Int(8), .. });
    });
    found
}

#[test]
fn vectors_are_what_the_nest_is_bit_for_bit() {
    let choices = [
        "-(x[i] + b[i])",
        "x[i].exp() * i as f32",
        "x[i].exp() + b[i]",
        "x[i].exp2() + b[i]",
        "x[i].tanh() - b[i]",
        "if x[i] < b[i] { x[i].sqrt() } else { b[i] / x[i] }",
        "if x[i] != 0.5 { if b[i] >= 1.0 { 2.0 } else { x[i] } } else { 0.0 }",
    ];
    let functions =
        Function::ALL.iter().filter(|function| **function != Function::Neg).map(|function| match function {
            Function::Powi => "x[i].powi(-3)".to_owned(),
            _ => format!("x[i].{function}({})", ["", "b[i]", "b[i], 0.5"][function.arity() - 1]),
        });
    let values: Vec<String> = functions.chain(choices.map(str::to_owned)).collect();
    let units: Vec<[TranslationUnit; 2]> = values
        .iter()
        .map(|value| {
            let (def, schedule) = vectors(value);
            let library = [".sin()", ".cos()"].iter().any(|call| value.contains(call));
            assert_eq!(is_vector(&schedule), !library, "{value}: vectors have all but these");
            [units::naive(&def), units::scheduled(&def, "vectors", &schedule).expect("it is printed")]
        })
        .collect();
    let library = compile(units.iter().flatten());
    let pairs = || NUMBERS.iter().flat_map(|x| NUMBERS.iter().map(move |b| [*x, *b]));
    let mut columns = [0, 1].map(|column| pairs().map(|pair| pair[column]).collect::<Vec<f32>>());
    let len = columns[0].len();
    for (value, units) in values.iter().zip(&units) {
        let [one, many] = units.each_ref().map(|unit| {
            let mut found = vec![0f32; len];
            let [x, b] = columns.each_mut().map(|column| column.as_mut_ptr().cast());
            call(&library, unit, &[x, b, found.as_mut_ptr().cast()], len);
            found
        });
        for (at, pair) in pairs().enumerate() {
            let same = one[at].to_bits() == many[at].to_bits() || one[at].is_nan() && many[at].is_nan();
            assert!(same, "{value} of {pair:?} is {} by vectors, not {}", many[at], one[at]);
        }
    }
}
