//! What is written, compiled and told to cargo.

use dietcode_core::sketch::MicroKernel;

use super::package::{OUTER, Package, SUM, SUM_CONFIG, quiet, rows, warning};

#[test]
fn a_package_gets_a_library_and_a_registry_for_each_kernel() {
    let package = Package::new(&[SUM, OUTER].concat());
    let lines = package.build().unwrap();
    for expected in [
        "cargo::rerun-if-changed=ops.rs",
        "cargo::rerun-if-changed=configs/sum.json",
        "cargo::rerun-if-env-changed=DIETCODE_SKIP_NATIVE",
        "cargo::rerun-if-env-changed=DIETCODE_DUMP_IR",
        "cargo::rerun-if-env-changed=CC",
        "cargo::rustc-env=DIETCODE_SOURCES=ops.rs",
        "cargo::rustc-env=DIETCODE_CORE=dietcode_core",
    ] {
        assert!(lines.iter().any(|line| line == expected), "{expected} in {lines:#?}");
    }
    assert!(lines.iter().any(|line| line.starts_with("cargo::rustc-env=DIETCODE_KERNEL_OUTER=")), "{lines:#?}");
    let files = package.generated();
    for expected in
        ["registry.rs", "registry.def", "registry.c", "dispatch.h", "dietcode.h", "libdietcode_a_package_sum.a"]
    {
        assert!(files.contains_key(&format!("dietcode/sum/{expected}")), "{expected} in {:#?}", files.keys());
    }
}

#[test]
fn without_a_tuned_file_one_line_says_so() {
    let package = Package::new(&[SUM, OUTER].concat());
    let lines = package.build().unwrap();
    let config = package.path("configs/sum.json");
    let expected = format!(
        "`sum`, `outer` run default micro-kernels, as nothing is tuned yet: run `dietcode tune {}`, and `dietcode tune --kernel \
         ops.rs:outer --wkl M=…,N=…` makes a config of `outer` and tunes it (`.allow_untuned()` in build.rs silences this)",
        config.display()
    );
    assert_eq!(warning(&lines), expected);
    let folder = format!("cargo::rerun-if-changed={}", package.path("configs").display());
    assert!(lines.contains(&folder), "the folder is watched until there is one: {lines:#?}");
}

#[test]
fn one_line_stands_for_any_number_of_kernels() {
    let many: Vec<String> = (0..7).map(|n| OUTER.replace("outer", &format!("outer_{n}"))).collect();
    let lines = Package::new(&many.concat()).build().unwrap();
    let named = "`outer_0`, `outer_1`, `outer_2`, `outer_3`, 3 more run default micro-kernels";
    assert!(warning(&lines).starts_with(named), "{lines:#?}");
}

#[test]
fn a_kernel_of_fixed_extents_has_no_sizes_to_name() {
    let fixed = OUTER.replace("M]", "4]").replace("N]", "8]").replace("; M", "; 4").replace("; N", "; 8");
    let lines = Package::new(&fixed.replace("0..M", "0..4").replace("0..N", "0..8")).build().unwrap();
    assert!(warning(&lines).contains("`dietcode tune --kernel ops.rs:outer` makes"), "{lines:#?}");
}

#[test]
fn that_nothing_is_tuned_can_be_meant() {
    let package = Package::new(&[SUM, OUTER].concat());
    let lines = package.build_with(quiet()).unwrap();
    assert!(!lines.iter().any(|line| line.starts_with("cargo::warning")), "{lines:#?}");
    // Not that a file does not fit.
    package.write("configs/sum.cpu.tuned.json", "{}");
    assert!(warning(&package.build_with(quiet()).unwrap()).contains("sum.cpu.tuned.json"));
}

#[test]
fn a_tuned_file_decides_what_is_generated() {
    let package = Package::new(SUM);
    package.tuned(&[rows(2), rows(4)]).save(&package.path("configs/sum.cpu.tuned.json")).unwrap();
    let lines = package.build().unwrap();
    assert!(!lines.iter().any(|line| line.starts_with("cargo::warning")), "{lines:#?}");
    let file = format!("cargo::rerun-if-changed={}", package.path("configs/sum.cpu.tuned.json").display());
    assert!(lines.contains(&file), "{lines:#?}");
    let registry = String::from_utf8(package.generated()["dietcode/sum/registry.rs"].clone()).unwrap();
    assert!(registry.contains(&format!("if shape_M <= 64 {{\n        0 // {}\n", rows(2).name())), "{registry}");
    assert!(registry.contains(&format!("else {{\n        1 // {}\n", rows(4).name())), "{registry}");
}

#[test]
fn two_builds_of_one_package_are_the_same_to_the_byte() {
    let (one, other) = (Package::new(&[SUM, OUTER].concat()), Package::new(&[SUM, OUTER].concat()));
    one.build().unwrap();
    other.build().unwrap();
    assert_eq!(one.generated(), other.generated());
}

#[test]
fn a_second_build_writes_nothing() {
    let package = Package::new(&[SUM, OUTER].concat());
    let first = package.build().unwrap();
    let times = package.times();
    assert_eq!(package.build().unwrap(), first, "cargo is told the same");
    assert_eq!(package.times(), times);
}

#[test]
fn only_what_changed_is_compiled_and_what_was_dropped_is_removed() {
    let package = Package::new(&[SUM, OUTER].concat());
    let tuned = package.path("configs/sum.cpu.tuned.json");
    package.tuned(&[rows(2), rows(4)]).save(&tuned).unwrap();
    package.build().unwrap();
    let before = package.times();
    package.tuned(&[rows(2), rows(8)]).save(&tuned).unwrap();
    package.build().unwrap();
    let after = package.times();

    let written: Vec<&str> =
        after.iter().filter(|(name, time)| before.get(*name) != Some(time)).map(|(name, _)| name.as_str()).collect();
    let own = |rows: MicroKernel| ["c", "o", "o.key"].map(|end| format!("dietcode/sum/{}.{end}", rows.name()));
    let others = [
        "dispatch.h",
        "libdietcode_a_package_sum.a",
        "libdietcode_a_package_sum.a.key",
        "registry.c",
        "registry.def",
        "registry.o",
        "registry.o.key",
        "registry.rs",
    ];
    let expected = own(rows(8)).into_iter().chain(others.map(|name| format!("dietcode/sum/{name}")));
    assert_eq!(written, expected.collect::<Vec<String>>());
    let dropped: Vec<&str> = before.keys().filter(|name| !after.contains_key(*name)).map(String::as_str).collect();
    assert_eq!(dropped, own(rows(4)));
}

#[test]
fn a_kernel_that_is_gone_leaves_nothing() {
    let package = Package::new(&[SUM, OUTER].concat());
    package.build().unwrap();
    package.write("ops.rs", OUTER);
    package.build().unwrap();
    let generated = package.generated();
    assert!(generated.contains_key("dietcode/outer/registry.rs"), "{:?}", generated.keys());
    assert!(generated.keys().all(|name| name.starts_with("dietcode/outer/")), "{:?}", generated.keys());
}

#[test]
fn an_interrupted_build_is_made_good() {
    let package = Package::new(SUM);
    package.build().unwrap();
    let whole = package.generated();
    for lost in ["registry.o", "registry.o.key", "libdietcode_a_package_sum.a", "registry.c"] {
        std::fs::remove_file(package.path("out/dietcode/sum").join(lost)).unwrap();
        package.build().unwrap();
        assert_eq!(package.generated(), whole, "without {lost}");
    }
}

#[test]
fn without_native_code_only_the_rust_side_is_written() {
    let mut package = Package::new(&[SUM, OUTER].concat());
    package.skip_native = true;
    let lines = package.build().unwrap();
    assert!(!lines.iter().any(|line| line.contains("link")), "{lines:#?}");
    let files = package.generated();
    assert_eq!(files.keys().collect::<Vec<_>>(), ["dietcode/outer/registry.rs", "dietcode/sum/registry.rs"]);
    let registry = String::from_utf8_lossy(&files["dietcode/sum/registry.rs"]);
    assert!(registry.contains("TableSource::Skipped(\"it was built with DIETCODE_SKIP_NATIVE set"), "{registry}");

    package.skip_native = false;
    package.build().unwrap();
    assert!(package.generated().contains_key("dietcode/sum/libdietcode_a_package_sum.a"));
}

#[test]
fn conditional_kernels_are_those_that_the_compiler_may_see() {
    let conditional = |predicate: &str| OUTER.replace("#[dyn", &format!("#[cfg({predicate})]\n#[dyn"));
    for (predicate, built) in [
        ("feature = \"fast\"", true),
        ("not(feature = \"fast\")", false),
        ("unix", true),
        ("windows", false),
        ("test", true),
        ("not(test)", true),
        ("all(test, windows)", false),
    ] {
        let mut package = Package::new(&conditional(predicate));
        package.vars = ["CARGO_FEATURE_FAST", "CARGO_CFG_UNIX"].map(|name| (name.to_owned(), String::new())).into();
        package.skip_native = true;
        package.build().unwrap();
        assert_eq!(package.generated().contains_key("dietcode/outer/registry.rs"), built, "{predicate}");
    }
}

#[test]
fn a_config_names_the_architecture() {
    let package = Package::new(SUM);
    let config =
        SUM_CONFIG.replace("\"wkl_insts\"", "\"targets\": { \"cpu\": { \"march\": \"x86-64-v2\" } },\n  \"wkl_insts\"");
    package.build().unwrap();
    let native = package.generated();
    package.write("configs/sum.json", config);
    package.build().unwrap();
    let older = package.generated();
    assert_ne!(older["dietcode/sum/registry.o"], native["dietcode/sum/registry.o"], "the features in the table");
}

#[test]
fn a_cover_is_a_row_like_any_other() {
    let package = Package::new(SUM);
    let cover = MicroKernel::cover(&rows(4), &rows(2), "M", 4);
    package.tuned(&[rows(2), cover.clone()]).save(&package.path("configs/sum.cpu.tuned.json")).unwrap();
    let lines = package.build().unwrap();
    assert!(!lines.iter().any(|line| line.starts_with("cargo::warning=")), "{lines:#?}");
    let files = package.generated();
    let text = |name: &str| String::from_utf8_lossy(&files[&format!("dietcode/sum/{name}")]).into_owned();
    assert!(text("registry.def").contains(&format!("DIETCODE_KERNEL(sum, {}, ", cover.name())));
    assert!(text("registry.rs").contains(&format!("1 // {}", cover.name())), "{}", text("registry.rs"));
    assert!(files.contains_key(&format!("dietcode/sum/{}.o", cover.name())), "{:#?}", files.keys());
}

#[test]
fn kernels_without_tuned_files_are_one_warning() {
    let second = SUM.replace("fn sum", "fn sum_again").replace("sum.json", "again.json");
    let package = Package::new(&(SUM.to_owned() + &second));
    package.write("configs/again.json", SUM_CONFIG.replace("\"sum\"", "\"sum_again\""));
    let lines = package.build().unwrap();
    let warning = warning(&lines);
    for part in ["`sum`, `sum_again` run default micro-kernels", "configs/sum.json", "configs/again.json"] {
        assert!(warning.contains(part), "{warning}");
    }
}

#[test]
fn what_a_tuned_file_was_not_made_for_is_one_warning() {
    let package = Package::new(SUM);
    package.tuned(&[rows(2), rows(4)]).save(&package.path("configs/sum.cpu.tuned.json")).unwrap();
    let changed = [
        ("{ \"T\": 8 }", "{ \"T\": 9 }", "T=9 of"),
        ("768", "1024", "T=1 with N=1024 and 1 more of"),
        ("16*T", "8*T", "T=1 with M=8 and 1 more of"),
    ];
    for (from, to, named) in changed {
        package.write("configs/sum.json", SUM_CONFIG.replace(from, to));
        let lines = package.build().unwrap();
        let warning = warning(&lines);
        assert!(warning.starts_with(&format!("`sum` was tuned for 2 instances; {named} ")), "{warning}");
        assert!(warning.ends_with("configs/sum.json`") && warning.contains("; run `dietcode tune "), "{warning}");
        let registry = String::from_utf8(package.generated()["dietcode/sum/registry.rs"].clone()).unwrap();
        assert!(registry.contains(&format!("0 // {}\n", rows(2).name())), "it stays in force: {registry}");
    }
}
