//! Functions that are too deep or too large are refused before some stage runs out of stack or memory.

use dietcode_syntax::scan;

fn refused(value: &str, lets: &str) -> String {
    let source = format!(
        "#[dynamic_kernel] fn f(x: &[f32; M], y: &mut [f32; M]) {{ for i in 0..M {{ {lets} y[i] = {value}; }} }}"
    );
    let errors = scan(&source).expect("it is Rust")[0].parse().expect_err("it is refused");
    errors.iter().map(|(_, _, sentence)| sentence).next().expect("an error has a sentence")
}

/// The stack that macros and build scripts run on: that of a process's first thread, and rustc's. Its own tests' threads have a
/// quarter of it, of which syn, where nobody optimises it, takes all at 200 levels.
const STACK: usize = 8 << 20;

#[test]
fn depth() {
    std::thread::Builder::new()
        .stack_size(STACK)
        .spawn(depths)
        .expect("a thread starts")
        .join()
        .expect("all is refused");
}

fn depths() {
    let deep = "nested deeper than 128 levels";
    assert!(refused(&format!("x[i]{}", " + x[i]".repeat(1000)), "").contains(deep));
    assert!(refused(&format!("{}x[i]{}", "-(".repeat(100), ")".repeat(100)), "").contains(deep));
    assert!(refused(&format!("x[{}i{}]", "(".repeat(200), ")".repeat(200)), "").contains(deep));
    let branches = format!("{}x[i]{}", "if x[i] < ".repeat(130), " { 1.0 } else { 2.0 }".repeat(130));
    assert!(refused(&branches, "").contains(deep));
}

#[test]
fn size_that_temporaries_add_and_multiply_to() {
    for value in ["-a#", "a# * a#"] {
        let lets = |n: usize| format!("let a{} = {};", n + 1, value.replace('#', &n.to_string()));
        let lets: String = (0..300).map(lets).collect();
        assert!(refused("a300", &format!("let a0 = x[i]; {lets}")).contains("more than 4096 operations"));
    }
}

#[test]
fn coefficients_that_overflow() {
    let too_large = "a coefficient or constant is larger than 536870912";
    for index in ["99999999999999999999", "536870913 * i", "-536870912 * 2 * i", "i + 536870912 + 1"] {
        assert!(refused(&format!("x[{index}]"), "").contains(too_large), "{index}");
    }
    let lets: String = (0..70).map(|n| format!("let a{} = a{n} + a{n};", n + 1)).collect();
    assert!(refused("x[a70]", &format!("let a0 = i; {lets}")).contains(too_large));
}

#[test]
fn counts_that_the_runtime_holds() {
    let many = |n: usize| (0..n).map(|at| format!("x{at}: &[f32; N{at}], ")).collect::<String>();
    let source = format!("#[dynamic_kernel] fn f({} y: &mut [f32; M]) {{ for i in 0..M {{ y[i] = 0.0; }} }}", many(16));
    let errors = scan(&source).expect("it is Rust")[0].parse().expect_err("it is refused").to_string();
    assert!(
        errors.contains("has 17 parameters; at most 16") && errors.contains("has 17 shape variables; at most 16"),
        "{errors}"
    );
}
