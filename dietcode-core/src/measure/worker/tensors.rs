//! The tensors of one instance: fresh random inputs, and an output that starts as poison.

use std::borrow::Cow;
use std::ffi::c_void;
use std::iter::repeat;

use dietcode_syntax::DType;

use super::elements::Elements;
use super::guarded::Guarded;
use super::rotation::{Copies, sets};
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
    /// Further sets of both, by parameter: inputs as the nest takes them, and as micro-kernels do.
    further: [Vec<(usize, Copies)>; 2],
    /// How many sets there are in all.
    sets: usize,
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
            further: [Vec::new(), Vec::new()],
            sets: 1,
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

    /// Makes further sets of the inputs, so many that all of them exceed twice what a cache of so many bytes holds.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Unavailable`] if there is no memory for them.
    pub(super) fn rotate(&mut self, cache_bytes: u64) -> Result<()> {
        let inputs = || self.memory.iter().enumerate().filter(|(param, _)| *param != self.output);
        let one = inputs().map(|(_, input)| Copies::stride(input)).sum();
        let wanted = sets(cache_bytes, one);
        // A nest may have no inputs.
        if one == 0 || self.sets >= wanted {
            return Ok(());
        }
        let copies = |(param, input): (usize, &Guarded)| Ok((param, Copies::of(input, wanted - 1)?));
        let plain = inputs().map(copies).collect::<Result<_>>()?;
        let prepared = self.prepared.iter().map(|(param, input)| copies((*param, input))).collect::<Result<_>>()?;
        (self.further, self.sets) = ([plain, prepared], wanted);
        Ok(())
    }

    /// How many sets of inputs there are.
    pub(super) fn sets(&self) -> usize {
        self.sets
    }

    /// One pointer per parameter, all to tensors, of a set.
    pub(super) fn pointers(&self, set: usize) -> Vec<*mut c_void> {
        let mut pointers: Vec<*mut c_void> = self.memory.iter().map(|m| m.data().cast()).collect();
        self.take_further(set, 0, &mut pointers);
        pointers
    }

    /// The same twice: all tensors, and as a micro-kernel takes them.
    pub(super) fn buffers(&self, set: usize) -> [Vec<*mut c_void>; 2] {
        let plain = self.pointers(set);
        let mut prepared = plain.clone();
        self.prepared.iter().for_each(|(param, memory)| prepared[*param] = memory.data().cast());
        self.take_further(set, 1, &mut prepared);
        [plain, prepared]
    }

    /// In a set behind the first, inputs in one of both forms are copies.
    fn take_further(&self, set: usize, form: usize, pointers: &mut [*mut c_void]) {
        let Some(copy) = set.checked_sub(1) else { return };
        self.further[form].iter().for_each(|(param, copies)| pointers[*param] = copies.at(copy).cast());
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
        self.all().try_for_each(|memory| memory.open_end(are_open))
    }

    /// The addresses of the bytes of each, of the first set.
    pub(super) fn bytes(&self) -> impl Iterator<Item = std::ops::Range<usize>> {
        self.first_set().map(Guarded::bytes)
    }

    /// Bytes in memory.
    pub(super) fn footprint(&self) -> usize {
        self.all().map(Guarded::footprint).sum::<usize>() + self.initial.as_ref().map_or(0, |v| size_of_val(&**v))
    }

    fn all(&self) -> impl Iterator<Item = &Guarded> {
        self.first_set().chain(self.further.iter().flatten().map(|(_, copies)| copies.memory()))
    }

    fn first_set(&self) -> impl Iterator<Item = &Guarded> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{dense, kernel};

    #[test]
    fn further_sets_hold_the_same_inputs_at_places_that_are_aligned_alike_and_exceed_the_cache() {
        const CACHE: u64 = 100_000;
        let instance = Instance::of(&dense(), &[5, 67, 33]).unwrap();
        let mut tensors = Tensors::new(&instance, 1).unwrap();
        tensors.rotate(CACHE).unwrap();
        let first = tensors.pointers(0);
        let mut bytes = 0;
        for set in 0..tensors.sets() {
            for (param, (at, first)) in tensors.pointers(set).into_iter().zip(&first).enumerate() {
                assert_eq!(at == *first, set == 0 || param == instance.output, "{set} {param}");
                assert_eq!(at.addr() % 4096, first.addr() % 4096, "{set} {param}");
                let elements = instance.elements(param);
                // SAFETY: each set has all elements of each tensor, of `f32`.
                let [its, of_first] =
                    [at, *first].map(|at| unsafe { std::slice::from_raw_parts(at.cast::<u32>(), elements) });
                assert_eq!(its, of_first, "{set} {param}");
                bytes += if param == instance.output { 0 } else { 4096 * (4 * elements).div_ceil(4096) };
            }
        }
        assert!(bytes as u64 > 2 * CACHE && tensors.sets() > 2, "{bytes} {}", tensors.sets());
        let sets = tensors.sets();
        tensors.rotate(CACHE).unwrap();
        assert_eq!(tensors.sets(), sets, "they are made once");
        let ones = kernel("#[dynamic_kernel] fn f(y: &mut [f32; N]) { for i in 0..N { y[i] = 1.0; } }");
        let mut alone = Tensors::new(&Instance::of(&ones, &[7]).unwrap(), 1).unwrap();
        alone.rotate(CACHE).unwrap();
        assert_eq!(alone.sets(), 1, "without inputs nothing rotates");
    }
}
