//! Families of shapes: a config of the kernel, and what libraries call it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{provision, twice};
use crate::command::{read, wkl_text};

/// One of them.
pub(super) struct Family {
    pub(super) name: String,
    config: PathBuf,
    /// As worker.py has it.
    pub(super) operation: String,
    /// The shape variables of each operand, `M K, N K -> M N`.
    pub(super) operands: String,
    /// The config's instances as `--wkl` takes them, and whether they are further ones.
    pub(super) shapes: Vec<(String, bool)>,
}

/// As a file has it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    /// Relative to the file.
    config: PathBuf,
    operation: String,
    operands: String,
}

type Instances = Vec<Map<String, Value>>;

impl Family {
    /// Those of a file that are wanted, or all of them.
    pub(super) fn read(path: &Path, wanted: &[String], further: Option<&Path>) -> Result<Vec<Family>, String> {
        let mut entries: BTreeMap<String, Entry> = read(path)?;
        let known: Vec<&String> = entries.keys().collect();
        let mut further: BTreeMap<String, Instances> = further.map_or_else(|| Ok(BTreeMap::new()), read)?;
        if let Some(unknown) = wanted.iter().chain(further.keys()).find(|name| !entries.contains_key(*name)) {
            return Err(format!("{}: there is no family `{unknown}`; there are: {known:?}", path.display()));
        }
        entries.retain(|name, _| wanted.is_empty() || wanted.contains(name));
        let folder = path.parent().unwrap_or(Path::new("."));
        let family = |(name, entry): (String, Entry)| {
            let config = folder.join(&entry.config);
            let text: Value = read(&config)?;
            if let Some(cache) = text["search"]["cache"].as_str().filter(|cache| *cache != "warm") {
                return Err(format!(
                    "{}: found {cache} caches, expected warm ones, as libraries have them",
                    config.display()
                ));
            }
            let own: Instances = serde_json::from_value(text["wkl_insts"].clone())
                .map_err(|e| format!("{}: key `wkl_insts`: {e}", config.display()))?;
            let more = further.remove(&name).unwrap_or_default();
            let shapes = own.iter().map(|wkl| (wkl_text(wkl), false));
            let shapes: Vec<_> = shapes.chain(more.iter().map(|wkl| (wkl_text(wkl), true))).collect();
            if let Some((wkl, _)) = twice(&shapes) {
                return Err(format!("{name}: found the shape {wkl} twice, expected it once"));
            }
            Ok(Family { name, config, operation: entry.operation, operands: entry.operands, shapes })
        };
        entries.into_iter().map(family).collect()
    }

    /// A copy of the config in a folder of its own, where a tuned file of any folder is beside it.
    pub(super) fn placed(&self, tuned: Option<&Path>) -> Result<PathBuf, String> {
        let folder = provision::folder().join("configs");
        let place = folder.join(format!("{}.json", self.name));
        let failed = |e: std::io::Error| format!("{}: {e}", place.display());
        let mut config: Value = read(&self.config)?;
        let source = config["kernel"]["source"].as_str().unwrap_or_default();
        let source = self.config.parent().unwrap_or(Path::new(".")).join(source);
        config["kernel"]["source"] =
            json!(fs::canonicalize(&source).map_err(|e| format!("{}: {e}", source.display()))?);
        fs::create_dir_all(&folder).and_then(|()| fs::write(&place, config.to_string())).map_err(failed)?;
        let from = tuned.map_or_else(
            || self.config.with_extension("cpu.tuned.json"),
            |folder| folder.join(format!("{}.cpu.tuned.json", self.name)),
        );
        let to = place.with_extension("cpu.tuned.json");
        let copied = if from.exists() { fs::copy(&from, &to).map(drop) } else { fs::remove_file(&to) };
        copied.or_else(|e| if e.kind() == std::io::ErrorKind::NotFound { Ok(()) } else { Err(failed(e)) })?;
        Ok(place)
    }
}

#[cfg(test)]
impl Family {
    /// One without a config.
    pub(super) fn of_test(name: &str, operation: &str, operands: &str) -> Family {
        let [name, operation, operands] = [name, operation, operands].map(str::to_owned);
        Family { name, config: PathBuf::new(), operation, operands, shapes: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::steps::root;

    #[test]
    fn shipped_families_have_configs_that_are_there() {
        let families = Family::read(&root().join("xtask/peers/families.json"), &[], None).unwrap();
        let counts: Vec<(&str, usize)> =
            families.iter().map(|family| (family.name.as_str(), family.shapes.len())).collect();
        let plain = [("batched_nn", 8), ("batched_nt", 8), ("conv2d", 8), ("dense", 32)];
        let expected = [&plain[..], &[("dense_prepared", 32), ("few_rows", 8), ("few_rows_prepared", 8)]].concat();
        assert_eq!(counts, expected);
        assert_eq!(families[5].shapes[6], ("M=17".to_owned(), false));
    }

    #[test]
    fn further_shapes_stand_behind_the_configs_own_and_unknown_families_are_told() {
        let file = root().join("xtask/peers/families.json");
        let further = std::env::temp_dir().join(format!("peers-shapes-{}.json", std::process::id()));
        fs::write(&further, r#"{ "batched_nt": [{ "T": 7 }, { "T": 200 }] }"#).unwrap();
        let wanted = ["batched_nt".to_owned()];
        let [family] = &Family::read(&file, &wanted, Some(&further)).unwrap()[..] else { panic!("one is wanted") };
        assert_eq!(family.shapes[8..], [("T=7".to_owned(), true), ("T=200".to_owned(), true)]);
        fs::write(&further, r#"{ "batched_nt": [{ "T": 7 }, { "T": 7 }] }"#).unwrap();
        let why = Family::read(&file, &wanted, Some(&further)).err().unwrap();
        assert_eq!(why, "batched_nt: found the shape T=7 twice, expected it once");
        fs::write(&further, r#"{ "batched": [] }"#).unwrap();
        let why = Family::read(&file, &wanted, Some(&further)).err().unwrap();
        assert!(why.contains("there is no family `batched`; there are: ["), "{why}");
        assert!(Family::read(&file, &["conv3d".to_owned()], None).is_err());
        // No library empties caches between its calls.
        fs::write(&further, r#"{ "wkl_insts": [{ "T": 7 }], "search": { "cache": "cold" } }"#).unwrap();
        let families = further.with_extension("families");
        let entry = json!({ "f": { "config": further, "operation": "product", "operands": "M K, K N -> M N" } });
        fs::write(&families, entry.to_string()).unwrap();
        let why = Family::read(&families, &[], None).err().unwrap();
        [&further, &families].iter().for_each(|path| fs::remove_file(path).unwrap());
        assert!(why.ends_with("found cold caches, expected warm ones, as libraries have them"), "{why}");
    }
}
