//! The C compiler, found as the crate `cc` finds it, and the one place that says with which flags it is called.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use dietcode_syntax::DType;

use crate::scratch::Scratch;
use crate::{Error, Result};

/// A C compiler that was checked to be new enough, set to generate code for one `-march`.
#[derive(Clone, Debug)]
pub struct Toolchain {
    tool: cc::Tool,
    march: String,
    version: String,
    kind: CompilerKind,
    macros: Macros,
}

/// Which compiler it is, with its major version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompilerKind {
    /// GNU C.
    Gcc(u32),
    /// LLVM's or Apple's clang.
    Clang(u32),
}

/// The macros that the compiler predefines.
#[derive(Clone, Debug, Default)]
pub struct Macros(BTreeMap<String, String>);

/// What generated code is compiled with, besides `-march`.
///
/// Contraction into fused multiply-adds is what the kernels live from; errno and traps of the mathematical functions
/// would keep loops from being vectorised. Nothing here lets the compiler reorder sums or assume that NaN is absent.
const FLAGS: &[&str] = &[
    "-std=gnu11",
    "-fPIC",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-ffp-contract=fast",
    // `#pragma omp simd` marks the sums that may be reordered; no library comes with it.
    "-fopenmp-simd",
    // Unused leftovers of a generated nest are not worth a user's attention.
    "-w",
];

const OLDEST_GCC: u32 = 11;
const OLDEST_CLANG: u32 = 14;

/// What GCC compiles a tile with that is written in vectors. Of its loops -O3 splits, vectorizes and unrolls the copies around the tile, too:
/// of a convolution with edge tiles it made 105 KB of code in 9.4 s, and with these flags 24 KB in 1.5 s. Kernels run as fast; what
/// counts for that is that loops of few iterations vanish. GCC spent half of the rest on the choice of induction variables for loops
/// with more than 100 addresses.
const GCC_VECTORS: &[&str] = &[
    "-ftree-loop-vectorize",
    "-fvect-cost-model=dynamic",
    "-fpeel-loops",
    "--param=max-completely-peel-times=4",
    "--param=iv-max-considered-uses=100",
];

/// What GCC leaves out for code that is only screened, which it compiles in 0.82 of the time: passes that do little for a tile that is written in
/// vectors, whose loop keeps its instructions. Threaded jumps make five copies of a transposition that begins with a choice for each row. Not
/// among them is what loops of few iterations vanish by (`-ftree-vrp`), without which convolutions were screened at 0.87 of their speed; at -O1,
/// the rows of a transposition would be on the stack.
const GCC_BRIEF: &[&str] = &[
    "-fno-thread-jumps",
    "-fno-tree-bit-ccp",
    "-fno-tree-tail-merge",
    "-fno-lra-remat",
    "-fno-schedule-insns2",
    "--param=iv-max-considered-uses=40",
];

impl Toolchain {
    /// Finds the C compiler (`CC` and its like are honoured) and asks it what `-march=<march>` allows.
    ///
    /// # Errors
    ///
    /// [`crate::ErrorKind::Unavailable`] if there is none or it is too old; an input error if `march` is not a name or the
    /// compiler does not know it.
    pub fn find(march: &str) -> Result<Toolchain> {
        check_march(march)?;
        let tool = tool(false, |cause| none_found(cause))?;
        let version = version(&tool).map_err(none_found)?;
        let macros = Macros::of(&tool, march)?;
        let kind = check_version(&macros, &version)?;
        Ok(Toolchain { tool, march: march.to_owned(), version, kind, macros })
    }

    /// The flags for a translation unit of this text, `-march` included.
    pub fn flags(&self, text: &str) -> Vec<String> {
        let mut flags = vec![format!("-march={}", self.march), Toolchain::level(text).to_owned()];
        flags.extend(FLAGS.iter().map(|&flag| flag.to_owned()));
        // Else -O3 keeps elements that the next iteration of a window reads again in registers which the tile has taken: a convolution
        // of 16 vectors, with 96 of its 128 multiplications no longer from memory, and 104 spills, had half of its speed.
        if matches!(self.kind, CompilerKind::Gcc(_)) {
            flags.push("-fno-predictive-commoning".into());
            flags.extend(GCC_VECTORS.iter().filter(|_| has_vectors(text)).map(|&flag| flag.to_owned()));
        }
        // Compilers tune for 256 bits even where 512 are at hand; the packing loops are left to them.
        if self.macros.defines("__AVX512F__") {
            flags.push("-mprefer-vector-width=512".into());
        }
        flags
    }

    /// What follows [`Toolchain::flags`] where a translation unit of this text is only screened, and is to be compiled soon.
    pub fn brief_flags(&self, text: &str) -> &'static [&'static str] {
        if matches!(self.kind, CompilerKind::Gcc(_)) && has_vectors(text) { GCC_BRIEF } else { &[] }
    }

    /// A command that compiles one C file of this text and links it into a shared library.
    pub fn shared_library(&self, text: &str, source: &Path, output: &Path) -> Command {
        let mut command = self.tool.to_command();
        command.args(self.flags(text)).arg("-shared").arg("-o").arg(output).arg(source).arg("-lm");
        command
    }

    /// A command that compiles one C file of this text into an object.
    pub fn object(&self, text: &str, source: &Path, object: &Path) -> Command {
        let mut command = self.tool.to_command();
        command.args(self.flags(text)).arg("-c").arg("-o").arg(object).arg(source);
        command
    }

    /// How much it optimises a translation unit of this text: `-O3` where it is left to the compiler to make vectors.
    pub fn level(text: &str) -> &'static str {
        if has_vectors(text) { "-O2" } else { "-O3" }
    }

    /// What `-march=` says.
    pub fn march(&self) -> &str {
        &self.march
    }

    /// The first line of `--version`.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Which compiler it is.
    pub fn kind(&self) -> CompilerKind {
        self.kind
    }

    /// What it predefines for this `-march`.
    pub fn macros(&self) -> &Macros {
        &self.macros
    }
}

impl Macros {
    /// Reads lines of `#define NAME VALUE`.
    pub fn parse(text: &str) -> Macros {
        let define = |line: &str| {
            let rest = line.strip_prefix("#define ")?;
            let (name, value) = rest.split_once(' ').unwrap_or((rest, ""));
            Some((name.to_owned(), value.trim().to_owned()))
        };
        Macros(text.lines().filter_map(define).collect())
    }

    /// Whether a macro is defined.
    pub fn defines(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// A macro's value, if it is a number.
    pub fn number(&self, name: &str) -> Option<u32> {
        self.0.get(name)?.parse().ok()
    }

    fn of(tool: &cc::Tool, march: &str) -> Result<Macros> {
        let ask = |march: Option<&str>| {
            let mut command = tool.to_command();
            command.args(march.map(|march| format!("-march={march}"))).args(["-dM", "-E", "-x", "c", "-"]);
            run(command).map_err(|e| none_found(format!("{} does not start: {e}", tool.path().display())))
        };
        let (ok, output, complaint) = ask(Some(march))?;
        if ok {
            return Ok(Macros::parse(&output));
        }
        if !ask(None)?.0 {
            return Err(none_found(format!("{} does not work: {}", tool.path().display(), complaint.trim_end())));
        }
        Err(Error::input(format!(
            "the C compiler {} does not take -march={march}: name an architecture that it knows, or \"native\"; it says:\n{}",
            tool.path().display(),
            complaint.trim_end()
        )))
    }
}

/// Whether a translation unit is written in vectors.
fn has_vectors(text: &str) -> bool {
    DType::ALL.iter().any(|dtype| text.contains(&format!("dietcode_{dtype}x")))
}

/// An architecture's name reaches a command line, so it is a name and nothing else.
fn check_march(march: &str) -> Result<()> {
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_.+".contains(c);
    if !march.is_empty() && march.len() <= 64 && march.chars().all(fits) {
        return Ok(());
    }
    Err(Error::input(format!(
        "`{march:.80}` is not the name of an architecture: expected one as in -march, such as \"native\""
    )))
}

/// The C compiler, or the C++ compiler. `none_found` makes the error of one that is not there.
///
/// # Errors
///
/// Its own, or that there is no place for the files by which a compiler is asked what it is.
pub(super) fn tool(cpp: bool, none_found: impl Fn(&dyn Display) -> Error) -> Result<cc::Tool> {
    let mut build = cc::Build::new();
    build.cpp(cpp).opt_level(3).debug(false).warnings(false).cargo_metadata(false).cargo_warnings(false);
    // A build script is told what it builds for, and has a folder for the files by which a compiler is asked what it is.
    // Elsewhere that is the machine this was itself built for, and `cc` would make a folder of whatever TMPDIR says.
    let is_build_script = ["TARGET", "HOST", "OUT_DIR"].iter().all(|name| std::env::var_os(name).is_some());
    let scratch = if is_build_script { None } else { Some(Scratch::new()?) };
    if let Some(scratch) = &scratch {
        build.target(env!("DIETCODE_TARGET")).host(env!("DIETCODE_TARGET")).out_dir(scratch.path());
    }
    let tool = build.try_get_compiler().map_err(|cause| none_found(&cause))?;
    let [usual, others @ ..] = if cpp { ["c++", "g++", "clang++"] } else { ["cc", "gcc", "clang"] };
    // A name that the environment says stands, also where nothing has it.
    if tool.path() != Path::new(usual) || is_on_path(usual) || is_named(if cpp { "CXX" } else { "CC" }) {
        return Ok(tool);
    }
    match others.into_iter().find(|name| is_on_path(name)) {
        Some(other) => build.compiler(other).try_get_compiler().map_err(|cause| none_found(&cause)),
        None => Err(none_found(&format!("PATH has no {usual}, no {}", others.join(", no ")))),
    }
}

/// Whether the environment names the compiler, in one of the variables that `cc` reads.
fn is_named(variable: &str) -> bool {
    let target = env!("DIETCODE_TARGET");
    let for_target = [target.to_owned(), target.replace('-', "_")].map(|target| format!("{variable}_{target}"));
    let for_kind = ["HOST", "TARGET"].map(|kind| format!("{kind}_{variable}"));
    let names = for_target.into_iter().chain(for_kind).chain([variable.to_owned()]);
    names.into_iter().any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
}

fn is_on_path(program: &str) -> bool {
    let is_program =
        |path: &Path| path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0);
    std::env::var_os("PATH").iter().flat_map(std::env::split_paths).any(|folder| is_program(&folder.join(program)))
}

fn none_found(cause: impl Display) -> Error {
    Error::unavailable(format!(
        "no C compiler was found ({cause}): install gcc {OLDEST_GCC} or newer, or clang {OLDEST_CLANG} or newer \
             (on Debian and Ubuntu: apt-get install gcc), or name one in the environment variable CC"
    ))
}

/// The first line of `--version`; else why there is none.
pub(super) fn version(tool: &cc::Tool) -> Result<String, String> {
    let path = tool.path().display();
    let mut command = Command::new(tool.path());
    command.arg("--version");
    let (_, output, _) = run(command).map_err(|e| format!("{path} does not start: {e}"))?;
    output.lines().next().map(|line| line.trim().to_owned()).ok_or_else(|| format!("{path} --version says nothing"))
}

fn check_version(macros: &Macros, version: &str) -> Result<CompilerKind> {
    let (kind, found, oldest) = match (macros.number("__clang_major__"), macros.number("__GNUC__")) {
        (Some(major), _) => (CompilerKind::Clang(major), major, OLDEST_CLANG),
        (None, Some(major)) => (CompilerKind::Gcc(major), major, OLDEST_GCC),
        (None, None) => return Err(none_found(format!("`{version}` is neither gcc nor clang"))),
    };
    if found >= oldest { Ok(kind) } else { Err(none_found(format!("`{version}` is too old"))) }
}

/// Runs a compiler on empty input: whether it succeeded, what it wrote, what it complained of.
fn run(mut command: Command) -> std::io::Result<(bool, String, String)> {
    command.env("LC_ALL", "C").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // A compiler that refuses its arguments has closed its input already.
        let _ = stdin.write_all(b"\n");
    }
    let output = child.wait_with_output()?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok((output.status.success(), text(&output.stdout), text(&output.stderr)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    #[test]
    fn macros_are_parsed() {
        let macros = Macros::parse("#define __GNUC__ 12\n#define __AVX__ 1\n#define EMPTY\nnoise\n");
        assert_eq!(macros.number("__GNUC__"), Some(12));
        assert!(macros.defines("EMPTY") && !macros.defines("noise"));
    }

    #[test]
    fn old_and_foreign_compilers_are_refused_with_what_to_install() {
        let check = |text: &str| check_version(&Macros::parse(text), "a compiler 1.0");
        assert_eq!(check("#define __GNUC__ 11\n").unwrap(), CompilerKind::Gcc(11));
        assert_eq!(check("#define __GNUC__ 4\n#define __clang_major__ 14\n").unwrap(), CompilerKind::Clang(14));
        for text in ["#define __GNUC__ 10\n", "#define __GNUC__ 4\n#define __clang_major__ 13\n", ""] {
            let error = check(text).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unavailable);
            assert!(error.to_string().contains("install gcc 11"), "{error}");
        }
    }

    /// GCC 12 ends with a fault of its own where it is to make more vectors of some tiles of `f64` at -O3, and unrolls the lanes of maxima of
    /// `i32` before it looks for vectors.
    #[test]
    fn vectors_of_any_type_are_told() {
        let vector = |elements: DType| format!("*(const dietcode_{elements}x8u *)&w_panel[0]");
        assert_eq!(DType::ALL.map(|elements| Toolchain::level(&vector(elements))), ["-O2"; DType::ALL.len()]);
        assert_eq!(Toolchain::level("y[i] += x[i];"), "-O3");
    }

    #[test]
    fn an_architecture_is_a_name() {
        for bad in ["", "native -o /etc/passwd", "a;b", "a\nb", "$(x)"] {
            assert_eq!(Toolchain::find(bad).unwrap_err().kind(), ErrorKind::Input, "{bad:?}");
        }
        let error = Toolchain::find("no-such-cpu").unwrap_err();
        assert!(error.to_string().contains("no-such-cpu"), "{error}");
    }
}
