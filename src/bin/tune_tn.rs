//! Tries every configuration of the built-in set on C = α · Aᵀ · B + β · C, and says which is best.

use std::process::ExitCode;

use dietcode::benchmark::{self, Program, TN};
use dietcode::configurations::SET;

static PROGRAM: Program = Program { name: "tune_tn", products: &[TN], set: &SET };

fn main() -> ExitCode {
    benchmark::main(&PROGRAM)
}
