//! Generators of the family `naive`.

use super::values::{required, size};
use crate::Result;
use crate::config::reader::Object;
use crate::sketch::Naive;

/// One configuration for each cache line.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct NaiveGenerator {
    /// Values of [`Naive::cache_line_size`].
    pub cache_line_size: Vec<i64>,
}

pub(super) const KEYS: &[&str] = &["cache_line_size"];

impl NaiveGenerator {
    pub(super) fn read(object: &Object<'_>) -> Result<NaiveGenerator> {
        Ok(NaiveGenerator { cache_line_size: required(object, "cache_line_size", size)? })
    }

    pub(super) fn get(&self, index: u128) -> Option<Naive> {
        let at = usize::try_from(index).ok()?;
        self.cache_line_size.get(at).map(|&cache_line_size| Naive { cache_line_size })
    }
}
