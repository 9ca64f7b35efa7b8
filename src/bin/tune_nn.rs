//! Tries every configuration of the built-in set on C = α · A · B + β · C, and says which is best.

use std::process::ExitCode;

use dietcode::benchmark::{self, NN, Program};
use dietcode::configurations::SET;

static PROGRAM: Program = Program { name: "tune_nn", products: &[NN], set: &SET };

fn main() -> ExitCode {
    benchmark::main(&PROGRAM)
}
