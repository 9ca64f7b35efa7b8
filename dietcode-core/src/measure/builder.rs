//! Compiles translation units into shared libraries, many at a time, each under a time limit, and each text once.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::Failure;
use crate::codegen::{DIETCODE_H, TranslationUnit};
use crate::machine::{Toolchain, output_limited};
use crate::parallel::{self, cores, lock};
use crate::scratch::Scratch;
use crate::sketch::Sizes;
use crate::{Error, Result};

/// A compiled micro-kernel: where it is and how it is called.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unit {
    /// The micro-kernel's name.
    pub name: String,
    /// The shared library.
    pub library: PathBuf,
    /// The C symbol of its row.
    pub symbol: String,
    /// How it was compiled.
    pub form: Form,
    /// The sizes that it is called with, where they are parameters; else those of its row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sizes: Option<Sizes>,
}

/// What was compiled of a micro-kernel, and how: figures of one form say how another does, but not exactly.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Form {
    /// Whether the sizes of outer blocks were parameters of the code; else they were constants, as in a build.
    pub parametric: bool,
    /// Whether tiles at edges were whole, which are smaller in a build.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub whole_edges: bool,
    /// How much the compiler optimised, [`Toolchain::level`]; with `brief` behind it, less than in a build, as of code that is only screened.
    pub level: String,
}

/// Said of code that was compiled with [`Toolchain::brief_flags`].
const BRIEF: &str = "brief";

/// What code is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// A search tells good micro-kernels by it: those that differ in the sizes of outer blocks share code, which the compiler optimises less.
    Screening,
    /// It is what a build makes.
    Final,
}

/// Compiles into a folder of its own, which goes with it.
#[derive(Debug)]
pub struct Builder {
    toolchain: Toolchain,
    /// What was compiled, by its text and what for.
    libraries: Mutex<HashMap<([u8; 32], Purpose), Library>>,
    folder: Scratch,
    limit: Duration,
    built: AtomicUsize,
    /// How long each took so far.
    times: Mutex<Vec<Duration>>,
    /// The same of what was screened, those that were ended among them.
    screening_times: Mutex<Vec<Duration>>,
}

/// The shared library of a text, or why there is none; whoever asks while it is compiled waits.
type Library = Arc<OnceLock<Result<PathBuf, Failure>>>;

/// A compiler has so many times as long as nine of ten took so far, where that is more than the limit.
const PATIENCE: f64 = 1.5;

/// What is screened has so many times as long as half of the last that were screened took, and no less than this: in that time others are
/// screened. The last are so many; before half of them, nothing is known.
const SCREENING_PATIENCE: u32 = 8;
const LEAST_FOR_SCREENING: Duration = Duration::from_secs(4);
const LAST_SCREENED: usize = 16;

impl Builder {
    /// A builder with as many compilers at a time as there are cores, each for at most `limit`, or 1.5 times as long as nine
    /// of ten took so far, if that is more. For screening it is less, where most took less.
    ///
    /// # Errors
    ///
    /// If no folder can be made for what it builds.
    pub fn new(toolchain: Toolchain, limit: Duration) -> Result<Builder> {
        let no_folder = |e| Error::unavailable("cannot make a folder for compiled candidates").caused_by(e);
        let folder = Scratch::new()?;
        fs::write(folder.path().join("dietcode.h"), DIETCODE_H).map_err(no_folder)?;
        Ok(Builder {
            toolchain,
            libraries: Mutex::default(),
            folder,
            limit,
            built: AtomicUsize::new(0),
            times: Mutex::default(),
            screening_times: Mutex::default(),
        })
    }

    /// The compiler.
    pub fn toolchain(&self) -> &Toolchain {
        &self.toolchain
    }

    /// The folder that goes with the builder: also for what a measurement leaves for the next.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Compiles `units`; one result each, in order.
    pub fn build(&self, units: &[TranslationUnit]) -> Vec<Result<Unit, Failure>> {
        parallel::each(units.iter().collect(), cores(), |unit| self.build_one(unit))
    }

    /// Compiles one; nothing where its text was compiled before.
    ///
    /// # Errors
    ///
    /// What the compiler said, or that it took too long.
    pub fn build_one(&self, unit: &TranslationUnit) -> Result<Unit, Failure> {
        self.build_for(unit, Purpose::Final)
    }

    /// The same for a purpose: what is only screened is optimised less.
    ///
    /// # Errors
    ///
    /// As [`Builder::build_one`].
    pub fn build_for(&self, unit: &TranslationUnit, purpose: Purpose) -> Result<Unit, Failure> {
        let brief = match purpose {
            Purpose::Screening => self.toolchain.brief_flags(&unit.source),
            Purpose::Final => &[],
        };
        let key = (*blake3::hash(unit.source.as_bytes()).as_bytes(), purpose);
        let known = Arc::clone(lock(&self.libraries).entry(key).or_default());
        let library = known.get_or_init(|| self.compile(unit, brief, purpose)).clone()?;
        let level = Toolchain::level(&unit.source);
        let level = if brief.is_empty() { level.to_owned() } else { format!("{level} {BRIEF}") };
        let form = Form { parametric: false, whole_edges: false, level };
        Ok(Unit { name: unit.name.clone(), library, symbol: unit.symbol.clone(), form, sizes: None })
    }

    /// How many compilers have run so far.
    pub fn compiled(&self) -> usize {
        self.built.load(Ordering::Relaxed)
    }

    fn compile(&self, unit: &TranslationUnit, brief: &[&str], purpose: Purpose) -> Result<PathBuf, Failure> {
        // Two units of different kernels may share a name.
        let stem = format!("{}_{}", self.built.fetch_add(1, Ordering::Relaxed), unit.name);
        let [source, library] = ["c", "so"].map(|ext| self.folder.path().join(format!("{stem}.{ext}")));
        fs::write(&source, &unit.source).map_err(|e| unwritable(&source, &e))?;
        let mut command = self.toolchain.shared_library(&unit.source, &source, &library);
        // What it leaves when it is killed goes with the folder.
        command.args(brief).env("LC_ALL", "C").env("TMPDIR", self.folder.path());
        let (times, limit): (_, fn(Duration, &[Duration]) -> Duration) = match purpose {
            Purpose::Screening => (&self.screening_times, for_screening),
            Purpose::Final => (&self.times, adapted),
        };
        // In a statement of its own: what is locked in an argument stays locked during the call.
        let limit = limit(self.limit, &lock(times));
        let start = Instant::now();
        let compiled = run_compiler(&mut command, limit);
        // One that was ended does not raise the limit for the others, unless half of what is screened was.
        let counts = match &compiled {
            Ok(()) => true,
            Err(Failure::CompileTimeout { .. }) => purpose == Purpose::Screening,
            Err(_) => false,
        };
        if counts {
            lock(times).push(start.elapsed());
        }
        compiled.map(|()| library)
    }
}

/// Has a compiler make what it is asked for, within the limit.
pub(super) fn run_compiler(command: &mut Command, limit: Duration) -> Result<(), Failure> {
    let message = match output_limited(command, limit) {
        Ok(Some(output)) if output.status.success() => return Ok(()),
        Ok(Some(output)) => match String::from_utf8_lossy(&output.stderr).trim_end() {
            "" => format!("the compiler ended with {}", output.status),
            said => said.to_owned(),
        },
        Ok(None) => return Err(Failure::CompileTimeout { seconds: limit.as_secs_f64() }),
        Err(error) => format!("the compiler does not start: {error}"),
    };
    Err(Failure::Compile { message })
}

pub(super) fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::Compile { message: format!("{} cannot be written: {error}", path.display()) }
}

/// The limit, after so many compilers took so long.
fn adapted(limit: Duration, times: &[Duration]) -> Duration {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    let most = sorted.get(sorted.len() * 9 / 10).map(|time| time.mul_f64(PATIENCE));
    limit.max(most.unwrap_or_default())
}

/// The limit for what is screened, after so many compilers took so long.
fn for_screening(limit: Duration, times: &[Duration]) -> Duration {
    if times.len() < LAST_SCREENED / 2 {
        return limit;
    }
    let mut last = times[times.len().saturating_sub(LAST_SCREENED)..].to_vec();
    last.sort_unstable();
    (last[last.len() / 2] * SCREENING_PATIENCE).clamp(LEAST_FOR_SCREENING.min(limit), limit)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::unix::fs::OpenOptionsExt;

    use super::*;

    /// Each of two compilers reads a pipe, which can be opened to be written while it does: both are, before either pipe ends.
    #[test]
    fn two_compilers_run_at_once() {
        let (folder, limit) = (tempfile::tempdir().unwrap(), Duration::from_secs(20));
        let pipes = ["one", "other"].map(|name| folder.path().join(name));
        assert!(Command::new("mkfifo").args(&pipes).status().unwrap().success());
        let builder = Builder::new(Toolchain::find("native").unwrap(), limit).unwrap();
        let build = |pipe: &Path| {
            let source = format!("#include \"{}\"\n", pipe.display());
            builder.build_one(&TranslationUnit { name: "waits".into(), symbol: "waits".into(), source })
        };
        let written = |pipe: &Path| -> File {
            let start = Instant::now();
            loop {
                match File::options().write(true).custom_flags(libc::O_NONBLOCK).open(pipe) {
                    Ok(file) => return file,
                    Err(error) => assert!(start.elapsed() < 2 * limit, "{}: {error}", pipe.display()),
                }
                std::thread::sleep(Duration::from_millis(2));
            }
        };
        let built = std::thread::scope(|scope| {
            let building = [&pipes[0], &pipes[1]].map(|pipe| scope.spawn(|| build(pipe)));
            drop([&pipes[0], &pipes[1]].map(|pipe| written(pipe)));
            building.map(|thread| thread.join().unwrap())
        });
        assert!(built.iter().all(Result::is_ok), "{built:?}");
    }

    #[test]
    fn whoever_compiles_long_gets_longer_and_outliers_do_not_count() {
        let seconds = |n| Duration::from_secs(n);
        assert_eq!(adapted(seconds(30), &[]), seconds(30));
        assert_eq!(adapted(seconds(30), &[seconds(1); 20]), seconds(30));
        assert_eq!(adapted(seconds(30), &[seconds(30)]), seconds(45), "killed at the limit, it took at least as long");
        let mut times = vec![seconds(1); 99];
        times.push(seconds(1000));
        assert_eq!(adapted(seconds(30), &times), seconds(30));
    }

    #[test]
    fn what_is_screened_is_given_up_where_many_others_could_be_screened() {
        let [half, slow, limit] = [500, 2_000, 30_000].map(Duration::from_millis);
        assert_eq!(for_screening(limit, &[half; 7]), limit, "too little is known");
        assert_eq!(for_screening(limit, &[half; 8]), LEAST_FOR_SCREENING);
        let once_quiet = [vec![half; 200], vec![slow; 9]].concat();
        assert_eq!(for_screening(limit, &once_quiet), slow * SCREENING_PATIENCE, "others have come");
        assert_eq!(for_screening(limit, &[limit; 16]), limit);
        assert_eq!(for_screening(slow, &[half; 20]), slow, "never more than the limit");
    }
}
