//! A file that may be a config of one kernel or a set.

use std::path::Path;

use super::reader::Source;
use super::set::read_set;
use super::{Config, KernelSet, read_config};
use crate::Result;

/// What a file under `configs/` is.
#[derive(Clone, Debug, PartialEq)]
pub enum ConfigFile {
    /// One kernel, tuned for the shapes that it is called with.
    Kernel(Box<Config>),
    /// Configurations for a kind of machine.
    Set(Box<KernelSet>),
}

impl ConfigFile {
    /// Reads and checks a file: a config, if it has a key that only configs have, else a set.
    ///
    /// # Errors
    /// As for [`Config::read`] and [`KernelSet::read`].
    pub fn read(path: impl AsRef<Path>) -> Result<ConfigFile> {
        let path = path.as_ref();
        Source::read(path)?.parse(|node| match ["kernel", "shape", "search"].iter().any(|key| node.has(key)) {
            true => Ok(ConfigFile::Kernel(Box::new(read_config(path, &node)?))),
            false => Ok(ConfigFile::Set(Box::new(read_set(path, &node)?))),
        })
    }
}
