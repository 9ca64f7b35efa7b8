//! The parameters of a launch, in the order that `table` states.

use std::ffi::c_void;

use crate::runtime::Arg;
use crate::runtime::arg::Value;
use crate::runtime::cuda::table::HostArg;
use crate::runtime::inline::Inline;
use crate::runtime::layout::MAX_RANK;
use crate::runtime::signature::{MAX_PARAMS, MAX_SHAPE_VARS};

const MAX_STRIDES: usize = MAX_PARAMS * (MAX_RANK - 1);

/// The largest shape variable, and the largest extent of a tensor. A kernel counts in ints, and counts on to the end of the
/// last tile, which may lie up to 2²⁰ elements behind the end of a loop.
pub(super) const MOST: i64 = i32::MAX as i64 - (1 << 20);

/// The values; a launch gets pointers to them.
pub(super) struct Params {
    /// With the bytes of tensors, 0 of scalars.
    args: Inline<(Value, usize), MAX_PARAMS>,
    workspace: Option<(*mut c_void, usize)>,
    strides: Inline<i64, MAX_STRIDES>,
    shape: Inline<i32, MAX_SHAPE_VARS>,
}

impl Params {
    /// The parameters of these arguments; the position and the value of a shape variable that is more than
    /// [`MOST`] if there is one.
    pub(super) fn new(args: &[Arg<'_>], shape: &[i64]) -> Result<Params, (usize, i64)> {
        let mut params = Params { args: Inline::new(), workspace: None, strides: Inline::new(), shape: Inline::new() };
        for arg in args {
            params.args.push((arg.value(), arg.bytes()));
            let outer = arg.strides().len().saturating_sub(1);
            arg.strides()[..outer].iter().for_each(|stride| params.strides.push(*stride as i64));
        }
        for (position, value) in shape.iter().enumerate() {
            let number = i32::try_from(*value).ok().filter(|_| *value <= MOST);
            params.shape.push(number.ok_or((position, *value))?);
        }
        Ok(params)
    }

    /// Adds the workspace, of so many bytes.
    pub(super) fn set_workspace(&mut self, workspace: *mut c_void, bytes: usize) {
        self.workspace = Some((workspace, bytes));
    }

    /// As a launch takes them: each is read from where its value stands.
    pub(super) fn launched(&self) -> Inline<HostArg, { MAX_PARAMS + 1 + MAX_STRIDES + MAX_SHAPE_VARS }> {
        let mut args = Inline::new();
        self.args.iter().for_each(|(arg, bytes)| {
            let value = match arg {
                Value::Tensor(address) | Value::Prepared(address, ..) => pointer(address),
                Value::Scalar(scalar) => scalar.address(),
            };
            args.push(HostArg { value, bytes: *bytes as u64 });
        });
        let workspace = self.workspace.iter();
        workspace.for_each(|(address, bytes)| args.push(HostArg { value: pointer(address), bytes: *bytes as u64 }));
        self.strides.iter().for_each(|stride| args.push(HostArg { value: pointer(stride), bytes: 0 }));
        self.shape.iter().for_each(|variable| args.push(HostArg { value: pointer(variable), bytes: 0 }));
        args
    }
}

/// Launches read parameters only, though C says otherwise.
fn pointer<T>(value: &T) -> *mut c_void {
    std::ptr::from_ref(value).cast_mut().cast()
}
