//! Declared constants are their values: in types, ranges, indices and elements.

use dietcode_syntax::{ConstantValue, KernelDef, constants, scan};

fn def(attribute: &str, rest: &str) -> KernelDef {
    let source = format!("#[dynamic_kernel{attribute}] fn f{rest}");
    let found = scan(&source).expect("it is Rust");
    found[0].parse().unwrap_or_else(|errors| panic!("{errors}\nin {source}"))
}

const NEST: &str = "(x: &[[f32; K]; M], w: &[f32; K + 1], y: &mut [f32; M]) {
    for i in 0..M {
        let last = K - 1;
        for k in 0..K { y[i] += (x[i][last - k] + EPS) * w[k + K - 3] / K as f32; }
    }
}";

#[test]
fn a_constant_is_its_value() {
    let declared = def("(consts(K = 4, EPS = 1e-5))", NEST);
    let written = NEST.replace("EPS", "1e-5").replace("K as f32", "4.0").replace('K', "4");
    let written = def("", &written);
    assert_eq!(declared, written);
    assert_eq!(declared.source_hash(), written.source_hash());
    let vars: Vec<&str> = declared.shape_vars.iter().map(|var| &*var.name).collect();
    assert_eq!(vars, ["M"]);
    assert!(declared.to_string().contains("x: &[[f32; 4]; M], w: &[f32; 5]"), "{declared}");
}

#[test]
fn a_constant_may_serve_another_one_alone() {
    assert_eq!(def("(consts(H = 2, K = 2 * H, EPS = 1e-5))", NEST), def("(consts(K = 4, EPS = 1e-5))", NEST));
}

#[test]
fn a_constant_is_an_exponent() {
    let nest = |exponent: &str| {
        format!(
            "(x: &[f32; M], y: &mut [f32; M]) {{ for i in 0..M {{ y[i] = x[i].powi({exponent}) + x[i].powi(-({exponent})); }} }}"
        )
    };
    assert_eq!(def("(consts(P = 2))", &nest("P")), def("", &nest("2")));
    let source = format!("#[dynamic_kernel(consts(P = 2.0))] fn f{}", nest("P"));
    let error = scan(&source).expect("it is Rust")[0].parse().unwrap_err().to_string();
    assert!(error.contains("found the exponent `P`"), "{error}");
}

#[test]
fn an_extent_computed_from_constants_is_to_be_declared() {
    for extent in ["K / 2", "(K / 2)", "{ K }", "K % 3", "1 << K"] {
        let source = format!(
            "#[dynamic_kernel(consts(K = 4))] fn f(x: &[f32; {extent}], y: &mut [f32; M]) {{ for i in 0..M {{ y[i] = x[0]; }} }}"
        );
        let error = scan(&source).expect("it is Rust")[0].parse().unwrap_err().to_string();
        assert!(error.contains("declare its value, `#[dynamic_kernel(consts(HALF = 384))]`"), "{error}");
    }
    let halved = "(x: &[f32; HALF], y: &mut [f32; M]) { for i in 0..M { y[i] = x[0]; } }";
    assert_eq!(def("(consts(HALF = 384))", halved), def("", &halved.replace("HALF", "384")));
}

#[test]
fn the_hash_depends_on_the_values() {
    let hashes = ["(consts(K = 4, EPS = 1e-5))", "(consts(K = 3, EPS = 1e-5))", "(consts(K = 4, EPS = 1e-6))"]
        .map(|attribute| def(attribute, NEST).source_hash());
    assert!(hashes[0] != hashes[1] && hashes[0] != hashes[2] && hashes[1] != hashes[2], "{hashes:?}");
}

#[test]
fn they_stand_beside_the_config_in_any_order() {
    let one = def("(config = \"a.json\", consts(K = 4, EPS = 1e-5))", NEST);
    let other = def("(consts(EPS = 1e-5, K = 4,), config = \"a.json\",)", NEST);
    assert_eq!(one, other);
    assert_eq!(one.config.as_deref(), Some("a.json"));
}

#[test]
fn values_are_literals_and_integers_made_of_those_before() {
    let args =
        "consts(H = 12, K = (H * 64) - 0x10, Z = 0, A = 1., B = -2.5e-3, C = 3f32, D = 0.1f32, E = 1_000, F = -0.0)";
    let found: Vec<ConstantValue> =
        constants(args.parse().unwrap(), dietcode_syntax::DType::F32).into_iter().map(|c| c.value).collect();
    let float = |value: f32, text: &str| ConstantValue::Float(f64::from(value), text.to_string());
    let integer = ConstantValue::Integer;
    assert_eq!(
        found,
        [
            integer(12),
            integer(752),
            integer(0),
            float(1.0, "1."),
            float(-2.5e-3, "-2.5e-3"),
            float(3.0, "3.0"),
            float(0.1, "0.1"),
            integer(1000),
            float(-0.0, "-0.0"),
        ]
    );
}
