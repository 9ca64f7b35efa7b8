//! Names of micro-kernels: they are files and symbols.

use serde::Serialize;

/// The longest name; longer ones are cut and end in a hash.
pub(super) const MAX_NAME: usize = 128;

/// A C identifier for parameters: their plain name if that reads in one way only and is not too long, else its beginning
/// and a hash of the parameters.
pub(super) fn identifier(parameters: &impl Serialize, plain: &str, reads_one_way: bool) -> String {
    if reads_one_way && plain.len() <= MAX_NAME {
        return plain.to_owned();
    }
    let json = serde_json::to_vec(parameters).unwrap_or_default();
    let hash = blake3::hash(&json).to_hex();
    let readable = plain.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' });
    let start: String = readable.take(MAX_NAME - 18).collect();
    format!("{start}_0{}", &hash[..16])
}
