//! Names of micro-kernels.

use std::collections::BTreeMap;

use super::{Blocked, Unit};

/// The longest name; longer ones are cut and end in a hash.
const MAX_NAME: usize = 128;

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
    /// | `_0` and 16 hex digits | a hash, where the parts are too long, or could be read in two ways      |
    pub fn name(&self) -> String {
        let plain = self.plain_name();
        if self.reads_one_way() && plain.len() <= MAX_NAME {
            return plain;
        }
        let json = serde_json::to_vec(self).unwrap_or_default();
        let hash = blake3::hash(&json).to_hex();
        let readable = plain.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' });
        let start: String = readable.take(MAX_NAME - 18).collect();
        format!("{start}_0{}", &hash[..16])
    }

    fn plain_name(&self) -> String {
        let mut name = "blocked".to_owned();
        for (part, sizes) in self.tiles() {
            name.extend((!sizes.is_empty()).then_some(part));
            name.extend(sizes.iter().map(|(var, size)| format!("_{var}{size}")));
        }
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
        let parts = ["half", "tf", "double", "async", "atomic", "persistent", "min", "store"];
        let input = |(name, stage): (&String, &super::Stage)| {
            let own = letters(name) && !name.ends_with(['p', 'r']) && !parts.contains(&&**name);
            own && stage.pad >= 0 && stage.vector.0 > 0
        };
        let counts = [self.stages.0, self.min_blocks.0, self.store.0];
        self.tiles().into_iter().all(|(_, tile)| sizes(tile))
            && self.stage.iter().all(input)
            && counts.into_iter().all(|count| count > 0)
    }
}
