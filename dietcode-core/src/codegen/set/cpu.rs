//! A configuration's translation unit for the CPU.

use dietcode_syntax::KernelDef;

use super::preamble::{Language, preamble, title};
use super::{Served, stem};
use crate::Result;
use crate::codegen::TranslationUnit;
use crate::codegen::c::{include, part};
use crate::ir::Program;
use crate::machine::{CpuTarget, Target};
use crate::sketch::{Family, Lowered};

/// A configuration for the CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuUnit {
    /// The configuration's name.
    pub name: String,
    /// The kernels that it serves, by their place among the set's, and the functions for each, under the configuration's name.
    /// Their sources are empty: they stand in `source`.
    pub kernels: Vec<(usize, TranslationUnit)>,
    /// The source text; it includes `dietcode.h`.
    pub source: String,
}

/// The unit of those of the kernels that the configuration serves.
pub(super) fn unit(family: &Family, nests: &[(&KernelDef, Program)], target: &CpuTarget) -> Result<Served<CpuUnit>> {
    let of_cpu = Target::Cpu(target.clone());
    let mut left_out = Vec::new();
    let mut served: Vec<(usize, String, Lowered)> = Vec::new();
    for (at, (def, program)) in nests.iter().enumerate() {
        match family.micro_kernel(program, &of_cpu) {
            Err(why) => left_out.push(format!("{}: {why}", def.name)),
            Ok((micro_kernel, lowered)) => served.push((at, micro_kernel.name(), lowered)),
        }
    }
    if served.is_empty() {
        return Ok(Served { unit: None, left_out });
    }
    let name = family.name();
    let of = || served.iter().map(|(at, ..)| nests[*at].0);
    let mut source = format!("{}{}\n\n{}", title(family, &left_out), include(of()), preamble(family, Language::C));
    let stem = stem(&name, &source, target, of());
    let mut kernels = Vec::new();
    for (at, own, lowered) in &served {
        let unit = part(nests[*at].0, own, lowered, &stem)?;
        source += &unit.source;
        kernels.push((*at, TranslationUnit { name: name.clone(), source: String::new(), ..unit }));
    }
    Ok(Served { unit: Some(CpuUnit { name, kernels, source }), left_out })
}
