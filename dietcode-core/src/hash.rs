//! Hashes of several parts, by which what was made of them is found again.

/// A hash of parts in their order, in hexadecimal digits.
pub fn hash_of<P: AsRef<[u8]>>(parts: impl IntoIterator<Item = P>) -> String {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        // The length keeps `ab` + `c` apart from `a` + `bc`.
        let part = part.as_ref();
        hasher.update(&(part.len() as u64).to_le_bytes()).update(part);
    }
    hasher.finalize().to_hex().to_string()
}
