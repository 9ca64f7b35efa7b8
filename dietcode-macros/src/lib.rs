//! The `#[dynamic_kernel]` attribute.
