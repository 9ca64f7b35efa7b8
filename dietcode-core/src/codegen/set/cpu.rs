//! A configuration's translation unit for the CPU: two functions for each kernel, which only its own table knows.

use std::fmt::Write;

use dietcode_syntax::{KernelDef, mangle};

use super::Served;
use super::preamble::{Language, preamble, title};
use crate::Result;
use crate::codegen::c;
use crate::codegen::c::include;
use crate::hash::hash_of;
use crate::machine::CpuTarget;
use crate::sketch::{Family, MicroKernel};

/// A configuration for the CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuUnit {
    /// The configuration's name.
    pub name: String,
    /// The C symbol of its `struct dietcode_configuration`.
    pub symbol: String,
    /// The kernels that it serves, by their place among the set's: a row each, in this order.
    pub kernels: Vec<usize>,
    /// The source text; it includes `dietcode.h` and `cpu_features.h`.
    pub source: String,
}

/// The unit of those of the kernels that the configuration serves.
pub(super) fn unit(family: &Family, defs: &[KernelDef], target: &CpuTarget) -> Result<Served<CpuUnit>> {
    let mut left_out = Vec::new();
    let (mut kernels, mut parts, mut rows) = (Vec::new(), String::new(), String::new());
    for (at, def) in defs.iter().enumerate() {
        match family.on_cpu(def, target) {
            Err(why) => left_out.push(format!("{}: {why}", def.name)),
            Ok(tiled) => {
                let symbols = ["grid", "run"].map(|part| format!("dietcode_{part}_{}", def.name));
                let tiled = MicroKernel::from(tiled);
                let (text, scratch_bytes) = c::part(def, &tiled, target, symbols.each_ref().map(String::as_str))?;
                let [grid, run] = symbols;
                let (name, bytes) = (tiled.name(), scratch_bytes);
                writeln!(rows, "  {{\"{name}\", DIETCODE_CPU_FEATURES, {bytes}, {grid}, {run}}},")
                    .expect("a String takes all that is written");
                parts += &text;
                kernels.push(at);
            }
        }
    }
    if kernels.is_empty() {
        return Ok(Served { unit: None, left_out });
    }
    let name = family.name();
    let head = title(family, &left_out)
        + &format!("{}\n#include \"cpu_features.h\"\n\n", include(kernels.iter().map(|at| &defs[*at])))
        + &preamble(family, Language::C);
    let symbol = symbol(&name, &[&head, &parts, &target.march]);
    let source = format!(
        "{head}{parts}static const struct dietcode_micro_kernel dietcode_micro_kernels[] = {{\n{rows}}};

const struct dietcode_configuration {symbol} = {{
  \"{name}\",
  \"{}\",
  dietcode_micro_kernels,
  sizeof dietcode_micro_kernels / sizeof dietcode_micro_kernels[0],
}};
",
        family.family()
    );
    Ok(Served { unit: Some(CpuUnit { name, symbol, kernels, source }), left_out })
}

/// The symbol of a configuration, told apart by what is in it: one symbol always is one code.
fn symbol(name: &str, contents: &[&str]) -> String {
    mangle::configuration_symbol(name, &hash_of(contents)[..8])
}
