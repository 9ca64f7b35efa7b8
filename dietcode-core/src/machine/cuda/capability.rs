//! The version of a device's instruction set and of its multiprocessors, written as nvcc writes it: `sm_80`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::DEVICES;
use crate::{Error, Result};

/// A compute capability. Newer ones compare greater.
///
/// Text is `sm_80` for 8.0, and only the capabilities of [`DEVICES`] are read from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ComputeCapability {
    /// The generation.
    pub major: u32,
    /// The variant within it.
    pub minor: u32,
}

impl ComputeCapability {
    /// The oldest that is known.
    pub const OLDEST: ComputeCapability = ComputeCapability { major: 7, minor: 5 };

    /// What stands behind `sm_` and `compute_` on nvcc's command line: `80` for 8.0.
    pub fn number(self) -> u32 {
        10 * self.major + self.minor
    }

    /// That of a name as nvcc writes it, also one that is not known.
    pub(super) fn named(text: &str) -> Option<ComputeCapability> {
        let number: u32 = text.strip_prefix("sm_")?.parse().ok()?;
        Some(ComputeCapability { major: number / 10, minor: number % 10 }).filter(|read| read.to_string() == text)
    }

    /// All that are known, oldest first, as a person would list them.
    pub fn known() -> String {
        let names: Vec<String> = DEVICES.iter().map(|device| device.capability.to_string()).collect();
        names.join(", ")
    }
}

impl FromStr for ComputeCapability {
    type Err = Error;

    fn from_str(text: &str) -> Result<ComputeCapability> {
        let is_known = |named: &ComputeCapability| DEVICES.iter().any(|device| device.capability == *named);
        ComputeCapability::named(text).filter(is_known).ok_or_else(|| {
            Error::input(format!("`{text:.40}` is not a known CUDA device: expected one of {}", Self::known()))
        })
    }
}

impl fmt::Display for ComputeCapability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sm_{}{}", self.major, self.minor)
    }
}

impl TryFrom<String> for ComputeCapability {
    type Error = Error;

    fn try_from(text: String) -> Result<ComputeCapability> {
        text.parse()
    }
}

impl From<ComputeCapability> for String {
    fn from(capability: ComputeCapability) -> String {
        capability.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_known_device_is_read_back_from_its_text() {
        for device in DEVICES {
            let capability = device.capability;
            assert_eq!(capability.to_string().parse::<ComputeCapability>().unwrap(), capability);
            assert_eq!(capability.to_string(), format!("sm_{}", capability.number()));
            let json = serde_json::to_string(&capability).unwrap();
            assert_eq!(serde_json::from_str::<ComputeCapability>(&json).unwrap(), capability);
        }
    }

    #[test]
    fn what_is_malformed_or_unknown_lists_what_is_known() {
        for text in [
            "",
            "80",
            "sm80",
            "SM_80",
            "sm_8",
            "sm_080",
            "sm_80 ",
            "sm_12",
            "sm_90a",
            "sm_99999999999",
            "sm_-1",
            "sm_٨٠",
        ] {
            let error = text.parse::<ComputeCapability>().unwrap_err().to_string();
            assert!(error.contains("sm_75, sm_80, sm_86, sm_89, sm_90, sm_100"), "{error}");
            assert!(error.contains(&format!("`{text}`")), "{error}");
        }
    }

    #[test]
    fn newer_devices_compare_greater() {
        assert!(DEVICES.is_sorted_by_key(|device| device.capability));
        let [turing, blackwell] = ["sm_75", "sm_100"].map(|text| text.parse::<ComputeCapability>().unwrap());
        assert!(turing < blackwell);
    }
}
