//! The configurations and the nests.

use std::path::Path;

use dietcode_core::config::KernelSet;
use dietcode_core::sketch::{Family, Naive};
use dietcode_syntax::KernelDef;
use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;

/// How many of each of portBLAS's files: 59, and one that these files do not have.
const PORTBLAS: [(&str, usize); 2] = [("default", 31), ("intel_gpu", 28)];

/// The sets that the project ships, by target.
pub(crate) const FOR_CPUS: &[&str] = &["default", "cpu_avx2", "cpu_avx512"];
pub(crate) const FOR_GPUS: &[&str] = &["sm_75", "sm_80", "sm_90"];

pub(crate) fn read(path: &str) -> Vec<Family> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path);
    let families = KernelSet::read(&path).and_then(|set| set.families());
    families.unwrap_or_else(|e| panic!("{e}"))
}

/// The sample, the same each time, and what else is in the sets.
pub(crate) fn families(sets: &[&str]) -> Vec<Family> {
    let mut rng = StdRng::seed_from_u64(60);
    let mut families = vec![Family::Naive(Naive { cache_line_size: 64 })];
    for (file, count) in PORTBLAS {
        let all = read(&format!("tests/portblas/{file}.json"));
        families.extend(all.sample(&mut rng, count).cloned());
    }
    assert_eq!(families.len(), 60);
    for family in sets.iter().flat_map(|set| read(&format!("configs/{set}.json"))) {
        // Those that are named by the loops of a nest are tested on it, by `micro_kernels.rs`.
        let any_nest = !matches!(family, Family::Tiled(_) | Family::Blocked(_));
        if any_nest && !families.contains(&family) {
            families.push(family);
        }
    }
    families
}

/// The general products: each form, batches one behind the other and interleaved.
pub(crate) fn nests() -> Vec<KernelDef> {
    let found = dietcode_syntax::scan(include_str!("../../../src/ops/gemm.rs")).expect("the source parses");
    found.iter().map(|found| found.parse().unwrap_or_else(|errors| panic!("{errors}"))).collect()
}
