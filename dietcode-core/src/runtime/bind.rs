//! Checks a call's arguments against the nest's signature and reads off the shape variables.
//!
//! After [`Signature::bind`] every access of the kernel is in bounds and no input is written while it is read. The
//! error paths are out of line: a good call makes a few integer comparisons.

use std::fmt;
use std::ops::Range;

use super::arg::Arg;
use super::prepared::Nest;
use super::signature::{Affine, Bound, MAX_PARAMS, MAX_SHAPE_VARS, Param, Shape, Signature};
use crate::{Error, Result};

impl Signature {
    /// Checks everything about a call and leaves its shape in `shape`.
    pub(super) fn bind(&self, args: &[Arg<'_>], shape: &mut Shape) -> Result<()> {
        self.check_limits()?;
        self.check_kinds(args)?;
        self.check_places(args)?;
        shape.assign(self.shape_vars.iter().map(|v| args[v.param].shape()[v.dim] as i64));
        self.check_extents(args, shape)?;
        if !self.is_empty(shape) {
            self.check_bounds(args, shape)?;
        }
        self.check_overlap(args)
    }

    /// Whether no element of the output is computed: a spatial loop has no iteration. (A reduction without iterations
    /// still stores the epilogue of the initial value.)
    pub(super) fn is_empty(&self, shape: &[i64]) -> bool {
        self.loops.iter().any(|l| !l.reduce && l.extent.at(shape) == Some(0))
    }

    /// Whether the operands that are laid out before calls are, for this nest, and no others.
    pub(super) fn check_prepared(&self, args: &[Arg<'_>]) -> Result<()> {
        for (param, arg) in args.iter().enumerate() {
            let is_listed = self.prepared.iter().any(|prepared| prepared.param == param);
            let expected = is_listed.then_some(Nest { source_hash: self.source_hash, param });
            if arg.prepared_for() != expected {
                return Err(self.otherwise_prepared(param, arg, is_listed));
            }
        }
        Ok(())
    }

    fn check_limits(&self) -> Result<()> {
        if self.shape_vars.len() <= MAX_SHAPE_VARS && self.params.len() <= MAX_PARAMS {
            return Ok(());
        }
        Err(self.error(&format!(
            "it has {} shape variables and {} parameters, but at most {MAX_SHAPE_VARS} and {MAX_PARAMS} are possible",
            self.shape_vars.len(),
            self.params.len()
        )))
    }

    fn check_kinds(&self, args: &[Arg<'_>]) -> Result<()> {
        if args.len() != self.params.len() {
            return Err(self.error(&format!(
                "it takes {} arguments, but was called with {}",
                self.params.len(),
                args.len()
            )));
        }
        self.params.iter().zip(args).try_for_each(|(param, arg)| self.check_kind(param, arg))
    }

    /// Whether an argument is what a parameter takes, but for its extents.
    pub(super) fn check_kind(&self, param: &Param, arg: &Arg<'_>) -> Result<()> {
        if arg.is_scalar() != param.is_scalar() {
            return Err(self.other_kind(param, arg));
        }
        if arg.shape().len() != param.dims.len() {
            return Err(self.error(&format!(
                "`{}` must have {} dimensions, but has {} (shape {:?})",
                param.name,
                param.dims.len(),
                arg.shape().len(),
                arg.shape()
            )));
        }
        if arg.dtype() != param.dtype {
            return Err(self.other_elements(param, arg.dtype()));
        }
        if arg.is_mutable() != param.mutable {
            return Err(self.error(&format!(
                "`{}` is {}, but was given as the other",
                param.name,
                if param.mutable { "the output, a TensorMut" } else { "an input, a TensorRef" }
            )));
        }
        Ok(())
    }

    fn check_places(&self, args: &[Arg<'_>]) -> Result<()> {
        let mut places = args.iter().filter(|arg| !arg.is_scalar()).map(Arg::memory);
        match places.next() {
            Some(first) if !places.all(|memory| memory.is_beside(first)) => Err(self.scattered(args)),
            _ => Ok(()),
        }
    }

    fn check_extents(&self, args: &[Arg<'_>], shape: &[i64]) -> Result<()> {
        for (param, arg) in self.params.iter().zip(args) {
            for (dim, (extent, found)) in param.dims.iter().zip(arg.shape()).enumerate() {
                if extent.at(shape) != Some(*found as i64) {
                    return Err(self.wrong_extent(param.name, dim, extent, *found, shape));
                }
            }
        }
        for l in self.loops {
            let extent = l.extent.at(shape);
            if extent.is_none_or(|extent| extent < 0) {
                let must_be = if extent.is_some() { "; there must be 0 or more" } else { "" };
                return Err(self.error(&format!(
                    "the loop over `{}` would have {} iterations{must_be}",
                    l.name,
                    self.valued(&l.extent, shape)
                )));
            }
        }
        Ok(())
    }

    fn check_bounds(&self, args: &[Arg<'_>], shape: &[i64]) -> Result<()> {
        for bound in self.bounds {
            let extent = args[bound.param].shape()[bound.dim] as i64;
            let inside = bound.least.at(shape).is_some_and(|least| least >= 0)
                && bound.greatest.at(shape).is_some_and(|greatest| greatest < extent);
            if !inside {
                return Err(self.out_of_bounds(bound, extent, shape));
            }
        }
        Ok(())
    }

    fn check_overlap(&self, args: &[Arg<'_>]) -> Result<()> {
        let Some(output) = self.output() else { return Ok(()) };
        let written = args[output].addresses();
        for (input, arg) in args.iter().enumerate().filter(|(input, _)| *input != output) {
            let read = arg.addresses();
            if read.start < written.end && written.start < read.end && !read.is_empty() && !written.is_empty() {
                return Err(self.overlapping(output, &written, input, &read));
            }
        }
        Ok(())
    }

    #[cold]
    fn other_kind(&self, param: &Param, arg: &Arg<'_>) -> Error {
        let name = param.name;
        self.error(&match arg.is_scalar() {
            true => format!(
                "`{name}` must be a tensor of {} dimensions, but is a scalar, an {}",
                param.dims.len(),
                arg.dtype()
            ),
            false => {
                format!("`{name}` must be a scalar, an {}, but is a tensor of shape {:?}", param.dtype, arg.shape())
            }
        })
    }

    /// Elements of a type that the parameter's are not, and that need not be a kernel's.
    #[cold]
    pub(super) fn other_elements(&self, param: &Param, found: impl fmt::Display) -> Error {
        self.error(&format!("the elements of `{}` must be {}, but are {found}", param.name, param.dtype))
    }

    #[cold]
    fn otherwise_prepared(&self, param: usize, arg: &Arg<'_>, is_listed: bool) -> Error {
        let name = self.params[param].name;
        self.error(&match (is_listed, arg.prepared_for()) {
            (false, _) => {
                format!("`{name}` is taken as a tensor, but was laid out for a kernel that lists it as prepared")
            }
            (true, None) => format!("`{name}` must be prepared: pass what `{}::prepare_{name}` makes of it", self.name),
            (true, Some(_)) => format!(
                "`{name}` was laid out for another parameter, or for another version of the nest; prepare it by \
                 `{}::prepare_{name}`",
                self.name
            ),
        })
    }

    #[cold]
    fn scattered(&self, args: &[Arg<'_>]) -> Error {
        if let Some(prepared) = args.iter().position(|arg| arg.prepared_for().is_some()) {
            let name = self.params[prepared].name;
            return self.error(&format!("`{name}` is laid out for CPUs, so that all tensors must be in host memory"));
        }
        let place = |(param, arg): (&Param, &Arg<'_>)| format!("`{}` is {}", param.name, arg.memory());
        let tensors = self.params.iter().zip(args).filter(|(param, _)| !param.is_scalar());
        let places: Vec<String> = tensors.map(place).collect();
        self.error(&format!("its tensors must be in one place, but {}; copy them to one device", places.join(", ")))
    }

    #[cold]
    fn overlapping(&self, output: usize, written: &Range<usize>, input: usize, read: &Range<usize>) -> Error {
        self.error(&format!(
            "the output `{}` (bytes {:#x}..{:#x}) overlaps the input `{}` (bytes {:#x}..{:#x}); give it memory of its own",
            self.params[output].name,
            written.start,
            written.end,
            self.params[input].name,
            read.start,
            read.end
        ))
    }

    #[cold]
    fn wrong_extent(&self, param: &str, dim: usize, expected: &Affine, found: usize, shape: &[i64]) -> Error {
        let mut message =
            format!("dimension {dim} of `{param}` is {found}, but must be {}", self.valued(expected, shape));
        for &(var, _) in expected.terms {
            if let (Some(v), Some(value)) = (self.shape_vars.get(var), shape.get(var)) {
                let binder = self.params[v.param].name;
                message += &format!("; {} = {value} is dimension {} of `{binder}`", v.name, v.dim);
            }
        }
        self.error(&message)
    }

    #[cold]
    fn out_of_bounds(&self, bound: &Bound, extent: i64, shape: &[i64]) -> Error {
        self.error(&format!(
            "dimension {} of `{}` is {extent}, but its index `{}` runs from {} to {}",
            bound.dim,
            self.params[bound.param].name,
            bound.index,
            self.valued(&bound.least, shape),
            self.valued(&bound.greatest, shape)
        ))
    }

    /// "16*T + 2 = 34", or "34" for a constant.
    fn valued(&self, affine: &Affine, shape: &[i64]) -> String {
        let text = affine.display(self.shape_vars);
        match affine.at(shape) {
            Some(value) if affine.terms.is_empty() => value.to_string(),
            Some(value) => format!("{text} = {value}"),
            None => format!("{text}, more than {}", i64::MAX),
        }
    }

    /// An error about this kernel.
    #[cold]
    pub(super) fn error(&self, message: &str) -> Error {
        Error::input(format!("{}: {message}", self.name))
    }
}
