//! The C++ compiler under which CUDA files run on a CPU, found as the crate `cc` finds it.

use std::fmt::Display;
use std::path::Path;
use std::process::Command;

use super::super::toolchain;
use crate::{Error, Result};

/// A C++ compiler for the target `cuda-host`.
#[derive(Clone, Debug)]
pub struct HostCompiler {
    tool: cc::Tool,
    version: String,
}

/// What emulated kernels are compiled with: quickly compiled, and fast enough to test with. Sums may be contracted as nvcc does.
const FLAGS: &[&str] = &["-std=c++17", "-Og", "-fPIC", "-ffp-contract=fast", "-fno-math-errno", "-w"];

impl HostCompiler {
    /// Finds the compiler; `CXX` and its like are honoured.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Unavailable`] with what to install.
    pub fn find() -> Result<HostCompiler> {
        let none = |why: &dyn Display| {
            let what = "install g++ 11 or newer, or clang 14 or newer, or name one in the environment variable CXX";
            Error::unavailable(format!("no C++ compiler for the target cuda-host ({why}): {what}"))
        };
        let tool = toolchain::tool(true, none)?;
        let version = toolchain::version(&tool).map_err(|why| none(&why))?;
        Ok(HostCompiler { tool, version })
    }

    /// The first line of `--version`.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Compiles a header where it lies, in the folder with those of the emulator: files that begin with it are then compiled in two
    /// thirds of the time. Where that fails, and where the compiler looks for another form of it than GCC's, they read the text.
    pub fn precompile(&self, headers: &Path, header: &str) {
        let header = headers.join(header);
        let mut command = self.tool.to_command();
        command.args(FLAGS).arg("-I").arg(headers).args(["-x", "c++-header"]).arg(&header);
        drop(command.arg("-o").arg(header.with_added_extension("gch")).output());
    }

    /// A command that compiles one `.cu` into an object; `headers` is the folder with those of the emulator.
    pub fn object(&self, source: &Path, object: &Path, headers: &Path) -> Command {
        let mut command = self.tool.to_command();
        command.args(FLAGS).arg("-I").arg(headers).args(["-x", "c++", "-c"]).arg(source).arg("-o").arg(object);
        command
    }

    /// A command that compiles one `.cu` into a shared library.
    pub fn shared_library(&self, source: &Path, output: &Path, headers: &Path) -> Command {
        let mut command = self.tool.to_command();
        command.args(FLAGS).arg("-I").arg(headers).args(["-shared", "-x", "c++"]).arg(source).arg("-o").arg(output);
        command
    }
}
