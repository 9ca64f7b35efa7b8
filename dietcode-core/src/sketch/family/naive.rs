//! The family `naive`: one work item for each element of the output.

use serde::{Deserialize, Serialize};

use super::condition::{Condition, conditions, parameters};

/// A work item computes one element, and nothing is tiled, staged or read by vectors.
///
/// Source: portBLAS, `gemm_ref.hpp`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Naive {
    /// Bytes of a cache line: how many elements of 4 bytes are neighbours in a work group.
    pub cache_line_size: i64,
}

impl Naive {
    pub(super) fn parameters(&self) -> Vec<(&'static str, i64)> {
        parameters!(self: cache_line_size)
    }

    pub(super) fn conditions(&self) -> Vec<Condition> {
        conditions!(self: cache_line_size;
            cache_line_of_elements: cache_line_size % 4 == 0,
                "a cache line holds whole elements of 4 bytes";
        )
    }

    /// `_c64` is the cache line.
    pub(super) fn plain_name(&self) -> String {
        format!("naive_c{}", self.cache_line_size)
    }

    pub(super) fn generator(&self) -> serde_json::Value {
        serde_json::json!({ "cache_line_size": [self.cache_line_size] })
    }
}
