//! Results of several pieces of work: a build tells all that is wrong at once.

use dietcode_core::{Error, Result};

/// All results, or all errors.
pub(crate) fn gather<T>(results: impl Iterator<Item = Result<T>>) -> Result<Vec<T>, Vec<Error>> {
    let mut values = Vec::new();
    let mut errors = Vec::new();
    for result in results {
        match result {
            Ok(value) => values.push(value),
            Err(error) => errors.push(error),
        }
    }
    if errors.is_empty() { Ok(values) } else { Err(errors) }
}
