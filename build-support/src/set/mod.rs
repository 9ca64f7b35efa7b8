//! A set of configurations: which one, for what, and its way to a library and a `registry.rs`.
//!
//! ```text
//! choice (which file) ─ targets (for what) ─ compilers ─ GeneratedSet ─ files, images, objects ─ library, registry.rs
//! ```
//!
//! Files stand in `$OUT_DIR/dietcode-set`, as [`dietcode_core::codegen::set`] lists them; beside a `.cu` stand the image and
//! the object that were made of it.
mod build;
mod choice;
mod compilers;
mod emit;
mod images;
mod targets;

use std::path::PathBuf;

use dietcode_core::codegen::set::{Availability, GeneratedSet, Targets, registry_rs};
use dietcode_core::config::KernelSet;
use dietcode_core::sketch::Family;
use dietcode_core::{Error, Result};

use crate::builder::Kernels;
use crate::environment::Environment;
use crate::report::Report;
use targets::Asked;

/// A set that the user chose.
pub(crate) struct Chosen {
    /// The file, as it was named.
    file: PathBuf,
    families: Vec<Family>,
    march: String,
    asked: Asked,
    /// The position of the [`Kernels`] that it is for.
    pub(crate) group: usize,
}

/// The set of the one of the groups that has one.
pub(crate) fn choose(groups: &[Kernels], environment: &Environment, report: &mut Report) -> Result<Option<Chosen>> {
    let mut with_set = groups.iter().enumerate().filter_map(|(at, group)| Some((at, group.set.as_ref()?)));
    let Some((group, folder)) = with_set.next() else { return Ok(None) };
    if with_set.next().is_some() {
        return Err(Error::input("the build script asks for several sets of configurations, but a package has one"));
    }
    let file = choice::file(folder, environment, report)?;
    report.rerun_if_changed(&file);
    let set = KernelSet::read(environment.manifest_dir.join(&file))?;
    let asked = Asked::of(&set, environment, report)?;
    let march = groups[group].march.as_ref().or(set.march.as_ref()).map_or("native", String::as_str).to_owned();
    Ok(Some(Chosen { file, families: set.families()?, march, asked, group }))
}

impl Chosen {
    /// What the kernels of the set are built for themselves: what a dispatcher would choose stands beside the configurations.
    pub(crate) fn prepare(&self, kernels: &mut Kernels) {
        if kernels.cuda.is_empty() && self.asked.cuda {
            kernels.cuda = self.asked.capabilities.iter().map(ToString::to_string).collect();
        }
        kernels.cuda_host |= self.asked.cuda_host;
    }

    /// The Rust side alone, with nothing in it.
    pub(crate) fn skip(&self, environment: &Environment, reason: &str) -> Result<()> {
        let why = || Err(reason.to_owned());
        let nothing = GeneratedSet::new(&self.name(), &[], &[], &Targets::default(), 1)?;
        let availability = Availability { cpu: why(), cuda: why(), cuda_host: why() };
        emit::registry(environment, &registry_rs(&nothing, &availability))
    }

    /// The file's name for readers.
    fn name(&self) -> String {
        self.file.display().to_string()
    }
}
