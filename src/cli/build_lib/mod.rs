//! `dietcode build-lib`
mod package;

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use dietcode::core::codegen::library::{Devices, Exported, Library, check_names, check_package};
use dietcode::core::config::{ListedShape, ShapeList};
use dietcode::core::dispatch::{CPU, Winners};
use dietcode::core::machine::CpuTarget;
use dietcode::core::machine::cuda::{ComputeCapability, Nvcc};
use dietcode::core::measure::Instance;
use dietcode::core::syntax::is_free;
use dietcode::core::whole_file::{check_whole, write_whole};
use dietcode::{Error, Result};

use self::package::Package;
use super::cuda;
use super::files::each_once;
use super::origin::OriginArguments;
use super::setup::{Setup, wkl_text};
use super::{counted, print, tell};

/// Makes a library of kernels for programs in other languages: a shared one, a static one, and a header for C and C++.
///
/// Each kernel is one function, which selects a micro-kernel by the shape of each call, as it does in a program in Rust, for tensors in host
/// memory, and with --cuda another one for tensors on a CUDA device. The library is built by cargo, in a folder where the next build finds what has
/// not changed.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  dietcode build-lib configs/bert_dense.json -o lib      lib/libkernels.so, lib/libkernels.a, lib/kernels.h with kernels_dense
  dietcode build-lib a.json b.json -o lib --name mine    lib/libmine.so and so on, whose functions begin with mine_
  dietcode build-lib a.json -o lib --python              also lib/python, for pip
  dietcode build-lib configs/bert_dense.json -o lib --python --shapes configs/shapes/bert.json   explored at BERT's shapes
  dietcode build-lib configs/bert_dense.json -o lib --cuda=sm_80,sm_90   also kernels_dense_cuda, of a device and a stream")]
pub(crate) struct Arguments {
    /// The configs of the kernels.
    #[arg(value_name = "CONFIG", required = true)]
    configs: Vec<PathBuf>,
    /// The folder to write to; it is made if it is not there.
    #[arg(long, short, value_name = "DIR")]
    output: PathBuf,
    /// What the library's files are called, and its functions begin with.
    #[arg(long, value_name = "NAME", default_value = "kernels", value_parser = name)]
    name: String,
    /// Cargo's profile for what calls the kernels; these are compiled alike in both.
    #[arg(long, value_name = "PROFILE", default_value = "release", value_parser = ["release", "dev"])]
    profile: String,
    /// The folder in which it is built. Default: dietcode in the folder that XDG_CACHE_HOME names, or in ~/.cache. What it depends on goes to
    /// the folder that CARGO_TARGET_DIR names, or else there too.
    #[arg(long, value_name = "DIR")]
    cache: Option<PathBuf>,
    /// Also write a Python package to DIR/python, which `pip install DIR/python` takes, and of which `pip wheel DIR/python` makes a wheel. Its
    /// functions take what has `__array_interface__` or `__dlpack__`, with --cuda also on a device, and copy nothing. Its explore.py checks and times
    /// each candidate.
    #[arg(long)]
    python: bool,
    /// A list of shapes, such as those in configs/shapes, at which the package's explore.py checks and times the candidates of the kernels that
    /// it has; may be given more than once. Default: the instances of each config.
    #[arg(long, value_name = "FILE", requires = "python")]
    shapes: Vec<PathBuf>,
    /// Also a function of each kernel that computes on a CUDA device, in a stream of the caller's. Compiled for these devices, or for those that
    /// its config names (targets.cuda). nvcc is needed, and neither a GPU nor a driver: where these are missing, calls are errors.
    #[arg(long, value_name = "DEVICES", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    cuda: Option<Capabilities>,
    /// As --cuda, for the emulated device, so that programs can be tested without a GPU; it alone, if neither --cuda=DEVICES nor the config names
    /// others. A C++ compiler is needed.
    #[arg(long)]
    cuda_host: bool,
    #[command(flatten)]
    origin: OriginArguments,
}

/// A list of devices.
#[derive(Clone, Debug, Default)]
struct Capabilities(Vec<ComputeCapability>);

impl FromStr for Capabilities {
    type Err = Error;

    /// # Errors
    /// Of a device that is not known, with those that are.
    fn from_str(text: &str) -> Result<Capabilities> {
        let names = text.split(',').filter(|_| !text.is_empty());
        names.map(str::parse).collect::<Result<_>>().map(Capabilities)
    }
}

/// What is in a file.
enum Content {
    Text(String),
    Shared,
    Archive,
}

fn name(text: &str) -> Result<String, &'static str> {
    let expected = "expected letters, digits and _, beginning with a letter, and no keyword of C or C++, nor a name that begins with dietcode";
    if !is_free(text) {
        return Err(expected);
    }
    if OF_C.split_whitespace().any(|taken| taken == text) {
        return Err("expected a name that no header and no library of C has");
    }
    Ok(text.to_owned())
}

/// The headers of C's standard library, and the libraries that programs are linked with.
const OF_C: &str =
    "assert complex ctype errno fenv inttypes iso646 limits locale math setjmp signal stdalign stdarg stdatomic stdbool
    stdbit stdckdint stddef stdint stdio stdlib stdnoreturn string tgmath threads time uchar wchar wctype
    c dl gcc gcc_s m pthread rt util";

/// Runs it.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    each_once(&arguments.configs, "config")?;
    let library = library(arguments)?;
    let origin = arguments.origin.find()?;
    let shared = format!("{DLL_PREFIX}{}{DLL_SUFFIX}", library.name);
    let files = files(arguments, &library, &shared);
    files.iter().try_for_each(|(place, _)| check(place))?;

    let package = Package::new(arguments)?;
    package.write(&library, &shared, &origin)?;
    let built = package.build(&arguments.profile, library.cuda.is_some())?;
    let read = |path: &Path| fs::read(path).map_err(|e| Error::of_file(path, "cannot be read", e));
    let (shared, archive) = (read(&built.shared)?, read(&built.archive)?);
    for (place, content) in &files {
        let bytes = match content {
            Content::Text(text) => text.as_bytes(),
            Content::Shared => &shared,
            Content::Archive => &archive,
        };
        write_whole(place, [bytes]).map_err(|e| Error::of_file(place, UNWRITABLE, e))?;
        print(&format!("written  {}\n", place.display()))?;
    }
    print(&next(arguments))
}

/// What is to be built, all of it checked.
fn library(arguments: &Arguments) -> Result<Library> {
    let Arguments { configs, name, cuda, cuda_host, .. } = arguments;
    let setups = configs.iter().map(|path| Setup::read(path)).collect::<Result<Vec<Setup>>>()?;
    let names: Vec<(&Path, &str)> = setups.iter().map(|setup| (&*setup.config.path, &*setup.def.name)).collect();
    setups.iter().try_for_each(check_operands)?;
    let is_for_cuda = cuda.is_some() || *cuda_host;
    check_names(name, &names, is_for_cuda)?;
    if arguments.python {
        check_package(name)?;
    }
    let targets = setups.iter().map(|setup| CpuTarget::detect(&setup.config.cpu.march)).collect::<Result<Vec<_>>>()?;
    let machine = targets.first().map(|target| format!("{} by {}", target.model, target.compiler));
    let shapes =
        if arguments.python { explored(arguments, &setups)? } else { setups.iter().map(|_| Vec::new()).collect() };
    let cuda = is_for_cuda.then(|| Devices { capabilities: cuda.clone().unwrap_or_default().0, emulated: *cuda_host });
    let on_devices = match &cuda {
        Some(devices) => on_devices(&setups, devices)?,
        None => setups.iter().map(|_| String::new()).collect(),
    };
    let kernels = setups.into_iter().zip(&targets).zip(shapes).zip(on_devices);
    let kernels = kernels.map(|(((setup, target), shapes), on_devices)| exported(setup, (target, on_devices), shapes));
    Ok(Library {
        name: name.clone(),
        cuda,
        provenance: format!("dietcode {}, built for {}", env!("CARGO_PKG_VERSION"), machine.unwrap_or_default()),
        kernels: kernels.collect::<Result<Vec<Exported>>>()?,
    })
}

/// Whether a function of C can take all operands as they are.
fn check_operands(setup: &Setup) -> Result<()> {
    if setup.def.prepared.is_empty() {
        return Ok(());
    }
    let (path, name) = (setup.config.path.display(), &setup.def.name);
    Err(Error::input(format!(
        "{path}: `{name}` takes operands that are laid out before calls, which functions of a library cannot; expected a kernel without \
         `prepared(…)`"
    )))
}

/// What each kernel says of its devices, all of which it can be compiled for.
fn on_devices(setups: &[Setup], devices: &Devices) -> Result<Vec<String>> {
    let of_config = |setup: &Setup| setup.config.cuda.as_ref().map_or_else(Vec::new, |cuda| cuda.capabilities.clone());
    let of_kernel = |setup: &Setup| {
        if devices.capabilities.is_empty() { of_config(setup) } else { devices.capabilities.clone() }
    };
    let capabilities: Vec<Vec<ComputeCapability>> = setups.iter().map(of_kernel).collect();
    // A library for devices without their code would be none.
    let nvcc = capabilities.iter().any(|named| !named.is_empty()).then(Nvcc::find).transpose()?;
    let one = |(setup, capabilities): (&Setup, &Vec<ComputeCapability>)| {
        if capabilities.is_empty() && !devices.emulated {
            let expected = "expected --cuda=DEVICES, such as --cuda=sm_90, or `targets.cuda` there";
            return Err(Error::input(format!("{}: names no CUDA device: {expected}", setup.config.path.display())));
        }
        if !capabilities.is_empty() {
            cuda::selection(setup, capabilities, nvcc.as_ref())?;
        }
        let named = capabilities.iter().map(ToString::to_string);
        let names: Vec<String> = named.chain(devices.emulated.then(|| "cuda-host".to_owned())).collect();
        Ok(format!("; on {}", names.join(", ")))
    };
    setups.iter().zip(&capabilities).map(one).collect()
}

/// The shapes at which candidates of each kernel are explored: of the lists that have it, or else of its config.
fn explored(arguments: &Arguments, setups: &[Setup]) -> Result<Vec<Vec<(String, Instance)>>> {
    each_once(&arguments.shapes, "list")?;
    let lists = arguments.shapes.iter().map(ShapeList::read).collect::<Result<Vec<ShapeList>>>()?;
    for list in &lists {
        // One that has none of the kernels says which it has.
        if !setups.iter().any(|setup| list.is_of(&setup.def.name)) {
            list.shapes_of(&setups[0].def)?;
        }
    }
    let of_kernel = |setup: &Setup| {
        let mut shapes = Vec::new();
        for list in lists.iter().filter(|list| list.is_of(&setup.def.name)) {
            let name = |listed: &ListedShape| format!("{}, {}", listed.layer, wkl_text(&listed.values));
            shapes.extend(list.shapes_of(&setup.def)?.into_iter().map(|listed| (name(&listed), listed.instance)));
        }
        if shapes.is_empty() {
            for wkl in &setup.config.wkl_insts {
                shapes.push((wkl_text(wkl), setup.workload(wkl, 1.0)?.instance));
            }
        }
        Ok(shapes)
    };
    setups.iter().map(of_kernel).collect()
}

fn exported(
    setup: Setup,
    (target, on_devices): (&CpuTarget, String),
    shapes: Vec<(String, Instance)>,
) -> Result<Exported> {
    let path = &setup.config.path;
    let config = std::path::absolute(path).map_err(|e| Error::of_file(path, "has no place", e))?;
    let config = config.into_os_string().into_string().map_err(|_| {
        Error::input(format!("{}: a source of Rust cannot name it, since its path is not UTF-8", path.display()))
    })?;
    let annotated = setup.config.kernel_source()?;
    let provenance = provenance(&setup, target) + &on_devices;
    Ok(Exported { def: setup.def, annotated, config, provenance, shapes })
}

/// Which micro-kernels a build selects for a kernel, and why, and for which machine they are compiled.
fn provenance(setup: &Setup, target: &CpuTarget) -> String {
    let Setup { config, def, program, .. } = setup;
    let selected = match Winners::load(config, def, program, target) {
        Ok(winners) => {
            winners.gap.iter().for_each(|gap| tell(&format!("warning: {gap}")));
            let date = winners.tuned.map(|tuned| tuned.provenance.date).unwrap_or_default();
            let micro_kernels = counted(winners.schedules.len(), "micro-kernel");
            format!("{micro_kernels} of {}, {date}", config.tuned_path(CPU).display())
        }
        Err(miss) => {
            tell(&format!("warning: `{}` runs a default micro-kernel: {miss}", def.name));
            format!("a default micro-kernel: {miss}")
        }
    };
    format!("-march={}, {selected}", target.march)
}

/// All that is to be written, by its place.
fn files(arguments: &Arguments, library: &Library, shared: &str) -> Vec<(PathBuf, Content)> {
    let Arguments { output, name, .. } = arguments;
    let mut files = vec![
        (output.join(format!("{name}.h")), Content::Text(library.header())),
        (output.join(shared), Content::Shared),
        (output.join(format!("lib{name}.a")), Content::Archive),
    ];
    if arguments.python {
        let folder = output.join("python");
        let texts = library.python(shared, env!("CARGO_PKG_VERSION")).into_iter();
        files.extend(texts.map(|(path, text)| (folder.join(path), Content::Text(text))));
        files.push((folder.join(name).join(shared), Content::Shared));
    }
    files
}

const UNWRITABLE: &str = "cannot be written";

/// Whether a file can be written, whose folder is made if it is not there.
fn check(place: &Path) -> Result<()> {
    let folder = place.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(|e| Error::of_file(folder, "cannot be made", e))?;
    check_whole(place).map(drop).map_err(|e| Error::of_file(place, UNWRITABLE, e))
}

/// How programs get to it.
fn next(arguments: &Arguments) -> String {
    let (name, folder) = (&arguments.name, quoted(&arguments.output.display().to_string()));
    // Of the emulator.
    let cpp = if arguments.cuda_host { "-lstdc++ " } else { "" };
    let python = if arguments.python { format!("    python3 -m pip install {folder}/python\n") } else { String::new() };
    format!(
        "
Next:
    cc main.c -I{folder} -L{folder} -l{name} -Wl,-rpath,{folder}
    cc main.c -I{folder} {folder}/lib{name}.a {cpp}-lm -lpthread -ldl
{python}"
    )
}

/// A path as a shell takes it for one word.
fn quoted(path: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+".contains(c);
    if path.chars().all(is_plain) { path.to_owned() } else { format!("'{}'", path.replace('\'', "'\\''")) }
}
