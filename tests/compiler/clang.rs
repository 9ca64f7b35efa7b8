//! What the headers say to clang alone, and what clang makes of the rest: tests of what generated code computes, again in a process that has it
//! for a compiler. All others take the machine's own, which is GCC mostly.

use std::process::Command;

/// Functions and extremes by numbers and by vectors, conversions, integers, and some of the random nests.
const TESTS: [&str; 6] = [
    "functions::functions_are_those_of_rust",
    "functions::extremes_take_nan_infinities_and_zeros_as_they_say",
    "functions::lanes::vectors_are_what_the_nest_is_bit_for_bit",
    "half_conversions::",
    "integers::what_leaves_32_bits_wraps",
    "property::generated_code_equals_the_reference",
];

#[test]
fn what_clang_compiles_computes_what_the_nest_says() {
    let mut tests = Command::new(std::env::current_exe().expect("this program"));
    tests.args(TESTS).env("CC", "clang").env("DIETCODE_CASES", "25");
    let output = tests.output().expect("this program starts");
    let said = String::from_utf8_lossy(&output.stdout);
    let passed = |of: &&str| said.lines().any(|line| line.contains(*of) && line.ends_with("... ok"));
    assert!(output.status.success() && TESTS.iter().all(passed), "{said}");
}
