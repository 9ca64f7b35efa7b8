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
    Layout::of_array(shape, strides, "make a copy with `as_standard_layout`")
}
