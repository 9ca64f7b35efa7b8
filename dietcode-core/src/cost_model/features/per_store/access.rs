//! What a store touches of each buffer: group 2 of `per_store_feature.cc`.
//!
//! The five buffers with most cache lines come first, then those with most bytes, then by name. Of each, where `n` are the iterations
//! of all loops, and the region under a loop is the box of all elements that its iterations touch while the loops outside of it stand
//! at their beginning:
//!
//! ```text
//! acc_type        read, written, or both
//! bytes           n · bytes of an element            unique_bytes   of the region under all loops
//! lines           n / (iterations of the loops inside of the first that moves it) · min(1, its stride / line)
//! unique_lines    unique_bytes / min(line, bytes that lie in a row)
//! reuse           of the innermost loop that does not move it (kLoopMultipleRead), or under which stores touched it before
//!                 (kSerialMultipleReadWrite): distance in iterations and bytes, and how often; each of the four above over that
//! stride          of the innermost loop, in elements
//! ```
//!
//! Two habits of TVM are kept, since they are part of the numbers. A remainder counts as its value at the loops' beginning: the analyzer
//! that bounds it keeps what it knew of a loop variable before the loop was opened. A stride is read off the text of an
//! index: of a variable behind which others are multiplied it is the last factor.

use super::super::index::{Atom, Index};
use super::super::tree::{Access, Tree};
use super::{Around, Row};

const BUFFERS: usize = 5;
const LINE: f64 = 64.0;

const NAMES: [&str; 18] = [
    "acc_type.kRead",
    "acc_type.kWrite",
    "acc_type.kReadWrite",
    "bytes",
    "unique_bytes",
    "lines",
    "unique_lines",
    "reuse_type.kLoopMultipleRead",
    "reuse_type.kSerialMultipleReadWrite",
    "reuse_type.kNoReuse",
    "reuse_dis_iter",
    "reuse_dis_bytes",
    "reuse_ct",
    "bytes_d_reuse_ct",
    "unique_bytes_d_reuse_ct",
    "lines_d_reuse_ct",
    "unique_lines_d_reuse_ct",
    "stride",
];

pub(super) fn names() -> Vec<String> {
    (0..BUFFERS).flat_map(|at| NAMES.map(|name| format!("B{at}.{name}"))).collect()
}

/// What the stores so far touched under each loop: of each buffer, by how many stores, the fewest elements, and the sum.
pub(super) struct Touched {
    under: Vec<Vec<Region>>,
}

struct Region {
    buffer: usize,
    stores: i64,
    fewest: f64,
    elements: f64,
}

impl Touched {
    pub(super) fn new(tree: &Tree) -> Touched {
        Touched { under: tree.loops.iter().map(|_| Vec::new()).collect() }
    }

    fn add(&mut self, at: usize, buffer: usize, elements: f64) {
        match self.under[at].iter_mut().find(|region| region.buffer == buffer) {
            Some(region) => {
                region.stores += 1;
                region.fewest = region.fewest.min(elements);
                region.elements += elements;
            }
            None => self.under[at].push(Region { buffer, stores: 1, fewest: elements, elements }),
        }
    }

    fn bytes(&self, at: usize, tree: &Tree) -> f64 {
        self.under[at].iter().map(|region| region.elements * tree.buffers[region.buffer].bytes as f64).sum()
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Reuse {
    LoopMultipleRead,
    SerialMultipleReadWrite,
    None,
}

/// A buffer that the store touches.
struct Use<'a> {
    buffer: usize,
    kind: usize,
    indices: Vec<&'a [Index]>,
    /// Elements under all loops, and along each dimension.
    elements: f64,
    shape: Vec<i64>,
}

const READ: usize = 0;
const WRITE: usize = 1;
const READ_WRITE: usize = 2;

/// What a store touches.
pub(super) struct Regions<'a> {
    uses: Vec<Use<'a>>,
    /// Bytes under each of its loops, the outermost first.
    pub(super) bytes: Vec<f64>,
}

impl Touched {
    /// Adds what a store touches under each of its loops.
    pub(super) fn regions<'a>(&mut self, around: &Around<'a>) -> Regions<'a> {
        let Around { tree, store, .. } = *around;
        let mut uses = uses(&store.accesses, tree);
        let mut bytes = vec![0.0; store.path.len()];
        let mut last = vec![0; tree.loops.len()];
        for (depth, at) in store.path.iter().enumerate().rev() {
            last[*at] = tree.loops[*at].extent - 1;
            for this in &mut uses {
                this.grow(&last);
                bytes[depth] += this.elements * tree.buffers[this.buffer].bytes as f64;
                self.add(*at, this.buffer, this.elements);
            }
        }
        Regions { uses, bytes }
    }
}

pub(super) fn features(around: &Around<'_>, Regions { uses, .. }: &Regions<'_>, touched: &Touched, row: &mut Row) {
    let Around { tree, store, .. } = around;
    let innermost_bytes =
        if store.path.is_empty() { 0.0 } else { uses.iter().map(|this| tree.buffers[this.buffer].bytes as f64).sum() };
    let mut all: Vec<(f64, f64, usize, [f64; 18])> = uses
        .iter()
        .map(|this| {
            let values = this.features(around, touched, innermost_bytes);
            (values[5], values[3], this.buffer, values)
        })
        .collect();
    let name = |buffer: usize| &tree.buffers[buffer].name;
    all.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.total_cmp(&a.1)).then_with(|| name(a.2).cmp(name(b.2))));
    for (_, _, _, values) in all.iter().take(BUFFERS) {
        for (name, value) in NAMES.iter().zip(values) {
            if name.contains("_type.") { row.plain(*value) } else { row.log(*value) }
        }
    }
    row.skip(NAMES.len() * BUFFERS.saturating_sub(all.len()));
}

/// The buffers of a store, each with the indices of its accesses. Of one that is written and read, the index of the write.
fn uses<'a>(accesses: &'a [Access], tree: &Tree) -> Vec<Use<'a>> {
    let mut uses: Vec<Use<'a>> = Vec::with_capacity(accesses.len());
    for (at, access) in accesses.iter().enumerate() {
        match uses.iter_mut().find(|this| this.buffer == access.buffer) {
            Some(this) if this.kind == READ => this.indices.push(&access.index),
            Some(this) => this.kind = READ_WRITE,
            None => {
                let shape = vec![1; tree.buffers[access.buffer].shape.len()];
                let kind = if at == 0 { WRITE } else { READ };
                uses.push(Use { buffer: access.buffer, kind, indices: vec![&access.index], elements: 1.0, shape });
            }
        }
    }
    uses
}

impl Use<'_> {
    /// The region where each loop variable is at most so large.
    fn grow(&mut self, last: &[i64]) {
        self.elements = 1.0;
        for dim in 0..self.shape.len() {
            let of_dim = self.indices.iter().filter_map(|index| index.get(dim)).map(|index| bounds(index, last));
            let (low, high) = of_dim.fold((i64::MAX, i64::MIN), |(low, high), (a, b)| (low.min(a), high.max(b)));
            self.shape[dim] = high.saturating_sub(low).saturating_add(1);
            self.elements *= self.shape[dim] as f64;
        }
        self.elements = self.elements.max(0.0);
    }

    fn features(&self, around: &Around<'_>, touched: &Touched, innermost_bytes: f64) -> [f64; 18] {
        let Around { tree, store, product } = around;
        let path = &store.path;
        let extent = |at: usize| tree.loops[at].extent as f64;
        let buffer = &tree.buffers[self.buffer];
        let element = buffer.bytes as f64;

        // The first loop that moves it, from the innermost outwards, and its stride.
        let strides = buffer.strides();
        let moving = path.iter().rposition(|at| self.stride(&strides, *at) != 0);
        let stride = moving.map_or(0.0, |depth| self.stride(&strides, path[depth]) as f64);
        let still: f64 = path[moving.map_or(0, |depth| depth + 1)..].iter().map(|at| extent(*at)).product();
        let innermost = moving.is_some_and(|depth| depth + 1 == path.len());

        let (kind, distance, distance_bytes, count) = self.reuse(around, touched, innermost_bytes);
        let bytes = product * element;
        let whole = (0..self.shape.len()).rev().find(|dim| self.shape[*dim] == buffer.shape[*dim]);
        let in_a_row = whole.map_or(1.0, |dim| buffer.shape[dim] as f64 * element);
        let [unique_bytes, lines, unique_lines] = if path.is_empty() {
            [1.0; 3]
        } else {
            let unique_bytes = self.elements * element;
            let lines = (product / still * (stride * element / LINE).min(1.0)).max(1.0);
            [unique_bytes, lines, (unique_bytes / LINE.min(in_a_row)).max(1.0)]
        };
        let per_reuse = |x: f64| x / if count > 0.0 { count } else { 0.5 };
        let is = |this: bool| f64::from(u8::from(this));
        [
            is(self.kind == READ),
            is(self.kind == WRITE),
            is(self.kind == READ_WRITE),
            bytes,
            unique_bytes,
            lines,
            unique_lines,
            is(kind == Reuse::LoopMultipleRead),
            is(kind == Reuse::SerialMultipleReadWrite),
            is(kind == Reuse::None),
            distance,
            distance_bytes,
            count,
            per_reuse(bytes),
            per_reuse(unique_bytes),
            per_reuse(lines),
            per_reuse(unique_lines),
            if innermost { stride } else { 0.0 },
        ]
    }

    /// The kind of reuse, its distance in iterations and in bytes, and how often.
    fn reuse(&self, around: &Around<'_>, touched: &Touched, innermost_bytes: f64) -> (Reuse, f64, f64, f64) {
        let Around { tree, store, .. } = around;
        let path = &store.path;
        let extent = |at: usize| tree.loops[at].extent as f64;
        let mut moving: Vec<usize> = Vec::new();
        self.indices.iter().flat_map(|index| index.iter()).for_each(|index| {
            index.for_each_loop(&mut |at| moving.push(at));
        });
        for (depth, at) in path.iter().enumerate().rev() {
            if !moving.contains(at) {
                let iterations = path[depth + 1..].iter().map(|at| extent(*at)).product();
                let bytes = path.get(depth + 1).map_or(innermost_bytes, |inner| touched.bytes(*inner, tree));
                return (Reuse::LoopMultipleRead, iterations, bytes, extent(*at));
            }
            if let Some(region) = touched.under[*at].iter().find(|region| region.buffer == self.buffer)
                && region.stores >= 2
            {
                let bytes = touched.bytes(*at, tree) / extent(*at);
                let count = (region.stores - 1) as f64;
                return (Reuse::SerialMultipleReadWrite, region.fewest / extent(*at), bytes, count);
            }
        }
        (Reuse::None, 0.0, 0.0, 0.0)
    }

    /// The smallest stride of a loop over the accesses, each by the last dimension that it moves along.
    fn stride(&self, strides: &[i64], at: usize) -> i64 {
        let of_access = |index: &&[Index]| {
            let along = index.iter().zip(strides).rev().map(|(index, stride)| (coefficient(index, at), stride));
            along.filter(|(factor, _)| *factor != 0).map(|(factor, stride)| factor.abs().saturating_mul(*stride)).next()
        };
        self.indices.iter().filter_map(of_access).min().unwrap_or(0)
    }
}

/// The bounds of an index where loop variables are at most so large. A remainder is what it is at the loops' beginning.
fn bounds(index: &Index, last: &[i64]) -> (i64, i64) {
    index.bounds(&|atom| match atom {
        Atom::Loop(at) => (0, last[*at]),
        Atom::Div(inner, by) => {
            let (low, high) = bounds(inner, last);
            (low.div_euclid(*by), high.div_euclid(*by))
        }
        Atom::Mod(inner, by) => {
            let first = inner.first().rem_euclid(*by);
            (first, first)
        }
        Atom::Other(loops, bounds) => {
            if loops.iter().any(|at| last[*at] > 0) {
                *bounds
            } else {
                (bounds.0, bounds.0)
            }
        }
    })
}

/// What TVM takes for the coefficient of a loop variable in an index (`CoefficientExtractor`): a sum is read from left to right, and
/// once the variable was met, the next factor counts, or 1 if a sum comes first.
fn coefficient(index: &Index, at: usize) -> i64 {
    #[derive(Default)]
    struct Reading {
        met: bool,
        added: bool,
        factor: Option<i64>,
    }
    impl Reading {
        fn read(&mut self, index: &Index, at: usize) {
            for (place, (scale, atom)) in index.terms.iter().enumerate() {
                match atom {
                    Atom::Loop(this) => self.met |= *this == at,
                    Atom::Div(inner, _) | Atom::Mod(inner, _) => self.read(inner, at),
                    Atom::Other(loops, _) => self.met |= loops.contains(&at),
                }
                if *scale != 1 && self.met && !self.added {
                    self.factor = Some(*scale);
                }
                if place > 0 && *scale > 0 {
                    self.sum();
                }
            }
            if index.constant > 0 && !index.terms.is_empty() {
                self.sum();
            }
        }

        fn sum(&mut self) {
            self.added |= self.met && self.factor.is_none();
        }
    }
    let mut reading = Reading::default();
    reading.read(index, at);
    match reading {
        Reading { met: false, .. } => 0,
        Reading { factor, .. } => factor.unwrap_or(1),
    }
}
