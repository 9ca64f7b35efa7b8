//! What a user reads who writes something that is not a kernel: one file per kind of error, the message beside it.
//!
//! `TRYBUILD=overwrite cargo test -p dietcode-macros --test ui` blesses the messages; read them before committing.

#[test]
fn ui() {
    trybuild::TestCases::new().compile_fail("../tests/ui/*.rs");
}
