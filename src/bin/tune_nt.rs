//! Tries every configuration of the built-in set on C = α · A · Bᵀ + β · C, and says which is best.

use std::process::ExitCode;

use dietcode::benchmark::{self, NT, Program};
use dietcode::configurations::SET;

static PROGRAM: Program = Program { name: "tune_nt", products: &[NT], set: &SET };

fn main() -> ExitCode {
    benchmark::main(&PROGRAM)
}
