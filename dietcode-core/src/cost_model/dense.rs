//! The nest that the tests of the models count.

pub(super) const DENSE: &str = include_str!("../../../tests/nests/dense.rs");
