//! Kernels as functions of C: what a library that `dietcode build-lib` makes calls.
//!
//! A generated function hands over its operands as C has them. They become arguments of an ordinary call, so whatever is wrong with
//! them is the error that a program in Rust gets, here as a [`Status`] and a sentence. No panic leaves.

use std::cell::RefCell;
use std::ffi::{CString, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::slice;
use std::sync::OnceLock;

use super::arg::Arg;
#[cfg(feature = "cuda")]
use super::cuda::devices::lent::Lent;
use super::cuda::memory::Memory;
use super::kernel::Kernel;
use super::layout::{Layout, MAX_RANK};
use super::signature::Param;
use super::threads::{MAX_THREADS, with_threads};
use super::tunable::KernelOp;
use crate::abi::Status;
use crate::{Error, ErrorKind, Result};

/// What C passes for a parameter.
#[derive(Clone, Copy, Debug)]
pub enum Operand {
    /// A scalar.
    Scalar(f32),
    /// A scalar of 64 bits.
    Double(f64),
    /// A scalar that is an integer.
    Integer(i32),
    /// A tensor in host memory.
    Tensor {
        /// Its first element.
        data: *const c_void,
        /// Its extents, outermost first.
        shape: *const i64,
        /// The distances in elements between neighbours; null: there is nothing between the rows.
        strides: *const i64,
    },
}

thread_local! {
    /// The sentence of this thread's last call that failed.
    static MESSAGE: RefCell<CString> = RefCell::new(CString::default());
}

/// Calls a kernel with an operand for each of its parameters, on so many threads; 0: as many as [`threads`](super::threads()) says. Gives a
/// [`Status`], and leaves the sentence of an error for [`error_message`].
///
/// # Safety
/// A tensor's `shape`, and its `strides` unless they are null, have a number for each dimension of the parameter. Each element that they
/// name from `data` on is there, is of the parameter's type, and is not written meanwhile by others, or used by others if the kernel writes
/// it.
pub unsafe fn call<const N: usize>(kernel: &Kernel, operands: [Operand; N], threads: c_int) -> c_int {
    told(kernel, || {
        // SAFETY: as the caller vouches.
        let mut args = unsafe { arguments(kernel, operands, |_| Ok(Memory::HOST)) }?;
        on_threads(threads, || kernel.call(&mut args))
    })
}

/// As [`call`], on a CUDA device, by its number, with tensors in its memory. [`CUDA_HOST`](crate::abi::CUDA_HOST) is the emulated one, whose
/// memory is the host's. `stream` is a handle of the driver, or null: the default stream. The kernel may still run when this returns.
///
/// # Safety
/// As for [`call`], with elements in the device's memory, which stays until the stream is done, and is used by others in the order of the stream. The
/// stream is one of the device's primary context.
#[cfg(feature = "cuda")]
pub unsafe fn call_on_device<const N: usize>(
    kernel: &Kernel,
    operands: [Operand; N],
    device: c_int,
    stream: *mut c_void,
) -> c_int {
    told(kernel, || {
        // SAFETY: as the caller vouches.
        let lent = unsafe { Lent::new(device, stream) }.map_err(|error| of(kernel.name(), &error))?;
        let memory = |data: Option<_>| data.map_or(Ok(()), |data| lent.check(data)).map(|()| lent.memory());
        // SAFETY: as the caller vouches.
        let mut args = unsafe { arguments(kernel, operands, memory) }?;
        kernel.call(&mut args)
    })
}

/// The candidates of a kernel by their numbers: those of its [`KernelOp`], which is made when one is asked for.
pub struct Candidates {
    tunable: fn() -> KernelOp,
    made: OnceLock<(KernelOp, Vec<CString>)>,
}

impl Candidates {
    /// Of the operation that `tunable` makes.
    pub const fn new(tunable: fn() -> KernelOp) -> Candidates {
        Candidates { tunable, made: OnceLock::new() }
    }

    fn made(&self) -> &(KernelOp, Vec<CString>) {
        self.made.get_or_init(|| {
            let op = (self.tunable)();
            // None has a NUL: what C has named is no longer than its first one.
            let names = op.candidates().map(|name| CString::new(name).unwrap_or_default()).collect();
            (op, names)
        })
    }
}

/// What the candidate of a number is called; null if there is none.
pub fn candidate_name(candidates: &'static Candidates, candidate: c_int) -> *const c_char {
    let named = catch_unwind(AssertUnwindSafe(|| {
        let (_, names) = candidates.made();
        Some(names.get(usize::try_from(candidate).ok()?)?.as_ptr())
    }));
    named.ok().flatten().unwrap_or(ptr::null())
}

/// As [`call`], by the candidate of a number, whatever the dispatcher selects.
///
/// # Safety
/// As for [`call`].
pub unsafe fn call_candidate<const N: usize>(
    kernel: &Kernel,
    (candidates, candidate): (&'static Candidates, c_int),
    operands: [Operand; N],
    threads: c_int,
) -> c_int {
    told(kernel, || {
        // SAFETY: as the caller vouches.
        let mut args = unsafe { arguments(kernel, operands, |_| Ok(Memory::HOST)) }?;
        on_threads(threads, || {
            let (op, names) = candidates.made();
            let at = usize::try_from(candidate).map_err(|_| {
                Error::input(format!(
                    "{}: found the candidate {candidate}, expected 0 to {}",
                    kernel.name(),
                    names.len() - 1
                ))
            })?;
            op.call_candidate(at, &mut args)
        })
    })
}

/// Makes arguments of operands. `memory` is what a tensor is in whose first element, if it has one, is at an address.
///
/// # Safety
/// As for [`call`].
unsafe fn arguments<'a, const N: usize>(
    kernel: &Kernel,
    operands: [Operand; N],
    memory: impl Fn(Option<*const c_void>) -> Result<Memory<'a>>,
) -> Result<[Arg<'a>; N]> {
    let mut args = [0.0; N].map(Arg::from);
    for ((arg, operand), param) in args.iter_mut().zip(operands).zip(kernel.signature.params) {
        // SAFETY: as the caller vouches.
        *arg = unsafe { operand.arg(param, &memory) }.map_err(|error| of(kernel.name(), &error))?;
    }
    Ok(args)
}

/// What C is told of a call.
fn told(kernel: &Kernel, call: impl FnOnce() -> Result<()>) -> c_int {
    let called = catch_unwind(AssertUnwindSafe(call));
    let defect = |_| {
        let what = "a defect of dietcode: it has panicked; standard error says where";
        Err(Error::new(ErrorKind::Internal, format!("{}: {what}", kernel.name())))
    };
    let Err(error) = called.unwrap_or_else(defect) else { return Status::Ok as c_int };
    // It has no NUL, as an error escapes control characters. A thread that ends has no place for it any more.
    let message = CString::new(error.to_string()).unwrap_or_default();
    drop(MESSAGE.try_with(|last| last.replace(message)));
    status(&error) as c_int
}

/// The sentence of this thread's last call that failed, until the next one; empty if none has.
pub fn error_message() -> *const c_char {
    MESSAGE.try_with(|last| last.borrow().as_ptr()).unwrap_or(c"".as_ptr())
}

/// An error about something of a name.
fn of(name: &str, error: &Error) -> Error {
    Error::new(error.kind(), format!("{name}: {error}"))
}

fn status(error: &Error) -> Status {
    match error.kind() {
        ErrorKind::Input => Status::Input,
        ErrorKind::Unavailable => Status::Unavailable,
        ErrorKind::Failed | ErrorKind::Check | ErrorKind::Unsupported => Status::Failed,
        ErrorKind::Internal => Status::Internal,
    }
}

fn on_threads(threads: c_int, call: impl FnOnce() -> Result<()>) -> Result<()> {
    match usize::try_from(threads) {
        Ok(0) => call(),
        Ok(n) if n <= MAX_THREADS => with_threads(n, call),
        _ => Err(Error::input(format!("cannot use {threads} threads, at most {MAX_THREADS}"))),
    }
}

impl Operand {
    /// The argument that it is for a parameter.
    ///
    /// # Safety
    /// As for [`call`].
    unsafe fn arg<'a>(
        self,
        param: &Param,
        memory: impl Fn(Option<*const c_void>) -> Result<Memory<'a>>,
    ) -> Result<Arg<'a>> {
        match self {
            Operand::Scalar(scalar) => Ok(Arg::from(scalar)),
            Operand::Double(scalar) => Ok(Arg::from(scalar)),
            Operand::Integer(scalar) => Ok(Arg::from(scalar)),
            // SAFETY: as the caller vouches.
            Operand::Tensor { data, shape, strides } => unsafe {
                let layout = layout(param, shape, strides)?;
                let data = address(param, data, &layout)?;
                let memory = memory((layout.span() > 0).then_some(data))
                    .map_err(|error| of(&format!("`{}`", param.name), &error))?;
                Ok(Arg::new(param.dtype, data.cast_mut(), layout, param.mutable, memory))
            },
        }
    }
}

/// # Safety
/// `shape`, and `strides` unless they are null, have a number for each dimension of the parameter.
unsafe fn layout(param: &Param, shape: *const i64, strides: *const i64) -> Result<Layout> {
    let (name, rank) = (param.name, param.dims.len());
    if shape.is_null() {
        return Err(Error::input(format!("the shape of `{name}` is NULL, expected {rank} extents")));
    }
    let mut extents = [0; MAX_RANK];
    // SAFETY: as the caller vouches.
    for (dim, extent) in unsafe { slice::from_raw_parts(shape, rank) }.iter().enumerate() {
        extents[dim] = usize::try_from(*extent)
            .map_err(|_| Error::input(format!("dimension {dim} of `{name}` is {extent}, expected 0 or more")))?;
    }
    let extents = &extents[..rank];
    let layout = match strides.is_null() {
        true => Layout::row_major(extents),
        // SAFETY: as above.
        false => Layout::of_array(extents, unsafe { slice::from_raw_parts(strides, rank) }, "make a copy"),
    };
    layout.map_err(|error| of(&format!("`{name}`"), &error))
}

/// Where a tensor's elements begin, if they can be there; one without elements may begin anywhere.
fn address(param: &Param, data: *const c_void, layout: &Layout) -> Result<*const c_void> {
    let (name, size, span) = (param.name, param.dtype.bytes(), layout.span());
    let is_memory = |address: usize| span.checked_mul(size).and_then(|bytes| address.checked_add(bytes)).is_some();
    let what = match data.addr() {
        _ if span == 0 => return Ok(ptr::without_provenance(size)),
        0 => format!("is NULL, expected {} elements", layout.len()),
        address if address % size != 0 => format!("begins at {address:#x}, expected a multiple of {size}"),
        address if is_memory(address) => return Ok(data),
        _ => {
            format!("of shape {:?} and strides {:?} spans more memory than there is", layout.shape(), layout.strides())
        }
    };
    Err(Error::input(format!("`{name}` {what}")))
}
