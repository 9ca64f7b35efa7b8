//! The CUDA half of kernels: what is written, compiled and said, with and without compilers.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use dietcode_core::frontend;
use dietcode_core::machine::cuda::DeviceLimits;
use dietcode_core::sketch::Blocked;
use dietcode_core::syntax::scan;

use crate::kernels;

use super::package::{OUTER, Package, SUM, SUM_CONFIG, quiet, warning};

/// The names of the files of a kernel's CUDA half.
fn files(package: &Package, kernel: &str) -> Vec<String> {
    let folder = format!("dietcode/{kernel}/cuda/");
    package.generated().into_keys().filter_map(|name| name.strip_prefix(&folder).map(str::to_owned)).collect()
}

fn registry(package: &Package, kernel: &str) -> String {
    String::from_utf8(package.generated()[&format!("dietcode/{kernel}/registry.rs")].clone()).unwrap()
}

fn warnings(lines: &[String]) -> Vec<&String> {
    lines.iter().filter(|line| line.starts_with("cargo::warning")).collect()
}

/// The name of the micro-kernel that has so many threads along one loop of a kernel, and nothing else.
fn flat(source: &str, along: &str, threads: i64) -> String {
    let program = frontend::program(&scan(source).unwrap()[0].parse().unwrap());
    let blocked = Blocked { thread: [(along.to_owned(), threads)].into(), ..Blocked::default() };
    let device = DeviceLimits::of("sm_80".parse().unwrap()).unwrap();
    blocked.micro_kernel(&program, device).unwrap().0.name()
}

/// A compiler that says which it is, and otherwise does as the script says.
fn compiler(package: &mut Package, script: &str) {
    let version = "echo 'Cuda compilation tools, release 13.0, V13.0.88'";
    package.write("nvcc", format!("#!/bin/sh\nif [ \"$1\" = --version ]; then\n{version}\nelse\n{script}\nfi\n"));
    let path = package.path("nvcc");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    package.nvcc = Some(path);
}

#[test]
fn a_kernel_is_compiled_for_the_devices_that_were_asked_for() {
    let package = Package::new(OUTER);
    let lines = package.build_with(quiet().cuda(["sm_90", "sm_80"])).unwrap();
    assert_eq!(warnings(&lines), [""; 0]);
    assert!(lines.iter().any(|line| line == "cargo::rerun-if-env-changed=NVCC"), "{lines:#?}");
    let name = &flat(OUTER, "j", 128);
    let own = ["cu", "fatbin", "json"].map(|end| format!("{name}.{end}"));
    let expected = own.into_iter().chain(["dietcode.cuh", "report.json"].map(str::to_owned));
    assert_eq!(files(&package, "outer"), expected.collect::<Vec<String>>());
    let registry = registry(&package, "outer");
    for part in [
        &format!("static IMAGE_0: &[u8] = include_bytes!(\"cuda/{name}.fatbin\");"),
        "bytes: IMAGE_0, capabilities: &[(8, 0), (9, 0)], ptx: Some((9, 0))",
        "host: None",
        "// sm_80 (A100): the default",
        "128 threads, ",
        "no spills",
    ] {
        assert!(registry.contains(part), "{part} in {registry}");
    }
    let generated = package.generated();
    let list = String::from_utf8_lossy(&generated["dietcode/outer/registry.def"]);
    assert!(list.contains(&format!("\nDIETCODE_CUDA(outer, {name}, dietcode2_run_outer_")), "{list}");
    let dispatchers = String::from_utf8_lossy(&generated["dietcode/outer/dispatch.h"]);
    for target in ["cpu", "sm_80", "sm_90"] {
        let function = format!("int64_t dietcode_dispatch_outer_{target}(int64_t shape_M, int64_t shape_N) {{");
        assert!(dispatchers.contains(&function), "{function} in {dispatchers}");
    }
    let text = |file: &str| String::from_utf8_lossy(&generated[&format!("dietcode/outer/cuda/{file}")]).into_owned();
    assert!(text(&format!("{name}.cu")).contains(" * sm_90 (H100 SXM): the default"));
    assert!(text(&format!("{name}.json")).contains("\"registers\""));
    assert!(text("report.json").contains("\"blocks_per_sm\""));

    let times = package.times();
    assert_eq!(package.build_with(quiet().cuda(["sm_90", "sm_80"])).unwrap(), lines);
    assert_eq!(package.times(), times, "a second build writes nothing");
    let other = Package::new(OUTER);
    other.build_with(quiet().cuda(["sm_80"])).unwrap();
    assert!(files(&other, "outer").contains(&format!("{name}.cubin")));
}

#[test]
fn a_config_names_devices_and_candidates() {
    let package = Package::new(SUM);
    let cuda = "\"targets\": { \"cuda\": { \"capabilities\": [\"sm_80\"], \"generators\": [
        { \"family\": \"blocked\", \"thread\": [{ \"i\": 32 }, { \"i\": 64 }, { \"i\": 0 }] } ] } }, \"wkl_insts\"";
    package.write("configs/sum.json", SUM_CONFIG.replace("\"wkl_insts\"", cuda));
    assert!(package.build().unwrap_err()[0].contains("sum.json"), "a size of 0");
    package.write("configs/sum.json", SUM_CONFIG.replace("\"wkl_insts\"", &cuda.replace(", { \"i\": 0 }", "")));
    let lines = package.build().unwrap();
    assert!(warning(&lines).contains("sum.json"), "that of the CPU alone");
    let registry = registry(&package, "sum");
    assert!(registry.contains("// sm_80 (A100): predicted to be the best of 3"), "{registry}");
    // Sixteen rows keep no multiprocessor busy; the smallest blocks are spread the furthest.
    assert!(registry.contains(&format!("M=128,N=768: {}, ", flat(SUM, "i", 32))), "{registry}");

    package.write("configs/sum.sm_80.tuned.json", "{}");
    let lines = package.build().unwrap();
    let said = warnings(&lines);
    assert!(
        said.iter().any(|line| line.contains("sum.sm_80.tuned.json") && line.contains("cannot be read")),
        "{said:?}"
    );
    let file = format!("cargo::rerun-if-changed={}", package.path("configs/sum.sm_80.tuned.json").display());
    assert!(lines.contains(&file), "{lines:#?}");
}

#[test]
fn without_a_compiler_the_build_passes_and_one_line_says_so() {
    let mut package = Package::new(&[SUM, OUTER].concat().replace("(config = \"configs/sum.json\")", ""));
    package.nvcc = Some(package.path("nowhere"));
    let lines = package.build_with(quiet().cuda(["sm_80"])).unwrap();
    let warning = warning(&lines);
    assert!(warning.contains("`sum`, `outer`") && warning.contains("no CUDA compiler was found"), "{warning}");
    assert!(warning.contains("then touch build.rs"), "cargo does not see that one was installed: {warning}");
    for kernel in ["sum", "outer"] {
        let registry = registry(&package, kernel);
        assert!(registry.contains("CudaTableSource::Skipped(\"no CUDA compiler was found"), "{registry}");
        assert!(files(&package, kernel).is_empty());
    }
}

#[test]
fn what_the_compiler_refuses_is_told_in_its_words() {
    let mut package = Package::new(OUTER);
    compiler(&mut package, "echo 'kernel.cu(7): error: it rains' >&2; exit 2");
    let errors = package.build_with(quiet().cuda(["sm_80"])).unwrap_err();
    assert_eq!(errors.len(), 1);
    assert!(errors[0].contains(&flat(OUTER, "j", 128)) && errors[0].contains("it rains"), "{errors:?}");
    assert!(!package.generated().contains_key("dietcode/outer/registry.rs"));
}

#[test]
fn a_kernel_that_spills_is_marked() {
    let mut package = Package::new(OUTER);
    let said = "\
ptxas info    : Compiling entry function '$symbol' for 'sm_80'
ptxas info    : Function properties for $symbol
    16 bytes stack frame, 12 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 255 registers, used 1 barriers, 392 bytes cmem[0]";
    let symbol = "sed -n 's/^DIETCODE_ENTRY(\\(.*\\))$/\\1/p' kernel.cu";
    let script = format!("symbol=$({symbol}); echo image > image; cat >&2 <<END\n{said}\nEND\n");
    compiler(&mut package, &script);
    package.build_with(quiet().cuda(["sm_80"])).unwrap();
    let registry = registry(&package, "outer");
    assert!(registry.contains("255 registers") && registry.contains("SPILLS"), "{registry}");
}

#[test]
fn the_halves_can_be_left_out() {
    let mut package = Package::new(OUTER);
    package.cuda = false;
    package.nvcc = Some(package.path("nowhere"));
    let lines = package.build_with(quiet().cuda(["sm_80"]).cuda_host()).unwrap();
    assert_eq!(warnings(&lines), [""; 0]);
    assert!(registry(&package, "outer").contains("Skipped(\"it was built with DIETCODE_CUDA=0"));
    assert!(files(&package, "outer").is_empty());
}

#[test]
fn the_emulated_device_needs_no_cuda_compiler() {
    let mut package = Package::new(OUTER);
    package.nvcc = Some(package.path("nowhere"));
    let lines = package.build_with(quiet().cuda_host()).unwrap();
    assert_eq!(warnings(&lines), [""; 0]);
    let registry_text = registry(&package, "outer");
    assert!(registry_text.contains("_host)") && registry_text.contains("image: None"), "{registry_text}");
    let with_host = package.generated();
    let library = "dietcode/outer/libdietcode_a_package_outer.a";
    let entry = format!("{}_host", flat(OUTER, "j", 128));
    let symbol = |text: &[u8]| text.windows(entry.len()).any(|part| part == entry.as_bytes());
    assert!(symbol(&with_host[library]), "the entry is in the library");

    package.build().unwrap();
    assert!(registry(&package, "outer").contains("Skipped(\"its config has no CUDA target"));
    assert!(!symbol(&package.generated()[library]), "what is not asked for is not left behind");
    assert!(files(&package, "outer").is_empty());
}

#[test]
fn groups_of_sources_are_built_each_in_its_way() {
    let package = Package::new(OUTER);
    package.write("more.rs", SUM.replace("(config = \"configs/sum.json\")", ""));
    package.build_with(quiet().cuda_host().and(kernels(["more.rs"]))).unwrap();
    assert!(registry(&package, "outer").contains("CudaTableSource::Linked"));
    assert!(registry(&package, "sum").contains("CudaTableSource::Skipped"));
    let twice = package.build_with(kernels(["ops.rs"]).and(kernels(["ops.rs"]))).unwrap_err();
    assert!(twice[0].contains("there is a kernel `outer`"), "{twice:?}");
}

#[test]
fn a_device_that_is_not_known_is_an_error_that_lists_those_that_are() {
    for name in ["sm_12", "80", "", "sm_80\nsm_90", "; rm -rf /"] {
        let errors = Package::new(OUTER).build_with(quiet().cuda([name])).unwrap_err();
        assert!(errors[0].contains("sm_75, sm_80") && errors[0].contains("ops.rs"), "{errors:?}");
    }
}
