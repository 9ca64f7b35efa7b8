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
        let Some(output) = self.output().map(|output| &self.params[output]) else { return Err(self.error("it has no output")) };
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
        // Extents below zero, and those that do not fit, are refused with those of the loops, and as too large.
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
