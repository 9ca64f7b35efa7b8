//! Generators of the family `non_local`.

use super::values::{optional, required, size, two_sizes};
use crate::Result;
use crate::config::product::places;
use crate::config::reader::{Node, Object};
use crate::sketch::{NonLocal, Vectorization};

/// All combinations of one value from each list, the last list's changing fastest.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct NonLocalGenerator {
    /// Rows and columns of a work item.
    pub work_item_sizes: Vec<[i64; 2]>,
    /// Rows and columns of a work group.
    pub work_group_sizes: Vec<[i64; 2]>,
    /// Values of [`NonLocal::vectorization_size`].
    pub vectorization_size: Vec<i64>,
    /// Values of [`NonLocal::vectorization`]; partial, then full, where a file says nothing, as portBLAS's.
    pub vectorization: Vec<Vectorization>,
}

/// Some of portBLAS's files name a cache line, which no configuration of this family depends on.
pub(super) const KEYS: &[&str] =
    &["cache_line_size", "work_item_sizes", "work_group_sizes", "vectorization_size", "vectorization"];

impl NonLocalGenerator {
    pub(super) fn read(object: &Object<'_>) -> Result<NonLocalGenerator> {
        optional(object, "cache_line_size", Vec::new(), size)?;
        let both = vec![Vectorization::Partial, Vectorization::Full];
        Ok(NonLocalGenerator {
            work_item_sizes: required(object, "work_item_sizes", two_sizes)?,
            work_group_sizes: required(object, "work_group_sizes", two_sizes)?,
            vectorization_size: required(object, "vectorization_size", size)?,
            vectorization: optional(object, "vectorization", both, read_vectorization)?,
        })
    }

    pub(super) fn lengths(&self) -> [usize; 4] {
        [
            self.work_item_sizes.len(),
            self.work_group_sizes.len(),
            self.vectorization_size.len(),
            self.vectorization.len(),
        ]
    }

    pub(super) fn get(&self, index: u128) -> Option<NonLocal> {
        let at = places(self.lengths(), index)?;
        let [item_rows, item_cols] = self.work_item_sizes[at[0]];
        let [wg_rows, wg_cols] = self.work_group_sizes[at[1]];
        Some(NonLocal {
            item_rows,
            item_cols,
            wg_rows,
            wg_cols,
            vectorization_size: self.vectorization_size[at[2]],
            vectorization: self.vectorization[at[3]],
        })
    }
}

fn read_vectorization(node: &Node<'_>) -> Result<Vectorization> {
    const EXPECTED: &str = "\"partial\" or \"full\"";
    match node.string(EXPECTED)? {
        "partial" => Ok(Vectorization::Partial),
        "full" => Ok(Vectorization::Full),
        _ => Err(node.expected(EXPECTED)),
    }
}
