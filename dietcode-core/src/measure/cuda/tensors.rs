//! The tensors of one instance in device memory: fresh random inputs, an output that starts as poison, and around each of
//! them elements that show an access.
//!
//! Beside the elements of an input lie NaNs: a kernel that reads them has NaN in its sums. Beside those of the output, between its
//! rows too, lies a number that must still be there afterwards.

use dietcode_syntax::DType;
use half::{bf16, f16};

use crate::Result;
use crate::measure::inputs::elements;
use crate::measure::{Failure, Instance};
use crate::runtime::cuda::{CudaTensor, Device};
use crate::runtime::element::{Rounded, of_element};
use crate::runtime::{Arg, Element, Input, Output};

/// Elements before and after each tensor. A multiple of what the widest vector takes, so that tensors begin where vectors do.
const GUARD: usize = 64;

/// An element that is checked bit by bit.
trait Number: Element + Rounded + PartialEq {
    /// What lies beside inputs.
    const NAN: Self;
    /// What outputs begin as: a NaN that no arithmetic makes, or one of two integers.
    const POISON: [Self; 2];
    /// What lies beside outputs.
    const CANARY: Self;
    fn is(self, other: Self) -> bool;
}

macro_rules! number {
    ($type:ty, $bits:literal, $canary:literal) => {
        impl Number for $type {
            const NAN: Self = <$type>::NAN;
            const POISON: [Self; 2] = [<$type>::from_bits($bits); 2];
            const CANARY: Self = <$type>::from_bits($canary);
            fn is(self, other: Self) -> bool {
                self.to_bits() == other.to_bits()
            }
        }
    };
}

number!(f32, 0x7fd1_e7c0, 0x449a_5000);
number!(f64, 0x7ffa_3cf8_7ffa_3cf8, 0x4093_4a00_0000_0000);
number!(f16, 0x7ed1, 0x64d2);
number!(bf16, 0x7fd1, 0x449a);

/// Integers are all numbers: what lies beside outputs is one that sums seldom are, beside inputs lies what changes them, and what was not
/// written is told from a sum by the other poison.
macro_rules! integer {
    ($type:ty, $beside:literal, $poison:literal, $canary:literal) => {
        impl Number for $type {
            const NAN: Self = $beside;
            const POISON: [Self; 2] = [$poison, !$poison];
            const CANARY: Self = $canary;
            fn is(self, other: Self) -> bool {
                self == other
            }
        }
    };
}

integer!(u8, 0x55, 0x5a, 0xa5);
integer!(i8, 0x55, 0x5a, -0x5b);
integer!(i32, 0x5555_5555, -0x7fd1_e7c0, 0x449a_5000);

/// A tensor of one element type.
struct Memory<T> {
    flat: CudaTensor<T>,
    dims: Vec<usize>,
    strides: Vec<usize>,
}

/// A tensor of any element type. What is written is rounded to that.
trait AnyMemory {
    /// An input, beside which lie NaNs.
    fn fill_input(&mut self, values: &mut dyn Iterator<Item = f64>) -> Result<()>;
    /// An output: these values, or else a poison.
    fn fill_output(&mut self, values: Option<&mut dyn Iterator<Item = f64>>, poison: usize) -> Result<()>;
    fn arg(&mut self, written: bool) -> Result<Arg<'_>>;
    /// The elements, how many of them are that poison, and how many elements behind the first another one was written, if it was.
    fn read(&self, poison: usize) -> Result<(Vec<f64>, usize, Option<i64>)>;
    fn bytes(&self) -> usize;
}

/// What is passed for a parameter.
enum Argument {
    Scalar(DType, f64),
    Tensor(Box<dyn AnyMemory>),
}

/// One instance's tensors and scalars.
pub(super) struct Tensors {
    inputs: Vec<Argument>,
    /// It stands between the inputs, as the parameter of this number.
    output: Box<dyn AnyMemory>,
    /// Which poison that holds.
    poison: usize,
    instance: Instance,
    seed: u64,
}

impl Tensors {
    /// Allocates them and fills the inputs; the output is poison.
    pub(super) fn new(device: &Device, instance: &Instance, gap: usize, seed: u64) -> Result<Tensors> {
        let memory = |param: usize| memory(device, instance, gap, param);
        let input = |param: usize| {
            let mut values = elements(instance, seed, param);
            if instance.dims[param].is_empty() {
                return Ok(Argument::Scalar(instance.dtypes[param], values.next().unwrap_or_default()));
            }
            let mut tensor = memory(param)?;
            tensor.fill_input(&mut values)?;
            Ok(Argument::Tensor(tensor))
        };
        let inputs = (0..instance.dims.len()).filter(|param| *param != instance.output).map(input);
        let inputs = inputs.collect::<Result<_>>()?;
        let output = memory(instance.output)?;
        let mut tensors = Tensors { inputs, output, poison: 0, instance: instance.clone(), seed };
        tensors.poison(0)?;
        Ok(tensors)
    }

    /// Makes the output ready for a call that is checked: what the nest reads of it, or else poison, the first or the second.
    pub(super) fn poison(&mut self, which: usize) -> Result<()> {
        self.poison = which;
        let Tensors { output, instance, seed, .. } = self;
        let mut values = elements(instance, *seed, instance.output);
        output.fill_output(instance.reads_output.then_some(&mut values), which)
    }

    /// As arguments of a launch.
    pub(super) fn args(&mut self) -> Result<Vec<Arg<'_>>> {
        let mut args: Vec<Arg<'_>> = self.inputs.iter_mut().map(Argument::arg).collect::<Result<_>>()?;
        args.insert(self.instance.output, self.output.arg(true)?);
        Ok(args)
    }

    /// The output's elements in row-major order, and how many of them are poison; or who wrote beside it.
    pub(super) fn read_output(&self) -> Result<Result<(Vec<f64>, usize), Failure>> {
        let param = self.instance.output;
        let size = self.instance.dtypes[param].bytes();
        let (found, poison, damaged) = self.output.read(self.poison)?;
        if let Some(at) = damaged {
            return Ok(Err(Failure::OutOfBounds { param, byte: at * size, bytes: found.len() * size as usize }));
        }
        Ok(Ok((found, poison)))
    }

    /// Bytes in device memory.
    pub(super) fn footprint(&self) -> usize {
        let tensors = self.inputs.iter().filter_map(|input| match input {
            Argument::Tensor(tensor) => Some(&**tensor),
            Argument::Scalar(..) => None,
        });
        tensors.chain([&*self.output]).map(AnyMemory::bytes).sum()
    }
}

impl Argument {
    fn arg(&mut self) -> Result<Arg<'_>> {
        match self {
            Argument::Scalar(DType::F64, value) => Ok(Arg::from(*value)),
            Argument::Scalar(DType::I32, value) => Ok(Arg::from(*value as i32)),
            Argument::Scalar(_, value) => Ok(Arg::from(*value as f32)),
            Argument::Tensor(tensor) => tensor.arg(false),
        }
    }
}

fn memory(device: &Device, instance: &Instance, gap: usize, param: usize) -> Result<Box<dyn AnyMemory>> {
    let dims: Vec<usize> = instance.dims[param].iter().map(|n| *n as usize).collect();
    of_element!(DType, instance.dtypes[param], T => Ok(Box::new(Memory::<T>::new(device, dims, gap)?)))
}

impl<T: Number> Memory<T> {
    fn new(device: &Device, dims: Vec<usize>, gap: usize) -> Result<Memory<T>> {
        let mut strides = vec![1; dims.len()];
        for d in (1..dims.len()).rev() {
            strides[d - 1] = strides[d] * dims[d] + if d + 1 == dims.len() { gap } else { 0 };
        }
        let span = 1 + dims.iter().zip(&strides).map(|(extent, stride)| (extent - 1) * stride).sum::<usize>();
        Ok(Memory { flat: CudaTensor::uninitialised(device, &[span + 2 * GUARD])?, dims, strides })
    }

    /// Where the elements lie, in row-major order.
    fn places(&self) -> impl Iterator<Item = usize> {
        let row = self.dims.last().copied().unwrap_or(1);
        let mut rows = vec![GUARD];
        let outer = self.dims.len().saturating_sub(1);
        for (extent, stride) in self.dims[..outer].iter().zip(&self.strides) {
            rows = rows.iter().flat_map(|place| (0..*extent).map(move |i| place + i * stride)).collect();
        }
        rows.into_iter().flat_map(move |start| start..start + row)
    }

    fn fill(&mut self, beside: T, elements: impl Iterator<Item = T>) -> Result<()> {
        let mut all = vec![beside; self.flat.shape()[0]];
        self.places().zip(elements).for_each(|(place, element)| all[place] = element);
        self.flat.write(&all)
    }
}

impl<T: Number> AnyMemory for Memory<T> {
    fn fill_input(&mut self, values: &mut dyn Iterator<Item = f64>) -> Result<()> {
        self.fill(T::NAN, values.map(T::of))
    }

    fn fill_output(&mut self, values: Option<&mut dyn Iterator<Item = f64>>, poison: usize) -> Result<()> {
        match values {
            Some(values) => self.fill(T::CANARY, values.map(T::of)),
            None => self.fill(T::CANARY, std::iter::repeat(T::POISON[poison])),
        }
    }

    fn read(&self, poison: usize) -> Result<(Vec<f64>, usize, Option<i64>)> {
        let seen = self.flat.download()?;
        let mut seen = seen.as_slice().to_vec();
        let elements: Vec<T> = self.places().map(|place| std::mem::replace(&mut seen[place], T::CANARY)).collect();
        let poisoned = elements.iter().filter(|element| element.is(T::POISON[poison])).count();
        let damaged = seen.iter().position(|element| !element.is(T::CANARY));
        let values = elements.into_iter().map(T::value).collect();
        Ok((values, poisoned, damaged.map(|at| at as i64 - GUARD as i64)))
    }

    fn bytes(&self) -> usize {
        self.flat.shape().iter().product::<usize>() * size_of::<T>()
    }

    fn arg(&mut self, written: bool) -> Result<Arg<'_>> {
        Ok(match written {
            true => Output::from(self.flat.window_mut(GUARD, &self.dims, &self.strides)?).into(),
            false => Input::from(self.flat.window(GUARD, &self.dims, &self.strides)?).into(),
        })
    }
}
