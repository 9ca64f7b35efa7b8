//! nvdisasm, which prints the machine code of a cubin.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use super::super::process::output_limited;
use super::find::beside;
use super::{Compiled, KernelSass, Nvcc};
use crate::scratch::Scratch;
use crate::{Error, Result};

/// A disassembler.
#[derive(Clone, Debug)]
pub struct Nvdisasm {
    path: PathBuf,
}

/// It takes a second for the largest kernel.
const LIMIT: Duration = Duration::from_secs(60);

impl Nvdisasm {
    /// Finds it: beside nvcc, or else one that is not older where nvcc is looked for.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Unavailable`] if there is none, with what to install.
    pub fn find(nvcc: &Nvcc) -> Result<Nvdisasm> {
        Nvdisasm::find_with(nvcc, |name| std::env::var_os(name))
    }

    fn find_with(nvcc: &Nvcc, variable: impl Fn(&str) -> Option<OsString>) -> Result<Nvdisasm> {
        let found = beside(nvcc, "nvdisasm", variable).map(|path| Nvdisasm { path });
        found.ok_or_else(|| {
            Error::unavailable(format!(
                "no nvdisasm was found (beside {}, in CUDA_HOME, CUDA_PATH, PATH and the wheels of python3): install that of CUDA \
                 {}.{} or newer, or its wheel (python3 -m pip install nvidia-cuda-nvdisasm)",
                nvcc.path().display(),
                nvcc.release().0,
                nvcc.release().1
            ))
        })
    }

    /// Adds to the report of what was compiled for one device what the main loops consist of, and what they ask of pipes; gives the kernels.
    ///
    /// # Errors
    /// As [`Nvdisasm::kernels`].
    pub fn count(&self, compiled: &mut Compiled) -> Result<Vec<KernelSass>> {
        let kernels = self.kernels(&compiled.image)?;
        for kernel in &kernels {
            let own = compiled.report.iter_mut().filter(|report| report.symbol == kernel.symbol);
            own.for_each(|report| {
                report.main_loop.clone_from(&kernel.main_loop);
                report.pipes.clone_from(&kernel.pipes);
            });
        }
        Ok(kernels)
    }

    /// What the kernels of a cubin are made of, sorted by symbol.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Failed`] with its words if it refuses the cubin, or if it takes too long;
    /// [`crate::ErrorKind::Unavailable`] if it cannot be run at all.
    pub fn kernels(&self, cubin: &[u8]) -> Result<Vec<KernelSass>> {
        let unavailable = |e| Error::unavailable(format!("cannot run {}", self.path.display())).caused_by(e);
        let failed = |why: &str| Error::failed(format!("{} does not read a cubin: {why}", self.path.display()));
        let folder = Scratch::new()?;
        let file = folder.path().join("image");
        fs::write(&file, cubin).map_err(unavailable)?;
        let output = output_limited(Command::new(&self.path).arg("-c").arg(&file).env("LC_ALL", "C"), LIMIT);
        let output = output.map_err(unavailable)?.ok_or_else(|| failed("it does not end"))?;
        if !output.status.success() {
            return Err(failed(String::from_utf8_lossy(&output.stderr).trim()));
        }
        let kernels = KernelSass::parse(&String::from_utf8_lossy(&output.stdout));
        if kernels.is_empty() { Err(failed("it prints no kernel")) } else { Ok(kernels) }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::ErrorKind;

    /// Beside nvcc, then where the environment says; where there is none, that is an error.
    #[test]
    fn it_is_found_beside_nvcc_or_said_to_be_missing() {
        let folder = tempfile::tempdir().unwrap();
        let program_of = |release: &str, name: &str| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, format!("#!/bin/sh\necho 'Cuda compilation tools, release {release}, V{release}.88'\n"))
                .unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
            path.canonicalize().unwrap()
        };
        let program = |name: &str| program_of("13.0", name);
        let nvcc = Nvcc::named(&program("own/bin/nvcc")).unwrap();
        let error = Nvdisasm::find_with(&nvcc, |_| None).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        let words = error.to_string();
        assert!(words.contains("own/bin/nvcc") && words.contains("CUDA 13.0 or newer"), "{words}");
        let home =
            |name: &str| (name == "CUDA_HOME").then(|| folder.path().canonicalize().unwrap().join("other").into());
        program_of("12.9", "other/bin/nvdisasm");
        let older = Nvdisasm::find_with(&nvcc, home).unwrap_err();
        assert_eq!(older.kind(), ErrorKind::Unavailable, "it would refuse what nvcc writes");
        let other = program("other/bin/nvdisasm");
        assert_eq!(Nvdisasm::find_with(&nvcc, home).unwrap().path, other);
        let own = program("own/bin/nvdisasm");
        assert_eq!(Nvdisasm::find_with(&nvcc, home).unwrap().path, own);
        let silent = Nvdisasm { path: own }.kernels(b"").unwrap_err();
        assert!(silent.kind() == ErrorKind::Failed && silent.to_string().contains("it prints no kernel"), "{silent}");
    }
}
