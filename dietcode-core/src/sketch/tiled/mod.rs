//! The CPU's family of micro-kernels: register tile × packed panels × cache blocks × parallel tiles.
//!
//! ```text
//! parallel for each block of the spatial loops            block_tile, raster
//!   for each cache block of the reduction loops           block_tile
//!     pack the panels                                     pack, pad, double_buffer
//!     for each register tile of the block                 order
//!       for each step of the reduction in the cache block
//!         copy what the steps need                        load
//!         a register tile of multiply-adds, unrolled      register_tile, vector, lanes
//!       write back, epilogue
//! ```

mod apply;
mod default;
mod validity;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::name::identifier;

/// The parameters of one micro-kernel, each named by the loop variables and tensors of the user's nest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tiled {
    /// The spatial loop whose iterations are the lanes of vectors; none: scalar code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vector: Option<String>,
    /// Spatial loops: the tile whose accumulators stay in registers. Reduction loops: unrolled steps. Missing: 1.
    #[serde(default)]
    pub register_tile: BTreeMap<String, i64>,
    /// Spatial loops: the tile that one thread carries out alone (missing: the register tile).
    /// Reduction loops: the cache block (missing: the whole extent, which must be a literal if an input that moves along
    /// the loop is packed or hangs over the edge: its copy has a constant size).
    #[serde(default)]
    pub block_tile: BTreeMap<String, i64>,
    /// The inputs that are copied into packed panels, once per block; the others are read in place.
    #[serde(default)]
    pub pack: Vec<String>,
    /// The spatial loops over register tiles inside a block, outermost first; those not named follow in source order.
    #[serde(default)]
    pub order: Vec<String>,
    /// Lanes of the vectors: 2, 4, 8 or 16. Missing: as many as the CPU's registers hold and divide the tile, whose accumulators
    /// then must fit into them. With a number of lanes the compiler maps vectors to registers, and spills what has no room.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lanes: Option<i64>,
    /// The inputs of which each register tile copies what its unrolled steps need, right before them. One that is contiguous
    /// along the reduction, where vectors are not, is transposed in registers by that.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub load: Vec<String>,
    /// Packed inputs: unused elements between the micro-panels, so that these begin in different sets of the cache (missing: 0).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub pad: BTreeMap<String, i64>,
    /// Whether there are two of each panel, and the next is packed before the current is computed with.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub double_buffer: bool,
    /// Two spatial loops: how many of their blocks lie next to each other in the order of the blocks. Missing: row by row.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub raster: BTreeMap<String, i64>,
}

impl Tiled {
    /// A readable C identifier for these parameters: equal names, equal parameters.
    ///
    /// | part                   | stands for                     |
    /// |------------------------|--------------------------------|
    /// | `_vj`, `_vj8`          | vectors along `j`, of 8 lanes  |
    /// | `_r_i8_j48`            | the register tile              |
    /// | `_b_i512_j96_k384`     | the block tile                 |
    /// | `_p_w`                 | packed inputs                  |
    /// | `_o_i_j`               | the order                      |
    /// | `_load_x`              | inputs copied before each use  |
    /// | `_pad_w16`             | elements between micro-panels  |
    /// | `_double`              | two of each panel              |
    /// | `_raster_i4_j8`        | blocks that are neighbours     |
    /// | `_0` and 16 hex digits | a hash, where the parts above are too long, or could be read in two ways |
    pub fn name(&self) -> String {
        identifier(self, &self.plain_name(), self.reads_one_way())
    }

    fn plain_name(&self) -> String {
        let mut name = "tiled".to_string();
        name.extend(self.vector.iter().map(|v| format!("_v{v}")));
        name.extend(self.lanes.map(|lanes| lanes.to_string()));
        let sizes = |name: &mut String, part: &str, sizes: &BTreeMap<String, i64>| {
            name.extend((!sizes.is_empty()).then_some(part));
            name.extend(sizes.iter().map(|(var, size)| format!("_{var}{size}")));
        };
        sizes(&mut name, "_r", &self.register_tile);
        sizes(&mut name, "_b", &self.block_tile);
        for (part, list) in [("_p", &self.pack), ("_o", &self.order), ("_load", &self.load)] {
            name.extend((!list.is_empty()).then_some(part));
            name.extend(list.iter().map(|entry| format!("_{entry}")));
        }
        sizes(&mut name, "_pad", &self.pad);
        name.extend(self.double_buffer.then_some("_double"));
        sizes(&mut name, "_raster", &self.raster);
        name
    }

    /// Whether the parts can be told apart: a variable that ends in a digit runs into its size, one with an underscore
    /// looks like two, a packed input `o` like the start of the order, and lanes alone belong to no vector.
    fn reads_one_way(&self) -> bool {
        let letters = |name: &str| !name.is_empty() && name.bytes().all(|c| c.is_ascii_alphabetic());
        let parts = ["load", "pad", "raster"];
        let listed = || self.pack.iter().chain(&self.order).chain(&self.load);
        self.names().all(letters)
            && self.sizes().all(|size| size > 0)
            && !self.pack.iter().any(|input| input == "o")
            && !listed().any(|entry| parts.contains(&entry.as_str()))
            && (self.lanes.is_none() || self.vector.is_some())
    }

    /// All names of loop variables and tensors in it, with repetitions.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let tiles =
            [&self.register_tile, &self.block_tile, &self.pad, &self.raster].into_iter().flat_map(BTreeMap::keys);
        let lists = [&self.pack, &self.order, &self.load].into_iter().flatten();
        self.vector.iter().chain(tiles).chain(lists).map(String::as_str)
    }

    /// All sizes in it.
    pub fn sizes(&self) -> impl Iterator<Item = i64> {
        let tiles =
            [&self.register_tile, &self.block_tile, &self.pad, &self.raster].into_iter().flat_map(BTreeMap::values);
        tiles.copied().chain(self.lanes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sketch::name::MAX_NAME;

    fn tiled(vector: &str, register: &[(&str, i64)], block: &[(&str, i64)], pack: &[&str], order: &[&str]) -> Tiled {
        let tile = |sizes: &[(&str, i64)]| sizes.iter().map(|(var, size)| (var.to_string(), *size)).collect();
        let list = |names: &[&str]| names.iter().map(ToString::to_string).collect();
        Tiled {
            vector: (!vector.is_empty()).then(|| vector.to_string()),
            register_tile: tile(register),
            block_tile: tile(block),
            pack: list(pack),
            order: list(order),
            ..Tiled::default()
        }
    }

    fn is_identifier(name: &str) -> bool {
        name.starts_with("tiled")
            && name.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_')
            && name.len() <= MAX_NAME
    }

    #[test]
    fn names_are_readable() {
        let blocks = [("i", 512), ("j", 96), ("k", 384)];
        let dense = tiled("j", &[("i", 8), ("j", 48)], &blocks, &["w"], &["j", "i"]);
        assert_eq!(dense.name(), "tiled_vj_r_i8_j48_b_i512_j96_k384_p_w_o_j_i");
        assert_eq!(Tiled::default().name(), "tiled");
        let sizes = |name: &str, size| [(name.to_owned(), size)].into();
        let doubled = Tiled { lanes: Some(8), pad: sizes("w", 16), double_buffer: true, ..dense };
        assert_eq!(doubled.name(), "tiled_vj8_r_i8_j48_b_i512_j96_k384_p_w_o_j_i_pad_w16_double");
        let turned =
            Tiled { load: vec!["w".into()], raster: [("i".into(), 4), ("j".into(), 2)].into(), ..Tiled::default() };
        assert_eq!(turned.name(), "tiled_load_w_raster_i4_j2");
    }

    #[test]
    fn what_could_be_read_in_two_ways_gets_a_hash() {
        let pairs = [
            (tiled("", &[("i1", 2)], &[], &[], &[]), tiled("", &[("i", 12)], &[], &[], &[])),
            (tiled("", &[], &[], &["w", "o", "i"], &[]), tiled("", &[], &[], &["w"], &["i"])),
            (tiled("", &[], &[], &["a_b"], &[]), tiled("", &[], &[], &["a", "b"], &[])),
            (tiled("j_r_i8", &[], &[], &[], &[]), tiled("j", &[("i", 8)], &[], &[], &[])),
            (tiled("", &[("i", -8)], &[], &[], &[]), tiled("", &[("i_", 8)], &[], &[], &[])),
            (
                tiled("", &[], &[], &["w", "load", "x"], &[]),
                Tiled { load: vec!["x".into()], ..tiled("", &[], &[], &["w"], &[]) },
            ),
            (Tiled { lanes: Some(8), ..Tiled::default() }, Tiled { lanes: Some(4), ..Tiled::default() }),
        ];
        for (a, b) in pairs {
            assert_ne!(a.name(), b.name(), "{a:?} {b:?}");
            assert!(is_identifier(&a.name()) && is_identifier(&b.name()), "{} {}", a.name(), b.name());
        }
    }

    #[test]
    fn long_and_odd_names_are_still_identifiers_and_differ() {
        let long = "a".repeat(200);
        let one = tiled(&long, &[(&long, 8)], &[], &[], &[]);
        let other = tiled(&long, &[(&long, 9)], &[], &[], &[]);
        assert_ne!(one.name(), other.name());
        assert!(is_identifier(&one.name()) && is_identifier(&other.name()));
        assert!(is_identifier(&tiled("ü; rm -rf /", &[("\n", 1)], &[], &["\""], &[]).name()));
    }
}
