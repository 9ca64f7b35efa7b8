//! The C++ compiler under which CUDA files run on a CPU, found as the crate `cc` finds it.

use std::path::Path;
use std::process::Command;

use crate::{Error, ErrorKind, Result};

/// A C++ compiler for the target `cuda-host`.
#[derive(Clone, Debug)]
pub struct HostCompiler {
    tool: cc::Tool,
    version: String,
}

/// What emulated kernels are compiled with: quickly compiled, and fast enough to test with. Sums may be contracted as nvcc does.
const FLAGS: &[&str] = &["-std=c++17", "-O1", "-fPIC", "-ffp-contract=fast", "-fno-math-errno", "-w"];

impl HostCompiler {
    /// Finds the compiler; `CXX` and its like are honoured.
    ///
    /// # Errors
    /// [`ErrorKind::Unavailable`] with what to install.
    pub fn find() -> Result<HostCompiler> {
        let none = |why: String| {
            let what = "install g++ 11 or newer, or clang 14 or newer, or name one in the environment variable CXX";
            Error::new(ErrorKind::Unavailable, format!("no C++ compiler for the target cuda-host ({why}): {what}"))
        };
        let mut build = cc::Build::new();
        build.cpp(true).opt_level(1).debug(false).warnings(false).cargo_metadata(false).cargo_warnings(false);
        if std::env::var_os("TARGET").is_none() || std::env::var_os("HOST").is_none() {
            build.target(env!("DIETCODE_TARGET")).host(env!("DIETCODE_TARGET"));
        }
        let tool = build.try_get_compiler().map_err(|e| none(e.to_string()))?;
        let output = Command::new(tool.path()).arg("--version").env("LC_ALL", "C").output();
        let output = output.map_err(|e| none(format!("{}: {e}", tool.path().display())))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let version = text.lines().next().map(|line| line.trim().to_owned());
        let version = version.ok_or_else(|| none(format!("{} --version says nothing", tool.path().display())))?;
        Ok(HostCompiler { tool, version })
    }

    /// The first line of `--version`.
    pub fn version(&self) -> &str {
        &self.version
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
