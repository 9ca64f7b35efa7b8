//! `dietcode tune --kernel`: a config for a kernel that has none.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};
use std::str::FromStr;

use dietcode::core::config::{Config, Shapes, WklInst, read_kernel};
use dietcode::core::measure::Instance;
use dietcode::core::syntax::KernelDef;
use dietcode::{Error, Result};

use crate::cli::counted;
use crate::cli::setup::{at_wkl, wkl_text};

/// A kernel in a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct KernelPath {
    source: PathBuf,
    /// None: the only one.
    function: Option<String>,
}

/// A config that was made, or had been.
pub(super) struct Made {
    /// The file, relative to the current folder where it lies within.
    pub(super) path: PathBuf,
    /// What was done, a line.
    pub(super) done: String,
    /// What is left to do for builds to use it, a line; none if there is nothing.
    pub(super) to_do: Option<String>,
}

/// Where a config is to lie.
struct Place {
    /// The kernel's package.
    root: PathBuf,
    /// The config, relative to it.
    config: PathBuf,
    /// The source, relative to the config's folder, with slashes on every system.
    source: String,
}

const SCHEMA: &str = include_str!("../../../configs/schema.json");

/// Writes a config for a kernel at some shapes, unless it is there already, word for word.
pub(super) fn config(kernel: &KernelPath, shapes: &[Shapes]) -> Result<Made> {
    let def = read_kernel(&kernel.source, kernel.function.as_deref(), ["--kernel", "--kernel"])?;
    let instances = instances(&def, shapes)?;
    let place = Place::of(&def, &kernel.source)?;
    let (path, vars) = (place.root.join(&place.config), Config::shape_vars(&def));
    let shown = from_here(&path);
    let is_new = write(&path, &text(&def, &vars, &place.source, &instances), &shown)?;
    let done = format!(
        "{} {}: {} of `{}`, {}\n",
        if is_new { "Written:" } else { "As it stands in" },
        shown.display(),
        counted(instances.len(), "instance"),
        def.name,
        instances.iter().map(wkl_text).collect::<Vec<_>>().join(" ")
    );
    let named = place.config.display().to_string().replace('\\', "/");
    let to_do = (def.config.as_ref() != Some(&named)).then(|| {
        let (name, source) = (&def.name, kernel.source.display());
        let instead = def.config.as_ref().map_or_else(String::new, |other| format!(", in place of {other}"));
        format!("For builds to use it: #[dynamic_kernel(config = \"{named}\")] at `{name}` in {source}{instead}\n")
    });
    Ok(Made { path: shown, done, to_do })
}

/// What is asked for, each once, in the shape variables of the kernel.
fn instances(def: &KernelDef, shapes: &[Shapes]) -> Result<Vec<WklInst>> {
    let vars = Config::shape_vars(def);
    let known = if vars.is_empty() { "no shape variables".to_owned() } else { vars.join(", ") };
    if shapes.is_empty() && !vars.is_empty() {
        let such: Vec<String> = vars.iter().map(|var| format!("{var}=16..2048")).collect();
        return Err(Error::input(format!(
            "--kernel: expected --wkl with the shape variables of `{}`, such as --wkl {}",
            def.name,
            such.join(",")
        )));
    }
    // A kernel of one shape has one instance.
    let mut instances = if shapes.is_empty() { vec![WklInst::new()] } else { Vec::new() };
    for shapes in shapes {
        let wrong = |what: String| Err(at_wkl(shapes, &Error::input(format!("{what}; `{}` has {known}", def.name))));
        if let Some(unknown) = shapes.vars().find(|name| !vars.iter().any(|var| var == name)) {
            return wrong(format!("found the unknown shape variable `{unknown}`"));
        }
        if let Some(missing) = vars.iter().find(|var| !shapes.vars().any(|name| name == *var)) {
            return wrong(format!("the shape variable `{missing}` is missing"));
        }
        for wkl in shapes.instances().map_err(|error| at_wkl(shapes, &error))? {
            check(def, &vars, &wkl).map_err(|error| at_wkl(shapes, &error))?;
            if !instances.contains(&wkl) {
                instances.push(wkl);
            }
        }
    }
    Ok(instances)
}

/// A config has no instances at which there is nothing to measure.
fn check(def: &KernelDef, vars: &[String], wkl: &WklInst) -> Result<()> {
    let shape: Vec<i64> = vars.iter().map(|var| wkl[var]).collect();
    let empty = Instance::of(def, &shape)?.empty_part(def);
    let odd = |what| Error::input(format!("{what}: a call takes it, but there is nothing to tune for"));
    empty.map_or(Ok(()), |what| Err(odd(what)))
}

/// The config as a person would write it.
fn text(def: &KernelDef, vars: &[String], source: &str, instances: &[WklInst]) -> String {
    let listed =
        |pairs: Vec<String>| if pairs.is_empty() { "{}".into() } else { format!("{{ {} }}", pairs.join(", ")) };
    let shape = listed(vars.iter().map(|var| format!("\"{var}\": \"{var}\"")).collect());
    let instance = |wkl: &WklInst| listed(vars.iter().map(|var| format!("\"{var}\": {}", wkl[var])).collect());
    let instances: Vec<String> = instances.iter().map(|wkl| format!("    {}", instance(wkl))).collect();
    let source = serde_json::Value::from(source);
    format!(
        "{{\n  \"$schema\": \"schema.json\",\n  \"kernel\": {{ \"source\": {source}, \"function\": \"{}\" }},\n  \
         \"shape\": {shape},\n  \"wkl_insts\": [\n{}\n  ]\n}}\n",
        def.name,
        instances.join(",\n")
    )
}

/// Whether the file is new. One that is there with these words is as good.
fn write(path: &Path, text: &str, shown: &Path) -> Result<bool> {
    let shown = shown.display();
    let failed = |e: io::Error| Error::unavailable(format!("{shown}: cannot be written")).caused_by(e);
    let folder = path.parent().unwrap_or(Path::new(""));
    fs::create_dir_all(folder).map_err(failed)?;
    match create(path, text) {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
        written => {
            written.map_err(failed)?;
            // Editors check the config by it; one that is there stays.
            return match create(&folder.join("schema.json"), SCHEMA) {
                Err(e) if e.kind() != io::ErrorKind::AlreadyExists => Err(failed(e)),
                _ => Ok(true),
            };
        }
    }
    if fs::read(path).is_ok_and(|there| there == text.as_bytes()) {
        return Ok(false);
    }
    Err(Error::input(format!(
        "--kernel: {shown} is there already, with other words than would be written: `dietcode tune {shown}` tunes for what it \
         says; change it, or move it away"
    )))
}

fn create(path: &Path, text: &str) -> io::Result<()> {
    OpenOptions::new().write(true).create_new(true).open(path)?.write_all(text.as_bytes())
}

impl Place {
    /// Where the kernel's attribute says, if nothing is there yet, or else `configs/NAME.json`, in the package of the source:
    /// the nearest folder above it with a manifest, or else the current one.
    fn of(def: &KernelDef, source: &Path) -> Result<Place> {
        let shown = source.display();
        let odd = |e: io::Error| Error::input(format!("--kernel: {shown} cannot be found")).caused_by(e);
        let source = source.canonicalize().map_err(odd)?;
        let here = std::env::current_dir().and_then(|here| here.canonicalize()).map_err(odd)?;
        let above = || source.ancestors().skip(1);
        let root = above().find(|folder| folder.join("Cargo.toml").is_file());
        let root = root.or_else(|| above().find(|folder| *folder == here)).or_else(|| source.parent());
        let root = root.unwrap_or(&here).to_path_buf();
        let named = def.config.as_ref().map(PathBuf::from);
        let is_free = |config: &PathBuf| is_within(config) && !root.join(config).exists();
        let config = named.filter(is_free).unwrap_or_else(|| PathBuf::from(format!("configs/{}.json", def.name)));
        let up = config.components().skip(1).map(|_| "..".to_owned());
        let down = source.strip_prefix(&root).unwrap_or(&source).components();
        let down = down.map(|part| part.as_os_str().to_str().map(str::to_owned));
        let source: Option<Vec<String>> = up.map(Some).chain(down).collect();
        let source = source.filter(|parts| !parts.iter().any(|part| part.contains(char::is_control)));
        let source =
            source.ok_or_else(|| Error::input(format!("--kernel: {shown}: expected a path that JSON can hold")))?;
        Ok(Place { root, config, source: source.join("/") })
    }
}

/// Whether a path names a JSON file below the folder that it is relative to.
fn is_within(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "json")
        && path.components().all(|part| matches!(part, Component::Normal(_)))
}

/// Relative to the current folder, if it lies within.
fn from_here(path: &Path) -> PathBuf {
    let here = std::env::current_dir().and_then(|here| here.canonicalize());
    here.ok().and_then(|here| path.strip_prefix(here).ok()).unwrap_or(path).to_path_buf()
}

impl FromStr for KernelPath {
    type Err = Error;

    /// What stands behind the last colon is a name only behind a Rust file: paths may have colons, as on Windows.
    fn from_str(text: &str) -> Result<KernelPath> {
        let is_source = |path: &str| path.ends_with(".rs");
        let is_name = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
        let (source, function) = match text.rsplit_once(':') {
            Some((source, name)) if is_source(source) && is_name(name) => (source, Some(name.to_owned())),
            _ if is_source(text) => (text, None),
            _ => {
                let expected =
                    "a Rust file and the name of a function with #[dynamic_kernel] in it, such as src/ops.rs:dense";
                return Err(Error::input(format!("found `{}`, expected {expected}", text.escape_debug())));
            }
        };
        Ok(KernelPath { source: source.into(), function })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_names() {
        let parsed = |text: &str| {
            let KernelPath { source, function } = text.parse().unwrap();
            (source.display().to_string(), function.unwrap_or_default())
        };
        let are = |text: &str, source: &str, function: &str| assert_eq!(parsed(text), (source.into(), function.into()));
        are("src/ops.rs:dense", "src/ops.rs", "dense");
        are("src/ops.rs", "src/ops.rs", "");
        are(r"C:\crate\src\ops.rs", r"C:\crate\src\ops.rs", "");
        are(r"C:\crate\src\ops.rs:dense_2", r"C:\crate\src\ops.rs", "dense_2");
        are("a:b/ops.rs:dense", "a:b/ops.rs", "dense");
        for text in [
            "",
            "dense",
            "src/ops.rs:",
            "src/ops.rs::dense",
            "src/ops.rs:12:5",
            "src/ops.c:dense",
            "ops::dense",
            ":dense",
        ] {
            let error = text.parse::<KernelPath>().unwrap_err().to_string();
            assert!(error.contains("such as src/ops.rs:dense"), "{text}: {error}");
        }
    }
}
