//! The tensors of one instance: fresh random inputs, and an output that starts as poison.

use std::borrow::Cow;
use std::ffi::c_void;
use std::iter::repeat;

use dietcode_syntax::DType;

use super::elements::Elements;
use super::guarded::Guarded;
use crate::Result;
use crate::measure::inputs;
use crate::measure::{Failure, Instance};

/// One instance's tensors.
#[derive(Debug)]
pub(super) struct Tensors {
    memory: Vec<Guarded>,
    /// As the kernel's signature says.
    pub(super) strides: Vec<i64>,
    /// What an output that is read holds before each call that is checked.
    pub(super) initial: Option<Vec<f32>>,
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
        let (output, output_dtype) = (instance.output, instance.dtypes[instance.output]);
        let output_elements = instance.elements(output);
        let strides = instance.strides();
        let mut tensors = Tensors { memory, strides, initial: None, output, output_dtype, output_elements };
        if instance.reads_output {
            tensors.elements().store(inputs::elements(instance, seed, output));
            tensors.initial = Some(tensors.output().into_owned());
        }
        Ok(tensors)
    }

    /// One pointer per parameter.
    pub(super) fn pointers(&self) -> Vec<*mut c_void> {
        self.memory.iter().map(|m| m.data().cast()).collect()
    }

    /// What is in the output now.
    pub(super) fn output(&mut self) -> Cow<'_, [f32]> {
        self.elements().values()
    }

    /// Whether an element of the output is still what [`Tensors::poison`] put there.
    pub(super) fn is_untouched(&self, at: usize, found: f32) -> bool {
        self.initial.as_ref().map_or(found.is_nan(), |initial| initial[at].to_bits() == found.to_bits())
    }

    fn elements(&mut self) -> Elements<'_> {
        // SAFETY: the memory holds that many elements and is aligned to a page, and `self` is borrowed mutably.
        unsafe { Elements::at(self.memory[self.output].data(), self.output_dtype, self.output_elements) }
    }

    /// Makes the output ready for a call that is checked: its initial contents, or NaN where nothing may be read.
    pub(super) fn poison(&mut self) {
        match self.initial.take() {
            Some(initial) => {
                self.elements().store(initial.iter().copied());
                self.initial = Some(initial);
            }
            None => self.elements().store(repeat(f32::NAN)),
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
        self.memory.iter().try_for_each(|memory| memory.open_end(are_open))
    }

    /// Bytes in memory.
    pub(super) fn footprint(&self) -> usize {
        self.memory.iter().map(Guarded::footprint).sum::<usize>()
            + self.initial.as_ref().map_or(0, |v| size_of_val(&**v))
    }
}
