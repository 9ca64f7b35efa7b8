//! The micro-kernels of a program, by the names that its worker is told.

use dietcode_core::measure::{Linked, LinkedName};
use dietcode_core::runtime::Kernel;
use dietcode_core::runtime::cuda::CudaMicroKernel;
use dietcode_core::runtime::set::Entry;
use dietcode_core::{Error, Result, abi};

use super::Program;

impl Linked for Program {
    fn cpu(&self, name: &LinkedName, shape: &[i64]) -> Result<&'static abi::MicroKernel> {
        let kernel = self.kernel(name)?;
        let Some(configuration) = &name.configuration else { return kernel.selected(shape) };
        let micro_kernel = self.entry(name, configuration)?.cpu_micro_kernel();
        let micro_kernel = micro_kernel.ok_or_else(|| not_compiled(configuration, "the CPU"))?;
        kernel.check_cpu(micro_kernel)?;
        Ok(micro_kernel)
    }

    fn cuda(&self, name: &LinkedName, shape: &[i64], capability: (u32, u32)) -> Result<&'static CudaMicroKernel> {
        let kernel = self.kernel(name)?;
        let Some(configuration) = &name.configuration else { return kernel.selected_on_device(shape, capability) };
        let micro_kernel = self.entry(name, configuration)?.cuda;
        micro_kernel.ok_or_else(|| not_compiled(configuration, "CUDA devices"))
    }
}

impl Program {
    fn kernel(&self, name: &LinkedName) -> Result<&'static Kernel> {
        let mut kernels = self.products.iter().flat_map(|product| [product.strided, product.interleaved]);
        kernels.find(|kernel| kernel.name() == name.kernel).ok_or_else(|| name.missing())
    }

    fn entry(&self, name: &LinkedName, configuration: &str) -> Result<&'static Entry> {
        let found = self.set.configuration(configuration).and_then(|found| found.entry(&name.kernel));
        let entry = found.ok_or_else(|| name.missing())?;
        if entry.source_hash != self.kernel(name)?.source_hash() {
            let message = format!("`{configuration}` was compiled for another nest of `{}`; build again", name.kernel);
            return Err(Error::unavailable(message));
        }
        Ok(entry)
    }
}

fn not_compiled(configuration: &str, place: &str) -> Error {
    Error::unavailable(format!("`{configuration}` was not compiled for {place}"))
}
