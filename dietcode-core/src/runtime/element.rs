//! The types that elements of tensors have.

use std::fmt;

use half::{bf16, f16};

/// An element type, as a value. The front end has one of its own, for a program that calls kernels has no front end in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DType {
    /// IEEE 754 binary32.
    F32,
    /// IEEE 754 binary16: 11 significant bits, up to 65504.
    F16,
    /// The upper half of a binary32: 8 significant bits, the range of [`DType::F32`].
    BF16,
    /// IEEE 754 binary64.
    F64,
    /// An unsigned integer of 8 bits.
    U8,
    /// A signed integer of 8 bits.
    I8,
    /// A signed integer of 32 bits.
    I32,
}

impl DType {
    /// The size of an element.
    pub const fn bytes(self) -> usize {
        match self {
            DType::F32 | DType::I32 => 4,
            DType::F16 | DType::BF16 => 2,
            DType::F64 => 8,
            DType::U8 | DType::I8 => 1,
        }
    }

    /// Whether its numbers are integers.
    pub const fn is_integer(self) -> bool {
        matches!(self, DType::U8 | DType::I8 | DType::I32)
    }
}

impl fmt::Display for DType {
    /// The name of the Rust type.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DType::F32 => "f32",
            DType::F16 => "f16",
            DType::BF16 => "bf16",
            DType::F64 => "f64",
            DType::U8 => "u8",
            DType::I8 => "i8",
            DType::I32 => "i32",
        })
    }
}

/// A Rust type that elements of a kernel's tensors may have. It is sealed: a kernel's code has these types and no others.
pub trait Element: sealed::Sealed + Copy + Default + Send + Sync + 'static {
    /// The type as a value.
    const DTYPE: DType;
}

impl Element for f32 {
    const DTYPE: DType = DType::F32;
}

impl Element for f16 {
    const DTYPE: DType = DType::F16;
}

impl Element for bf16 {
    const DTYPE: DType = DType::BF16;
}

impl Element for f64 {
    const DTYPE: DType = DType::F64;
}

impl Element for u8 {
    const DTYPE: DType = DType::U8;
}

impl Element for i8 {
    const DTYPE: DType = DType::I8;
}

impl Element for i32 {
    const DTYPE: DType = DType::I32;
}

mod sealed {
    #[cfg(not(feature = "cuda"))]
    pub trait Sealed {}
    /// The driver has to know the type too, to copy it to a device.
    #[cfg(feature = "cuda")]
    pub trait Sealed: cudarc::driver::DeviceRepr {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
    impl Sealed for u8 {}
    impl Sealed for i8 {}
    impl Sealed for i32 {}
    impl Sealed for half::f16 {}
    impl Sealed for half::bf16 {}
}
