//! Sets of configurations: which file, what is generated and compiled of it, and what is wrong with it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::SystemTime;

use super::package::{Package, quiet, warning};
use crate::Kernels;

/// A product of matrices: what all families are for.
const PRODUCT: &str = "
#[dynamic_kernel]
pub fn product(a: &[[f32; K]; M], b: &[[f32; N]; K], c: &mut [[f32; N]; M]) {
    for i in 0..M {
        for j in 0..N {
            let mut acc = 0.0;
            for k in 0..K {
                acc += a[i][k] * b[k][j];
            }
            c[i][j] = acc;
        }
    }
}
";

const SET: &str = r#"{
  "comment": "two of one family, and one of another",
  "naive": [{ "cache_line_size": [64, 128] }],
  "non_local": [{
    "work_item_sizes": [[4, 4]], "work_group_sizes": [[8, 8]],
    "vectorization_size": [4], "vectorization": ["partial"]
  }]
}"#;

fn package() -> Package {
    let package = Package::new(PRODUCT);
    for name in ["default", "cpu_avx2", "cpu_avx512"] {
        package.write(&format!("configs/{name}.json"), SET);
    }
    package
}

fn with_set() -> Kernels {
    quiet().with_set("configs")
}

/// What stands in the set's folder, but for objects and the like.
fn written(package: &Package) -> BTreeSet<String> {
    let generated = package.generated().into_keys();
    generated.filter_map(|name| name.strip_prefix("dietcode-set/").map(str::to_owned)).collect()
}

/// The files whose objects a build has made since the times were taken, without their endings.
fn compiled(package: &Package, before: &BTreeMap<String, SystemTime>) -> Vec<String> {
    let new = package.times().into_iter().filter(|(name, time)| before.get(name) != Some(time));
    let stem = |(name, _): (String, _)| Some(name.strip_prefix("dietcode-set/")?.strip_suffix(".o")?.to_owned());
    new.filter_map(stem).collect()
}

#[test]
fn a_set_becomes_a_file_per_configuration_and_a_library() {
    let package = package();
    let lines = package.build_with(with_set()).unwrap();
    let all = written(&package);
    for name in [
        "naive_c64.c",
        "naive_c128.c",
        "non_local_i4x4_w8x8_v4_partial.c",
        "registry.def",
        "registry.c",
        "registry.rs",
        "naive_c64.o",
        "libdietcode_a_package_configurations.a",
    ] {
        assert!(all.contains(name), "{name} in {all:#?}");
    }
    let folder = format!("cargo::rustc-link-search=native={}", package.path("out/dietcode-set").display());
    assert!(lines.contains(&folder), "{lines:#?}");
    for variable in ["DIETCODE_CONFIG", "DIETCODE_TARGETS"] {
        assert!(lines.contains(&format!("cargo::rerun-if-env-changed={variable}")), "{lines:#?}");
    }
    let registry = String::from_utf8(package.generated()["dietcode-set/registry.def"].clone()).unwrap();
    assert_eq!(registry.lines().filter(|line| line.starts_with("DIETCODE_KERNEL(")).count(), 3, "{registry}");
}

#[test]
fn a_changed_number_compiles_the_changed_configuration() {
    let package = package();
    package.build_with(with_set()).unwrap();
    let before = package.times();
    package.build_with(with_set()).unwrap();
    assert_eq!(package.times(), before, "nothing changed");
    for name in ["default", "cpu_avx2", "cpu_avx512"] {
        package.write(&format!("configs/{name}.json"), SET.replace("128", "256"));
    }
    package.build_with(with_set()).unwrap();
    assert_eq!(compiled(&package, &before), ["naive_c256", "registry"]);
    assert!(
        !written(&package).iter().any(|name| name.starts_with("naive_c128")),
        "what is no longer in the set is gone"
    );
}

#[test]
fn one_set_is_chosen_by_its_name_or_by_one_feature() {
    let mut package = package();
    package.write("configs/small.json", r#"{ "naive": [{ "cache_line_size": [32] }] }"#);
    package.write("more/tiny.json", r#"{ "naive": [{ "cache_line_size": [16] }] }"#);
    let has = |package: &Package, name: &str| written(package).contains(&format!("{name}.c"));
    package.vars.insert("CARGO_FEATURE_SMALL".to_owned(), "1".to_owned());
    package.vars.insert("CARGO_FEATURE_BENCHMARK".to_owned(), "1".to_owned());
    package.vars.insert("CARGO_FEATURE_DEFAULT".to_owned(), "1".to_owned());
    package.build_with(with_set()).unwrap();
    assert!(has(&package, "naive_c32") && !has(&package, "naive_c64"));

    package.config = Some("more/tiny.json".into());
    let lines = package.build_with(with_set()).unwrap();
    assert!(has(&package, "naive_c16") && !has(&package, "naive_c32"));
    assert!(lines.contains(&"cargo::rerun-if-changed=more/tiny.json".to_owned()), "{lines:#?}");

    package.config = None;
    package.vars.insert("CARGO_FEATURE_CPU_AVX2".to_owned(), "1".to_owned());
    let errors = package.build_with(with_set()).unwrap_err();
    assert!(errors[0].contains("the features `cpu_avx2` and `small`"), "{errors:#?}");
}

#[test]
fn what_is_wrong_with_a_set_is_told_and_nothing_is_written() {
    let place = |text: &str| format!("wrong.json:{text}");
    for (text, expected) in [
        (&b"nonsense"[..], place("1:2")),
        (b"{ \"naive\":\n  [{ \"cache_line_size\": [\"64\"] }] }", place("2:26")),
        (b"{ \"naiv\": [] }", place("1:3")),
        (b"{ \"naive\": [{ \"cache_line_size\": [0] }] }", place("1:35")),
        (b"\xff\xfe", place("1:1")),
    ] {
        let mut package = package();
        package.write("configs/wrong.json", text);
        package.config = Some("configs/wrong.json".into());
        let errors = package.build_with(with_set()).unwrap_err();
        assert!(errors[0].contains(&expected), "{expected} in {errors:#?}");
        assert!(package.generated().is_empty(), "{:?}", package.generated().keys());
    }
    let mut package = package();
    for missing in ["configs/nowhere.json", "configs"] {
        package.config = Some(missing.into());
        let errors = package.build_with(with_set()).unwrap_err();
        assert!(errors[0].contains("DIETCODE_CONFIG names it, but it is no file"), "{errors:#?}");
    }
    package.config = None;
    package.targets = Some("gpu".to_owned());
    let errors = package.build_with(with_set()).unwrap_err();
    assert!(errors[0].contains("DIETCODE_TARGETS: `gpu` is no target"), "{errors:#?}");
    assert!(package.generated().is_empty());
}

#[test]
fn the_output_is_the_same_on_any_number_of_threads() {
    let built = [1, 4].map(|jobs| {
        let mut package = package();
        package.jobs = jobs;
        package.targets = Some("cpu,cuda-host".to_owned());
        package.build_with(with_set()).unwrap();
        let mut generated = package.generated();
        generated.retain(|name, _| name.starts_with("dietcode-set/"));
        generated
    });
    assert!(built[0].contains_key("dietcode-set/cuda/naive_c64.o"), "{:?}", built[0].keys());
    assert_eq!(built[0].keys().collect::<Vec<_>>(), built[1].keys().collect::<Vec<_>>());
    for (name, contents) in &built[0] {
        assert!(built[1][name] == *contents, "{name} differs");
    }
}

#[test]
fn the_reasons_for_what_is_left_out_stand_where_the_warning_says() {
    let mut package = package();
    package.targets = Some("cuda-host".to_owned());
    package.write("configs/wide.json", SET.replace("[8, 8]", "[64, 64]"));
    package.config = Some("configs/wide.json".into());
    let lines = package.build_with(with_set()).unwrap();
    assert!(warning(&lines).contains("1 of 3 serve no kernel on CUDA devices"), "{lines:#?}");
    let list = String::from_utf8(package.generated()["dietcode-set/registry.def"].clone()).unwrap();
    assert!(list.contains("/* not on cuda: non_local_i4x4_w64x64_v4_partial, product: "), "{list}");
}

#[test]
fn without_nvcc_devices_are_left_out_with_one_warning() {
    let mut package = package();
    package.nvcc = Some("/no/such/nvcc".into());
    package.targets = Some("cpu,cuda".to_owned());
    let lines = package.build_with(with_set()).unwrap();
    assert!(warning(&lines).contains("cannot run on CUDA devices"), "{lines:#?}");
    let registry = String::from_utf8(package.generated()["dietcode-set/registry.rs"].clone()).unwrap();
    assert!(registry.contains("cpu: Ok(())") && registry.contains("cuda: Err("), "{registry}");
    assert!(!written(&package).iter().any(|name| name.ends_with(".cu")));
}

#[test]
fn without_native_code_the_set_is_there_and_empty() {
    let mut package = package();
    package.skip_native = true;
    package.build_with(with_set()).unwrap();
    assert_eq!(written(&package), BTreeSet::from(["registry.rs".to_owned()]));
    let registry = String::from_utf8(package.generated()["dietcode-set/registry.rs"].clone()).unwrap();
    assert!(registry.contains("DIETCODE_SKIP_NATIVE") && !registry.contains("naive_c64"), "{registry}");
}

#[test]
fn a_set_that_serves_nothing_is_refused_with_a_reason() {
    let wide = r#"{ "non_local": [{
        "work_item_sizes": [[4, 4]], "work_group_sizes": [[64, 64]], "vectorization_size": [4], "vectorization": ["partial"]
    }] }"#;
    let mut package = package();
    package.targets = Some("cuda-host".to_owned());
    package.write("configs/wide.json", wide);
    package.config = Some("configs/wide.json".into());
    let errors = package.build_with(with_set()).unwrap_err();
    for part in [
        "configs/wide.json: this set serves nothing: none of its 1 configurations has a micro-kernel for product on sm_80",
        "`non_local_i4x4_w64x64_v4_partial` does not serve product: sm_90: ",
        "use another set, or add a configuration that serves one of these",
    ] {
        assert!(errors.len() == 1 && errors[0].contains(part), "{part} in {errors:#?}");
    }
    assert!(!written(&package).contains("registry.rs"));
}

/// Includes the list twice, as C does, and prints what it says of launches.
const LAUNCHES: &str = r#"
#include <stdio.h>
enum {
#define DIETCODE_CUDA(kernel, name, symbol, threads, shared_bytes) number_of_##symbol,
#include "registry.def"
  launches
};
static const struct { const char *kernel, *name, *symbol; int threads, shared_bytes; } table[] = {
#define DIETCODE_CUDA(kernel, name, symbol, threads, shared_bytes) {#kernel, #name, #symbol, threads, shared_bytes},
#include "registry.def"
};
_Static_assert(sizeof table / sizeof table[0] == launches, "both times it lists the same");
int main(void) {
  for (int n = 0; n < launches; ++n)
    printf("%s %s %s %d %d\n", table[n].kernel, table[n].name, table[n].symbol, table[n].threads, table[n].shared_bytes);
}
"#;

#[test]
fn a_program_in_c_reads_the_list_of_micro_kernels_for_cuda() {
    for targets in ["cuda-host", "cpu,cuda-host"] {
        let mut package = package();
        package.targets = Some(targets.to_owned());
        package.build_with(with_set()).unwrap();
        package.write("out/dietcode-set/launches.c", LAUNCHES);
        let folder = package.path("out/dietcode-set");
        let mut compiler = std::process::Command::new("cc");
        let compiled =
            compiler.args(["-Wall", "-Werror", "launches.c", "-o", "launches"]).current_dir(&folder).output();
        let compiled = compiled.unwrap();
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
        let listed = std::process::Command::new(folder.join("launches")).output().unwrap();
        let listed = String::from_utf8(listed.stdout).unwrap();
        let names: Vec<&str> = listed.lines().filter_map(|line| line.split(' ').nth(1)).collect();
        assert_eq!(names, ["non_local_i4x4_w8x8_v4_partial", "naive_c64", "naive_c128"], "{listed}");
        let registry = String::from_utf8(package.generated()["dietcode-set/registry.rs"].clone()).unwrap();
        for line in listed.lines() {
            let [kernel, _, symbol, threads, shared_bytes] = line.split(' ').collect::<Vec<_>>()[..] else {
                panic!("{line}")
            };
            assert_eq!(kernel, "product");
            let launch = format!(
                "symbol: {symbol:?},\n                    threads: {threads},\n                    shared_bytes: {shared_bytes},"
            );
            assert!(registry.contains(&launch), "{launch} in {registry}");
        }
    }
}

#[test]
fn the_list_wants_one_of_its_macros_defined() {
    let package = package();
    package.build_with(with_set()).unwrap();
    let mut command = std::process::Command::new("cc");
    let output = command
        .args(["-fsyntax-only", "-x", "c", "registry.def"])
        .current_dir(package.path("out/dietcode-set"))
        .output();
    let output = output.unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        !output.status.success()
            && said.contains(
                "define DIETCODE_KERNEL, DIETCODE_CUDA or DIETCODE_CONFIGURATION before including registry.def"
            ),
        "{said}"
    );
}
