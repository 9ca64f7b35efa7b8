//! A list of bounded length without an allocation, and without clearing what is not used: a call makes three of them.

use std::mem::MaybeUninit;
use std::ops::Deref;

/// At most `N` values, held inline.
#[derive(Clone, Copy)]
pub(super) struct Inline<T: Copy, const N: usize> {
    len: usize,
    values: [MaybeUninit<T>; N],
}

impl<T: Copy, const N: usize> Inline<T, N> {
    pub(super) fn new() -> Self {
        Inline { len: 0, values: [const { MaybeUninit::uninit() }; N] }
    }

    pub(super) fn clear(&mut self) {
        self.len = 0;
    }

    /// Appends a value. Panics if there are `N` already; the limits of signatures and views rule that out.
    #[inline]
    pub(super) fn push(&mut self, value: T) {
        self.values[self.len].write(value);
        self.len += 1;
    }
}

impl<T: Copy, const N: usize> Deref for Inline<T, N> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        // SAFETY: `push` has written the first `len` values.
        unsafe { std::slice::from_raw_parts(self.values.as_ptr().cast(), self.len) }
    }
}
