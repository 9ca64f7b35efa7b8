//! What the front end accepts is what the program computes; what only the compiler can tell is told.

use super::package::Package;

/// The nests, and a program that tries them.
fn nests() -> Package {
    let package = Package::new();
    package.write("src/ops.rs", include_str!("nests/ops.rs"));
    package.write("src/main.rs", include_str!("nests/main.rs"));
    package
}

#[test]
fn nests_mean_what_they_say() {
    let run = nests().cargo(&["run"]);
    assert!(run.succeeded && run.text.contains("all nests are right"), "{}", run.text);
    // One warning, at the loop whose iterations compute the same sum again.
    let said = "warning: use of deprecated constant `ops::warned::sum_computed_again`: the sum over `e` does not depend on `d`, \
                and each of the D iterations of this loop computes it again; write two kernels, one that stores the sums, \
                and one that reads them";
    assert_eq!(run.text.matches("computes it again").count(), 1, "{}", run.text);
    assert!(run.text.contains(said), "{}", run.text);
    assert!(run.text.contains("|         for d in 0..D {"), "{}", run.text);
}

#[test]
fn constants_that_are_not_what_the_attribute_says_are_errors() {
    let package = nests();
    package.replace("src/ops.rs", "pub const K: usize = 4;", "pub const K: usize = 5;");
    package.replace("src/ops.rs", "const EPS: f32 = 1e-5;", "const EPS: f32 = 1e-6;");
    package.replace("src/ops.rs", "pub fn stencil(", "pub fn stencil(s: &[f32; LAST], ");
    let build = package.cargo(&["build"]);
    assert!(!build.succeeded, "{}", build.text);
    for sentence in [
        "the constant `K` is 4 in `consts(…)`, but the item `K` beside the kernel is 5: write the item's value in the attribute",
        "the constant `EPS` is 1e-5 in `consts(…)`, but the item `EPS` beside the kernel is 1e-6: write",
        "`LAST` is a constant beside the kernel, but the kernel takes it for a shape variable",
    ] {
        assert!(build.text.contains(sentence), "{sentence} in {}", build.text);
    }
}
