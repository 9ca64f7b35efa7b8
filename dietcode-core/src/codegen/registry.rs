//! The registry: the files that join micro-kernels to the program that calls them, of a kernel or of a set.
//!
//! | file             | what it is                                                                      |
//! |------------------|---------------------------------------------------------------------------------|
//! | `dietcode.h`     | the ABI, the same for every kernel                                              |
//! | `<micro>.c`      | one micro-kernel, or those of one configuration of a set                        |
//! | `cuda/<micro>.cu` | the same for CUDA devices                                                      |
//! | `registry.def`   | a line for each micro-kernel, the only list of them in C                        |
//! | `registry.c`     | includes that list twice, as declarations and as the table it exports           |
//! | `registry.rs`    | that table and one of the micro-kernels for CUDA, as the program includes them  |
//! | `dispatch.h`     | the dispatcher of a kernel for programs in C                                    |
//!
//! A kernel's `registry.rs` has a dispatcher too, which selects a micro-kernel for each shape. A set has none: its `registry.rs`
//! ([`set::registry_rs`](super::set::registry_rs)) has a list of its configurations.

mod cuda;
mod dispatch;
mod list;

use std::fmt::Write;

use dietcode_syntax::{KernelDef, ShapeVar, mangle};
use serde::{Deserialize, Serialize};

pub(super) use self::cuda::micro_kernels;
pub use self::cuda::{Capability, CudaEntry, cuda_rs, skipped_cuda_rs};
pub use self::dispatch::{DispatchFn, dispatcher};
use self::dispatch::{dispatch_h, local, used, write_decision};
pub(super) use self::list::{Group, List, push};
use super::TranslationUnit;
use super::cuda::CudaUnit;
use super::quantity::{Language, Quantity};
use crate::hash::hash_of;

/// How a dispatcher finds the micro-kernel of a shape: a decision tree whose names are resolved to positions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Decision {
    /// This row of the table.
    Pick(usize),
    /// One comparison on the way.
    Split {
        /// Of shape variables, by their positions among the kernel's.
        of: Quantity<usize>,
        /// The largest value that goes to `below`.
        threshold: i64,
        /// Where `of <= threshold`.
        below: Box<Decision>,
        /// Everywhere else.
        above: Box<Decision>,
    },
}

impl Decision {
    /// The row that serves a shape, as the generated dispatcher would pick it.
    pub fn pick(&self, shape: &[i64]) -> usize {
        match self {
            Decision::Pick(row) => *row,
            Decision::Split { of, threshold, below, above } => {
                if of.at(shape) <= *threshold {
                    below.pick(shape)
                } else {
                    above.pick(shape)
                }
            }
        }
    }
}

/// The C files of a kernel as (file name, text).
///
/// `cpu` are the micro-kernels for the CPU, in the order of the exported table, and how one is chosen; without any there is neither a table nor
/// what it includes. `cuda` are those for devices, in the order of their table, and how one is chosen for each device.
pub fn files(
    def: &KernelDef,
    cpu: Option<(&[TranslationUnit], &Decision)>,
    cuda: (&[&CudaUnit], &[(Capability, Decision)]),
) -> Vec<(String, String)> {
    let (kernel, units) = (&*def.name, cpu.map_or(&[][..], |(units, _)| units));
    let group = Group {
        head: String::new(),
        cpu: units.iter().map(|unit| (kernel, unit)).collect(),
        cuda: cuda.0.iter().map(|unit| (kernel, *unit)).collect(),
    };
    let list = List { of: format!("`{kernel}`"), notes: String::new(), groups: vec![group] };
    let mut files = list.files(&table_symbol(kernel, def.source_hash(), units));
    files.push(("dispatch.h".to_owned(), dispatch_h(def, cpu, cuda)));
    files.extend(units.iter().map(|unit| (format!("{}.c", unit.name), unit.source.clone())));
    files
}

/// The symbol of a table; it has a hash of the table's contents.
fn table_symbol(kernel: &str, source_hash: u64, units: &[TranslationUnit]) -> String {
    let contents = hash_of(units.iter().flat_map(|unit| [&unit.symbol, &unit.source]));
    mangle::table_symbol(kernel, source_hash, &contents[..8])
}

/// The text of `registry.rs` for a kernel whose table is linked in, but for [`library_rs`].
///
/// It is included where this crate is in scope as `dietcode_core`: in the user's package it may have another name.
///
/// `units` are the micro-kernels in the order of the table.
pub fn registry_rs(
    kernel: &str,
    source_hash: u64,
    units: &[TranslationUnit],
    shape_vars: &[ShapeVar],
    decision: &Decision,
) -> String {
    let symbol = table_symbol(kernel, source_hash, units);
    let pick = |row: usize| format!("{row} // {}", units[row].name);
    let mut text = format!(
        "// The micro-kernels of `{kernel}` and which of them serves which shape. Generated by dietcode-build.

{}
/// The row of `TABLE` that serves a shape.
#[allow(non_snake_case, clippy::all, clippy::pedantic, reason = \"it is generated, and names shape variables as the nest does\")]
pub(super) fn dispatch(shape: &[i64]) -> usize {{
",
        linked_table(&symbol)
    );
    let used = used(decision, shape_vars.len());
    for (position, var) in shape_vars.iter().enumerate().filter(|(position, _)| used[*position]) {
        writeln!(text, "    let {} = shape[{position}];", local(var)).expect("a String takes all that is written");
    }
    if !used.contains(&true) {
        text.push_str("    let _ = shape;\n");
    }
    write_decision(&mut text, decision, Language::Rust, &pick, shape_vars, 1);
    text.push_str("}\n");
    text
}

/// The static `TABLE` that stands for a table of C.
pub(super) fn linked_table(symbol: &str) -> String {
    format!("dietcode_core::dietcode_linked!(table {symbol:?});\n")
}

/// What stands in a `registry.rs` besides, so that the static library of that name is linked.
pub fn library_rs(library: &str) -> String {
    format!("\ndietcode_core::dietcode_linked!(library {library:?});\n")
}

/// The text of `registry.rs` for a kernel that was not compiled; `reason` is the sentence that calling it gives.
pub fn skipped_registry_rs(kernel: &str, reason: &str) -> String {
    format!(
        "// `{kernel}` was not compiled. Generated by dietcode-build.

pub(super) static TABLE: dietcode_core::runtime::TableSource =
    dietcode_core::runtime::TableSource::Skipped({reason:?});

/// There is no row to choose.
pub(super) fn dispatch(_shape: &[i64]) -> usize {{
    0
}}
"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codegen::cuda::CudaLaunch;
    use crate::testing::dense;

    fn vars() -> Vec<ShapeVar> {
        vec![ShapeVar { name: "M".into(), param: 0, dim: 0 }, ShapeVar { name: "K".into(), param: 0, dim: 1 }]
    }

    fn split(var: usize, threshold: i64, below: Decision, above: Decision) -> Decision {
        Decision::Split { of: Quantity::Var(var), threshold, below: Box::new(below), above: Box::new(above) }
    }

    fn unit(name: &str) -> TranslationUnit {
        TranslationUnit { name: name.into(), symbol: format!("row_{name}"), source: String::new() }
    }

    #[test]
    fn a_tree_becomes_nested_ifs() {
        let tree = split(
            0,
            688,
            split(1, 64, Decision::Pick(0), Decision::Pick(1)),
            split(0, 992, Decision::Pick(1), Decision::Pick(2)),
        );
        let text = registry_rs("dense", 0xabc, &["small", "middle", "large"].map(unit), &vars(), &tree);
        let expected = "    let shape_M = shape[0];
    let shape_K = shape[1];
    if shape_M <= 688 {
        if shape_K <= 64 {
            0 // small
        } else {
            1 // middle
        }
    } else if shape_M <= 992 {
        1 // middle
    } else {
        2 // large
    }
}
";
        assert!(text.ends_with(expected), "{text}");
        assert!(text.contains("(table \"dietcode2_table_dense_0000000000000abc_"), "{text}");
    }

    #[test]
    fn what_is_computed_of_the_shape_is_compared() {
        let of = Quantity::parse("(M + 7) / 8 * K").unwrap();
        let of = of.map(&|var| vars().iter().position(|known| known.name == *var)).unwrap();
        let [below, above] = [0, 1].map(|row| Box::new(Decision::Pick(row)));
        let tree = Decision::Split { of, threshold: 12, below, above };
        assert_eq!([tree.pick(&[16, 6]), tree.pick(&[17, 6])], [0, 1]);
        let text = registry_rs("dense", 1, &["small", "large"].map(unit), &vars(), &tree);
        let line = "    if (shape_M.saturating_add(7) / 8).saturating_mul(shape_K) <= 12 {\n";
        assert!(text.contains(line) && text.contains("let shape_K = shape[1];\n"), "{text}");
    }

    #[test]
    fn one_micro_kernel_needs_no_shape() {
        let text = registry_rs("dense", 1, &[unit("only")], &vars(), &Decision::Pick(0));
        assert!(text.ends_with("    let _ = shape;\n    0 // only\n}\n"), "{text}");
    }

    #[test]
    fn tables_of_different_contents_have_different_symbols() {
        let changed = TranslationUnit { source: "/* changed */".into(), ..unit("a") };
        let symbols =
            [vec![unit("a")], vec![unit("a"), unit("b")], vec![changed]].map(|u| table_symbol("dense", 1, &u));
        assert!(symbols[0] != symbols[1] && symbols[1] != symbols[2] && symbols[0] != symbols[2], "{symbols:?}");
    }

    #[test]
    fn the_list_is_written_once_and_includes_every_unit() {
        let launch = |symbol: &str| CudaLaunch {
            symbol: symbol.into(),
            threads: 128,
            shared_bytes: 4096,
            blocks: crate::ir::Expr::Int(1),
            persistent: false,
        };
        let first = CudaUnit {
            name: "c".into(),
            launches: vec![launch("run_c"), launch("run_c_finish")],
            workspace_bytes: None,
            needs: crate::machine::cuda::ComputeCapability::OLDEST,
            arithmetic: crate::reference::Arithmetic::F32,
            source: String::new(),
        };
        let tree = split(0, 64, Decision::Pick(1), Decision::Pick(0));
        let on_cuda = [((8, 0), Decision::Pick(1)), ((9, 0), split(1, i64::MIN, Decision::Pick(0), Decision::Pick(1)))];
        let cuda = CudaUnit { name: "d".into(), launches: vec![launch("run_d")], ..first.clone() };
        let files = files(&dense(), Some((&[unit("a"), unit("b")], &tree)), (&[&first, &cuda], &on_cuda));
        let text = |wanted: &str| files.iter().find(|(name, _)| name == wanted).map(|(_, text)| text.as_str()).unwrap();
        assert!(text("registry.def").contains(
            "\nDIETCODE_KERNEL(dense, a, row_a)\nDIETCODE_KERNEL(dense, b, row_b)\n\
             DIETCODE_CUDA(dense, c, run_c, 128, 4096)\nDIETCODE_CUDA(dense, c, run_c_finish, 128, 4096)\n\
             DIETCODE_CUDA(dense, d, run_d, 128, 4096)\n"
        ));
        assert!(!text("registry.c").contains("row_a"));
        let dispatchers = "
static inline int64_t dietcode_dispatch_dense_cpu(int64_t shape_M, int64_t shape_K, int64_t shape_N) {
    (void)shape_K;
    (void)shape_N;
    if (shape_M <= INT64_C(64)) {
        return 1; /* b */
    } else {
        return 0; /* a */
    }
}

static inline int64_t dietcode_dispatch_dense_sm_80(int64_t shape_M, int64_t shape_K, int64_t shape_N) {
    (void)shape_M;
    (void)shape_K;
    (void)shape_N;
    return 2; /* d */
}

static inline int64_t dietcode_dispatch_dense_sm_90(int64_t shape_M, int64_t shape_K, int64_t shape_N) {
    (void)shape_M;
    (void)shape_N;
    if (shape_K <= INT64_MIN) {
        return 0; /* c */
    } else {
        return 2; /* d */
    }
}
#endif
";
        assert!(text("dispatch.h").ends_with(dispatchers), "{}", text("dispatch.h"));
    }

    #[test]
    fn without_anything_for_the_cpu_there_is_the_list_alone() {
        let files = files(&dense(), None, (&[], &[]));
        assert_eq!(files.iter().map(|(name, _)| name).collect::<Vec<_>>(), ["registry.def", "dispatch.h"]);
        assert!(files[1].1.contains("    return -1;\n"), "{}", files[1].1);
    }
}
