//! A tensor that owns its elements.

use std::fmt;

use super::aligned::AlignedBuffer;
use super::layout::Layout;
use super::view::TensorRef;
use super::view_mut::TensorMut;
use crate::Result;

/// A dense row-major tensor in memory of its own, aligned to a page.
///
/// ```
/// # use dietcode_core::runtime::Tensor;
/// let mut x = Tensor::from_fn(&[2, 3], |at| at as f32)?;
/// x.view_mut()[[0, 1]] = 7.0;
/// assert_eq!(x.as_slice(), [0.0, 7.0, 2.0, 3.0, 4.0, 5.0]);
/// # Ok::<(), dietcode_core::Error>(())
/// ```
pub struct Tensor<T> {
    data: AlignedBuffer<T>,
    layout: Layout,
}

impl<T: Copy> Tensor<T> {
    /// All elements the same.
    ///
    /// # Errors
    /// If the shape has too many dimensions or there is not enough memory.
    pub fn full(shape: &[usize], value: T) -> Result<Self> {
        let layout = Layout::row_major(shape)?;
        Ok(Tensor { data: AlignedBuffer::filled(layout.len(), value)?, layout })
    }

    /// All elements zero, or what the type's default is.
    ///
    /// # Errors
    /// As for [`Tensor::full`].
    pub fn zeros(shape: &[usize]) -> Result<Self>
    where
        T: Default,
    {
        Tensor::full(shape, T::default())
    }

    /// Element number `at` in row-major order is `element(at)`.
    ///
    /// # Errors
    /// As for [`Tensor::full`].
    pub fn from_fn(shape: &[usize], element: impl FnMut(usize) -> T) -> Result<Self>
    where
        T: Default,
    {
        let mut tensor = Tensor::zeros(shape)?;
        let values = (0..tensor.data.len()).map(element);
        for (place, value) in tensor.data.iter_mut().zip(values) {
            *place = value;
        }
        Ok(tensor)
    }

    /// A copy of a slice.
    ///
    /// # Errors
    /// If the slice does not have exactly as many elements as the shape, or as for [`Tensor::full`].
    pub fn from_slice(data: &[T], shape: &[usize]) -> Result<Self>
    where
        T: Default,
    {
        TensorRef::new(data, shape)?;
        Tensor::from_fn(shape, |at| data[at])
    }
}

impl<T> Tensor<T> {
    /// Extents, outermost first.
    pub fn shape(&self) -> &[usize] {
        self.layout.shape()
    }

    /// The elements in row-major order.
    pub fn as_slice(&self) -> &[T] {
        &self.data
    }

    /// The elements in row-major order, to write.
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        &mut self.data
    }

    /// Borrows it for reading.
    pub fn view(&self) -> TensorRef<'_, T> {
        TensorRef::from_layout(self.data.as_ptr(), self.layout)
    }

    /// Borrows it for writing.
    pub fn view_mut(&mut self) -> TensorMut<'_, T> {
        TensorMut::from_layout(self.data.as_mut_ptr(), self.layout)
    }
}

impl<'a, T> From<&'a Tensor<T>> for TensorRef<'a, T> {
    fn from(tensor: &'a Tensor<T>) -> Self {
        tensor.view()
    }
}

impl<'a, T> From<&'a mut Tensor<T>> for TensorMut<'a, T> {
    fn from(tensor: &'a mut Tensor<T>) -> Self {
        tensor.view_mut()
    }
}

impl<T: Copy> Clone for Tensor<T> {
    fn clone(&self) -> Self {
        Tensor { data: self.data.clone(), layout: self.layout }
    }
}

impl<T> fmt::Debug for Tensor<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tensor {{ shape: {:?} }}", self.shape())
    }
}
