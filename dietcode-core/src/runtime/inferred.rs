//! The shape of an output that nobody has made yet, from the tensors that are there.

use super::arg::Arg;
use super::signature::{Affine, Signature};
use crate::Result;

impl Signature {
    /// The extents of the output that goes with these inputs, in the order of their parameters. Where inputs do not fit each other, it is
    /// one that [`bind`](Signature::bind) refuses.
    ///
    /// # Errors
    /// If an input is not what its parameter takes, or an extent of the output follows from none of theirs.
    pub(super) fn output_shape(&self, inputs: &[Arg<'_>]) -> Result<Vec<usize>> {
        let Some(output) = self.output().map(|output| &self.params[output]) else {
            return Err(self.error("it has no output"));
        };
        let inputs = || self.params.iter().filter(|param| !param.mutable).zip(inputs);
        inputs().try_for_each(|(param, arg)| self.check_kind(param, arg))?;
        let mut values = vec![None; self.shape_vars.len()];
        let extents = || inputs().flat_map(|(param, arg)| param.dims.iter().zip(arg.shape()));
        // Each turn finds a variable, or is the last.
        while extents().any(|(extent, found)| extent.solve(*found as i64, &mut values)) {}

        let unknown = |&(var, _): &&(usize, i64)| values[*var].is_none();
        if let Some((var, _)) = output.dims.iter().flat_map(|extent| extent.terms).find(unknown) {
            return Err(self.error(&format!(
                "the shape of `{}` does not follow from its inputs, none of which says what `{}` is; give it",
                output.name, self.shape_vars[*var].name
            )));
        }
        let shape: Vec<i64> = values.into_iter().map(Option::unwrap_or_default).collect();
        // Where one is below 0, the call says so; one that does not fit is too large for a tensor.
        let extent = |extent: &Affine| extent.at(&shape).map_or(usize::MAX, |n| usize::try_from(n).unwrap_or(0));
        Ok(output.dims.iter().map(extent).collect())
    }
}

impl Affine {
    /// Whether a variable becomes known by what this is: the only one in it that was not. Where that gives no integer from 0 on, it becomes
    /// the next below, or 0, with which this is something else.
    fn solve(&self, found: i64, values: &mut [Option<i64>]) -> bool {
        let mut unknown = self.terms.iter().filter(|(var, _)| values[*var].is_none());
        let (Some(&(var, coefficient)), None) = (unknown.next(), unknown.next()) else { return false };
        let known = self.terms.iter().try_fold(self.constant, |sum, &(var, coefficient)| match values[var] {
            Some(value) => sum.checked_add(coefficient.checked_mul(value)?),
            None => Some(sum),
        });
        let value = known.and_then(|known| found.checked_sub(known)?.checked_div_euclid(coefficient));
        values[var] = Some(value.unwrap_or(0).max(0));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::{DType, Param, ShapeVar, Tensor};

    /// `y: [[f32; P + 1]; C]` of `x: [f32; 2*P + R - 2]` and `w: [[f32; R]; C]`.
    const SIGNATURE: Signature = Signature {
        name: "strided",
        source_hash: 0,
        shape_vars: &[
            ShapeVar { name: "P", param: 2, dim: 0 },
            ShapeVar { name: "R", param: 1, dim: 1 },
            ShapeVar { name: "C", param: 1, dim: 0 },
        ],
        params: &[
            param("x", &[Affine { terms: &[(0, 2), (1, 1)], constant: -2 }], false),
            param("w", &[Affine { terms: &[(2, 1)], constant: 0 }, Affine { terms: &[(1, 1)], constant: 0 }], false),
            param("y", &[Affine { terms: &[(2, 1)], constant: 0 }, Affine { terms: &[(0, 1)], constant: 1 }], true),
        ],
        loops: &[],
        bounds: &[],
        prepared: &[],
    };

    const fn param(name: &'static str, dims: &'static [Affine], mutable: bool) -> Param {
        Param { name, dtype: DType::F32, dims, mutable }
    }

    fn shape(x: usize, w: [usize; 2]) -> Vec<usize> {
        let (x, w) = (Tensor::<f32>::zeros(&[x]).unwrap(), Tensor::<f32>::zeros(&w).unwrap());
        SIGNATURE.output_shape(&[x.view().into(), w.view().into()]).unwrap()
    }

    #[test]
    fn variables_follow_from_extents_that_others_determine() {
        assert_eq!(shape(11, [4, 3]), [4, 6]);
        assert_eq!(shape(1, [0, 3]), [0, 1]);
    }

    /// An extent that no shape has gives that of a shape near it, and the call says what is wrong.
    #[test]
    fn extents_that_do_not_fit_have_an_answer() {
        assert_eq!(shape(12, [4, 3]), [4, 6]);
        assert_eq!(shape(0, [4, 3]), [4, 1]);
    }
}
