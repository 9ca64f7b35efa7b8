//! What a build.rs calls.
