//! Tries every configuration of the built-in set on the four transpositions in turn, and says which are best.

use std::process::ExitCode;

use dietcode::benchmark::{self, NN, NT, Program, TN, TT};
use dietcode::configurations::SET;

static PROGRAM: Program = Program { name: "tune_all", products: &[NN, NT, TN, TT], set: &SET };

fn main() -> ExitCode {
    benchmark::main(&PROGRAM)
}
