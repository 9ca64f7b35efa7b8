//! Configurations as text: from a set's table, and to a line that can be pasted into a set file.

use dietcode_core::config::KernelSet;
use dietcode_core::sketch::Family;
use dietcode_core::{Error, Result};

/// The one configuration that a generator of the set's table stands for.
pub(super) fn family(parameters: &str) -> Result<Family> {
    let set = KernelSet::parse("the set that was built in", parameters)?;
    let broken = || Error::failed(format!("found more than one configuration in {parameters}"));
    let mut families = set.families()?.into_iter();
    families.next().filter(|_| families.len() == 0).ok_or_else(broken)
}

/// The line for a set file.
pub(super) fn line(family: &Family) -> String {
    family.generator().to_string()
}
