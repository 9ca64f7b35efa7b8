//! Kernels as custom operators of ONNX Runtime.
//!
//! ```text
//! use dietcode_core::runtime::ort::domain;
//!
//! let session = Session::builder(&environment)?.with_operators(domain([&dense::KERNEL])?)?.commit_from_file("model.onnx")?;
//! ```
//!
//! A node `dietcode.dense` of a model then calls the kernel of that name: its inputs are the kernel's tensors but the output, in the order of the
//! parameters, its attributes, which are floats, the kernel's scalars, by name, and its output is the node's. Tensors are in host memory,
//! dense, and of the kernel's element types; nothing is copied. The output's shape follows from the inputs', at each run, and it is zeros
//! before the kernel writes it. What is wrong with a call is the error of any call of the kernel, as ONNX Runtime's. What is laid out
//! before calls is no tensor of a model's, so that kernels with prepared operands are refused.

use ort::operator::{
    ComputeContext, Kernel as OrtKernel, KernelContext, Operator as OrtOperator, OperatorDomain, OperatorInput,
    OperatorOutput,
};
use ort::value::{DynValue, IntoTensorElementType, PrimitiveTensorElementType, TensorElementType, ValueRefMut};

use super::arg::Arg;
use super::element::{DType, Element, of_element};
use super::kernel::Kernel;
use super::layout::Layout;
use super::signature::Param;
use super::view::TensorRef;
use super::view_mut::TensorMut;
use crate::{Error, Result};

/// The domain `dietcode`, with an operator for each of these kernels.
///
/// # Errors
/// Those of [`Operator::new`], and ONNX Runtime's.
pub fn domain(kernels: impl IntoIterator<Item = &'static Kernel>) -> ort::Result<OperatorDomain> {
    kernels.into_iter().try_fold(OperatorDomain::new("dietcode")?, |domain, kernel| domain.add(Operator::new(kernel)?))
}

/// A kernel as an operator, for a domain of its user's.
pub struct Operator {
    kernel: &'static Kernel,
    output: usize,
}

impl Operator {
    /// The operator that calls a kernel, and has its name.
    ///
    /// # Errors
    /// [`Input`](crate::ErrorKind::Input) if the kernel takes a prepared operand.
    pub fn new(kernel: &'static Kernel) -> Result<Operator> {
        let signature = &kernel.signature;
        if let Some(prepared) = signature.prepared.first() {
            let why = format!("`{}` is prepared, but an operator takes tensors", signature.params[prepared.param].name);
            return Err(signature.error(&why));
        }
        let output = signature.output().ok_or_else(|| signature.error("it has no output"))?;
        Ok(Operator { kernel, output })
    }
}

impl OrtOperator for Operator {
    type Kernel<'attr> = Node;

    fn name(&self) -> &str {
        self.kernel.name()
    }

    fn inputs(&self) -> impl IntoIterator<Item = OperatorInput> {
        let params = self.kernel.signature.params.iter();
        params
            .filter(|param| !param.is_scalar() && !param.mutable)
            .map(|param| OperatorInput::required(of(param.dtype)))
    }

    fn outputs(&self) -> impl IntoIterator<Item = OperatorOutput> {
        [OperatorOutput::required(of(self.kernel.signature.params[self.output].dtype))]
    }

    fn create_kernel<'attr>(&self, node: &KernelContext<'attr>) -> ort::Result<Node> {
        let scalars = self.kernel.signature.params.iter().filter(|param| param.is_scalar());
        let scalar = |param: &Param| {
            let (value, kind) = match param.dtype {
                DType::I32 => {
                    let value = node.get::<i64>(param.name).and_then(|value| i32::try_from(value).ok());
                    (value.map(f64::from), "an integer of 32 bits")
                }
                _ => (node.get::<f32>(param.name).map(f64::from), "a float"),
            };
            let name = param.name;
            let missing = || format!("the scalar `{name}` must be an attribute of the node, {kind}, but there is none");
            value.ok_or_else(|| self.kernel.signature.error(&missing()))
        };
        let scalars = scalars.map(scalar).collect::<Result<_>>()?;
        Ok(Node { kernel: self.kernel, output: self.output, scalars })
    }
}

/// A node of a model that is one of these operators.
pub struct Node {
    kernel: &'static Kernel,
    output: usize,
    /// In the order of the parameters.
    scalars: Vec<f64>,
}

impl OrtKernel for Node {
    fn compute(&mut self, context: &ComputeContext) -> ort::Result<()> {
        let signature = &self.kernel.signature;
        let inputs = (0..context.num_inputs()?).map(|at| context.input(at)).collect::<ort::Result<Vec<_>>>()?;
        let (mut tensors, mut scalars) = (inputs.iter().flatten(), self.scalars.iter());
        let mut args = Vec::with_capacity(signature.params.len());
        for param in signature.params.iter().filter(|param| !param.mutable) {
            let arg = match param.is_scalar() {
                // ONNX has no attributes of f64.
                true => scalars.next().map(|scalar| {
                    Ok(match param.dtype {
                        DType::F64 => Arg::from(*scalar),
                        DType::I32 => Arg::from(*scalar as i32),
                        _ => Arg::from(*scalar as f32),
                    })
                }),
                false => tensors.next().map(|tensor| of_element!(DType, param.dtype, T => input::<T>(tensor))),
            };
            args.push(arg.ok_or_else(|| signature.error(&format!("the node has no input `{}`", param.name)))??);
        }
        let extents = signature.output_shape(&args)?;
        // What ONNX Runtime is asked for must be a size.
        Layout::row_major(&extents)?;
        let shape: Vec<i64> = extents.iter().map(|extent| *extent as i64).collect();
        let mut made = context.output(0, shape)?.ok_or_else(|| signature.error("the node has no output"))?;
        let dtype = signature.params[self.output].dtype;
        let arg = of_element!(DType, dtype, T => output::<T>(&mut made, &extents)?);
        args.insert(self.output, arg);
        Ok(self.kernel.call(&mut args)?)
    }
}

fn input<T: Element + PrimitiveTensorElementType>(tensor: &DynValue) -> ort::Result<Arg<'_>> {
    let (shape, data) = tensor.try_extract_tensor::<T>()?;
    let extents: Vec<usize> = shape.iter().map(|extent| usize::try_from(*extent).unwrap_or(0)).collect();
    Ok(TensorRef::new(data, &extents)?.into())
}

fn output<'a, T: Element + PrimitiveTensorElementType>(
    tensor: &'a mut ValueRefMut<'_>,
    extents: &[usize],
) -> ort::Result<Arg<'a>> {
    let (_, data) = tensor.try_extract_tensor_mut::<T>()?;
    data.fill(T::default());
    Ok(TensorMut::new(data, extents)?.into())
}

fn of(dtype: DType) -> TensorElementType {
    of_element!(DType, dtype, T => T::into_tensor_element_type())
}

impl From<Error> for ort::Error {
    fn from(error: Error) -> Self {
        ort::Error::wrap(error)
    }
}
