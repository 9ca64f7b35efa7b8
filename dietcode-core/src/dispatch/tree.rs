//! The decision tree from a shape to a micro-kernel, as it stands in the tuned file.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};

use crate::codegen::quantity::Quantity;

/// The deepest tree that is written or read.
pub const MAX_DEPTH: usize = 48;

/// A leaf is the micro-kernel's name, `"tiled_vj_…"`; a split is `{"if": "M <= 488", "then": …, "else": …}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Tree {
    /// The micro-kernel to run.
    Leaf(String),
    /// Two ways on.
    Split(Box<Split>),
}

/// `if condition { then } else { otherwise }`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Split {
    /// What decides.
    #[serde(rename = "if")]
    pub condition: Condition,
    /// Where it holds.
    pub then: Tree,
    /// Where it does not.
    #[serde(rename = "else")]
    pub otherwise: Tree,
}

/// `of <= at_most`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Condition {
    /// A shape variable, or what is computed of several.
    pub of: Quantity<String>,
    /// Its largest value for which the condition holds.
    pub at_most: i64,
}

impl Tree {
    /// A split by a shape variable.
    pub fn split(var: impl Into<String>, at_most: i64, then: Tree, otherwise: Tree) -> Tree {
        Tree::split_by(Quantity::Var(var.into()), at_most, then, otherwise)
    }

    /// A split.
    pub fn split_by(of: Quantity<String>, at_most: i64, then: Tree, otherwise: Tree) -> Tree {
        let condition = Condition { of, at_most };
        Tree::Split(Box::new(Split { condition, then, otherwise }))
    }

    /// The micro-kernel for a shape, given in the order of `shape_vars`.
    pub fn pick(&self, shape_vars: &[String], shape: &[i64]) -> &str {
        let mut tree = self;
        loop {
            match tree {
                Tree::Leaf(name) => return name,
                Tree::Split(split) => {
                    tree = if split.condition.holds(shape_vars, shape) { &split.then } else { &split.otherwise };
                }
            }
        }
    }

    /// The part of all shapes that a shape shares its leaf with, such as `16 < M <= 488, K <= 64`; `any shape` if there is one leaf.
    pub fn region(&self, shape_vars: &[String], shape: &[i64]) -> String {
        // Of each quantity what it is above and what it is at most.
        let mut bounds: BTreeMap<String, [Option<i64>; 2]> = BTreeMap::new();
        let mut tree = self;
        while let Tree::Split(split) = tree {
            let holds = split.condition.holds(shape_vars, shape);
            bounds.entry(split.condition.of.to_string()).or_default()[usize::from(holds)] =
                Some(split.condition.at_most);
            tree = if holds { &split.then } else { &split.otherwise };
        }
        let text = |(var, [above, most]): (&String, &[Option<i64>; 2])| {
            let above = above.map_or(String::new(), |above| format!("{above} < "));
            format!("{above}{var}{}", most.map_or(String::new(), |most| format!(" <= {most}")))
        };
        let all: Vec<String> = bounds.iter().map(text).collect();
        if all.is_empty() { "any shape".to_owned() } else { all.join(", ") }
    }

    /// The same without conditions that those before them decide.
    pub(super) fn pruned(self) -> Tree {
        // Of each quantity what it is above and what it is at most.
        fn within(tree: Tree, bounds: &BTreeMap<String, [i64; 2]>) -> Tree {
            let Tree::Split(split) = tree else { return tree };
            let Split { condition: Condition { of, at_most }, then, otherwise } = *split;
            let name = of.to_string();
            let [above, most] = bounds.get(&name).copied().unwrap_or([i64::MIN, i64::MAX]);
            if most <= at_most {
                return within(then, bounds);
            }
            if above >= at_most {
                return within(otherwise, bounds);
            }
            let with = |bound: [i64; 2]| bounds.clone().into_iter().chain([(name.clone(), bound)]).collect();
            match (within(then, &with([above, at_most])), within(otherwise, &with([at_most, most]))) {
                (then, otherwise) if then == otherwise => then,
                (then, otherwise) => Tree::split_by(of, at_most, then, otherwise),
            }
        }
        within(self, &BTreeMap::new())
    }

    /// All nodes with their depths, the root's being 0; the `then` side of a split comes before its `else` side.
    pub fn nodes(&self) -> impl Iterator<Item = (usize, &Tree)> {
        let mut rest = vec![(0, self)];
        std::iter::from_fn(move || {
            let (depth, tree) = rest.pop()?;
            if let Tree::Split(split) = tree {
                rest.extend([(depth + 1, &split.otherwise), (depth + 1, &split.then)]);
            }
            Some((depth, tree))
        })
    }

    /// As text, a line for each condition and each leaf; the side where a condition does not hold stands under `else`.
    pub fn text(&self) -> String {
        fn write(tree: &Tree, depth: usize, lines: &mut Vec<String>) {
            let indent = "  ".repeat(depth);
            match tree {
                Tree::Leaf(name) => lines.push(format!("{indent}{name}")),
                Tree::Split(split) => {
                    lines.push(format!("{indent}if {}", split.condition));
                    write(&split.then, depth + 1, lines);
                    lines.push(format!("{indent}else"));
                    write(&split.otherwise, depth + 1, lines);
                }
            }
        }
        let mut lines = Vec::new();
        write(self, 0, &mut lines);
        lines.join("\n") + "\n"
    }

    /// The names at the leaves, with repetitions.
    pub fn leaves(&self) -> impl Iterator<Item = &str> {
        self.nodes().filter_map(|(_, tree)| match tree {
            Tree::Leaf(name) => Some(name.as_str()),
            Tree::Split(_) => None,
        })
    }

    /// The number of splits on the longest way.
    pub fn depth(&self) -> usize {
        self.nodes().map(|(depth, _)| depth).max().unwrap_or(0)
    }
}

impl Condition {
    /// Whether it holds at a shape, given in the order of `shape_vars`. A variable that is not there counts as large; the
    /// tree of a loaded file has none.
    pub fn holds(&self, shape_vars: &[String], shape: &[i64]) -> bool {
        let value = |name: &String| shape_vars.iter().zip(shape).find(|(var, _)| *var == name);
        self.of.value(&|name| value(name).map_or(i64::MAX, |(_, value)| *value)) <= self.at_most
    }
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Tree, D::Error> {
        struct TreeVisitor;
        impl<'de> Visitor<'de> for TreeVisitor {
            type Value = Tree;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a micro-kernel's name or {\"if\": …, \"then\": …, \"else\": …}")
            }

            fn visit_str<E: de::Error>(self, name: &str) -> Result<Tree, E> {
                Ok(Tree::Leaf(name.to_string()))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Tree, A::Error> {
                Split::deserialize(MapAccessDeserializer::new(map)).map(|split| Tree::Split(Box::new(split)))
            }
        }
        deserializer.deserialize_any(TreeVisitor)
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} <= {}", self.of, self.at_most)
    }
}

impl From<Condition> for String {
    fn from(condition: Condition) -> String {
        condition.to_string()
    }
}

impl TryFrom<String> for Condition {
    type Error = String;

    fn try_from(text: String) -> Result<Condition, String> {
        let odd = |why: &str| {
            Err(format!("found the condition \"{}\", expected one such as \"M <= 488\"{why}", text.escape_debug()))
        };
        let parsed = text.split_once(" <= ").and_then(|(of, at_most)| Some((of, at_most.parse().ok()?)));
        let Some((of, at_most)) = parsed else { return odd("") };
        Quantity::parse(of).map(|of| Condition { of, at_most }).or_else(|why| odd(&format!(": {why}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_is_told_by_the_bounds_of_its_leaf() {
        let vars = ["M", "K"].map(str::to_owned);
        let leaf = |name: &str| Tree::Leaf(name.to_owned());
        let tree = Tree::split(
            "M",
            488,
            Tree::split("K", 7, leaf("a"), Tree::split("M", 16, leaf("b"), leaf("c"))),
            leaf("d"),
        );
        let of = |m: i64, k: i64| tree.region(&vars, &[m, k]);
        assert_eq!([of(1, 7), of(16, 8)], ["K <= 7, M <= 488", "7 < K, M <= 16"]);
        assert_eq!([of(17, 8), of(489, 1)], ["7 < K, 16 < M <= 488", "488 < M"]);
        assert_eq!(leaf("a").region(&vars, &[1, 1]), "any shape");
    }

    #[test]
    fn conditions_that_others_decide_are_pruned() {
        let leaf = |name: &str| Tree::Leaf(name.to_owned());
        let inner = || Tree::split("M", 100, leaf("a"), Tree::split("K", 9, leaf("b"), leaf("c")));
        let tree = Tree::split("M", 50, inner(), Tree::split("M", 200, inner(), inner()));
        let beyond = Tree::split("K", 9, leaf("b"), leaf("c"));
        let between = Tree::split("M", 200, inner(), beyond.clone());
        assert_eq!(tree.pruned(), Tree::split("M", 50, leaf("a"), between));
        let same = Tree::split("M", 50, Tree::split("M", 60, leaf("a"), leaf("b")), leaf("a"));
        assert_eq!(same.pruned(), leaf("a"));
        assert_eq!(beyond.clone().pruned(), beyond);
    }

    #[test]
    fn conditions_of_what_is_computed_are_read_back_and_told() {
        let tiles: Condition = "(M + 7) / 8 * K <= 12".to_owned().try_into().unwrap();
        let Condition { of, at_most } = tiles;
        let tree = Tree::split_by(
            of,
            at_most,
            Tree::Leaf("a".into()),
            Tree::split("K", 9, Tree::Leaf("b".into()), Tree::Leaf("a".into())),
        );
        let read: Tree = serde_json::from_str(&serde_json::to_string(&tree).unwrap()).unwrap();
        assert_eq!(read, tree);
        let vars = ["M", "K"].map(str::to_owned);
        assert_eq!([tree.pick(&vars, &[16, 6]), tree.pick(&vars, &[17, 6])], ["a", "b"]);
        assert_eq!(tree.region(&vars, &[17, 6]), "12 < (M + 7) / 8 * K, K <= 9");
        assert_eq!(tree.text(), "if (M + 7) / 8 * K <= 12\n  a\nelse\n  if K <= 9\n    b\n  else\n    a\n");
        let why = Condition::try_from("M / N <= 3".to_owned()).unwrap_err();
        assert!(why.contains("found the condition \"M / N <= 3\"") && why.contains("divisor"), "{why}");
    }
}
