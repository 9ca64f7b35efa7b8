//! The C++ compiler under which CUDA files run on a CPU, found as the crate `cc` finds it.

use std::fmt::Display;
use std::fs;
use std::path::Path;
use std::process::Command;

use super::super::toolchain;
use crate::{Error, Result};

/// A C++ compiler for the target `cuda-host`.
#[derive(Clone, Debug)]
pub struct HostCompiler {
    tool: cc::Tool,
    version: String,
    watches: bool,
}

/// What emulated kernels are compiled with: quickly compiled, and fast enough to test with. Sums may be contracted as nvcc does.
const FLAGS: &[&str] = &["-std=c++17", "-Og", "-g1", "-fPIC", "-ffp-contract=fast", "-fno-math-errno", "-w"];

/// With this, the compiler calls the emulator before each access to memory, see `cuda_host/accesses.h`; not at functions, which it needs not know.
const WATCHED: &str = "-fsanitize=thread";
const OF_GCC: &[&str] = &["--param", "tsan-instrument-func-entry-exit=0"];
const OF_CLANG: &[&str] = &[
    "-mllvm",
    "-tsan-instrument-func-entry-exit=0",
    "-mllvm",
    "-tsan-instrument-atomics=0",
    "-mllvm",
    "-tsan-instrument-memintrinsics=0",
];

/// In place of the libraries that the compiler would link by itself: the sanitizer's is not among them.
const LIBRARIES: [&str; 6] = ["-nodefaultlibs", "-lstdc++", "-lm", "-lgcc_s", "-lgcc", "-lc"];

/// The emulator, compiled, in the folder of its headers; and what is said to files of kernels that are linked with it.
const EMULATOR: &str = "emulator.o";
const APART: &str = "-DDIETCODE_HOST_APART";

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
        Ok(HostCompiler { tool, version, watches: true })
    }

    /// The same where the emulator is not told of each access to memory: kernels take two thirds of the time.
    #[must_use]
    pub fn unwatched(&self) -> HostCompiler {
        HostCompiler { watches: false, ..self.clone() }
    }

    /// The first line of `--version`.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Compiles a header where it lies, in the folder with those of the emulator, and the emulator, for files that begin with that header. Where
    /// the first fails, and where the compiler looks for another form of it than GCC's, they read the text; where the second does, they
    /// have an emulator of their own each.
    pub fn precompile(&self, headers: &Path, header: &str) {
        let header = headers.join(header);
        self.prepare(headers, &["-DDIETCODE_HOST_EMULATOR", "-x", "c++", "-c"], &header, &headers.join(EMULATOR));
        let kind: &[&str] = &["-x", "c++-header"];
        let apart: &[&str] = if headers.join(EMULATOR).is_file() { &[APART] } else { &[] };
        self.prepare(headers, &[apart, kind].concat(), &header, &header.with_added_extension("gch"));
    }

    /// Makes a file of a header, whole or not at all: others may read it meanwhile.
    fn prepare(&self, headers: &Path, flags: &[&str], header: &Path, output: &Path) {
        let partial = output.with_added_extension(std::process::id().to_string());
        let mut command = self.command();
        let made = command.arg("-I").arg(headers).args(flags).arg(header).arg("-o").arg(&partial).output();
        let is_made = made.is_ok_and(|made| made.status.success()) && fs::rename(&partial, output).is_ok();
        if !is_made {
            // What there was before is of other headers.
            [partial.as_path(), output].into_iter().for_each(|file| drop(fs::remove_file(file)));
        }
    }

    /// The compiler with what all files are compiled with.
    fn command(&self) -> Command {
        let mut command = self.tool.to_command();
        command.args(FLAGS);
        if self.watches {
            command.arg(WATCHED).args(if self.tool.is_like_clang() { OF_CLANG } else { OF_GCC });
        }
        command
    }

    /// A command that compiles one `.cu` into an object, for a build, whose files are the same wherever they are made: without notes of
    /// lines, and without being told of accesses. `headers` is the folder with those of the emulator.
    pub fn object(&self, source: &Path, object: &Path, headers: &Path) -> Command {
        let mut command = self.unwatched().command();
        command.arg("-g0").arg("-I").arg(headers).args(["-x", "c++", "-c"]).arg(source).arg("-o").arg(object);
        command
    }

    /// A command that compiles one `.cu` into a shared library.
    pub fn shared_library(&self, source: &Path, output: &Path, headers: &Path) -> Command {
        let mut command = self.command();
        command.arg("-I").arg(headers).args(["-shared", "-x", "c++"]).arg(source).args(["-x", "none"]);
        let emulator = headers.join(EMULATOR);
        if emulator.is_file() {
            command.arg(APART).arg(emulator);
        }
        command.args(LIBRARIES).arg("-o").arg(output);
        command
    }
}
