//! `docs/walk_through.md`: a nest on its way from source to assembly. `DIETCODE_BLESS=1` (`cargo xtask walk-through`) writes it anew.
//!
//! All of it but the assembly is compared. Assembly is what the C compiler makes of it, of which each version makes another text: of
//! that the inner loop must have the multiplications and additions of the register tile, in the document as here.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use dietcode_core::codegen::{DIETCODE_H, c};
use dietcode_core::frontend;
use dietcode_core::lower::lower_observed;
use dietcode_core::machine::{CpuTarget, Target, Toolchain};
use dietcode_core::schedule::{Instruction, Level, Trace};
use dietcode_core::sketch::rules::CustomRules;
use dietcode_core::sketch::{MicroKernel, Space, partial_sketches};
use dietcode_syntax::KernelDef;

const NEST: &str = "#[dynamic_kernel]
pub fn dense(x: &[[f32; K]; M], w: &[[f32; K]; N], y: &mut [[f32; N]; M]) {
    for i in 0..M {
        for j in 0..N {
            let mut acc = 0.0;
            for k in 0..K {
                acc += x[i][k] * w[j][k];
            }
            y[i][j] = acc;
        }
    }
}
";

/// The register tile: rows, vectors of a row, elements of a vector.
const TILE: [i64; 3] = [4, 2, 8];

/// Where the part begins that depends on the C compiler.
const ASSEMBLY: &str = "## Assembly\n";

fn document() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/walk_through.md")
}

/// A CPU with AVX2, whatever this one is.
fn target() -> CpuTarget {
    CpuTarget {
        march: "x86-64-v3".into(),
        vector_bytes: 32,
        vector_registers: 16,
        l2_bytes: 512 << 10,
        ..crate::common::avx512::target()
    }
}

/// The decisions of the walk.
fn decided(sketch: &Trace) -> Trace {
    let [rows, vectors, lanes] = TILE;
    let mut decisions = BTreeMap::new();
    for instruction in sketch.instructions.iter() {
        match instruction {
            Instruction::SampleTiles(axes) => {
                for (axis, factor) in axes.iter().flat_map(|axis| axis.factors.iter().map(move |factor| (axis, factor)))
                {
                    let value = match factor.level {
                        Level::Register if &*axis.name == "i" => rows,
                        Level::Register => vectors,
                        Level::Lanes => lanes,
                        Level::Block => 4,
                        Level::Steps => 64,
                        _ => 1,
                    };
                    decisions.insert(factor.var.clone(), value);
                }
            }
            Instruction::SampleCategorical { into, candidates, .. } => {
                decisions.insert(into.clone(), candidates[0]);
            }
            Instruction::SampleComputeLocation { into, .. } => {
                decisions.insert(into.clone(), 0);
            }
            _ => {}
        }
    }
    sketch.with(decisions)
}

/// The lines that differ, by their longest common subsequence: `-` those before, `+` those after.
fn changed(before: &str, after: &str) -> String {
    let (a, b): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    // The length of what is common to `a[i..]` and `b[j..]`.
    let mut common = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            common[i][j] = if a[i] == b[j] { common[i + 1][j + 1] + 1 } else { common[i + 1][j].max(common[i][j + 1]) };
        }
    }
    let (mut i, mut j, mut text) = (0, 0, String::new());
    while i < a.len() || j < b.len() {
        if i < a.len() && j < b.len() && a[i] == b[j] {
            (i, j) = (i + 1, j + 1);
        } else if i < a.len() && (j == b.len() || common[i + 1][j] >= common[i][j + 1]) {
            text += &format!("-{}\n", a[i]);
            i += 1;
        } else {
            text += &format!("+{}\n", b[j]);
            j += 1;
        }
    }
    text
}

/// The first function of a C text that returns nothing, called `compute`.
fn function(source: &str) -> String {
    let begin = source.find("static DIETCODE_NOINLINE void").expect("there is a function");
    let text = &source[begin..];
    let text = &text[..text.find("\n}\n").expect("it ends") + 3];
    let name = text["static DIETCODE_NOINLINE void ".len()..].split('(').next().expect("it has a name");
    text.replace(name, "compute")
}

/// A section with a text between fences.
fn section(title: &str, about: &str, language: &str, text: &str) -> String {
    format!("## {title}\n\n{about}\n\n```{language}\n{}\n```\n\n", text.trim_end())
}

/// The document up to the assembly, and the C text.
fn walk() -> (String, String) {
    let def: KernelDef = dietcode_syntax::scan(NEST).unwrap()[0].parse().unwrap();
    let (program, machine) = (frontend::program(&def), Target::Cpu(target()));
    let shapes = [vec![64, 48, 96], vec![512, 768, 768]];
    let custom = CustomRules::default();
    let space = Space::generate(&def, machine, &shapes, &custom).unwrap();
    let partial_sketches = partial_sketches(&def, space.bounds.clone(), &custom).unwrap();
    let by_columns = |sketch: &Trace| sketch.to_string().contains("j_lanes");
    let at = space.sketches.iter().position(by_columns).expect("vectors may lie along j");
    let (sketch, of) = (&space.sketches[at], &partial_sketches[at]);
    let lowered = space.apply(&decided(sketch)).unwrap();
    let name = MicroKernel::of(&lowered).name();
    let unit = c::translation_unit(&def, &name, &lowered, &target().march).unwrap();

    let mut text = String::from(
        "# A nest on its way to assembly\n\n\
         `cargo xtask walk-through` writes this file, and a test compares it with what the compiler does. The target is a CPU with AVX2 \
         (`x86-64-v3`)\nas a description says, not the machine that ran the command.\n\n",
    );
    text += &section("Source", "What a user writes.", "rust", NEST);
    text += &section(
        "Definition",
        "What the attribute's parser makes of it (`KernelDef`): loops with their roles, what is accumulated, what is stored.",
        "text",
        &def.to_string(),
    );
    text += &section(
        "Program",
        "What the front end makes of that (`Program`): one block, whose loops have no order yet.",
        "text",
        &program.to_string(),
    );
    let rules = of.rules.join(", ");
    let about = format!(
        "What the rules make of the program: a trace of primitives whose numbers are open (`_`). It is sketch {} of {}, with the structure \
         {},\nby {rules}.",
        at + 1,
        space.sketches.len(),
        of.structure.unwrap_or("of no tiles")
    );
    text += &section("Sketch", &about, "text", &sketch.to_string());
    text += &section(
        "Trace",
        "The sketch with its decisions, as a search draws or mutates them, and what the postprocessors append behind `enter_postproc`.",
        "text",
        &MicroKernel::of(&lowered).trace.to_string(),
    );
    text += "## Passes\n\nThe program after the first pass, which makes the loops, and what each later pass changes, as `DIETCODE_DUMP_IR` \
             and\n`dietcode lower` print it. Passes that change nothing are left out.\n\n";
    let mut before = String::new();
    lower_observed(lowered.schedule(), &mut |pass, body| {
        let after = body.to_string();
        if before.is_empty() {
            text += &format!("### `{pass}`\n\n```text\n{}\n```\n\n", after.trim_end());
        } else if after != before {
            text += &format!("### `{pass}`\n\n```diff\n{}```\n\n", changed(&before, &after));
        }
        before = after;
    })
    .unwrap();
    let about = "What the printer makes of the last program: the function that computes, whose name is shortened here.";
    text += &section("C", about, "c", &function(&unit.source));
    (text, unit.source)
}

/// The loop of an assembly listing with the most fused multiplications and additions, and how many those are.
fn inner_loop(assembly: &str) -> (String, usize) {
    let is_label = |line: &str| line.starts_with('.') && line.trim_end().ends_with(':');
    let mut best = (String::new(), 0);
    let lines: Vec<&str> = assembly.lines().collect();
    for (begin, label) in lines.iter().enumerate().filter(|(_, line)| is_label(line)) {
        let name = label.trim_end().trim_end_matches(':');
        let body = lines[begin + 1..].iter().take_while(|line| !is_label(line));
        let Some(length) = body.clone().position(|line| line.contains("\tj") && line.ends_with(name)) else { continue };
        let whole: Vec<&str> =
            lines[begin..=begin + 1 + length].iter().copied().filter(|line| !line.starts_with("\t.")).collect();
        let count = whole.iter().filter(|line| line.contains("vfmadd") || line.contains("vfnmadd")).count();
        if count > best.1 {
            best = (whole.join("\n"), count);
        }
    }
    best
}

/// The inner loop of the C text, by the C compiler that is here.
fn compiled(source: &str) -> (String, usize) {
    let folder = tempfile::tempdir().unwrap();
    let [c, s] = ["dense.c", "dense.s"].map(|name| folder.path().join(name));
    fs::write(&c, source).unwrap();
    fs::write(folder.path().join("dietcode.h"), DIETCODE_H).unwrap();
    let toolchain = Toolchain::find(&target().march).unwrap();
    let mut command = toolchain.object(source, &c, &s);
    let output = command.args(["-S", "-fno-asynchronous-unwind-tables"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    inner_loop(&fs::read_to_string(&s).unwrap())
}

#[cfg(target_arch = "x86_64")]
#[test]
fn the_walk_through_is_what_the_compiler_does() {
    let (text, source) = walk();
    let (inner, count) = compiled(&source);
    let expected = (TILE[0] * TILE[1]) as usize;
    assert!(count >= expected, "{count} of {expected} in the inner loop:\n{inner}");
    if std::env::var_os("DIETCODE_BLESS").is_some() {
        let about = format!(
            "The innermost loop as a C compiler makes it of that text: {count} fused multiplications and additions of {} elements, all sums in \
             registers.\nThe test compares no text here, since every version of a compiler has its own; it expects at least \
             {expected} of them.",
            TILE[2]
        );
        let assembly = section(ASSEMBLY.trim_start_matches("## ").trim(), &about, "asm", &inner);
        fs::write(document(), format!("{text}{}\n", assembly.trim_end())).unwrap();
    }
    let written = fs::read_to_string(document()).expect("docs/walk_through.md is there");
    let (compared, assembly) = written.split_once(ASSEMBLY).expect("it ends with assembly");
    assert!(
        compared == text,
        "docs/walk_through.md is not what the compiler does; `cargo xtask walk-through` writes it anew"
    );
    assert!(assembly.matches("vfmadd").count() >= expected, "{assembly}");
}
