//! Tries every configuration of the built-in set on C = α · Aᵀ · Bᵀ + β · C, and says which is best.

use std::process::ExitCode;

use dietcode::benchmark::{self, Program, TT};
use dietcode::configurations::SET;

static PROGRAM: Program = Program { name: "tune_tt", products: &[TT], set: &SET };

fn main() -> ExitCode {
    benchmark::main(&PROGRAM)
}
