//! What the output must be: the reference's values, each with the bound within which the nest's arithmetic has to end.

use std::ffi::c_void;
use std::fs;
use std::io;
use std::iter::successors;
use std::path::Path;

use dietcode_syntax::DType;

use super::library::{ALL, Library};
use super::tensors::Tensors;
use crate::instance::unflatten;
use crate::measure::{Failure, Job, Nearest, Oracle, Sample, Unit};
use crate::reference::{comparable, same_special};
use crate::{Error, Result};

/// A number that sums of integers seldom are.
const RARE: i32 = i32::MIN + 0x2a_e3_01;

/// The reference's output for one instance and seed.
#[derive(Debug)]
pub(super) struct Expected {
    dims: Vec<i64>,
    dtype: DType,
    /// Values, then bounds.
    numbers: Vec<f64>,
}

impl Expected {
    /// Reads what an earlier worker stored, or computes and stores it.
    pub(super) fn of(job: &Job, tensors: &Tensors) -> Result<Expected> {
        let dims = job.instance.dims[job.instance.output].clone();
        let elements = job.instance.elements(job.instance.output);
        let Oracle::Compiled { unit, results } = &job.oracle else {
            return Err(Error::failed("a sample of the output is expected, and no code computes the rest"));
        };
        let numbers = match read(results, 2 * elements) {
            Some(numbers) => numbers,
            None => {
                let numbers = compute(unit, job, tensors, elements)?;
                // The next worker computes it again if it cannot be stored.
                let _ = write(results, &numbers);
                numbers
            }
        };
        Ok(Expected { dims, dtype: job.instance.dtypes[job.instance.output], numbers })
    }

    /// What the output holds before a call, so that elements which are not written are seen: NaN, or, among integers, which are all
    /// numbers, one that no element must be.
    pub(super) fn poison(&self) -> f64 {
        let values = &self.numbers[..self.numbers.len() / 2];
        // Outputs of integers have 32 bits. The step is odd, so that the numbers differ and one of so many is absent: mostly the first.
        let numbers = successors(Some(RARE), |number: &i32| Some(number.wrapping_add(0x1e37_79b9))).map(f64::from);
        let mut numbers = numbers.take(values.len() + 1);
        let poison = self.dtype.is_integer().then(|| numbers.find(|number| !values.contains(number)));
        poison.flatten().unwrap_or(f64::NAN)
    }

    /// Compares every element that is `compared`, of which there must be one; gives a sample that was not timed.
    pub(super) fn compare(&self, found: &[f64], compared: impl Fn(usize) -> bool) -> Result<Sample, Failure> {
        let (values, bounds) = self.numbers.split_at(self.numbers.len() / 2);
        let (mut deviation, mut largest, mut wrong, mut first) = (0.0f64, 0.0f64, 0, None);
        let (mut any, mut nearest) = (found.is_empty(), None);
        for (at, found) in found.iter().enumerate().filter(|(at, _)| compared(*at)) {
            any = true;
            let found = comparable(self.dtype, *found);
            let off = (found - values[at]).abs();
            if off.is_finite() {
                deviation = deviation.max(off);
                let element = Nearest { error: off, bound: bounds[at] };
                if nearest.is_none_or(|nearest: Nearest| element.share() > nearest.share()) {
                    nearest = Some(element);
                }
            }
            if values[at].is_finite() {
                largest = largest.max(values[at].abs());
            }
            let same = off <= bounds[at] || same_special(found, values[at]);
            if !same {
                wrong += 1;
                first.get_or_insert(at);
            }
        }
        match first {
            None if !any => Err(Failure::Wrong {
                index: unflatten(0, &self.dims),
                found: "nothing".to_owned(),
                expected: values[0],
                bound: bounds[0],
                elements: found.len(),
            }),
            None => {
                let rel_err = if deviation == 0.0 { 0.0 } else { deviation / largest };
                Ok(Sample { seconds: Vec::new(), rel_err, nearest, conditions: Vec::new() })
            }
            Some(at) => Err(Failure::Wrong {
                index: unflatten(at, &self.dims),
                found: found[at].to_string(),
                expected: values[at],
                bound: bounds[at],
                elements: wrong,
            }),
        }
    }

    /// Bytes in memory.
    pub(super) fn footprint(&self) -> usize {
        8 * self.numbers.len()
    }
}

fn compute(oracle: &Unit, job: &Job, tensors: &Tensors, elements: usize) -> Result<Vec<f64>> {
    let Job { instance, threads, .. } = job;
    let library = Library::load(oracle).map_err(|failure| Error::failed(format!("the reference {failure}")))?;
    let mut numbers = vec![f64::NAN; 2 * elements];
    let (values, bounds) = numbers.split_at_mut(elements);
    if let Some(initial) = &tensors.initial {
        // What the nest does not write stays as it was.
        values.iter_mut().zip(&**initial).for_each(|(value, initial)| *value = *initial);
        bounds.fill(0.0);
    }
    let mut buffers = tensors.pointers(0);
    buffers[instance.output] = values.as_mut_ptr().cast();
    buffers.push(bounds.as_mut_ptr().cast());
    // The oracle reads both sides of a choice, and takes one.
    let mut initial = tensors.initial.clone().unwrap_or_else(|| vec![f64::NAN; elements]);
    let (mut narrow, mut integers): (Vec<f32>, Vec<i32>) = Default::default();
    buffers.push(match DType::computing(instance.dtypes.iter().copied()) {
        DType::F64 => initial.as_mut_ptr().cast::<c_void>(),
        DType::U8 | DType::I8 | DType::I32 => {
            integers.extend(initial.iter().map(|value| *value as i32));
            integers.as_mut_ptr().cast()
        }
        DType::F32 | DType::F16 | DType::BF16 => {
            narrow.extend(initial.iter().map(|value| *value as f32));
            narrow.as_mut_ptr().cast()
        }
    });
    // SAFETY: the buffers are as `codegen::c::reference` declares them; the reference is trusted.
    unsafe { library.launch(ALL, &buffers, &instance.strides(), &instance.shape, *threads)? };
    match numbers[elements..].iter().position(|bound| bound.is_nan()) {
        Some(at) if !numbers[at].is_nan() => Err(Error::failed(format!(
            "the reference computed no bound for element {:?}",
            unflatten(at, &instance.dims[instance.output])
        ))),
        _ => Ok(numbers),
    }
}

fn read(path: &Path, numbers: usize) -> Option<Vec<f64>> {
    let bytes = fs::read(path).ok()?;
    let whole = bytes.len() == 8 * numbers;
    whole.then(|| bytes.as_chunks::<8>().0.iter().map(|b| f64::from_ne_bytes(*b)).collect())
}

fn write(path: &Path, numbers: &[f64]) -> io::Result<()> {
    let bytes: Vec<u8> = numbers.iter().flat_map(|n| n.to_ne_bytes()).collect();
    let unfinished = path.with_extension("part");
    fs::write(&unfinished, bytes)?;
    fs::rename(unfinished, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expected() -> Expected {
        Expected {
            dims: vec![2, 2],
            dtype: DType::F32,
            numbers: vec![1.0, 2.0, -4.0, f64::INFINITY, 0.1, 0.1, 0.1, 0.1],
        }
    }

    #[test]
    fn every_element_is_compared_with_its_own_bound() {
        let sample = expected().compare(&[1.0, 2.0625, -4.03125, f64::INFINITY], |_| true).unwrap();
        assert_eq!(sample.nearest, Some(Nearest { error: 0.0625, bound: 0.1 }));
        assert_eq!(sample.rel_err, 0.0625 / 4.0);
        let failure = expected().compare(&[1.0, 2.0, -4.2, f64::INFINITY], |_| true).unwrap_err();
        assert!(matches!(failure, Failure::Wrong { ref index, elements: 1, .. } if *index == [1, 0]), "{failure:?}");
    }

    #[test]
    fn poison_that_was_left_is_wrong() {
        let failure = expected().compare(&[1.0, f64::NAN, f64::NAN, f64::INFINITY], |_| true).unwrap_err();
        assert!(matches!(failure, Failure::Wrong { ref index, elements: 2, .. } if *index == [0, 1]), "{failure:?}");
        let failure = expected().compare(&[f64::NAN; 4], |_| false).unwrap_err();
        assert!(matches!(failure, Failure::Wrong { elements: 4, .. }), "{failure:?}");
    }
}
