//! Compiled translation units, kept by content: what was compiled once is not compiled again.
//!
//! An entry is an image and, beside it, its report with a hash of the image. The key is a hash of all that the image is made
//! from; time stamps and paths play no part.

use std::fs;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{Compiled, ComputeCapability, Nvcc};
use crate::hash::hash_of;
use crate::whole_file::write_whole;
use crate::{Error, Result};

/// A folder of compiled translation units. Several processes may use one at a time.
#[derive(Clone, Debug)]
pub struct ObjectCache {
    folder: PathBuf,
}

/// What stands beside an image.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    image_blake3: String,
    compiled: Compiled,
}

impl ObjectCache {
    /// A cache in a folder, which is made when something is kept.
    pub fn new(folder: impl Into<PathBuf>) -> ObjectCache {
        ObjectCache { folder: folder.into() }
    }

    /// As [`Nvcc::compile`], unless it was done before.
    ///
    /// # Errors
    ///
    /// Those of [`Nvcc::compile`], which are not kept; [`crate::ErrorKind::Unavailable`] if the folder cannot be written.
    pub fn compile(
        &self,
        nvcc: &Nvcc,
        source: &str,
        devices: &[ComputeCapability],
        headers: &[(&str, &str)],
    ) -> Result<Compiled> {
        let key = ObjectCache::key(nvcc, source, devices, headers)?;
        if let Some(compiled) = self.load(&key) {
            return Ok(compiled);
        }
        let compiled = nvcc.compile(source, devices, headers)?;
        self.store(&key, &compiled)?;
        Ok(compiled)
    }

    /// The hash of all that an image is made from, in hexadecimal digits.
    ///
    /// # Errors
    ///
    /// An input error if there is no device.
    pub fn key(nvcc: &Nvcc, source: &str, devices: &[ComputeCapability], headers: &[(&str, &str)]) -> Result<String> {
        let flags = nvcc.flags(devices)?;
        let headers = headers.iter().flat_map(|(name, text)| [name.as_bytes(), text.as_bytes()]);
        let own = [nvcc.version(), nvcc.host_version()].map(str::as_bytes).into_iter();
        let parts = own.chain(flags.iter().map(|flag| flag.as_encoded_bytes())).chain([source.as_bytes()]);
        Ok(hash_of(parts.chain(headers)))
    }

    /// What was kept under a key. An entry that is missing, torn or of another format is a miss.
    pub fn load(&self, key: &str) -> Option<Compiled> {
        let entry: Entry = serde_json::from_slice(&fs::read(self.path(key, "json")).ok()?).ok()?;
        let image = fs::read(self.path(key, "image")).ok()?;
        (hash(&image) == entry.image_blake3).then_some(Compiled { image, ..entry.compiled })
    }

    /// Keeps what was compiled.
    ///
    /// # Errors
    ///
    /// [`crate::ErrorKind::Unavailable`] if the folder cannot be written.
    pub fn store(&self, key: &str, compiled: &Compiled) -> Result<()> {
        let entry = Entry { image_blake3: hash(&compiled.image), compiled: compiled.clone() };
        let text = serde_json::to_vec_pretty(&entry).expect("a report has no key that is not text");
        fs::create_dir_all(&self.folder)
            .and_then(|()| write_whole(&self.path(key, "image"), [&compiled.image]))
            .and_then(|()| write_whole(&self.path(key, "json"), [&text]))
            .map_err(|e| {
                let message = format!("cannot keep a compiled kernel in {}", self.folder.display());
                Error::unavailable(message).caused_by(e)
            })
    }

    fn path(&self, key: &str, extension: &str) -> PathBuf {
        self.folder.join(key).with_extension(extension)
    }
}

fn hash(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::ErrorKind;

    const KERNEL: &str = "#include \"n.h\"\nextern \"C\" __global__ void fill(int *x) { *x = N; }\n";

    fn nvcc() -> Nvcc {
        Nvcc::find().expect("`cargo xtask toolkit` installs nvcc")
    }

    fn sm_80() -> [ComputeCapability; 1] {
        ["sm_80".parse().unwrap()]
    }

    /// A cache with one entry, and its key.
    fn filled(folder: &Path) -> (ObjectCache, String, Compiled) {
        let cache = ObjectCache::new(folder.join("objects"));
        let headers = [("n.h", "#define N 1\n")];
        let compiled = cache.compile(&nvcc(), KERNEL, &sm_80(), &headers).unwrap();
        let key = ObjectCache::key(&nvcc(), KERNEL, &sm_80(), &headers).unwrap();
        (cache, key, compiled)
    }

    #[test]
    fn what_was_compiled_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let (cache, key, compiled) = filled(folder.path());
        assert_eq!(cache.load(&key), Some(compiled.clone()));
        assert_eq!(compiled.report.len(), 1);
        // A compiler that is given no time shows that none is called.
        let hurried = nvcc().with_limit(std::time::Duration::ZERO);
        assert_eq!(cache.compile(&hurried, KERNEL, &sm_80(), &[("n.h", "#define N 1\n")]).unwrap(), compiled);
        assert!(cache.compile(&hurried, KERNEL, &sm_80(), &[("n.h", "#define N 2\n")]).is_err());
    }

    #[test]
    fn all_that_goes_into_an_image_is_in_its_key() {
        let nvcc = nvcc();
        let key = |source, devices: &[&str], headers: &[(&str, &str)]| {
            let devices: Vec<ComputeCapability> = devices.iter().map(|name| name.parse().unwrap()).collect();
            ObjectCache::key(&nvcc, source, &devices, headers).unwrap()
        };
        let keys = [
            key(KERNEL, &["sm_80"], &[("a", "b")]),
            key(KERNEL, &["sm_80"], &[("ab", "")]),
            key(KERNEL, &["sm_80"], &[]),
            key(KERNEL, &["sm_90"], &[]),
            key(KERNEL, &["sm_80", "sm_90"], &[]),
            key("", &["sm_80"], &[]),
        ];
        let distinct: std::collections::BTreeSet<&String> = keys.iter().collect();
        assert_eq!(distinct.len(), keys.len());
    }

    #[test]
    fn a_torn_entry_is_a_miss() {
        let folder = tempfile::tempdir().unwrap();
        let (cache, key, compiled) = filled(folder.path());
        for extension in ["image", "json"] {
            let path = cache.path(&key, extension);
            let whole = fs::read(&path).unwrap();
            for torn in [&whole[..whole.len() / 2], &[], b"{}"] {
                fs::write(&path, torn).unwrap();
                assert_eq!(cache.load(&key), None, "{extension}");
            }
            fs::remove_file(&path).unwrap();
            assert_eq!(cache.load(&key), None, "{extension}");
            fs::write(&path, whole).unwrap();
        }
        assert_eq!(cache.load(&key), Some(compiled));
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_an_error() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let compiled = Compiled { image: vec![1], report: vec![] };
        let error = ObjectCache::new(file.path().join("objects")).store("key", &compiled).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable);
    }
}
