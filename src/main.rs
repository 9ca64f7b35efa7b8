//! The dietcode command.
fn main() {}
