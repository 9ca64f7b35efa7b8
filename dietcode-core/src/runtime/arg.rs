//! A tensor of a call, of whatever element type: what the checks and the launch need to know of it.

use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;

use super::cuda::memory::Memory;
use super::element::{DType, Element};
use super::layout::Layout;
use super::view::TensorRef;
use super::view_mut::TensorMut;
#[cfg(feature = "cuda")]
use crate::Result;

/// A tensor of a call, made from a [`TensorRef`] (an input) or a [`TensorMut`] (the output), or from a view of device memory.
pub struct Arg<'a> {
    dtype: DType,
    /// The first element: an address in `memory`. It is written through only if `mutable`.
    data: *mut c_void,
    layout: Layout,
    mutable: bool,
    memory: Memory<'a>,
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

    /// Where its elements are.
    pub(super) fn memory(&self) -> &Memory<'_> {
        &self.memory
    }

    pub(crate) fn data(&self) -> *mut c_void {
        self.data
    }

    /// The bytes from the first element to the end of the last.
    pub(super) fn addresses(&self) -> Range<usize> {
        let start = self.data.addr();
        start..start + self.layout.span() * self.dtype.bytes()
    }
}

impl<'a> Arg<'a> {
    /// A tensor of `T`s that starts at `data`.
    pub(super) fn new<T: Element>(data: *mut c_void, layout: Layout, mutable: bool, memory: Memory<'a>) -> Self {
        Arg { dtype: T::DTYPE, data, layout, mutable, memory, lifetime: PhantomData }
    }
}

/// What views of device memory, which are arguments of a known element type, are made of.
#[cfg(feature = "cuda")]
impl<'a> Arg<'a> {
    pub(super) fn memory_mut(&mut self) -> &mut Memory<'a> {
        &mut self.memory
    }

    /// The same tensor for reading.
    pub(super) fn shared(&self) -> Arg<'_> {
        Arg { mutable: false, memory: self.memory.shared(), lifetime: PhantomData, ..*self }
    }

    /// The same tensor for a shorter time.
    pub(super) fn reborrow(&mut self) -> Arg<'_> {
        Arg { memory: self.memory.reborrow(), lifetime: PhantomData, ..*self }
    }

    /// The part of it whose index in dimension `dim` is in a range.
    pub(super) fn narrow(self, dim: usize, range: Range<usize>) -> Result<Arg<'a>> {
        let (offset, layout) = self.layout.narrow(dim, range)?;
        Ok(Arg { data: self.data.wrapping_byte_add(offset * self.dtype.bytes()), layout, ..self })
    }
}

impl<'a, T: Element> From<TensorRef<'a, T>> for Arg<'a> {
    fn from(tensor: TensorRef<'a, T>) -> Self {
        Arg::new::<T>(tensor.as_ptr().cast_mut().cast(), *tensor.layout(), false, Memory::HOST)
    }
}

impl<'a, T: Element> From<TensorMut<'a, T>> for Arg<'a> {
    fn from(mut tensor: TensorMut<'a, T>) -> Self {
        Arg::new::<T>(tensor.as_mut_ptr().cast(), *tensor.layout(), true, Memory::HOST)
    }
}

impl fmt::Debug for Arg<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (shape, strides) = (self.shape(), self.strides());
        write!(f, "Arg {{ dtype: {}, shape: {shape:?}, strides: {strides:?}, mutable: {} }}", self.dtype, self.mutable)
    }
}
