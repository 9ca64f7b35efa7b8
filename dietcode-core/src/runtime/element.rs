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
    /// Whether its numbers are integers.
    pub const fn is_integer(self) -> bool {
        matches!(self, DType::U8 | DType::I8 | DType::I32)
    }
}

/// A Rust type that elements of a kernel's tensors may have. It is sealed: a kernel's code has these types and no others.
pub trait Element: sealed::Sealed + Copy + Default + Send + Sync + 'static {
    /// The type as a value.
    const DTYPE: DType;
}

/// An element type to whose elements numbers are rounded.
pub(crate) trait Rounded: Sized {
    /// The nearest element to a number.
    fn of(value: f64) -> Self;

    fn value(self) -> f64;
}

/// Each element type with the Rust type that it is, and how a number is rounded to that.
macro_rules! elements {
    ($($DType:ident $T:ident $of:expr;)+) => {
        impl DType {
            /// The size of an element.
            pub const fn bytes(self) -> usize {
                match self {
                    $(DType::$DType => size_of::<$T>(),)+
                }
            }
        }

        impl fmt::Display for DType {
            /// The name of the Rust type.
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self {
                    $(DType::$DType => stringify!($T),)+
                })
            }
        }

        $(
            impl Element for $T {
                const DTYPE: DType = DType::$DType;
            }

            impl sealed::Sealed for $T {}

            impl Rounded for $T {
                fn of(value: f64) -> Self {
                    $of(value)
                }

                fn value(self) -> f64 {
                    self.into()
                }
            }
        )+
    };
}

elements! {
    F32 f32 |value| value as f32;
    F16 f16 f16::from_f64;
    BF16 bf16 bf16::from_f64;
    F64 f64 |value| value;
    U8 u8 |value| value as u8;
    I8 i8 |value| value as i8;
    I32 i32 |value| value as i32;
}

/// An expression in which a name stands for the Rust type of an element type, which is a value of this module's enumeration or of the front
/// end's.
macro_rules! of_element {
    ($DType:ident, $dtype:expr, $T:ident => $e:expr) => {
        match $dtype {
            $DType::F32 => $crate::runtime::element::of_element!(f32, $T => $e),
            $DType::F16 => $crate::runtime::element::of_element!(::half::f16, $T => $e),
            $DType::BF16 => $crate::runtime::element::of_element!(::half::bf16, $T => $e),
            $DType::F64 => $crate::runtime::element::of_element!(f64, $T => $e),
            $DType::U8 => $crate::runtime::element::of_element!(u8, $T => $e),
            $DType::I8 => $crate::runtime::element::of_element!(i8, $T => $e),
            $DType::I32 => $crate::runtime::element::of_element!(i32, $T => $e),
        }
    };
    ($type:ty, $T:ident => $e:expr) => {{
        type $T = $type;
        $e
    }};
}

pub(crate) use of_element;

pub(crate) mod sealed {
    /// The driver has to know the type too, to copy it to a device.
    #[cfg(feature = "cuda")]
    use cudarc::driver::DeviceRepr;

    #[cfg(not(feature = "cuda"))]
    pub trait DeviceRepr {}
    #[cfg(not(feature = "cuda"))]
    impl<T> DeviceRepr for T {}

    pub trait Sealed: DeviceRepr {}
}
