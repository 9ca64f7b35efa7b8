//! Random parameters of the family blocked.

use std::collections::BTreeMap;

use dietcode_core::ir::{Block, Name};
use dietcode_core::sketch::{Blocked, Stage};
use dietcode_syntax::Role;
use rand::RngExt;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;

/// A random micro-kernel that may be valid for a nest.
pub(crate) fn random(rng: &mut StdRng, block: &Block) -> Blocked {
    let spatial: Vec<&Name> = block.iters_of(Role::Spatial).map(|iter| &iter.name).collect();
    let reduce: Vec<&Name> = block.iters_of(Role::Reduce).map(|iter| &iter.name).collect();
    let mut sizes = |names: &[&Name], from: &[i64], often: f64| -> BTreeMap<String, i64> {
        let named: Vec<&&Name> = names.iter().filter(|_| rng.random_bool(often)).collect();
        named.into_iter().map(|name| (name.to_string(), *from.choose(rng).expect("sizes"))).collect()
    };
    let staged = rng_bool(&mut sizes, &reduce);
    let mut blocked = Blocked {
        thread: sizes(&spatial, &[2, 3, 4, 8, 16], 0.8),
        vthread: sizes(&spatial, &[2, 3], 0.3),
        inner: sizes(&spatial, &[1, 2, 3, 4], 0.6),
        reduce: if staged { sizes(&reduce, &[1, 2, 3, 4, 8], 1.0) } else { BTreeMap::new() },
        ..Blocked::default()
    };
    if !reduce.is_empty() && rng.random_bool(0.25) {
        let name = reduce.choose(rng).expect("a reduction");
        blocked.split = BTreeMap::from([(name.to_string(), rng.random_range(2..=4))]);
        (blocked.atomic, blocked.ranges) = (rng.random_bool(0.4), rng.random_bool(0.5));
    } else if !reduce.is_empty() && rng.random_bool(0.25) {
        (blocked.stream, blocked.waves) = (rng.random_range(2..=9), *[1, 2, 1024].choose(rng).expect("waves"));
    }
    if staged {
        for (buffer, _) in block.update_reads() {
            let lanes = *[1, 1, 2, 4].choose(rng).expect("widths");
            if rng.random_bool(0.3) {
                blocked.load.insert(buffer.name.to_string(), lanes);
                continue;
            }
            let vector = lanes;
            let stage =
                Stage { vector, pad: rng.random_range(0..=4), swizzle: 0, reduce_outside: rng.random_bool(0.5) };
            blocked.stage.insert(buffer.name.to_string(), stage);
        }
        match rng.random_range(0..4) {
            0 => blocked.stages = 2,
            1 => (blocked.stages, blocked.asynchronous) = (rng.random_range(2..=4), true),
            _ => {}
        }
        if blocked.stages > 1 {
            blocked.fragments = rng.random_range(1..=2);
        }
    }
    if spatial.len() > 1 && rng.random_bool(0.3) {
        let pair: Vec<String> = spatial.sample(rng, 2).map(|name| name.to_string()).collect();
        blocked.raster = pair.into_iter().map(|name| (name, rng.random_range(1..=3))).collect();
    }
    blocked.persistent = rng.random_bool(0.2);
    blocked.partition = rng.random_bool(0.4);
    blocked.store = *[1, 2, 4].choose(rng).expect("widths");
    blocked.stage_store = rng.random_bool(0.3);
    blocked
}

/// Whether the inputs are staged: mostly, where something is summed.
fn rng_bool(sizes: &mut impl FnMut(&[&Name], &[i64], f64) -> BTreeMap<String, i64>, reduce: &[&Name]) -> bool {
    !reduce.is_empty() && !sizes(&reduce[..1], &[1], 0.8).is_empty()
}
