//! The elements of a tensor, whatever their type, as `f64`.

use std::borrow::Cow;
use std::marker::PhantomData;

use dietcode_syntax::DType;

use crate::runtime::element::{Element, Rounded, of_element};

/// Borrowed elements.
pub(super) struct Elements<'a> {
    data: *mut u8,
    dtype: DType,
    len: usize,
    lifetime: PhantomData<&'a mut [u8]>,
}

impl<'a> Elements<'a> {
    /// What lies somewhere in memory.
    ///
    /// # Safety
    /// `data` must be aligned for the type and `len` elements be readable and writable through this value alone for `'a`.
    /// Every bit pattern is an element.
    pub(super) unsafe fn at(data: *mut u8, dtype: DType, len: usize) -> Elements<'a> {
        Elements { data, dtype, len, lifetime: PhantomData }
    }

    /// As elements of `T`, the type that they have.
    fn slice<T: Element>(self) -> &'a mut [T] {
        assert_eq!(T::DTYPE.bytes() as i64, self.dtype.bytes(), "elements of a tensor are taken as what they are");
        // SAFETY: what lies there is as the caller of `at` vouches.
        unsafe { std::slice::from_raw_parts_mut(self.data.cast(), self.len) }
    }

    /// Replaces them, each rounded to the type.
    pub(super) fn store(self, values: impl IntoIterator<Item = f64>) {
        of_element!(DType, self.dtype, T => {
            self.slice::<T>().iter_mut().zip(values).for_each(|(element, value)| *element = T::of(value));
        });
    }

    /// Their values.
    pub(super) fn values(self) -> Cow<'a, [f64]> {
        if self.dtype == DType::F64 {
            return Cow::Borrowed(self.slice());
        }
        of_element!(DType, self.dtype, T => self.slice::<T>().iter().map(|element| element.value()).collect())
    }
}
