//! Kernels as custom operations of candle's tensors.
//!
//! ```text
//! use dietcode_core::runtime::candle::CustomOp;
//!
//! // dense(x: &[[f32; K]; M], w: &[[f32; K]; N], y: &mut [[f32; N]; M])
//! let y = x.apply_op2(&w, CustomOp::new(&dense::KERNEL))?;
//! ```
//!
//! A call reads candle's memory where it is, by the strides and from the offset that the tensor has, and its output, of the kernel's element type, is
//! contiguous. What is wrong with its tensors is the error of any call of the kernel, as candle's. Tensors of a kernel are row-major: the
//! last stride is 1, and rows do not overlap. Slices of rows, columns and batches are such tensors; those that are transposed or
//! broadcast are an error, unless the operation is told to copy them ([`CustomOp::with_copies`]).
//!
//! With the feature `candle-cuda` the same operation runs on CUDA devices, if the kernel was built for them, on the stream of candle's
//! device; with `candle` alone that is candle's error, as it is on Metal.
#[cfg(feature = "candle-cuda")]
mod cuda;

use std::sync::Arc;

#[cfg(feature = "candle-cuda")]
use candle_core::CudaStorage;
use candle_core::backend::{BackendDevice, BackendStorage};
use candle_core::{CpuStorage, Layout, Shape, Tensor};

use super::arg::Arg;
use super::element::{DType, Element};
use super::kernel::Kernel;
use super::layout;
use super::prepared::Prepared;
use super::signature::Param;
use super::view::TensorRef;
use super::view_mut::TensorMut;
use crate::{Error, Result};

/// A kernel as an operation of candle's on `N` tensors: candle's `CustomOp1`, `CustomOp2` or `CustomOp3`, which make the output, and its
/// `InplaceOp1`, `InplaceOp2` or `InplaceOp3` with `N` of 0, 1 or 2, which write into the tensor that they are applied to.
///
/// The tensors stand for the kernel's inputs in the order of its parameters, without those that [`with`](CustomOp::with) gives. The shape of
/// the output follows from theirs. It is zeros before the kernel writes it: one that reads its output, as `beta * y[i][j]` does,
/// or leaves some of it as it is, has its use in place.
#[derive(Clone)]
pub struct CustomOp<const N: usize> {
    kernel: &'static Kernel,
    /// What every call passes, by parameter.
    fixed: Vec<Option<Arc<dyn Fixed>>>,
    output_shape: Option<Vec<usize>>,
    copies: bool,
    backward: Option<Arc<Backward<N>>>,
}

/// What [`CustomOp::with_backward`] takes.
type Backward<const N: usize> =
    dyn Fn([&Tensor; N], &Tensor, &Tensor) -> candle_core::Result<[Option<Tensor>; N]> + Send + Sync;

/// What an operation holds for a parameter of its kernel: a scalar, or an operand that was laid out for it.
pub trait Fixed: Send + Sync {
    /// The argument of a call.
    fn arg(&self) -> Arg<'_>;
}

macro_rules! fixed {
    ($($T:ident)*) => {$(
        impl Fixed for $T {
            fn arg(&self) -> Arg<'_> {
                Arg::from(*self)
            }
        }
    )*};
}

fixed!(f32 f64 i32);

impl<T: Element> Fixed for Prepared<T> {
    fn arg(&self) -> Arg<'_> {
        Arg::from(self)
    }
}

impl<const N: usize> CustomOp<N> {
    /// The operation that calls a kernel, `&dense::KERNEL`.
    pub fn new(kernel: &'static Kernel) -> Self {
        let fixed = vec![None; kernel.signature.params.len()];
        CustomOp { kernel, fixed, output_shape: None, copies: false, backward: None }
    }

    /// Has every call pass this for a parameter, which then is none of the operation's tensors: a scalar, or what
    /// `dense::prepare_w` has laid out. Whether it is what the kernel takes, each call checks.
    ///
    /// # Errors
    /// [`Input`](crate::ErrorKind::Input) if the kernel has no input of that name.
    pub fn with(mut self, parameter: &str, value: impl Fixed + 'static) -> Result<Self> {
        let params = self.kernel.signature.params;
        let Some(at) = params.iter().position(|param| param.name == parameter && !param.mutable) else {
            let inputs = params.iter().filter(|param| !param.mutable).map(|param| param.name);
            let why = format!("there is no input `{parameter}`; its inputs are {}", list(inputs));
            return Err(self.kernel.signature.error(&why));
        };
        self.fixed[at] = Some(Arc::new(value));
        Ok(self)
    }

    /// The extents of the output, outermost first, where they do not follow from the inputs': a dimension of the output may be all that says
    /// what a shape variable is.
    #[must_use]
    pub fn with_output_shape(mut self, shape: &[usize]) -> Self {
        self.output_shape = Some(shape.to_vec());
        self
    }

    /// Has inputs that are not row-major copied before the kernel runs, by candle: such as are transposed, or broadcast.
    #[must_use]
    pub fn with_copies(mut self) -> Self {
        self.copies = true;
        self
    }

    /// How gradients go through the operation: of its tensors, its result and the gradient of the result, the gradient of each of its tensors, or
    /// `None` for one that needs none. Without it, what asks for a gradient has candle's error, `BackwardNotSupported`.
    #[must_use]
    pub fn with_backward<F>(mut self, backward: F) -> Self
    where
        F: Fn([&Tensor; N], &Tensor, &Tensor) -> candle_core::Result<[Option<Tensor>; N]> + Send + Sync + 'static,
    {
        self.backward = Some(Arc::new(backward));
        self
    }

    fn backward(&self, args: [&Tensor; N], result: &Tensor, grad: &Tensor) -> candle_core::Result<[Option<Tensor>; N]> {
        match &self.backward {
            Some(backward) => backward(args, result, grad),
            None => Err(candle_core::Error::BackwardNotSupported { op: self.kernel.name() }.bt()),
        }
    }

    /// Makes the output.
    fn forward<S: Storage>(&self, inputs: [(&S, &Layout); N]) -> candle_core::Result<(S, Shape)> {
        let signature = &self.kernel.signature;
        let copies = self.copies(inputs)?;
        let args = self.args(inputs, &copies)?;
        let dims = match &self.output_shape {
            Some(shape) => shape.clone(),
            None => signature.output_shape(&args)?,
        };
        // Candle multiplies extents, and elements by their size, without a check.
        let elements = layout::Layout::row_major(&dims)?.shape().iter().product::<usize>();
        if elements > isize::MAX as usize / size_of::<f64>() {
            return Err(signature.error(&format!("an output of shape {dims:?} is too large for memory")).into());
        }
        let shape = Shape::from(dims);
        let dtype = match signature.output().map(|output| signature.params[output].dtype) {
            Some(DType::F16) => candle_core::DType::F16,
            Some(DType::BF16) => candle_core::DType::BF16,
            Some(DType::F64) => candle_core::DType::F64,
            Some(DType::U8) => candle_core::DType::U8,
            Some(DType::I32) => candle_core::DType::I32,
            Some(DType::I8) => return Err(signature.error("candle has no tensors of i8").into()),
            Some(DType::F32) | None => candle_core::DType::F32,
        };
        let mut result = inputs[0].0.device().zeros_impl(&shape, dtype)?;
        self.call(args, &mut result, &Layout::contiguous(&shape))?;
        Ok((result, shape))
    }

    /// Writes into an output that is there.
    fn forward_into<S: Storage>(
        &self,
        storage: &mut S,
        layout: &Layout,
        inputs: [(&S, &Layout); N],
    ) -> candle_core::Result<()> {
        let copies = self.copies(inputs)?;
        Ok(self.call(self.args(inputs, &copies)?, storage, layout)?)
    }

    /// Dense copies of the inputs that need one, if the operation makes them.
    fn copies<S: Storage>(&self, inputs: [(&S, &Layout); N]) -> candle_core::Result<Vec<Option<(S, Layout)>>> {
        let copy = |(storage, layout): (&S, &Layout)| {
            if !self.copies || row_major(layout).is_ok() {
                return Ok(None);
            }
            let mut copy = storage.device().zeros_impl(layout.shape(), storage.dtype())?;
            storage.copy_strided_src(&mut copy, 0, layout)?;
            Ok(Some((copy, Layout::contiguous(layout.shape()))))
        };
        inputs.into_iter().map(copy).collect()
    }

    /// The arguments of a call but its output, in the order of the parameters.
    fn args<'a, S: Storage>(
        &'a self,
        inputs: [(&'a S, &Layout); N],
        copies: &'a [Option<(S, Layout)>],
    ) -> Result<Vec<Arg<'a>>> {
        let signature = &self.kernel.signature;
        let params = || signature.params.iter().zip(&self.fixed).filter(|(param, _)| !param.mutable);
        let free = params().filter(|(_, fixed)| fixed.is_none()).map(|(param, _)| param.name);
        if free.clone().count() != N {
            let why = format!("an operation on {N} tensors is none on {}, which `with` can give it", list(free));
            return Err(signature.error(&why));
        }
        let mut tensors = inputs.into_iter().zip(copies);
        let mut args = Vec::with_capacity(signature.params.len());
        for (param, fixed) in params() {
            args.push(match fixed {
                Some(fixed) => fixed.arg(),
                None => {
                    let (given, copy) = tensors.next().expect("there are as many as were counted");
                    let (storage, layout) = copy.as_ref().map_or(given, |(copy, layout)| (copy, layout));
                    let arg = row_major(layout).and_then(|dense| storage.input(layout.start_offset(), dense));
                    self.told(param, storage.dtype(), arg)?
                }
            });
        }
        Ok(args)
    }

    /// Calls the kernel with these and its output.
    fn call<'a, S: Storage>(&self, mut args: Vec<Arg<'a>>, storage: &'a mut S, layout: &Layout) -> Result<()> {
        if let Some(output) = self.kernel.signature.output() {
            let dtype = storage.dtype();
            let arg = row_major(layout).and_then(|dense| storage.output(layout.start_offset(), dense));
            args.insert(output, self.told(&self.kernel.signature.params[output], dtype, arg)?);
        }
        self.kernel.call(&mut args)
    }

    /// A tensor as an argument, or what is wrong with it, of which kernel and parameter.
    fn told<'a>(&self, param: &Param, found: candle_core::DType, arg: Result<Option<Arg<'a>>>) -> Result<Arg<'a>> {
        match arg {
            Ok(Some(arg)) => Ok(arg),
            Ok(None) => Err(self.kernel.signature.other_elements(param, found.as_str())),
            Err(e) => Err(self.kernel.signature.error(&format!("`{}`: {e}", param.name))),
        }
    }
}

fn row_major(layout: &Layout) -> Result<layout::Layout> {
    let remedy = "call `contiguous()` on it, or have the operation copy it by `with_copies`";
    layout::Layout::of_array(layout.dims(), layout.stride(), remedy)
}

fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    if names.is_empty() { "no input".to_owned() } else { names.join(", ") }
}

/// What a tensor of candle's is in, and how it becomes an argument: from an element on, in a layout; none if no kernel has elements of its type.
trait Storage: BackendStorage<Device: BackendDevice<Storage = Self>> {
    fn input(&self, start: usize, layout: layout::Layout) -> Result<Option<Arg<'_>>>;

    fn output(&mut self, start: usize, layout: layout::Layout) -> Result<Option<Arg<'_>>>;
}

/// An expression of the elements, of whichever type kernels have too; none for others.
macro_rules! stored {
    ($Storage:ident, $storage:expr, $data:ident => $arg:expr) => {
        match $storage {
            $Storage::F32($data) => $arg,
            $Storage::F16($data) => $arg,
            $Storage::BF16($data) => $arg,
            $Storage::F64($data) => $arg,
            $Storage::U8($data) => $arg,
            $Storage::I32($data) => $arg,
            _ => Ok(None),
        }
    };
}

#[cfg(feature = "candle-cuda")]
use stored;

impl Storage for CpuStorage {
    fn input(&self, start: usize, layout: layout::Layout) -> Result<Option<Arg<'_>>> {
        fn arg<T: Element>(data: &[T], start: usize, layout: layout::Layout) -> Result<Option<Arg<'_>>> {
            let data = data.get(start..).unwrap_or_default();
            layout.check_holds(data.len())?;
            Ok(Some(TensorRef::from_layout(data.as_ptr(), layout).into()))
        }
        stored!(CpuStorage, self, data => arg(data, start, layout))
    }

    fn output(&mut self, start: usize, layout: layout::Layout) -> Result<Option<Arg<'_>>> {
        fn arg<T: Element>(data: &mut [T], start: usize, layout: layout::Layout) -> Result<Option<Arg<'_>>> {
            let data = data.get_mut(start..).unwrap_or_default();
            layout.check_holds(data.len())?;
            Ok(Some(TensorMut::from_layout(data.as_mut_ptr(), layout).into()))
        }
        stored!(CpuStorage, self, data => arg(data, start, layout))
    }
}

impl From<Error> for candle_core::Error {
    fn from(error: Error) -> Self {
        candle_core::Error::wrap(error)
    }
}

/// An operation that makes its output, on so many tensors.
macro_rules! operations {
    ($($n:literal $custom:ident($($storage:ident $layout:ident $arg:ident),+) -> $gradients:ty;)*) => {$(
        impl candle_core::$custom for CustomOp<$n> {
            fn name(&self) -> &'static str {
                self.kernel.name()
            }

            fn cpu_fwd(
                &self,
                $($storage: &CpuStorage, $layout: &Layout),+
            ) -> candle_core::Result<(CpuStorage, Shape)> {
                self.forward([$(($storage, $layout)),+])
            }

            #[cfg(feature = "candle-cuda")]
            fn cuda_fwd(
                &self,
                $($storage: &CudaStorage, $layout: &Layout),+
            ) -> candle_core::Result<(CudaStorage, Shape)> {
                self.forward([$(($storage, $layout)),+])
            }

            fn bwd(&self, $($arg: &Tensor,)+ result: &Tensor, grad: &Tensor) -> candle_core::Result<$gradients> {
                let [$($arg),+] = self.backward([$($arg),+], result, grad)?;
                Ok(($($arg),+))
            }
        }
    )*};
}

operations! {
    1 CustomOp1(s1 l1 x1) -> Option<Tensor>;
    2 CustomOp2(s1 l1 x1, s2 l2 x2) -> (Option<Tensor>, Option<Tensor>);
    3 CustomOp3(s1 l1 x1, s2 l2 x2, s3 l3 x3) -> (Option<Tensor>, Option<Tensor>, Option<Tensor>);
}

/// An operation that writes into the tensor that it is applied to, of so many inputs.
macro_rules! operations_in_place {
    ($($n:literal $in_place:ident($($storage:ident $layout:ident),*);)*) => {$(
        impl candle_core::$in_place for CustomOp<$n> {
            fn name(&self) -> &'static str {
                self.kernel.name()
            }

            fn cpu_fwd(
                &self,
                output: &mut CpuStorage,
                layout: &Layout,
                $($storage: &CpuStorage, $layout: &Layout),*
            ) -> candle_core::Result<()> {
                self.forward_into(output, layout, [$(($storage, $layout)),*])
            }

            #[cfg(feature = "candle-cuda")]
            fn cuda_fwd(
                &self,
                output: &mut CudaStorage,
                layout: &Layout,
                $($storage: &CudaStorage, $layout: &Layout),*
            ) -> candle_core::Result<()> {
                self.forward_into(output, layout, [$(($storage, $layout)),*])
            }
        }
    )*};
}

operations_in_place! {
    0 InplaceOp1();
    1 InplaceOp2(s1 l1);
    2 InplaceOp3(s1 l1, s2 l2);
}
