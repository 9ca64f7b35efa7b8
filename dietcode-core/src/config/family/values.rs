//! The values that the lists of a family's generator hold.

use crate::Result;
use crate::config::reader::{Node, Object};
use crate::config::values::read_list;
use crate::sketch::SIZES;

/// The values of a key that must be there, without duplicates.
pub(super) fn required<T: Ord + Clone>(
    object: &Object<'_>,
    key: &str,
    read: impl Fn(&Node<'_>) -> Result<T>,
) -> Result<Vec<T>> {
    read_list(&object.require(key, "an array of at least one value")?, read)
}

/// The same for a key that may be missing.
pub(super) fn optional<T: Ord + Clone>(
    object: &Object<'_>,
    key: &str,
    default: Vec<T>,
    read: impl Fn(&Node<'_>) -> Result<T>,
) -> Result<Vec<T>> {
    object.get(key).map_or(Ok(default), |node| read_list(&node, read))
}

/// A size.
pub(super) fn size(node: &Node<'_>) -> Result<i64> {
    node.integer(SIZES)
}

/// Two sizes, such as rows and columns.
pub(super) fn two_sizes(node: &Node<'_>) -> Result<[i64; 2]> {
    const EXPECTED: &str = "an array of two sizes, such as [4, 8]";
    match &node.array(EXPECTED)?[..] {
        [first, second] => Ok([size(first)?, size(second)?]),
        other => Err(node.fail(&format!("an array of {}", other.len()), EXPECTED)),
    }
}
