//! Trained trees as a file: JSON of one line, whose numbers are read back as they were written.
//!
//! ```text
//! {"format":1,"features":164,"roots":[0,…],"nodes":[[feature or -1, value, right child or 0],…]}
//! ```
//!
//! What is wrong with a file is an error of one line, and the analytic model serves alone: a model is never repaired.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::features;
use super::trees::{Node, Trees};
use crate::{Error, Result};

/// The version of the format. Another meaning of the features is another version too.
const FORMAT: u32 = 1;

/// Nothing that was trained is larger.
const MOST_BYTES: u64 = 1 << 24;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    format: u32,
    features: usize,
    roots: Vec<u32>,
    nodes: Vec<(i32, f32, u32)>,
}

impl Trees {
    /// The text of the file.
    pub fn to_json(&self) -> String {
        let node = |node: &Node| (node.feature.map_or(-1, i32::from), node.value, node.right);
        let nodes = self.nodes.iter().map(node).collect();
        let file = File { format: FORMAT, features: self.features, roots: self.roots.clone(), nodes };
        serde_json::to_string(&file).expect("numbers have a text")
    }

    /// Reads a file.
    ///
    /// # Errors
    /// In one line: the file cannot be read, is cut off, has another version or another number of features, or is no forest.
    pub fn load(path: &Path) -> Result<Trees> {
        let missed =
            |what: String| Error::input(format!("{}: {what}; the analytic model serves alone", path.display()));
        let unreadable = |e: std::io::Error| missed(format!("cannot be read: {e}"));
        if std::fs::metadata(path).map_err(unreadable)?.len() > MOST_BYTES {
            return Err(missed(format!("is larger than {} MiB, the largest model there can be", MOST_BYTES >> 20)));
        }
        let text = std::fs::read_to_string(path).map_err(unreadable)?;
        Trees::from_json(&text).map_err(missed)
    }

    fn from_json(text: &str) -> Result<Trees, String> {
        #[derive(Deserialize)]
        struct Version {
            format: u32,
        }
        let Version { format } = serde_json::from_str(text).map_err(|e| format!("is no model: {e}"))?;
        if format != FORMAT {
            return Err(format!("has format {format}, expected {FORMAT}"));
        }
        let file: File = serde_json::from_str(text).map_err(|e| format!("is no model: {e}"))?;
        if file.features != features::COUNT {
            return Err(format!("is trained on {} features, expected {}", file.features, features::COUNT));
        }
        let count = file.nodes.len();
        let node = |(at, (feature, value, right)): (usize, &(i32, f32, u32))| {
            let feature = match u16::try_from(*feature) {
                Ok(feature) if usize::from(feature) < file.features => Some(feature),
                Err(_) if *feature == -1 => None,
                _ => return Err(format!("node {at} asks for feature {feature} of {}", file.features)),
            };
            // Children stand behind their parents, so that a walk ends.
            if feature.is_some() && !(at + 1 < *right as usize && (*right as usize) < count) {
                return Err(format!("node {at} of {count} has the child {right}"));
            }
            Ok(Node { feature, value: *value, right: *right })
        };
        let nodes = file.nodes.iter().enumerate().map(node).collect::<Result<Vec<Node>, String>>()?;
        if let Some(root) = file.roots.iter().find(|root| **root as usize >= count) {
            return Err(format!("there is a tree at node {root} of {count}"));
        }
        Ok(Trees { features: file.features, nodes, roots: file.roots })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost_model::pack_sum::Pack;
    use crate::cost_model::trees::Growing;

    fn trained() -> Trees {
        let rows: Vec<f32> = (0..40 * features::COUNT).map(|at| (at * 7 % 31) as f32 / 31.0).collect();
        let labels: Vec<f32> = (0..20).map(|at| (at % 7) as f32 / 7.0).collect();
        Trees::train(features::COUNT, &rows, &Pack::of([2; 20]), &labels, &[0.0; 40], &Growing::default())
    }

    #[test]
    fn trees_come_back_as_they_were() {
        let trees = trained();
        assert!(trees.uses().iter().any(|uses| *uses > 0));
        assert_eq!(Trees::from_json(&trees.to_json()), Ok(trees));
    }

    #[test]
    fn what_is_wrong_with_a_file_is_one_line() {
        let text = trained().to_json();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.json");
        let missed = |text: &str| {
            std::fs::write(&path, text).unwrap();
            let error = Trees::load(&path).unwrap_err().to_string();
            assert!(!error.contains('\n') && error.ends_with("; the analytic model serves alone"), "{error}");
            error
        };
        for cut in [0, 1, 20, text.len() / 2, text.len() - 1] {
            assert!(missed(&text[..cut]).contains("is no model: EOF while parsing"), "{cut}");
        }
        assert!(missed(&text.replace("\"format\":1", "\"format\":2")).contains("has format 2, expected 1"));
        assert!(
            missed(&text.replace("\"features\":164", "\"features\":163")).contains("on 163 features, expected 164")
        );
        let first = text.find("[[").unwrap() + 1;
        let end = first + text[first..].find(']').unwrap() + 1;
        let with = |node: &str| missed(&format!("{}{node}{}", &text[..first], &text[end..]));
        assert!(with("[0,NaN,2]").contains("is no model"));
        assert!(with("[0,null,2]").contains("is no model"));
        assert!(with("[0,1e39,2]").contains("is no model: number out of range"));
        assert!(with("[164,0.5,2]").contains("node 0 asks for feature 164 of 164"));
        assert!(with("[-2,0.5,2]").contains("node 0 asks for feature -2"));
        assert!(with("[0,0.5,0]").contains("has the child 0"));
        assert!(with("[0,0.5,99999999]").contains("has the child 99999999"));
        assert!(missed(&text.replacen("\"roots\":[0", "\"roots\":[99999999", 1)).contains("a tree at node 99999999"));
        std::fs::remove_file(&path).unwrap();
        let gone = Trees::load(&path).unwrap_err().to_string();
        assert!(gone.contains("cannot be read"), "{gone}");
    }
}
