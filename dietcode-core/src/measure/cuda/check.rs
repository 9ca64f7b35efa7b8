//! Whether an implementation computes what it should: every element written, nothing beside the output, a sample of elements
//! within their bounds.

use super::loaded::Loaded;
use super::tensors::Tensors;
use super::{Expectation, trouble_of_launch};
use crate::Error;
use crate::instance::unflatten;
use crate::measure::worker::Trouble;
use crate::measure::{Failure, Job, Oracle};
use crate::reference::{Arithmetic, comparable, same_special};
use crate::runtime::cuda::Device;

/// Launches once.
pub(super) fn launch(device: &Device, loaded: &Loaded<'_>, tensors: &mut Tensors) -> Result<(), Trouble> {
    loaded.launch(device, &mut tensors.args()?)?;
    device.synchronize().map_err(|error| trouble_of_launch(device, &error))
}

/// Launches once and looks at the output; gives the largest deviation relative to the largest expected value.
pub(super) fn run(
    device: &Device,
    loaded: &Loaded<'_>,
    tensors: &mut Tensors,
    job: &Job,
    arithmetic: Arithmetic,
) -> Result<f64, Trouble> {
    let mut output = |poison: usize| -> Result<_, Trouble> {
        tensors.poison(poison).map_err(|error| trouble_of_launch(device, &error))?;
        launch(device, loaded, tensors)?;
        Ok(tensors.read_output().map_err(|error| trouble_of_launch(device, &error))??)
    };
    let (mut found, mut poison) = output(0)?;
    let dtype = job.instance.dtypes[job.instance.output];
    if poison > 0 && dtype.is_integer() {
        // A result may be that number. Where nothing is written, another call leaves the other one.
        poison = found.iter().zip(output(1)?.0).filter(|(first, second)| *first != second).count();
    }
    found.iter_mut().for_each(|element| *element = comparable(dtype, *element));
    let dims = &job.instance.dims[job.instance.output];
    let Oracle::Sampled(expected) = &job.oracle else {
        return Err(Error::failed("no part of the output is known, and no code computes it here").into());
    };
    Ok(expected.compare(&found, poison, arithmetic, dims)?)
}

impl Expectation {
    /// Compares an output, of which so many elements are poison still.
    fn compare(&self, found: &[f64], poison: usize, arithmetic: Arithmetic, dims: &[i64]) -> Result<f64, Failure> {
        let bounds = self.bounds.iter().find(|(of, _)| *of == arithmetic).map(|(_, bounds)| bounds);
        let Some(bounds) = bounds else {
            return Err(Failure::Load { message: "no bounds were computed for its arithmetic".into() });
        };
        let (mut deviation, mut largest) = (0.0f64, f64::MIN_POSITIVE);
        let (mut wrong, mut first) = (0, None);
        for ((at, value), bound) in self.at.iter().zip(&self.values).zip(bounds) {
            let found = found[*at];
            let off = (found - value).abs();
            if value.is_finite() {
                largest = largest.max(value.abs());
            }
            // Not a number is not within any bound; what is subnormal may be flushed to zero.
            if off <= *bound + f64::from(f32::MIN_POSITIVE) {
                deviation = deviation.max(off);
            } else if !same_special(found, *value) {
                wrong += 1;
                first.get_or_insert((*at, *value, *bound));
            }
        }
        let unwritten = (poison + self.written).saturating_sub(found.len());
        match first {
            Some((at, expected, bound)) => Err(Failure::Wrong {
                index: unflatten(at, dims),
                found: found[at].to_string(),
                expected,
                bound,
                elements: wrong,
            }),
            None if unwritten > 0 => Err(Failure::Unwritten { elements: unwritten }),
            None => Ok(deviation / largest),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expected() -> Expectation {
        Expectation {
            written: 4,
            at: vec![0, 3],
            values: vec![1.0, -2.0],
            bounds: vec![(Arithmetic::F32, vec![0.1, 0.1]), (Arithmetic::Tf32, vec![0.5, 0.5])],
        }
    }

    #[test]
    fn each_arithmetic_has_its_bounds() {
        let found = [1.3, 0.0, 0.0, -2.0];
        assert!(matches!(
            expected().compare(&found, 0, Arithmetic::F32, &[2, 2]),
            Err(Failure::Wrong { ref index, elements: 1, .. }) if *index == [0, 0]
        ));
        assert!((expected().compare(&found, 0, Arithmetic::Tf32, &[2, 2]).unwrap() - 0.15).abs() < 1e-6);
        assert!(expected().compare(&found, 0, Arithmetic::MatrixUnit, &[2, 2]).is_err());
    }

    #[test]
    fn what_is_not_a_number_must_be_none() {
        let special = Expectation { values: vec![f64::NAN, f64::INFINITY], ..expected() };
        let compare = |found: [f64; 4], poison| special.compare(&found, poison, Arithmetic::F32, &[2, 2]);
        assert_eq!(compare([f64::NAN, 0.0, 0.0, f64::INFINITY], 0), Ok(0.0));
        assert!(matches!(compare([0.0, 0.0, 0.0, f64::INFINITY], 0), Err(Failure::Wrong { .. })));
        assert!(matches!(compare([f64::NAN, 0.0, 0.0, f64::NAN], 0), Err(Failure::Wrong { .. })));
        assert_eq!(compare([f64::NAN, 0.0, 0.0, f64::INFINITY], 1), Err(Failure::Unwritten { elements: 1 }));
    }

    #[test]
    fn poison_that_was_left_is_told_wherever_it_is() {
        let found = [1.0, 0.0, f64::NAN, -2.0];
        assert_eq!(expected().compare(&found, 1, Arithmetic::F32, &[2, 2]), Err(Failure::Unwritten { elements: 1 }));
        // The nest leaves two elements alone.
        let part = Expectation { written: 2, ..expected() };
        assert!(part.compare(&found, 2, Arithmetic::F32, &[2, 2]).is_ok());
        let found = [f64::NAN, 0.0, 0.0, -2.0];
        assert!(matches!(expected().compare(&found, 1, Arithmetic::F32, &[2, 2]), Err(Failure::Wrong { .. })));
    }
}
