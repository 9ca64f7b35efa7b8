//! Owned memory that starts on a page, so that a vector load of a row's start never straddles two cache lines and
//! timings do not depend on where the allocator happened to put it.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use crate::{Error, Result};

/// Where a buffer starts is a multiple of this, and so it takes at least as many bytes.
pub(super) const ALIGNMENT: usize = 4096;

/// A slice on the heap, aligned to a page.
pub(super) struct AlignedBuffer<T> {
    data: NonNull<T>,
    len: usize,
}

// SAFETY: it owns its elements, like `Box<[T]>`.
unsafe impl<T: Send> Send for AlignedBuffer<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for AlignedBuffer<T> {}

impl<T: Copy> AlignedBuffer<T> {
    pub(super) const fn empty() -> Self {
        AlignedBuffer { data: NonNull::dangling(), len: 0 }
    }

    /// `len` copies of `value`; an error, not an abort, if there is not enough memory.
    pub(super) fn filled(len: usize, value: T) -> Result<Self> {
        let too_large = || {
            let message = format!("cannot allocate {len} elements of {} bytes", size_of::<T>());
            Error::unavailable(message)
        };
        let layout = heap_layout::<T>(len).ok_or_else(too_large)?;
        if layout.size() == 0 {
            return Ok(AlignedBuffer { data: NonNull::dangling(), len });
        }
        // SAFETY: the size is not zero.
        let data = NonNull::new(unsafe { alloc(layout) }.cast::<T>()).ok_or_else(too_large)?;
        for at in 0..len {
            // SAFETY: the allocation holds `len` elements.
            unsafe { data.add(at).write(value) };
        }
        Ok(AlignedBuffer { data, len })
    }
}

impl<T: Copy> Clone for AlignedBuffer<T> {
    /// Without enough memory the program ends, as by the clone of a `Vec`.
    fn clone(&self) -> Self {
        let Some(first) = self.first() else { return AlignedBuffer::empty() };
        let Ok(mut copy) = AlignedBuffer::filled(self.len, *first) else {
            handle_alloc_error(Layout::for_value::<[T]>(self))
        };
        copy.copy_from_slice(self);
        copy
    }
}

impl<T> AlignedBuffer<T> {
    /// The first element, for all of them; it stays valid when slices are made of the buffer.
    pub(super) fn as_mut_ptr(&mut self) -> *mut T {
        self.data.as_ptr()
    }
}

fn heap_layout<T>(len: usize) -> Option<Layout> {
    Layout::array::<T>(len).ok()?.align_to(ALIGNMENT).ok()
}

impl<T> Deref for AlignedBuffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: `filled` initialised `len` elements.
        unsafe { std::slice::from_raw_parts(self.data.as_ptr(), self.len) }
    }
}

impl<T> DerefMut for AlignedBuffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as in `deref`, and the buffer is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.data.as_ptr(), self.len) }
    }
}

impl<T> Drop for AlignedBuffer<T> {
    fn drop(&mut self) {
        if let Some(layout) = heap_layout::<T>(self.len).filter(|layout| layout.size() > 0) {
            // SAFETY: `filled` allocated it with the same layout; the elements are `Copy` and need no drop.
            unsafe { dealloc(self.data.as_ptr().cast(), layout) };
        }
    }
}
