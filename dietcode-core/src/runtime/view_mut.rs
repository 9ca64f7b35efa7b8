//! A borrowed tensor that is written.

use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

use super::layout::{Layout, shaped};
use super::view::{TensorRef, outside};
use crate::Result;

/// A tensor borrowed for writing: row-major, with rows that need not be adjacent.
pub struct TensorMut<'a, T> {
    data: *mut T,
    layout: Layout,
    lifetime: PhantomData<&'a mut [T]>,
}

// SAFETY: it gives out what `&mut [T]` gives out.
unsafe impl<T: Send> Send for TensorMut<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for TensorMut<'_, T> {}

impl<'a, T> TensorMut<'a, T> {
    /// The whole slice as a tensor.
    ///
    /// # Errors
    /// If the slice does not have exactly as many elements as the shape.
    pub fn new(data: &'a mut [T], shape: &[usize]) -> Result<Self> {
        let layout = Layout::row_major(shape)?;
        layout.check_exact(data.len())?;
        Ok(Self::from_layout(data.as_mut_ptr(), layout))
    }

    /// A tensor whose rows lie `strides` elements apart; what lies between the rows is left alone.
    ///
    /// # Errors
    /// If the last stride is not 1, rows overlap, or the slice ends before the last element.
    pub fn with_strides(data: &'a mut [T], shape: &[usize], strides: &[usize]) -> Result<Self> {
        let layout = Layout::strided(shape, strides)?;
        layout.check_holds(data.len())?;
        Ok(Self::from_layout(data.as_mut_ptr(), layout))
    }

    /// A tensor over memory that is not a slice.
    ///
    /// # Safety
    /// Every element that shape and strides name must be readable and writable for `'a` and be used through this view
    /// alone in that time, and `data` must be aligned and not null, even if the tensor is empty.
    ///
    /// # Errors
    /// If the last stride is not 1, rows overlap, or a size overflows.
    pub unsafe fn from_raw_parts(data: *mut T, shape: &[usize], strides: &[usize]) -> Result<Self> {
        Ok(Self::from_layout(data, Layout::strided(shape, strides)?))
    }

    pub(super) fn from_layout(data: *mut T, layout: Layout) -> Self {
        TensorMut { data, layout, lifetime: PhantomData }
    }

    /// The first element.
    pub fn as_mut_ptr(&mut self) -> *mut T {
        self.data
    }

    /// The same view for a shorter time, so that it can be used again.
    pub fn reborrow(&mut self) -> TensorMut<'_, T> {
        TensorMut::from_layout(self.data, self.layout)
    }

    /// The same tensor for reading.
    pub fn as_ref(&self) -> TensorRef<'_, T> {
        TensorRef::from_layout(self.data, self.layout)
    }

    /// An element; `None` outside the tensor or if `R` is not its rank.
    #[inline]
    pub fn get<const R: usize>(&self, index: [usize; R]) -> Option<&T> {
        let offset = self.layout.offset(index)?;
        // SAFETY: an index inside the shape names an element that this view borrows.
        Some(unsafe { &*self.data.add(offset) })
    }

    /// An element to write; `None` outside the tensor or if `R` is not its rank.
    #[inline]
    pub fn get_mut<const R: usize>(&mut self, index: [usize; R]) -> Option<&mut T> {
        let offset = self.layout.offset(index)?;
        // SAFETY: an index inside the shape names an element that this view borrows, exclusively.
        Some(unsafe { &mut *self.data.add(offset) })
    }

    pub(super) fn layout(&self) -> &Layout {
        &self.layout
    }
}

impl<T, const R: usize> Index<[usize; R]> for TensorMut<'_, T> {
    type Output = T;

    /// Panics outside the tensor, like a slice.
    #[inline]
    fn index(&self, index: [usize; R]) -> &T {
        self.get(index).unwrap_or_else(|| outside(&index, self.shape()))
    }
}

impl<T, const R: usize> IndexMut<[usize; R]> for TensorMut<'_, T> {
    /// Panics outside the tensor, like a slice.
    #[inline]
    fn index_mut(&mut self, index: [usize; R]) -> &mut T {
        match self.layout.offset(index) {
            // SAFETY: an index inside the shape names an element that this view borrows, exclusively.
            Some(offset) => unsafe { &mut *self.data.add(offset) },
            None => outside(&index, self.shape()),
        }
    }
}

impl<'a, T> From<&'a mut TensorMut<'_, T>> for TensorMut<'a, T> {
    fn from(view: &'a mut TensorMut<'_, T>) -> Self {
        view.reborrow()
    }
}

impl<'a, T> From<&'a TensorMut<'_, T>> for TensorRef<'a, T> {
    fn from(view: &'a TensorMut<'_, T>) -> Self {
        view.as_ref()
    }
}

shaped!(TensorMut, layout);
