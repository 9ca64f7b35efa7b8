//! What must hold for a configuration, written once: as a test, and as the text of an assertion in its generated code.

/// The range of every size of a configuration. Products of three sizes are far from the end of 64 bits, and what a condition
/// that holds computes fits an `int` of C.
pub(crate) const SIZES: std::ops::RangeInclusive<i64> = 1..=1 << 14;

/// A condition that a configuration of a family keeps or does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Condition {
    /// A C identifier, the same in every configuration that has this condition.
    pub name: &'static str,
    /// The condition as an expression over [`Family::parameters`](super::Family::parameters), which is both Rust and C.
    pub text: &'static str,
    /// Why it must hold, as a clause without quotation marks.
    pub why: &'static str,
    /// Whether it holds. No condition holds if a size is outside of 1 to 16384.
    pub holds: bool,
}
