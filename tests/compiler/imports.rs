//! No files import each other in a circle, and the modules of `dietcode-core` import in the order that `ARCHITECTURE.md` says.
//!
//! What counts is a `use` of a file that is no test, and a path in its signatures and expressions. A name that a module only exports anew
//! leads to the file that has it, and a module that exports what is below it does not import that. One module's file and its children may
//! form a circle: they are one thing in several files.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use syn::visit::{self, Visit};
use syn::{Attribute, UseTree, Visibility};

/// The crates, and the folders of their sources.
const CRATES: [(&str, &str); 6] = [
    ("dietcode_core", "dietcode-core/src"),
    ("dietcode_syntax", "dietcode-macros/syntax/src"),
    ("dietcode_macros", "dietcode-macros/src"),
    ("dietcode_build", "build-support/src"),
    ("dietcode", "src"),
    ("xtask", "xtask/src"),
];

/// Files that are not compiled where they stand.
const TEMPLATE: &str = "src/cli/init/template";

/// What stands in front of the order in `ARCHITECTURE.md`.
const ORDER: &str = "A module of `dietcode-core` imports only from those that stand before it here:\n\n";

/// The place of a module: its crate, and the names below.
type Place = Vec<String>;

/// A name that a file uses.
struct Import {
    /// Where it is looked up.
    from: Place,
    /// What the file calls it.
    name: String,
    is_exported: bool,
}

/// All files, by the places of their modules.
struct Sources(BTreeMap<Place, Vec<Import>>);

/// Those of the repository: they take seconds to parse.
static REPOSITORY: LazyLock<Sources> = LazyLock::new(Sources::of_repository);

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn place(path: &str) -> Place {
    path.split("::").map(str::to_owned).collect()
}

fn is_for_tests(attributes: &[Attribute]) -> bool {
    let words = |attribute: &Attribute| match &attribute.meta {
        syn::Meta::List(list) => list.tokens.to_string(),
        _ => String::new(),
    };
    let mut conditions = attributes.iter().filter(|attribute| attribute.path().is_ident("cfg")).map(words);
    conditions.any(|words| words.split(|c: char| !c.is_alphanumeric()).any(|word| word == "test"))
}

/// The paths of a `use`, each with the name that it gets.
fn paths(tree: &UseTree, before: &[String], all: &mut Vec<(Vec<String>, String)>) {
    let with = |name: String| [before, &[name]].concat();
    match tree {
        UseTree::Path(path) => paths(&path.tree, &with(path.ident.to_string()), all),
        UseTree::Group(group) => group.items.iter().for_each(|tree| paths(tree, before, all)),
        UseTree::Name(name) if name.ident == "self" => {
            all.push((before.to_vec(), before.last().cloned().unwrap_or_default()));
        }
        UseTree::Name(name) => all.push((with(name.ident.to_string()), name.ident.to_string())),
        UseTree::Rename(renamed) => all.push((with(renamed.ident.to_string()), renamed.rename.to_string())),
        UseTree::Glob(_) => all.push((before.to_vec(), "*".into())),
    }
}

impl Sources {
    /// Those of texts, by places.
    fn of(texts: &BTreeMap<Place, String>) -> Sources {
        let places: BTreeSet<&Place> = texts.keys().collect();
        let imports = |(place, text): (&Place, &String)| {
            let file = syn::parse_file(text).unwrap_or_else(|e| panic!("{}: {e}", place.join("::")));
            let mut imports = Imports { module: place.clone(), places: &places, all: Vec::new() };
            imports.visit_file(&file);
            (place.clone(), imports.all)
        };
        Sources(texts.iter().map(imports).collect())
    }

    fn of_repository() -> Sources {
        let mut texts = BTreeMap::new();
        for (name, folder) in CRATES {
            let mut folders = vec![(root().join(folder), vec![name.to_owned()])];
            while let Some((folder, place)) = folders.pop() {
                let entries = fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
                for path in entries.map(|entry| entry.expect("it can be read").path()) {
                    let stem = path.file_stem().expect("it has a name").to_string_lossy().into_owned();
                    let below = |stem: &str| [&place[..], &[stem.to_owned()]].concat();
                    match stem.as_str() {
                        "tests" | "testing" => {}
                        _ if path.is_dir() && !path.ends_with(TEMPLATE) => folders.push((path, below(&stem))),
                        _ if path.extension().is_none_or(|extension| extension != "rs") => {}
                        _ => {
                            let place = if matches!(&*stem, "lib" | "mod") { place.clone() } else { below(&stem) };
                            texts.insert(place, fs::read_to_string(&path).expect("it is text"));
                        }
                    }
                }
            }
        }
        Sources::of(&texts)
    }

    /// The file that has what is at a place, through what others export anew; none: it is of another crate.
    fn file_of(&self, at: &Place, steps: usize) -> Option<&Place> {
        if let Some((file, _)) = self.0.get_key_value(at) {
            return Some(file);
        }
        let (file, imports) = (1..at.len()).rev().find_map(|length| self.0.get_key_value(&at[..length]))?;
        let (name, rest) = at[file.len()..].split_first()?;
        match imports.iter().find(|import| import.name == *name) {
            Some(import) if steps > 0 => self.file_of(&[&import.from[..], rest].concat(), steps - 1),
            _ => Some(file),
        }
    }

    /// What each file imports from.
    fn edges(&self) -> BTreeMap<&Place, BTreeSet<&Place>> {
        const MOST_STEPS: usize = 8;
        let of = |(file, imports): (&'_ Place, &Vec<Import>)| -> BTreeSet<&Place> {
            let from = imports.iter().filter_map(|import| Some((import, self.file_of(&import.from, MOST_STEPS)?)));
            let from = from.filter(|(import, from)| *from != file && !(import.is_exported && from.starts_with(file)));
            from.map(|(_, from)| from).collect()
        };
        self.0.iter().map(|(file, imports)| (file, of((file, imports)))).collect()
    }

    /// The circles that are more than a module's file and its children.
    fn circles(&self) -> Vec<Vec<&Place>> {
        let edges = self.edges();
        let reached: BTreeMap<&Place, BTreeSet<&Place>> =
            edges.keys().map(|file| (*file, reached(file, &edges))).collect();
        let circle = |file: &&&Place| -> Vec<&Place> {
            reached[**file].iter().copied().filter(|other| reached[other].contains(**file)).collect()
        };
        let circles: BTreeSet<Vec<&Place>> = edges.keys().map(|file| circle(&file)).collect();
        let is_one = |circle: &Vec<&Place>| {
            let shortest = circle.iter().min_by_key(|place| place.len()).map_or(&[][..], |place| place.as_slice());
            let parents = [shortest, &shortest[..shortest.len().saturating_sub(1)]];
            parents.iter().any(|parent| {
                circle.iter().all(|place| place.as_slice() == *parent || place[..place.len() - 1] == **parent)
            })
        };
        circles.into_iter().filter(|circle| !is_one(circle)).collect()
    }
}

/// What a module in a file imports, and those within: by `use`, and by paths in signatures and expressions.
struct Imports<'a> {
    module: Place,
    places: &'a BTreeSet<&'a Place>,
    all: Vec<Import>,
}

impl Imports<'_> {
    fn add(&mut self, path: &[String], name: String, is_exported: bool) {
        let from = absolute(&self.module, path, self.places);
        self.all.extend(from.map(|from| Import { from, name, is_exported }));
    }
}

impl<'ast> Visit<'ast> for Imports<'_> {
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        if !is_for_tests(&item.attrs) {
            let mut all = Vec::new();
            paths(&item.tree, &[], &mut all);
            let is_exported = !matches!(item.vis, Visibility::Inherited);
            all.into_iter().for_each(|(path, name)| self.add(&path, name, is_exported));
        }
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !is_for_tests(&item.attrs) {
            self.module.push(item.ident.to_string());
            visit::visit_item_mod(self, item);
            self.module.pop();
        }
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        if !is_for_tests(&item.attrs) {
            visit::visit_item_fn(self, item);
        }
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        if !is_for_tests(&item.attrs) {
            visit::visit_item_impl(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if !is_for_tests(&item.attrs) {
            visit::visit_impl_item_fn(self, item);
        }
    }

    /// Attributes name what is no module of ours, and visibilities who may use what is here.
    fn visit_attribute(&mut self, _: &'ast Attribute) {}

    fn visit_visibility(&mut self, _: &'ast Visibility) {}

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        if names.len() > 1 {
            // A path gives nothing a name by which others could find it here.
            self.add(&names, String::new(), false);
        }
        visit::visit_path(self, path);
    }
}

/// The place that a path names in a module; none: it is of a crate that is not ours.
fn absolute(module: &Place, path: &[String], places: &BTreeSet<&Place>) -> Option<Place> {
    let (first, rest) = path.split_first()?;
    Some(match first.as_str() {
        "crate" => [&module[..1], rest].concat(),
        "self" => [&module[..], rest].concat(),
        "super" => {
            let up = path.iter().take_while(|part| *part == "super").count();
            [&module[..module.len().checked_sub(up)?], &path[up..]].concat()
        }
        name if CRATES.iter().any(|(of, _)| *of == name) => path.to_vec(),
        _ => {
            let below = [&module[..], std::slice::from_ref(first)].concat();
            places.contains(&below).then(|| [&module[..], path].concat())?
        }
    })
}

/// All that a file leads to.
fn reached<'p>(file: &'p Place, edges: &BTreeMap<&'p Place, BTreeSet<&'p Place>>) -> BTreeSet<&'p Place> {
    let mut reached = BTreeSet::new();
    let mut next = vec![file];
    while let Some(file) = next.pop() {
        next.extend(edges[file].iter().filter(|other| reached.insert(**other)));
    }
    reached
}

#[test]
fn no_files_import_each_other_in_a_circle() {
    let sources = &*REPOSITORY;
    let edges = sources.edges();
    assert!(sources.0.len() > 400 && edges.values().map(BTreeSet::len).sum::<usize>() > 1500, "they are not read");
    let circles: Vec<String> = sources
        .circles()
        .iter()
        .map(|circle| {
            let within =
                |file: &Place| edges[file].iter().filter(|other| circle.contains(other)).map(|other| other.join("::"));
            let line = |file: &&Place| {
                format!("{} imports from {}", file.join("::"), within(file).collect::<Vec<_>>().join(", "))
            };
            circle.iter().map(line).collect::<Vec<_>>().join("\n")
        })
        .collect();
    assert!(circles.is_empty(), "these files import each other in a circle:\n{}", circles.join("\n\n"));
}

#[test]
fn modules_import_in_the_order_of_the_architecture() {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).expect("it is there");
    let (_, order) = text.split_once(ORDER).expect("the sentence in front of the order");
    let (order, _) = order.split_once("\n\n").expect("a line without text behind it");
    let order: Vec<&str> = order.split([',', '→', '\n']).map(str::trim).filter(|name| !name.is_empty()).collect();
    let sources = &*REPOSITORY;
    let of_core = |place: &Place| (place[0] == "dietcode_core").then(|| place.get(1).cloned()).flatten();
    let modules: BTreeSet<String> = sources.0.keys().filter_map(of_core).collect();
    let missing: Vec<&String> = modules.iter().filter(|name| !order.contains(&name.as_str())).collect();
    assert!(missing.is_empty(), "ARCHITECTURE.md does not place {missing:?}");
    let at = |name: &str| order.iter().position(|module| *module == name);
    for (file, others) in sources.edges() {
        for (module, other) in others.iter().filter_map(|other| of_core(file).zip(of_core(other))) {
            let name = file.join("::");
            assert!(module == other || at(&other) < at(&module), "{name} imports from `{other}`, which stands behind");
        }
    }
}

/// The places of the circles in files of a crate.
fn found(files: &[(&str, &str)]) -> Vec<String> {
    let texts = files.iter().map(|(path, text)| (place(path), (*text).to_owned())).collect();
    let sources = Sources::of(&texts);
    sources
        .circles()
        .iter()
        .map(|circle| circle.iter().map(|place| place.join("::")).collect::<Vec<_>>().join(" "))
        .collect()
}

#[test]
fn circles_are_found() {
    let facade = ("xtask::a", "mod own; mod other; pub use own::Own; pub use other::Other;");
    let own = ("xtask::a::own", "use super::Other; pub struct Own;");
    let other = ("xtask::a::other", "pub struct Other;");
    assert!(found(&[facade, own, other]).is_empty());
    // Children of one module.
    assert!(found(&[facade, own, ("xtask::a::other", "use super::Own; pub struct Other;")]).is_empty());
    // Through what another module exports, of which one child imports the other.
    let user = ("xtask::b", "use crate::a::{Own, Other}; pub struct User;");
    let circle = ("xtask::a::other", "use crate::b::User; pub struct Other;");
    assert_eq!(found(&[facade, own, circle, user]), ["xtask::a::other xtask::a::own xtask::b"]);
    // By a path in an expression.
    let called = ("xtask::a::other", "pub struct Other; fn user() { crate::b::user(1); }");
    assert_eq!(found(&[facade, own, called, user]), ["xtask::a::other xtask::a::own xtask::b"]);
    // What only tests import is none.
    let in_tests = ("xtask::a::other", "pub struct Other; #[cfg(test)] mod tests { use crate::b::User; }");
    assert!(found(&[facade, own, in_tests, user]).is_empty());
}
