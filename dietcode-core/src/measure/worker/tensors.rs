//! The tensors of one instance: fresh random inputs, and an output that starts as poison.

use std::ffi::c_void;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::guarded::Guarded;
use crate::Result;
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
    output_elements: usize,
}

impl Tensors {
    /// Allocates them and fills the inputs.
    pub(super) fn new(instance: &Instance, seed: u64) -> Result<Tensors> {
        let mut memory = Vec::new();
        for param in 0..instance.dims.len() {
            let bytes = instance.elements(param) * size_of::<f32>();
            if param == instance.output {
                memory.push(Guarded::output(bytes)?);
                continue;
            }
            let input = Guarded::input(bytes)?;
            // SAFETY: `elements` values of four bytes fit, and a multiple of four bytes before a page's end is aligned.
            let values = unsafe { std::slice::from_raw_parts_mut(input.data().cast(), instance.elements(param)) };
            fill(values, seed, param);
            input.freeze();
            memory.push(input);
        }
        let output_elements = instance.elements(instance.output);
        let initial = instance.reads_output.then(|| {
            let mut values = vec![0.0; output_elements];
            fill(&mut values, seed, instance.output);
            values
        });
        Ok(Tensors { memory, strides: instance.strides(), initial, output: instance.output, output_elements })
    }

    /// One pointer per parameter.
    pub(super) fn pointers(&self) -> Vec<*mut c_void> {
        self.memory.iter().map(|m| m.data().cast()).collect()
    }

    /// What is in the output now.
    pub(super) fn output(&mut self) -> &mut [f32] {
        // SAFETY: the memory holds that many elements, every bit pattern is an f32, and `self` is borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.memory[self.output].data().cast(), self.output_elements) }
    }

    /// Makes the output ready for a call that is checked: its initial contents, or NaN where nothing may be read.
    pub(super) fn poison(&mut self) {
        match self.initial.take() {
            Some(initial) => {
                self.output().copy_from_slice(&initial);
                self.initial = Some(initial);
            }
            None => self.output().fill(f32::NAN),
        }
    }

    /// Whether somebody wrote beside the output. A write to an input, or past its end, has killed the process before.
    pub(super) fn damage(&self) -> Option<Failure> {
        let byte = self.memory[self.output].damage()?;
        Some(Failure::OutOfBounds { param: self.output, byte, bytes: self.output_elements * size_of::<f32>() })
    }

    /// Bytes in memory.
    pub(super) fn footprint(&self) -> usize {
        self.memory.iter().map(Guarded::footprint).sum::<usize>() + 4 * self.initial.as_ref().map_or(0, Vec::len)
    }
}

/// Uniform in [-1, 1) but never zero: a zero hides what multiplies it.
fn fill(values: &mut [f32], seed: u64, param: usize) {
    let mut rng = StdRng::seed_from_u64(seed ^ (param as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    for value in values {
        *value = match rng.random_range(-1.0f32..1.0) {
            0.0 => 0.5,
            other => other,
        };
    }
}
