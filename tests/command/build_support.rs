//! Cargo itself, on a copy of `examples/dense` with a second kernel: what is compiled when.
mod emitted;
mod nests;
pub(crate) mod package;
mod places;
mod set;

use package::Package;

/// One story, since each chapter starts from the build that the last one left.
#[test]
fn cargo_builds_what_changed_and_nothing_else() {
    let package = Package::new();

    let built = package.cargo(&["build"]);
    assert!(built.succeeded, "{}", built.text);
    let first = built.compiled;
    assert_eq!(kernels(&first), ["dense", "row_sum"], "{first:?}");
    let untuned = "`dense`, `row_sum` run default micro-kernels, as nothing is tuned yet: run `dietcode tune \
                   configs/bert_dense.json`, and `dietcode tune --kernel src/ops.rs:row_sum --wkl M=…,N=…` makes a config";
    assert_eq!(built.text.matches(untuned).count(), 1, "{}", built.text);

    let again = package.cargo(&["build"]);
    assert!(again.compiled.is_empty(), "{:?}", again.compiled);
    assert!(!again.text.contains("Compiling"), "{}", again.text);

    package.touch("configs/bert_dense.json");
    let touched = package.cargo(&["build"]);
    assert!(touched.compiled.is_empty(), "its text is the same: {:?}", touched.compiled);

    package.replace("configs/bert_dense.json", "\"cpu\": {", "\"cpu\": { \"march\": \"x86-64-v3\",");
    let changed = package.cargo(&["build"]);
    assert_eq!(kernels(&changed.compiled), ["dense"], "{:?}", changed.compiled);

    package.write("configs/bert_dense.cpu.tuned.json", "{}");
    let tuned = package.cargo(&["build"]);
    assert!(tuned.text.contains("bert_dense.cpu.tuned.json: it cannot be read"), "it is noticed: {}", tuned.text);
    assert!(tuned.compiled.is_empty(), "{:?}", tuned.compiled);

    let run = package.cargo(&["run"]);
    assert!(run.succeeded && run.text.contains("as the reference says"), "{}", run.text);

    package.replace("src/ops.rs", "bert_dense.json", "dense.json");
    let missing = package.cargo(&["build"]);
    let place = "error: dense@0.1.0: src/ops.rs:6:27: its config is no good";
    assert!(!missing.succeeded && missing.text.contains(place), "{}", missing.text);

    package.replace("src/ops.rs", "\"configs/dense.json", "\"configs/bert_dense.json");
    package.replace("src/ops.rs", "acc += x[i][k]", "acc += x[i][k * k]");
    let wrong = package.cargo(&["build"]);
    assert!(!wrong.succeeded && wrong.text.contains("error: dense@0.1.0: src/ops.rs:12:"), "{}", wrong.text);
    assert!(!wrong.text.contains("panicked"), "{}", wrong.text);
}

#[test]
fn a_check_without_native_code_needs_no_compiler() {
    let package = Package::new();
    let checked = package.cargo_with(&["check"], &[("DIETCODE_SKIP_NATIVE", "1"), ("REFUSE", "1")]);
    assert!(checked.succeeded, "{}", checked.text);
    let run = package.cargo_with(&["run"], &[("DIETCODE_SKIP_NATIVE", "1"), ("REFUSE", "1")]);
    assert!(!run.succeeded && run.text.contains("DIETCODE_SKIP_NATIVE"), "{}", run.text);
    assert!(!run.text.contains("panicked"), "{}", run.text);
}

#[test]
fn a_compiler_that_does_not_work_is_an_error_that_says_what_to_do() {
    let package = Package::new();
    let built = package.cargo_with(&["build"], &[("REFUSE", "1")]);
    assert!(!built.succeeded && built.text.contains("install gcc"), "{}", built.text);
    assert!(!built.text.contains("panicked"), "{}", built.text);
}

/// The kernels whose C files were compiled, each once.
fn kernels(compiled: &[String]) -> Vec<&str> {
    let mut kernels: Vec<&str> = compiled.iter().filter_map(|line| line.split('/').next_back()).collect();
    kernels.sort_unstable();
    kernels.dedup();
    kernels
}
