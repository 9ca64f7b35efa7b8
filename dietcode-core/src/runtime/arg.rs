//! A tensor of a call, of whatever element type: what the checks and the launch need to know of it.

use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;

use super::element::{DType, Element};
use super::layout::Layout;
use super::view::TensorRef;
use super::view_mut::TensorMut;

/// A tensor of a call, made from a [`TensorRef`] (an input) or a [`TensorMut`] (the output).
pub struct Arg<'a> {
    dtype: DType,
    /// The first element. It is written through only if `mutable`.
    data: *mut c_void,
    layout: Layout,
    mutable: bool,
    lifetime: PhantomData<&'a mut ()>,
}

// SAFETY: it stands for a view of elements that are `Send` and `Sync`, as `Element` demands.
unsafe impl Send for Arg<'_> {}
// SAFETY: as above.
unsafe impl Sync for Arg<'_> {}

impl Arg<'_> {
    /// The type of its elements.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Extents, outermost first.
    pub fn shape(&self) -> &[usize] {
        self.layout.shape()
    }

    /// Distances in elements between neighbours, outermost dimension first; the last is 1.
    pub fn strides(&self) -> &[usize] {
        self.layout.strides()
    }

    /// Whether it is an output.
    pub fn is_mutable(&self) -> bool {
        self.mutable
    }

    pub(super) fn data(&self) -> *mut c_void {
        self.data
    }

    /// The bytes from the first element to the end of the last.
    pub(super) fn addresses(&self) -> Range<usize> {
        let start = self.data.addr();
        start..start + self.layout.span() * self.dtype.bytes()
    }
}

impl<'a, T: Element> From<TensorRef<'a, T>> for Arg<'a> {
    fn from(tensor: TensorRef<'a, T>) -> Self {
        let data = tensor.as_ptr().cast_mut().cast();
        Arg { dtype: T::DTYPE, data, layout: *tensor.layout(), mutable: false, lifetime: PhantomData }
    }
}

impl<'a, T: Element> From<TensorMut<'a, T>> for Arg<'a> {
    fn from(mut tensor: TensorMut<'a, T>) -> Self {
        let data = tensor.as_mut_ptr().cast();
        Arg { dtype: T::DTYPE, data, layout: *tensor.layout(), mutable: true, lifetime: PhantomData }
    }
}

impl fmt::Debug for Arg<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (shape, strides) = (self.shape(), self.strides());
        write!(f, "Arg {{ dtype: {}, shape: {shape:?}, strides: {strides:?}, mutable: {} }}", self.dtype, self.mutable)
    }
}
