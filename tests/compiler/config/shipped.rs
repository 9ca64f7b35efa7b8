//! The sets that the project ships: each configuration is worth its compile time.

use std::collections::BTreeSet;
use std::path::Path;

use dietcode_core::config::{KernelSet, ShapeList};
use dietcode_core::frontend;
use dietcode_core::machine::CpuTarget;
use dietcode_core::machine::cuda::DeviceLimits;
use dietcode_core::sketch::Family;
use dietcode_core::syntax::{KernelDef, scan};

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

fn set(name: &str) -> KernelSet {
    KernelSet::read(root().join(format!("configs/{name}.json"))).unwrap_or_else(|e| panic!("{e}"))
}

/// The general products, of which every set is made.
fn products() -> Vec<KernelDef> {
    let text = std::fs::read_to_string(root().join("src/ops/gemm.rs")).unwrap();
    scan(&text).unwrap().iter().map(|kernel| kernel.parse().unwrap()).collect()
}

/// Configurations that serve no product, with the reason of the first.
fn idle(families: &[Family], serves: impl Fn(&Family, &KernelDef) -> Result<String, String>) -> Vec<String> {
    let products = products();
    let mut micro_kernels = BTreeSet::new();
    let mut idle = Vec::new();
    for family in families {
        let (served, refused): (Vec<_>, Vec<_>) =
            products.iter().map(|def| serves(family, def).map(|name| (&def.name, name))).partition(Result::is_ok);
        let served: Vec<_> = served.into_iter().flatten().collect();
        // Two configurations that are the same micro-kernels of the same products are one.
        if served.is_empty() || !micro_kernels.insert(served) {
            let reason = refused.into_iter().find_map(Result::err).unwrap_or("there already".into());
            idle.push(format!("{}: {reason}", family.name()));
        }
    }
    idle
}

#[test]
fn every_configuration_for_a_cpu_serves_a_product() {
    for (name, march) in [("default", "x86-64"), ("cpu_avx2", "x86-64-v3"), ("cpu_avx512", "x86-64-v4")] {
        let set = set(name);
        assert_eq!(set.march.as_deref(), Some("native"));
        let families = set.families().unwrap();
        assert!((25..=40).contains(&families.len()), "{name} has {}", families.len());
        let target = CpuTarget { l2_bytes: 1 << 20, ..CpuTarget::detect(march).unwrap() };
        let serves = |family: &Family, def: &KernelDef| {
            family.on_cpu(&frontend::program(def), &target).map(|tiled| tiled.name())
        };
        assert_eq!(idle(&families, serves), [""; 0], "{name}");
    }
}

#[test]
fn every_configuration_for_a_gpu_serves_a_product() {
    for name in ["sm_75", "sm_80", "sm_90"] {
        let set = set(name);
        let families = set.families().unwrap();
        assert!((30..=60).contains(&families.len()), "{name} has {}", families.len());
        let [device] = set.capabilities[..] else { panic!("{name} is for one device") };
        let device = DeviceLimits::of(device).unwrap();
        let serves = |family: &Family, def: &KernelDef| {
            family.on_gpu(&frontend::program(def), device).map(|blocked| blocked.name())
        };
        assert_eq!(idle(&families, serves), [""; 0], "{name}");
    }
}

/// A name that no kernel has would be a layer that is never explored.
#[test]
fn the_lists_of_shapes_are_of_shipped_kernels() {
    let mut kernels = crate::common::shipped::kernels();
    for source in ["examples/library/kernels.rs", "xtask/explore/conv2d_by_2.rs"] {
        let text = std::fs::read_to_string(root().join(source)).unwrap();
        kernels.extend(scan(&text).unwrap().iter().map(|kernel| kernel.parse().unwrap()));
    }
    for name in ["bert", "llama", "resnet50"] {
        let path = root().join(format!("configs/shapes/{name}.json"));
        let list = ShapeList::read(&path).unwrap_or_else(|e| panic!("{e}"));
        let mut explored = BTreeSet::new();
        for def in kernels.iter().filter(|def| list.is_of(&def.name)) {
            assert!(!list.shapes_of(def).unwrap_or_else(|e| panic!("{e}")).is_empty());
            explored.insert(def.name.clone());
        }
        let text: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        let layers = text["layers"].as_array().unwrap().iter();
        let named = layers.flat_map(|layer| layer["kernels"].as_array().unwrap().iter().map(|it| it.as_str().unwrap()));
        assert_eq!(named.map(str::to_owned).collect::<BTreeSet<String>>(), explored, "{name}");
    }
}
