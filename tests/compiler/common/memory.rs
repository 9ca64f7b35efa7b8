//! A tensor's memory: elements of any type, read and written as `f64`. Integers have no NaN: there it is a number that no test expects.

use std::ffi::c_void;

use dietcode_syntax::DType;
use half::{bf16, f16};

/// Elements in a row; two of 16 bits share a word, the first in its low half, as do four of 8, and one of 64 has two, as they lie on a
/// little-endian machine.
pub(crate) struct Memory {
    dtype: DType,
    words: Vec<u32>,
    len: usize,
}

impl Memory {
    pub(crate) fn filled(dtype: DType, len: usize, value: f64) -> Memory {
        let words = vec![0; len * (dtype.bytes() as usize).div_ceil(4)];
        let mut memory = Memory { dtype, words, len };
        (0..len).for_each(|at| memory.set(at, value));
        memory
    }

    pub(crate) fn get(&self, at: usize) -> f64 {
        let half = |at: usize| (self.words[at / 2] >> (16 * (at % 2))) as u16;
        let byte = |at: usize| (self.words[at / 4] >> (8 * (at % 4))) as u8;
        match self.dtype {
            DType::F32 => f32::from_bits(self.words[at]).into(),
            DType::F16 => f16::from_bits(half(at)).to_f64(),
            DType::BF16 => bf16::from_bits(half(at)).to_f64(),
            DType::U8 => byte(at).into(),
            DType::I8 => (byte(at) as i8).into(),
            DType::I32 => (self.words[at] as i32).into(),
            DType::F64 => f64::from_bits(u64::from(self.words[2 * at]) | u64::from(self.words[2 * at + 1]) << 32),
        }
    }

    pub(crate) fn set(&mut self, at: usize, value: f64) {
        let bits = match self.dtype {
            DType::F32 => return self.words[at] = (value as f32).to_bits(),
            DType::F64 => {
                let bits = value.to_bits();
                return self.words[2 * at..2 * at + 2].copy_from_slice(&[bits as u32, (bits >> 32) as u32]);
            }
            DType::I32 => return self.words[at] = if value.is_nan() { 0x8012_3457 } else { value as i64 as u32 },
            DType::U8 | DType::I8 => {
                let (bits, shift) = (if value.is_nan() { 0x55 } else { value as i64 as u8 }, 8 * (at % 4));
                return self.words[at / 4] = self.words[at / 4] & !(0xff << shift) | u32::from(bits) << shift;
            }
            DType::F16 => f16::from_f64(value).to_bits(),
            DType::BF16 => bf16::from_f64(value).to_bits(),
        };
        let shift = 16 * (at % 2);
        self.words[at / 2] = self.words[at / 2] & !(0xffff << shift) | u32::from(bits) << shift;
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = f64> {
        (0..self.len).map(|at| self.get(at))
    }

    /// Memory that nobody may touch: at its address there is none, on any machine of 64 bits.
    pub(crate) fn unmapped(dtype: DType) -> Memory {
        Memory { dtype, words: Vec::new(), len: 0 }
    }

    /// Bytes between guards of so many elements on both sides; of memory that is unmapped none.
    pub(crate) fn bytes_between(&self, guard: usize) -> u64 {
        self.len.saturating_sub(2 * guard) as u64 * self.dtype.bytes() as u64
    }

    /// Whether it is such.
    pub(crate) fn is_unmapped(&self) -> bool {
        self.len == 0
    }

    /// Where an element lies.
    pub(crate) fn pointer(&mut self, at: usize) -> *mut c_void {
        if self.len == 0 {
            return std::ptr::without_provenance_mut(1 << 62);
        }
        assert!(at < self.len);
        // SAFETY: the element lies inside of the words.
        unsafe { self.words.as_mut_ptr().byte_add(at * self.dtype.bytes() as usize).cast() }
    }
}

/// The nearest number of a type.
pub(crate) fn rounded(dtype: DType, value: f64) -> f64 {
    Memory::filled(dtype, 1, value).get(0)
}
