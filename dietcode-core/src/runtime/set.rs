//! A set of configurations as a build script has compiled it into the program: what there is to choose from by measuring.
//!
//! A kernel of a program has a dispatcher, which selects a micro-kernel. A set has none: each configuration is there, with a
//! micro-kernel for each kernel that it serves, and the caller says which one is to run.

use super::arg::Arg;
use super::cuda::CudaMicroKernel;
#[cfg(feature = "cuda")]
use super::cuda::devices;
use super::kernel::{Kernel, TableSource};
use super::signature::Shape;
use crate::{Error, Result, abi};

/// The configurations of a set file, as `dietcode_build::set` compiles them.
#[derive(Debug)]
pub struct Set {
    /// The file, as the build script names it.
    pub config: &'static str,
    /// Whether the configurations were compiled for the CPU, or a sentence that says why not and what to do.
    pub cpu: Result<(), &'static str>,
    /// The same for CUDA devices.
    pub cuda: Result<(), &'static str>,
    /// The same for the emulated device.
    pub cuda_host: Result<(), &'static str>,
    /// The configurations, in the order of the file.
    pub configurations: &'static [Configuration],
}

/// One configuration: a family of schedules with a value for each parameter.
#[derive(Debug)]
pub struct Configuration {
    /// A readable identifier, which no other configuration of the set has: the stem of its files.
    pub name: &'static str,
    /// The family's name, such as `local`.
    pub family: &'static str,
    /// A JSON object that can be pasted into a set file and stands for this configuration alone.
    pub parameters: &'static str,
    /// A micro-kernel for each kernel that it serves.
    pub entries: &'static [Entry],
}

/// A configuration's micro-kernel for one kernel.
///
/// Generated code makes it, and vouches for its parts fitting together: they touch what the nest of that hash says.
#[derive(Debug)]
pub struct Entry {
    /// The kernel's name.
    pub kernel: &'static str,
    /// The hash of its nest's canonical form.
    pub source_hash: u64,
    /// The micro-kernel for the CPU, if there is one.
    pub cpu: Option<CpuRow>,
    /// The micro-kernel for CUDA devices and the emulated one, if there is one. It is for real devices if it has an image, for
    /// the emulated one if its launches have host entries.
    pub cuda: Option<&'static CudaMicroKernel>,
}

/// Where a micro-kernel for the CPU stands.
#[derive(Clone, Copy, Debug)]
pub struct CpuRow {
    /// The set's table.
    pub table: &'static TableSource,
    /// Its row there.
    pub row: usize,
}

impl Set {
    /// The configuration of a name.
    pub fn configuration(&self, name: &str) -> Option<&'static Configuration> {
        self.configurations.iter().find(|configuration| configuration.name == name)
    }
}

impl Configuration {
    /// Its micro-kernel for a kernel, if it serves that.
    pub fn entry(&self, kernel: &str) -> Option<&'static Entry> {
        self.entries.iter().find(|entry| entry.kernel == kernel)
    }
}

impl Entry {
    /// The micro-kernel for the CPU, if there is one.
    pub fn cpu_micro_kernel(&self) -> Option<&'static abi::MicroKernel> {
        let CpuRow { table: TableSource::Linked(table), row } = self.cpu? else { return None };
        table.as_slice().get(row).copied()
    }
}

impl Kernel {
    /// As [`Kernel::call`], but what runs is the micro-kernel of a configuration, whatever the dispatcher would choose.
    ///
    /// # Errors
    /// Those of [`Kernel::call`]; [`crate::ErrorKind::Input`] if the micro-kernel is one of another nest.
    pub fn call_entry(&self, entry: &'static Entry, args: &mut [Arg<'_>]) -> Result<()> {
        if entry.kernel != self.name() || entry.source_hash != self.source_hash() {
            let message = format!("{}: the micro-kernel is one of `{}`, of another nest", self.name(), entry.kernel);
            return Err(Error::input(message));
        }
        let mut shape = Shape::new();
        self.signature.bind(args, &mut shape)?;
        if self.signature.is_empty(&shape) {
            return Ok(());
        }
        #[cfg(feature = "cuda")]
        if let Some(device) = devices::trial::device_of(args) {
            let micro_kernel = entry.cuda.ok_or_else(|| self.not_served("CUDA devices"))?;
            // SAFETY: `bind` has checked that all the micro-kernel reads and writes is inside the tensors, that they are on
            // the same device and that the output is apart from the inputs; the micro-kernel is one of this nest.
            return unsafe { devices::call::run(self.name(), micro_kernel, &device, &shape, args) };
        }
        let micro_kernel = entry.cpu_micro_kernel().ok_or_else(|| self.not_served("the CPU"))?;
        self.run_on_host(micro_kernel, args, &shape)
    }

    fn not_served(&self, place: &str) -> Error {
        let message = format!("{}: the configuration was not compiled for {place}", self.name());
        Error::unavailable(message)
    }
}
