//! Per-store features: 164 numbers for each buffer that is stored to.
//!
//! Source: L. Zheng et al., "Ansor", OSDI 2020, appendix B; TVM's `PerStoreFeature`
//! (`src/meta_schedule/feature_extractor/per_store_feature.cc`), whose definitions these are, with five buffers of a store, ten points of
//! the curve of arithmetic intensity and cache lines of 64 bytes. A file for each group:
//!
//! ```text
//! 57  computation   operations by kind; loops that are vectors, unrolled, parallel; lengths over blocks and threads
//! 90  access        five buffers: bytes, cache lines, reuse, stride
//! 10  intensity     operations per byte, over the loops from the innermost outwards
//!  7  allocation    size and place of the buffer, and what is around the store
//! ```
//!
//! Numbers that count are log2(1 + x); what says which of several is 0 or 1. A store of a constant has no features, and the last
//! store to a buffer has those of the buffer.

mod access;
mod allocation;
mod computation;
mod intensity;

use super::tree::{Store, Tree};
use crate::ir::ForKind;
use access::Touched;

/// How many features a stored buffer has.
pub const COUNT: usize = 164;

/// Their names, in order.
pub fn names() -> Vec<String> {
    let mut names = computation::names();
    names.extend(access::names());
    names.extend(intensity::names());
    names.extend(allocation::NAMES.map(String::from));
    names
}

/// A row for each stored buffer, in the order of the first store to it.
pub(super) fn rows(tree: &Tree) -> Vec<(usize, [f32; COUNT])> {
    let is_gpu = tree.loops.iter().any(|this| matches!(this.kind, ForKind::BlockIdx | ForKind::ThreadIdx));
    let mut touched = Touched::new(tree);
    let stores = || tree.stores.iter().filter(|store| !store.constant && !store.accesses.is_empty());
    let mut last: Vec<usize> = vec![0; tree.buffers.len()];
    stores().enumerate().for_each(|(at, store)| last[store.accesses[0].buffer] = at);
    let mut rows: Vec<(usize, [f32; COUNT])> = Vec::new();
    for (at, store) in stores().enumerate() {
        let around = Around::of(tree, store);
        let buffer = store.accesses[0].buffer;
        let regions = touched.regions(&around);
        let row = rows.iter().position(|(known, _)| *known == buffer).unwrap_or_else(|| {
            rows.push((buffer, [0.0; COUNT]));
            rows.len() - 1
        });
        if last[buffer] > at {
            continue;
        }
        let mut features = Row { values: [0.0; COUNT], next: 0 };
        computation::features(&around, is_gpu, &mut features);
        access::features(&around, &regions, &touched, &mut features);
        intensity::features(&around, &regions.bytes, &mut features);
        allocation::features(&around, &mut features);
        debug_assert_eq!(features.next, COUNT, "each group adds as many as it has names");
        rows[row].1 = features.values;
    }
    rows
}

/// A store and the loops around it.
struct Around<'a> {
    tree: &'a Tree,
    store: &'a Store,
    /// Iterations of all of them.
    product: f64,
}

impl<'a> Around<'a> {
    fn of(tree: &'a Tree, store: &'a Store) -> Around<'a> {
        let product = store.path.iter().map(|at| tree.loops[*at].extent as f64).product();
        Around { tree, store, product }
    }

    /// The lengths of its loops of a kind, the outermost first.
    fn extents(&self, kind: ForKind) -> impl Iterator<Item = i64> {
        self.store.path.iter().map(|at| &self.tree.loops[*at]).filter(move |l| l.kind == kind).map(|l| l.extent)
    }
}

/// The features of a store, as far as they are known.
struct Row {
    values: [f32; COUNT],
    next: usize,
}

impl Row {
    /// A number as it is.
    fn plain(&mut self, x: f64) {
        self.values[self.next] = x as f32;
        self.next += 1;
    }

    /// log2(1 + |x|).
    fn log(&mut self, x: f64) {
        self.plain((1.0 + x.abs()).log2());
    }

    /// A 1 at a place of so many.
    fn one_hot(&mut self, at: usize, of: usize) {
        (0..of).for_each(|place| self.plain(f64::from(place == at)));
    }

    fn skip(&mut self, count: usize) {
        self.next += count;
    }
}
