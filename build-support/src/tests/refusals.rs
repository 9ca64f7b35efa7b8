//! What is an error, and where it is said to be.

use super::package::{OUTER, Package, SUM, SUM_CONFIG};

/// The errors of a package that cannot be built; none of them leaves a file.
fn errors(package: &Package) -> Vec<String> {
    let errors = package.build().unwrap_err();
    assert!(package.generated().is_empty(), "{:#?}", package.generated().keys());
    errors
}

fn assert_says(text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "`{word}` in: {text}");
    }
}

#[test]
fn all_that_is_wrong_with_all_nests_is_told_at_once() {
    let wrong = OUTER.replace("a[i] * b[j]", "a[i * i] * c[j]");
    let errors = errors(&Package::new(&[SUM, &wrong].concat()));
    assert_eq!(errors.len(), 2, "{errors:#?}");
    assert_says(&errors[0], &["ops.rs:17:25: ", "i * i"]);
    assert_says(&errors[1], &["ops.rs:17:", "c"]);
}

#[test]
fn what_is_not_rust_has_a_place() {
    assert_says(&errors(&Package::new("fn f( {"))[0], &["ops.rs:1:"]);
}

#[test]
fn two_kernels_of_one_name_are_told_apart_by_place() {
    for second in [OUTER.to_owned(), OUTER.replace("fn outer", "fn Outer")] {
        let errors = errors(&Package::new(&[OUTER, &second].concat()));
        assert_eq!(errors.len(), 1, "{errors:#?}");
        assert_says(&errors[0], &["ops.rs:12:8", "ops.rs:3:8", "`outer`"]);
    }
}

#[test]
fn two_kernels_of_one_name_in_two_modules_are_told_apart_by_place() {
    let package = Package::new(&["mod more;\nmod inner {\n", OUTER, "}\n"].concat());
    package.write("ops/more.rs", OUTER);
    let errors = errors(&package);
    assert_eq!(errors.len(), 1, "{errors:#?}");
    assert_says(&errors[0], &["ops/more.rs:3:8", "ops.rs:5:8", "`outer`"]);
}

#[test]
fn a_source_that_is_not_there_is_named() {
    let errors = Package::new(SUM).build_of(&["opps.rs"]).unwrap_err();
    assert_says(&errors[0], &["opps.rs", "cannot be read"]);
}

#[test]
fn a_config_that_is_not_there_or_broken_is_told_at_its_string() {
    let mut package = Package::new(&SUM.replace("sum.json", "summe.json"));
    assert_says(&errors(&package)[0], &["ops.rs:2:27: ", "configs/summe.json"]);
    package.write("configs/summe.json", "{ \"kernel\": ");
    assert_says(&errors(&package)[0], &["ops.rs:2:27: ", "summe.json:1:"]);
    package.write("configs/summe.json", SUM_CONFIG.replace("\"sum\"", "\"dense\""));
    assert_says(&errors(&package)[0], &["ops.rs:2:27: ", "`dense`"]);
    // A code checker is told too: reading a config needs no compiler.
    package.skip_native = true;
    assert_says(&errors(&package)[0], &["ops.rs:2:27: ", "`dense`"]);
    let spread = SUM.replace("(config = ", "(\n    config\n        = ").replace("sum.json", "none.json");
    package.write("ops.rs", spread);
    assert_says(&errors(&package)[0], &["ops.rs:4:11: ", "none.json"]);
}

#[test]
fn a_config_of_something_else_is_refused() {
    for (wrong, words) in [
        (SUM_CONFIG.replace("\"sum\"", "\"dense\""), ["`dense`", "`sum`"]),
        (SUM_CONFIG.replace("\"N\"", "\"K\""), ["`K`", "M, N"]),
        (SUM_CONFIG.replace("{ \"M\": \"16*T\", \"N\": 768 }", "{ \"M\": \"16*T\" }"), ["`N`", "shape"]),
        (SUM_CONFIG.replace("wkl_insts", "wkl_inst"), ["sum.json:4:3", "wkl_insts"]),
    ] {
        let package = Package::new(SUM);
        package.write("configs/sum.json", wrong);
        assert_says(&errors(&package)[0], &words);
    }
}

#[test]
fn an_architecture_that_the_compiler_does_not_know_is_named() {
    let package = Package::new(SUM);
    let march = "\"targets\": { \"cpu\": { \"march\": \"pentium-nine\" } }, \"wkl_insts\"";
    package.write("configs/sum.json", SUM_CONFIG.replace("\"wkl_insts\"", march));
    assert_says(&errors(&package)[0], &["pentium-nine"]);
}
