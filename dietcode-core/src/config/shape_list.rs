//! Lists of shapes, `configs/shapes/bert.json`: at which shapes the layers of a model call kernels.
//!
//! A list has no kernel of its own. A layer names the functions that may carry it out, and says what their shape variables are, as a
//! config does: by expressions of workload variables.

use std::path::{Path, PathBuf};

use dietcode_syntax::{Affine, KernelDef};

use super::reader::{Node, Object, Source};
use super::values::{read_list, read_name};
use super::workload::{extent, read_shape, read_wkl_insts, variables};
use super::{Config, WklInst};
use crate::instance::Instance;
use crate::{Error, Result};

/// A list of shapes, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct ShapeList {
    /// The file.
    pub path: PathBuf,
    /// Whose shapes they are.
    pub model: String,
    /// Where the model's dimensions are from.
    pub source: String,
    layers: Vec<Layer>,
}

/// What of a model is one call of a kernel.
#[derive(Clone, Debug, PartialEq)]
struct Layer {
    name: String,
    /// The functions that may carry it out.
    kernels: Vec<String>,
    shape: Vec<(String, Affine)>,
    wkl_insts: Vec<WklInst>,
    /// Where it stands: `file:line:column: key`.
    place: String,
}

/// A shape of a list, at which a kernel can be called.
#[derive(Clone, Debug, PartialEq)]
pub struct ListedShape {
    /// Whose: `BERT base: scores of attention`.
    pub layer: String,
    /// The values of the kernel's shape variables, by name.
    pub values: WklInst,
    /// The kernel there.
    pub instance: Instance,
}

const INSTANCES: &str = "an array of workload instances, such as [{\"T\": 5}], for a shape that depends on them";

impl ShapeList {
    /// Reads and checks a list.
    ///
    /// # Errors
    /// [`ErrorKind::Input`](crate::ErrorKind::Input), saying file, line, column, key, what was found and what was
    /// expected.
    pub fn read(path: impl AsRef<Path>) -> Result<ShapeList> {
        let path = path.as_ref();
        Source::read(path)?.parse(|node| read(path, &node))
    }

    /// The same for a text that `path` would hold.
    ///
    /// # Errors
    /// As for [`ShapeList::read`].
    pub fn parse(path: impl AsRef<Path>, text: impl Into<Vec<u8>>) -> Result<ShapeList> {
        let path = path.as_ref();
        Source::from_bytes(path, text.into())?.parse(|node| read(path, &node))
    }

    /// Whether there are shapes of a kernel.
    pub fn is_of(&self, kernel: &str) -> bool {
        self.layers.iter().any(|layer| layer.kernels.iter().any(|name| name == kernel))
    }

    /// The shapes of a kernel, in the list's order, each once: what several layers share has the first one's name.
    ///
    /// # Errors
    /// [`ErrorKind::Input`](crate::ErrorKind::Input) if no layer is for a function of that name, with those that there are; or if a layer's
    /// shape is none of the kernel's: it has other variables, an index would leave its tensor, or nothing is computed.
    pub fn shapes_of(&self, def: &KernelDef) -> Result<Vec<ListedShape>> {
        let mut shapes: Vec<ListedShape> = Vec::new();
        for layer in self.layers.iter().filter(|layer| layer.kernels.contains(&def.name)) {
            for wkl in &layer.wkl_insts {
                let listed = layer.at(wkl, def).map_err(|why| Error::input(format!("{}: {why}", layer.place)))?;
                if shapes.iter().all(|known| known.values != listed.values) {
                    let layer = format!("{}: {}", self.model, listed.layer);
                    shapes.push(ListedShape { layer, ..listed });
                }
            }
        }
        if shapes.is_empty() {
            let mut known: Vec<&str> =
                self.layers.iter().flat_map(|layer| &layer.kernels).map(String::as_str).collect();
            known.sort_unstable();
            known.dedup();
            let (path, known) = (self.path.display(), known.join(", "));
            return Err(Error::input(format!("{path}: found no layer of `{}`, expected one of {known}", def.name)));
        }
        Ok(shapes)
    }
}

impl Layer {
    fn at(&self, wkl: &WklInst, def: &KernelDef) -> Result<ListedShape, String> {
        let vars = Config::shape_vars(def);
        let found: Vec<&str> = self.shape.iter().map(|(name, _)| name.as_str()).collect();
        if found.len() != vars.len() || vars.iter().any(|var| !found.contains(&var.as_str())) {
            let (found, expected) = (found.join(", "), vars.join(", "));
            return Err(format!("found the shape variables {found}, expected those of `{}`: {expected}", def.name));
        }
        let values: WklInst = self
            .shape
            .iter()
            .map(|(name, affine)| Ok((name.clone(), extent(name, affine, wkl, 1)?)))
            .collect::<Result<_, String>>()?;
        let shape: Vec<i64> = vars.iter().map(|var| values[var]).collect();
        let instance = Instance::of(def, &shape).map_err(|error| error.to_string())?;
        match instance.empty_part(def) {
            Some(what) => Err(format!("{what}, expected a shape at which something is computed")),
            None => Ok(ListedShape { layer: self.name.clone(), values, instance }),
        }
    }
}

fn read(path: &Path, node: &Node<'_>) -> Result<ShapeList> {
    let object = node.object(&["comment", "model", "source", "wkl_insts", "layers"])?;
    object.check_comment("comment")?;
    let text = |key: &str, expected: &str| object.require(key, expected)?.string(expected).map(str::to_owned);
    let model = text("model", "the name of a model")?;
    let source = text("source", "where the model's dimensions are from")?;
    let expected = "an array of at least one layer";
    let layers = object.require("layers", expected)?.filled_array(expected)?;
    let layers = layers.iter().map(|layer| read_layer(layer, &object)).collect::<Result<Vec<Layer>>>()?;
    Ok(ShapeList { path: path.to_path_buf(), model, source, layers })
}

/// A layer without workload instances of its own has those of the list.
fn read_layer(node: &Node<'_>, list: &Object<'_>) -> Result<Layer> {
    let object = node.object(&["comment", "layer", "kernels", "shape", "wkl_insts"])?;
    object.check_comment("comment")?;
    let (name, expected) = ("layer", "what the layer is called");
    let name = object.require(name, expected)?.string(expected)?.to_owned();
    let function = |node: &Node<'_>| read_name(node, "the name of a function with #[dynamic_kernel]");
    let kernels = read_list(&object.require("kernels", "an array of names of functions")?, function)?;
    let shape = read_shape(&object.require("shape", "an object from shape variables to expressions")?)?;
    let own = object.get("wkl_insts");
    let wkl_insts = match own.as_ref() {
        None if variables(&shape).is_empty() => vec![WklInst::new()],
        Some(instances) => read_wkl_insts(instances, &shape)?,
        None => match list.get("wkl_insts") {
            Some(instances) => read_wkl_insts(&instances, &shape).map_err(|e| node.error(&e.to_string()))?,
            None => return Err(node.error(&format!("the key `wkl_insts` is missing, expected {INSTANCES}"))),
        },
    };
    Ok(Layer { name, kernels, shape, wkl_insts, place: node.place() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{dense, kernel};

    const LIST: &str = r#"{
  "model": "small", "source": "made up", "wkl_insts": [{ "T": 1 }, { "T": 8 }],
  "layers": [
    { "layer": "first", "kernels": ["dense", "other"], "shape": { "M": "2*T", "N": 16, "K": "T" } },
    { "layer": "again", "kernels": ["dense"], "shape": { "M": 16, "N": 16, "K": 8 } },
    { "layer": "taps", "kernels": ["taps"], "shape": { "N": "T" }, "wkl_insts": [{ "T": 1 }] }
  ]
}"#;

    #[test]
    fn layers_are_shapes_of_the_kernels_that_they_name() {
        let list = ShapeList::parse("small.json", LIST).unwrap();
        let shapes = list.shapes_of(&dense()).unwrap();
        let shown: Vec<(&str, &[i64])> = shapes.iter().map(|s| (&*s.layer, &*s.instance.shape)).collect();
        // The second layer has the first one's second shape.
        assert_eq!(shown, [("small: first", &[2, 1, 16][..]), ("small: first", &[16, 8, 16])]);
        assert_eq!(shapes[1].values, WklInst::from([("K".into(), 8), ("M".into(), 16), ("N".into(), 16)]));
    }

    #[test]
    fn what_is_no_shape_of_the_kernel_is_told_with_its_place() {
        let list = ShapeList::parse("small.json", LIST).unwrap();
        let renamed = |name: &str| KernelDef { name: name.into(), ..dense() };
        let error = list.shapes_of(&renamed("conv")).unwrap_err().to_string();
        assert_eq!(error, "small.json: found no layer of `conv`, expected one of dense, other, taps");
        let error = list.shapes_of(&renamed("taps")).unwrap_err().to_string();
        let expected = "found the shape variables N, expected those of `taps`: M, K, N";
        assert_eq!(error, format!("small.json:6:5: key `layers[2]`: {expected}"));
        let taps = "#[dynamic_kernel] fn taps(x: &[f32; N], y: &mut [f32; N - 2]) {
            for i in 0..N - 2 { y[i] = x[i] + x[i + 2]; } }";
        let error = list.shapes_of(&kernel(taps)).unwrap_err().to_string();
        assert!(error.starts_with("small.json:6:5: key `layers[2]`: ") && error.contains("N - 2 = -1"), "{error}");
    }

    #[test]
    fn what_is_wrong_in_a_list_is_told_with_its_place() {
        for (from, to, why) in [
            ("\"model\": \"small\", ", "", "small.json:1:1: the key `model` is missing, expected the name of a model"),
            (
                "\"source\": \"made up\"",
                "\"source\": 3",
                "key `source`: found 3, expected where the model's dimensions are",
            ),
            ("\"layer\": \"taps\", ", "", "small.json:6:5: key `layers[2]`: the key `layer` is missing"),
            ("[\"taps\"]", "[]", "key `layers[2].kernels`: found an empty array"),
            (
                "[\"taps\"]",
                "[\"a-b\"]",
                "key `layers[2].kernels[0]`: found the string \"a-b\", expected the name of a function",
            ),
            ("\"2*T\"", "\"2*S\"", "the workload variable `S` is missing, expected it beside `T`"),
            ("[{ \"T\": 1 }] }", "[{ \"T\": 0 }] }", "`N` = T is 0 at T=0, expected from 1 to"),
            (
                "\"wkl_insts\": [{ \"T\": 1 }, { \"T\": 8 }],",
                "",
                "small.json:4:5: key `layers[0]`: the key `wkl_insts` is missing",
            ),
            (
                "\"shape\": { \"N\"",
                "\"shapes\": { \"N\"",
                "found an unknown key, expected one of comment, layer, kernels, shape",
            ),
            ("]\n}", "]", "small.json:7:3: EOF while parsing an object"),
        ] {
            assert!(LIST.contains(from), "{from}");
            let error = ShapeList::parse("small.json", LIST.replacen(from, to, 1)).unwrap_err().to_string();
            assert!(error.contains(why), "{why}: {error}");
        }
    }
}
