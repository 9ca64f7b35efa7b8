//! How many of a GPU's tiles lie inside, where those have a body of their own.

use super::count;
use crate::lower::{Corner, Inside};

/// The share of all tiles that lie inside at a shape; variables that `value` does not know are 0.
pub(super) fn share_inside(inside: &Inside, value: &impl Fn(&str) -> f64) -> f64 {
    inside.corners.iter().map(|corner| of_corner(corner, value)).product()
}

/// The share of tiles whose last element along an axis lies inside: those in front. What numbers tiles beside the last variable of it is in
/// the middle.
fn of_corner(Corner { value: last, extent, tiles }: &Corner, value: &impl Fn(&str) -> f64) -> f64 {
    let Some(((moving, all), others)) = tiles.split_last() else {
        return f64::from(count(last, value) < count(extent, value));
    };
    let at = |tile: f64| {
        count(last, &|name| match others.iter().find(|(other, _)| **other == *name) {
            Some((_, all)) => (count(all, value) / 2.0).floor(),
            None if **moving == *name => tile,
            None => value(name),
        })
    };
    let (first, end, all) = (at(0.0), count(extent, value), count(all, value).max(1.0));
    match at(1.0) - first {
        step if step > 0.0 => ((end - first) / step).ceil().clamp(0.0, all) / all,
        _ => f64::from(first < end),
    }
}
