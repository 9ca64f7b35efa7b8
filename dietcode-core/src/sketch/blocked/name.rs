//! Names of micro-kernels.

use std::collections::BTreeMap;

use super::{Blocked, Unit};
use crate::sketch::name::identifier;

impl Blocked {
    /// A readable C identifier for these parameters: equal names, equal parameters.
    ///
    /// | part                   | stands for                                                              |
    /// |------------------------|-------------------------------------------------------------------------|
    /// | `_t_i16_j16`           | threads (or warps)                                                      |
    /// | `_v_i2`                | vthreads                                                                |
    /// | `_r_i4_j4`             | the inner tile                                                          |
    /// | `_k_k8`                | the reductions' tile                                                    |
    /// | `_s_w4p4r_x`           | staged inputs: vectors of 4, rows padded by 4, reductions outside       |
    /// | `_half`, `_tf32`       | the matrix unit                                                         |
    /// | `_double2`, `_async3`  | stages through registers, asynchronous stages                           |
    /// | `_z_k4`, `_atomic`     | a split sum, by atomic additions                                        |
    /// | `_persistent`          | a grid as large as the device holds                                     |
    /// | `_min2`, `_store4`     | at least 2 blocks a multiprocessor, stores of 4 elements                |
    /// | `_load_x4_w1`          | inputs in registers: vectors of 4 and of 1                              |
    /// | `_raster_i4_j8`        | blocks that are neighbours                                              |
    /// | `_0` and 16 hex digits | a hash, where the parts are too long, or could be read in two ways      |
    pub fn name(&self) -> String {
        identifier(self, &self.plain_name(), self.reads_one_way())
    }

    fn plain_name(&self) -> String {
        let mut name = "blocked".to_owned();
        let sizes = |name: &mut String, part: &str, sizes: &BTreeMap<String, i64>| {
            name.extend((!sizes.is_empty()).then_some(part));
            name.extend(sizes.iter().map(|(var, size)| format!("_{var}{size}")));
        };
        self.tiles().into_iter().for_each(|(part, tile)| sizes(&mut name, part, tile));
        name.extend((!self.stage.is_empty()).then_some("_s"));
        for (input, stage) in &self.stage {
            name += &format!("_{input}");
            name.extend((stage.vector.0 != 1).then(|| stage.vector.0.to_string()));
            name.extend((stage.pad != 0).then(|| format!("p{}", stage.pad)));
            name.extend(stage.reduce_outside.then_some("r"));
        }
        name.extend(self.matrix_unit.map(|unit| match unit {
            Unit::Half => "_half",
            Unit::Tf32 => "_tf32",
        }));
        let stages = if self.asynchronous { "async" } else { "double" };
        name.extend((self.stages.0 != 1 || self.asynchronous).then(|| format!("_{stages}{}", self.stages.0)));
        name.extend(self.atomic.then_some("_atomic"));
        name.extend(self.persistent.then_some("_persistent"));
        name.extend((self.min_blocks.0 != 1).then(|| format!("_min{}", self.min_blocks.0)));
        name.extend((self.store.0 != 1).then(|| format!("_store{}", self.store.0)));
        sizes(&mut name, "_load", &self.load);
        sizes(&mut name, "_raster", &self.raster);
        name
    }

    fn tiles(&self) -> [(&'static str, &BTreeMap<String, i64>); 5] {
        [("_t", &self.thread), ("_v", &self.vthread), ("_r", &self.inner), ("_k", &self.reduce), ("_z", &self.split)]
    }

    /// Whether the parts can be told apart: names are letters, sizes are positive, and no input's name runs into what
    /// follows it or looks like another part (`_store4` is an input by vectors as well as a store of 4).
    fn reads_one_way(&self) -> bool {
        let letters = |name: &String| !name.is_empty() && name.bytes().all(|c| c.is_ascii_alphabetic());
        let sizes = |sizes: &BTreeMap<String, i64>| sizes.keys().all(letters) && sizes.values().all(|size| *size > 0);
        let parts = ["half", "tf", "double", "async", "atomic", "persistent", "min", "store", "load", "raster"];
        let input = |(name, stage): (&String, &super::Stage)| {
            let own = letters(name) && !name.ends_with(['p', 'r']) && !parts.contains(&&**name);
            own && stage.pad >= 0 && stage.vector.0 > 0
        };
        let counts = [self.stages.0, self.min_blocks.0, self.store.0];
        self.tiles().into_iter().all(|(_, tile)| sizes(tile))
            && sizes(&self.load)
            && sizes(&self.raster)
            && self.stage.iter().all(input)
            && counts.into_iter().all(|count| count > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(parameters: &str) -> String {
        serde_json::from_str::<Blocked>(parameters).expect("parameters").name()
    }

    #[test]
    fn names_are_readable() {
        let simt = r#"{"thread": {"i": 16, "j": 16}, "vthread": {"i": 2}, "inner": {"i": 4, "j": 4}, "reduce": {"k": 8},
            "stage": {"x": {"vector": 4, "pad": 4, "reduce_outside": true}, "w": {}}, "stages": 2, "store": 4}"#;
        assert_eq!(name(simt), "blocked_t_i16_j16_v_i2_r_i4_j4_k_k8_s_w_x4p4r_double2_store4");
        let half = r#"{"thread": {"i": 2}, "reduce": {"k": 32}, "matrix_unit": "half", "stages": 3, "async": true,
            "split": {"k": 4}, "atomic": true, "persistent": true, "min_blocks": 2}"#;
        assert_eq!(name(half), "blocked_t_i2_k_k32_z_k4_half_async3_atomic_persistent_min2");
        let held = r#"{"thread": {"i": 8, "j": 8}, "load": {"w": 1, "x": 4}, "raster": {"i": 4, "j": 2}}"#;
        assert_eq!(name(held), "blocked_t_i8_j8_load_w1_x4_raster_i4_j2");
        assert_eq!(name("{}"), "blocked");
    }

    #[test]
    fn what_could_be_read_in_two_ways_gets_a_hash() {
        let pairs = [
            (r#"{"thread": {"i1": 2}}"#, r#"{"thread": {"i": 12}}"#),
            (r#"{"stage": {"store": {"vector": 4}}}"#, r#"{"stage": {}, "store": 4}"#),
            (r#"{"stage": {"xr": {}}}"#, r#"{"stage": {"x": {"reduce_outside": true}}}"#),
            (r#"{"stage": {"xp": {"vector": 1}}}"#, r#"{"stage": {"x": {"pad": 1}}}"#),
            (r#"{"stage": {"half": {}}}"#, r#"{"matrix_unit": "half"}"#),
            (r#"{"stage": {"load": {"vector": 4}}}"#, r#"{"stage": {}, "load": {"": 4}}"#),
            (r#"{"thread": {"i": -2}}"#, r#"{"thread": {"i_": 2}}"#),
        ];
        for (a, b) in pairs {
            assert_ne!(name(a), name(b), "{a} {b}");
            let identifier = |name: &str| name.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_');
            assert!(identifier(&name(a)) && identifier(&name(b)), "{} {}", name(a), name(b));
        }
    }
}
