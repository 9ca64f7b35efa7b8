//! A configuration's translation unit for the CPU.

use dietcode_syntax::KernelDef;

use super::preamble::{Language, preamble, title};
use super::{Served, stem};
use crate::Result;
use crate::codegen::TranslationUnit;
use crate::codegen::c::{include, part};
use crate::machine::CpuTarget;
use crate::sketch::{Family, MicroKernel};

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
pub(super) fn unit(family: &Family, defs: &[KernelDef], target: &CpuTarget) -> Result<Served<CpuUnit>> {
    let mut left_out = Vec::new();
    let mut served: Vec<(usize, MicroKernel)> = Vec::new();
    for (at, def) in defs.iter().enumerate() {
        match family.on_cpu(def, target) {
            Err(why) => left_out.push(format!("{}: {why}", def.name)),
            Ok(tiled) => served.push((at, tiled.into())),
        }
    }
    if served.is_empty() {
        return Ok(Served { unit: None, left_out });
    }
    let name = family.name();
    let of = || served.iter().map(|(at, _)| &defs[*at]);
    let mut source = format!("{}{}\n\n{}", title(family, &left_out), include(of()), preamble(family, Language::C));
    let stem = stem(&name, &source, target, of());
    let mut kernels = Vec::new();
    for (at, micro_kernel) in &served {
        let unit = part(&defs[*at], micro_kernel, target, &stem)?;
        source += &unit.source;
        kernels.push((*at, TranslationUnit { name: name.clone(), source: String::new(), ..unit }));
    }
    Ok(Served { unit: Some(CpuUnit { name, kernels, source }), left_out })
}
