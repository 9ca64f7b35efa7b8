//! A kernel as a program holds it, and a call of it.

use std::ffi::c_void;
use std::sync::OnceLock;

use super::arg::Arg;
#[cfg(feature = "cuda")]
use super::arg::place;
use super::cuda::CudaTableSource;
#[cfg(feature = "cuda")]
use super::cuda::{devices, memory::Memory};
use super::inline::Inline;
use super::launch::workspace_bytes;
use super::layout::MAX_RANK;
use super::scratch::MAX_SCRATCH_BYTES;
use super::signature::{MAX_PARAMS, Shape, ShapeVar, Signature};
use super::{launch, threads};
use crate::{Error, Result, abi, cpu_features};

/// A kernel: what a call must look like, its micro-kernels, and how one is selected.
///
/// `#[dynamic_kernel]` and the build script make it, and vouch for its parts fitting together: the micro-kernels touch
/// what the signature bounds, and nothing else.
pub struct Kernel {
    /// What a call must look like.
    pub signature: Signature,
    /// The micro-kernels.
    pub table: &'static TableSource,
    /// The row of the table for a shape (the shape variables in declaration order).
    pub dispatch: fn(&[i64]) -> usize,
    /// The micro-kernels for CUDA devices, and how one of those is selected.
    pub cuda: &'static CudaTableSource,
}

/// Where the micro-kernels of a kernel or a set are.
#[derive(Debug)]
pub enum TableSource {
    /// Compiled into this program.
    Linked(&'static abi::Table),
    /// There is no native code; the text says why, and what to do.
    Skipped(&'static str),
}

impl Kernel {
    /// Computes the output where the tensors are: in host memory on [`threads`](super::threads()) threads, or on a CUDA
    /// device, where it may still be at it when this returns.
    ///
    /// # Errors
    /// Those of [`Kernel::bind`], before anything is written; [`crate::ErrorKind::Unavailable`] if there is no code for the place,
    /// if this CPU lacks a feature that the code uses, or if there is no memory or no thread for it; on a device also
    /// [`crate::ErrorKind::Input`] for a grid that it does not take, and [`crate::ErrorKind::Failed`] if the launch fails.
    pub fn call(&self, args: &mut [Arg<'_>]) -> Result<()> {
        let shape = self.bind(args)?;
        self.call_bound(args, &shape)
    }

    /// The same, once everything about the call has been checked.
    pub(super) fn call_bound(&self, args: &mut [Arg<'_>], shape: &Shape) -> Result<()> {
        if self.signature.is_empty(shape) {
            return Ok(());
        }
        #[cfg(feature = "cuda")]
        if let Some(Memory::Device(context, _)) = place(args) {
            // SAFETY: `bind` has checked that all the micro-kernel reads and writes is inside the tensors, that they are on
            // the same device and that the output is apart from the inputs.
            return unsafe { devices::call::call(self.name(), self.cuda, context, shape, args) };
        }
        self.run_on_host(self.dispatched(shape)?, args, shape)
    }

    /// The micro-kernel that a call in host memory carries out at a shape. A split sum is for few outputs: far above the tuned
    /// shapes its parts may take more than is kept between calls, and the first row with the smallest workspace serves instead.
    pub(super) fn dispatched(&self, shape: &[i64]) -> Result<&'static abi::MicroKernel> {
        let picked = self.micro_kernel((self.dispatch)(shape))?;
        if workspace_bytes(picked, shape) <= MAX_SCRATCH_BYTES {
            return Ok(picked);
        }
        let smallest = self.rows()?.iter().min_by_key(|row| workspace_bytes(row, shape));
        Ok(smallest.copied().unwrap_or(picked))
    }

    /// Carries out a micro-kernel of this nest on tensors in host memory, everything about which was checked.
    pub(super) fn run_on_host(&self, micro_kernel: &abi::MicroKernel, args: &[Arg<'_>], shape: &Shape) -> Result<()> {
        self.check_cpu(micro_kernel)?;
        self.signature.check_prepared(args)?;
        let mut buffers = Inline::<*mut c_void, MAX_PARAMS>::new();
        let mut strides = Inline::<i64, { MAX_PARAMS * MAX_RANK }>::new();
        for arg in args {
            buffers.push(arg.data());
            arg.strides().iter().for_each(|stride| strides.push(*stride as i64));
        }
        // SAFETY: `bind` has checked that all the micro-kernel reads and writes is inside the tensors and that the
        // output is apart from the inputs, and the CPU can execute it.
        unsafe { launch(micro_kernel, &buffers, &strides, shape, threads()?) }
    }

    /// The values of the shape variables, once everything about the call has been checked.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Input`] naming the parameter, the dimension, what was found and what was expected, if a scalar or a tensor
    /// stands where the other should, an element type, a rank or an extent does not fit, an index would leave its tensor, the output
    /// overlaps an input, or the tensors are not all in one place.
    pub fn bind(&self, args: &[Arg<'_>]) -> Result<Shape> {
        let mut shape = Shape::new();
        self.signature.bind(args, &mut shape)?;
        Ok(shape)
    }

    /// The function's name.
    pub fn name(&self) -> &'static str {
        self.signature.name
    }

    /// The hash of the nest's canonical form.
    pub fn source_hash(&self) -> u64 {
        self.signature.source_hash
    }

    /// The shape variables in declaration order.
    pub fn shape_vars(&self) -> &'static [ShapeVar] {
        self.signature.shape_vars
    }

    pub(super) fn micro_kernel(&self, index: usize) -> Result<&'static abi::MicroKernel> {
        let rows = self.rows()?;
        rows.get(index).copied().ok_or_else(|| {
            let len = rows.len();
            Error::failed(format!("{}: there is no micro-kernel {index}, there are {len}", self.name()))
        })
    }

    fn rows(&self) -> Result<&'static [&'static abi::MicroKernel]> {
        match self.table {
            TableSource::Linked(table) => Ok(table.as_slice()),
            TableSource::Skipped(why) => {
                Err(Error::unavailable(format!("{}: there is no native code: {why}", self.name())))
            }
        }
    }

    /// Whether this CPU can carry out a micro-kernel.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Unavailable`] naming the features that it lacks.
    pub fn check_cpu(&self, micro_kernel: &abi::MicroKernel) -> Result<()> {
        static DETECTED: OnceLock<u64> = OnceLock::new();
        let missing = micro_kernel.cpu_features & !DETECTED.get_or_init(cpu_features::detected);
        if missing == 0 {
            return Ok(());
        }
        Err(Error::unavailable(format!(
            "{}: its code was compiled for {}, which this CPU does not have; build it here, or set `march` in its config",
            self.name(),
            missing_names(missing)
        )))
    }
}

fn missing_names(mask: u64) -> String {
    let names = cpu_features::names(mask);
    if names.is_empty() { format!("unknown CPU features {mask:#x}") } else { names.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::missing_names;

    #[test]
    fn missing_features_are_named() {
        assert_eq!(missing_names(0b1_1000_0000), "avx512f, avx512bw");
        assert_eq!(missing_names(1 << 63), "unknown CPU features 0x8000000000000000");
    }
}
