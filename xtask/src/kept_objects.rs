//! A C compiler for the checks that compiles a text once. Many tests have the same kernels compiled, each in a folder of its own and by
//! processes of its own: more than half of what gcc did for those of the command, it had done before.
//!
//! It stands before the machine's own on PATH, in a folder of `target/`, and is this program under the name `cc`. What a run compiles is
//! kept for that run: so the machine's compiler, its headers and libraries need not be part of what a result is found by.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Write};
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::steps::target_folder;

/// The name by which the compiler is asked for.
const NAME: &str = "cc";

/// How the options begin with which kernels are compiled: none of these names another file.
const OPTIONS: &[&str] = &["-O", "-f", "-m", "-std=", "-D", "-w", "--param=", "-lm"];

/// What in a text makes a difference where or when it is compiled, or reads other files.
const PLACES: &[&str] = &[
    "__FILE__",
    "__BASE_FILE__",
    "__builtin_FILE",
    "__DATE__",
    "__TIME__",
    "__TIMESTAMP__",
    ".incbin",
    "__has_include",
];

/// Puts the compiler in its place, with nothing kept; gives PATH, with it before all others. None where PATH has no compiler of this name.
///
/// # Errors
///
/// One sentence: why it could not be put there.
pub(crate) fn path() -> Result<Option<OsString>, String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folder = target_folder().join("kept-objects");
    let others = std::env::split_paths(&path).filter(|other| !other.starts_with(&folder));
    let Some(compiler) = others.map(|other| other.join(NAME)).find(|cc| cc.is_file()) else { return Ok(None) };
    let bin = place(&folder, &compiler).map_err(|e| format!("cannot put a compiler into {}: {e}", folder.display()))?;
    let folders = std::iter::once(bin).chain(std::env::split_paths(&path));
    std::env::join_paths(folders).map(Some).map_err(|e| format!("PATH cannot be longer: {e}"))
}

/// Fills the folder; gives the one in it that belongs on PATH.
fn place(folder: &Path, compiler: &Path) -> io::Result<PathBuf> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    let bin = folder.join("bin");
    fs::create_dir_all(&bin)?;
    symlink(std::path::absolute(compiler)?, folder.join("compiler"))?;
    // A copy, since cargo replaces the program while it runs.
    fs::copy(std::env::current_exe()?, bin.join(NAME))?;
    Ok(bin)
}

/// Acts as the compiler, if this program has been called as such.
pub(crate) fn compile() -> Option<ExitCode> {
    let program = std::env::current_exe().ok()?;
    let (Some(folder), true) = (program.ancestors().nth(2), program.file_name() == Some(OsStr::new(NAME))) else {
        return None;
    };
    let args: Vec<OsString> = std::env::args_os().skip(1).collect();
    let done = fs::read_link(folder.join("compiler")).and_then(|compiler| run(&compiler, &args, folder));
    Some(done.unwrap_or_else(|error| {
        eprintln!("{NAME} of the checks: {error}");
        ExitCode::FAILURE
    }))
}

/// Compiles, unless the same was compiled before. What is kept is what succeeded and said nothing.
fn run(compiler: &Path, args: &[OsString], folder: &Path) -> io::Result<ExitCode> {
    let mut command = Command::new(compiler);
    command.args(args);
    let Some(job) = Job::of(args) else { return Err(command.exec()) };
    let kept = folder.join(format!("{:016x}", job.key));
    if kept.is_file() {
        // As a linker does: a program may have loaded what stands there.
        if job.output.exists() {
            fs::remove_file(job.output)?;
        }
        fs::copy(&kept, job.output)?;
        return Ok(ExitCode::SUCCESS);
    }
    let output = command.output()?;
    if output.status.success() && output.stdout.is_empty() && output.stderr.is_empty() {
        // Whole or not at all: others look for it meanwhile.
        let partial = folder.join(format!("{:016x}-{}", job.key, std::process::id()));
        fs::copy(job.output, &partial)?;
        fs::rename(partial, kept)?;
    }
    io::stdout().write_all(&output.stdout)?;
    io::stderr().write_all(&output.stderr)?;
    Ok(output.status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from))
}

/// One C file that becomes an object or a library, of which nothing else is said than by options.
struct Job<'a> {
    output: &'a Path,
    /// A hash of all that the output is made of, but for what belongs to the machine.
    key: u64,
}

impl<'a> Job<'a> {
    /// None if a call is another, or if it is not known what it reads.
    fn of(args: &'a [OsString]) -> Option<Job<'a>> {
        let (mut output, mut source, mut kind) = (None, None, None);
        let mut hasher = DefaultHasher::new();
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            match arg.to_str()? {
                "-o" => {
                    output = Some(Path::new(args.next()?));
                    continue;
                }
                "-c" | "-shared" if kind.is_none() => kind = Some(arg),
                word if OPTIONS.iter().any(|option| word.starts_with(option)) => {}
                word if word.ends_with(".c") && !word.starts_with('-') && source.is_none() => {
                    source = Some(Path::new(word));
                    continue;
                }
                _ => return None,
            }
            arg.hash(&mut hasher);
        }
        let (output, source, _) = (output?, source?, kind?);
        let mut read = BTreeMap::new();
        read_with_headers(source, &mut read)?;
        // By their text: how folders and files are called is in none of it.
        read.remove(source)?.hash(&mut hasher);
        read.values().for_each(|text| text.hash(&mut hasher));
        Some(Job { output, key: hasher.finish() })
    }
}

/// Reads a file and the headers beside it that it includes. None if one is not there, or if what is compiled depends on where a file lies.
fn read_with_headers(file: &Path, read: &mut BTreeMap<PathBuf, String>) -> Option<()> {
    // What is read from a pipe is gone.
    let text = file.is_file().then(|| fs::read_to_string(file).ok()).flatten()?;
    if PLACES.iter().any(|place| text.contains(place)) {
        return None;
    }
    read.insert(file.to_owned(), String::new());
    for line in text.lines() {
        let Some(directive) = line.trim_start().strip_prefix('#') else { continue };
        let Some(included) = directive.trim_start().strip_prefix("include") else { continue };
        match included.trim_start().strip_prefix('"').and_then(|name| name.split_once('"')) {
            Some((name, _)) => {
                let header = file.with_file_name(name);
                if !read.contains_key(&header) {
                    read_with_headers(&header, read)?;
                }
            }
            None if included.trim_start().starts_with('<') => {}
            None => return None,
        }
    }
    read.insert(file.to_owned(), text);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder that goes with it.
    struct Place(PathBuf);

    impl Drop for Place {
        fn drop(&mut self) {
            drop(fs::remove_dir_all(&self.0));
        }
    }

    impl Place {
        fn new(name: &str) -> Place {
            let folder = std::env::temp_dir().join(format!("dietcode-xtask-{name}-{}", std::process::id()));
            fs::create_dir_all(&folder).unwrap();
            Place(folder)
        }

        fn write(&self, name: &str, text: &str) -> String {
            let path = self.0.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            path.to_str().unwrap().to_owned()
        }

        /// How many times the machine's compiler has been called.
        fn calls(&self) -> usize {
            fs::read_to_string(self.0.join("calls")).map_or(0, |calls| calls.lines().count())
        }
    }

    fn words(args: &[&str]) -> Vec<OsString> {
        args.iter().map(OsString::from).collect()
    }

    #[test]
    fn the_same_text_is_compiled_once() {
        let place = Place::new("kept");
        let compiler = place.write("counting", "#!/bin/sh\necho call >> \"${0%/*}/calls\"\nexec cc \"$@\"\n");
        fs::set_permissions(&compiler, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let kept = place.0.join("kept");
        fs::create_dir_all(&kept).unwrap();
        let compiled = |folder: &str, text: &str, header: &str, option: &str| {
            let source = place.write(&format!("{folder}/{folder}.c"), text);
            place.write(&format!("{folder}/n.h"), header);
            let object = place.0.join(folder).join("n.o");
            let args = words(&["-O2", option, "-c", "-o", object.to_str().unwrap(), &source]);
            // A status has no equality.
            let succeeded =
                format!("{:?}", run(Path::new(&compiler), &args, &kept).unwrap()) == format!("{:?}", ExitCode::SUCCESS);
            (succeeded, fs::read(object).unwrap_or_default())
        };
        let (text, header) = ("#include <stddef.h>\n#include \"n.h\"\nint n(void) { return N; }\n", "#define N 1\n");
        let first = compiled("a", text, header, "-DX");
        assert!(first.0 && !first.1.is_empty());
        assert_eq!(compiled("b", text, header, "-DX"), first, "in another folder, by another name");
        assert_eq!(place.calls(), 1);
        assert_ne!(compiled("b", text, "#define N 2\n", "-DX"), first, "another header");
        assert!(compiled("b", text, header, "-DY").0, "another option");
        assert_eq!(place.calls(), 3);
        for calls in [4, 5] {
            assert!(!compiled("c", "int n(void) { return N; }\n", header, "-DX").0, "what fails is not kept");
            assert_eq!(place.calls(), calls);
        }
    }

    #[test]
    fn other_calls_are_the_compilers() {
        let place = Place::new("passed");
        let plain = place.write("plain.c", "int n(void) { return 1; }\n");
        assert!(Job::of(&words(&["-O2", "-shared", "-o", "n.so", &plain, "-lm"])).is_some());
        for args in [
            vec!["--version"],
            vec!["-c", &plain],
            vec!["-o", "n", &plain],
            vec!["-E", "-o", "n.i", &plain],
            vec!["-c", "-I", "/", "-o", "n.o", &plain],
            vec!["-c", "-o", "n.o", &plain, &plain],
            vec!["-shared", "-o", "n.so", &plain, "n.o"],
        ] {
            assert!(Job::of(&words(&args)).is_none(), "{args:?}");
        }
        assert!(Command::new("mkfifo").arg(place.0.join("pipe.h")).status().unwrap().success());
        for text in [
            "#include \"none.h\"",
            "#include \"pipe.h\"",
            "#include HEADER",
            "const char *n = __FILE__;",
            "const char *n = __TIME__;",
        ] {
            let source = place.write("other.c", text);
            assert!(Job::of(&words(&["-c", "-o", "n.o", &source])).is_none(), "{text}");
        }
    }
}
