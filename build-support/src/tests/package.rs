//! A package in a temporary folder, and builds of it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use dietcode_core::config::{Cache, Config};
use dietcode_core::cpu_features;
use dietcode_core::dispatch::{FORMAT, Instance, Provenance, Tree, Tuned};
use dietcode_core::frontend;
use dietcode_core::machine::CpuTarget;
use dietcode_core::sketch::{MicroKernel, Tiled};
use dietcode_syntax::scan;

use crate::cargo::Manifest;
use crate::environment::Environment;
use crate::report::Report;
use crate::{Kernels, kernels, pipeline};

pub(super) const SUM: &str = r#"
#[dynamic_kernel(config = "configs/sum.json")]
pub fn sum(x: &[[f32; N]; M], y: &mut [f32; M]) {
    for i in 0..M {
        let mut acc = 0.0;
        for j in 0..N {
            acc += x[i][j];
        }
        y[i] = acc;
    }
}
"#;

pub(super) const OUTER: &str = "
#[dynamic_kernel]
pub fn outer(a: &[f32; M], b: &[f32; N], y: &mut [[f32; N]; M]) {
    for i in 0..M {
        for j in 0..N {
            y[i][j] = a[i] * b[j];
        }
    }
}
";

pub(super) const SUM_CONFIG: &str = r#"{
  "kernel": { "source": "../ops.rs", "function": "sum" },
  "shape": { "M": "16*T", "N": 768 },
  "wkl_insts": [{ "T": 1 }, { "T": 8 }]
}"#;

pub(super) struct Package {
    folder: tempfile::TempDir,
    pub(super) skip_native: bool,
    pub(super) cuda: bool,
    pub(super) nvcc: Option<PathBuf>,
    pub(super) config: Option<PathBuf>,
    pub(super) targets: Option<String>,
    pub(super) jobs: usize,
    pub(super) vars: BTreeMap<String, String>,
    pub(super) manifest: Manifest,
}

impl Package {
    /// `ops.rs` with these nests, and a config for [`SUM`].
    pub(super) fn new(ops: &str) -> Package {
        let folder = tempfile::tempdir().unwrap();
        let package = Package {
            folder,
            skip_native: false,
            cuda: true,
            nvcc: None,
            config: None,
            targets: None,
            jobs: 2,
            vars: BTreeMap::new(),
            manifest: Manifest::default(),
        };
        package.write("ops.rs", ops);
        package.write("configs/sum.json", SUM_CONFIG);
        package
    }

    pub(super) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Builds, and gives what cargo is told, or all errors.
    pub(super) fn build(&self) -> Result<Vec<String>, Vec<String>> {
        self.build_of(&["ops.rs"])
    }

    pub(super) fn build_of(&self, sources: &[&str]) -> Result<Vec<String>, Vec<String>> {
        self.build_with(kernels(sources))
    }

    pub(super) fn build_with(&self, kernels: Kernels) -> Result<Vec<String>, Vec<String>> {
        let environment = Environment {
            manifest_dir: self.folder.path().to_owned(),
            out_dir: self.path("out"),
            package: "a-package".to_owned(),
            manifest: self.manifest.clone(),
            target: "x86_64-unknown-linux-gnu".to_owned(),
            host: "x86_64-unknown-linux-gnu".to_owned(),
            jobs: self.jobs,
            skip_native: self.skip_native,
            cuda: self.cuda,
            nvcc: self.nvcc.clone(),
            config: self.config.clone(),
            targets: self.targets.clone(),
            vars: self.vars.clone(),
        };
        let mut report = Report::default();
        match pipeline::run(kernels.groups(), &environment, &mut report) {
            Ok(()) => Ok(report.lines().to_vec()),
            Err(errors) => Err(errors.iter().map(ToString::to_string).collect()),
        }
    }

    /// Every generated file, by its name below `out`, with its text.
    pub(super) fn generated(&self) -> BTreeMap<String, Vec<u8>> {
        self.walk().map(|(name, path)| (name, fs::read(path).unwrap())).collect()
    }

    /// When each generated file was written.
    pub(super) fn times(&self) -> BTreeMap<String, SystemTime> {
        self.walk().map(|(name, path)| (name, fs::metadata(path).unwrap().modified().unwrap())).collect()
    }

    fn walk(&self) -> impl Iterator<Item = (String, PathBuf)> {
        let out = self.path("out");
        let mut files = Vec::new();
        walk(&out, &mut files);
        // How far the last build came is no part of what it made.
        files.retain(|path| !path.ends_with("dietcode-progress"));
        files.into_iter().map(move |path| (path.strip_prefix(&out).unwrap().to_str().unwrap().to_owned(), path))
    }

    /// A tuned file for `sum` that fits this machine, made for the config's instances: a short leaf and a long one.
    pub(super) fn tuned(&self, schedules: &[MicroKernel]) -> Tuned {
        let config = Config::read(self.path("configs/sum.json")).unwrap();
        let target = CpuTarget::detect("native").unwrap();
        let def = scan(SUM).unwrap()[0].parse().unwrap();
        let vars = Config::shape_vars(&def);
        let instance = |wkl| Instance {
            wkl: BTreeMap::clone(wkl),
            shape: vars.iter().cloned().zip(config.shape_of(&vars, wkl).unwrap()).collect(),
            micro_kernel: schedules[0].name(),
            measurements: Vec::new(),
        };
        let leaf = |at: usize| Tree::Leaf(schedules[at].name());
        let tree = if schedules.len() == 1 { leaf(0) } else { Tree::split("M", 64, leaf(0), leaf(1)) };
        Tuned {
            format: FORMAT,
            kernel: "sum".to_owned(),
            target: "cpu".to_owned(),
            provenance: Provenance {
                source_hash: format!("{:016x}", def.source_hash()),
                space_hash: config.space_hash("cpu", config.search.strategy.into()),
                cpu: target.model.clone(),
                device: String::new(),
                features: cpu_features::names(target.features).into_iter().map(str::to_owned).collect(),
                compiler: target.compiler,
                estimated: false,
                cache: Cache::Warm,
                date: "2026-01-01".to_owned(),
            },
            tree,
            micro_kernels: schedules.to_vec(),
            reports: BTreeMap::new(),
            instances: config.wkl_insts.iter().map(instance).collect(),
            regret: None,
            asked: None,
        }
    }
}

/// The kernels of `ops.rs`, about which nothing is said where they are not tuned.
pub(super) fn quiet() -> Kernels {
    kernels(["ops.rs"]).allow_untuned()
}

/// A schedule of [`SUM`]: so many rows at once.
pub(super) fn rows(rows: i64) -> MicroKernel {
    let tile = |name: &str, size| BTreeMap::from([(name.to_owned(), size)]);
    let tiled = Tiled { register_tile: tile("i", rows), block_tile: tile("j", 64), ..Tiled::default() };
    let program = frontend::program(&scan(SUM).unwrap()[0].parse().unwrap());
    tiled.micro_kernel(&program, &CpuTarget::detect("native").unwrap()).unwrap().0
}

/// The one warning among cargo's instructions.
pub(super) fn warning(lines: &[String]) -> &str {
    let warnings: Vec<&str> = lines.iter().filter_map(|line| line.strip_prefix("cargo::warning=")).collect();
    assert_eq!(warnings.len(), 1, "{lines:#?}");
    warnings[0]
}

fn walk(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() { walk(&path, files) } else { files.push(path) }
    }
}
