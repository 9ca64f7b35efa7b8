//! What is emitted for targets that are described here: for each unit the hashes of its lowered kernels' structure and of its
//! text's normal form, in `golden/units.txt`.
//!
//! A unit is a line: the config or set, the target, the unit's name, each kernel that it serves with the hash of its structure
//! ([`Lowered::hash`]), and the hash of the text ([`normal_form`]). Names, comments and layout are in neither hash. What is
//! intended to change is written anew by `DIETCODE_BLESS=1`, and named in the message of the commit.

mod normal;
mod targets;

use std::path::{Path, PathBuf};

use dietcode_core::codegen::registry::Decision;
use dietcode_core::codegen::set::{GeneratedSet, Targets};
use dietcode_core::codegen::{c, cuda};
use dietcode_core::config::{Config, ConfigFile, KernelSet};
use dietcode_core::dispatch::{Tuned, Winners};
use dietcode_core::machine::CpuTarget;
use dietcode_core::machine::cuda::{ComputeCapability, DeviceLimits};
use dietcode_core::sketch::{Blocked, Family, Lowered, MicroKernel};
use dietcode_core::{frontend, machine, parallel};
use dietcode_syntax::KernelDef;
use normal::normal_form;
use targets::{avx2, sse2};

use crate::common::avx512::target as avx512;
use crate::common::shipped::configs;

/// A target with its name in the list.
#[derive(Clone)]
enum Target {
    Cpu(&'static str, CpuTarget),
    Cuda(&'static DeviceLimits),
}

impl Target {
    fn cpus() -> Vec<Target> {
        vec![Target::Cpu("avx2", avx2()), Target::Cpu("avx512", avx512())]
    }

    fn gpu(capability: ComputeCapability) -> Target {
        Target::Cuda(DeviceLimits::of(capability).expect("it is in the table"))
    }

    fn machine(&self) -> machine::Target {
        match self {
            Target::Cpu(_, cpu) => machine::Target::Cpu(cpu.clone()),
            Target::Cuda(device) => machine::Target::Cuda(**device),
        }
    }

    fn name(&self) -> String {
        match self {
            Target::Cpu(name, _) => (*name).to_owned(),
            Target::Cuda(device) => device.capability.to_string(),
        }
    }
}

/// As much of a hash as tells units apart.
fn short(hash: &[u8; 32]) -> String {
    hash[..4].iter().map(|byte| format!("{byte:02x}")).collect()
}

fn text(source: &str) -> String {
    format!("text={}", short(blake3::hash(normal_form(source).as_bytes()).as_bytes()))
}

/// The structure of a micro-kernel, or `refused`.
fn structure(def: &KernelDef, lowered: &Lowered) -> String {
    format!("{}={}", def.name, short(&lowered.hash))
}

/// The hashes of a lowered micro-kernel in a unit of its own.
fn own_unit(def: &KernelDef, micro_kernel: &MicroKernel, lowered: &Lowered, target: &Target) -> String {
    let source = match target {
        Target::Cpu(_, cpu) => {
            c::translation_unit(def, &micro_kernel.name(), lowered, &cpu.march).map(|unit| unit.source)
        }
        Target::Cuda(_) => cuda::translation_unit(def, &micro_kernel.name(), lowered).map(|unit| unit.source),
    };
    format!("{} {}", structure(def, lowered), text(&source.unwrap_or_else(|e| panic!("{e}"))))
}

/// The hashes of a set's configuration with all kernels that it serves.
fn set_unit(family: &Family, defs: &[KernelDef], target: &Target) -> String {
    let mut of = Targets::default();
    match target {
        Target::Cpu(_, cpu) => of.cpu = Some(cpu),
        Target::Cuda(device) => of.devices = vec![device],
    }
    let set = GeneratedSet::new("set", std::slice::from_ref(family), defs, &of, 1).unwrap_or_else(|e| panic!("{e}"));
    let micro_kernel = |def: &KernelDef| family.micro_kernel(&frontend::program(def), &target.machine());
    let structures = defs.iter().filter_map(|def| Some(structure(def, &micro_kernel(def).ok()?.1)));
    let sources = set.cpu_units().map(|unit| &unit.source).chain(set.cuda_units().map(|unit| &unit.source));
    structures.chain(sources.map(|source| text(source))).collect::<Vec<_>>().join(" ")
}

/// Makes a line, of the general products if it is a set's.
type Line = Box<dyn FnOnce(&[KernelDef]) -> String + Send>;

/// The line of a micro-kernel in a unit of its own, or that it is refused.
fn own(of: &str, def: &KernelDef, micro_kernel: MicroKernel, target: &Target) -> Line {
    let (name, program, machine) = (micro_kernel.name(), frontend::program(def), target.machine());
    candidate(of, def, name, target, move || {
        let lowered = micro_kernel.lowered(&program, &machine)?;
        Ok((micro_kernel, lowered))
    })
}

/// The same of a micro-kernel that is lowered already.
fn lowered_before(of: &str, def: &KernelDef, both: (MicroKernel, Lowered), target: &Target) -> Line {
    candidate(of, def, both.0.name(), target, move || Ok(both))
}

/// The line of parameters that may be refused, which are lowered when it is made.
fn candidate(
    of: &str,
    def: &KernelDef,
    name: String,
    target: &Target,
    made: impl FnOnce() -> dietcode_core::Result<(MicroKernel, Lowered)> + Send + 'static,
) -> Line {
    let (of, def, target) = (of.to_owned(), def.clone(), target.clone());
    Box::new(move |_| {
        let (name, unit) = match made() {
            Ok((micro_kernel, lowered)) => (micro_kernel.name(), own_unit(&def, &micro_kernel, &lowered, &target)),
            Err(_) => (name, format!("{}=refused", def.name)),
        };
        format!("{of} {} {name} {unit}", target.name())
    })
}

/// The line of the tree between a nest's defaults, by their places.
fn tree(def: &KernelDef, decision: &Decision, target: &Target) -> Line {
    let hash = blake3::hash(format!("{decision:?}").as_bytes());
    let line = format!("default {} tree {}={}", target.name(), def.name, short(hash.as_bytes()));
    Box::new(move |_| line)
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn golden(name: &str) -> PathBuf {
    root().join("tests/compiler/golden").join(name)
}

/// The annotated functions of a source.
fn kernels(path: &str) -> Vec<KernelDef> {
    let source = std::fs::read_to_string(root().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"));
    let found = dietcode_syntax::scan(&source).expect("the source parses");
    found.iter().map(|found| found.parse().unwrap_or_else(|errors| panic!("{errors}"))).collect()
}

/// The defaults of every shipped nest on every target, with the nest as it stands.
fn defaults() -> Vec<Line> {
    const OF: &str = "default";
    let defs = ["src/ops.rs", "src/ops/batched.rs", "src/ops/convolution.rs", "src/ops/gemm.rs", "src/ops/matmul.rs"]
        .into_iter()
        .flat_map(kernels);
    let mut units = Vec::new();
    for def in defs {
        for target in Target::cpus() {
            let Target::Cpu(_, cpu) = &target else { continue };
            let program = frontend::program(&def);
            let nest = MicroKernel::nest(&program);
            let Winners { schedules, lowered, decision, .. } = Winners::default_for(&program, cpu);
            let nest = (!schedules.contains(&nest)).then(|| own(OF, &def, nest, &target));
            units.push(tree(&def, &decision, &target));
            units.extend(schedules.into_iter().zip(lowered).map(|both| lowered_before(OF, &def, both, &target)));
            units.extend(nest);
        }
        for (major, minor) in [(7, 5), (8, 0), (9, 0)] {
            let target = Target::gpu(ComputeCapability { major, minor });
            let Target::Cuda(device) = &target else { continue };
            let program = frontend::program(&def);
            let default = Blocked::default_for(&program, device);
            let default = default.map(|blocked| blocked.micro_kernel(&program, device).expect("it is valid"));
            units.extend(default.map(|both| lowered_before(OF, &def, both, &target)));
        }
    }
    units
}

/// All candidates of a config, and what a search once found of it: the tuned file of the same name in `golden`, since whoever tunes has
/// another one beside the config.
fn of_config(of: &str, config: &Config) -> Vec<Line> {
    let def = config.kernel_def().unwrap_or_else(|e| panic!("{e}"));
    let program = frontend::program(&def);
    let mut units = Vec::new();
    for target in Target::cpus() {
        let Target::Cpu(_, cpu) = &target else { continue };
        let candidates = config.cpu.candidates_on(&program, cpu).flatten();
        units.extend(candidates.map(|tiled| {
            let (program, cpu) = (program.clone(), cpu.clone());
            candidate(of, &def, tiled.name(), &target, move || tiled.micro_kernel(&program, &cpu))
        }));
    }
    if let Some(cuda) = &config.cuda {
        for target in cuda.capabilities.iter().map(|capability| Target::gpu(*capability)) {
            let Target::Cuda(device) = &target else { continue };
            let candidates = cuda.candidates_on(&program, device).flatten();
            units.extend(candidates.map(|blocked| {
                let (program, device) = (program.clone(), *device);
                candidate(of, &def, blocked.name(), &target, move || blocked.micro_kernel(&program, device))
            }));
        }
    }
    if let Ok(text) = std::fs::read_to_string(golden(&format!("{of}.cpu.tuned.json"))) {
        let tuned: Tuned = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{of}.cpu.tuned.json: {e}"));
        let (of, target) = (format!("{of}.tuned"), Target::Cpu("avx512", avx512()));
        units.extend(tuned.micro_kernels.into_iter().map(|named| own(&of, &def, named, &target)));
    }
    units
}

/// All configurations of a set, and the micro-kernels of its own kernels.
fn of_set(of: &str, set: &KernelSet) -> Vec<Line> {
    let targets = match of {
        "default" => vec![Target::Cpu("sse2", sse2())],
        "cpu_avx2" => vec![Target::Cpu("avx2", avx2())],
        "cpu_avx512" => vec![Target::Cpu("avx512", avx512())],
        _ => set.capabilities.iter().map(|capability| Target::gpu(*capability)).collect(),
    };
    assert!(!targets.is_empty(), "{of} is for no target");
    let families = set.families().unwrap_or_else(|e| panic!("{e}"));
    let nests = set.nests().unwrap_or_else(|e| panic!("{e}"));
    let kernels = set.micro_kernels(&nests).unwrap_or_else(|e| panic!("{e}"));
    let mut units: Vec<Line> = Vec::new();
    for target in targets {
        for family in &families {
            let (of, family, target) = (of.to_owned(), family.clone(), target.clone());
            let line = move |products: &[KernelDef]| {
                format!("{of} {} {} {}", target.name(), family.name(), set_unit(&family, products, &target))
            };
            units.push(Box::new(line));
        }
        let Target::Cuda(device) = &target else { continue };
        for ((def, program), blocked) in &kernels {
            let (name, blocked, program, device) = (blocked.name(), blocked.clone(), program.clone(), *device);
            let made = move || blocked.micro_kernel(&program, device);
            units.push(candidate(of, def, name, &target, made));
        }
    }
    units
}

/// The units of all configs and sets.
fn shipped() -> Vec<Line> {
    let mut units = Vec::new();
    for path in configs() {
        let stem = path.file_stem().and_then(|stem| stem.to_str()).expect("their names are ASCII");
        match ConfigFile::read(&path).unwrap_or_else(|e| panic!("{e}")) {
            ConfigFile::Kernel(config) => units.extend(of_config(stem, &config)),
            ConfigFile::Set(set) => units.extend(of_set(stem, &set)),
        }
    }
    units
}

#[test]
fn units_are_what_they_were() {
    let products = kernels("src/ops/gemm.rs");
    let units: Vec<Line> = defaults().into_iter().chain(shipped()).collect();
    let at_once = std::thread::available_parallelism().map_or(1, usize::from);
    let lines = parallel::each(units, at_once, |line| line(&products));
    let path = golden("units.txt");
    if std::env::var_os("DIETCODE_BLESS").is_some() {
        std::fs::write(&path, lines.join("\n") + "\n").expect("the list can be written");
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let expected: Vec<&str> = expected.lines().collect();
    let gone: Vec<String> =
        expected.iter().filter(|line| !lines.iter().any(|l| l == *line)).map(|line| format!("- {line}")).collect();
    let new: Vec<String> =
        lines.iter().filter(|line| !expected.contains(&line.as_str())).map(|line| format!("+ {line}")).collect();
    assert!(
        lines == expected,
        "{} lines of {} differ from what is emitted ({} lines); DIETCODE_BLESS=1 writes it anew\n{}",
        gone.len().max(new.len()),
        path.display(),
        lines.len(),
        gone.iter().chain(&new).take(40).cloned().collect::<Vec<_>>().join("\n")
    );
}
