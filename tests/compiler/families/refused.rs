//! Which configurations serve which nests.

use dietcode_core::sketch::Family;
use dietcode_syntax::KernelDef;

/// The micro-kernel, or none if it is right that there is none: an interleaved family on batches that are not, and what a
/// device has no room for. Everything else serves every nest.
pub(crate) fn or_served<M>(family: &Family, def: &KernelDef, served: Result<M, String>) -> Option<M> {
    let interleaved = def.name.ends_with("_interleaved");
    match served {
        Ok(micro_kernel) => {
            let alien = family.family() == "non_local_interleaved" && !interleaved;
            assert!(!alien, "`{}` serves `{}`", family.name(), def.name);
            Some(micro_kernel)
        }
        Err(why) => {
            let layout = why.starts_with("not interleaved") && !interleaved;
            let room = ["registers for it", "of shared memory, a block has", "the second-level cache has"];
            let room = room.iter().any(|text| why.contains(text));
            assert!(layout || room, "`{}` on `{}`: {why}", family.name(), def.name);
            None
        }
    }
}
