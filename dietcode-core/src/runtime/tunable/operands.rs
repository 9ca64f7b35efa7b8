//! Operands for a call that a key stands for, to tune it where nobody makes that call: the inverse of what [`Kernels`](super::Kernels) adds
//! to a key.

use super::kernels::{KernelCall, KernelOp, LINE};
use super::key::Key;
use super::report::Report;
use super::tuning;
use crate::runtime::aligned::AlignedBuffer;
use crate::runtime::arg::Arg;
use crate::runtime::cuda::memory::Memory;
use crate::runtime::element::DType;
use crate::runtime::layout::Layout;
use crate::runtime::signature::Param;
use crate::runtime::threads::with_threads;
use crate::{Error, Result};

impl KernelOp {
    /// Tunes a call that another program has met, by its key as text, or says what is known of it already: on operands of its own, of the
    /// same sizes, layout and alignment, with the same number of threads. With the feature `compiler`.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Input`] if the text is no key of a call of this kernel in host memory, and the errors of a call.
    pub fn tune_key(&self, key: &str) -> Result<Report> {
        let other = |why: &str| Error::input(format!("{}: found the key `{key}`, {why}", self.name()));
        let signature = &self.kernel.signature;
        let mut fields = key.split(' ');
        let mut field = |name: &str| {
            let value = fields.next().and_then(|field| field.strip_prefix(name)?.strip_prefix('='));
            value.ok_or_else(|| other(&format!("expected a field `{name}=…` where it has none")))
        };
        if field("nest")? != format!("{:016x}", signature.source_hash) {
            return Err(other(&format!("expected one of the nest {:016x}", signature.source_hash)));
        }
        let number = |text: &str| text.parse::<u32>().map_err(|_| other("expected sizes below 2³²"));
        let mut shape = Vec::new();
        for var in signature.shape_vars {
            shape.push(i64::from(number(field(var.name)?)?));
        }
        let mut operands = Vec::new();
        for param in signature.params {
            let made = Operand::of(param, field(param.name)?, &shape)?;
            operands.push(made.ok_or_else(|| other(&format!("expected `{}` as a key has it", param.name)))?);
        }
        let threads = number(field("threads")?)?;
        let mut args = operands.iter_mut().zip(signature.params).map(|(operand, param)| operand.arg(param));
        let mut args = args.by_ref().collect::<Result<Vec<Arg<'_>>>>()?;
        with_threads(threads as usize, || {
            let mut call = KernelCall::new(self.kernel, &mut args)?;
            if self.key(&call, Key::with_text())?.into_text() != key {
                return Err(other("expected one that a call has"));
            }
            tuning::scope(true, || self.call(&mut call))
        })?;
        let found = self.reports().into_iter().find(|report| report.key == key);
        found.ok_or_else(|| other("which is not tuned: nothing is computed"))
    }
}

/// What a call is given for a parameter.
enum Operand {
    Scalar(f32),
    Tensor { memory: AlignedBuffer<u8>, first: usize, layout: Layout },
}

impl Operand {
    /// None: a key does not have it so.
    fn of(param: &Param, text: &str, shape: &[i64]) -> Result<Option<Operand>> {
        if param.is_scalar() {
            let scalars = [("0", 0.0), ("1", 1.0), ("negative", -0.75), ("other", 0.75)];
            return Ok(scalars.into_iter().find(|(name, _)| *name == text).map(|(_, value)| Operand::Scalar(value)));
        }
        let bytes = param.dtype.bytes();
        let parts: Vec<&str> = text.split('/').collect();
        let &[dtype, strides, alignment] = &*parts else { return Ok(None) };
        let alignment = alignment.parse::<usize>().ok().filter(|a| a.is_power_of_two() && (bytes..=LINE).contains(a));
        let extents = param.dims.iter().map(|dim| usize::try_from(dim.at(shape)?).ok()).collect::<Option<Vec<usize>>>();
        let (Some(alignment), Some(extents)) = (alignment, extents) else { return Ok(None) };
        if dtype != param.dtype.to_string() {
            return Ok(None);
        }
        let row = *extents.last().expect("a tensor has dimensions");
        let distance = match strides {
            "dense" => row,
            "apart64" => (row * bytes + 1).next_multiple_of(LINE) / bytes,
            "apart" if ((row + 1) * bytes).is_multiple_of(LINE) => row + 2,
            "apart" => row + 1,
            _ => return Ok(None),
        };
        // From the innermost dimension on, of which the next one's distance is that of rows.
        let (mut elements, mut distances) = (Some(1), Vec::new());
        for (at, extent) in extents.iter().enumerate().rev() {
            let Some(stride) = elements else { return Ok(None) };
            distances.push(stride);
            elements = if at + 1 == extents.len() { Some(distance) } else { stride.checked_mul(*extent) };
        }
        distances.reverse();
        let first = alignment % LINE;
        let Some(len) = elements.and_then(|elements| elements.checked_mul(bytes)?.checked_add(first)) else {
            return Ok(None);
        };
        Ok(Some(Operand::Tensor {
            memory: AlignedBuffer::filled(len, 0)?,
            first,
            layout: Layout::strided(&extents, &distances)?,
        }))
    }

    fn arg(&mut self, param: &Param) -> Result<Arg<'_>> {
        Ok(match self {
            Operand::Scalar(value) if param.dtype == DType::F64 => Arg::from(f64::from(*value)),
            Operand::Scalar(value) if param.dtype == DType::I32 => {
                Arg::from(value.signum() as i32 * value.abs().ceil() as i32)
            }
            Operand::Scalar(value) => Arg::from(*value),
            Operand::Tensor { memory, first, layout } => {
                layout.check_holds((memory.len() - *first) / param.dtype.bytes())?;
                let data = memory.as_mut_ptr().wrapping_add(*first).cast();
                Arg::new(param.dtype, data, *layout, param.mutable, Memory::HOST)
            }
        })
    }
}
