//! The tensors of one instance: fresh random inputs, and an output that starts as poison.

use std::borrow::Cow;
use std::ffi::c_void;
use std::iter::repeat;

use dietcode_syntax::DType;

use super::elements::Elements;
use super::guarded::Guarded;
use crate::instance::Prepared;
use crate::measure::inputs;
use crate::measure::{Failure, Instance};
use crate::runtime::PreparedLayout;
use crate::{Error, Result};

/// One instance's tensors.
#[derive(Debug)]
pub(super) struct Tensors {
    memory: Vec<Guarded>,
    /// Inputs once more, as they are laid out for micro-kernels, by parameter.
    prepared: Vec<(usize, Guarded)>,
    /// As the kernel's signature says.
    pub(super) strides: Vec<i64>,
    /// What an output that is read holds before each call that is checked.
    pub(super) initial: Option<Vec<f64>>,
    /// What any other output holds then: nothing that it may hold afterwards.
    pub(super) poison: f64,
    output: usize,
    output_dtype: DType,
    output_elements: usize,
}

impl Tensors {
    /// Allocates them and fills the inputs.
    pub(super) fn new(instance: &Instance, seed: u64) -> Result<Tensors> {
        let mut memory = Vec::new();
        for (param, dtype) in instance.dtypes.iter().enumerate() {
            let elements = instance.elements(param);
            let bytes = elements * dtype.bytes() as usize;
            if param == instance.output {
                memory.push(Guarded::output(bytes)?);
                continue;
            }
            let input = Guarded::input(bytes)?;
            // SAFETY: that many elements fit, and a multiple of their size before a page's end is aligned.
            unsafe { Elements::at(input.data(), *dtype, elements) }.store(inputs::elements(instance, seed, param));
            input.freeze();
            memory.push(input);
        }
        let prepared = instance.prepared.iter().map(|of| Ok((of.param, laid_out(instance, &memory[of.param], of)?)));
        let prepared = prepared.collect::<Result<_>>()?;
        let (output, output_dtype) = (instance.output, instance.dtypes[instance.output]);
        let output_elements = instance.elements(output);
        let strides = instance.strides();
        let mut tensors = Tensors {
            memory,
            prepared,
            strides,
            initial: None,
            poison: f64::NAN,
            output,
            output_dtype,
            output_elements,
        };
        if instance.reads_output {
            tensors.elements().store(inputs::elements(instance, seed, output));
            tensors.initial = Some(tensors.output().into_owned());
        }
        Ok(tensors)
    }

    /// One pointer per parameter, all to tensors.
    pub(super) fn pointers(&self) -> Vec<*mut c_void> {
        self.memory.iter().map(|m| m.data().cast()).collect()
    }

    /// The same twice: all tensors, and as a micro-kernel takes them.
    pub(super) fn buffers(&self) -> [Vec<*mut c_void>; 2] {
        let mut prepared = self.pointers();
        self.prepared.iter().for_each(|(param, memory)| prepared[*param] = memory.data().cast());
        [self.pointers(), prepared]
    }

    /// What is in the output now; NaN where it is poison.
    pub(super) fn output(&mut self) -> Cow<'_, [f64]> {
        let is_poison = (self.initial.is_none() && !self.poison.is_nan()).then_some(self.poison);
        let mut values = self.elements().values();
        if let Some(poison) = is_poison {
            values.to_mut().iter_mut().filter(|value| **value == poison).for_each(|value| *value = f64::NAN);
        }
        values
    }

    /// Whether an element of the output is still what [`Tensors::poison`] put there.
    pub(super) fn is_untouched(&self, at: usize, found: f64) -> bool {
        self.initial.as_ref().map_or(found.is_nan(), |initial| initial[at].to_bits() == found.to_bits())
    }

    fn elements(&mut self) -> Elements<'_> {
        // SAFETY: the memory holds that many elements and is aligned to a page, and `self` is borrowed mutably.
        unsafe { Elements::at(self.memory[self.output].data(), self.output_dtype, self.output_elements) }
    }

    /// Makes the output ready for a call that is checked: its initial contents, or poison where nothing may be read.
    pub(super) fn poison(&mut self) {
        match self.initial.take() {
            Some(initial) => {
                self.elements().store(initial.iter().copied());
                self.initial = Some(initial);
            }
            None => {
                let poison = self.poison;
                self.elements().store(repeat(poison));
            }
        }
    }

    /// Whether elements beside the output were written. A write to an input, or past its end, has killed the process before.
    pub(super) fn damage(&self) -> Option<Failure> {
        let byte = self.memory[self.output].damage()?;
        let bytes = self.output_elements * self.output_dtype.bytes() as usize;
        Some(Failure::OutOfBounds { param: self.output, byte, bytes })
    }

    /// Whether what lies behind the inputs may be read: for calls that are timed, not checked.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Unavailable`] if the system refuses it.
    pub(super) fn open_ends(&self, are_open: bool) -> Result<()> {
        self.inputs_and_output().try_for_each(|memory| memory.open_end(are_open))
    }

    /// The addresses of the bytes of each.
    pub(super) fn bytes(&self) -> impl Iterator<Item = std::ops::Range<usize>> {
        self.inputs_and_output().map(Guarded::bytes)
    }

    /// Bytes in memory.
    pub(super) fn footprint(&self) -> usize {
        self.inputs_and_output().map(Guarded::footprint).sum::<usize>()
            + self.initial.as_ref().map_or(0, |v| size_of_val(&**v))
    }

    fn inputs_and_output(&self) -> impl Iterator<Item = &Guarded> {
        self.memory.iter().chain(self.prepared.iter().map(|(_, memory)| memory))
    }
}

/// An input as it is laid out before calls.
fn laid_out(instance: &Instance, tensor: &Guarded, of: &Prepared) -> Result<Guarded> {
    let Prepared { param, dim, ref outer, ref inner, panel } = *of;
    let layout = PreparedLayout { param, dim, outer, inner, panel };
    // SAFETY: the tensor has that many elements of this type, and nobody writes it.
    let plain = unsafe { Elements::at(tensor.data(), instance.dtypes[param], instance.elements(param)) };
    let plain = plain.values();
    let shape: Vec<usize> = instance.dims[param].iter().map(|extent| *extent as usize).collect();
    let strides: Vec<usize> = (0..shape.len()).map(|dim| shape[dim + 1..].iter().product()).collect();
    let elements = layout.elements(&shape).ok_or_else(|| Error::input("a prepared operand is too large"))?;
    let computes = DType::computing(instance.dtypes.iter().copied());
    let mut laid_out = vec![0.0; elements];
    layout.fill(&shape, &strides, |at| plain[at], &mut laid_out);
    let memory = Guarded::input(elements * computes.bytes() as usize)?;
    // SAFETY: that many elements fit, and a multiple of their size before a page's end is aligned.
    unsafe { Elements::at(memory.data(), computes, elements) }.store(laid_out);
    memory.freeze();
    Ok(memory)
}
