//! The kernels of `src/ops`, and the files of `configs`.

use std::path::{Path, PathBuf};

use dietcode_syntax::KernelDef;

/// All of them.
pub(crate) fn kernels() -> Vec<KernelDef> {
    let sources = [
        include_str!("../../../src/ops.rs"),
        include_str!("../../../src/ops/matmul.rs"),
        include_str!("../../../src/ops/batched.rs"),
        include_str!("../../../src/ops/convolution.rs"),
        include_str!("../../../src/ops/gemm.rs"),
    ];
    let scanned =
        sources.into_iter().flat_map(|source| dietcode_syntax::scan(source).expect("it is compiled elsewhere"));
    scanned.map(|kernel| kernel.parse().expect("it is compiled elsewhere")).collect()
}

/// The one of a name.
pub(crate) fn kernel(name: &str) -> KernelDef {
    kernels().into_iter().find(|def| def.name == name).expect("a shipped kernel")
}

/// The configs and sets in `configs`, in the order of their names: neither the schema nor what a search has left beside them, whose
/// names have another dot (`bert_dense.cpu.tuned.json`).
pub(crate) fn configs() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../configs");
    let files =
        std::fs::read_dir(folder).expect("the folder is there").map(|file| file.expect("it can be read").path());
    let is_config = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).expect("their names are ASCII");
        name.strip_suffix(".json").is_some_and(|stem| !stem.contains('.') && stem != "schema")
    };
    let mut files: Vec<PathBuf> = files.filter(is_config).collect();
    files.sort();
    files
}
