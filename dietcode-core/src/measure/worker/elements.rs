//! The elements of a tensor, whatever their type, as `f64`.

use std::borrow::Cow;

use dietcode_syntax::DType;
use half::{bf16, f16};

/// Borrowed elements.
pub(super) enum Elements<'a> {
    F32(&'a mut [f32]),
    F16(&'a mut [f16]),
    BF16(&'a mut [bf16]),
    F64(&'a mut [f64]),
    U8(&'a mut [u8]),
    I8(&'a mut [i8]),
    I32(&'a mut [i32]),
}

impl<'a> Elements<'a> {
    /// What lies somewhere in memory.
    ///
    /// # Safety
    /// `data` must be aligned for the type and `len` elements be readable and writable through this value alone for `'a`.
    /// Every bit pattern is an element.
    pub(super) unsafe fn at(data: *mut u8, dtype: DType, len: usize) -> Elements<'a> {
        // SAFETY: as the caller vouches.
        unsafe {
            match dtype {
                DType::F32 => Elements::F32(std::slice::from_raw_parts_mut(data.cast(), len)),
                DType::F16 => Elements::F16(std::slice::from_raw_parts_mut(data.cast(), len)),
                DType::BF16 => Elements::BF16(std::slice::from_raw_parts_mut(data.cast(), len)),
                DType::F64 => Elements::F64(std::slice::from_raw_parts_mut(data.cast(), len)),
                DType::U8 => Elements::U8(std::slice::from_raw_parts_mut(data.cast(), len)),
                DType::I8 => Elements::I8(std::slice::from_raw_parts_mut(data.cast(), len)),
                DType::I32 => Elements::I32(std::slice::from_raw_parts_mut(data.cast(), len)),
            }
        }
    }

    /// Replaces them, each rounded to the type.
    pub(super) fn store(self, values: impl IntoIterator<Item = f64>) {
        fn fill<T>(elements: &mut [T], values: impl IntoIterator<Item = f64>, round: fn(f64) -> T) {
            elements.iter_mut().zip(values).for_each(|(element, value)| *element = round(value));
        }
        match self {
            Elements::F32(elements) => fill(elements, values, |value| value as f32),
            Elements::F16(elements) => fill(elements, values, f16::from_f64),
            Elements::BF16(elements) => fill(elements, values, bf16::from_f64),
            Elements::F64(elements) => fill(elements, values, |value| value),
            Elements::U8(elements) => fill(elements, values, |value| value as u8),
            Elements::I8(elements) => fill(elements, values, |value| value as i8),
            Elements::I32(elements) => fill(elements, values, |value| value as i32),
        }
    }

    /// Their values.
    pub(super) fn values(self) -> Cow<'a, [f64]> {
        match self {
            Elements::F64(elements) => Cow::Borrowed(elements),
            Elements::F32(elements) => elements.iter().copied().map(f64::from).collect(),
            Elements::F16(elements) => elements.iter().copied().map(f64::from).collect(),
            Elements::BF16(elements) => elements.iter().copied().map(f64::from).collect(),
            Elements::U8(elements) => elements.iter().copied().map(f64::from).collect(),
            Elements::I8(elements) => elements.iter().copied().map(f64::from).collect(),
            Elements::I32(elements) => elements.iter().copied().map(f64::from).collect(),
        }
    }
}
