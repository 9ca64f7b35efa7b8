//! Which configurations serve which nests.

use dietcode_core::sketch::Family;
use dietcode_syntax::KernelDef;

/// Whether a family is for batches that lie as this nest's do.
pub(crate) fn fits_layout(family: &Family, def: &KernelDef) -> bool {
    family.family() != "non_local_interleaved" || def.name.ends_with("_interleaved")
}

/// The micro-kernel, or none if it is right that there is none: an interleaved family on batches that are not, and what a
/// device has no room for. Everything else serves every nest.
pub(crate) fn or_served<M>(family: &Family, def: &KernelDef, served: Result<M, String>) -> Option<M> {
    match served {
        Ok(micro_kernel) => {
            assert!(fits_layout(family, def), "`{}` serves `{}`", family.name(), def.name);
            Some(micro_kernel)
        }
        Err(why) => {
            let layout = why.starts_with("not interleaved") && !fits_layout(family, def);
            let room = ["registers", "shared memory", "second-level cache"];
            let room = why.contains("is over the limits") && room.iter().any(|limit| why.contains(limit));
            assert!(layout || room, "`{}` on `{}`: {why}", family.name(), def.name);
            None
        }
    }
}
