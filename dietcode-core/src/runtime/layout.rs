//! Shape and strides of a view, inline, checked once when the view is made.

use std::fmt::Debug;

use crate::{Error, Result};

/// The largest number of dimensions of a tensor.
pub const MAX_RANK: usize = 8;

/// A row-major layout: the last stride is 1, and each outer stride spans at least the row inside it, so that no two
/// elements share a place. All numbers fit an `isize`.
#[derive(Clone, Copy)]
pub(super) struct Layout {
    rank: usize,
    shape: [usize; MAX_RANK],
    strides: [usize; MAX_RANK],
}

impl Layout {
    /// That of one value.
    pub(super) const SCALAR: Layout = Layout { rank: 0, shape: [0; MAX_RANK], strides: [0; MAX_RANK] };

    /// The dense layout of a shape.
    pub(super) fn row_major(shape: &[usize]) -> Result<Layout> {
        let mut layout = Layout { rank: rank_of(shape)?, ..Layout::SCALAR };
        let mut stride = 1_usize;
        for dim in (0..shape.len()).rev() {
            layout.shape[dim] = shape[dim];
            layout.strides[dim] = stride;
            // An extent of zero still gets strides that do not overlap, as if it were one.
            stride = stride
                .checked_mul(shape[dim].max(1))
                .filter(|size| isize::try_from(*size).is_ok())
                .ok_or_else(|| overflows(shape))?;
        }
        Ok(layout)
    }

    /// A layout with rows that need not be adjacent.
    pub(super) fn strided(shape: &[usize], strides: &[usize]) -> Result<Layout> {
        let mut layout = Layout::row_major(shape)?;
        if shape.len() != strides.len() {
            return Err(Error::input(format!(
                "the shape {shape:?} has {} dimensions, but there are {} strides",
                shape.len(),
                strides.len()
            )));
        }
        // Nothing of a tensor without elements overlaps.
        if shape.contains(&0) {
            return Ok(layout);
        }
        let mut row = 1_usize;
        for dim in (0..shape.len()).rev() {
            check_stride(shape, strides, dim, row)?;
            row = strides[dim]
                .checked_mul(shape[dim].saturating_sub(1))
                .and_then(|outer| outer.checked_add(row))
                .filter(|size| isize::try_from(*size).is_ok())
                .ok_or_else(|| overflows(shape))?;
        }
        layout.strides[..strides.len()].copy_from_slice(strides);
        Ok(layout)
    }

    /// A layout with the strides that arrays of other libraries have, which may be negative. Those of a dimension with one element say
    /// nothing, nor do any of a tensor without elements. The error ends in the remedy.
    pub(super) fn of_array<S>(shape: &[usize], strides: &[S], remedy: &str) -> Result<Layout>
    where
        S: Copy + Debug + TryInto<usize>,
    {
        let dense = Layout::row_major(shape)?;
        if shape.contains(&0) {
            return Ok(dense);
        }
        let not_row_major = || {
            let found = format!("the array of shape {shape:?} has strides {strides:?}");
            Error::input(format!("tensors are row-major, but {found}; {remedy}"))
        };
        let mut chosen = [0_usize; MAX_RANK];
        for dim in (0..shape.len()).rev() {
            // Any stride that spans the row inside will do for one element.
            chosen[dim] = match shape[dim] {
                1 if dim + 1 == shape.len() => 1,
                1 => shape[dim + 1].saturating_mul(chosen[dim + 1]),
                _ => strides[dim].try_into().map_err(|_| not_row_major())?,
            };
        }
        Layout::strided(shape, &chosen[..shape.len()]).map_err(|e| not_row_major().caused_by(e))
    }

    /// Extents, outermost first.
    pub(super) fn shape(&self) -> &[usize] {
        &self.shape[..self.rank]
    }

    /// Distances in elements between neighbours, outermost dimension first.
    pub(super) fn strides(&self) -> &[usize] {
        &self.strides[..self.rank]
    }

    /// The number of elements.
    pub(super) fn len(&self) -> usize {
        self.shape().iter().product()
    }

    /// The distance in elements from the first element to one past the last; 0 if there is none.
    #[inline]
    pub(super) fn span(&self) -> usize {
        let mut span = 1;
        for (extent, stride) in self.shape().iter().zip(self.strides()) {
            match extent {
                0 => return 0,
                extent => span += (extent - 1) * stride,
            }
        }
        span
    }

    /// The distance in elements of an element from the first; `None` outside the tensor or if the rank differs.
    #[inline]
    pub(super) fn offset<const R: usize>(&self, index: [usize; R]) -> Option<usize> {
        if R != self.rank {
            return None;
        }
        // Every access of a nest's reference comes here, where iterators take two thirds of its time unless they are optimized.
        let (mut offset, mut dim) = (0, 0);
        while dim < R {
            if index[dim] >= self.shape[dim] {
                return None;
            }
            offset += index[dim] * self.strides[dim];
            dim += 1;
        }
        Some(offset)
    }

    /// The distances in elements of the first element of each row, a row being what lies along the last dimension, in
    /// row-major order.
    pub(super) fn rows(&self) -> impl Iterator<Item = usize> {
        let outer = self.rank.saturating_sub(1);
        let rows = self.shape()[..outer].iter().product::<usize>();
        let layout = *self;
        (0..rows).map(move |row| {
            let (mut rest, mut offset) = (row, 0);
            for dim in (0..outer).rev() {
                offset += rest % layout.shape[dim] * layout.strides[dim];
                rest /= layout.shape[dim];
            }
            offset
        })
    }

    /// The distance in elements of the part whose index in dimension `dim` is in a range, and the layout of that part.
    #[cfg(feature = "cuda")]
    pub(super) fn narrow(&self, dim: usize, range: std::ops::Range<usize>) -> Result<(usize, Layout)> {
        match self.shape().get(dim) {
            Some(extent) if range.start <= range.end && range.end <= *extent => {
                let mut part = *self;
                part.shape[dim] = range.len();
                Ok((range.start * self.strides[dim], part))
            }
            _ => Err(Error::input(format!(
                "a tensor of shape {:?} has no indices {}..{} in dimension {dim}",
                self.shape(),
                range.start,
                range.end
            ))),
        }
    }

    /// Whether a slice of `len` elements is exactly the tensor.
    pub(super) fn check_exact(&self, len: usize) -> Result<()> {
        if self.len() == len {
            return Ok(());
        }
        Err(Error::input(format!(
            "a tensor of shape {:?} has {} elements, but the slice has {len}",
            self.shape(),
            self.len()
        )))
    }

    /// Whether a slice of `len` elements holds the tensor.
    pub(super) fn check_holds(&self, len: usize) -> Result<()> {
        if self.span() <= len {
            return Ok(());
        }
        Err(Error::input(format!(
            "a tensor of shape {:?} with strides {:?} spans {} elements, but the slice has {len}",
            self.shape(),
            self.strides(),
            self.span()
        )))
    }
}

/// What views of tensors tell of their layout, by the field that has it.
macro_rules! shaped {
    ($view:ident, $field:ident) => {
        impl<'a, T> $view<'a, T> {
            /// Extents, outermost first.
            pub fn shape(&self) -> &[usize] {
                self.$field.shape()
            }

            /// Distances in elements between neighbours, outermost dimension first; the last is 1.
            pub fn strides(&self) -> &[usize] {
                self.$field.strides()
            }
        }

        impl<T> ::std::fmt::Debug for $view<'_, T> {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                let (shape, strides) = (self.shape(), self.strides());
                write!(f, "{} {{ shape: {shape:?}, strides: {strides:?} }}", stringify!($view))
            }
        }
    };
}
pub(super) use shaped;

fn rank_of(shape: &[usize]) -> Result<usize> {
    if shape.len() <= MAX_RANK {
        return Ok(shape.len());
    }
    Err(Error::input(format!("a tensor has at most {MAX_RANK} dimensions, but this shape has {}", shape.len())))
}

fn check_stride(shape: &[usize], strides: &[usize], dim: usize, row: usize) -> Result<()> {
    let innermost = dim + 1 == shape.len();
    if innermost && strides[dim] != 1 {
        return Err(Error::input(format!(
            "tensors are row-major: the stride of the last dimension must be 1, but it is {}",
            strides[dim]
        )));
    }
    if strides[dim] < row {
        return Err(Error::input(format!(
            "rows overlap: the stride of dimension {dim} is {}, but what lies inside it spans {row} elements (shape {shape:?}, strides {strides:?})",
            strides[dim]
        )));
    }
    Ok(())
}

fn overflows(shape: &[usize]) -> Error {
    Error::input(format!("a tensor of shape {shape:?} spans more than {} elements, the most there can be", isize::MAX))
}
