//! Images of micro-kernels that were compiled on another machine: a folder with the images and their reports, each under a
//! hash of what it was compiled from, and a list of what they are.
//!
//! The hash is of source, headers and device, not of the compiler: the machine that uses an image has none. Which compiler
//! it was stands in the list.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::codegen::cuda::headers::DEVICE_HEADERS;
use crate::hash::hash_of;
use crate::machine::cuda::{Compiled, ComputeCapability, ObjectCache};
use crate::{Error, Result};

/// A folder of images.
#[derive(Debug)]
pub struct Images {
    folder: PathBuf,
    made: BTreeMap<String, Made>,
}

/// What an image is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Made {
    /// The kernel.
    pub kernel: String,
    /// The micro-kernel.
    pub micro_kernel: String,
    /// The device that it is for.
    pub capability: ComputeCapability,
    /// The compiler with its version.
    pub toolchain: String,
}

/// The list of what there is.
const LIST: &str = "images.json";

impl Images {
    /// An empty folder for images, made if it is not there.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Unavailable`] if it cannot be written.
    pub fn create(folder: &Path) -> Result<Images> {
        let images = Images { folder: folder.to_owned(), made: BTreeMap::new() };
        fs::create_dir_all(folder).map_err(|e| images.unwritable(e))?;
        images.save()?;
        Ok(images)
    }

    /// The images of a folder.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Input`] if it holds no list of images.
    pub fn open(folder: &Path) -> Result<Images> {
        let path = folder.join(LIST);
        let odd = |message: &str| {
            let what =
                format!("{}: {message}: expected a folder that `dietcode gpu-images` has written", path.display());
            Error::input(what)
        };
        let text = fs::read(&path).map_err(|e| odd("cannot be read").caused_by(e))?;
        let made = serde_json::from_slice(&text).map_err(|e| odd("is no list of images").caused_by(e))?;
        Ok(Images { folder: folder.to_owned(), made })
    }

    /// Adds an image.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Unavailable`] if it cannot be written.
    pub fn add(&mut self, source: &str, compiled: &Compiled, made: Made) -> Result<()> {
        let key = key(source, made.capability);
        ObjectCache::new(&self.folder).store(&key, compiled)?;
        self.made.insert(key, made);
        self.save()
    }

    /// The image of a source for a device, with what it is. One that is missing or torn is none.
    pub fn find(&self, source: &str, capability: ComputeCapability) -> Option<(Compiled, &Made)> {
        let key = key(source, capability);
        let made = self.made.get(&key)?;
        Some((ObjectCache::new(&self.folder).load(&key)?, made))
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.made.len()
    }

    fn save(&self) -> Result<()> {
        let mut text = serde_json::to_string_pretty(&self.made).map_err(|e| self.unwritable(e.into()))?;
        text.push('\n');
        fs::write(self.folder.join(LIST), text).map_err(|e| self.unwritable(e))
    }

    fn unwritable(&self, error: std::io::Error) -> Error {
        let message = format!("{}: images cannot be written there", self.folder.display());
        Error::unavailable(message).caused_by(error)
    }
}

fn key(source: &str, capability: ComputeCapability) -> String {
    let capability = capability.to_string();
    let texts = DEVICE_HEADERS.iter().flat_map(|(name, text)| [*name, *text]);
    hash_of([source, &capability].into_iter().chain(texts))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    #[test]
    fn what_was_added_is_found_again_by_what_it_was_made_from() {
        let folder = tempfile::tempdir().unwrap();
        let capability = ["sm_80", "sm_90"].map(|name| name.parse().unwrap());
        let compiled = Compiled { image: vec![1, 2, 3], report: vec![] };
        let made = Made {
            kernel: "dense".into(),
            micro_kernel: "blocked".into(),
            capability: capability[0],
            toolchain: "nvcc 13.0".into(),
        };
        Images::create(folder.path()).unwrap().add("source", &compiled, made.clone()).unwrap();
        let images = Images::open(folder.path()).unwrap();
        assert_eq!(images.count(), 1);
        assert_eq!(images.find("source", capability[0]), Some((compiled, &made)));
        assert_eq!(images.find("source", capability[1]), None);
        assert_eq!(images.find("another", capability[0]), None);
    }

    #[test]
    fn a_folder_without_a_list_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let error = Images::open(folder.path()).unwrap_err().to_string();
        assert!(error.contains("images.json") && error.contains("gpu-images"), "{error}");
        fs::write(folder.path().join(LIST), "[]").unwrap();
        assert_eq!(Images::open(folder.path()).unwrap_err().kind(), ErrorKind::Input);
    }
}
