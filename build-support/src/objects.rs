//! Compiles C files whose object is missing or was made of something else.
//!
//! Beside each object stands its key: a hash of the C file, of the headers it includes, of the compiler and its
//! arguments. Time stamps play no part, so a fresh checkout or a restored cache recompiles nothing either.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use dietcode_core::hash::hash_of;
use dietcode_core::machine::cuda::HostCompiler;
use dietcode_core::machine::{CpuTarget, Toolchain};
use dietcode_core::{Error, Result, parallel};

use crate::progress::Progress;

/// An object that has to be made.
pub(crate) struct Job {
    command: Command,
    /// The C file, for messages.
    source: PathBuf,
    object: PathBuf,
    key_file: PathBuf,
    key: String,
}

/// The jobs that bring a folder's objects up to date, in the order of the files.
///
/// `files` are (name, text) of everything generated there.
pub(crate) fn outdated(
    folder: &Path,
    files: &[(String, String)],
    toolchain: &Toolchain,
    target: &CpuTarget,
) -> Vec<Job> {
    let texts: BTreeMap<&str, &str> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    // `native` means something else on another machine.
    let features = target.features.to_le_bytes();
    let machine = [target.compiler.as_bytes(), target.model.as_bytes(), &features];
    let job = |stem: &str| {
        let (source, object) = (format!("{stem}.c"), format!("{stem}.o"));
        let text = texts[&*source];
        let included = text.lines().filter_map(included).map(|include| texts.get(include).unwrap_or(&"").as_bytes());
        let parts = [text.as_bytes()].into_iter().chain(included).chain(machine).collect();
        Job::new(folder, stem, &source, toolchain.object(text, Path::new(&source), Path::new(&object)), parts)
    };
    sources(files).map(job).filter(|job| !job.is_done()).collect()
}

/// The same for `.cu` files that the emulated device is to carry out: those of these stems, among `files`, which are (name,
/// contents) of everything in the folder.
pub(crate) fn outdated_host(
    folder: &Path,
    files: &[(String, Vec<u8>)],
    stems: &[String],
    compiler: &HostCompiler,
) -> Vec<Job> {
    let texts: BTreeMap<&str, &[u8]> = files.iter().map(|(name, text)| (name.as_str(), text.as_slice())).collect();
    let is_header = |(name, _): &(&&str, &&[u8])| name.contains(".cuh") || name.ends_with(".h");
    let headers: Vec<&[u8]> = texts.iter().filter(is_header).map(|(_, text)| *text).collect();
    let job = |stem: &String| {
        let (source, object) = (format!("{stem}.cu"), format!("{stem}.o"));
        let command = compiler.object(Path::new(&source), Path::new(&object), Path::new("."));
        let text = texts.get(source.as_str()).copied().unwrap_or_default();
        let parts = [text, compiler.version().as_bytes()].into_iter().chain(headers.iter().copied()).collect();
        Job::new(folder, stem, &source, command, parts)
    };
    stems.iter().map(job).filter(|job| !job.is_done()).collect()
}

/// The names, without `.c`, of the C files among these.
pub(crate) fn sources(files: &[(String, String)]) -> impl Iterator<Item = &str> {
    files.iter().filter_map(|(name, _)| name.strip_suffix(".c"))
}

/// The name of the file that holds an object's key.
pub(crate) fn key_name(stem: &str) -> String {
    format!("{stem}.o.key")
}

/// Carries out jobs on up to `at_once` threads; the errors of all that failed.
pub(crate) fn make(jobs: Vec<Job>, at_once: usize, progress: &Progress) -> Result<(), Vec<Error>> {
    progress.expect(jobs.len());
    let one = |job: Job| {
        let name = job.source.file_name().unwrap_or_default().to_string_lossy().into_owned();
        job.make().inspect(|()| progress.step(&name))
    };
    let errors: Vec<Error> = parallel::each(jobs, at_once, one).into_iter().filter_map(Result::err).collect();
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

impl Job {
    /// That of a source in the folder, by a command of relative names, which keep the object free of where it was made. The key is a
    /// hash of the command and of these parts.
    fn new(folder: &Path, stem: &str, source: &str, mut command: Command, parts: Vec<&[u8]>) -> Job {
        command.current_dir(folder);
        let words = std::iter::once(command.get_program()).chain(command.get_args()).map(OsStr::as_encoded_bytes);
        let key = hash_of(parts.into_iter().chain(words));
        let [source, object, key_file] = [source, &format!("{stem}.o"), &key_name(stem)].map(|name| folder.join(name));
        Job { command, source, object, key_file, key }
    }

    fn is_done(&self) -> bool {
        self.object.is_file() && fs::read_to_string(&self.key_file).is_ok_and(|found| found == self.key)
    }

    fn make(mut self) -> Result<()> {
        // The key goes first and comes back last: an interrupted compiler leaves no object that looks finished.
        drop(fs::remove_file(&self.key_file));
        let name = self.source.display();
        let output = self.command.output().map_err(|error| {
            Error::unavailable(format!("the compiler could not be started for {name}")).caused_by(error)
        })?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            let message = format!("the compiler failed on {name} ({}):\n{}", output.status, said.trim_end());
            return Err(Error::failed(message));
        }
        fs::write(&self.key_file, &self.key)
            .map_err(|error| Error::input(format!("{} cannot be written", self.key_file.display())).caused_by(error))
    }
}

/// The file of an `#include "file"` line.
fn included(line: &str) -> Option<&str> {
    line.strip_prefix("#include \"")?.strip_suffix('"')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emit;

    fn files(a: &str, h: &str) -> Vec<(String, String)> {
        [("h.h", h), ("a.c", a), ("b.c", "int b(void) { return 2; }\n")]
            .map(|(name, text)| (name.to_owned(), text.to_owned()))
            .to_vec()
    }

    fn emitted(folder: &Path, a: &str, h: &str, toolchain: &Toolchain) -> Vec<Job> {
        let files = files(a, h);
        for (name, text) in &files {
            emit::write(&folder.join(name), text).unwrap();
        }
        outdated(folder, &files, toolchain, &CpuTarget::of(toolchain))
    }

    fn progress(folder: &tempfile::TempDir) -> Progress {
        Progress::new(folder.path().join("progress"))
    }

    fn names(jobs: &[Job]) -> Vec<&str> {
        jobs.iter().map(|job| job.object.file_stem().unwrap().to_str().unwrap()).collect()
    }

    #[test]
    fn what_changed_is_compiled_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let native = Toolchain::find("native").unwrap();
        let a = "#include \"h.h\"\nint a(void) { return H; }\n";
        let jobs = |a: &str, h: &str, toolchain: &Toolchain| emitted(folder.path(), a, h, toolchain);

        let all = jobs(a, "#define H 1\n", &native);
        assert_eq!(names(&all), ["a", "b"]);
        make(all, 2, &progress(&folder)).unwrap();
        assert_eq!(names(&jobs(a, "#define H 1\n", &native)), [""; 0], "nothing changed");

        let header = jobs(a, "#define H 2\n", &native);
        assert_eq!(names(&header), ["a"], "only a includes the header");
        make(header, 2, &progress(&folder)).unwrap();

        let source = jobs("int a(void) { return 3; }\n", "#define H 2\n", &native);
        assert_eq!(names(&source), ["a"]);
        make(source, 2, &progress(&folder)).unwrap();

        fs::remove_file(folder.path().join("b.o")).unwrap();
        assert_eq!(names(&jobs("int a(void) { return 3; }\n", "#define H 2\n", &native)), ["b"]);
    }

    #[test]
    fn all_that_fails_is_told_and_tried_again() {
        let folder = tempfile::tempdir().unwrap();
        let native = Toolchain::find("native").unwrap();
        for _ in 0..2 {
            let errors =
                make(emitted(folder.path(), "int a(void) { return nothing; }\n", "", &native), 2, &progress(&folder))
                    .unwrap_err();
            assert_eq!(errors.len(), 1);
            let text = errors[0].to_string();
            assert!(text.contains("a.c") && text.contains("nothing"), "{text}");
        }
        assert!(folder.path().join("b.o").is_file());
    }
}
