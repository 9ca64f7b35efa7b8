//! An argument of a call, a tensor of whatever element type or a scalar: what the checks and the launch need to know of it.

use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;

use super::cuda::memory::Memory;
use super::element::{DType, Element};
use super::layout::Layout;
use super::prepared::Nest;
use super::view::TensorRef;
use super::view_mut::TensorMut;
use crate::{Error, Result};

/// A tensor of a call, made from a [`TensorRef`] (an input) or a [`TensorMut`] (the output), or from a view of device memory;
/// or a scalar, made from an `f32`, an `f64` or an `i32`, which goes wherever the tensors are.
pub struct Arg<'a> {
    dtype: DType,
    value: Value,
    layout: Layout,
    mutable: bool,
    memory: Memory<'a>,
    lifetime: PhantomData<&'a mut ()>,
}

/// What a kernel is handed.
#[derive(Clone, Copy)]
pub(super) enum Value {
    /// The address of a tensor's first element, in the argument's memory. It is written through only if that is mutable.
    Tensor(*mut c_void),
    /// The scalar itself.
    Scalar(Scalar),
    /// The address of the first of so many bytes, a tensor as it was laid out for a parameter of a nest.
    Prepared(*mut c_void, usize, Nest),
}

/// A scalar, of a type that nests compute in.
#[derive(Clone, Copy, Debug)]
pub(super) enum Scalar {
    F32(f32),
    F64(f64),
    I32(i32),
}

impl Scalar {
    /// Where its bits are: in the value itself.
    pub(super) fn address(&self) -> *mut c_void {
        match self {
            Scalar::F32(scalar) => std::ptr::from_ref(scalar).cast_mut().cast(),
            Scalar::F64(scalar) => std::ptr::from_ref(scalar).cast_mut().cast(),
            Scalar::I32(scalar) => std::ptr::from_ref(scalar).cast_mut().cast(),
        }
    }

    /// Its value.
    pub(super) fn value(self) -> f64 {
        match self {
            Scalar::F32(scalar) => scalar.into(),
            Scalar::F64(scalar) => scalar,
            Scalar::I32(scalar) => scalar.into(),
        }
    }
}

// SAFETY: it stands for a view of elements that are `Send` and `Sync`, as `Element` demands.
unsafe impl Send for Arg<'_> {}
// SAFETY: as above.
unsafe impl Sync for Arg<'_> {}

impl Arg<'_> {
    /// The type of its elements, or of the scalar.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Whether it is one value, and no tensor.
    pub fn is_scalar(&self) -> bool {
        matches!(self.value, Value::Scalar(_))
    }

    /// The scalar, if it is one.
    pub(super) fn scalar(&self) -> Option<Scalar> {
        match self.value {
            Value::Scalar(scalar) => Some(scalar),
            Value::Tensor(_) | Value::Prepared(..) => None,
        }
    }

    /// What it was laid out for, if it was.
    pub(super) fn prepared_for(&self) -> Option<Nest> {
        match self.value {
            Value::Prepared(_, _, nest) => Some(nest),
            Value::Tensor(_) | Value::Scalar(_) => None,
        }
    }

    /// Whether there is nothing between the rows.
    pub(super) fn is_dense(&self) -> bool {
        self.layout.span() == self.layout.len()
    }

    /// Extents, outermost first; a scalar has none.
    pub fn shape(&self) -> &[usize] {
        self.layout.shape()
    }

    /// Distances in elements between neighbours, outermost dimension first; the last is 1.
    pub fn strides(&self) -> &[usize] {
        self.layout.strides()
    }

    /// Whether it is an output.
    pub fn is_mutable(&self) -> bool {
        self.mutable
    }

    /// Where its elements are.
    pub(super) fn memory(&self) -> &Memory<'_> {
        &self.memory
    }

    /// Bytes from its first element to the end of its last; 0 of a scalar.
    #[cfg(feature = "cuda")]
    pub(in crate::runtime) fn bytes(&self) -> usize {
        match &self.value {
            Value::Tensor(_) | Value::Prepared(..) => self.layout.span() * self.dtype.bytes(),
            Value::Scalar(_) => 0,
        }
    }

    /// Where a kernel finds the first element, or one for the CPU the scalar: that stands in the argument, which must stay where it is.
    pub(crate) fn data(&self) -> *mut c_void {
        match &self.value {
            Value::Tensor(data) | Value::Prepared(data, ..) => *data,
            Value::Scalar(scalar) => scalar.address(),
        }
    }

    /// The bytes from the first element to the end of the last; none of a scalar, which nothing else can overlap.
    pub(super) fn addresses(&self) -> Range<usize> {
        match self.value {
            Value::Tensor(data) => data.addr()..data.addr() + self.layout.span() * self.dtype.bytes(),
            Value::Prepared(data, bytes, _) => data.addr()..data.addr() + bytes,
            Value::Scalar(_) => 0..0,
        }
    }
}

/// Where the tensors of a call are: in one place, once the call has been checked.
#[cfg(feature = "cuda")]
pub(super) fn place<'m>(args: &'m [Arg<'_>]) -> Option<&'m Memory<'m>> {
    args.iter().find(|arg| !arg.is_scalar()).map(Arg::memory)
}

impl<'a> Arg<'a> {
    /// A tensor that starts at `data`.
    pub(super) fn new(dtype: DType, data: *mut c_void, layout: Layout, mutable: bool, memory: Memory<'a>) -> Self {
        Arg { dtype, value: Value::Tensor(data), layout, mutable, memory, lifetime: PhantomData }
    }

    fn of_scalar(dtype: DType, scalar: Scalar) -> Self {
        let (value, layout, memory) = (Value::Scalar(scalar), Layout::SCALAR, Memory::HOST);
        Arg { dtype, value, layout, mutable: false, memory, lifetime: PhantomData }
    }

    /// A tensor that was laid out for a parameter, of an element type and a layout before that.
    pub(super) fn prepared<T>(dtype: DType, data: &'a [T], layout: Layout, nest: Nest) -> Self {
        let value = Value::Prepared(data.as_ptr().cast_mut().cast(), size_of_val(data), nest);
        Arg { dtype, value, layout, mutable: false, memory: Memory::HOST, lifetime: PhantomData }
    }

    /// The same tensor, or scalar, for a shorter time.
    pub(super) fn reborrow(&mut self) -> Arg<'_> {
        Arg { memory: self.memory.reborrow(), lifetime: PhantomData, ..*self }
    }

    /// A tensor like this one, whose elements are at other places, in a memory.
    pub(super) fn elsewhere(&self, data: *mut c_void, memory: Memory<'static>) -> Arg<'static> {
        let value = match self.value {
            Value::Prepared(_, bytes, nest) => Value::Prepared(data, bytes, nest),
            Value::Tensor(_) | Value::Scalar(_) => Value::Tensor(data),
        };
        Arg { dtype: self.dtype, value, layout: self.layout, mutable: self.mutable, memory, lifetime: PhantomData }
    }

    /// The first element and the layout, if it is a tensor of `T`s in host memory that may be written, if it shall be.
    fn host_tensor<T: Element>(&self, written: bool) -> Result<(*mut T, Layout)> {
        match self.value {
            Value::Tensor(data) if self.dtype == T::DTYPE && self.memory.is_host() && (self.mutable || !written) => {
                Ok((data.cast(), self.layout))
            }
            Value::Prepared(..) => {
                Err(Error::unsupported("what was laid out before the call is read by the kernel's own code only"))
            }
            _ => Err(Error::input(format!(
                "{self:?} {} is no tensor of {} in host memory{}",
                self.memory,
                T::DTYPE,
                if written { " that may be written" } else { "" }
            ))),
        }
    }
}

impl<'a, T: Element> TryFrom<Arg<'a>> for TensorRef<'a, T> {
    type Error = Error;

    /// The tensor, if its elements are of that type and in host memory.
    fn try_from(arg: Arg<'a>) -> Result<Self> {
        arg.host_tensor(false).map(|(data, layout)| TensorRef::from_layout(data, layout))
    }
}

impl<'a, T: Element> TryFrom<Arg<'a>> for TensorMut<'a, T> {
    type Error = Error;

    /// The output, if its elements are of that type and in host memory.
    fn try_from(arg: Arg<'a>) -> Result<Self> {
        arg.host_tensor(true).map(|(data, layout)| TensorMut::from_layout(data, layout))
    }
}

/// What a launch on a device hands over, and what views of device memory, arguments of a known element type, are made of.
#[cfg(feature = "cuda")]
impl<'a> Arg<'a> {
    pub(super) fn value(&self) -> Value {
        self.value
    }

    pub(super) fn memory_mut(&mut self) -> &mut Memory<'a> {
        &mut self.memory
    }

    /// The same, if it is a tensor of `T`s on a device that may be written, if it shall be.
    pub(in crate::runtime) fn device_tensor<T: Element>(self, written: bool) -> Result<Arg<'a>> {
        let is_tensor = matches!(self.value, Value::Tensor(_)) && self.dtype == T::DTYPE;
        if is_tensor && !self.memory.is_host() && (self.mutable || !written) {
            return Ok(Arg { mutable: written, ..self });
        }
        let (dtype, written) = (T::DTYPE, if written { " that may be written" } else { "" });
        Err(Error::input(format!("{self:?} {} is no tensor of {dtype} on a device{written}", self.memory)))
    }

    /// The same tensor for reading.
    pub(super) fn shared(&self) -> Arg<'_> {
        Arg { mutable: false, memory: self.memory.shared(), lifetime: PhantomData, ..*self }
    }

    /// The part of it whose index in dimension `dim` is in a range.
    pub(super) fn narrow(self, dim: usize, range: Range<usize>) -> Result<Arg<'a>> {
        let (offset, layout) = self.layout.narrow(dim, range)?;
        let value = match self.value {
            Value::Tensor(data) => Value::Tensor(data.wrapping_byte_add(offset * self.dtype.bytes())),
            other @ (Value::Scalar(_) | Value::Prepared(..)) => other,
        };
        Ok(Arg { value, layout, ..self })
    }
}

impl<'a, T: Element> From<TensorRef<'a, T>> for Arg<'a> {
    fn from(tensor: TensorRef<'a, T>) -> Self {
        Arg::new(T::DTYPE, tensor.as_ptr().cast_mut().cast(), *tensor.layout(), false, Memory::HOST)
    }
}

impl<'a, T: Element> From<TensorMut<'a, T>> for Arg<'a> {
    fn from(mut tensor: TensorMut<'a, T>) -> Self {
        Arg::new(T::DTYPE, tensor.as_mut_ptr().cast(), *tensor.layout(), true, Memory::HOST)
    }
}

/// Scalars, by the types that nests compute in.
macro_rules! scalars {
    ($($DType:ident $T:ident)*) => {$(
        impl From<$T> for Arg<'_> {
            fn from(scalar: $T) -> Self {
                Arg::of_scalar(DType::$DType, Scalar::$DType(scalar))
            }
        }

        impl TryFrom<Arg<'_>> for $T {
            type Error = Error;

            /// The scalar, if it is one of that type.
            fn try_from(arg: Arg<'_>) -> Result<$T> {
                match arg.scalar() {
                    Some(Scalar::$DType(scalar)) => Ok(scalar),
                    _ => Err(Error::input(format!("{arg:?} is no scalar of {}", DType::$DType))),
                }
            }
        }
    )*};
}

scalars!(F32 f32 F64 f64 I32 i32);

impl fmt::Debug for Arg<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.value {
            Value::Scalar(Scalar::F32(scalar)) => return write!(f, "Arg {{ scalar: {scalar:?} }}"),
            Value::Scalar(Scalar::F64(scalar)) => return write!(f, "Arg {{ scalar: {scalar:?} }}"),
            Value::Scalar(Scalar::I32(scalar)) => return write!(f, "Arg {{ scalar: {scalar:?} }}"),
            Value::Tensor(_) | Value::Prepared(..) => {}
        }
        let (shape, strides) = (self.shape(), self.strides());
        write!(f, "Arg {{ dtype: {}, shape: {shape:?}, strides: {strides:?}, mutable: {} }}", self.dtype, self.mutable)
    }
}
