//! A condition's text is the condition: a C compiler computes what Rust does, and an assertion made of it fires where the
//! configuration does not keep it, alone.

use std::fmt::Write;
use std::fs;

use dietcode_core::machine::Toolchain;
use dietcode_core::sketch::{Condition, Family, Local, Naive, NonLocal, NonLocalInterleaved, Vectorization};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::common::library::library;

const SAMPLES: usize = 2000;

/// Sizes that keep a condition about as often as not.
fn any_family(rng: &mut StdRng) -> Family {
    const LINES: [i64; 8] = [4, 6, 32, 64, 96, 128, 130, 1024];
    let mut size = || [1, 2, 3, 4, 6, 8, 12, 16, 32][rng.random_range(0..9)];
    let [item_rows, item_cols, wg_rows, wg_cols, batches, wg_batches] = std::array::from_fn(|_| size());
    let (vectorization_size, cache_line_size) = ([1, 2, 4, 8][rng.random_range(0..4)], LINES[rng.random_range(0..8)]);
    match rng.random_range(0..5) {
        0 => Family::Local(Local {
            cache_line_size,
            item_rows,
            item_cols,
            wg_rows,
            wg_cols,
            tile_rows: 1,
            tile_cols: 1,
            vectorization_size,
            double_buffer: false,
            no_bank_conflict_a: true,
            no_bank_conflict_b: false,
        }),
        1 => Family::NonLocalInterleaved(NonLocalInterleaved {
            cache_line_size,
            item_rows,
            item_cols,
            item_batches: batches,
            wg_rows,
            wg_cols,
            wg_batches,
            vectorization_size,
        }),
        2 => Family::Naive(Naive { cache_line_size }),
        kind => {
            let vectorization = if kind == 3 { Vectorization::Partial } else { Vectorization::Full };
            Family::NonLocal(NonLocal { item_rows, item_cols, wg_rows, wg_cols, vectorization_size, vectorization })
        }
    }
}

fn samples() -> Vec<Family> {
    let mut rng = StdRng::seed_from_u64(4);
    (0..SAMPLES).map(|_| any_family(&mut rng)).collect()
}

/// The parameters as constants.
fn constants(family: &Family) -> String {
    let parameters: Vec<String> = family.parameters().iter().map(|(name, value)| format!("{name} = {value}")).collect();
    format!("enum {{ {} }};", parameters.join(", "))
}

/// A function `all` that writes 1 or 0 for each condition of each configuration.
fn all_conditions(families: &[Family]) -> String {
    let (mut functions, mut calls) = (String::new(), String::new());
    for (at, family) in families.iter().enumerate() {
        write!(functions, "static void f{at}(char **to) {{ {}", constants(family)).unwrap();
        for condition in family.conditions() {
            write!(functions, " *(*to)++ = {};", condition.text).unwrap();
        }
        functions += " }\n";
        writeln!(calls, "  f{at}(&to);").unwrap();
    }
    format!("{functions}void all(char *to) {{\n{calls}}}\n")
}

#[test]
fn a_c_compiler_computes_what_rust_does() {
    let families = samples();
    let library = library(&Toolchain::find("native").unwrap(), &all_conditions(&families), &[]);
    let of = |family: &Family| {
        let name = family.name();
        family.conditions().into_iter().map(move |condition| (name.clone(), condition)).collect::<Vec<_>>()
    };
    let conditions: Vec<_> = families.iter().flat_map(of).collect();
    let mut found = vec![2u8; conditions.len()];
    // SAFETY: `all` writes a byte for each condition.
    unsafe { library.get::<unsafe extern "C" fn(*mut u8)>(b"all").unwrap()(found.as_mut_ptr()) };
    for ((name, condition), found) in conditions.iter().zip(found) {
        assert_eq!(found, u8::from(condition.holds), "{} of {name}", condition.name);
    }
}

/// One assertion for each condition, as generated code has them.
fn unit(family: &Family) -> String {
    let mut source = constants(family) + "\n";
    for condition in family.conditions() {
        writeln!(source, "_Static_assert({}, \"{}: {}\");", condition.text, condition.name, condition.why).unwrap();
    }
    source
}

#[test]
fn exactly_the_assertions_of_broken_conditions_fire() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("asserts.c");
    let compiler = Toolchain::find("native").unwrap();
    let mut tried = std::collections::BTreeSet::new();
    for family in samples() {
        let conditions = family.conditions();
        let (held, broken): (Vec<&Condition>, Vec<&Condition>) =
            conditions.iter().partition(|condition| condition.holds);
        // Each condition alone, and a valid configuration of each family.
        let kind = broken.first().map_or("valid", |condition| condition.name);
        if broken.len() > 1 || !tried.insert((family.family(), kind)) {
            continue;
        }
        let text = unit(&family);
        fs::write(&path, &text).unwrap();
        let output = compiler.object(&text, &path, &path.with_extension("o")).output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.success(), broken.is_empty(), "{}: {message}", family.name());
        let fired = |name: &str| message.contains(&format!("{name}: "));
        assert!(broken.iter().all(|c| fired(c.name)) && !held.iter().any(|c| fired(c.name)), "{message}");
    }
    let alone: Vec<&str> = tried.iter().map(|(_, condition)| *condition).filter(|name| *name != "valid").collect();
    assert_eq!((tried.len(), alone.len()), (4 + 15, 15), "{tried:?}");
}
