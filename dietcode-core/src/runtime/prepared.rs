//! Operands that are laid out once, before calls: `let w = dense::prepare_w(&w)?;`.
//!
//! How one lies follows from the nest alone (`dietcode_syntax::Prepared`), so that every micro-kernel of a kernel, on every CPU, reads it
//! as it is. It holds numbers of the type that the nest computes in, whatever the elements are, as panels do that are packed in a call.

use std::fmt;
use std::marker::PhantomData;

use super::aligned::AlignedBuffer;
use super::arg::Arg;
use super::element::{DType, Element};
use super::layout::Layout;
use super::signature::Signature;
use super::view::TensorRef;
use crate::{Error, Result};

/// How a prepared operand lies: `[outer dimensions…][⌈extent / panel⌉][inner dimensions…][panel]`, dense, zeros behind the extent.
#[derive(Clone, Copy, Debug)]
pub struct PreparedLayout<'a> {
    /// The parameter.
    pub param: usize,
    /// The dimension that is cut into panels.
    pub dim: usize,
    /// The dimensions outside of the panels.
    pub outer: &'a [usize],
    /// The dimensions inside.
    pub inner: &'a [usize],
    /// The elements of a panel next to each other.
    pub panel: usize,
}

/// An operand of one kernel, a copy of a tensor, in the layout that this kernel reads. The module of the kernel makes it, by a function
/// `prepare_…` for each operand that its attribute lists as `prepared(…)`.
pub struct Prepared<T> {
    data: Panels,
    /// The tensor's.
    layout: Layout,
    nest: Nest,
    elements: PhantomData<T>,
}

/// Numbers of the type that a nest computes in.
enum Panels {
    F32(AlignedBuffer<f32>),
    F64(AlignedBuffer<f64>),
}

/// The parameter that an operand was prepared for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Nest {
    /// The hash of the nest, from which the layout follows.
    pub(super) source_hash: u64,
    /// Which of its parameters.
    pub(super) param: usize,
}

impl<T: Element + Into<f64>> Prepared<T> {
    /// Copies a tensor for a parameter of a kernel.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Input`] if the kernel has no such prepared parameter, or the tensor another number of dimensions;
    /// [`crate::ErrorKind::Unavailable`] if there is not enough memory.
    pub fn new(signature: &Signature, param: usize, tensor: TensorRef<'_, T>) -> Result<Prepared<T>> {
        let name = signature.name;
        let Some(prepared) = signature.prepared.iter().find(|prepared| prepared.param == param) else {
            return Err(Error::input(format!("{name}: parameter {param} is not listed as prepared")));
        };
        let strided = tensor.layout();
        let (rank, found) = (signature.params[param].dims.len(), strided.shape().len());
        if rank != found {
            let (w, shape) = (signature.params[param].name, strided.shape());
            let why = format!("{name}: `{w}` must have {rank} dimensions, but has {found} (shape {shape:?})");
            return Err(Error::input(why));
        }
        let elements = prepared.elements(strided.shape()).ok_or_else(|| {
            Error::unavailable(format!("{name}: a tensor of shape {:?} is too large to be prepared", strided.shape()))
        })?;
        let first = tensor.as_ptr();
        // SAFETY: `fill` asks for elements of the tensor, by its own strides.
        let element = |at: usize| -> f64 { unsafe { *first.add(at) }.into() };
        let (shape, strides) = (strided.shape(), strided.strides());
        let data = if signature.computes_in() == DType::F64 {
            let mut data = AlignedBuffer::filled(elements, 0.0f64)?;
            prepared.fill(shape, strides, element, &mut data);
            Panels::F64(data)
        } else {
            let mut data = AlignedBuffer::filled(elements, 0.0f32)?;
            prepared.fill(shape, strides, |at| element(at) as f32, &mut data);
            Panels::F32(data)
        };
        let nest = Nest { source_hash: signature.source_hash, param };
        Ok(Prepared { data, layout: Layout::row_major(strided.shape())?, nest, elements: PhantomData })
    }
}

impl<T> Prepared<T> {
    /// The tensor's extents, outermost first.
    pub fn shape(&self) -> &[usize] {
        self.layout.shape()
    }

    /// Bytes that it takes.
    pub fn bytes(&self) -> usize {
        match &self.data {
            Panels::F32(data) => size_of_val(&**data),
            Panels::F64(data) => size_of_val(&**data),
        }
    }
}

impl<T> fmt::Debug for Prepared<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Prepared {{ shape: {:?} }}", self.shape())
    }
}

impl<'a, T: Element> From<&'a Prepared<T>> for Arg<'a> {
    fn from(prepared: &'a Prepared<T>) -> Self {
        let Prepared { data, layout, nest, .. } = prepared;
        match data {
            Panels::F32(data) => Arg::prepared(T::DTYPE, data, *layout, *nest),
            Panels::F64(data) => Arg::prepared(T::DTYPE, data, *layout, *nest),
        }
    }
}

impl PreparedLayout<'_> {
    /// How many elements a tensor of a shape has then; none: more than can be addressed.
    pub fn elements(&self, shape: &[usize]) -> Option<usize> {
        let others = self.outer.iter().chain(self.inner).map(|dim| shape[*dim]);
        let padded = shape[self.dim].checked_next_multiple_of(self.panel)?;
        others.chain([padded]).try_fold(1usize, usize::checked_mul)
    }

    /// Fills `target`, which has [`PreparedLayout::elements`]; `element` is asked for the element of the tensor that lies so many behind
    /// its first.
    pub fn fill<T: Copy + Default>(
        &self,
        shape: &[usize],
        strides: &[usize],
        element: impl Fn(usize) -> T,
        target: &mut [T],
    ) {
        // Of no elements, the other extents may be as large as they like.
        if target.is_empty() {
            return;
        }
        let of =
            |dims: &[usize]| -> Vec<(usize, usize)> { dims.iter().map(|dim| (shape[*dim], strides[*dim])).collect() };
        let [outer, inner] = [self.outer, self.inner].map(of);
        let (extent, stride) = (shape[self.dim], strides[self.dim]);
        let mut target = target.chunks_exact_mut(self.panel);
        for outer in offsets(&outer) {
            for first in (0..extent).step_by(self.panel) {
                let whole = self.panel.min(extent - first);
                for inner in offsets(&inner) {
                    let panel = target.next().expect("the target has as many panels");
                    let (filled, behind) = panel.split_at_mut(whole);
                    let lane = |lane: usize| element(outer + (first + lane) * stride + inner);
                    filled.iter_mut().enumerate().for_each(|(at, place)| *place = lane(at));
                    behind.fill(T::default());
                }
            }
        }
    }
}

/// Where the elements of some dimensions lie, the last of which counts fastest: of (extent, stride).
fn offsets(dims: &[(usize, usize)]) -> impl Iterator<Item = usize> {
    let count: usize = dims.iter().map(|(extent, _)| extent).product();
    (0..count).map(move |number| {
        let step = |(number, offset): (usize, usize), (extent, stride): &(usize, usize)| {
            (number / extent, offset + number % extent * stride)
        };
        dims.iter().rev().fold((number, 0), step).1
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each element stands where its index says, and zeros behind the extent.
    #[test]
    fn panels_hold_each_element_once() {
        // A batch of two, seven rows of three elements that lie five apart.
        let layout = PreparedLayout { param: 0, dim: 1, outer: &[0], inner: &[2], panel: 4 };
        let (shape, strides) = ([2, 7, 3], [40, 5, 1]);
        let mut target = vec![f32::NAN; layout.elements(&shape).unwrap()];
        layout.fill(&shape, &strides, |at| at as f32, &mut target);
        assert_eq!(target.len(), 2 * 2 * 3 * 4);
        for (at, found) in target.iter().enumerate() {
            let (lane, k, block, b) = (at % 4, at / 4 % 3, at / 12 % 2, at / 24);
            let j = 4 * block + lane;
            let expected = if j < 7 { (40 * b + 5 * j + k) as f32 } else { 0.0 };
            assert_eq!(*found, expected, "{at}");
        }
    }

    #[test]
    fn sizes_that_overflow_are_none() {
        let layout = PreparedLayout { param: 0, dim: 0, outer: &[], inner: &[1], panel: 16 };
        assert_eq!(layout.elements(&[usize::MAX, 1]), None);
        assert_eq!(layout.elements(&[1, usize::MAX / 2]), None);
        assert_eq!(layout.elements(&[17, 3]), Some(96));
    }

    #[test]
    fn nothing_is_laid_out_at_once() {
        let layout = PreparedLayout { param: 0, dim: 1, outer: &[0], inner: &[2], panel: 16 };
        for shape in [[1 << 40, 0, 1], [1 << 40, 1, 0], [0, 1 << 40, 1 << 10]] {
            assert_eq!(layout.elements(&shape), Some(0));
            layout.fill(&shape, &[1, 1, 1], |_| unreachable!("there is no element"), &mut [0.0f32; 0]);
        }
    }
}
