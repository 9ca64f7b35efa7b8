//! What the function of a kernel takes: a tensor of its element type, wherever it is.

use std::fmt;
use std::marker::PhantomData;

use super::arg::Arg;
#[cfg(feature = "cuda")]
use super::cuda::{CudaTensor, CudaView, CudaViewMut};
use super::element::Element;
use super::owned::Tensor;
use super::view::TensorRef;
use super::view_mut::TensorMut;

/// A tensor that a kernel reads: a [`Tensor`], a [`TensorRef`], or, with the feature `cuda`, a `CudaTensor` or a
/// `CudaView`.
pub struct Input<'a, T> {
    arg: Arg<'a>,
    elements: PhantomData<&'a [T]>,
}

/// A tensor that a kernel writes: a [`Tensor`], a [`TensorMut`], or, with the feature `cuda`, a `CudaTensor` or a
/// `CudaViewMut`.
pub struct Output<'a, T> {
    arg: Arg<'a>,
    elements: PhantomData<&'a mut [T]>,
}

/// Either is an argument of a call, with the type of its elements.
macro_rules! arguments {
    ($($operand:ident)*) => {$(
        impl<'a, T> From<$operand<'a, T>> for Arg<'a> {
            fn from(operand: $operand<'a, T>) -> Self {
                operand.arg
            }
        }

        impl<T> fmt::Debug for $operand<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.arg.fmt(f)
            }
        }
    )*};
}

arguments!(Input Output);

/// One line says how a tensor becomes an operand.
macro_rules! operands {
    ($($operand:ident from $tensor:ty: |$value:ident| $arg:expr;)*) => {$(
        impl<'a, T: Element> From<$tensor> for $operand<'a, T> {
            fn from($value: $tensor) -> Self {
                $operand { arg: $arg, elements: PhantomData }
            }
        }
    )*};
}

operands! {
    Input from TensorRef<'a, T>: |tensor| tensor.into();
    Input from &TensorRef<'a, T>: |tensor| TensorRef::from(tensor).into();
    Input from &'a TensorMut<'_, T>: |tensor| tensor.as_ref().into();
    Input from &'a Tensor<T>: |tensor| tensor.view().into();
    Output from TensorMut<'a, T>: |tensor| tensor.into();
    Output from &'a mut TensorMut<'_, T>: |tensor| tensor.reborrow().into();
    Output from &'a mut Tensor<T>: |tensor| tensor.view_mut().into();
}

#[cfg(feature = "cuda")]
operands! {
    Input from CudaView<'a, T>: |tensor| tensor.into_arg();
    Input from &'a CudaView<'_, T>: |tensor| tensor.reborrow().into_arg();
    Input from &'a CudaViewMut<'_, T>: |tensor| tensor.as_ref().into_arg();
    Input from &'a CudaTensor<T>: |tensor| tensor.view().into_arg();
    Output from CudaViewMut<'a, T>: |tensor| tensor.into_arg();
    Output from &'a mut CudaViewMut<'_, T>: |tensor| tensor.reborrow().into_arg();
    Output from &'a mut CudaTensor<T>: |tensor| tensor.view_mut().into_arg();
}
