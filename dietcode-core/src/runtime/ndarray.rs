//! Views of ndarray's arrays.

use ndarray::{ArrayView, ArrayViewMut, Dimension};

use super::layout::Layout;
use super::view::TensorRef;
use super::view_mut::TensorMut;
use crate::{Error, Result};

impl<'a, T, D: Dimension> TryFrom<ArrayView<'a, T, D>> for TensorRef<'a, T> {
    type Error = Error;

    /// Borrows a row-major view; one in another order (a transposed one, say) is an error.
    fn try_from(view: ArrayView<'a, T, D>) -> Result<Self> {
        let layout = layout_of(view.shape(), view.strides())?;
        Ok(TensorRef::from_layout(view.as_ptr(), layout))
    }
}

impl<'a, T, D: Dimension> TryFrom<ArrayViewMut<'a, T, D>> for TensorMut<'a, T> {
    type Error = Error;

    /// Borrows a row-major view; one in another order (a transposed one, say) is an error.
    fn try_from(mut view: ArrayViewMut<'a, T, D>) -> Result<Self> {
        let layout = layout_of(view.shape(), view.strides())?;
        Ok(TensorMut::from_layout(view.as_mut_ptr(), layout))
    }
}

fn layout_of(shape: &[usize], strides: &[isize]) -> Result<Layout> {
    let dense = Layout::row_major(shape)?;
    if shape.contains(&0) {
        return Ok(dense);
    }
    let not_row_major = || {
        let message = format!("tensors are row-major, but the array of shape {shape:?} has strides {strides:?}; ");
        Error::input(message + "make a copy with `as_standard_layout`")
    };
    let mut chosen = [0; super::MAX_RANK];
    for dim in (0..shape.len()).rev() {
        // The stride of a dimension with one element says nothing; any that spans the row inside will do.
        chosen[dim] = match shape[dim] {
            1 if dim + 1 == shape.len() => 1,
            1 => shape[dim + 1] * chosen[dim + 1],
            _ => usize::try_from(strides[dim]).map_err(|_| not_row_major())?,
        };
    }
    Layout::strided(shape, &chosen[..shape.len()]).map_err(|e| not_row_major().caused_by(e))
}
