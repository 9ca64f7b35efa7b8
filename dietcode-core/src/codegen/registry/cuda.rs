//! The CUDA half of `registry.rs`: the types of `runtime::cuda::table` as constants.

use dietcode_syntax::ShapeVar;

use super::Decision;
use super::dispatch::{local, used, write_decision};
use super::list::push;
use crate::codegen::cuda::{CudaLaunch, CudaUnit};
use crate::codegen::quantity::Language;
use crate::ir::{BinaryOp, Expr};

/// A compute capability, (8, 6) for sm_86.
pub type Capability = (u32, u32);

/// A CUDA micro-kernel as the registry states it.
#[derive(Clone, Debug, PartialEq)]
pub struct CudaEntry {
    /// The schedule's name.
    pub name: String,
    /// What is launched, in order.
    pub launches: Vec<CudaLaunch>,
    /// Bytes of workspace, of the shape variables; `None` if the launches take no workspace pointer.
    pub workspace: Option<Expr>,
    /// The cubin or fatbin, as a path relative to `registry.rs`; `None` if it was compiled for the emulated device only.
    pub image_file: Option<String>,
    /// The compute capabilities that the image has machine code for.
    pub capabilities: Vec<Capability>,
    /// The oldest compute capability that the image's PTX can be compiled for.
    pub ptx: Option<Capability>,
    /// Whether it was compiled for the emulated device, and the program is linked with that.
    pub host: bool,
}

impl CudaEntry {
    /// Of a unit that is compiled for these capabilities, oldest first.
    pub fn new(unit: &CudaUnit, capabilities: &[Capability], image_file: Option<String>, host: bool) -> CudaEntry {
        CudaEntry {
            name: unit.name.clone(),
            launches: unit.launches.clone(),
            workspace: unit.workspace_bytes.clone(),
            image_file,
            // Of several devices' code, that of the newest is there as PTX too.
            ptx: capabilities.last().copied().filter(|_| capabilities.len() > 1),
            capabilities: capabilities.to_vec(),
            host,
        }
    }
}

/// The static `CUDA` of a kernel with CUDA micro-kernels, to stand behind [`registry_rs`](super::registry_rs).
///
/// `decisions` picks among `entries`: for a device the tree of the largest capability that is not larger than the device's,
/// or else of the smallest. There is at least one.
pub fn cuda_rs(entries: &[CudaEntry], decisions: &[(Capability, Decision)], shape_vars: &[ShapeVar]) -> String {
    let rows: Vec<(&CudaEntry, &[ShapeVar])> = entries.iter().map(|entry| (entry, shape_vars)).collect();
    let mut text = format!(
        "
pub(super) static CUDA: dietcode_core::runtime::cuda::CudaTableSource =
    dietcode_core::runtime::cuda::CudaTableSource::Linked(&cuda::TABLE);

mod cuda {{
{}
    pub(super) static TABLE: CudaTable = CudaTable {{ micro_kernels: &MICRO_KERNELS, dispatch }};

",
        micro_kernels(&rows)
    );
    write_dispatch(&mut text, entries, decisions, shape_vars);
    text.push_str("}\n");
    text
}

/// The static `CUDA` of a kernel without CUDA micro-kernels; `reason` is the sentence that a call on a device gives.
pub fn skipped_cuda_rs(reason: &str) -> String {
    format!(
        "
pub(super) static CUDA: dietcode_core::runtime::cuda::CudaTableSource =
    dietcode_core::runtime::cuda::CudaTableSource::Skipped({reason:?});
"
    )
}

/// What stands in the module `cuda` of any registry: the functions that the emulated device's compiler has made, the images, and the
/// static `MICRO_KERNELS`, each of which is one of a kernel with these shape variables.
pub(in crate::codegen) fn micro_kernels(rows: &[(&CudaEntry, &[ShapeVar])]) -> String {
    let mut text = String::from(
        "    #![allow(unused, non_snake_case, clippy::all, reason = \"it is written for every kernel in the same way\")]
    use super::dietcode_core;
    use super::dietcode_core::runtime::cuda::{CudaImage, CudaLaunch, CudaMicroKernel, CudaTable};

",
    );
    let mut launches = rows.iter().filter(|(entry, _)| entry.host).flat_map(|(entry, _)| &entry.launches).peekable();
    if launches.peek().is_some() {
        text.push_str("    dietcode_core::dietcode_linked!(host");
        launches.for_each(|launch| push(&mut text, format_args!(" {}_host", launch.symbol)));
        text.push_str(");\n\n");
    }
    // One image may hold several micro-kernels.
    let mut images: Vec<&str> = rows.iter().filter_map(|(entry, _)| entry.image_file.as_deref()).collect();
    images.dedup();
    for (at, file) in images.iter().enumerate() {
        push(&mut text, format_args!("    static IMAGE_{at}: &[u8] = include_bytes!({file:?});\n"));
    }
    text.push_str(if images.is_empty() { "" } else { "\n" });
    push(&mut text, format_args!("    pub(super) static MICRO_KERNELS: [CudaMicroKernel; {}] = [\n", rows.len()));
    for (entry, shape_vars) in rows {
        let image = images.iter().position(|file| Some(*file) == entry.image_file.as_deref());
        push(&mut text, format_args!("        {},\n", micro_kernel(entry, image, shape_vars)));
    }
    text + "    ];\n"
}

/// The constant of a micro-kernel; `image` is the number of its image, if it has one.
fn micro_kernel(entry: &CudaEntry, image: Option<usize>, shape_vars: &[ShapeVar]) -> String {
    let mut text = format!("CudaMicroKernel {{\n            name: {:?},\n            launches: &[\n", entry.name);
    for launch in &entry.launches {
        let CudaLaunch { symbol, threads, shared_bytes, blocks, persistent } = launch;
        let host = if entry.host { format!("Some({symbol}_host)") } else { "None".to_owned() };
        push(
            &mut text,
            format_args!(
                "                // blocks: {blocks}
                CudaLaunch {{
                    symbol: {symbol:?},
                    threads: {threads},
                    shared_bytes: {shared_bytes},
                    blocks: |shape| {blocks_rs},
                    persistent: {persistent},
                    host: {host},
                }},\n",
                blocks_rs = saturating(blocks, shape_vars),
            ),
        );
    }
    let workspace = entry.workspace.clone().unwrap_or(Expr::Int(0));
    let image = match image {
        None => "None".to_owned(),
        Some(at) => format!(
            "Some(CudaImage {{ bytes: IMAGE_{at}, capabilities: &{:?}, ptx: {:?} }})",
            entry.capabilities, entry.ptx
        ),
    };
    push(
        &mut text,
        format_args!(
            "            ],
            uses_workspace: {},
            // {workspace} bytes
            workspace_bytes: |shape| {},
            image: {image},
        }}",
            entry.workspace.is_some(),
            saturating(&workspace, shape_vars),
        ),
    );
    text
}

/// One tree per capability, the largest first; what is left goes to the smallest.
fn write_dispatch(
    text: &mut String,
    entries: &[CudaEntry],
    decisions: &[(Capability, Decision)],
    shape_vars: &[ShapeVar],
) {
    let pick = |row: usize| format!("{row} // {}", entries[row].name);
    let mut decisions: Vec<_> = decisions.iter().collect();
    decisions.sort_by_key(|(capability, _)| std::cmp::Reverse(*capability));
    let ((_, smallest), larger) = decisions.split_last().expect("a kernel with CUDA micro-kernels has a capability");
    text.push_str(
        "    /// The row of `TABLE` that serves a shape on a device of a compute capability.
    fn dispatch(shape: &[i64], capability: (u32, u32)) -> usize {\n",
    );
    let used: Vec<Vec<bool>> = decisions.iter().map(|(_, decision)| used(decision, shape_vars.len())).collect();
    let is_used = |position: usize| used.iter().any(|used| used[position]);
    for (position, var) in shape_vars.iter().enumerate().filter(|(position, _)| is_used(*position)) {
        push(text, format_args!("        let {} = shape[{position}];\n", local(var)));
    }
    text.push_str("        let _ = (shape, capability);\n");
    for (capability, decision) in larger {
        push(text, format_args!("        if capability >= {capability:?} {{\n            return {{\n"));
        write_decision(text, decision, Language::Rust, &pick, shape_vars, 4);
        text.push_str("            };\n        }\n");
    }
    write_decision(text, smallest, Language::Rust, &pick, shape_vars, 2);
    text.push_str("    }\n");
}

/// An integer expression of shape variables as Rust, on `i64`s of `shape` and with a value at every shape: what is too large
/// is the largest, and so is what is divided by zero.
fn saturating(expr: &Expr, vars: &[ShapeVar]) -> String {
    let rs = |e: &Expr| saturating(e, vars);
    match expr {
        Expr::Int(value) if *value < 0 => format!("({value}_i64)"),
        Expr::Int(value) => format!("{value}_i64"),
        Expr::Var(name) => match vars.iter().position(|var| *var.name == **name) {
            Some(position) => format!("shape[{position}]"),
            None => unreachable!("`{name}` is not one of the shape variables"),
        },
        Expr::Binary(op, a, b) => {
            let by_constant = b.as_int().is_some_and(|divisor| divisor > 0);
            let (a, b) = (rs(a), argument(b, vars));
            match op {
                BinaryOp::Add => format!("{a}.saturating_add({b})"),
                BinaryOp::Sub => format!("{a}.saturating_sub({b})"),
                BinaryOp::Mul => format!("{a}.saturating_mul({b})"),
                BinaryOp::Div if by_constant => format!("{a}.div_euclid({b})"),
                BinaryOp::Mod if by_constant => format!("{a}.rem_euclid({b})"),
                BinaryOp::Div => format!("{a}.checked_div_euclid({b}).unwrap_or(i64::MAX)"),
                BinaryOp::Mod => format!("{a}.checked_rem_euclid({b}).unwrap_or(i64::MAX)"),
                BinaryOp::Min => format!("{a}.min({b})"),
                BinaryOp::Max => format!("{a}.max({b})"),
                BinaryOp::And => format!("i64::from({a} != 0 && {b} != 0)"),
            }
        }
        Expr::Compare(op, a, b) => format!("i64::from({} {op} {})", rs(a), rs(b)),
        Expr::Select(c, a, b) => format!("(if {} != 0 {{ {} }} else {{ {} }})", rs(c), rs(a), rs(b)),
        Expr::Float(_) | Expr::Load(..) | Expr::Cast(..) | Expr::Call(..) => {
            unreachable!("a count is made of integers, but `{expr}` is not one")
        }
    }
}

/// An expression where only its type is expected: a constant needs none of its own.
fn argument(expr: &Expr, vars: &[ShapeVar]) -> String {
    expr.as_int().map_or_else(|| saturating(expr, vars), |value| value.to_string())
}
