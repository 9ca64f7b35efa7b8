//! A borrowed tensor that is read.

use std::marker::PhantomData;
use std::ops::Index;
use std::slice;

use super::layout::{Layout, shaped};
use super::owned::Tensor;
use crate::Result;

/// A tensor borrowed for reading: row-major, with rows that need not be adjacent.
#[derive(Clone, Copy)]
pub struct TensorRef<'a, T> {
    data: *const T,
    layout: Layout,
    lifetime: PhantomData<&'a [T]>,
}

// SAFETY: it gives out `&T` only, like `&[T]`.
unsafe impl<T: Sync> Send for TensorRef<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for TensorRef<'_, T> {}

impl<'a, T> TensorRef<'a, T> {
    /// The whole slice as a tensor.
    ///
    /// # Errors
    /// If the slice does not have exactly as many elements as the shape.
    ///
    /// ```
    /// # use dietcode_core::runtime::TensorRef;
    /// let data = [1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0];
    /// let x = TensorRef::new(&data, &[2, 3])?;
    /// assert_eq!(x.get([1, 0]), Some(&4.0));
    /// # Ok::<(), dietcode_core::Error>(())
    /// ```
    pub fn new(data: &'a [T], shape: &[usize]) -> Result<Self> {
        let layout = Layout::row_major(shape)?;
        layout.check_exact(data.len())?;
        Ok(Self::from_layout(data.as_ptr(), layout))
    }

    /// A tensor whose rows lie `strides` elements apart, for instance some columns of a wider matrix.
    ///
    /// # Errors
    /// If the last stride is not 1, rows overlap, or the slice ends before the last element.
    pub fn with_strides(data: &'a [T], shape: &[usize], strides: &[usize]) -> Result<Self> {
        let layout = Layout::strided(shape, strides)?;
        layout.check_holds(data.len())?;
        Ok(Self::from_layout(data.as_ptr(), layout))
    }

    /// A tensor over memory that is not a slice.
    ///
    /// # Safety
    /// Every element that shape and strides name must be readable for `'a` and not be written in that time, and `data`
    /// must be aligned and not null, even if the tensor is empty.
    ///
    /// # Errors
    /// If the last stride is not 1, rows overlap, or a size overflows.
    pub unsafe fn from_raw_parts(data: *const T, shape: &[usize], strides: &[usize]) -> Result<Self> {
        Ok(Self::from_layout(data, Layout::strided(shape, strides)?))
    }

    pub(super) fn from_layout(data: *const T, layout: Layout) -> Self {
        TensorRef { data, layout, lifetime: PhantomData }
    }

    /// The first element.
    pub fn as_ptr(&self) -> *const T {
        self.data
    }

    /// An element; `None` outside the tensor or if `R` is not its rank.
    #[inline]
    pub fn get<const R: usize>(&self, index: [usize; R]) -> Option<&'a T> {
        let offset = self.layout.offset(index)?;
        // SAFETY: an index inside the shape names an element that is readable for 'a.
        Some(unsafe { &*self.data.add(offset) })
    }

    /// The elements, if there is nothing between the rows.
    pub fn as_slice(&self) -> Option<&'a [T]> {
        let len = self.layout.len();
        // SAFETY: the tensor spans as many elements as it has, and all of them are readable for 'a.
        (self.layout.span() == len).then(|| unsafe { slice::from_raw_parts(self.data, len) })
    }

    /// A dense copy.
    ///
    /// # Errors
    /// If there is not enough memory.
    pub fn to_tensor(&self) -> Result<Tensor<T>>
    where
        T: Copy + Default,
    {
        let mut copy = Tensor::zeros(self.shape())?;
        let row = self.shape().last().copied().unwrap_or(1);
        for (to, from) in copy.as_mut_slice().chunks_mut(row.max(1)).zip(self.layout.rows()) {
            // SAFETY: a row of the tensor lies there.
            to.copy_from_slice(unsafe { slice::from_raw_parts(self.data.add(from), row) });
        }
        Ok(copy)
    }

    pub(super) fn layout(&self) -> &Layout {
        &self.layout
    }
}

impl<T, const R: usize> Index<[usize; R]> for TensorRef<'_, T> {
    type Output = T;

    /// Panics outside the tensor, like a slice.
    #[inline]
    fn index(&self, index: [usize; R]) -> &T {
        self.get(index).unwrap_or_else(|| outside(&index, self.shape()))
    }
}

#[cold]
pub(super) fn outside(index: &[usize], shape: &[usize]) -> ! {
    panic!("index {index:?} is outside a tensor of shape {shape:?}")
}

impl<'a, T> From<&TensorRef<'a, T>> for TensorRef<'a, T> {
    fn from(view: &TensorRef<'a, T>) -> Self {
        TensorRef { ..*view }
    }
}

shaped!(TensorRef, layout);
