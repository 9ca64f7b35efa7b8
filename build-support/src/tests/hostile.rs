//! Attempts to get text from a config or a tuned file into a C file, onto a command line, or into cargo's instructions.

use dietcode_core::dispatch::{Tree, Tuned};
use dietcode_core::ir::ForKind;
use dietcode_core::schedule::{Instruction, Place, Staging, Tail, Trace};
use dietcode_core::sketch::MicroKernel;

use super::package::{Package, SUM, SUM_CONFIG, rows, warning};

/// Names that would do something, were they ever more than names.
const NAMES: [&str; 9] = [
    "",
    "i; system(\"touch pwned\");",
    "i\n#include \"/etc/passwd\"",
    "*/ int main(void) { return 0; } /*",
    "../../../../tmp/pwned",
    "$(touch pwned)",
    "-o pwned",
    "i\ncargo::rustc-link-arg=pwned",
    "größe",
];

/// Nothing that was generated or told to cargo holds any of a name.
fn assert_absent(name: &str, package: &Package, lines: &[String]) {
    let telling = ["system(", "/etc/passwd", "int main", "pwned", "größe"].into_iter().find(|part| name.contains(part));
    let Some(telling) = telling else { return };
    for (file, text) in package.generated() {
        assert!(!String::from_utf8_lossy(&text).contains(telling), "{file} after {name:?}");
    }
    let instruction = |line: &&String| !line.starts_with("cargo::warning=");
    assert!(!lines.iter().filter(instruction).any(|line| line.contains(telling)), "{lines:#?}");
}

#[test]
fn configs_are_refused_before_anything_is_written() {
    let generator = |key: &str, value: String| {
        let value = object(&[("family", "\"tiled\"".to_owned()), (key, value)]);
        format!("\"targets\": {{ \"cpu\": {{ \"generators\": [{value}] }} }}")
    };
    for name in NAMES {
        let quoted = quoted(name);
        let attempts = [
            ("\"wkl_insts\"", format!("\"targets\": {{ \"cpu\": {{ \"march\": {quoted} }} }}, \"wkl_insts\"")),
            ("\"wkl_insts\"", generator("vector", format!("[{quoted}]")) + ", \"wkl_insts\""),
            ("\"wkl_insts\"", generator("pack", format!("[[{quoted}]]")) + ", \"wkl_insts\""),
            ("\"wkl_insts\"", generator("order", format!("[[{quoted}]]")) + ", \"wkl_insts\""),
            ("\"wkl_insts\"", generator("register_tile", format!("[{{{quoted}: 8}}]")) + ", \"wkl_insts\""),
            ("\"wkl_insts\"", generator("block_tile", format!("[{{{quoted}: 8}}]")) + ", \"wkl_insts\""),
            ("\"16*T\"", quoted.clone()),
            ("\"M\":", format!("{quoted}:")),
            ("\"sum\"", quoted.clone()),
            ("{ \"T\": 1 }", format!("{{ {quoted}: 1 }}")),
        ];
        for (place, attempt) in attempts {
            let package = Package::new(SUM);
            package.write("configs/sum.json", SUM_CONFIG.replacen(place, &attempt, 1));
            let errors = package.build().expect_err(&attempt);
            assert!(errors[0].contains("sum.json"), "{errors:#?}");
            assert!(package.generated().is_empty(), "{attempt}");
        }
    }
}

#[test]
fn sizes_are_bounded() {
    for size in ["0", "-8", "1e30", "9223372036854775807", "18446744073709551616", "\"8\"", "null"] {
        let generator = format!("[{{ \"family\": \"tiled\", \"register_tile\": [{{ \"i\": {size} }}] }}]");
        let targets = format!("\"targets\": {{ \"cpu\": {{ \"generators\": {generator} }} }}, \"wkl_insts\"");
        let package = Package::new(SUM);
        package.write("configs/sum.json", SUM_CONFIG.replace("\"wkl_insts\"", &targets));
        package.build().expect_err(size);
    }
}

#[test]
fn a_tuned_file_that_names_what_is_not_there_is_a_miss() {
    let package = Package::new(SUM);
    for name in NAMES {
        let of = |text: &str| text.to_owned().into();
        let instructions = [
            Instruction::Split { parent: of("i"), factor: 8.into(), tail: Tail::Clip, into: [of(name), of("i_1")] },
            Instruction::Split { parent: of(name), factor: 8.into(), tail: Tail::Clip, into: [of("i_0"), of("i_1")] },
            Instruction::Reorder(vec![of(name)]),
            Instruction::CacheRead { buffer: of(name), staging: Staging::Always, into: vec![of("panel")] },
            Instruction::CacheWrite(of(name)),
            Instruction::ComputeAt { stage: of(name), at: Place::Root },
        ];
        for instruction in instructions {
            let trace = Trace::new([instruction, Instruction::EnterPostproc]);
            assert_misses(name, &package, &package.tuned(&[MicroKernel { trace, ..rows(4) }]));
        }
        let good = package.tuned(&[rows(4)]);
        let mut renamed = rows(4);
        renamed.origin.name = name.to_owned();
        let renamed = vec![renamed];
        let leaf = Tree::Leaf(name.to_owned());
        assert_misses(name, &package, &Tuned { micro_kernels: renamed, tree: leaf.clone(), ..good.clone() });
        assert_misses(name, &package, &Tuned { tree: leaf, ..good.clone() });
        let split = Tree::split(name, 5, good.tree.clone(), good.tree.clone());
        assert_misses(name, &package, &Tuned { tree: split, ..good });
    }
}

#[test]
fn a_tuned_file_of_something_else_is_a_miss() {
    let package = Package::new(SUM);
    let good = package.tuned(&[rows(4)]);
    let other = || "another".to_owned();
    let of = |change: &dyn Fn(&mut Tuned)| {
        let mut tuned = good.clone();
        change(&mut tuned);
        tuned
    };
    for tuned in [
        of(&|tuned| tuned.format += 1),
        of(&|tuned| tuned.kernel = other()),
        of(&|tuned| tuned.provenance.source_hash = other()),
        of(&|tuned| tuned.provenance.space_hash = other()),
        of(&|tuned| tuned.provenance.cpu = other()),
        of(&|tuned| tuned.provenance.features.push(other())),
        of(&|tuned| tuned.provenance.compiler = other()),
        of(&|tuned| tuned.micro_kernels.clear()),
    ] {
        assert_misses("another", &package, &tuned);
    }
}

#[test]
fn a_cover_that_is_none_is_a_miss() {
    let package = Package::new(SUM);
    let cover = |along: &str, multiple| MicroKernel::cover(&rows(4), &rows(2), along, multiple);
    for (along, multiple) in [("M", 0), ("M", -8), ("M", i64::MAX), ("M", i64::MIN), ("Q", 4)] {
        assert_misses(along, &package, &package.tuned(&[cover(along, multiple)]));
    }
    for name in NAMES {
        assert_misses(name, &package, &package.tuned(&[cover(name, 4)]));
        // A name says what a micro-kernel is made of.
        let mut other = cover("M", 4);
        other.cover.as_mut().unwrap().along = (*name).to_owned();
        assert_misses(name, &package, &package.tuned(&[other]));
    }
    let open = Trace::new([Instruction::CacheWrite("nothing".into()), Instruction::EnterPostproc]);
    let rest = MicroKernel::of_trace(open, "tiled");
    assert_misses("nothing", &package, &package.tuned(&[MicroKernel::cover(&rows(4), &rest, "M", 4)]));
}

#[test]
fn a_schedule_that_this_cpu_cannot_hold_is_a_miss() {
    let package = Package::new(SUM);
    let unrolled = Instruction::Kind(ForKind::Unrolled, "i_1".into());
    let into = ["i_0".into(), "i_1".into()];
    let large = Trace::new([
        Instruction::Split { parent: "i".into(), factor: (1 << 20).into(), tail: Tail::Pad, into },
        unrolled,
    ]);
    assert_misses("rows", &package, &package.tuned(&[MicroKernel { trace: large, ..rows(4) }]));
}

#[test]
fn a_truncated_file_is_a_miss_at_any_length() {
    let package = Package::new(SUM);
    let path = package.path("configs/sum.cpu.tuned.json");
    package.tuned(&[rows(2), rows(4)]).save(&path).unwrap();
    let whole = std::fs::read(&path).unwrap();
    for length in (0..whole.len() - 2).step_by(97) {
        std::fs::write(&path, &whole[..length]).unwrap();
        warning(&package.build().unwrap());
    }
}

/// The build goes on with the default micro-kernel, and one line says why.
fn assert_misses(name: &str, package: &Package, tuned: &Tuned) {
    // `Tuned::save` refuses some of these; a person's editor does not.
    package.write("configs/sum.cpu.tuned.json", serde_json::to_string(tuned).unwrap());
    let lines = package.build().unwrap();
    warning(&lines);
    assert_absent(name, package, &lines);
}

fn quoted(text: &str) -> String {
    let escaped: String = text.chars().flat_map(|c| if c == '\n' { vec!['\\', 'n'] } else { escape(c) }).collect();
    format!("\"{escaped}\"")
}

fn escape(c: char) -> Vec<char> {
    if matches!(c, '"' | '\\') { vec!['\\', c] } else { vec![c] }
}

fn object(entries: &[(&str, String)]) -> String {
    let entries: Vec<String> = entries.iter().map(|(key, value)| format!("\"{key}\": {value}")).collect();
    format!("{{ {} }}", entries.join(", "))
}
