//! From scheduled programs to source text.
pub mod c;
pub mod cuda;
mod printer;
pub mod reference;
pub mod registry;
pub mod set;

/// One micro-kernel's source file and what the registry says about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TranslationUnit {
    /// The micro-kernel's name: its schedule's, a C identifier.
    pub name: String,
    /// C symbol of the function that counts parallel tiles.
    pub grid_symbol: String,
    /// C symbol of the function that carries out tiles.
    pub run_symbol: String,
    /// Scratch bytes that a thread needs while it runs tiles.
    pub scratch_bytes: i64,
    /// The source text; it includes `dietcode.h`.
    pub source: String,
}

/// The header that every generated C file includes; it is written beside them as `dietcode.h`.
pub const DIETCODE_H: &str = concat!(include_str!("dietcode.h"), "\n", include_str!("dietcode_half.h"));
