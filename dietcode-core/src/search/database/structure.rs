//! The hash of a structure as hexadecimal digits.

use serde::{Deserialize, Deserializer, Serializer};

use super::Structure;

pub(super) fn serialize<S: Serializer>(structure: &Option<Structure>, serializer: S) -> Result<S::Ok, S::Error> {
    match structure {
        Some(bytes) => serializer.serialize_str(&blake3::Hash::from_bytes(*bytes).to_hex()),
        None => serializer.serialize_none(),
    }
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Structure>, D::Error> {
    let digits = Option::<String>::deserialize(deserializer)?;
    let bytes = |digits: String| blake3::Hash::from_hex(digits).map(Into::into).map_err(serde::de::Error::custom);
    digits.map(bytes).transpose()
}
